"""What a placer is given, and a file, of a graph that other threads are adding to."""

import threading

import pytest

import gpuplace as tf
from gpuplace.graphdef import export
from gpuplace.placer.from_graph import placement_graph_of
from gpuplace.placer.placement_graph import PlacementGraphBuilder


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
