"""Advice on the machines of a cluster: what goes over the network counts."""

import gpuplace as tf

MACHINE = "worker*2: 1x K80; ps: cpu; network 1GbE"


def test_what_a_network_carries_is_avoided():
    """A product that nobody placed, of rows and weights that one task has: the other one's GPU is no better."""
    with tf.Graph().as_default() as graph:
        with tf.device("/job:worker/task:1/cpu:0"):
            rows = tf.placeholder(tf.float32, [2048, 2048], name="rows")
        product = tf.matmul(rows, tf.matmul(rows, rows, name="first"), name="second")
        with tf.device("/job:worker/task:1/cpu:0"):
            end = tf.reduce_sum(product, name="end")
    advice = tf.advise(graph, end, {rows: (2048, 2048)}, MACHINE, seconds=1)
    assert advice.estimate.step_time <= advice.baseline.step_time
    assert set(advice.placement.values()) <= set(advice.placement.device_set.names)
    over = [copy for copy in advice.estimate.copies if copy.way == "network"]
    before = [copy for copy in advice.baseline.copies if copy.way == "network"]
    assert sum(copy.bytes for copy in over) <= sum(copy.bytes for copy in before)
