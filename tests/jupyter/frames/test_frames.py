"""DataFrames: types, index and values."""

import pandas as pd
import pytest

import gpuplace as tf
from gpuplace.jupyter.frames.machine_frames import mapping_frame
from gpuplace.jupyter.frames.placement_frames import (
    copies_frame,
    devices_frame,
    edges_frame,
    kernels_frame,
    placement_frame,
    scopes_frame,
)
from gpuplace.jupyter.frames.table import Table
from gpuplace.views.tables.placement_view import PlacementView
from tests.jupyter.programs import layered, towers
from tests.views.logs.log_samples import SAMPLES

LOCAL = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture
def placement():
    return tf.place(towers(), machine="2x Tesla K40c", config=tf.ConfigProto(allow_soft_placement=True))


def test_placement(placement):
    frame = placement.frame()
    assert frame.index.name == "node"
    assert list(frame.columns) == [
        "type", "requested", "assigned", "device", "met", "rule", "decided_by", "scope", "source",
    ]  # fmt: skip
    assert [str(frame[name].dtype) for name in ("type", "requested", "assigned", "device", "met", "source")] == [
        "category", "category", "category", "category", "boolean", "string",
    ]  # fmt: skip
    row = frame.loc["MatMul_1"]
    assert (row["type"], row["requested"], row["assigned"], row["device"], row["met"]) == (
        "MatMul", "/device:GPU:3", f"{LOCAL}GPU:0", "GPU:0", False,
    )  # fmt: skip
    assert list(frame["device"].cat.categories) == ["CPU:0", "GPU:0", "GPU:1"]
    assert frame["device"].cat.ordered
    assert frame.loc["AddN", "met"]
    assert "programs.py:" in row["source"]
    assert dict(frame["assigned"].astype(str)) == dict(placement)


def test_what_is_missing_is_missing():
    view = PlacementView.of_columns([("x/y", "NoOp", "", ""), ("z", "NoOp", "/gpu:0", "")])
    frame = placement_frame(view)
    assert frame["assigned"].isna().all() and frame["device"].isna().all() and frame["met"].isna().all()
    assert frame["requested"].isna().tolist() == [True, False]
    assert frame.loc["x/y", "scope"] == "x" and pd.isna(frame.loc["z", "scope"])


def test_a_failed_placement_keeps_what_is_known():
    frame = tf.place(towers(), machine="3x Tesla K20m", on_error="keep").frame()
    assert frame["device"].isna().sum() == 3
    assert frame.loc["MatMul", "device"] == "GPU:2"


def test_an_empty_graph():
    placement = tf.place(tf.Graph(), machine="cpu")
    assert len(placement.frame()) == len(edges_frame(placement)) == len(scopes_frame(placement)) == 0
    assert str(edges_frame(placement)["bytes"].dtype) == "Int64"


def test_edges(placement):
    frame = edges_frame(placement)
    assert len(frame) == 6
    assert frame["copy"].sum() == 2
    assert str(frame["src_output"].dtype) == "Int32" and str(frame["bytes"].dtype) == "Int64"
    copies = copies_frame(placement)
    assert copies["dst"].tolist() == ["AddN", "AddN"] and copies["consumers"].tolist() == [1, 1]
    assert copies["runs"].tolist() == [1, 1] and copies["use"].isna().all()
    assert copies["bytes"].sum() == 32
    assert copies["shape"].tolist() == ["2×2", "2×2"] and set(copies["dtype"]) == {"float32"}


def test_devices(placement):
    frame = devices_frame(placement)
    assert frame["nodes"].tolist() == [1, 6, 0]
    assert frame.loc[f"{LOCAL}CPU:0", "bytes_in"] == 32
    assert pd.isna(frame.loc[f"{LOCAL}CPU:0", "memory_limit"])
    assert frame.loc[f"{LOCAL}GPU:0", "memory_limit"] > 2**33
    assert "Tesla K40c" in frame.loc[f"{LOCAL}GPU:1", "description"]


def test_scopes():
    frame = scopes_frame(tf.place(layered(3), machine="2x Tesla K40c"))
    assert frame.to_dict("index") == {
        "tower_0": {"nodes": 10, "GPU:0": 10, "GPU:1": 0},
        "tower_1": {"nodes": 10, "GPU:0": 0, "GPU:1": 10},
    }


