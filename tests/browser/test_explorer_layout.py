"""The explorer in windows of several widths, light and dark: the picture has the room, the reason is beside it."""

import re

import pytest

from tests.browser.accessibility import violations
from tests.browser.conftest import write_notebook
from tests.browser.contrast import faint_words
from tests.browser.jupyterlab import Watch, open_notebook, run_all

pytestmark = [pytest.mark.browser]

PROGRAM = """
import os
os.environ["NUMBA_DISABLE_JIT"] = "1"
import gpuplace as tf
from tests.advisor.step_graphs import branches, graph_of

explorer = tf.explore(graph_of(branches(count=3, width=256, blocks=1)), machine="4x Tesla K20m", soft_placement=True)
explorer.fetches, explorer.feeds = "train", {"rows": (512, 256)}
explorer
"""
SIZES = [(1400, 900), (1100, 720), (900, 720)]
THEMES = ["JupyterLab Light", "JupyterLab Dark"]


@pytest.fixture(scope="module", params=THEMES)
def open_at(request, jupyter, browser):
    """`open_at(width, height)` is a page with the explorer."""
    with jupyter.fresh(request.param) as base:
        write_notebook(jupyter.root / "layout.ipynb", PROGRAM)
        pages, watches = [], []

        def open_page(width, height):
            while pages:  # an open page makes every widget of the kernel too
                pages.pop().close()
            page = browser.new_page(viewport={"width": width, "height": height})
            watches.append(Watch(base).over(page))
            open_notebook(page, base, "layout.ipynb")
            run_all(page)
            pages.append(page)
            explorer = page.locator(".gp-explorer")
            explorer.locator(".gp-canvas svg g.node").first.wait_for()
            explorer.scroll_into_view_if_needed()
            page.wait_for_timeout(400)
            return page, explorer, request.param.split()[-1].lower()

        yield open_page
        for page in pages:
            page.close()
        assert [error for watch in watches for error in watch.errors] == []


@pytest.mark.parametrize("width, height", SIZES)
def test_the_picture_has_the_room(open_at, screenshots, width, height):
    from playwright.sync_api import expect

    page, explorer, theme = open_at(width, height)
    box = explorer.bounding_box()
    if height <= 720:
        assert box["height"] <= 700
    fields = explorer.locator(".gp-top :is(input, select):visible").all()[:-1]  # the last is the colouring
    middles = [(field := one.bounding_box())["y"] + field["height"] / 2 for one in fields]
    assert width < 1000 or max(middles) - min(middles) < 8, "settings share a line"
    canvas = explorer.locator(".gp-canvas").bounding_box()
    assert canvas["height"] > 0.42 * box["height"]
    explorer.locator(".gp-canvas g.node").first.click()
    expect(explorer.locator(".gp-why h3")).not_to_have_text("Why is this op here?")
    why = explorer.locator(".gp-why").bounding_box()
    picture = explorer.locator(".gp-picture").bounding_box()
    assert canvas["y"] - 2 <= why["y"] and why["y"] + why["height"] <= picture["y"] + picture["height"] + 1
    if box["width"] > 620:
        assert why["x"] >= canvas["x"] + canvas["width"], "beside the picture"
    else:
        assert why["x"] + why["width"] <= box["x"] + box["width"] + 1, "over the picture"
        close = explorer.get_by_role("button", name="Close the card")
        page.screenshot(path=screenshots / f"layout-{width}-{theme}-drawer.png")
        close.click()
        expect(explorer.locator(".gp-why")).to_be_hidden()
    explorer.scroll_into_view_if_needed()
    page.screenshot(path=screenshots / f"layout-{width}-{theme}.png")
    assert faint_words(page, ".gp-explorer") == []
    assert violations(page, ".gp-explorer") == []


def test_tabs_of_a_low_window_open_and_close(open_at):
    from playwright.sync_api import expect

    page, explorer, _ = open_at(1100, 720)
    rows = explorer.get_by_role("grid", name="Nodes and their devices")
    expect(rows).to_be_hidden()
    tab = explorer.get_by_role("tab", name="Table")
    tab.click()
    expect(rows).to_be_visible()
    explorer.get_by_role("tab", name="Copies").click()
    expect(explorer.get_by_role("grid", name="Copies between devices")).to_be_visible()
    explorer.get_by_role("tab", name="Copies").click()
    expect(explorer.get_by_role("grid", name="Copies between devices")).to_be_hidden()


def test_progress_and_result_are_where_the_button_is(open_at, screenshots):
    from playwright.sync_api import expect

    page, explorer, theme = open_at(1100, 720)
    button = explorer.get_by_role("button", name="Search for a better placement")
    button.scroll_into_view_if_needed()
    button.click()
    progress = explorer.get_by_role("progressbar", name="Search for a better placement")
    expect(progress).to_be_visible()
    assert abs(progress.bounding_box()["y"] - button.bounding_box()["y"]) < 60
    page.screenshot(path=screenshots / f"advise-progress-{theme}.png")
    result = explorer.get_by_role("group", name="The result")
    expect(result).to_be_visible(timeout=60_000)
    expect(result).to_be_in_viewport()
    page.screenshot(path=screenshots / f"advise-result-{theme}.png")
    result.get_by_role("button", name="Show moves").click()
    expect(explorer.get_by_role("tab", name="Advice")).to_have_attribute("aria-selected", "true")
    expect(explorer.get_by_label("Seconds")).to_be_visible()
    result.get_by_role("button", name="Close").click()
    expect(result).to_have_count(0)


def test_full_screen_after_fit_shows_all(open_at, screenshots):
    from playwright.sync_api import expect

    page, explorer, theme = open_at(1100, 720)
    explorer.get_by_role("button", name="Unfold", exact=False).first.click()
    explorer.get_by_role("button", name="Fit the whole picture").click()
    explorer.get_by_role("button", name="Full screen").click()
    expect(explorer.get_by_role("button", name="Full screen")).to_have_attribute("aria-pressed", "true")
    page.wait_for_timeout(1500)
    page.screenshot(path=screenshots / f"full-screen-{theme}.png")
    cut = """() => {
        const canvas = document.querySelector('.gp-explorer .gp-canvas').getBoundingClientRect();
        return [...document.querySelectorAll('.gp-explorer .gp-canvas g.node')].filter((node) => {
            const box = node.getBoundingClientRect();
            return box.left < canvas.left - 1 || box.right > canvas.right + 1
                || box.top < canvas.top - 1 || box.bottom > canvas.bottom + 1;
        }).map((node) => node.id);
    }"""
    assert page.evaluate(cut) == []
    page.evaluate("() => document.exitFullscreen()")


def test_settings_are_behind_their_button(open_at):
    from playwright.sync_api import expect

    page, explorer, _ = open_at(1100, 720)
    settings = explorer.get_by_role("button", name=re.compile("^Settings"))
    expect(explorer.get_by_label("allow_growth")).to_be_hidden()
    settings.click()
    expect(settings).to_have_attribute("aria-expanded", "true")
    explorer.get_by_label("allow_growth").check()
    expect(settings).to_contain_text("(1 set)")
    settings.click()
    expect(explorer.get_by_label("allow_growth")).to_be_hidden()
