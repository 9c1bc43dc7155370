"""`gpuplace.compare`: what ran beside the prediction, with the likely reason for each difference."""

from types import SimpleNamespace

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError
from gpuplace.graphdef.measured.profile import XSpace
from gpuplace.graphdef.messages import GraphDef
from tests.support.node_specs import graph_def, node

L = "/job:localhost/replica:0/task:0/device"


@pytest.fixture
def graph():
    """Two constants and their product; the int32 product has no GPU kernel in 1.15."""
    with tf.Graph().as_default() as graph:
        a = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="a")
        tf.matmul(a, a, name="product")
        with tf.device("/gpu:0"):
            tf.constant("text", name="text")
    return graph


def log_of(**devices: str) -> str:
    """A log with these nodes; a device may name the op type: ``GPU:0 _Fused``."""
    types = {"a": "Const", "product": "MatMul", "text": "Const"}
    lines = []
    for name, told in devices.items():
        device, _, op_type = told.partition(" ")
        lines.append(f"{name}: ({op_type or types.get(name, 'NoOp')}): {L}:{device}")
    return "\n".join(lines)


def test_equal(graph):
    found = tf.compare(graph, log_of(a="GPU:0", product="GPU:0", text="CPU:0"), soft_placement=True)
    assert (found.same, found.differences, found.only_ran, found.only_predicted) == (3, (), {}, 0)
    assert found.no_step == "The log contains no measured step." and found.step is None
    assert "3 nodes on the predicted device, 0 on another, 0 unexplained" in repr(found)
    assert list(found.frame().columns) == ["type", "predicted", "ran", "reason"]


def test_reasons(graph):
    log = log_of(a="CPU:0", product="GPU:0 _FusedMatMul", text="CPU:0")
    found = tf.compare(graph, log, soft_placement=True)
    assert (
        [(row.node, row.reason) for row in found.differences]
        == [("a", "")]
        == [(row.node, row.reason) for row in found.unexplained]
    )
    found = tf.compare(graph, log_of(a="CPU:0 _Mkl", product="GPU:0", text="CPU:0"), soft_placement=True)
    assert [row.reason for row in found.differences] == ["Grappler replaced it with a _Mkl"]
    found = tf.compare(graph, log_of(a="GPU:3", product="GPU:3"), "1x V100", soft_placement=True)
    assert {row.reason for row in found.differences} == {"the predicted machine has no such device"}
    assert "has no such device" in str(found) and len(found.frame()) == 2


def test_another_release():
    """SegmentMax has a GPU kernel in 2.21 alone."""
    nodes = [
        node("x", "Placeholder", dtype="float32"),
        node("ids", "Placeholder", dtype="int32"),
        node("most", "SegmentMax", "x", "ids", T="float32", Tindices="int32"),
    ]
    log = f"x: (Placeholder): {L}:GPU:0\nmost: (SegmentMax): {L}:GPU:0"
    found = tf.compare(graph_def(nodes), log, release="1.15")
    reasons = {row.node: row.reason for row in found.differences}
    assert reasons["most"] == "TensorFlow 2.21 places it there" and not found.unexplained
    assert not tf.compare(graph_def(nodes), log, release="2.21").differences


def test_a_graph_that_cannot_be_placed():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        tf.constant(1, name="number")
    with pytest.raises(InvalidArgumentError, match="Cannot assign a device"):
        tf.compare(graph, f"number: (Const): {L}:CPU:0", release="1.15")
    assert tf.compare(graph, f"number: (Const): {L}:CPU:0", release="1.15", soft_placement=True).same == 1


