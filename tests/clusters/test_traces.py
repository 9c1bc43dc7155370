"""Traced steps on several tasks: what they list, beside what the servers of TensorFlow 1.15 and 2.21 did."""

import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.clusters.running import servers
from tests.oracle.record.cluster_traces import program, summary

pytest.importorskip("distributed")

DATA = Path(__file__).resolve().parents[1] / "data"
RECORDED = json.loads((DATA / "cluster_traces.json").read_text())
PS, WORKER_0, WORKER_1 = (
    f"/job:{task}/device:CPU:0"
    for task in ("ps/replica:0/task:0", "worker/replica:0/task:0", "worker/replica:0/task:1")
)
FULL = tf.RunOptions.FULL_TRACE
HOUR_NS = 3_600_000_000_000


@pytest.fixture(scope="module")
def tasks():
    with servers(ps=1, worker=2) as started:
        yield started


@pytest.fixture
def session(tasks):
    with tf.Graph().as_default(), tf.Session(tasks["worker", 0].target) as made:
        yield made
    tf.Session.reset(tasks["ps", 0].target)


def traced(session, fetches, feeds, level=FULL, graphs=True):
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=level, output_partition_graphs=graphs)
    found = session.run(fetches, feeds, options, metadata)
    return found, metadata


def known_as(op):
    """What 1.15's calls make where 2.21 makes another op, or has its library for CPUs compute."""
    return {"_MklMatMul": "MatMul", "AddV2": "Add"}.get(op, op)


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_lists_what_the_servers_of_tensorflow_do(tasks, release):
    tf.set_release(release)
    with tf.Graph().as_default(), tf.Session(tasks["worker", 0].target) as session:
        fetches, feeds = program(tf)
        session.run(tf.global_variables_initializer())
        for level, theirs in RECORDED[release].items():
            values, metadata = traced(session, fetches, feeds, int(level))
            assert values == [130.0, None]
            ours = summary(metadata)
            assert ours["copies"] == theirs["copies"]
            assert ours["graphs"] == {
                device: sorted([name, known_as(op), inputs] for name, op, inputs in graph)
                for device, graph in theirs["graphs"].items()
            }
            lists = {
                device: [row for row in rows if row[1] not in ("_Send", "_Recv")]
                for device, rows in ours["lists"].items()
            }
            assert lists == {
                device: sorted([name, known_as(op)] for name, op in rows)
                for device, rows in theirs["lists"].items()
            }
    tf.Session.reset(tasks["ps", 0].target)


def test_sends_and_receives_are_in_the_lists_of_both_tasks(session):
    fetches, feeds = program(tf)
    session.run(tf.global_variables_initializer())
    _, metadata = traced(session, fetches, feeds)
    labels = {
        node.timeline_label: device.device
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    }
    assert labels[f"w/read_S0 = _Send(edge_0_w/read @{WORKER_0})"] == PS
    assert labels[f"w/read_S1 = _Recv(edge_0_w/read @{PS})"] == WORKER_0
    assert "y = MatMul(_recv_x_0, w/read_S1)" in labels


def test_a_timeline_has_the_copies_between_tasks(session):
    fetches, feeds = program(tf)
    session.run(tf.global_variables_initializer())
    timeline = session.timeline(fetches, feeds)
    assert [lane.device for lane in timeline.lanes if lane.kind == "device"] == [PS, WORKER_0, WORKER_1]
    copies = {(copy.tensor, copy.source, copy.target): copy for copy in timeline.copies}
    assert {key: copy.nbytes for key, copy in copies.items()} == {
        ("w/read", PS, WORKER_0): 64,
        ("y", WORKER_0, WORKER_1): 32,
        ("^y", WORKER_0, WORKER_1): 0,
        ("^total", WORKER_1, PS): 0,
        ("total", WORKER_1, WORKER_0): 4,
    }
    for copy in copies.values():
        assert 0 <= copy.start_us <= copy.end_us <= timeline.total_us
    weights = dict(zip(timeline.names, timeline.path_weights, strict=True))
    ways = ["y_S2", "y_S3", "z", "Sum"], ["y_S4", "y_S5", "y_S6", "y_S7"]  # the value, and that it is there
    names = [timeline.names[event] for event in timeline.path]
    between = names[names.index("y") + 1 : names.index("total")]
    assert between == max(ways, key=lambda way: sum(weights[name] for name in way))
    assert timeline.svg().count('class="tick" x1="8"') == 2  # between three tasks


def test_a_task_whose_clock_is_wrong_is_put_right(tasks, session):
    fetches, feeds = program(tf)
    session.run(tf.global_variables_initializer())
    before, ahead = traced(session, fetches, feeds)[1], tasks["ps", 0]._running.task
    right = ahead.clock
    ahead.clock = lambda: right() + HOUR_NS
    try:
        after = traced(session, fetches, feeds)[1]
    finally:
        ahead.clock = right
    begins = [
        {device.device: device.node_stats[0].all_start_micros for device in metadata.step_stats.dev_stats}
        for metadata in (before, after)
    ]
    for one in begins:
        assert max(one.values()) - min(one.values()) < HOUR_NS / 10_000
    assert {copy.nbytes for copy in tf.timeline(after).copies} == {64, 32, 0, 4}


def test_without_options_metadata_is_empty(session):
    fetches, feeds = program(tf)
    session.run(tf.global_variables_initializer())
    metadata = traced(session, fetches, feeds)[1]
    session.run(fetches, feeds, None, metadata)
    assert not metadata.ByteSize()
    graphs = traced(session, fetches, feeds, 0)[1]
    assert len(graphs.partition_graphs) == 3 and not graphs.step_stats.dev_stats


def test_a_client_that_is_no_task_gets_all_tasks_too(tasks):
    """The target's task is another process's, as far as the session can tell."""
    from gpuplace.clusters import server

    kept = dict(server._running)
    with tf.Graph().as_default():
        fetches, feeds = program(tf)
        server._running.clear()
        try:
            with tf.Session(tasks["worker", 1].target) as session:
                session.run(tf.global_variables_initializer())
                metadata = traced(session, fetches, feeds)[1]
        finally:
            server._running.update(kept)
    assert {device.device for device in metadata.step_stats.dev_stats} >= {PS, WORKER_0, WORKER_1}
    assert len(metadata.partition_graphs) == 3
    tf.Session.reset(tasks["ps", 0].target)


def test_gpus_of_tasks_have_lists_of_their_own(tasks):
    tf.use_machine("1x Tesla K40c")
    with servers(ps=1, worker=1) as started, tf.Graph().as_default():
        with tf.device("/job:ps/gpu:0"):
            a = tf.ones([2, 2]) * tf.placeholder(tf.float32, [], name="factor")
        with tf.device("/job:worker/gpu:0"):
            b = tf.negative(a, name="b")
        with tf.Session(started["worker", 0].target) as session:
            found, metadata = traced(session, b, {"factor:0": 2.0})
    np.testing.assert_array_equal(found, -2 * np.ones((2, 2)))
    devices = {device.device for device in metadata.step_stats.dev_stats}
    assert {f"/job:{job}/replica:0/task:0/device:GPU:0/stream:all" for job in ("ps", "worker")} <= devices
    copies = [
        (copy.source[5], copy.source[-5:], copy.target[-5:], copy.nbytes)
        for copy in tf.timeline(metadata).copies
    ]
    assert ("p", "CPU:0", "CPU:0", 16) in copies and ("w", "CPU:0", "GPU:0", 16) in copies
