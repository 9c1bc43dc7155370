"""The explorer's tab of costs: what a step takes under the settings, and machines beside each other."""

import pytest

import gpuplace as tf

FEEDS = {"tower_0/x": (64, 256), "tower_1/x": (64, 256)}


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        ends = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x = tf.placeholder(tf.float32, [None, 256], name="x")
                with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                    ends.append(tf.reduce_sum(tf.layers.dense(x, 512, name="dense")))
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(ends), name="train")
    return graph


@pytest.fixture
def explorer(graph):
    made = tf.explore(graph, machine="2x Tesla K40c", soft_placement=True)
    made.feeds = FEEDS
    made.tab = "Cost"
    return made


def said(explorer):
    """All blocks of the tab, those side by side too."""
    blocks = []
    for block in explorer._views.pages["Cost"].panel.blocks:
        blocks += [one for part in block["parts"] for one in part] if block["kind"] == "side" else [block]
    return blocks


def block(explorer, caption):
    return next((one for one in said(explorer) if one.get("caption") == caption), None)


def step_text(explorer):
    """The sentence about the step's time."""
    return next(
        one["text"]
        for one in said(explorer)
        if one["kind"] == "text" and one["text"].startswith("A step takes ")
    )


def heard(explorer, **message):
    explorer._views.pages["Cost"].panel._handle_custom_msg(message, [])


def test_the_tab_says_what_the_estimate_says(explorer):
    step = explorer.estimate
    assert step.step_time == tf.estimate(explorer.placement, "train", FEEDS).step_time
    assert "before the last change" not in step_text(explorer)
    devices = block(explorer, "Devices in the step")["rows"]
    assert [row[0]["label"] for row in devices] == ["CPU:0", "GPU:0", "GPU:1"]
    first = block(explorer, "Nodes by time")["rows"][0]
    assert first[0]["node"] in explorer.placement
    assert len([one for one in said(explorer) if one["kind"] == "picture"]) == 1


def test_findings_come_first_and_follow_the_machine(explorer):
    explorer.feeds = {name: (4096, *shape[1:]) for name, shape in FEEDS.items()}
    found = explorer.estimate.findings
    heading, first = said(explorer)[1:3]
    assert heading == {"kind": "heading", "text": "Findings"}
    assert [row[0]["strong"] for row in first["rows"]] == [one.headline for one in found]
    assert found[0].headline == "Gradients of layers on GPU:1 run on GPU:0"
    explorer.machine = "1x Tesla K40c"
    assert said(explorer)[2]["text"].startswith("Nothing stands out")
    explorer.machine = "cpu"
    explorer.soft_placement = True
    assert "Findings" not in str(said(explorer))


def test_it_follows_the_switches_and_undo(explorer):
    before = explorer.estimate.step_time
    explorer.machine = "2x Tesla V100-SXM2-16GB"
    assert explorer.estimate.step_time < before
    assert "before the last change" in step_text(explorer)
    explorer.undo()
    assert explorer.estimate.step_time == before
    explorer.visible_devices = (0,)
    assert "GPU:1" not in str(block(explorer, "Devices in the step"))


def test_what_cannot_be_predicted_is_said_and_mended(explorer):
    heard(explorer, type="set", name="feeds", value="nonsense")
    field = said(explorer)[0]["fields"][1]
    assert field["value"] == "nonsense" and "images=64,224,224,3" in field["error"]
    heard(explorer, type="set", name="fetches", value="no_such")
    assert said(explorer)[1]["title"] == "InvalidArgumentError"
    heard(explorer, type="set", name="fetches", value="train")
    assert step_text(explorer)
    assert explorer.fetches == ("train",) and dict(explorer.feeds) == {
        name: ",".join(map(str, shape)) for name, shape in FEEDS.items()
    }


def test_a_graph_that_cannot_be_placed(explorer):
    explorer.soft_placement = False
    explorer.machine = "1x Tesla K40c"
    assert said(explorer)[1]["kind"] == "error"
    with pytest.raises(tf.errors.InvalidArgumentError):
        _ = explorer.estimate


