"""Timelines in JupyterLab: shown by a cell, and in the explorer beside the picture."""

import re

import pytest

from tests.browser.conftest import VIEWPORT, write_notebook
from tests.browser.jupyterlab import Watch, open_notebook, run_all

pytestmark = [pytest.mark.browser, pytest.mark.notebook]

STEP = """
import gpuplace as tf
import numpy as np

tf.use_machine("2x Tesla K40c")
with tf.device("/cpu:0"):
    shared = tf.constant(np.ones([200, 200], np.float32), name="shared")
ends = []
for tower in range(2):
    with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
        ends.append(tf.matmul(tf.matmul(shared, shared, name="one"), shared, name="two"))
with tf.device("/cpu:0"):
    total = tf.add_n(ends, name="total")
session = tf.Session()
session.timeline(total)
"""
EXPLORER = """
metadata = tf.RunMetadata()
session.run(total, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
explorer = tf.explore(session)
explorer.run_metadata = metadata
explorer.tab = "Timeline"
explorer
"""


@pytest.fixture(params=["JupyterLab Light", "JupyterLab Dark"])
def page(request, browser, jupyter):
    with jupyter.fresh(request.param) as base:
        write_notebook(jupyter.root / "step.ipynb", STEP, EXPLORER)
        page = browser.new_page(viewport=VIEWPORT)
        watch = Watch(base).over(page)
        open_notebook(page, base, "step.ipynb")
        run_all(page)
        page.theme = request.param.split()[-1].lower()
        yield page
        page.close()
    assert watch.errors == []
    assert watch.elsewhere == []


def test_a_step_beside_its_picture(page, screenshots):
    from playwright.sync_api import expect

    shown, explored = page.locator(".gp-timeline").first, page.locator(".gp-timeline").last
    expect(shown.locator(".gp-timeline-summary")).to_contain_text("ops on 3 devices")
    expect(explored.locator(".gp-lanes[data-drawn]")).to_have_count(1)
    canvas = shown.get_by_role("application")
    canvas.focus()
    page.keyboard.press("c")
    page.keyboard.press("c")
    said = shown.locator(".gp-timeline-said")
    expect(said).to_contain_text("on the critical path")
    while "tower_" not in said.inner_text():
        page.keyboard.press("c")
    expect(said).to_contain_text("last input:")
    shown.get_by_label("Colour boxes by").select_option("op type")
    expect(shown.locator(".gp-timeline-legend")).to_contain_text("MatMul")
    page.screenshot(path=screenshots / f"timeline_cell_{page.theme}.png")

    explored.scroll_into_view_if_needed()
    explored.get_by_role("searchbox").fill("tower_1/two$")
    page.keyboard.press("Enter")
    expect(explored.locator(".gp-timeline-said")).to_contain_text("tower_1/two (MatMul)")
    expect(page.locator(".gp-why h3").last).to_have_text("tower_1/two")
    page.screenshot(path=screenshots / f"timeline_explorer_{page.theme}.png")
    box = page.locator("svg g.node").filter(has_text=re.compile("total")).last
    box.click()
    expect(explored.locator(".gp-timeline-said")).to_contain_text("total (AddN)")
