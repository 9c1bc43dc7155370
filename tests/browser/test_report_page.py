"""The report page, opened as a file: fold and unfold, reasons, search, tables, keyboard, dark and print; nothing asked.

The seconds that pages take are printed (`pytest -s`), not asserted: machines are noisy.
"""

import time

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.cli.fixes import fixes_of
from gpuplace.views.page.page import page_html, timeline_page_html
from gpuplace.web.rules import RULES
from tests.browser.accessibility import violations
from tests.browser.contrast import faint_words
from tests.browser.jupyterlab import Watch
from tests.graphdef.function_libraries import saved_model
from tests.jupyter.programs import towers
from tests.views.page.test_page import HOSTILE, hostile_view

pytestmark = [pytest.mark.browser]


def training(towers: int = 4, layers: int = 190) -> tf.Graph:
    """About ten nodes a layer and tower, with variables."""
    with tf.Graph().as_default() as graph:
        for tower in range(towers):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x = tf.placeholder(tf.float32, [8, 8], name="x")
                for layer in range(layers):
                    with tf.name_scope(f"layer_{layer}"):
                        w = tf.Variable(tf.ones([8, 8]), name="w")
                        x = tf.nn.relu(tf.matmul(x, w) + tf.reduce_sum(w), name="out")
    return graph


both_themes = pytest.mark.parametrize("opened", ["light", "dark"], indirect=True)
"""For tests of what can be seen; what the page does is the same in both."""


@pytest.fixture
def opened(request, browser, tmp_path, screenshots):
    """`opened(placement)` writes the page and opens it; it may neither err nor ask for anything."""
    theme = getattr(request, "param", "light")
    pages, watches = [], []

    def open_page(placement, name="page", fragment="", **options):
        path = tmp_path / f"{name}.html"
        path.write_text(page_html(placement, title=name, **options), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1400, "height": 1150}, color_scheme=theme)
        watches.append(Watch(path.as_uri()).over(page))
        start = time.perf_counter()
        page.goto(path.as_uri() + fragment)
        page.wait_for_selector("html[data-ready=yes]")
        seconds = time.perf_counter() - start
        print(f"{name}: {path.stat().st_size:,} bytes, usable after {seconds:.2f} s")
        page.shoot = lambda what: page.screenshot(path=screenshots / f"{name}-{what}-{theme}.png")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    for watch in watches:
        assert watch.errors == [] and watch.elsewhere == []


def in_css(colour):
    return f"rgb({', '.join(str(part) for part in bytes.fromhex(colour[1:]))})"


def boxes(page):
    return page.locator("#graph g.node")


@both_themes
def test_the_guides_towers(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(towers(), "4x Tesla K20m"))
    expect(boxes(page)).to_have_count(7)
    expect(page.locator("#graph g.edge.copy")).to_have_count(2)
    expect(page.locator(".gp-legend")).to_contain_text("2 copies between devices, 32 B")
    page.locator("#graph g.node").filter(has_text="MatMul_1").click()
    expect(page.locator(".gp-why")).to_contain_text("asked for '/device:GPU:3'")
    expect(page.locator(".gp-why .gp-left").last).to_have_text("GPU:3")
    expect(page.locator(".gp-why")).to_contain_text("To move it to CPU")
    expect(page.locator("#tables tr.gp-selected")).to_contain_text("MatMul_1")
    page.shoot("chosen")
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert faint_words(page, "body") == []
    page.get_by_role("tab", name="Copies (2)").click()
    page.locator("#tables [role=tabpanel]:visible tr.gp-pick").first.click()
    expect(page.locator(".gp-why h3")).to_have_text("AddN")
    page.get_by_role("tab", name="Log").click()
    expect(page.locator(".gp-log")).to_contain_text(
        "AddN: (AddN): /job:localhost/replica:0/task:0/device:CPU:0"
    )


