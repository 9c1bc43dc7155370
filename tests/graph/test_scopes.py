"""What a graph under construction knows of the blocks around an operation; texts recorded from 1.15.5."""

import re
import threading
import traceback

import pytest

import gpuplace as tf
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.stacks import graph_stack

HERE = re.escape(__file__)


class Chooser:
    """Devices by a method and by a call."""

    def choose(self, op):
        return "/device:CPU:0"

    def __call__(self, op):
        return "/device:CPU:1"


def test_the_devices_asked_for_and_their_lines():
    with tf.device("/cpu"), tf.device("/cpu:0"):
        a = tf.constant(1.0)
    inner, outer = a.op._device_assignments
    assert (inner.obj, outer.obj) == ("/cpu:0", "/cpu")
    assert inner.filename == __file__ and inner.lineno == a.op.traceback[-1].lineno - 1
    assert tf.constant(1.0).op._device_assignments == []


@pytest.mark.parametrize(
    ("device", "shown"),
    [
        (tf.DeviceSpec(device_type="GPU", device_index=1), "/device:GPU:1"),
        (None, "None"),
        (lambda op: "/cpu:0", rf"<lambda><{HERE}, \d+>"),
        (Chooser().choose, rf"Chooser\.choose<{HERE}, \d+>"),
        (Chooser(), rf"<class '.*Chooser'><{HERE}, \d+>"),
    ],
)
def test_what_a_block_asks_for(device, shown):
    with tf.device(device):
        a = tf.constant(1.0)
    assert re.fullmatch(shown, a.op._device_assignments[0].obj)


def test_the_colocations_asked_for_and_their_lines():
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    with tf.colocate_with(a):
        c = tf.constant(3.0, name="c")
    with tf.colocate_with(b), tf.colocate_with(c):
        d = tf.constant(4.0)
    assert list(d.op._colocation_dict) == ["c", "b"]
    assert {(one.obj, one.filename) for one in d.op._colocation_dict.values()} == {(None, __file__)}
    assert c.op._colocation_dict["a"].lineno == c.op.traceback[-1].lineno - 1
    assert a.op._colocation_dict == {}


def test_device_blocks_end_in_their_order():
    graph = tf.Graph()
    outer = graph.device("/gpu:8")
    outer.__enter__()
    with (
        graph.device("/gpu:9"),
        pytest.raises(RuntimeError, match=r"^Exiting device scope without proper scope"),
    ):
        outer.__exit__(None, None, None)
    outer.__exit__(None, None, None)
    with graph.as_default():
        assert tf.no_op().device == ""


class TestInitScope:
    def building(self):
        graph = tf.Graph()
        graph._building_function = True
        return graph

    def test_it_leaves_graphs_that_build_functions(self):
        outer, first, second, other = tf.Graph(), self.building(), self.building(), tf.Graph()
        with outer.as_default(), first.as_default(), second.as_default(), tf.init_scope():
            tf.constant(1.0)
            with other.as_default(), tf.init_scope():
                tf.constant(2.0)
        assert [len(graph.get_operations()) for graph in (outer, first, second, other)] == [1, 0, 0, 1]

    def test_devices_stay(self):
        with tf.Graph().as_default(), tf.device("/cpu:0"), self.building().as_default():
            with tf.device("/gpu:0"), tf.init_scope():
                assert tf.constant(1.0).device == "/device:GPU:0"
            assert tf.constant(1.0).device == ""
            with tf.init_scope():
                assert tf.constant(1.0).device == "/device:CPU:0"

    def test_where_all_build_functions_it_is_the_process_s_graph(self):
        outermost = get_default_graph()
        with self.building().as_default(), tf.init_scope():
            assert len(graph_stack.stack) == 2
            assert tf.constant(1.0).graph is outermost
        assert Graph().building_function is False


def test_the_traceback_is_as_pythons():
    op = tf.no_op()
    frame = op.traceback[-1]
    assert frame == (__file__, frame.lineno, "test_the_traceback_is_as_pythons", "op = tf.no_op()")
    assert traceback.format_list(op.traceback)[-1].endswith("    op = tf.no_op()\n")
    longer = op.traceback_with_start_lines
    assert [one[:-1] for one in longer] == op.traceback
    assert longer[-1][-1] == frame.lineno - 1


def test_outputs_are_a_list():
    parts = tf.split(tf.constant([1.0, 2.0]), 2)
    op = parts[0].op
    assert op.outputs == parts and op.values() == tuple(parts) and tf.no_op().outputs == []
    assert [one._as_node_def_input() for one in op.outputs] == ["split", "split:1"]


def test_ops_that_are_gone():
    x, one = tf.ones([1, 2, 2, 3]), tf.ones([3])
    rest = {"variance_epsilon": 0.1, "scale_after_normalization": True}
    with pytest.raises(NotImplementedError) as caught:
        tf.raw_ops.BatchNormWithGlobalNormalization(t=x, m=one, v=one, beta=one, gamma=one, **rest)
    assert str(caught.value) == (
        "Op BatchNormWithGlobalNormalization is not available in GraphDef version 134. It has been removed in version"
        " 9. Use tf.nn.batch_normalization()."
    )
    tf.import_graph_def(tf.GraphDef(versions={"producer": 8}))
    made = tf.raw_ops.BatchNormWithGlobalNormalization(t=x, m=one, v=one, beta=one, gamma=one, **rest)
    with pytest.raises(
        tf.errors.UnimplementedError, match=r"^Op BatchNormWithGlobalNormalization is not available in"
    ):
        tf.import_graph_def(tf.GraphDef(node=[made.op.node_def], versions={"producer": 9}))


def test_an_edge_to_another_shape_is_refused():
    added = tf.placeholder(tf.float32, [None, 2]) + 1.0
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        added.op._update_input(0, tf.zeros([3, 4]))
    assert caught.value.message == "Cannot update edge, incompatible shapes: [3,4] and [?,2]."
    added.op._update_input(0, tf.zeros([2, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"shapes: \[3,2\] and \[2,2\]\.$"):
        added.op._update_input(0, tf.zeros([3, 2]))


def test_a_cycle_of_control_inputs():
    a, b, _ = (tf.no_op(name=name) for name in "abc")
    a._add_control_inputs([b])
    b._add_control_inputs([a])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.Session().run(a)
    assert caught.value.message == "Graph is invalid, contains a cycle with 2 nodes, including: a, b"


def test_control_inputs_are_exported_in_the_order_of_their_names():
    with tf.control_dependencies([tf.no_op(name=name) for name in ("z", "a", "b", "z_1", "z/x", "B", "z10")]):
        op = tf.no_op(name="q")
    op._add_control_input(tf.no_op(name="c"))
    made = ["^z", "^a", "^b", "^z_1", "^z/x", "^B_1", "^z10", "^c"]
    assert list(op.node_def.input) == made
    assert list(tf.get_default_graph().as_graph_def().node[-2].input) == [
        "^B_1", "^a", "^b", "^c", "^z", "^z/x", "^z10", "^z_1"
    ]  # fmt: skip


def test_threads_that_build_one_graph_leave_their_own_blocks():
    graph = tf.Graph()
    began, left = threading.Event(), threading.Event()

    def build():
        with graph.device("/cpu:1"):
            began.set()
            left.wait(30)

    thread = threading.Thread(target=build)
    with graph.device("/cpu:0"):
        thread.start()
        assert began.wait(30)
    left.set()
    thread.join()
    with graph.as_default():
        assert tf.no_op().device == ""
