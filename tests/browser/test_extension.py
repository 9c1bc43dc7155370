"""The JupyterLab extension: TensorFlow's files by double-click, dropped files, and what its server refuses."""

import shutil
import urllib.error
import urllib.parse
import urllib.request

import pytest

import gpuplace as tf
from tests.browser.accessibility import violations
from tests.browser.jupyterlab import TOKEN, Watch, jupyterlab
from tests.graphdef.function_libraries import saved_model

pytestmark = [pytest.mark.browser]

ODD = """a "b" 'c' <img src=x onerror=alert(1)> & d.pb"""
BIG_BYTES = 100 * 2**20
UP = "../" * 20
PAGE = ".gpuplace-document:visible iframe"


def write_files(folder):
    """Nine kinds of files."""
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:0"):
            x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
            y = tf.matmul(x, x, name="y")
        tf.Variable(1.0, name="v")
        graph_def = graph.as_graph_def()
        (folder / "graph.pb").write_bytes(graph_def.SerializeToString())
        (folder / ODD).write_bytes(graph_def.SerializeToString())
        (folder / "damaged.pb").write_bytes(graph_def.SerializeToString()[:-40] + b"\xff" * 30)
        tf.train.write_graph(graph_def, str(folder), "graph.pbtxt")
        tf.train.export_meta_graph(str(folder / "model.meta"), graph=graph)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            step = tf.RunMetadata()
            session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=step)
            (folder / "step.pb").write_bytes(step.SerializeToString())
            (folder / "run.log").write_text(session.placement.log())
    (folder / "model").mkdir()
    (folder / "model" / "saved_model.pb").write_bytes(saved_model("serving_default").SerializeToString())
    node = graph_def.node.add(name="weights", op="Const")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["value"].tensor.dtype = tf.float32.as_datatype_enum
    node.attr["value"].tensor.tensor_shape.dim.add(size=BIG_BYTES // 4)
    node.attr["value"].tensor.tensor_content = bytes(BIG_BYTES)
    (folder / "big.pb").write_bytes(graph_def.SerializeToString())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A JupyterLab with the extension and the files."""
    state = tmp_path_factory.mktemp("extension")
    with jupyterlab(state, has_extension=True) as lab, lab.fresh() as base:
        write_files(lab.root)
        secret = tmp_path_factory.mktemp("outside") / "secret.pb"
        shutil.copy(lab.root / "graph.pb", secret)
        (lab.root / "link.pb").symlink_to(secret)
        yield lab, base


@pytest.fixture
def page(server, browser):
    _, base = server
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    watch = Watch(base).over(page)
    page.goto(f"{base}/lab?token={TOKEN}&reset")
    page.locator(".jp-DirListing-itemText", has_text="graph.pbtxt").wait_for()
    yield page
    page.close()
    assert watch.elsewhere == []


def double_click(page, name):
    page.locator(".jp-DirListing-item").filter(has=page.get_by_text(name, exact=True)).dblclick()


@pytest.mark.parametrize(
    "name, told",
    [
        ("graph.pb", "nodes"),
        ("graph.pbtxt", "nodes"),
        ("model.meta", "nodes"),
        ("run.log", "TensorFlow log"),
        ("step.pb", "step.pb"),
        ("big.pb", "nodes"),
        (ODD, "nodes"),
    ],
    ids=["pb", "pbtxt", "meta", "log", "step", "big", "odd"],
)
def test_a_double_click_shows_the_page(page, screenshots, name, told):
    from playwright.sync_api import expect

    page.on("dialog", lambda dialog: pytest.fail(f"a script of the file's name ran: {dialog.message}"))
    double_click(page, name)
    inside = page.frame_locator(PAGE)
    inside.locator("h1").wait_for(timeout=90_000)
    expect(inside.locator("h1")).to_have_text(name)
    expect(inside.locator("body > header")).to_contain_text(told)
    if name == "graph.pb":
        page.get_by_label("Machine").fill("2x Tesla K40c")
        page.get_by_label("Machine").press("Enter")
        expect(inside.locator("body > header")).to_contain_text("2x Tesla K40c", timeout=60_000)
        page.get_by_label("Soft placement").check()
        expect(inside.locator("body > header")).to_contain_text("soft placement", timeout=60_000)
        inside.locator("g.node").first.click()
        expect(inside.locator(".gp-why h3")).not_to_have_text("Why is this op here?")
        assert violations(page, ".gpuplace-page-view") == []
    page.screenshot(path=screenshots / f"extension-{name[-8:].strip('.')}.png")


def test_a_saved_model_is_opened_by_its_file(page):
    from playwright.sync_api import expect

    double_click(page, "model")
    page.locator(".jp-DirListing-itemText", has_text="saved_model.pb").wait_for()
    double_click(page, "saved_model.pb")
    inside = page.frame_locator(PAGE)
    expect(inside.locator("h1")).to_have_text("saved_model.pb", timeout=60_000)
    expect(inside.locator("body > header")).to_contain_text("serving_default")


@pytest.mark.parametrize(
    "name, told", [("damaged.pb", "damaged.pb"), ("link.pb", "outside the folder that this server serves")]
)
def test_what_cannot_be_opened_is_explained(page, screenshots, name, told):
    from playwright.sync_api import expect

    double_click(page, name)
    alert = page.locator(".gpuplace-document:visible").get_by_role("alert")
    expect(alert).to_contain_text(told, timeout=60_000)
    page.screenshot(path=screenshots / f"extension-{name}.png")


def test_open_in_a_notebook(page, screenshots):
    from playwright.sync_api import expect

    double_click(page, "graph.pb")
    page.frame_locator(PAGE).locator("h1").wait_for(timeout=60_000)
    page.get_by_label("Machine").fill("cpu")
    page.get_by_label("Soft placement").check()
    page.get_by_role("button", name="Open in a notebook").click()
    cell = page.locator(".jp-NotebookPanel .jp-CodeCell .cm-content")
    expect(cell).to_contain_text('tf.explore("graph.pb", machine="cpu", soft_placement=True)')
    page.screenshot(path=screenshots / "extension-notebook.png")


def test_the_launcher_takes_a_dropped_file(server, page, screenshots):
    from playwright.sync_api import expect

    lab, _ = server
    page.locator(".jp-LauncherCard", has_text="gpuplace").click()
    page.get_by_label("A TensorFlow file").set_input_files(str(lab.root / "graph.pb"))
    inside = page.frame_locator(".gpuplace-page-view:visible iframe")
    expect(inside.locator("h1")).to_have_text("graph.pb", timeout=60_000)
    page.get_by_role("button", name="Another file").click()
    data = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['x'], 'x.pb')); return data; }"
    )
    page.dispatch_event(".gpuplace-drop", "drop", {"dataTransfer": data})
    expect(page.locator(".gpuplace-page-view:visible").get_by_role("alert")).to_contain_text(
        "x.pb", timeout=60_000
    )
    assert violations(page, ".gpuplace-page-view") == []
    page.screenshot(path=screenshots / "extension-launcher.png")


def test_jupyterlab_does_not_wait_for_it(page):
    """What is needed before JupyterLab is ready is fetched beside its own scripts, and the rest afterwards."""
    page.evaluate("() => jupyterapp.started")
    fetched = page.evaluate(
        """() => Object.fromEntries(performance.getEntriesByType('resource')
            .filter(({name}) => name.includes('/extensions/gpuplace/'))
            .map(({name, startTime, responseEnd}) => [name.split(/[/?]/).at(-1), [startTime, responseEnd]]))"""
    )
    activated = fetched["files.js"][0]  # by the first plugin
    assert fetched["saved.js"][1] < activated and fetched["pages.js"][1] < activated


def test_open_with_lists_the_viewer(page):
    from playwright.sync_api import expect

    page.locator(".jp-DirListing-itemText", has_text="graph.pb").first.click(button="right")
    page.locator(".lm-Menu-item", has_text="Open With").hover()
    expect(page.locator(".lm-Menu-item", has_text="gpuplace")).to_be_visible()


def get(url, method="GET", data=None):
    """(status, headers, text)."""
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, method=method, data=data), timeout=90)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()
    return answer.status, answer.headers, answer.read().decode()


def test_requests_without_a_token_are_refused(server):
    _, base = server
    for what in ("page?path=graph.pb", "template"):
        assert get(f"{base}/gpuplace/{what}")[0] == 403
    assert get(f"{base}/gpuplace/page?name=graph.pb", "POST", b"x")[0] == 403


@pytest.mark.parametrize(
    "path, status",
    [
        (f"{UP}etc/passwd", 403),
        (f"{UP}etc/passwd".replace("/", "%2f"), 403),
        (f"{UP}etc/passwd".replace("..", "%2e%2e"), 403),
        (f"model/{UP}etc/passwd", 403),
        ("link.pb", 403),
        ("nothing.pb", 404),
        ("model", 404),
    ],
)
def test_only_files_below_the_root(server, path, status):
    _, base = server
    found, _, text = get(f"{base}/gpuplace/page?path={path}&token={TOKEN}")
    assert found == status, text
    assert "root:" not in text


def test_the_page_may_do_nothing_else(server):
    _, base = server
    status, headers, text = get(f"{base}/gpuplace/page?path=graph.pb&token={TOKEN}&machine=cpu&soft=1")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert (
        "default-src 'none'" in policy
        and "sandbox allow-scripts" in policy
        and "frame-ancestors 'self'" in policy
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    status, _, odd = get(f"{base}/gpuplace/page?path={urllib.parse.quote(ODD)}&token={TOKEN}")
    assert status == 200 and "<img src=x" not in odd


def test_limits(tmp_path):
    """A large file is refused; a process that takes too long is ended, and the server answers again."""
    limits = ["--GpuplacePages.most_bytes=1000", "--GpuplacePages.most_seconds=0.05"]
    with jupyterlab(tmp_path, has_extension=True, options=limits) as lab:
        (lab.root / "large.pb").write_bytes(bytes(1001))
        (lab.root / "small.pb").write_bytes(bytes(10))
        status, _, text = get(f"{lab.base}/gpuplace/page?path=large.pb&token={TOKEN}")
        assert status == 413 and "1,000 are allowed" in text
        status, _, text = get(f"{lab.base}/gpuplace/page?path=small.pb&token={TOKEN}")
        assert status == 504 and "more than 0.05 seconds" in text
        assert get(f"{lab.base}/api/status?token={TOKEN}")[0] == 200