def test_ten_thousand_nodes(opened):
    from playwright.sync_api import expect

    placement = tf.place(training(), "4x Tesla K20m")
    other = tf.place(training(), "2x Tesla K20m", tf.ConfigProto(allow_soft_placement=True))
    page = opened(placement, "large", against=other, against_text="2x Tesla K20m")
    assert len(placement) > 8_000 and boxes(page).count() <= 30
    page.get_by_role("button", name="Fold all").click()
    expect(boxes(page)).to_have_count(5)
    boxes(page).filter(has_text="tower_1").dblclick()
    expect(page.locator("#graph g.cluster")).to_contain_text("tower_1")
    stretch = boxes(page).filter(has_text="… layer_189")
    expect(stretch).to_have_count(1)
    shown = boxes(page).count()
    stretch.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#graph g.cluster").filter(has_text="… layer_189")).to_have_count(1)
    assert boxes(page).count() > shown
    assert boxes(page).count() <= 300
    page.shoot("opened")
    page.get_by_role("button", name="Fold all").click()
    expect(boxes(page)).to_have_count(5)
    find = page.get_by_label("Find an op by regular expression")
    find.fill("tower_2/layer_150/w$")
    find.press("Enter")
    expect(page.locator(".gp-why h3")).to_have_text("tower_2/layer_150/w")
    expect(page.locator("#graph g.node.gp-selected")).to_be_in_viewport()
    expect(page.locator(".gp-why")).to_contain_text("Shares its device with")
    page.shoot("found")
    page.get_by_label("Filter Nodes by regular expression").fill("layer_7/.*Add|layer_7/add")
    expect(page.locator(".gp-table-head:visible")).to_contain_text("4 of ")
    page.get_by_label("Filter Nodes by regular expression").fill("")
    expect(page.locator(".gp-table-head:visible")).not_to_contain_text(" of ")
    rows = page.get_by_role("region", name="Nodes")
    rows.evaluate("element => element.scrollTo(0, element.scrollHeight)")
    expect(rows.locator("tbody:not([aria-hidden]) tr").last).to_contain_text("tower_3/layer_189")
    assert rows.locator("tr").count() < 80
    page.get_by_role("button", name="node", exact=True).first.click()
    expect(page.get_by_role("tab", name="Moves")).to_be_visible()
    page.get_by_role("tab", name="Moves").click()
    expect(page.get_by_role("region", name="Moves")).to_contain_text("soft placement")


def test_search(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(training(2, 30), "2x Tesla K20m"), "search")
    find = page.get_by_label("Find an op by regular expression")
    told = page.locator(".gp-found")
    name = page.locator(".gp-why h3")

    def is_seen():
        """The hit lies in the canvas, and can be read."""
        hit = page.locator("#graph g.node.gp-selected").bounding_box()
        view = page.locator("#graph .gp-canvas").bounding_box()
        assert view["x"] <= hit["x"] and hit["x"] + hit["width"] <= view["x"] + view["width"]
        assert view["y"] <= hit["y"] and hit["y"] + hit["height"] <= view["y"] + view["height"]
        assert hit["height"] > 18

    find.fill("layer_1./out$")
    find.press("Enter")
    expect(told).to_have_text("1 of 20")
    expect(name).to_have_text("tower_0/layer_10/out")
    is_seen()
    find.press("Enter")
    expect(told).to_have_text("2 of 20")
    page.get_by_role("button", name="Next match").click()
    expect(name).to_have_text("tower_0/layer_12/out")
    is_seen()
    find.press("Shift+Enter")
    expect(told).to_have_text("2 of 20")
    page.get_by_role("button", name="Previous match").click()
    page.get_by_role("button", name="Previous match").click()
    expect(told).to_have_text("20 of 20")
    expect(name).to_have_text("tower_1/layer_19/out")
    is_seen()
    # What is selected already comes into sight too, and large enough.
    find.fill("tower_1/layer_19/out$")
    for _ in range(12):
        page.get_by_role("button", name="Zoom out").click()
    find.press("Enter")
    expect(told).to_have_text("1 of 1")
    is_seen()
    for _ in range(8):
        page.get_by_role("button", name="Zoom in").click()
    page.mouse.move(*[page.locator("#graph .gp-canvas").bounding_box()[key] + 20 for key in ("x", "y")])
    find.press("Enter")
    expect(page.locator("#graph g.node.gp-selected")).to_be_in_viewport()
    find.fill("nowhere")
    find.press("Enter")
    expect(told).to_have_text("No op's name matches nowhere")
    expect(find).to_have_attribute("aria-invalid", "true")
    expect(told).to_have_attribute("aria-live", "polite")
    find.fill("layer_(")
    find.press("Enter")
    expect(told).to_contain_text("; not a regular expression; searched as plain text")
    find.fill("(([a-z_0-9])+)+!")
    find.press("Enter")
    expect(told).to_contain_text("; could take too long")
    find.fill("")
    expect(told).to_have_text("")
    rows = page.get_by_label("Filter Nodes by regular expression")
    rows.fill("(([a-z_0-9/])+)+!")
    expect(page.locator(".gp-table-head:visible")).to_contain_text("could take too long")


