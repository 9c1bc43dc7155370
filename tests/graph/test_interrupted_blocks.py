"""Blocks end, whatever instruction an exception of a signal handler comes at while they are entered and left."""

import pytest

import gpuplace as tf
from gpuplace.graph import convert, scopes, stacks
from tests.support.interruptions import interrupted_at

FILES = {module.__file__ for module in (convert, scopes, stacks)}


def state(graph):
    devices = [scope.obj for scope in graph._stacks().devices]
    return list(stacks.graph_stack.stack), graph._of_thread.name_stack, devices, len(scopes._open.blocks)


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


def nested(graph):
    with tf.Graph().as_default(), tf.device("/gpu:0"), tf.name_scope("b"):
        tf.constant(1.0)


@pytest.mark.parametrize("block", [name_scope, op_scope, device, default, nested])
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
