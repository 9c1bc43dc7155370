"""The keyboard in the explorer: keys stay out of the notebook, actions have keys, `?` lists them, Escape leaves."""

import json
import re
import string

import pytest

from tests.browser.accessibility import violations
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
explorer = tf.explore(graph, machine="2x Tesla K40c")
explorer.advise(steps=1)
explorer.tab = "Table"
explorer
"""
NOTEBOOK = """() => {
    const notebook = jupyterapp.shell.currentWidget.content;
    return JSON.stringify(notebook.widgets.map((cell) => [cell.model.type, cell.model.sharedModel.getSource()]));
}"""
FOCUS = """() => {
    const active = document.activeElement;
    return active.closest('.gp-explorer') ? 'explorer' : active.closest('.jp-Cell') ? 'cell' : active.tagName;
}"""
CONTROLS = "button, input, select, g.node, [role=tab], [role=grid], .gp-legend, .gp-why"
LEFT_OUT = re.compile("Full screen|Download|Open settings|Save settings|Close the keys")
"""Controls that open windows, which have keys of their own."""


@pytest.fixture(scope="module")
def page(jupyter, browser):
    """The notebook, run, in a window that shows all of the explorer."""
    with jupyter.fresh() as base:
        write_notebook(jupyter.root / "keys.ipynb", PROGRAM, "1 + 1", "2 + 2")
        page = browser.new_page(viewport={"width": 1400, "height": 1400})
        watch = Watch(base).over(page)
        open_notebook(page, base, "keys.ipynb")
        run_all(page)
        page.locator(".gp-explorer .gp-canvas svg g.node").first.wait_for()
        yield page
        page.close()
        assert watch.errors == []
        assert watch.elsewhere == []


@pytest.fixture
def explorer(page):
    found = page.locator(".gp-explorer")
    found.locator(".gp-canvas").click(position={"x": 4, "y": 4})
    return found


def test_escape_gives_the_focus_back(page, explorer):
    from playwright.sync_api import expect

    explorer.get_by_label("Machine").focus()
    page.keyboard.press("Escape")
    assert page.evaluate(FOCUS) == "cell"
    explorer.locator(".gp-canvas g.node").first.click()
    expect(explorer.locator(".gp-why h3")).not_to_have_text("Why is this op here?")
    explorer.locator(".gp-canvas g.node[tabindex='0']").focus()
    page.keyboard.press("Escape")  # the selection first
    expect(explorer.locator(".gp-why h3")).to_have_text("Why is this op here?")
    assert page.evaluate(FOCUS) == "explorer"
    page.keyboard.press("Escape")
    assert page.evaluate(FOCUS) == "cell"
    count = len(json.loads(page.evaluate(NOTEBOOK)))
    page.keyboard.press("b")
    assert len(json.loads(page.evaluate(NOTEBOOK))) == count + 1
    page.keyboard.press("z")
    page.wait_for_function(f"() => jupyterapp.shell.currentWidget.content.widgets.length === {count}")


def test_every_key_does_what_the_help_says(page, explorer, screenshots):
    from playwright.sync_api import expect

    page.keyboard.press("?")
    keys = explorer.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Fit the whole picture")
    expect(keys).to_contain_text("Search for a better placement")
    expect(keys).to_contain_text("GPU 1 · Tesla K40c")
    expect(keys).not_to_contain_text("tower/one")
    explorer.screenshot(path=screenshots / "keys.png")
    assert violations(page, ".gp-keys") == []
    page.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    soft = explorer.get_by_label("Soft placement")
    soft.set_checked(False)
    explorer.locator(".gp-canvas").click(position={"x": 4, "y": 4})
    page.keyboard.press("s")
    expect(soft).to_be_checked()
    expect(explorer.get_by_role("button", name="Undo the last change")).to_be_enabled()
    page.keyboard.press("z")
    expect(soft).not_to_be_checked()
    page.keyboard.press("/")
    expect(explorer.get_by_label("Find an op by regular expression")).to_be_focused()
    page.keyboard.type("sum")
    page.keyboard.press("Enter")
    expect(explorer.locator(".gp-why h3")).to_have_text("other/sum")
    explorer.locator(".gp-canvas").click(position={"x": 4, "y": 4})
    page.keyboard.press(".")
    expect(explorer.get_by_role("tab", name="Copies")).to_have_attribute("aria-selected", "true")
    page.keyboard.press(",")
    expect(explorer.get_by_role("tab", name="Table")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("d")
    expect(explorer.get_by_role("button", name="By device")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("d")
    expect(explorer.get_by_role("button", name="By device")).to_have_attribute("aria-pressed", "false")


def test_keys_do_not_reach_the_notebook(page, explorer):
    """After a click on each control, letters, digits and Delete leave the cells as they are."""
    from playwright.sync_api import Error

    before = page.evaluate(NOTEBOOK)
    page.locator(".jp-CodeCell").nth(2).locator(".jp-InputPrompt").click()
    clicked = []
    for number in range(explorer.locator(CONTROLS).count()):
        control = explorer.locator(CONTROLS).nth(number)
        if not control.is_visible():
            continue
        name = control.evaluate("node => node.getAttribute('aria-label') ?? node.textContent")
        if LEFT_OUT.search(name):
            continue
        try:
            control.click(force=True, timeout=5_000)
        except Error:
            # The search that an earlier "a" started may open its own tab between the look and the click.
            if control.is_visible():
                raise
            continue
        clicked.append(name)
        # What follows acts on the explorer, which may draw the control anew, disable it, or take it away.
        for key in (*"dd", *"bxacvzm", *string.digits[:7], "Delete"):
            page.keyboard.press(key)
        assert page.evaluate(NOTEBOOK) == before, name
        explorer.locator(".gp-canvas").click(position={"x": 4, "y": 4}, force=True)
    assert len(clicked) > 30, clicked
    for key in (*string.ascii_letters, *string.digits, "Delete", "Backspace"):
        if key not in "vgeEF":  # downloads, a choice of files, full screen
            explorer.locator(".gp-canvas").click(position={"x": 4, "y": 4}, force=True)
            page.keyboard.press(key)
    assert page.evaluate(NOTEBOOK) == before