@both_themes
def test_what_an_op_depends_on_is_lit(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(towers(), "4x Tesla K20m"), "lit")
    boxes(page).filter(has_text="MatMul_1").click()
    page.get_by_role("button", name="All inputs: highlight all that it depends on").click()
    told = page.locator(".gp-lit-text")
    expect(told).to_have_text("what MatMul_1 depends on: 2 nodes on GPU:3; no copy between devices")
    expect(page.locator("#graph g.node.gp-on")).to_have_count(3)
    expect(page.locator("#graph g.edge.gp-on")).to_have_count(2)
    page.get_by_label("Only these in the tables").check()
    expect(page.locator(".gp-table-head:visible")).to_contain_text("3 of 7 rows")
    choice = page.get_by_label("Highlight", exact=True)
    choice.select_option("both")
    expect(told).to_have_text(
        "what MatMul_1 depends on, and what depends on it: 3 nodes (CPU:0 1, GPU:3 2); 1 copy between devices, 16 B"
    )
    page.get_by_role("tab", name="Copies (2)").click()
    expect(page.locator(".gp-table-head:visible")).to_contain_text("1 of 2 rows")
    page.locator("#graph g.node[tabindex='0']").focus()
    page.keyboard.press("p")
    expect(told).to_have_text("critical path: 3 ops, the longest chain")
    page.shoot("path")
    find = page.get_by_label("Find an op by regular expression")
    find.fill("^Const")
    find.press("Enter")
    choice.select_option("matches")
    expect(told).to_have_text("4 matches of ^Const")
    choice.select_option("")
    expect(page.locator("#graph g.node.gp-off")).to_have_count(0)
    expect(page.locator(".gp-table-head:visible")).to_contain_text("2 rows")
    page.get_by_role("tab", name="Nodes (7)").click()
    expect(page.locator(".gp-why .gp-attrs")).to_contain_text("float32 2×3: [[1, 2, 3], [4, 5, 6]]")


def test_the_page_says_what_python_says(opened):
    """The page goes along the edges itself; a hundred ops, each way, as `gpuplace.views.tables.dependency_trace`."""
    placement = tf.place(training(2, 6), "2x Tesla K20m", tf.ConfigProto(allow_soft_placement=True))
    page = opened(placement, "same")
    names = list(placement)[::3]
    told = page.evaluate(
        """(names) => names.flatMap((name) => ["inputs", "consumers", "both"].map((what) => {
            const model = window.gpuplacePage;
            model.send({ type: "select", name });
            model.send({ type: "light", what });
            return [name, what, model.get("lit").text];
        }))""",
        names,
    )
    assert len(told) == 3 * len(names) > 60
    for name, what, text in told:
        assert text == placement.trace(name, what).text


def test_a_large_graph_is_lit_quickly(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(training(), "4x Tesla K20m"), "large-lit")
    find = page.get_by_label("Find an op by regular expression")
    find.fill("tower_2/layer_150/out$")
    find.press("Enter")
    times = page.evaluate(
        """() => ["inputs", "consumers", "both", "path by ops"].map((what) => {
            const start = performance.now();
            window.gpuplacePage.send({ type: "light", what });
            document.body.offsetHeight;
            return Math.round(performance.now() - start);
        })"""
    )
    print("9,124 nodes on the report page: lit and laid out after", times, "ms")
    page.get_by_label("Highlight", exact=True).select_option("inputs")
    expect(page.locator(".gp-lit-text")).to_contain_text("nodes on GPU:2; 1 copy between devices, 256 B")
    expect(page.locator("#graph .gp-badge").filter(has_text=" of ").first).to_be_visible()
    page.shoot("inputs")


