"""What a step costs, in the explorer and on a report page: time, memory, machines beside each other."""

import re

import pytest

import gpuplace as tf
from gpuplace.cost.estimate import estimate
from gpuplace.views.page.page import page_html
from tests.browser.accessibility import violations
from tests.browser.conftest import VIEWPORT, write_notebook
from tests.browser.jupyterlab import Watch, open_notebook, run_all

pytestmark = [pytest.mark.browser]

NET = """
import gpuplace as tf

tf.use_machine("2x Tesla K40c")
ends = []
for tower in range(2):
    with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
        images = tf.placeholder(tf.float32, [None, 32, 32, 3], name="images")
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            hidden = tf.layers.conv2d(images, 64, 5, activation=tf.nn.relu, name="conv")
            logits = tf.layers.dense(tf.layers.flatten(hidden), 10, name="logits")
        ends.append(tf.reduce_mean(tf.square(logits)))
loss = tf.add_n(ends, name="loss")
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
"""
FEEDS = {"tower_0/images": (64, 32, 32, 3), "tower_1/images": (64, 32, 32, 3)}
EXPLORER = f"""
explorer = tf.explore(tf.get_default_graph(), soft_placement=True)
explorer.feeds = {FEEDS}
explorer.tab = "Cost"
explorer
"""


@pytest.fixture(params=["JupyterLab Light"])
def lab_page(request, browser, jupyter):
    with jupyter.fresh(request.param) as base:
        write_notebook(jupyter.root / "cost.ipynb", NET, EXPLORER)
        page = browser.new_page(viewport=VIEWPORT)
        watch = Watch(base).over(page)
        open_notebook(page, base, "cost.ipynb")
        run_all(page)
        page.theme = request.param.split()[-1].lower()
        yield page
        page.close()
    assert watch.errors == []
    assert watch.elsewhere == []


@pytest.mark.notebook
def test_time_and_memory_follow_the_switches(lab_page, screenshots):
    from playwright.sync_api import expect

    explorer = lab_page.locator(".gp-explorer")
    cost = explorer.locator(".gp-panel").filter(has=lab_page.get_by_role("group", name="The step"))
    expect(cost).to_contain_text("A step takes")
    expect(cost.get_by_role("img").first).to_have_attribute(
        "aria-label", re.compile("Bytes in use over the step")
    )
    explorer.get_by_label(re.compile("^GPU 1 ")).uncheck()
    expect(cost).to_contain_text("before the last change")
    cost.get_by_role("textbox", name="Batch sizes").fill("16, 64")
    cost.get_by_role("textbox", name="Batch sizes").press("Enter")
    expect(cost.get_by_role("table", name="Machines and batch sizes").get_by_role("row")).not_to_have_count(0)
    expect(cost.get_by_role("img").last).to_have_attribute("aria-label", re.compile("Examples per second"))
    cost.get_by_role("textbox", name="Feeds").fill("images=64")
    cost.get_by_role("textbox", name="Feeds").press("Enter")
    expect(cost).to_contain_text("was not found in the Graph")
    explorer.get_by_role("button", name="Undo the last change").click()
    expect(cost).to_contain_text("A step takes")
    cost.scroll_into_view_if_needed()
    lab_page.screenshot(path=screenshots / f"cost_{lab_page.theme}.png")
    cost.screenshot(path=screenshots / f"cost_tab_{lab_page.theme}.png")
    explorer.get_by_role("tab", name="Timeline").click()
    expect(explorer.locator(".gp-lanes[data-drawn]")).to_have_count(1)
    assert violations(lab_page, ".gp-explorer") == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_report_page(browser, theme, tmp_path, screenshots):
    from playwright.sync_api import expect

    with tf.Graph().as_default() as graph:
        exec(NET, {})  # noqa: S102
        step = estimate(graph, "train", FEEDS, config=tf.ConfigProto(allow_soft_placement=True))
    path = tmp_path / "page.html"
    path.write_text(page_html(step.placement, estimate=step), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme=theme)
    watch = Watch(path.as_uri()).over(page)
    page.goto(path.as_uri())
    cost = page.locator("#cost")
    expect(cost).to_contain_text("A step takes")
    expect(cost.get_by_role("img")).to_have_count(1)
    cost.get_by_role("table", name="Nodes by time").get_by_role("button").first.click()
    expect(page.locator(".gp-why h3")).to_contain_text("conv")
    expect(page.locator(".gp-lanes[data-drawn]")).to_have_count(1)
    cost.scroll_into_view_if_needed()
    page.screenshot(path=screenshots / f"cost_page_{theme}.png", full_page=True)
    assert violations(page, "main") == []
    assert watch.errors == []
    page.close()
