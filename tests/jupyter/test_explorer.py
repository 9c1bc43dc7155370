"""The explorer without a browser: every control by its trait, and what the page would say."""

import pytest
from traitlets import TraitError

import gpuplace as tf
from gpuplace.jupyter.explorer import explore
from gpuplace.jupyter.widget_rows import TABLE_ROWS
from gpuplace.report.palette import device_style
from tests.jupyter.programs import layered, towers

LOCAL = "/job:localhost/replica:0/task:0/device:"
K20M = "4x Tesla K20m"


@pytest.fixture
def explorer():
    return explore(towers(), machine=K20M)


def says(explorer, **message):
    """The page's picture sends a message."""
    explorer._heard(explorer._graph, message, [])


def table(explorer):
    """Node -> (requested, label of its device) as the table shows it."""
    return {key: (requested, look["label"]) for key, _, _, requested, look in explorer._table.rows}


def test_what_it_begins_with(explorer):
    assert (explorer.soft_placement, explorer.machine, explorer.release) == (False, K20M, "1.15")
    assert explorer.visible_devices == (0, 1, 2, 3)
    assert explorer.error == ""
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:3"
    assert table(explorer)["MatMul_1"] == ("/device:GPU:3", "GPU:3")
    assert [look["count"] for look in explorer._graph.legend] == [1, 0, 0, 3, 3]
    assert 'id="n5"' in explorer.svg
    assert "2 copies between devices, 32 B" in explorer._graph.notes[0][1]


def test_hiding_a_gpu_is_an_error_that_leaves_everything_usable(explorer):
    explorer.selected = "MatMul_1"
    explorer.visible_devices = (0, 1, 2)
    assert explorer.error.startswith("Cannot assign a device for operation MatMul_1")
    assert "was explicitly assigned to /device:GPU:3 but available devices are [" in explorer.error
    assert 'class="node op guilty"' in explorer.svg
    assert table(explorer)["MatMul_1"] == ("/device:GPU:3", "no device")
    assert table(explorer)["MatMul"] == ("/device:GPU:2", "GPU:2")
    assert 'role="alert"' in explorer._status.value and "requested by" in explorer._status.value
    assert "which the machine does not have" in explorer.reason
    assert explorer.log == ""
    explorer.soft_placement = True
    assert explorer.error == ""
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:0"
    assert table(explorer)["MatMul_1"] == ("≠ /device:GPU:3", "GPU:0")
    assert "soft placement" in explorer.reason
    assert device_style("/gpu:0").fill in explorer.svg
    explorer.visible_devices = [0, 1, 2, 3]
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:3"


def test_controls_and_traits_are_one(explorer):
    explorer._soft.value = True
    assert explorer.soft_placement is True
    explorer._gpus.children[3].value = False
    assert explorer.visible_devices == (0, 1, 2)
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:0"
    explorer.visible_devices = (1,)
    assert [box.value for box in explorer._gpus.children] == [False, True, False, False]
    explorer._release.value = "1.4"
    assert explorer.release == "1.4"
    explorer._machine.value = "2x Tesla K40c"
    assert explorer.machine == "2x Tesla K40c"
    assert [box.description for box in explorer._gpus.children] == [
        "GPU 0 · Tesla K40c",
        "GPU 1 · Tesla K40c",
    ]
    assert explorer.visible_devices == (0, 1)


def test_a_machine_that_is_not_understood(explorer):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown GPU model 'Warp Drive'"):
        explorer.machine = "2x Warp Drive"
    assert explorer.machine == K20M
    explorer._machine.value = "2x Warp Drive"
    assert "Unknown GPU model" in explorer._status.value
    assert explorer.machine == K20M
    explorer.machine = "1x T4"
    assert explorer.machine == "1x Tesla T4"
    assert explorer._machine.value == "1x Tesla T4"


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("visible_devices", (0, 4), "4 GPUs, counted from 0"),
        ("release", "1.99", "Unknown release '1.99'"),
        ("selected", "MatMul_9", "no op and no name scope 'MatMul_9'"),
    ],
)
def test_values_that_do_not_exist(explorer, name, value, part):
    before = getattr(explorer, name)
    with pytest.raises(ValueError, match=part):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before
    assert explorer.error == ""


def test_results_cannot_be_set(explorer):
    with pytest.raises(TraitError):
        explorer.reason = "because"
    with pytest.raises(TraitError):
        explorer.error = "no"


def test_a_machine_without_gpus(explorer):
    explorer.machine = "cpu"
    assert explorer._gpus.children == ()
    assert "was explicitly assigned to /device:GPU:" in explorer.error
    explorer.soft_placement = True
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0"}


def test_hiding_every_gpu(explorer):
    explorer.soft_placement = True
    explorer.visible_devices = ()
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0"}


def test_selecting_shows_the_card_and_the_row(explorer):
    says(explorer, type="select", id="n2")
    assert explorer.selected == "MatMul" == explorer._table.selected
    assert explorer._graph.selected_box == "n2"
    card = explorer._graph.detail
    assert (card["name"], card["kind"], card["requested"], card["met"]) == (
        "MatMul",
        "MatMul",
        "/device:GPU:2",
        True,
    )
    assert (card["inputs"], card["outputs"]) == (["Const", "Const_1"], ["AddN"])
    assert [step["rule"] for step in card["steps"]] == ["kernel", "request"]
    assert card["source"].startswith(__file__.replace("test_explorer", "programs"))
    assert explorer.reason.startswith(f"MatMul (MatMul) -> {LOCAL}GPU:2")
    says(explorer, type="select", name="AddN")
    assert explorer.selected == "AddN"
    says(explorer, type="select", id="")
    assert (explorer.selected, explorer.reason, explorer._graph.detail) == ("", "", {})


