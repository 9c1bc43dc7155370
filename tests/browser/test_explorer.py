"""The notebook of the whole guide in JupyterLab: run it all, then use the explorer as a person does."""

import base64
import re

import pytest

from tests.browser.accessibility import violations
from tests.browser.contrast import faint_words
from tests.browser.jupyterlab import open_notebook, run_all
from tests.browser.test_still_pictures import LIGHTS

pytestmark = [pytest.mark.browser]

MATMUL_1 = "g.node#n5"
GPU_FILL = {"GPU:0": "#6d96ff", "GPU:3": "#dc7696"}


@pytest.fixture(scope="module")
def explorer(page, lab):
    """The explorer of the notebook, run in this page."""
    base, _ = lab
    open_notebook(page, base, "20-the-whole-guide.ipynb")
    run_all(page)
    page.keyboard.press("Control+b")  # more room: the file browser away
    found = page.locator(".gp-explorer")
    found.locator(f".gp-canvas svg {MATMUL_1}").wait_for()
    found.scroll_into_view_if_needed()
    return found


@pytest.fixture(autouse=True)
def as_in_the_beginning(explorer):
    """Each test finds the machine of the notebook, all of it visible, and no soft placement."""
    yield
    explorer.get_by_label("Machine").fill("4x Tesla K20m")
    explorer.get_by_label("Machine").press("Enter")
    explorer.get_by_label("Soft placement").uncheck()
    for number in range(4):
        explorer.get_by_label(f"GPU {number} ·").check()
    explorer.get_by_role("tab", name="Table").click()
    explorer.locator(".gp-table-head input").first.fill("")
    explorer.locator(".gp-panel p[role=status]").first.wait_for()


def shoot(explorer, screenshots, lab, name):
    explorer.screenshot(path=screenshots / f"{name}-{lab[1].split()[-1].lower()}.png")


def fill_of(explorer, node):
    return explorer.locator(f".gp-canvas {node} a > path, .gp-canvas {node} a > polygon").first.get_attribute(
        "fill"
    )


def row(explorer, name):
    return explorer.locator(f"tr[data-key='{name}']").first


def test_the_notebook_shows_pictures_tables_and_the_explorer(explorer, page, screenshots, lab):
    assert page.locator(".jp-OutputArea-output img[src^='data:image/svg+xml']").count() >= 5
    assert page.locator(".jp-OutputArea-output table.dataframe").count() >= 2
    picture = page.locator(".jp-OutputArea-output img.gp-still").first
    picture.scroll_into_view_if_needed()
    most, _, _ = page.evaluate(LIGHTS, [base64.b64encode(picture.screenshot()).decode()])
    assert (most < 60) == (lab[1] == "JupyterLab Dark")
    explorer.scroll_into_view_if_needed()
    assert fill_of(explorer, MATMUL_1) == GPU_FILL["GPU:3"]
    assert explorer.locator(".gp-legend").inner_text().replace("\n", " ").startswith("CPU:0: 1")
    assert explorer.locator("g.edge.copy").count() == 2
    shoot(explorer, screenshots, lab, "explorer")
    page.screenshot(path=screenshots / f"page-{lab[1].split()[-1].lower()}.png")


def test_a_click_on_an_op_says_why_and_selects_its_row(explorer, screenshots, lab):
    from playwright.sync_api import expect

    explorer.locator(f".gp-canvas {MATMUL_1}").click()
    why = explorer.locator(".gp-why")
    expect(why.locator("h3")).to_have_text("MatMul_1")
    expect(why.locator(".gp-reason")).to_contain_text("asked for '/device:GPU:3'")
    term = why.locator(".gp-reason .gp-term", has_text="kernel")
    expect(term).to_have_attribute("title", re.compile("^only devices of a type that has a kernel"))
    expect(why).to_contain_text(re.compile(r"In\[\d+\]:\d+"))
    expect(row(explorer, "MatMul_1")).to_have_class(re.compile("gp-selected"))
    expect(explorer.locator(f".gp-canvas {MATMUL_1}")).to_have_attribute("aria-pressed", "true")
    shoot(explorer, screenshots, lab, "selected")
    why.get_by_role("button", name="AddN").click()
    expect(why.locator("h3")).to_have_text("AddN")
    row(explorer, "Const_2").click()
    expect(why.locator("h3")).to_have_text("Const_2")
    expect(why.locator(".gp-reason")).to_contain_text("asked for")


