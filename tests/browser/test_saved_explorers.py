"""Explorers in saved notebooks without their kernel: the last picture, clickable, and no error text."""

import importlib.util
import json
import re
import shutil
import urllib.request

import pytest

from tests.browser.conftest import write_notebook
from tests.browser.jupyterlab import ROOT, TOKEN, Watch, jupyterlab, open_notebook, run_all

pytestmark = [pytest.mark.browser]

GRAPH = """
import gpuplace as tf

with tf.Graph().as_default() as graph:
    with tf.device("/gpu:1"), tf.name_scope("tower"):
        x = tf.constant([[1.0]], name="one")
        y = tf.matmul(x, x, name="product")
    with tf.name_scope("other"):
        z = tf.add(y, x, name="sum")
"""
EXPLORERS = [
    'tf.explore(graph, machine="2x Tesla K40c")',
    'tf.explore(graph, machine="cpu")',
    'tf.explore(graph, machine="2x Tesla K40c", visible_devices="0", soft_placement=True)',
]
FRAME = "iframe[title='Explorer without a kernel']"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab with gpuplace's extension, and a notebook that was run and saved, whose kernel has ended."""
    with jupyterlab(tmp_path_factory.mktemp("saved"), has_extension=True) as found:
        yield found


@pytest.fixture(scope="module")
def saved(lab, browser, tmp_path_factory):
    """The notebook with three explorers, run, saved, and its kernel ended."""
    with lab.fresh() as base:
        write_notebook(lab.root / "three.ipynb", GRAPH, *EXPLORERS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        open_notebook(page, base, "three.ipynb")
        run_all(page)
        page.wait_for_function(
            "() => document.querySelectorAll('.gp-explorer .gp-canvas svg g.node').length > 8"
        )
        assert page.locator(FRAME).count() == 0, "the widgets live"
        page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
        page.close()
        kept = tmp_path_factory.mktemp("kept") / "three.ipynb"
        shutil.copy(lab.root / "three.ipynb", kept)
    return kept


def end_kernels(base):
    for kind in ("sessions", "kernels"):
        for found in json.loads(urllib.request.urlopen(f"{base}/api/{kind}?token={TOKEN}").read()):
            request = urllib.request.Request(
                f"{base}/api/{kind}/{found['id']}?token={TOKEN}", method="DELETE"
            )
            urllib.request.urlopen(request)


def click_through(frames, page):
    """Clicks an op in each frame, unfolds and searches."""
    from playwright.sync_api import expect

    for number in range(frames.count()):
        frames.nth(number).scroll_into_view_if_needed()
        inside = frames.nth(number).content_frame
        inside.locator("g.node").first.wait_for()
        find = inside.get_by_label("Find an op by regular expression")
        find.fill("product")
        find.press("Enter")
        expect(inside.locator(".gp-why h3")).to_have_text("tower/product")
        expect(inside.locator(".gp-why .gp-verdict, .gp-why .gp-reason").first).not_to_be_empty()
        inside.get_by_role("button", name="Fold all").click()
        expect(inside.locator("g.cluster")).to_have_count(0)
        inside.locator("g.node").first.dblclick()
        expect(inside.locator("g.cluster")).to_have_count(1)


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_notebook_with_three_explorers(lab, saved, browser, screenshots, is_trusted):
    from playwright.sync_api import expect

    with lab.fresh() as base:
        text = saved.read_text()
        # JupyterLab signs what it saved; another text is not trusted.
        (lab.root / "three.ipynb").write_text(
            text if is_trusted else text.replace('name=\\"sum\\"', "name='sum'")
        )
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        watch = Watch(base).over(page)
        open_notebook(page, base, "three.ipynb")
        frames = page.locator(FRAME)
        expect(frames).to_have_count(3, timeout=30_000)
        assert "model not found" not in page.locator(".jp-Notebook").inner_text()
        click_through(frames, page)
        page.screenshot(path=screenshots / f"saved-{'trusted' if is_trusted else 'untrusted'}.png")
        assert watch.elsewhere == []
        page.close()


def test_after_the_kernel_is_restarted(lab, browser, screenshots):
    from playwright.sync_api import expect

    with lab.fresh() as base:
        write_notebook(lab.root / "restarted.ipynb", f"{GRAPH}\n{EXPLORERS[0]}")
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        open_notebook(page, base, "restarted.ipynb")
        run_all(page)
        page.locator(".gp-explorer .gp-canvas svg g.node").first.wait_for()
        page.evaluate("() => void jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        frames = page.locator(FRAME)
        expect(frames).to_have_count(1, timeout=30_000)
        click_through(frames, page)
        run_all(page)
        page.locator(".gp-explorer .gp-canvas svg g.node").first.wait_for()
        expect(frames).to_have_count(0)
        page.close()


def test_in_notebook_7(saved, browser, screenshots, tmp_path):
    from playwright.sync_api import expect

    if importlib.util.find_spec("notebook") is None:
        pytest.skip("needs Notebook 7: pip install notebook")
    with jupyterlab(tmp_path, has_extension=True, program="notebook") as found:
        shutil.copy(saved, found.root)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(f"{found.base}/notebooks/three.ipynb?token={TOKEN}")
        frames = page.locator(FRAME)
        expect(frames).to_have_count(3, timeout=30_000)
        assert "model not found" not in page.locator(".jp-Notebook").inner_text()
        click_through(frames, page)
        page.screenshot(path=screenshots / "saved-notebook-7.png")
        page.close()


def test_in_a_page_of_nbconvert(saved, browser, screenshots, tmp_path):
    from tests.tools.notebook_to_html import to_html

    nbformat = pytest.importorskip("nbformat")
    path = tmp_path / "three.html"
    path.write_text(to_html(nbformat.read(saved, as_version=4), "three"), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    watch = Watch(path.as_uri()).over(page)
    page.goto(path.as_uri())
    click_through(page.locator("iframe.gpuplace-page"), page)
    page.screenshot(path=screenshots / "saved-nbconvert.png", full_page=True)
    assert page.locator("iframe.gpuplace-page").count() == 3
    assert watch.errors == []
    assert watch.elsewhere == []
    page.close()


def test_without_scripts_and_frames_the_still_picture_shows(saved, browser, tmp_path, screenshots):
    """What GitHub and notebooks that are not trusted show: HTML without frames, scripts and most styles."""
    notebook = json.loads(saved.read_text())
    outputs = [output["data"] for cell in notebook["cells"] for output in cell.get("outputs", ())]
    htmls = ["".join(data["text/html"]) for data in outputs if "text/html" in data]
    assert len(htmls) == 3
    bare = [re.sub(r"<iframe.*?</iframe>", "", html, flags=re.DOTALL) for html in htmls]
    bare = [re.sub(r'<div style="[^"]*">', "<div>", html) for html in bare]
    path = tmp_path / "bare.html"
    path.write_text("".join(bare), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.goto(path.as_uri())
    for image in page.locator("img").all():
        assert image.evaluate("image => image.complete && image.naturalWidth > 100")
        assert image.bounding_box()["height"] > 100
    assert page.locator("img").count() == 3
    page.screenshot(path=screenshots / "saved-bare.png")
    page.close()


LESSONS = sorted((ROOT / "notebooks").glob("[0-9][0-9]-*.ipynb"))


OURS = "application/vnd.gpuplace.explorer+json"


def reads(page, path, screenshots, front):
    """A lesson that was opened shows no error text, and each of its explorers answers a click with a reason."""
    from playwright.sync_api import expect

    count = path.read_text().count(OURS)
    expect(page.locator(FRAME)).to_have_count(count, timeout=30_000)
    page.locator(".jp-OutputArea-output, .jp-MarkdownOutput").first.wait_for()
    shown = page.locator(".jp-Notebook").inner_text()
    assert "model not found" not in shown and "Error displaying widget" not in shown, path.name
    for number in range(count):
        page.locator(FRAME).nth(number).scroll_into_view_if_needed()
        inside = page.locator(FRAME).nth(number).content_frame
        inside.locator("g.node").first.click()
        expect(inside.locator(".gp-why h3")).not_to_have_text("Why is this op here?")
        expect(inside.locator(".gp-why .gp-verdict, .gp-why .gp-reason").first).not_to_be_empty()
    page.screenshot(path=screenshots / f"{front}-{path.stem}.png")


def test_lessons_keep_their_explorers(lab, browser, screenshots):
    """Each lesson, as its author ran and saved it, in JupyterLab with a kernel that knows nothing of it."""
    assert sum(path.read_text().count(OURS) for path in LESSONS) > 5
    with lab.fresh() as base:
        for path in LESSONS:
            shutil.copy(path, lab.root)
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            open_notebook(page, base, path.name)
            reads(page, path, screenshots, "lab")
            page.close()
            end_kernels(base)


def test_lessons_in_notebook_7(browser, screenshots, tmp_path):
    if importlib.util.find_spec("notebook") is None:
        pytest.skip("needs Notebook 7: pip install notebook")
    with jupyterlab(tmp_path, has_extension=True, program="notebook") as found:
        for path in LESSONS:
            if OURS not in path.read_text():
                continue
            shutil.copy(path, found.root)
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(f"{found.base}/notebooks/{path.name}?token={TOKEN}")
            reads(page, path, screenshots, "notebook")
            page.close()
            end_kernels(found.base)
