"""Traces and partition graphs, in the form of TensorFlow's."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.runtime.plan.schedule.partition import Schedule, Step
from gpuplace.runtime.tracing.step_stats import Trace

CPU, GPU = (f"/job:localhost/replica:0/task:0/device:{name}" for name in ("CPU:0", "GPU:0"))


@pytest.fixture
def traced():
    tf.set_release("1.15")
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4, 4], name="x")
        with tf.device("/gpu:0"):
            product = tf.matmul(x, x, name="product")
        with tf.device("/cpu:0"):
            total = tf.add(product, x, name="total")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        with tf.Session() as session:
            value = session.run(total, {x: np.eye(4)}, options, metadata)
            np.testing.assert_array_equal(value, 2 * np.eye(4))
            yield metadata


def test_nodes_by_device(traced):
    labels = {
        stats.device: [node.timeline_label for node in stats.node_stats]
        for stats in traced.step_stats.dev_stats
        if stats.device.startswith("/job:")
    }
    assert labels == {
        CPU: [
            "_SOURCE = NoOp()",
            "_arg_x_0_0 = _Arg()",
            f"x/_0 = _Send(edge_0_x @{GPU})",
            f"product/_3 = _Recv(edge_2_product @{GPU})",
            "total = Add(product/_3, _arg_x_0_0)",
            "_retval_total_0_0 = _Retval(total)",
        ],
        GPU: [
            "_SOURCE = NoOp()",
            f"x/_1 = _Recv(edge_0_x @{CPU})",
            "product = MatMul(x/_1, x/_1)",
            f"product/_2 = _Send(edge_2_product @{CPU})",
        ],
    }


def test_times_and_memory(traced):
    gpu = next(stats for stats in traced.step_stats.dev_stats if stats.device == GPU)
    product = next(node for node in gpu.node_stats if node.node_name == "product")
    assert product.all_end_rel_nanos > 0 and product.all_start_micros > 1_600_000_000_000_000
    assert product.all_start_micros == product.all_start_nanos // 1000
    (output,) = product.output
    assert [dim.size for dim in output.tensor_description.shape.dim] == [4, 4]
    assert output.tensor_description.dtype == tf.float32.as_datatype_enum
    assert output.tensor_description.allocation_description.requested_bytes == 64
    (memory,) = product.memory
    assert (memory.allocator_name, memory.total_bytes) == ("GPU_0_bfc", 256)
    assert memory.allocator_bytes_in_use == 512
    starts = [node.all_start_nanos for node in gpu.node_stats]
    assert starts == sorted(starts)


def test_partition_graphs(traced):
    nodes = {
        node.name: (node.op, list(node.input), node.device)
        for graph in traced.partition_graphs
        for node in graph.node
    }
    assert len(traced.partition_graphs) == 2
    assert nodes == {
        "_arg_x_0_0": ("_Arg", [], CPU),
        "x/_0": ("_Send", ["_arg_x_0_0"], CPU),
        "x/_1": ("_Recv", [], GPU),
        "product": ("MatMul", ["x/_1", "x/_1"], GPU),
        "product/_2": ("_Send", ["product"], GPU),
        "product/_3": ("_Recv", [], CPU),
        "total": ("Add", ["product/_3", "_arg_x_0_0"], CPU),
        "_retval_total_0_0": ("_Retval", ["total"], CPU),
    }
    send = next(node for graph in traced.partition_graphs for node in graph.node if node.name == "x/_0")
    assert send.attr["recv_device"].s == GPU.encode() and send.attr["tensor_name"].s == b"edge_0_x"


def test_without_options_nothing_is_recorded():
    with tf.Graph().as_default(), tf.Session() as session:
        metadata = tf.RunMetadata()
        metadata.step_stats.dev_stats.add(device="old")
        session.run(tf.constant(1.0), run_metadata=metadata)
        assert metadata == tf.RunMetadata()


def test_constants_and_variables_are_nodes_too():
    tf.use_machine("cpu")
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable([1.0, 2.0], name="v")
        session.run(variable.initializer)
        update = tf.assign_add(variable, [1.0, 1.0], name="update")
        metadata = tf.RunMetadata()
        session.run(update, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
        names = [node.node_name for node in metadata.step_stats.dev_stats[0].node_stats]
        assert names == ["_SOURCE", "v", "update/value", "update", "_retval_update_0_0"]
        assert session.run(variable).tolist() == [2.0, 3.0]


def test_the_clocks_can_be_given():
    ticks = iter(range(100, 1000, 100))

    class Device:
        memory = None

    schedule = Schedule((), (Step(None, "device", (), (), ()),), (), (), ())
    trace = Trace(schedule, {"device": Device}, clock=lambda: next(ticks), wall_clock=lambda: 5000)
    trace.record(0, 150, (np.ones([2]), None))
    trace.end()
    (record,) = trace.records
    assert (record.start_ns, record.end_ns, trace.epoch_ns, trace.end_ns) == (150, 200, 4900, 300)
    assert record.outputs[0].shape == (2,) and record.outputs[1] is None


def test_a_branch_that_is_not_taken_is_not_in_the_trace():
    tf.use_machine("cpu")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, predicate = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
        switch = graph.create_op("Switch", [x, predicate], attrs={"T": tf.float32})
        no, yes = tf.negative(switch.outputs[0], name="no"), tf.square(switch.outputs[1], name="yes")
        merge = graph.create_op("Merge", [no, yes], attrs={"T": tf.float32, "N": 2}).outputs[0]
        for truth, branch, expected in ((True, "yes", [1, 4]), (False, "no", [-1, -2])):
            metadata = tf.RunMetadata()
            value = session.run(merge, {x: [1, 2], predicate: truth}, tf.RunOptions(trace_level=3), metadata)
            assert value.tolist() == expected
            names = {node.node_name for node in metadata.step_stats.dev_stats[0].node_stats}
            assert names & {"yes", "no"} == {branch}