def test_what_an_op_depends_on_is_lit(explorer, screenshots, lab, page):
    from playwright.sync_api import expect

    box = explorer.locator(f".gp-canvas {MATMUL_1}")
    box.click()
    why = explorer.locator(".gp-why")
    button = why.get_by_role("button", name="All inputs: highlight all that it depends on")
    button.click()
    told = explorer.locator(".gp-lit-text")
    expect(told).to_have_text("what MatMul_1 depends on: 2 nodes on GPU:3; no copy between devices")
    expect(explorer.locator(".gp-canvas g.node.gp-on")).to_have_count(3)
    expect(explorer.locator(".gp-canvas g.edge.gp-on")).to_have_count(2)
    expect(explorer.locator(".gp-canvas g.node.gp-off")).to_have_count(4)
    expect(why.get_by_role("button", name="All inputs: highlight all that it depends on")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(box).to_have_attribute("aria-label", re.compile(", highlighted$"))
    only = explorer.get_by_label("Only these in the tables")
    only.check()
    expect(explorer.locator("tr[data-key]:visible")).to_have_count(3)
    shoot(explorer, screenshots, lab, "lit")
    box.focus()
    page.keyboard.press("c")  # the consumers
    expect(told).to_contain_text("1 copy between devices, 16 B")
    expect(explorer.get_by_label("Highlight", exact=True)).to_have_value("consumers")
    page.keyboard.press("p")  # the critical path
    expect(told).to_have_text("critical path: 3 ops, the longest chain")
    expect(explorer.locator("tr[data-key]:visible")).to_have_count(3)
    only.uncheck()
    find = explorer.get_by_label("Find an op by regular expression")
    find.fill("^Const")
    find.press("Enter")
    explorer.get_by_label("Highlight", exact=True).select_option("matches")
    expect(told).to_have_text("4 matches of ^Const")
    expect(explorer.locator(".gp-canvas g.node.gp-on")).to_have_count(4)
    box.focus()
    page.keyboard.press("l")  # nothing
    expect(explorer.locator(".gp-canvas g.node.gp-off")).to_have_count(0)
    expect(told).to_have_text("")
    row(explorer, "Const").click()
    expect(why.locator(".gp-attrs")).to_contain_text("float32 2×3: [[1, 2, 3], [4, 5, 6]]")


def test_hiding_a_gpu_fails_visibly_and_soft_placement_repairs_it(explorer, screenshots, lab):
    from playwright.sync_api import expect

    explorer.locator(f".gp-canvas {MATMUL_1}").click()
    explorer.get_by_label("GPU 3 ·").uncheck()
    alert = explorer.get_by_role("alert")
    expect(alert).to_contain_text("was explicitly assigned to /device:GPU:3 but available devices are [")
    expect(alert).to_contain_text("requested by")
    expect(explorer.locator(f".gp-canvas {MATMUL_1}")).to_have_class(re.compile("guilty"))
    expect(explorer.locator(".gp-reason")).to_contain_text("none left")
    expect(row(explorer, "MatMul_1")).to_contain_text("no device")
    shoot(explorer, screenshots, lab, "failed")

    explorer.get_by_label("Soft placement").check()
    expect(alert).to_have_count(0)
    expect(explorer.locator(f".gp-canvas {MATMUL_1}")).to_have_class(re.compile("unmet"))
    assert fill_of(explorer, MATMUL_1) == GPU_FILL["GPU:0"]
    expect(row(explorer, "MatMul_1")).to_contain_text("≠ /device:GPU:3")
    expect(row(explorer, "MatMul_1")).to_contain_text("GPU:0")
    expect(explorer.locator(".gp-reason")).to_contain_text("soft placement")
    shoot(explorer, screenshots, lab, "soft")


def test_another_machine_and_a_machine_that_does_not_exist(explorer, screenshots, lab):
    from playwright.sync_api import expect

    machine = explorer.get_by_label("Machine")
    machine.fill("7x Warp Drive")
    machine.press("Enter")
    expect(explorer.get_by_role("alert")).to_contain_text("Unknown GPU model 'Warp Drive'")
    explorer.get_by_label("Soft placement").check()
    expect(explorer.get_by_role("alert")).to_have_count(0)
    expect(machine).to_have_value("4x Tesla K20m")
    machine.fill("2x Tesla K40c")
    machine.press("Enter")
    expect(explorer.get_by_label("GPU 1 · Tesla K40c")).to_be_checked()
    expect(explorer.get_by_label("GPU 2 ·")).to_have_count(0)
    expect(explorer.locator(".gp-legend")).not_to_contain_text("GPU:2")
    explorer.get_by_role("tab", name="Devices").click()
    expect(explorer.get_by_role("table", name="From GPUs to devices")).to_contain_text("0000:02:00.0")
    shoot(explorer, screenshots, lab, "machine")
    machine.fill("4x Tesla K20m")
    machine.press("Enter")
    expect(explorer.get_by_label("GPU 3 · Tesla K20m")).to_be_checked()


def test_tabs_filter_and_release(explorer, screenshots, lab):
    from playwright.sync_api import expect

    explorer.get_by_label("Filter rows by regular expression").first.fill("MatMul.*GPU:3")
    expect(explorer.locator("tr[data-key]")).to_have_count(1)
    explorer.get_by_role("tab", name="Copies").click()
    expect(explorer.get_by_role("grid", name="Copies between devices")).to_contain_text("2×2 float32")
    shoot(explorer, screenshots, lab, "copies")
    explorer.get_by_role("tab", name="Log").click()
    expect(explorer.locator(".gp-lines")).to_contain_text("MatMul_1: (MatMul): /job:localhost")
    explorer.get_by_label("Release").select_option("1.4")
    expect(explorer.locator(".gp-lines")).to_contain_text("MatMul_1: /job:localhost")
    shoot(explorer, screenshots, lab, "log")
    explorer.get_by_label("Release").select_option("1.15")
    expect(explorer.locator(".gp-lines")).to_contain_text("MatMul_1: (MatMul): /job:localhost")


def test_all_words_of_every_view_stand_out(explorer, page, screenshots, lab):
    """In the light and in the dark theme, also of what failed and of what is shown of earlier settings."""
    from playwright.sync_api import expect

    def look(name):
        shoot(explorer, screenshots, lab, f"view-{name}")
        assert faint_words(page, ".gp-explorer") == []
        assert violations(page, ".gp-explorer") == [], name

    assert faint_words(page, ".gp-explorer", 22)  # the measure measures: nothing has as much
    explorer.get_by_role("button", name=re.compile("^Settings")).click()
    explorer.locator(f".gp-canvas {MATMUL_1}").click()
    for tab in ("Table", "Log", "Copies", "Memory", "Devices", "Compare", "Errors"):
        explorer.get_by_role("tab", name=tab, exact=True).click()
        page.wait_for_timeout(100)
        look(tab.lower())
        cut = """() => [...document.querySelectorAll('.gp-explorer .gp-wide, .gp-explorer .gp-scroll')]
            .filter((part) => part.clientWidth && part.scrollWidth > part.clientWidth + 1)
            .map((part) => part.textContent.slice(0, 80))"""
        assert tab == "Log" or page.evaluate(cut) == []
    explorer.get_by_label("visible_device_list", exact=True).fill("0,7")
    explorer.get_by_label("visible_device_list", exact=True).press("Enter")
    expect(explorer.locator(".gp-stale-tag")).to_be_visible()
    explorer.get_by_role("tab", name="Devices").click()
    expect(explorer.locator(".gp-panel:visible").last).to_contain_text("These settings allow no devices")
    look("stale")
    explorer.get_by_label("visible_device_list", exact=True).fill("")
    explorer.get_by_label("visible_device_list", exact=True).press("Enter")
    expect(explorer.locator(".gp-stale-tag")).to_have_count(0)
    explorer.get_by_label("GPU 3 ·").uncheck()
    expect(explorer.get_by_role("alert")).to_contain_text("was explicitly assigned to /device:GPU:3")
    explorer.get_by_role("tab", name="Errors").click()
    look("failed")
    explorer.get_by_role("button", name=re.compile("^Settings")).click()


def test_keyboard_alone(explorer, page):
    from playwright.sync_api import expect

    explorer.locator(".gp-canvas").click(position={"x": 5, "y": 5})
    expect(explorer.locator(".gp-why")).to_contain_text("Click an op")
    explorer.get_by_label("Find an op by regular expression").fill("MatMul$")
    page.keyboard.press("Enter")
    expect(explorer.locator(".gp-why h3")).to_have_text("MatMul")
    explorer.locator(".gp-canvas g.node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(explorer.locator(".gp-why h3")).to_have_text("AddN")
    page.keyboard.press("Escape")
    expect(explorer.locator(".gp-why")).to_contain_text("Click an op")
    for group in explorer.locator(".gp-canvas g.node").all():
        assert group.get_attribute("role") == "button"
        assert " on /job:localhost" in group.get_attribute("aria-label")
