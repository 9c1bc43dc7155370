"""The graph that runs in place of a program's: its operations, and what stands there for the program's."""

import pytest

import gpuplace as tf
from gpuplace.errors import NotFoundError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.runtime.plan.lowered_graph import LoweredGraph, program_of, runs_lowered
from gpuplace.runtime.session.place import graph_to_place


def lowered(graph):
    catalogue = default_catalogue()
    return LoweredGraph(graph, graph_to_place(graph, catalogue), catalogue)


def program():
    tf.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        with tf.device("/gpu:0"):
            y = tf.cond(x[0, 0] > 0, lambda: x * 2.0, lambda: x, name="cond")
            tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + 1.0), [0, y], name="loop")
    return graph


def test_operations_come_after_what_they_take_and_where_the_program_has_them():
    graph = program()
    running = lowered(graph)
    for op in running.get_operations():
        before = [tensor.op for tensor in op.inputs] + op.control_inputs
        if op.type == "Merge":
            before = [one for one in before if one.type != "NextIteration"]
        assert all(one.index < op.index for one in before), op.name
    own = [op.name for op in running.get_operations() if op.name in graph.by_name]
    kept = [op.name for op in graph.get_operations()]
    assert sorted(own) == sorted(kept)
    places = {op.name: op.index for op in running.get_operations()}
    assert places["cond/switch_pred/_2"] < places["cond/then/_0/mul_0"] < places["loop/Identity"]


def test_the_program_s_operations_keep_what_they_are():
    graph = program()
    running = lowered(graph)
    assert program_of(running) is graph and program_of(graph) is graph
    x = graph.get_tensor_by_name("x:0")
    copy = running.tensor(x)
    assert copy is not x and copy.op.graph is running and copy.shape.as_list() == [2, 3]
    assert running.operation(x.op) is copy.op and copy.op.traceback == x.op.traceback
    assert running.origin_in_program(copy.op) is x.op
    cond = running.operation(graph.get_operation_by_name("cond"))
    assert (cond.type, cond.device) == ("IdentityN", "/device:GPU:0")
    assert (
        cond.outputs[0].shape.as_list() == [2, 3]
        and cond.source == graph.get_operation_by_name("cond").source
    )


def test_an_added_operation_is_called_as_in_its_function_in_messages():
    running = lowered(program())
    copied = running.get_operation_by_name("cond/then/_0/mul_0")
    assert running.name_in_messages(copied) == "mul_0"
    switch = running.get_operation_by_name("cond/switch_pred/_2")
    assert running.name_in_messages(switch) == switch.name


def test_a_loop_is_closed():
    running = lowered(program())
    merges = [
        op for op in running.get_operations() if op.type == "Merge" and op.name.startswith("loop/merge")
    ]
    assert merges and all(
        [tensor.op.type for tensor in merge.inputs] == ["Enter", "NextIteration"] for merge in merges
    )


def test_what_is_not_there_is_said():
    graph = program()
    running = lowered(graph)
    with graph.as_default():
        late = tf.constant(1.0, name="late")
    with pytest.raises(NotFoundError, match="FetchOutputs node late:0: not found"):
        running.tensor(late)
    with pytest.raises(NotFoundError, match="TargetNodes node late: not found"):
        running.operation(late.op)
    with pytest.raises(RuntimeError, match="finalized"):
        running.create_op("NoOp", [])


def test_a_graph_in_which_nothing_is_inlined_runs_itself():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
    assert not runs_lowered(graph_to_place(graph, default_catalogue()))
