"""Steps in which what is inlined meets loops, branches and unknown shapes; the answers are 1.15.5's."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.stand_in.framework import function


def types_of(graph, fetch, word):
    """Op types of the nodes with a word in their names, where a session runs them."""
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph) as session:
        options = tf.RunOptions(output_partition_graphs=True)
        value = session.run(fetch, options=options, run_metadata=metadata)
    nodes = [node for part in metadata.partition_graphs for node in part.node]
    return value, sorted(node.op for node in nodes if word in node.name)


def test_a_sum_in_a_loop_is_no_variable():
    with tf.Graph().as_default() as graph:
        x, y = tf.constant([1.0, 2.0]), tf.placeholder_with_default([1.0, 1.0], [2])
        total = tf.while_loop(
            lambda i, x: i < 3,
            lambda i, x: (i + 1, tf.accumulate_n([x, y, x * 2.0])),
            [tf.constant(0), x],
        )[1]
        value, types = types_of(graph, total, "AccumulateNV2")
    np.testing.assert_array_equal(value, [40, 67])
    assert types == ["AddN", "Enter"]


def test_a_sum_behind_a_loop_or_in_a_branch_is_a_variable():
    with tf.Graph().as_default() as graph:
        x = tf.while_loop(lambda x: x[0] < 3, lambda x: x + 1, [tf.constant([1.0, 2.0])])
        chosen = tf.placeholder_with_default(True, [])
        total = tf.cond(chosen, lambda: tf.accumulate_n([x, x]), lambda: x)
        value, types = types_of(graph, tf.accumulate_n([x, total]), "AccumulateNV2")
    np.testing.assert_array_equal(value, [9, 12])
    assert types.count("TemporaryVariable") == 2 and "AddN" not in types


@pytest.mark.parametrize("shape", [None, [None]])
def test_a_sum_of_unknown_shape(shape):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape)
        total = tf.accumulate_n([x, x], shape=shape)
        assert session.run(total, {x: [1, 2]}).tolist() == [2, 4]
        assert session.run(total, {x: [1, 2, 3]}).tolist() == [2, 4, 6]


def test_a_call_in_a_loop_that_does_not_run_has_no_effect():
    @function.Defun(tf.int32)
    def fails(x):
        with tf.control_dependencies([tf.Assert(tf.constant(False), [42])]):
            return tf.identity(x)

    with tf.Graph().as_default():
        goes_on, x = tf.placeholder(tf.bool), tf.placeholder(tf.int32)
        loop = tf.while_loop(lambda y: goes_on, lambda y: fails(y), [x])
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.do_function_inlining = True
        with tf.Session(config=config) as session:
            assert session.run(loop, {goes_on: False, x: 3}) == 3
            with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed: \\[42\\]"):
                session.run(loop, {goes_on: True, x: 3})


@pytest.mark.parametrize("inlines", [False, True])
def test_calls_draw_numbers_of_their_own(inlines):
    """A function of a graph does not take the graph's seed."""
    with tf.Graph().as_default():
        tf.set_random_seed(7)

        @function.Defun()
        def drawn():
            return tf.random_uniform([20], maxval=1000, dtype=tf.int32)

        calls = drawn(), drawn()
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.do_function_inlining = inlines
        with tf.Session(config=config) as session:
            one, other = session.run(calls)
    assert (one != other).any()
