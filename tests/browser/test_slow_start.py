"""Explorers on a slow machine: little is set up at once, and a model that anywidget gave up is connected again."""

import pytest

from gpuplace.web.modules import modules
from tests.browser.conftest import write_notebook
from tests.browser.jupyterlab import Watch, open_notebook, run_all

pytestmark = [pytest.mark.browser]

PROGRAM = """
import gpuplace as tf

with tf.Graph().as_default() as graph:
    with tf.device("/gpu:1"), tf.name_scope("tower"):
        x = tf.constant([[1.0]], name="one")
        y = tf.matmul(x, x, name="product")
    with tf.name_scope("other"):
        z = tf.add(y, x, name="sum")
tf.explore(graph, machine="2x Tesla K40c")
"""
COUNTED = """
window.counted = {models: 0, scripts: 0};
const made = URL.createObjectURL.bind(URL);
URL.createObjectURL = (blob) => {
    if (blob.type === "text/javascript") counted.scripts += 1;
    return made(blob);
};
const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (ms) => {
    if (ms === 2000) counted.models += 1;
    return timeout(ms);
};
"""
AT_ONCE = """
AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), ms === 2000 ? 0 : ms); // no machine is that fast
    return controller.signal;
};
"""
GIVEN_UP = "[anywidget] Failed to initialize model."
COUNT = 5


def opened(jupyter, base, browser, script, cells):
    """A page with the notebook, run, and what it did."""
    write_notebook(jupyter.root / "slow.ipynb", *cells)
    page = browser.new_page(viewport={"width": 1400, "height": 1400})
    page.add_init_script(script)
    watch = Watch(base).over(page)
    open_notebook(page, base, "slow.ipynb")
    run_all(page)
    return page, watch


def works(page, explorer):
    """Sets a switch, selects an op and opens a tab; each has to be answered."""
    from playwright.sync_api import expect

    explorer.get_by_label("Soft placement").check()
    expect(explorer.get_by_label("Undo the last change (Ctrl+Z)")).to_be_enabled()
    explorer.get_by_label("GPU 1 · Tesla K40c").uncheck()
    expect(explorer.locator(".gp-panel").filter(has_text="on GPU:0").first).to_be_visible()
    explorer.get_by_label("Find an op by regular expression").fill("product")
    page.keyboard.press("Enter")
    expect(explorer.locator(".gp-why h3")).to_have_text("tower/product")
    explorer.get_by_role("tab", name="Devices").click()
    expect(explorer.get_by_role("table", name="From GPUs to devices")).to_be_visible()
    expect(explorer.locator(".gp-banner")).to_be_hidden()


def test_little_is_set_up_at_once(jupyter, browser):
    with jupyter.fresh() as base:
        page, watch = opened(jupyter, base, browser, COUNTED, [PROGRAM] * COUNT)
        explorers = page.locator(".gp-explorer")
        for number in range(COUNT):
            explorers.nth(number).locator(".gp-canvas svg g.node").first.wait_for()
            explorers.nth(number).locator(".gp-field").first.wait_for()
            explorers.nth(number).get_by_role("grid").wait_for()
        counted = page.evaluate("() => counted")
        views = ("controls", "graph", "panel", "table")
        shared = {name for view in views for name in modules(f"gpuplace/widgets/{view}_view.js")}
        assert counted["models"] == 5 * COUNT  # controls, picture, two notes and the first tab
        assert counted["scripts"] == counted["models"] + len(shared)  # one loader a model, each module once
        works(page, explorers.last)
        page.close()
        assert watch.errors == []


def test_a_model_that_was_too_late_is_connected_again(jupyter, browser, screenshots):
    with jupyter.fresh() as base:
        page, watch = opened(jupyter, base, browser, AT_ONCE, [PROGRAM] * 2)
        for number in range(2):
            works(page, page.locator(".gp-explorer").nth(number))
        page.screenshot(path=screenshots / "too-late.png")
        page.close()
        assert set(watch.errors) == {GIVEN_UP}
