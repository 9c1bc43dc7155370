"""The explorer of a SavedModel in JupyterLab: signatures to choose from, calls that open, and the way back."""

import pytest

from tests.browser.contrast import faint_words
from tests.browser.jupyterlab import open_notebook, run_all

pytestmark = [pytest.mark.browser]


@pytest.fixture(scope="module")
def explorer(page, lab):
    """The explorer of the model, run in this page."""
    base, _ = lab
    open_notebook(page, base, "model.ipynb")
    run_all(page)
    page.keyboard.press("Control+b")  # more room: the file browser away
    found = page.locator(".gp-explorer")
    found.locator(".gp-canvas svg g.node").first.wait_for()
    return found


def boxes(explorer, name):
    return explorer.locator("g.node").filter(has_text=name)


def test_a_model_is_looked_through(explorer, page, screenshots, lab):
    from playwright.sync_api import expect

    picker = explorer.get_by_label("Graph", exact=True)
    expect(picker).to_have_value("signature serving_default")
    told = explorer.locator(".gp-panel", has_text="of a SavedModel").first
    expect(told).to_contain_text("signature serving_default of a SavedModel, tags serve; 1 other")
    expect(boxes(explorer, "twice")).to_have_count(1)
    picker.select_option("whole graph")
    expect(told).to_contain_text("whole graph of a SavedModel, tags serve; 2 signatures")
    expect(boxes(explorer, "saver")).to_have_count(1)
    boxes(explorer, "choose").click()
    calls = explorer.locator(".gp-calls")
    expect(calls).to_contain_text("then_branch: add")
    calls.get_by_role("button", name="add_on_gpu_1").click()
    expect(picker).to_have_value("function add_on_gpu_1")
    trail = explorer.get_by_role("navigation", name="Where this function is called")
    expect(trail).to_have_text("whole graph › add_on_gpu_1")
    explorer.screenshot(path=screenshots / f"function-{lab[1].split()[-1].lower()}.png")
    assert faint_words(page, ".gp-explorer") == []
    trail.get_by_role("button", name="whole graph").click()
    expect(picker).to_have_value("whole graph")
    expect(explorer.locator(".gp-why h3").first).to_have_text("choose")  # as it was left
    boxes(explorer, "PartitionedCall").first.dblclick()
    expect(picker).to_have_value("function outer")
    expect(trail).to_have_text("whole graph › outer")
    explorer.get_by_role("button", name="Undo the last change").click()
    expect(picker).to_have_value("whole graph")
    expect(trail).to_have_count(0)