@both_themes
def test_colours_of_a_measured_step(opened):
    from playwright.sync_api import expect

    graph = towers()
    step = tf.RunMetadata()
    device = step.step_stats.dev_stats.add(device="/device:GPU:2")
    for micros, name in ((5, "Const"), (900, "Const_1"), (10, "MatMul"), (20, "MatMul_1"), (1, "AddN")):
        stats = device.node_stats.add(node_name=name, all_end_rel_micros=micros)
        stats.output.add().tensor_description.allocation_description.requested_bytes = 64
    page = opened(tf.place(graph, "4x Tesla K20m"), "step", run_metadata=step)
    colours = page.get_by_label("Colour by")
    colours.select_option("time")
    legend = page.locator(".gp-legend")
    expect(legend).to_contain_text("did not run: 2")
    expect(legend).to_contain_text("time in the measured step")
    expect(boxes(page).filter(has_text="Const_1")).to_contain_text("900 µs")
    page.get_by_label("Highlight", exact=True).select_option("path by time")
    expect(page.locator(".gp-lit-text")).to_have_text(
        "critical path: 3 ops, 911 µs, the longest chain by measured time"
    )
    head = page.locator("#tables th button", has_text="time")
    head.click()
    head.click()
    expect(
        page.get_by_role("region", name="Nodes").locator("tbody:not([aria-hidden]) tr").first
    ).to_contain_text("900 µs")
    page.shoot("time")
    for name in ("memory", "type", "requested", "group", "cause"):
        colours.select_option(name)
        expect(legend).to_contain_text("coloured by")
    colours.select_option("")
    expect(legend).to_contain_text("GPU:2: 3")


@both_themes
def test_what_failed_is_marked(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(towers(), "1x Tesla K40c", on_error="keep"), "failed")
    expect(page.get_by_role("tab").first).to_have_text("Errors")
    expect(page.locator(".gp-error").first).to_contain_text("was explicitly assigned to /device:GPU:2")
    expect(page.locator("#graph g.node.guilty")).to_have_count(6)
    page.shoot("errors")


@both_themes
def test_a_fix_has_a_picture_of_its_own(opened):
    from playwright.sync_api import expect

    placement = tf.place(towers(), "1x Tesla K40c", on_error="keep")
    page = opened(placement, "fixes", fixes=fixes_of(placement))
    refused = page.get_by_role("region", name="This graph cannot be placed")
    expect(refused).to_contain_text("config = tf.ConfigProto(allow_soft_placement=True)")
    assert violations(page) == []
    page.shoot("error")
    with page.expect_navigation():
        refused.get_by_role("link", name="Show the placement").click()
    page.wait_for_selector("html[data-ready=yes]")
    expect(page.get_by_role("navigation", name="Changed setting")).to_contain_text("Turn on soft placement")
    expect(refused).to_be_hidden()
    expect(page.locator("#graph g.node.guilty")).to_have_count(0)
    expect(boxes(page)).to_have_count(7)
    assert violations(page) == []
    page.shoot("fixed")
    page.get_by_role("button", name="graph").click()
    expect(page.locator("#graph g.node.guilty")).to_have_count(6)


@both_themes
def test_hostile_names(opened):
    from playwright.sync_api import expect

    page = opened(hostile_view(), "hostile")
    page.evaluate("void (window.alert = () => console.error('a name was executed'))")
    expect(page.get_by_role("region", name="Nodes").locator("tbody:not([aria-hidden]) tr")).to_have_count(
        len(HOSTILE)
    )
    page.get_by_role("button", name="Unfold").click()
    for group in boxes(page).all():
        group.dispatch_event("click")
    assert page.locator("b, img, script:not([id])").count() <= 1 + page.locator(".gp-why b").count()
    expect(page.locator("#tables")).to_contain_text("</script><script>alert(1)</script>")
    expect(page.locator("#tables")).to_contain_text("a\\u202eevil")
    page.shoot("names")


