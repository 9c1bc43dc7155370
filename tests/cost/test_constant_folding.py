"""The step that is predicted, and the step that a session runs, fold the same nodes."""

import pytest

import gpuplace as tf
from gpuplace.kernels.resources import SessionResources
from gpuplace.runtime.plan.schedule.constant_folding import Folder


def sums():
    """Sums of constants, some of them with what is fed."""
    x = tf.placeholder(tf.float32, [3], name="x")
    return tf.constant([1.0, 2.0, 3.0]) * 2.0 + tf.reduce_sum(tf.constant([4.0, 5.0])) + x


def results_of_many_sizes():
    """Of a kilobyte, of 100 KiB, of a byte more, and one that is smaller than what it is made of."""
    small, just, large = (tf.fill([size], 1.0) * 2.0 for size in (256, 25_600, 25_601))
    halves = tf.split(tf.constant(0.5, shape=[100_000]), 2)
    return [small, just, large, *halves, tf.reshape(tf.constant(0.5, shape=[90_000]), [300, 300])]


def texts_and_several_outputs():
    """Strings, and an op with two outputs."""
    values, indices = tf.nn.top_k(tf.constant([1.0, 3.0, 2.0]), 2)
    return [tf.string_join([tf.constant("a"), tf.constant("b")]), values, indices]


def never_the_same():
    """Random numbers, a variable, a default that may be replaced, and a conditional."""
    variable = tf.Variable(1.0, use_resource=True)
    taken = tf.cond(
        tf.placeholder(tf.bool, [], name="taken"), lambda: tf.constant(1.0), lambda: tf.constant(2.0)
    )
    return [
        tf.random_normal([2]) + 1.0,
        variable * 2.0,
        tf.placeholder_with_default([1.0], [1]) + 1.0,
        taken + 1.0,
    ]


def options(grappler=0, level=0, limit=0):
    """A configuration of the two foldings."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.constant_folding = grappler
    config.graph_options.optimizer_options.opt_level = level
    config.graph_options.optimizer_options.max_folded_constant_in_bytes = limit
    return config


CONFIGS = {
    "as by default": options(),
    "Grappler alone": options(level=-1),
    "runtime alone": options(grappler=2),
    "neither": options(grappler=2, level=-1),
    "a limit": options(limit=1000),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("build", [sums, results_of_many_sizes, texts_and_several_outputs, never_the_same])
def test_the_estimate_folds_what_a_session_folds(build, config):
    with tf.Graph().as_default() as graph:
        fetches = build()
    fetches = fetches if isinstance(fetches, list) else [fetches]
    step = tf.estimate(graph, fetches, machine="1x V100", config=config)
    predicted = {
        name for name, folded in zip(step.part.graph.names, step.flow.step.folded, strict=True) if folded
    }

    needed = [op for op in graph.get_operations() if op.name in step.part.graph.index]
    every_output = [tensor for op in needed for tensor in op.outputs]
    _, folded = Folder(config, SessionResources()).fold(needed, every_output, [], set())
    assert predicted == {op.name for op in folded}
    if build in (sums, results_of_many_sizes):
        assert bool(predicted) == (config is not CONFIGS["neither"])