def test_functions_match_without_their_calls():
    call = "StatefulPartitionedCall_1/StatefulPartitionedCall"
    nodes = [
        node(f"{call}/dense/x", "Placeholder", dtype="float32"),
        node(f"{call}/dense/y", "Neg", f"{call}/dense/x", T="float32"),
    ]
    others = {
        "a": "_Arg", "_retval_y_0_0": "_Retval", "copy": "_Recv", "_SINK": "",
        "y/ArithmeticOptimizer/x": "Neg", "other": "Neg",
    }  # fmt: skip
    rows = {"dense/x": "Placeholder", "PartitionedCall/dense/y": "Neg", **others}
    log = "\n".join(
        f"{name}: ({op_type}): {L}:CPU:0" if op_type else f"{name}: {L}:CPU:0"
        for name, op_type in rows.items()
    )
    found = tf.compare(graph_def(nodes), log)
    assert (found.same, found.differences, found.only_predicted) == (2, (), 0)
    assert found.only_ran == {
        "arguments and results of functions": 2,
        "copies, and markers of the runtime": 2,
        "created by Grappler": 1,
        "in other functions of the program, or run eagerly": 1,
    }


def test_a_function_of_tensorflow_is_its_body():
    made = GraphDef.FromString(graph_def([node("y", "NoOp")]))
    body = SimpleNamespace(as_graph_def=lambda: made)
    trace = SimpleNamespace(structured_outputs=None, captured_inputs=[], graph=body)
    function = SimpleNamespace(get_concrete_function=None, _list_all_concrete_functions=lambda: [trace])
    for value in (trace, function):
        assert tf.compare(value, f"y: (NoOp): {L}:CPU:0").same == 1


def test_a_captured_variable_stays_where_it_is():
    nodes = [
        node("handle", "Placeholder", dtype="resource"),
        node("read", "ReadVariableOp", "handle", dtype="float32"),
    ]
    made = GraphDef.FromString(graph_def(nodes))
    inside = SimpleNamespace(op=SimpleNamespace(name="handle"))
    body = SimpleNamespace(
        as_graph_def=lambda: made, captures=[(SimpleNamespace(device=f"{L}:CPU:1"), inside)]
    )
    trace = SimpleNamespace(structured_outputs=None, captured_inputs=[], graph=body)
    log = f"read: (ReadVariableOp): {L}:CPU:1\nother: (Neg): {L}:CPU:0"
    assert tf.compare(trace, log).same == 1
    body.captures = []
    assert [row.node for row in tf.compare(trace, log).differences] == ["read"]


def test_run_metadata_has_the_step_beside():
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [64, 64], name="a")
        product = tf.matmul(a, a, name="product")
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(product, {a: [[1.0] * 64] * 64}, options=options, run_metadata=metadata)
    found = tf.compare(graph, metadata)
    assert found.same >= 1 and not found.differences
    assert found.no_step == "" and found.step.measured > 0
    assert "product" in {row.node for row in found.step.nodes} and "measured" in str(found)


def test_a_log_without_devices(graph):
    with pytest.raises(InvalidArgumentError, match="names no device"):
        tf.compare(graph, "nothing\nhere")


def test_a_capture(graph, capfd):
    import os

    with tf.capture_log() as log:
        os.write(1, log_of(a="CPU:0", product="CPU:0").encode() + b"\n")
    assert tf.compare(graph, log, soft_placement=True).same == 2


@pytest.mark.parametrize("times", [1, 2])
def test_a_profile_of_a_function(graph, tmp_path, times):
    """Names begin with the calls that were inlined; what ran twice is no step."""
    space = XSpace()
    plane = space.planes.add(name="/host:CPU")
    line = plane.lines.add(name="tf_Compute/1")
    for number, name in enumerate(("a:Const", "product:_MklMatMul"), 1):
        plane.event_metadata[number].name = f"StatefulPartitionedCall/{name}"
        for time in range(times):
            line.events.add(metadata_id=number, offset_ps=(9 * time + number) * 10**6, duration_ps=10**6)
    folder = tmp_path / "logs" / "plugins" / "profile" / "2026_01_01"
    folder.mkdir(parents=True)
    (folder / "host.xplane.pb").write_bytes(space.SerializeToString())
    for path in (tmp_path / "logs", str(folder / "host.xplane.pb")):
        found = tf.compare(graph, path, soft_placement=True)
        assert (found.same, found.differences, found.only_ran) == (2, (), {})
        if times == 1:
            assert found.step is not None and "MatMul" in str(found.step)
        else:
            assert found.step is None and "covers 2 steps" in str(found)
