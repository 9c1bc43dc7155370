"""What a placer is given, and a file, of a graph that other threads are adding to."""

import threading

import pytest

import gpuplace as tf
from gpuplace.graph.op_def import make_op_def
from gpuplace.graphdef import export
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.from_graph import placement_graph_of
from gpuplace.placer.graph_builder import PlacementGraphBuilder


@pytest.fixture
def graph():
    """An open loop."""
    with tf.Graph().as_default() as graph:
        enter = tf.raw_ops.Enter(data=1.0, frame_name="loop")
        tf.raw_ops.Merge(inputs=[enter, enter], name="merge")
    return graph


@pytest.fixture
def thread(graph):
    """Closes the loop."""
    merge = graph.get_operation_by_name("merge")

    def close_the_loop():
        with graph.as_default():
            back = tf.raw_ops.NextIteration(data=merge.outputs[0], name="back")
        merge._update_input(1, back)

    return threading.Thread(target=close_the_loop)


def after_a_start_of(thread, function):
    """The function; before its first call the thread is started, and given time."""

    def call(*args):
        if thread.ident is None:
            thread.start()
            thread.join(0.2)
        return function(*args)

    return call


def test_a_placer_reads_a_graph_at_one_moment(graph, thread, monkeypatch):
    monkeypatch.setattr(
        PlacementGraphBuilder,
        "add_operations",
        after_a_start_of(thread, PlacementGraphBuilder.add_operations),
    )
    before = placement_graph_of(graph)
    thread.join()
    assert len(before) == 3 and before.order.tolist() == [0, 1, 2]
    after = placement_graph_of(graph)
    assert len(after) == 4 and sorted(after.order.tolist()) == [0, 1, 2, 3]


def test_a_graph_is_written_as_it_is_at_one_moment(graph, thread, monkeypatch):
    monkeypatch.setattr(export, "_add_node", after_a_start_of(thread, export._add_node))
    before = {node.name: list(node.input) for node in graph.as_graph_def().node}
    thread.join()
    after = {node.name: list(node.input) for node in graph.as_graph_def().node}
    assert before["merge"] == ["Enter", "Enter"] and "back" not in before
    assert after["merge"] == ["Enter", "back"] and after["back"] == ["merge"]


class TestReadOnce:
    """A graph is read again when something has changed that a placer may see."""

    @pytest.fixture
    def toys(self):
        toys = Catalogue()
        toys.register_op("Source", outputs=["made: T"], attrs=["T: type"])
        toys.register_op("Sink", inputs=["taken: T"], attrs=["T: type", "mode: int = 0"])
        return toys

    @pytest.fixture
    def operations(self, toys):
        with tf.Graph().as_default() as graph:
            dtype = {"T": tf.float32}
            source = graph.create_op("Source", [], attrs=dtype, name="source", op_def=toys.ops.get("Source"))
            sink = graph.create_op(
                "Sink", source.outputs, attrs=dtype, name="sink", op_def=toys.ops.get("Sink")
            )
        return source, sink

    def test_what_is_as_it_was_is_not_read_again(self, toys, operations):
        graph = operations[0].graph
        assert placement_graph_of(graph, toys) is placement_graph_of(graph, toys)
        assert placement_graph_of(graph) is not placement_graph_of(graph, toys)

    @pytest.mark.parametrize(
        "change",
        [
            lambda source, sink: source._set_device("/device:GPU:1"),
            lambda source, sink: sink._set_attr("T", tf.int32),
            lambda source, sink: sink._set_attr("_class", (b"loc:@source",)),
            lambda source, sink: source.graph.create_op("NoOp", [], name="more"),
            lambda source, sink: sink._add_control_input(source.graph.get_operation_by_name("source")),
        ],
    )
    def test_a_changed_graph_is(self, toys, operations, change):
        graph = operations[0].graph
        before = placement_graph_of(graph, toys)
        seen = facts_of(before)
        change(*operations)
        after = placement_graph_of(graph, toys)
        assert facts_of(before) == seen != facts_of(after)

    def test_a_kernel_that_looks_at_another_attribute_counts(self, toys, operations):
        graph = operations[0].graph
        operations[1]._set_attr("mode", 3)
        before = placement_graph_of(graph, toys)
        assert ("mode", 3) not in before.signatures[before.signature[1]].attrs
        toys.register_kernel("Sink", "GPU", mode=[3])
        after = placement_graph_of(graph, toys)
        assert ("mode", 3) in after.signatures[after.signature[1]].attrs

    def test_an_op_that_is_registered_later_counts(self, toys, operations):
        graph = operations[0].graph
        late = make_op_def("Late", attrs=["N: int"])
        graph.create_op("Late", [], attrs={"N": 3}, name="late", op_def=late)
        before = placement_graph_of(graph, toys)
        assert ("N", 3) in before.signatures[before.signature[2]].attrs
        toys.ops.register(late)
        after = placement_graph_of(graph, toys)
        assert after.signatures[after.signature[2]].attrs == ()


def facts_of(nodes):
    """All that a placer goes by."""
    signatures = [nodes.signatures[number] for number in nodes.signature]
    devices = [nodes.devices[number] for number in nodes.device]
    edges = [column.tolist() for column in (nodes.src, nodes.src_output, nodes.dst, nodes.dst_input)]
    return nodes.names, signatures, devices, [nodes.colocation(node) for node in range(len(nodes))], edges
