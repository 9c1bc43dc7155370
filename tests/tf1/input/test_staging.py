"""Staging areas: order, limits, keys, and devices."""

import threading

import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph
from gpuplace.tf1.input.staging import MapStagingArea, StagingArea


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


def test_elements_come_out_in_order():
    x = tf.placeholder(tf.float32, [])
    area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], shapes=[[], []])
    put, got, second = area.put([x, 3]), area.get(), area.peek(1)
    assert [tensor.shape for tensor in got] == [(), ()]
    with tf.Session() as session:
        for value in (1.0, 2.0, 4.0):
            session.run(put, {x: value})
        assert session.run([area.size(), *second]) == [3, 2.0, 3]
        assert session.run(got) == [1.0, 3]
        session.run(area.clear())
        assert session.run(area.size()) == 0


@pytest.mark.parametrize("machine", ["cpu", "1x Tesla K40c"])
@pytest.mark.parametrize("put_first", [False, True])
def test_a_pipeline_of_one_element(machine, put_first, monkeypatch):
    """Each step computes with what the last one left, and leaves the next, though there is room for one only."""
    monkeypatch.setenv("GPUPLACE_MACHINE", machine)
    tf.reset_runtime()
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0" if machine != "cpu" else None):
        area = StagingArea([tf.float32], shapes=[[2]], capacity=1)
        put = area.put([x * 1.0]) if put_first else None
        (got,) = area.get()
        put = area.put([x * 1.0]) if put is None else put
        result = got * 2.0
    with tf.Session() as session:
        session.run(put, {x: [0, 0]})
        found = [session.run([result, put], {x: [n, n]})[0].tolist() for n in (1, 2, 3)]
        assert found == [[0, 0], [2, 2], [4, 4]]
        if machine != "cpu":
            assert session.placement[put.name].endswith("GPU:0")
    tf.reset_runtime()


def test_a_full_area_waits_and_a_session_ends_it():
    area = StagingArea([tf.float32], capacity=1, shared_name="area")
    put = area.put(tf.constant(1.0))
    session, raised = tf.Session(), []

    def run():
        try:
            session.run(put)
        except tf.errors.CancelledError as error:
            raised.append(error)

    session.run(put)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    session.close()
    thread.join(20)
    assert len(raised) == 1


def test_too_much_memory():
    area = StagingArea([tf.float32], memory_limit=100)
    x = tf.placeholder(tf.float32, [None])
    put = area.put([x])
    with tf.Session() as session:
        session.run(put, {x: [0] * 20})
        with pytest.raises(
            tf.errors.ResourceExhaustedError,
            match="tensors with combined size of '160' bytes into Staging Area with a memory limit of '100'",
        ):
            session.run(put, {x: [0] * 40})
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(put, {x: [0] * 20}, options=tf.RunOptions(timeout_in_ms=50))


def test_names():
    area = StagingArea([tf.float32, tf.int32], names=["a", "b"])
    with tf.Session() as session:
        session.run(area.put({"b": 2, "a": 1.0}))
        assert session.run(area.get()) == {"a": 1.0, "b": 2}
    with pytest.raises(ValueError, match="You must enqueue a dictionary in a staging area with names"):
        area.put([1.0, 2])
    with pytest.raises(ValueError, match="StagingArea names must be the same length as dtypes"):
        StagingArea([tf.float32], names=["a", "b"])


@pytest.mark.parametrize(("ordered", "first"), [(False, 5), (True, 2)])
def test_elements_by_key(ordered, first):
    area = MapStagingArea([tf.float32, tf.int32], ordered=ordered)
    key = tf.placeholder(tf.int64, [])
    put = area.put(key, [1.5, 2], [0, 1])
    by_key, any_one = area.get(key)[1], area.get()
    with tf.Session() as session:
        session.run(put, {key: 5})
        session.run(put, {key: 2})
        assert session.run(area.peek(key), {key: 2}) == [1.5, 2]
        found, values = session.run(any_one)
        assert (found, values) == (first, [1.5, 2])
        assert session.run(by_key, {key: 7 - first}) == [1.5, 2]
        session.run(put, {key: 3})
        with pytest.raises(tf.errors.InvalidArgumentError, match="for key '3' was already initialized"):
            session.run(put, {key: 3})
        session.run(area.clear())
        assert session.run(area.size()) == 0


def test_components_that_come_one_by_one():
    area = MapStagingArea([tf.float32, tf.int32], names=["x", "n"])
    with tf.Session() as session:
        session.run(area.put(1, {"n": 4}))
        assert session.run([area.size(), area.incomplete_size()]) == [0, 1]
        session.run(area.put(1, {"x": 0.5}))
        assert session.run([area.size(), area.incomplete_size()]) == [1, 0]
        assert session.run(area.get(1, ["n"])[1]) == {"n": 4}
        with pytest.raises(tf.errors.InvalidArgumentError, match="has already been removed"):
            session.run(area.peek(1, ["n"]))
        assert session.run(area.get(1, [0])[1]) == {"x": 0.5}
        assert session.run(area.size()) == 0
