"""Time limits of steps, and the list of tensors when memory runs out; the sentences are TensorFlow's."""

import time

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.runtime.session.run_options import usage_report

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.fixture(autouse=True)
def _graph():
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        yield


def slow_chain(seconds=0.1, count=5):
    ran = []

    def slow(value):
        time.sleep(seconds)
        ran.append(value)
        return value

    y = tf.placeholder(tf.float32, [], name="x")
    x = y
    for number in range(count):
        y = tf.py_func(slow, [y], tf.float32, name=f"slow_{number}")
    return x, y, ran


@pytest.mark.parametrize("trace_level", [0, 3])
@pytest.mark.parametrize("metadata", [None, tf.RunMetadata()])
def test_a_step_ends_when_its_time_is_up(trace_level, metadata):
    x, y, ran = slow_chain()
    with tf.Session() as session:
        options = tf.RunOptions(timeout_in_ms=150, trace_level=trace_level)
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(y, {x: 1.0}, options, metadata)
        assert caught.value.message == "Timed out waiting for notification"
        assert caught.value.op is None and caught.value.error_code == 4
        assert 1 <= len(ran) < 5
        generous = tf.RunOptions(timeout_in_ms=60_000, trace_level=trace_level)
        assert session.run(y, {x: 1.0}, generous, metadata) == 1
        assert session.run(y, {x: 1.0}, tf.RunOptions(timeout_in_ms=-5), metadata) == 1


def test_the_text_of_2_21(monkeypatch):
    tf.set_release("2.21")
    x, y, _ = slow_chain(count=2)
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(y, {x: 1.0}, tf.RunOptions(timeout_in_ms=10))
    assert caught.value.message == "Graph execution error:\n\nTimed out waiting for notification"
    assert caught.value.facts == {"limit": "10 ms", "stopped before": "slow_1"}


def test_the_limit_of_the_config_holds_for_every_step():
    x, y, ran = slow_chain()
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=150)) as session:
        call = session.make_callable(y, [x])
        for run in (lambda: session.run(y, {x: 1.0}), lambda: call(1.0), lambda: session.run(y, {x: 1.0})):
            with pytest.raises(tf.errors.DeadlineExceededError):
                run()
        assert session.run(y, {x: 1.0}, tf.RunOptions(timeout_in_ms=60_000)) == 1
        assert session.run(tf.constant(2.0)) == 2


def test_lanes_end_too(monkeypatch):
    from gpuplace.runtime.plan import compile as plan_maker

    monkeypatch.setattr(plan_maker, "available_cores", lambda: 4)
    tf.use_machine("2x Tesla K40c")
    x, y, _ = slow_chain()
    big = tf.placeholder(tf.float32, [400, 400])
    ends = []
    for index in range(2):
        with tf.device(f"/gpu:{index}"):
            ends.append(tf.matmul(big, big))
    with tf.Session() as session:
        feeds = {x: 1.0, big: np.eye(400)}
        assert len(session.run([y, *ends], feeds)) == 3
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run([y, *ends], feeds, tf.RunOptions(timeout_in_ms=150))
        (timed,) = session._other_plans.values()
        assert len(timed.codes) == 3
        assert len(session.run([y, *ends], feeds)) == 3


def out_of_memory():
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device("/gpu:0"):
        weights = tf.Variable(np.zeros([256], np.float32), name="weights")
        a = tf.fill([1024, 1024], x, name="a")
        b = tf.add(a, a, name="b")
        small = tf.add(weights, x, name="small")
        big = tf.fill([60_000, 60_000], x, name="big")
        total = tf.add(tf.reduce_sum(big), tf.reduce_sum(b, name="total_of_b"))
    return weights, [b, small, total]


def test_out_of_memory_lists_what_the_steps_nodes_hold():
    weights, fetches = out_of_memory()
    feeds = {"x:0": 1.0}
    with tf.Session() as session:
        session.run(weights.initializer)
        with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
            session.run(fetches, feeds, tf.RunOptions(report_tensor_allocations_upon_oom=True))
        text = caught.value.message
        first, _, rest = text.partition("\n")
        assert first == (
            f"OOM when allocating tensor with shape[60000,60000] and type float on {GPU} by allocator GPU_0_bfc"
        )
        node, _, report = rest.partition("\n")
        assert "[[node big" in node and "Hint" not in text and caught.value.op.name == "big"
        assert report.startswith(f"\nCurrent usage from device: {GPU}, allocator: GPU_0_bfc\n  4.00MiB from ")
        assert "weights" not in report and "Remaining" in report
        with pytest.raises(tf.errors.ResourceExhaustedError, match="add report_tensor_allocations_upon_oom"):
            session.run(fetches, feeds)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Current usage from device"):
            options = tf.RunOptions(report_tensor_allocations_upon_oom=True)
            session.run(fetches, feeds, options, tf.RunMetadata())


def test_the_list_ends_where_little_is_left():
    many = [(f"node_{number}", 1000) for number in range(500)]
    lines = usage_report("d", "a", many).splitlines()
    assert len(lines) == 3 + 101 + 1 and lines[-1] == "  Remaining 399 nodes with 389.6KiB"
    assert usage_report("d", "a", []) == "\n"


@pytest.mark.parametrize("release, allocator", [("1.15", "cpu"), ("2.21", "mklcpu")])
def test_out_of_host_memory(release, allocator):
    tf.set_release(release)
    with tf.device("/cpu:0"):
        big = tf.fill(tf.placeholder(tf.int32, [2], name="n"), tf.random_uniform([]), name="big")
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        session.run(big, {"n:0": [2_000_000, 2_000_000]})
    assert (
        "OOM when allocating tensor with shape[2000000,2000000] and type float on"
        f" {GPU.replace('GPU', 'CPU')} by allocator {allocator}" in caught.value.message
    )


@pytest.mark.parametrize("release, prefix", [("1.15", ""), ("2.21", "Graph execution error:\n\n")])
def test_a_pool_of_threads_that_is_not_there(release, prefix):
    tf.set_release(release)
    x, y, _ = slow_chain(seconds=0, count=1)
    config = tf.ConfigProto()
    with tf.Session() as session:
        call = session.make_callable(y, [x], accept_options=True)
        for pool in (1, -2):
            for run in (lambda o: session.run(y, {x: 1.0}, o), lambda o: call(1.0, options=o)):
                with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                    run(tf.RunOptions(inter_op_thread_pool=pool))
                assert caught.value.message == f"{prefix}Invalid inter_op_thread_pool: {pool}"
                assert "session_inter_op_thread_pool" in str(caught.value)
        assert session.run(y, {x: 1.0}, tf.RunOptions(inter_op_thread_pool=-1)) == 1
    config.session_inter_op_thread_pool.add(num_threads=2)
    config.session_inter_op_thread_pool.add(num_threads=1)
    with tf.Session(config=config) as session:
        assert session.run(y, {x: 1.0}, tf.RunOptions(inter_op_thread_pool=1)) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid inter_op_thread_pool: 2"):
            session.run(y, {x: 1.0}, tf.RunOptions(inter_op_thread_pool=2))


def test_the_graph_of_a_session_has_shapes_where_its_config_asks_for_them():
    tf.constant([[1, 2]], name="a")
    for asks in (False, True):
        config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=asks))
        with tf.Session(config=config) as session:
            assert ("_output_shapes" in session.graph_def.node[0].attr) is asks