def test_search(explorer):
    assert explorer.find("matmul") is False
    assert explorer.find("MatMul") and explorer.selected == "MatMul"
    assert explorer.find("MatMul") and explorer.selected == "MatMul_1"
    assert explorer.find("MatMul") and explorer.selected == "MatMul"
    says(explorer, type="find", text="(")
    assert explorer.selected == "MatMul"


def test_scopes_fold_and_unfold():
    explorer = explore(layered(3), machine="2x Tesla K40c")
    assert "▸" not in explorer.svg
    says(explorer, type="fold", how="all")
    assert explorer.opened == ()
    assert explorer.svg.count("▸ tower_") == 2
    says(explorer, type="select", id="s1")
    assert explorer.selected == "tower_0"
    assert "asked for inside: /device:GPU:0" in explorer.reason
    says(explorer, type="toggle", id="s1")
    assert explorer.opened == ("tower_0",)
    assert explorer.svg.count("▸ layer_") == 3
    says(explorer, type="select", name="tower_1/layer_2/MatMul")
    assert "tower_1/layer_2" in explorer.opened
    assert explorer._graph.selected_box.startswith("n")
    card = explorer._graph.detail
    says(explorer, type="toggle", id=card["toggle"])
    assert "tower_1/layer_2" not in explorer.opened and "tower_1" in explorer.opened
    assert explorer._graph.selected_box.startswith("s")
    says(explorer, type="fold", how="auto")
    assert explorer.opened is None


def test_large_graphs_send_some_rows_and_find_all():
    explorer = explore(layered(200), machine="2x Tesla K40c")
    assert len(explorer._table.rows) == TABLE_ROWS
    assert explorer._table.total == len(explorer.placement)
    explorer._heard(explorer._table, {"type": "filter", "text": r"tower_1/layer_199/"}, [])
    assert explorer._table.total == len(explorer._table.rows) == 3
    assert explorer.svg.count('class="node ') < 80
    explorer._heard(explorer._table, {"type": "filter", "text": ""}, [])
    explorer.find("tower_1/layer_199/MatMul")
    assert explorer._table.rows[0][0] == explorer._table.selected == "tower_1/layer_199/MatMul"
    assert len(explorer._table.rows) == TABLE_ROWS
    assert explorer._graph.detail["name"] == "tower_1/layer_199/MatMul"


def test_tabs_are_filled_when_they_come_to_the_front(explorer):
    assert explorer._log.value == ""
    for index, (view, part) in enumerate(
        [(explorer._mapping, "0000:83:00.0"), (explorer._log, "Device mapping:")], 2
    ):
        explorer._tabs.selected_index = index
        assert part in view.value
    explorer.release = "1.4"
    assert f"MatMul: {LOCAL}GPU:2" in explorer._log.value
    explorer._tabs.selected_index = 1
    assert [(row[1], row[2], row[5], row[6]) for row in explorer._copies.rows] == [
        ("MatMul:0", "AddN", "2×2 float32", "16 B"),
        ("MatMul_1:0", "AddN", "2×2 float32", "16 B"),
    ]
    explorer._heard(explorer._copies, {"type": "filter", "text": "MatMul_1"}, [])
    assert explorer._copies.total == 1


def test_what_a_saved_notebook_keeps(explorer):
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert '<img style="max-width:100%' in bundle["text/html"] and "<table>" in bundle["text/html"]
    assert "MatMul_1  MatMul  /device:GPU:3  GPU:3" in bundle["text/plain"]
    explorer.machine = "cpu"
    assert 'role="alert"' in explorer._repr_mimebundle_()["text/html"]


def test_sessions_and_placements_can_be_explored():
    tf.use_machine(K20M)
    session = tf.Session(graph=towers(), config=tf.ConfigProto(allow_soft_placement=True))
    explorer = explore(session)
    assert (explorer.soft_placement, explorer.machine) == (True, K20M)
    explorer = explore(session.placement)
    assert (explorer.soft_placement, explorer.machine) == (True, K20M)
    explorer.visible_devices = (2,)
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"}
    other = tf.place(towers(), machine="8x Tesla K80", release="1.4")
    explorer = explore(other)
    assert explorer.release == "1.4"
    assert dict(explorer.placement) == dict(other)


def test_graph_defs_and_files_can_be_explored(tmp_path):
    graph = towers()
    path = tf.train.write_graph(graph, str(tmp_path), "towers.pbtxt")
    for source in (graph.as_graph_def(), path):
        assert explore(source, machine=K20M).placement["MatMul_1"] == f"{LOCAL}GPU:3"


def test_a_config_to_begin_with():
    config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 1})
    explorer = explore(towers(), machine=K20M, config=config)
    assert explorer.soft_placement is True
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"}


def test_a_graph_that_cannot_be_read_is_an_error_in_the_explorer():
    message = tf.GraphDef()
    message.node.add(name="x", op="NoSuchOp")
    explorer = explore(message, machine=K20M)
    assert "NoSuchOp" in explorer.error
    assert (explorer.svg, explorer._table.rows) == ("", [])
    assert explorer._graph.notice
    explorer.soft_placement = True
    assert "NoSuchOp" in explorer.error
    with pytest.raises(tf.errors.OpError):
        _ = explorer.frame