def test_keyboard_and_labels(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(towers(), "4x Tesla K20m"), "keys")
    page.locator("#graph g.node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".gp-why h3")).to_have_text("MatMul")
    page.get_by_role("tab", name="Nodes").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Copies")).to_be_focused()
    for group in boxes(page).all():
        assert " on /job:localhost" in group.get_attribute("aria-label")
    unlabelled = (
        "[...document.querySelectorAll('button, input')].filter(e => !(e.ariaLabel || e.textContent.trim()))"
    )
    assert page.evaluate(f"{unlabelled}.length") == 0


@both_themes
def test_keys(opened):
    """Every control of the picture has a key, `?` lists them, and what is typed into a field stays there."""
    from playwright.sync_api import expect

    page = opened(tf.place(towers(), "4x Tesla K20m"), "all-keys")
    page.keyboard.press("?")
    help = page.get_by_role("dialog", name="Keys")
    expect(help.get_by_role("button", name="Close the keys")).to_be_focused()
    listed = help.locator("div > dt").all_inner_texts()
    assert len(listed) == len(set(listed)) > 20
    shown = page.locator("#graph .gp-tools button:visible, #graph .gp-tools input:visible").all()
    without = [control.inner_text() for control in shown if control.get_attribute("data-shortcut") is None]
    assert without == ["?"]
    page.shoot("help")
    page.keyboard.press("Escape")
    expect(help).to_have_count(0)
    by_device = page.get_by_role("button", name="By device")
    page.keyboard.press("d")
    expect(by_device).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("/")
    page.keyboard.type("MatMul_1dd?")
    expect(page.get_by_label("Find an op by regular expression")).to_have_value("MatMul_1dd?")
    expect(by_device).to_have_attribute("aria-pressed", "true")
    expect(help).to_have_count(0)


def test_a_view_is_kept(opened, tmp_path):
    """In the address, and in a file; also on a page made anew, where other scopes may be."""
    from playwright.sync_api import expect

    placement = tf.place(training(3, 60), "4x Tesla K20m")
    page = opened(placement, "view")
    fresh = page.url
    page.evaluate("void window.gpuplacePage.send({ type: 'fold', how: 'all' })")
    boxes(page).filter(has_text="tower_1").dblclick()
    find = page.get_by_label("Find an op by regular expression")
    find.fill("tower_1/layer_33/out$")
    find.press("Enter")
    page.get_by_label("Colour by").select_option("type")
    page.get_by_label("Highlight", exact=True).select_option("inputs")
    page.wait_for_timeout(400)
    seen = """() => [[...document.querySelectorAll('#graph g.node, #graph g.cluster')].map((group) => group.id).sort(),
        document.querySelector('.gp-lit-text').textContent, document.querySelector('.gp-legend').textContent,
        document.querySelector('.gp-why h3').textContent]"""
    before = page.evaluate(seen)
    assert before[3] == "tower_1/layer_33/out" and "depends on" in before[1]
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert page.evaluate(seen) == before
    expect(page.get_by_label("Colour by")).to_have_value("type")
    with page.expect_download() as started:
        page.get_by_role("button", name="Save view").click()
    path = tmp_path / started.value.suggested_filename
    started.value.save_as(path)
    assert path.name == "view.json"
    page.goto("about:blank")
    page.goto(fresh)
    page.wait_for_selector("html[data-ready=yes]")
    assert page.evaluate(seen) != before
    page.get_by_label("File with a view").set_input_files(path)
    expect(page.locator(".gp-why h3")).to_have_text("tower_1/layer_33/out")
    assert page.evaluate(seen) == before
    path.write_text(
        '{"gpuplace": "page", "opened": ["nowhere", 3], "selected": "gone", "colour": "x", "light": 7}'
    )
    page.get_by_label("File with a view").set_input_files(path)
    expect(boxes(page)).to_have_count(4)
    expect(page.locator(".gp-why h3")).to_have_text("Why is this op here?")
    path.write_text("[1]")
    page.get_by_label("File with a view").set_input_files(path)
    expect(page.locator(".gp-tools")).to_contain_text("Cannot be opened: this is no saved view")


def test_full_screen_and_the_panel(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(towers(), "4x Tesla K20m"), "room")
    canvas, why = page.locator("#graph .gp-canvas"), page.locator(".gp-why")
    before = canvas.bounding_box()
    full = page.get_by_role("button", name="Full screen")
    full.click()
    expect(full).to_have_attribute("aria-pressed", "true")
    now = canvas.bounding_box()
    assert now["height"] > before["height"] + 200 and now["width"] > before["width"]
    expect(boxes(page).last).to_be_in_viewport(ratio=1)
    page.shoot("full")
    full.click()
    expect(full).to_have_attribute("aria-pressed", "false")
    panel = page.get_by_role("button", name="Why", exact=False)
    expect(panel).to_have_attribute("aria-expanded", "true")
    panel.click()
    expect(why).to_be_hidden()
    assert canvas.bounding_box()["width"] > before["width"] + 300
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    expect(why).to_be_hidden()
    panel.click()
    expect(why).to_be_visible()
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    expect(why).to_be_visible()


def test_a_name_can_be_copied(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(training(1, 2), "1x Tesla K20m"), "copied", "#tower_0%2Flayer_1%2Fout")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy name").click()
    expect(page.locator(".gp-copied")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "tower_0/layer_1/out"
    expect(page.locator(".gp-copied")).to_have_text("")


def test_the_overview_covers_nothing(opened):
    page = opened(tf.place(training(2, 30), "2x Tesla K20m"), "overview")
    overview = page.locator(".gp-map")
    assert overview.is_hidden()
    page.get_by_role("button", name="Unfold", exact=False).first.click()
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    assert overview.is_visible()
    inner = overview.bounding_box()
    for selector in (".gp-canvas", ".gp-bars", ".gp-legend > *", ".gp-why"):
        for element in page.locator(f"#graph {selector}").all():
            outer = element.bounding_box()
            assert (
                inner["x"] >= outer["x"] + outer["width"]
                or inner["x"] + inner["width"] <= outer["x"]
                or inner["y"] >= outer["y"] + outer["height"]
                or inner["y"] + inner["height"] <= outer["y"]
            ), selector


@both_themes
@pytest.mark.parametrize("width", [390, 1400])
def test_narrow_pages(opened, width):
    """Nothing is wider than the page, tables scroll in their frames, and the picture can be used."""
    from playwright.sync_api import expect

    other = tf.place(training(2, 8), "1x Tesla K20m", tf.ConfigProto(allow_soft_placement=True))
    page = opened(tf.place(training(2, 8), "2x Tesla K20m"), "narrow", against=other, against_text="one GPU")
    page.set_viewport_size({"width": width, "height": 844})
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = page.evaluate(
            """() => [...document.querySelectorAll('[role=tabpanel]:not([hidden]) .gp-rows')].filter((rows) =>
                rows.scrollWidth > rows.clientWidth + 1 && getComputedStyle(rows).overflowX !== 'auto').length"""
        )
        assert wide == 0
    for control in page.locator("#graph :is(.gp-tools button, .gp-tools input, select):visible").all():
        box = control.bounding_box()
        assert 0 <= box["x"] and box["x"] + box["width"] <= width
    page.shoot(f"{width}")
    find = page.get_by_label("Find an op by regular expression")
    find.fill("layer_3/out")
    find.press("Enter")
    expect(page.locator("#graph g.node.gp-selected")).to_be_in_viewport()
    expect(page.locator(".gp-why h3")).to_have_text("tower_0/layer_3/out")
    canvas = page.locator("#graph .gp-canvas").bounding_box()
    assert canvas["width"] > 0.6 * width and canvas["height"] > 240


@both_themes
@pytest.mark.parametrize("kind", ["placed", "failed", "measured", "folded"])
def test_accessibility(opened, kind):
    """Of every tab, with an op, a scope and nothing selected."""
    if kind == "measured":
        tf.use_machine("2x Tesla K20m")
        graph, metadata = measured()
        page = opened(tf.place(graph, "2x Tesla K20m"), kind, run_metadata=metadata)
        page.locator("#step summary").click()
    elif kind == "folded":
        other = tf.place(training(3, 30), "2x Tesla K20m", tf.ConfigProto(allow_soft_placement=True))
        page = opened(tf.place(training(3, 30), "4x Tesla K20m"), kind, against=other, against_text="2 GPUs")
    elif kind == "failed":
        page = opened(tf.place(towers(), "1x Tesla K40c", on_error="keep"), kind)
    else:
        page = opened(tf.place(towers(), "4x Tesla K20m"), kind)
    assert violations(page) == []
    boxes(page).first.dispatch_event("click")
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert violations(page) == [], tab.inner_text()
    for _ in range(2):
        page.get_by_role("button", name="Zoom in").first.click()
    page.evaluate("void window.gpuplacePage.send({ type: 'light', what: 'inputs' })")
    assert violations(page) == []


@both_themes
def test_print(opened, tmp_path):
    page = opened(tf.place(towers(), "4x Tesla K20m"), "print")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shown = page.locator("[role=tabpanel]:visible")
    assert shown.count() == page.get_by_role("tab", include_hidden=True).count() >= 5
    assert page.locator(".gp-tools").is_hidden()
    assert len(page.pdf()) > 10_000
    copies = page.locator(".gp-note-copy").first.evaluate("(note) => getComputedStyle(note).color")
    assert copies == in_css(RULES["colours"]["themes"]["light"]["copy"])
    page.shoot("paper")


def test_the_theme_may_change_while_the_page_is_open(opened):
    tf.use_machine("2x Tesla K20m")
    graph, metadata = measured()
    page = opened(tf.place(graph, "2x Tesla K20m"), "themes", run_metadata=metadata)
    page.evaluate(
        """() => {
            window.inks = new Set();
            const fillText = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (...what) {
                window.inks.add(this.fillStyle);
                return fillText.call(this, ...what);
            };
        }"""
    )
    for theme in ("dark", "light"):
        colours = RULES["colours"]["themes"][theme]
        page.emulate_media(color_scheme=theme)
        note, ink = page.evaluate(
            """async (ink) => {
                const note = getComputedStyle(document.querySelector(".gp-note-copy")).color;
                while (!window.inks.has(ink)) await new Promise((done) => requestAnimationFrame(done));
                return [note, ink];
            }""",
            colours["ink"],
        )
        assert (note, ink) == (in_css(colours["copy"]), colours["ink"])


def measured():
    """A placement of towers with layers, and what one step of it measured."""
    graph = training(2, 4)
    with graph.as_default():
        towers = [graph.get_tensor_by_name(f"tower_{tower}/layer_3/out:0") for tower in range(2)]
        feeds = {graph.get_tensor_by_name(f"tower_{tower}/x:0"): np.ones([8, 8]) for tower in range(2)}
        with tf.device("/cpu:0"):
            total = tf.add_n(towers, name="total")
            init = tf.global_variables_initializer()
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph) as session:
        session.run(init)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(total, feeds, options=options, run_metadata=metadata)
    return graph, metadata


LANE_TEXTS = """async () => {
    const texts = [];
    const fillText = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
        texts.push(text);
        return fillText.call(this, text, ...at);
    };
    document.documentElement.setAttribute("theme", "light");
    while (!texts.length) await new Promise((done) => requestAnimationFrame(done));
    return texts;
}"""
"""Has the canvas drawn again; what is written on it. (The page's policy forbids Playwright to wait by a "
"condition.)"""


@both_themes
def test_the_timeline_of_a_measured_step(opened):
    from playwright.sync_api import expect

    tf.use_machine("2x Tesla K20m")
    graph, metadata = measured()
    page = opened(tf.place(graph, "2x Tesla K20m"), "timeline", run_metadata=metadata)
    section = page.get_by_role("region", name="Measured step")
    said = section.locator(".gp-timeline-said")
    expect(section.locator(".gp-timeline-summary")).to_contain_text("on 3 devices in")
    expect(section.get_by_role("cell", name="GPU:1").first).to_be_visible()
    texts = page.evaluate(LANE_TEXTS)
    assert {"CPU:0", "GPU:0", "GPU:1"} <= set(texts) and sum(text.endswith("% busy") for text in texts) == 3
    section.get_by_role("searchbox").fill("tower_1/layer_2/out$")
    page.keyboard.press("Enter")
    expect(said).to_contain_text("tower_1/layer_2/out (Relu) on GPU:1")
    expect(page.locator(".gp-why h3")).to_have_text("tower_1/layer_2/out")
    expect(page.locator("#graph g.node.gp-selected")).to_contain_text("out")
    page.shoot("node")
    page.get_by_role("button", name="Fit the whole picture").click()
    boxes(page).filter(has_text="total").click()
    expect(said).to_contain_text("total (AddN) on CPU:0")
    expect(said).to_contain_text("last input: 256 B copy of tower_")
    canvas = section.get_by_role("application")
    canvas.focus()
    page.keyboard.press("Escape")
    expect(said).to_have_text("")
    page.keyboard.press("c")
    expect(said).to_contain_text("on the critical path")
    section.get_by_label("Colour boxes by").select_option("op type")
    expect(section.locator(".gp-timeline-legend")).to_contain_text("MatMul")
    section.locator("summary").click()
    expect(section.get_by_role("table").last).to_contain_text("256 B")
    assert faint_words(page, "#step") == []
    page.shoot("types")


def test_the_timeline_alone(browser, tmp_path, screenshots):
    tf.use_machine("2x Tesla K20m")
    path = tmp_path / "step.html"
    _, metadata = measured()
    path.write_text(timeline_page_html(tf.timeline(metadata), title="a<b", settings=[("file", "x&y")]))
    for theme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 1200, "height": 620}, color_scheme=theme)
        watch = Watch(path.as_uri()).over(page)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.get_by_role("application").focus()
        page.keyboard.press("ArrowDown")
        assert "on GPU:0" in page.locator(".gp-timeline-said").inner_text()  # GPUs come first
        assert page.locator("h1").inner_text() == "a<b" and page.locator("header dd").inner_text() == "x&y"
        assert faint_words(page, "body") == [] and violations(page) == []
        page.screenshot(path=screenshots / f"step-{theme}.png")
        page.close()
        assert watch.errors == [] and watch.elsewhere == []
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    assert "critical path:" in page.locator("noscript").inner_text()
    page.close()


