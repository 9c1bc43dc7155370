"""Blocks end, whatever instruction an exception of a signal handler comes at while they are entered and left."""

import pytest

import gpuplace as tf
from gpuplace.graph import convert, scopes, stacks
from tests.support.interruptions import interrupted_at

FILES = {module.__file__ for module in (convert, scopes, stacks)}


def state(graph):
    of_graph, of_thread = graph.scopes.stacks(), graph.scopes.of_thread
    return (
        list(stacks.graph_stack.stack),
        (of_thread.name_stack, of_thread.context),
        list(of_graph.devices),
        (of_graph.hidden_devices, list(of_graph.colocations), list(of_graph.controls)),
        len(scopes._open.blocks),
    )


def name_scope(graph):
    with tf.name_scope("a"):
        pass


def op_scope(graph):
    with tf.name_scope("a", values=[graph.get_operations()[0]]):
        pass


def device(graph):
    with tf.device("/gpu:0"):
        pass


def default(graph):
    with tf.Graph().as_default():
        pass


def colocation(graph):
    with tf.colocate_with(graph.get_operations()[0]), tf.colocate_with(None, ignore_existing=True):
        pass


def devices_outside(graph):
    with tf.device("/gpu:0"), tf.colocate_with(graph.get_operations()[0]), scopes.OuterDevices(graph):
        pass


def control_dependencies(graph):
    with tf.control_dependencies(graph.get_operations()[:1]):
        pass


def no_control_dependencies(graph):
    with tf.control_dependencies(graph.get_operations()[:1]), tf.control_dependencies(None):
        pass


def nested(graph):
    with tf.Graph().as_default(), tf.device("/gpu:0"), tf.name_scope("b"):
        tf.constant(1.0)


BLOCKS = [
    name_scope,
    op_scope,
    device,
    default,
    nested,
    colocation,
    devices_outside,
    control_dependencies,
    no_control_dependencies,
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_interrupted(block):
    graph = tf.get_default_graph()
    tf.constant(1.0)
    before = state(graph)
    instruction, is_interrupted = 0, True
    while is_interrupted:
        instruction += 1
        is_interrupted = interrupted_at(instruction, FILES, block, graph)
        assert state(graph) == before
    assert instruction > 3