def test_mapping():
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="1"))
    frame = tf.Machine.parse("4x Tesla K20m").frame(config, environ={"CUDA_VISIBLE_DEVICES": "0,2"})
    assert frame["device"].tolist()[2] == "/device:GPU:0"
    assert frame["visible"].tolist()[2] == 1
    assert frame["device"].isna().tolist() == [True, True, False, True]
    assert "CUDA_VISIBLE_DEVICES" in frame["reason"][1] and "visible_device_list" in frame["reason"][0]
    assert str(frame["memory_limit"].dtype) == "Int64"
    assert len(tf.Machine.parse("cpu").frame()) == 0


def test_kernels():
    frame = kernels_frame("MatMul", "1.15")
    assert set(frame["device_type"]) >= {"CPU", "GPU"}
    assert frame["computable"].any()
    with pytest.raises(tf.errors.NotFoundError):
        kernels_frame("NoSuchOp")


def test_blame_frame():
    config = tf.ConfigProto(allow_soft_placement=True)
    blame = tf.place(layered(3), machine="cpu", config=config).blame()
    frame = blame.frame()
    assert list(frame["nodes"]) == [row.nodes for row in blame] and frame["nodes"].sum() == blame.nodes > 0
    assert set(frame["rule"]) <= {"only device", "soft placement", "generator", "metadata"}
    assert len(tf.place(tf.Graph(), machine="1x V100").blame().frame().columns) == len(frame.columns)


TABLES = ("nodes", "devices", "edges", "copies", "groups", "scopes", "kernels", "memory", "errors")


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_a_placement_by_name(table):
    full = tf.place(layered(2), machine="2x V100").frame(table)
    empty = tf.place(tf.Graph(), machine="2x V100").frame(table)
    shared = [name for name in empty.columns if table != "scopes" or name == "nodes"]
    assert [full[name].dtype.name for name in shared] == [empty[name].dtype.name for name in shared]
    assert full.index.name == empty.index.name


def test_an_unknown_table_names_the_known_ones():
    placement = tf.place(tf.Graph(), machine="cpu")
    with pytest.raises(ValueError, match="nodes, devices, edges"):
        placement.frame("node")
    with pytest.raises(ValueError, match="sessions, unparsed"):
        tf.parse_log("").frame("edges")


def test_groups():
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:1"):
            v = tf.Variable(tf.zeros([2]), name="v")
        tf.assign(v, [1.0, 2.0], name="set")
    frame = tf.place(graph, machine="2x V100").frame("groups")
    assert set(frame.index) == {"v", "v/Assign", "v/read", "set"} and frame.index.name == "node"
    assert set(frame["group"]) == {0} and set(frame["size"]) == {4}
    assert set(frame["assigned"]) == {f"{LOCAL}GPU:1"} and frame["decided_by"].dtype == "string"


def test_memory_of_a_placement(placement):
    frame = placement.frame("memory")
    assert frame["tensors"].tolist() == [0, 6, 0]
    assert frame["bytes"].tolist() == [0, 4 * 24 + 2 * 16, 0] and frame["unsized"].sum() == 0
    assert pd.isna(frame["memory_limit"].iloc[0]) and frame["bytes_in"].tolist() == [32, 0, 0]


def test_errors():
    frame = tf.place(towers(), machine="3x Tesla K20m", on_error="keep").frame("errors")
    assert frame["error"].iloc[0] == "InvalidArgumentError" and frame["node"].iloc[0] in (
        "Const_2",
        "MatMul_1",
    )
    assert "/device:GPU:3" in frame["message"].iloc[0] and frame["hint"].notna().all()


def test_kernels_of_a_graph(placement):
    frame = placement.frame("kernels")
    assert set(frame.index) == {"Const", "MatMul", "AddN"}
    assert set(frame.loc["AddN", "device_type"]) >= {"CPU", "GPU"}


def test_memory_and_chunks_of_a_session():
    tf.use_machine("2x Tesla K40c")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(tf.zeros([1000]), name="v")
        session.run(v.initializer)
        memory, chunks = session.frame("memory"), session.frame("chunks")
        assert len(session.frame()) == 6 and len(session.frame("edges")) > 0
    assert (
        memory.loc[f"{LOCAL}GPU:0", "bytes_in_use"] >= 4000
        and memory.loc[f"{LOCAL}GPU:1", "bytes_in_use"] == 0
    )
    used = chunks[chunks["in_use"]]
    assert used["size"].sum() == memory["bytes_in_use"].sum() and "zeros" in set(used["label"].dropna())
    assert used["allocation"].notna().all() and chunks[~chunks["in_use"]]["allocation"].isna().all()


