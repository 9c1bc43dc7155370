"""The picture by device in Chromium: lanes, lines in their gaps, shares, folding, lights and themes."""

import pytest

import gpuplace as tf
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.placement_view import view_of
from tests.browser.accessibility import violations
from tests.browser.jupyterlab import Watch
from tests.browser.test_graph_view import page_with
from tests.browser.test_page_layout import CROSSED
from tests.placer.corpus_files import folder

pytestmark = [pytest.mark.browser]

SOFT = tf.ConfigProto(allow_soft_placement=True)
LANES = """() => [...document.querySelectorAll("g.lane:not(.task)")].map((lane) => {
    const { x, y, width, height } = lane.getBBox();
    return { text: lane.textContent, x, y, right: x + width, bottom: y + height };
})"""
PLACES = """() => [...document.querySelectorAll("g.node")].map((node) => {
    const { x, y, width, height } = node.getBBox();
    return { id: node.id, x, y, right: x + width, bottom: y + height };
})"""


def placed(name, machine="4x Tesla K20m", release="1.15"):
    source = folder("corpus", release) / f"{name}.pb"
    return tf.place(source, machine, SOFT, release=release, on_error="keep")


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the report page of a placement by device."""

    def open_page(placement):
        path = tmp_path / "page.html"
        path.write_text(page_html(placement, title="lanes"), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.watch = Watch(path.as_uri()).over(page)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        page.get_by_role("button", name="By device").click()
        return page

    return open_page


def lane_of(box, lanes):
    return [n for n, lane in enumerate(lanes) if lane["x"] <= box["x"] and box["right"] <= lane["right"]]


@pytest.mark.parametrize("name", ["towers_4", "language_model", "alexnet_inference", "parameter_servers_ref"])
def test_boxes_are_in_lanes_and_no_line_passes_behind_one(opened, name):
    placement = placed(name)
    page = opened(placement)
    lanes, boxes = page.evaluate(LANES), page.evaluate(PLACES)
    labels = [lane["text"].split("\n")[0] for lane in lanes]
    assert labels[:5] == ["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"] and labels[5:] in ([], ["no device"])
    assert all(len(lane_of(box, lanes)) == 1 for box in boxes)
    crossed = page.evaluate(CROSSED)
    assert crossed["found"] == [] and crossed["lines"]
    copies = page.evaluate("[...document.querySelectorAll('g.edge.copy')].map((edge) => edge.dataset.ends)")
    at = {box["id"]: lane_of(box, lanes) for box in boxes}
    # only a feed, which comes from the client, may stay in the lane of its placeholder
    fed = {f"n{copy.node}" for copy in view_of(placement).copies if copy.use == "feed"}
    stays = [one for one, other in (ends.split("->") for ends in copies) if at[one] == at[other]]
    assert len(stays) <= len(fed), (stays, fed)
    assert page.watch.errors == []
    page.close()


def test_what_depends_on_another_is_not_above_it(opened):
    page = opened(placed("lenet"))
    boxes = {box["id"]: box for box in page.evaluate(PLACES)}
    ends = page.evaluate(
        "[...document.querySelectorAll('g.edge')].map((edge) => edge.dataset.ends.split('->'))"
    )
    upwards = [pair for pair in ends if boxes[pair[1]]["y"] < boxes[pair[0]]["y"] - 1]
    assert len(upwards) <= 0.1 * len(ends)
    page.close()


def test_the_shares_of_a_box_are_selected_and_unfolded_together(opened):
    page = opened(placed("language_model"))
    shares = [box["id"] for box in page.evaluate(PLACES) if "~" in box["id"]]
    of_one = [share for share in shares if share.split("~")[0] == shares[0].split("~")[0]]
    assert len(of_one) >= 2
    page.locator(f'[id="{of_one[1]}"]').click()
    chosen = page.evaluate("[...document.querySelectorAll('g.gp-selected')].map((node) => node.id)")
    assert sorted(chosen) == sorted(of_one)
    assert "nodes" in page.locator(".gp-why .gp-kind").inner_text()
    before = {box["id"] for box in page.evaluate(PLACES)}
    page.locator(f'[id="{of_one[1]}"]').dblclick()
    after = {box["id"] for box in page.evaluate(PLACES)}
    assert before - after == set(of_one) and after - before
    assert page.watch.errors == []
    page.close()


def test_lights_count_the_nodes_of_each_share(opened):
    page = opened(placed("language_model"))
    share = next(box["id"] for box in page.evaluate(PLACES) if "~" in box["id"])
    page.locator(f'[id="{share}"]').click()
    page.get_by_label("Highlight", exact=True).select_option("both")
    lit = page.evaluate("gpuplacePage.state.lit.boxes")
    counts = page.evaluate(
        "Object.fromEntries(gpuplacePage.drawn.shares.boxes.map((box) => [box.id, box.count]))"
    )
    assert len(lit) > 2 and all(n <= counts[box] == total for box, (n, total) in lit.items())
    assert page.locator("g.edge.gp-on").count()
    page.close()


def test_both_views_keep_what_is_open_and_the_address_says_which_it_is(opened):
    page = opened(placed("language_model"))
    page.evaluate("gpuplacePage.unfold()")
    number = page.evaluate("gpuplacePage.opened.size")
    page.wait_for_timeout(400)  # changes that come together are kept once
    assert "devices" in page.evaluate("decodeURIComponent(location.hash)")
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert page.get_by_role("button", name="By device").get_attribute("aria-pressed") == "true"
    assert page.evaluate("gpuplacePage.opened.size") == number
    assert page.locator("g.lane").count() == 5
    page.get_by_role("button", name="By device").click()
    assert page.locator("g.lane").count() == 0
    assert page.evaluate("gpuplacePage.opened.size") == number
    page.close()


def test_tasks_stand_above_their_lanes_and_many_empty_lanes_are_one(opened):
    devices = [
        f"/job:{job}/replica:0/task:{task}/device:{kind}:{number}"
        for job, task in (("ps", 0), ("worker", 0), ("worker", 1))
        for kind, numbers in (("CPU", 1), ("GPU", 4 if job == "worker" else 0))
        for number in range(numbers)
    ]
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/job:ps/cpu:0"):
            weights = tf.Variable([[1.0]], name="weights")
        for task in range(2):
            with tf.device(f"/job:worker/task:{task}/gpu:0"), tf.name_scope(f"tower_{task}"):
                tf.matmul(weights, weights, name="product")
    placement = tf.place(graph, tf.Machine.from_devices(devices))
    page = opened(placement)
    told = [lane["text"] for lane in page.evaluate(LANES)]
    assert sum("without nodes" in text or "others" in text for text in told) == 1
    tasks = page.locator("g.task > text").all_text_contents()
    assert any("/job:worker/replica:0/task:1" in text for text in tasks)
    assert page.watch.errors == []
    page.close()


def test_the_page_by_device_has_no_violations(opened):
    page = opened(placed("towers_4"))
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert violations(page) == []
    page.close()


def test_the_explorer_shows_lanes_and_says_so(browser):
    explorer = tf.explore(placed("towers_4"))
    views = explorer._views
    page = page_with(browser, views.graph.get_state())
    page.get_by_role("button", name="By device").click()
    told = page.evaluate("window.sent.findLast((message) => message.type === 'view')")
    assert told == {"type": "view", "name": "devices"}
    views.graph._handle_custom_msg(told, [])
    assert explorer.view == "devices" and explorer.svg == ""
    page.evaluate(
        "(values) => window.change(values)", {name: getattr(views.graph, name) for name in ("view", "scene")}
    )
    lanes, boxes = page.evaluate(LANES), page.evaluate(PLACES)
    assert [lane["text"].split("\n")[0] for lane in lanes] == ["CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3"]
    assert all(len(lane_of(box, lanes)) == 1 for box in boxes)
    page.locator("g.node.scope").first.click()
    chosen = page.evaluate("window.sent.findLast((message) => message.type === 'select')")
    assert "~" not in chosen["id"]
    views.graph._handle_custom_msg(chosen, [])
    assert explorer.selected
    assert page.errors == []
    page.close()


def test_the_page_and_the_explorer_show_the_same_shares(opened):
    placement = placed("parameter_servers_ref")
    explorer = tf.explore(placement)
    explorer.opened = ()
    explorer.view = "devices"
    page = opened(placement)
    page.get_by_role("button", name="Fold all").click()
    texts = "(ids) => ids.map((id) => document.getElementById(id).dataset.written)"
    boxes = explorer._views.graph.scene["boxes"]
    written = page.evaluate(texts, [box["id"] for box in boxes])
    for box, text in zip(boxes, written, strict=True):
        assert " ".join(line[0].replace("▸ ", "") for line in box["lines"] if line[0] != "bar") == text
    page.close()