def test_machines_and_batch_sizes_beside_each_other(explorer):
    heard(explorer, type="set", name="cost:machines", value="1x Tesla K40c; 2x Tesla K40c; 3x nothing")
    heard(explorer, type="set", name="cost:batches", value="32, 64")
    rows = block(explorer, "Machines and batch sizes")["rows"]
    assert [(row[0], row[1]) for row in rows] == [
        (machine, batch)
        for batch in ("32", "64")
        for machine in ("1x Tesla K40c", "2x Tesla K40c", "3x nothing")
    ]
    assert "nothing" in rows[2][2]
    assert [one["label"].split(":")[0] for one in said(explorer) if one["kind"] == "picture"][-1] == (
        "Examples per second by batch size"
    )
    heard(explorer, type="set", name="cost:batches", value="many")
    assert "Batch sizes must be positive integers" in said(explorer)[-1]["message"]


def test_a_size_that_is_not_known_is_the_batch(explorer):
    explorer.feeds = dict.fromkeys(FEEDS, (None, 256))
    heard(explorer, type="set", name="cost:batches", value="32, 64")
    rows = block(explorer, "Machines and batch sizes")["rows"]
    assert {row[1] for row in rows} == {"32", "64"} and all(row[3] for row in rows)


def test_a_batch_needs_no_feeds_where_placeholders_leave_their_first_dimension_open(explorer):
    explorer.feeds = {}
    heard(explorer, type="set", name="cost:batches", value="32")
    rows = block(explorer, "Machines and batch sizes")["rows"]
    assert rows and all(row[1] == "32" and row[3] for row in rows)


def test_the_timeline_is_predicted_until_a_step_is_measured(explorer):
    explorer.tab = "Timeline"
    assert {lane.label.split()[-1] for lane in explorer._views.timeline.timeline.lanes} == {"predicted"}
    metadata = explorer.estimate.run_metadata()
    explorer.run_metadata = metadata
    assert "predicted" not in str(explorer._views.timeline.timeline)
    explorer.tab = "Cost"
    assert block(explorer, "Predicted and measured, by op type") is not None
    heard(explorer, type="act", action="cost:beside")
    explorer.tab = "Timeline"
    labels = {lane.label.split()[-1] for lane in explorer._views.timeline.timeline.lanes}
    assert labels == {"predicted", "measured"}


def test_colours_by_predicted_time(explorer):
    explorer.colour = "predicted time"
    assert any("µs" in chip["label"] or "ms" in chip["label"] for chip in explorer._views.graph.legend)
    assert "text/html" in explorer._repr_mimebundle_()


def test_the_step_is_saved_and_opened(explorer, tmp_path, graph):
    path = tmp_path / "settings.json"
    explorer.fetches = "train"
    explorer.save_settings(path)
    other = tf.explore(graph, machine="1x Tesla K40c")
    other.open_settings(path)
    assert other.fetches == ("train",) and dict(other.feeds) == dict(explorer.feeds)


def test_the_step_is_in_the_program_text(explorer, graph):
    explorer.fetches = "train"
    code = explorer.as_python(devices=False)
    known = {"graph": graph}
    exec(code, known)  # noqa: S102
    assert known["step"].step_time == explorer.estimate.step_time


def test_a_log_has_no_cost(explorer):
    log = tf.parse_log(explorer.log)
    seen = tf.explore(log)
    seen.tab = "Cost"
    assert "Explore the graph instead" in said(seen)[0]["text"]
    assert "predicted time" not in seen.colours


def test_boxes_show_what_they_cost_once_the_step_is_predicted(graph):
    explorer = tf.explore(graph, machine="2x Tesla K40c", soft_placement=True)
    explorer.opened = ()
    assert "of step" not in explorer.svg
    explorer.tab = "Cost"
    assert "of step" in explorer.svg
    explorer.visible_devices = (0,)  # the tab in front predicts the step anew
    assert "of step" in explorer.svg
    explorer.tab = "Table"
    assert "of step" in explorer.svg
    explorer.visible_devices = (0, 1)  # nobody looks at costs: no prediction, no costs
    assert "of step" not in explorer.svg
    explorer.undo()
    assert "of step" in explorer.svg
