"""A better placement in the explorer: searched, stopped, applied in part and taken back, by mouse and by keyboard."""

import re

import pytest

from tests.browser.accessibility import violations
from tests.browser.conftest import VIEWPORT, write_notebook
from tests.browser.contrast import faint_words
from tests.browser.jupyterlab import Watch, open_notebook, run_all

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

EXPLORER = """
import os
os.environ["NUMBA_DISABLE_JIT"] = "1"  # the first search would compile
import gpuplace as tf
from tests.advisor.step_graphs import branches, graph_of

explorer = tf.explore(graph_of(branches(count=3, width=1024, blocks=1)), machine="2x V100", soft_placement=True)
explorer.fetches, explorer.feeds = "train", {"rows": (512, 1024)}
explorer
"""


@pytest.fixture
def lab_page(browser, jupyter):
    with jupyter.fresh("JupyterLab Light") as base:
        write_notebook(jupyter.root / "advice.ipynb", EXPLORER)
        page = browser.new_page(viewport=VIEWPORT)
        watch = Watch(base).over(page)
        open_notebook(page, base, "advice.ipynb")
        run_all(page)
        yield page
        page.close()
    assert watch.errors == []
    assert watch.elsewhere == []


def test_advice_is_searched_applied_and_taken_back(lab_page, screenshots):
    from playwright.sync_api import expect

    explorer = lab_page.locator(".gp-explorer")
    advice = explorer.locator(".gp-panel").filter(has=lab_page.get_by_role("group", name="Search settings"))
    explorer.get_by_role("tab", name="Advice").click()
    expect(advice.get_by_role("combobox", name="Objective")).to_have_value("time of a step")

    # Stopped by the keyboard; meanwhile the kernel answers.
    advice.get_by_role("textbox", name="Seconds").fill("600")
    advice.get_by_role("textbox", name="Seconds").press("Enter")
    explorer.get_by_role("button", name="Search for a better placement").click()
    running = explorer.get_by_role("progressbar", name="Search for a better placement")
    expect(running).to_be_visible()
    expect(explorer.locator(".gp-progress")).to_contain_text("The best so far")
    lab_page.screenshot(path=screenshots / "advice_running.png")
    explorer.get_by_label("Soft placement").uncheck()
    expect(explorer.get_by_role("button", name="Undo the last change")).to_be_enabled()
    explorer.get_by_role("button", name="Undo the last change").click()
    explorer.get_by_role("button", name="Stop").press("Enter")
    expect(advice).to_contain_text("The search was stopped early")

    # Searched to the end: how much is found until a stop depends on the machine.
    advice.get_by_role("textbox", name="Seconds").fill("8")
    advice.get_by_role("textbox", name="Seconds").press("Enter")
    advice.get_by_role("button", name="Advise").press("Enter")
    expect(running).to_be_visible()
    expect(running).to_have_count(0, timeout=60_000)
    expect(advice).not_to_contain_text("The search was stopped early")
    expect(advice).to_contain_text(
        re.compile("(within [0-9]+%|at most [0-9.]+ times) (of )?the best possible")
    )

    moves = advice.get_by_role("table", name="Moves")
    expect(moves.get_by_role("checkbox").first).to_be_checked()
    advice.get_by_role("button", name="Apply all").click()
    expect(advice).to_contain_text("The recommendation is applied")
    expect(explorer.locator(".gp-legend").first).to_contain_text("GPU:1")
    advice.get_by_role("button", name="Copy as Python").click()
    expect(advice.get_by_label("The recommendation as Python")).to_contain_text("def advised_device(op):")
    expect(advice.get_by_role("status").filter(has_text=re.compile("Copied|select the text"))).to_be_visible()
    for theme in ("Light", "Dark"):
        lab_page.evaluate(
            f"jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {theme}'}})"
        )
        lab_page.wait_for_function(f"document.body.dataset.jpThemeName === 'JupyterLab {theme}'")
        for name, width in (("wide", 1400), ("narrow", 700)):
            lab_page.set_viewport_size({"width": width, "height": 1400})
            advice.get_by_role("button", name="Advise").evaluate("button => button.scrollIntoView()")
            lab_page.screenshot(path=screenshots / f"advice_{theme.lower()}_{name}.png")
        lab_page.set_viewport_size(VIEWPORT)
        lab_page.wait_for_timeout(300)
        assert faint_words(lab_page, ".gp-explorer .gp-panel") == []
        assert violations(lab_page, ".gp-explorer") == []

    # A part of it, by the keyboard.
    advice.get_by_role("button", name="Revert the recommendation").press("Enter")
    expect(advice.get_by_role("button", name="Revert the recommendation")).to_have_count(0)
    if moves.get_by_role("checkbox").count() > 1:
        moves.get_by_role("checkbox").first.focus()
        lab_page.keyboard.press("Space")
        expect(moves.get_by_role("checkbox").first).not_to_be_checked()
        expect(moves.get_by_role("checkbox").first).to_be_focused()
        advice.get_by_role("button", name="Apply the selected moves").press("Enter")
        expect(advice).to_contain_text(re.compile("Applied: [0-9]+ of [0-9]+ moves"))

    # What is wrong is said.
    advice.get_by_role("textbox", name="Keep").fill("nowhere")
    advice.get_by_role("textbox", name="Keep").press("Enter")
    advice.get_by_role("button", name="Advise").press("Enter")
    expect(advice).to_contain_text("keep: no node matches 'nowhere'")
