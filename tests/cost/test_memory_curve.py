"""Memory in use over a step."""

import itertools

import pytest

import gpuplace as tf
from gpuplace.cost.memory.memory_curve import host_memory, in_order, memory_curve


def test_the_order_changes_values_as_little_as_it_must():
    assert in_order([]) == [] and in_order([1.0, 2.0]) == [1.0, 2.0]
    assert in_order([3.0, 1.0]) == [2.0, 2.0]
    assert in_order([1.0, 5.0, 3.0, 1.0, 9.0]) == [1.0, 3.0, 3.0, 3.0, 9.0]
    assert in_order([4.0, 2.0, 3.0, 0.0]) == [2.25] * 4
    for values in itertools.permutations([1.0, 2.0, 3.0, 4.0]):
        ordered = in_order(values)
        assert ordered == sorted(ordered) and sum(ordered) == pytest.approx(10)


@pytest.fixture(scope="module")
def step():
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            weights = tf.Variable(tf.zeros([256, 256]), name="w")
            rows = tf.ones([1 << 18], name="rows")
            total = tf.reduce_sum(rows * 2.0, name="total")
        with tf.device("/gpu:0"):
            product = tf.matmul(weights, weights) + total
        return tf.estimate(graph, [product], machine="1x Tesla V100")


def test_the_curve_begins_before_the_step_and_ends_with_it(step):
    gpu = next(name for name in step.device_names if "GPU" in name)
    curve = memory_curve(step, gpu)
    times = [time for time, _ in curve]
    assert times[0] == 0.0 and times == sorted(times) and times[-1] >= step.step_time
    assert max(nbytes for _, nbytes in curve) == step.peak_memory[gpu]
    assert memory_curve(step, "/device:GPU:9") == []


def test_the_host_holds_its_variables_and_what_is_alive_at_once(step):
    (peak,) = host_memory(step).values()
    assert 256 * 256 * 4 + (4 << 18) <= peak <= 256 * 256 * 4 + 3 * (4 << 18)