def test_machine_frame():
    machine = tf.Machine.parse("4x Tesla K20m")
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="1"))
    expected = mapping_frame(machine.mapping(config, environ={}))
    pd.testing.assert_frame_equal(machine.frame(config, environ={}), expected)
    assert expected["device"].notna().sum() == 1


def test_frames_of_a_log():
    log = tf.parse_log(SAMPLES["1.8 with memory, and a GPU not used"].text + SAMPLES["1.14 both"].text)
    nodes = log.frame()
    assert nodes.index.tolist() == ["MatMul", "a", "b"] and nodes.index.name == "node"
    assert nodes["device"].cat.ordered and list(nodes["device"].cat.categories)[:2] == ["CPU:0", "GPU:0"]
    assert nodes["line"].dtype == "int64" and nodes["type"].tolist() == ["MatMul", "Const", "Const"]
    gpus = log.frame("gpus")
    assert gpus["told"].tolist() == ["ignored", "created"] and gpus["memory_mb"].tolist() == [pd.NA, 10405]
    assert "minimum required" in gpus["detail"][0]
    devices = log.frame("devices")
    assert devices["gpu"].tolist() == [pd.NA, pd.NA, 0] and devices["nodes"].tolist() == [0, 0, 2]
    assert log.frame("sessions")["GPU:0"].tolist() == [2]
    assert log.frame("unparsed")["line"].is_monotonic_increasing
    assert tf.parse_log(SAMPLES["2.4 eager on both"].text).frame("events")["op"].tolist() == ["Fill", "Fill"]


@pytest.mark.parametrize("table", ["nodes", "devices", "gpus", "events", "sessions", "unparsed"])
def test_frames_of_an_empty_log(table):
    empty = tf.parse_log("").frame(table)
    full = tf.parse_log(SAMPLES["1.14 both"].text).frame(table)
    shared = [name for name in empty.columns if name in full.columns]
    assert [empty[name].dtype for name in shared if empty[name].dtype != "category"] == [
        full[name].dtype for name in shared if full[name].dtype != "category"
    ]


def test_columns_and_rows_show_nothing_where_nothing_was_asked_for():
    """Parts of tables are shown as tables are; what is missing stays missing."""
    free = tf.constant(1.0, name="free")
    with tf.device("/cpu:0"):
        tf.identity(free, name="bound")
    frame = tf.place(tf.get_default_graph(), machine="1x Tesla K40c").frame()
    assert frame["requested"].isna().tolist() == [True, False]
    row = frame.loc["free"]
    for value in (
        frame["requested"],
        row,
        frame["requested"].head(1),
        frame[["met", "scope"]],
        frame.T["free"],
    ):
        assert value.isna().to_numpy().any()
        for text in (repr(value), str(value), value.to_string()):
            assert "NaN" not in text and "<NA>" not in text
    assert "NaN" not in frame.to_html() and "<NA>" not in frame.to_html()
    assert repr(frame["requested"]).splitlines()[1:] == [
        "free                  ",
        "bound    /device:CPU:0",
        "Name: requested, dtype: category",
    ]
    assert repr(row).endswith("Name: free, dtype: object")
    counts = frame["requested"].value_counts(dropna=False)
    assert counts.sum() == 2 and "NaN" not in repr(counts)
    assert type(frame["requested"].to_frame()) is type(frame)


def test_no_table_shows_what_a_terminal_obeys():
    """Texts of logs and of files are anything: tables write it out, and keep it."""
    log = tf.parse_log("a: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n?? \u202e ->\n")
    obeyed = "b\x1b[2J\u202e"
    for frame in (log.frame("unparsed"), Table({"text": pd.array(["a"], dtype="string"), "line": [1]})):
        frame = frame.copy()
        frame.loc[len(frame) - 1, "text"] = obeyed
        last = len(frame) - 1
        texts = [
            repr(frame),
            frame.to_string(),
            frame._repr_html_(),
            repr(frame["text"]),
            repr(frame.loc[last]),
        ]
        labelled = frame.set_index("text")
        for text in (*texts, repr(labelled), repr(labelled["line"]), repr(labelled.T)):
            assert "\x1b" not in text and "\u202e" not in text and "\\x1b[2J\\u202e" in text
        assert frame["text"].loc[last] == labelled.index[last] == obeyed
