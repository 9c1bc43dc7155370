"""Steps on several tasks predicted: copies over the network, hosts that compute at a time, and what was measured."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.device.network import FRAME_SHARE
from tests.clusters.running import servers

PS = "/job:ps/replica:0/task:0"
WORKERS = [f"/job:worker/replica:0/task:{index}" for index in range(2)]
RATE_10 = 10e9 / 8 * FRAME_SHARE
LATENCY = 150e-6


def replicas(rows=1000, device="gpu"):
    """A variable on a parameter server, and a product with it on each of two workers."""
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps"):
            w = tf.get_variable("w", [rows, rows])
        made = []
        for index in range(2):
            with tf.device(f"/job:worker/task:{index}/{device}:0"):
                x = tf.placeholder(tf.float32, [rows, rows], name=f"x{index}")
                y = tf.matmul(x, w, name=f"y{index}")
            with tf.device("/job:ps"):
                made.append(tf.assign_sub(w, y, name=f"update{index}").op)
    return graph, made, {f"x{index}": (rows, rows) for index in range(2)}


def test_copies_take_the_network_s_time_and_share_it():
    graph, updates, feeds = replicas(device="cpu")
    step = tf.estimate(graph, updates, feeds, "ps: cpu; worker*2: cpu")
    reads = [copy for copy in step.copies if copy.tensor == "w/read"]
    assert {(copy.source, copy.target[:-13]) for copy in reads} <= {
        (f"{PS}/device:CPU:0", task) for task in WORKERS
    }
    for copy in reads:
        assert copy.way == "network" and copy.bytes == 4e6
        assert copy.time == pytest.approx(LATENCY + 4e6 / RATE_10, rel=1e-6)
    first, second = sorted(reads, key=lambda copy: copy.start)
    assert second.start == pytest.approx(first.start + 4e6 / RATE_10, rel=1e-3)  # the interface of the server
    arrived = [copy for copy in step.copies if copy.tensor in ("y0", "y1")]
    assert {copy.target for copy in arrived} == {f"{PS}/device:CPU:0"}
    assert sum(copy.bytes for copy in step.copies if copy.target.startswith(PS)) == 8e6


def test_a_faster_network_is_quicker():
    graph, updates, feeds = replicas()
    times = [
        tf.estimate(graph, updates, feeds, f"worker*2: 1x K80; ps: cpu; network {network}").step_time
        for network in ("1GbE", "10GbE", "100GbE")
    ]
    assert times == sorted(times, reverse=True) and times[0] > 5 * times[1] > 5 * times[2]
    assert tf.estimate(graph, updates, feeds, "worker*2: 1x K80; ps: cpu").step_time == times[1]


def test_hosts_compute_at_the_same_time_unless_they_are_one():
    graph, updates, feeds = replicas(device="cpu")
    model = tf.CostModel.uncalibrated()
    apart, together = (
        tf.estimate(graph, updates, feeds, f"worker*2: cpu; ps: cpu; network {network}", cost_model=model)
        for network in ("gbit=100 us=0", "loopback gbit=100 us=0")
    )
    kernel = next(row.time for row in apart.rows("nodes") if row.name == "y0")
    assert together.step_time > apart.step_time + 0.9 * kernel


def test_it_is_said_which_task():
    graph, updates, feeds = replicas()
    step = tf.estimate(graph, updates, feeds, "worker*2: 1x K80; ps: cpu")
    told = step.explain()
    assert (
        "copies over network from ps/0 CPU to worker/" in told or "copies over network from worker/" in told
    )
    assert "Assumed: Every host has 16 cores" in told and "worker/1 GPU:0 uses at most" in told
    assert {lane.label for lane in step.timeline().lanes if lane.kind == "device"} >= {
        "ps/0 CPU:0",
        "worker/1 GPU:0",
    }
    assert step.what_if(machine="worker*2: 1x K80; ps: cpu; network 1GbE").step_time > 2 * step.step_time


def test_gpus_of_tasks_keep_their_memory_and_streams():
    graph, updates, feeds = replicas()
    step = tf.estimate(graph, updates, feeds, "worker: 1x K80; worker: 1x V100; ps: cpu")
    rows = {row.name: row for row in step.rows("nodes")}
    assert rows["y1"].time < 0.5 * rows["y0"].time
    hardware = {row.device: row.hardware for row in step.rows("devices")}
    assert hardware[f"{WORKERS[0]}/device:GPU:0"] == "Tesla K80"
    assert hardware[f"{WORKERS[1]}/device:GPU:0"] == "Tesla V100-SXM2-16GB"
    assert len(step.peak_memory) >= 2


def test_an_operation_that_is_run_sends_nothing_to_the_client():
    graph, updates, feeds = replicas(device="cpu")
    machine = "worker*2: cpu; ps: cpu"
    assert "update0" not in {copy.tensor for copy in tf.estimate(graph, updates, feeds, machine).copies}
    fetched = tf.estimate(graph, ["update0:0"], feeds, machine)
    assert "update0" in {copy.tensor for copy in fetched.copies}


def test_beside_a_step_of_a_local_cluster():
    pytest.importorskip("distributed")
    with servers(worker=1, ps=1) as tasks, tf.Graph().as_default():
        with tf.device("/job:ps"):
            w = tf.get_variable("w", [300, 300], initializer=tf.ones_initializer())
        with tf.device("/job:worker"):
            x = tf.placeholder(tf.float32, [100, 300], name="x")
            y = tf.matmul(x, w, name="y")
        with tf.device("/job:ps"), tf.control_dependencies([y]):
            done = tf.no_op(name="done")
        feeds = {x: np.ones((100, 300), np.float32)}
        with tf.Session(tasks["worker", 0].target) as session:
            session.run(tf.global_variables_initializer())
            metadata = tf.RunMetadata()
            session.run([y, done], feeds, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
            step = tf.estimate(session.placement, [y, done], feeds)
        assert str(step.placement.device_set.origin.machine) == "worker: 1 CPU; ps: 1 CPU; network loopback"
        compared = step.compare(metadata)
        assert [(row.tensor, row.source, row.target, row.bytes) for row in compared.copies] == [
            ("w/read", PS, WORKERS[0], 360_000.0),
        ]
        assert all(row.predicted > 0 and row.measured > 0 for row in compared.copies)
        assert compared.frame("copies")["tensor"].tolist() == ["w/read"]
        assert "w/read" in str(compared) and not compared.only_measured