def test_a_call_opens_the_function_that_it_calls(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(saved_model("serving_default"), "2x Tesla K40c", whole_graph=True), "calls")
    heading = page.locator("header")
    expect(heading).to_contain_text("whole graph of a SavedModel, tags serve; 1 signature")
    expect(page.locator(".gp-trail")).to_have_count(0)
    boxes(page).filter(has_text="choose").click()
    expect(page.locator(".gp-calls")).to_have_text("then_branch: addelse_branch: add_on_gpu_1")
    page.shoot("calls")
    boxes(page).filter(has_text="saver").dblclick()  # calls nothing
    expect(page.locator(".gp-why h3")).to_have_text("saver")
    boxes(page).filter(has_text="choose").click()
    page.get_by_role("button", name="add_on_gpu_1").click()
    trail = page.get_by_role("navigation", name="Where this function is called")
    expect(trail).to_contain_text("add_on_gpu_1")
    page.wait_for_selector("html[data-ready=yes]")
    expect(heading).to_contain_text(
        "function add_on_gpu_1 of a SavedModel, tags serve, as a graph of its own"
    )
    expect(heading).to_contain_text("4 nodes: 4 on GPU:0; nothing is copied")  # where the StatelessIf is
    boxes(page).filter(has_text="one").click()
    page.wait_for_timeout(400)  # addresses are told after changes that come together
    assert page.url.endswith("#/add_on_gpu_1/one")
    page.shoot("function")
    trail.get_by_role("button", name="graph").click()
    expect(trail).to_have_count(0)
    boxes(page).filter(has_text="call").first.dblclick()
    expect(trail).to_contain_text("outer")
    page.go_back()
    expect(trail).to_have_count(0)
    expect(heading).to_contain_text("whole graph of a SavedModel")
    page.wait_for_selector("html[data-ready=yes]")
    boxes(page).filter(has_text="choose").focus()
    page.keyboard.press("Enter")  # selects
    expect(page.locator(".gp-why h3")).to_have_text("choose")
    expect(trail).to_have_count(0)
    page.keyboard.press("Enter")  # opens what is selected
    expect(trail).to_contain_text("add")


def test_a_node_of_a_function_has_an_address(opened):
    from playwright.sync_api import expect

    page = opened(tf.place(saved_model(), "2x Tesla K40c"), "address", "#/outer/twice")
    expect(page.locator(".gp-why h3")).to_have_text("twice")
    expect(page.locator(".gp-trail")).to_contain_text("outer")
    page = opened(tf.place(saved_model(), "2x Tesla K40c"), "no-function", "#/nowhere/twice")
    expect(page.locator(".gp-trail")).to_have_count(0)
    expect(boxes(page).filter(has_text="saver")).to_have_count(1)
