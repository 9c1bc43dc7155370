"""Sessions with a target: one graph on several tasks, and several sessions on the same tasks."""

import signal
import socket
import threading
import time

import numpy as np
import pytest

import gpuplace as tf
from tests.clusters.running import addresses, process, running_step, servers, waiting_step

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def tasks():
    with servers(ps=1, worker=2) as started:
        yield started


@pytest.fixture(autouse=True)
def new_graph(request):
    with tf.Graph().as_default():
        yield
    if "tasks" in request.fixturenames:  # what the test left on the tasks
        tf.Session.reset(request.getfixturevalue("tasks")["ps", 0].target)


def linear(worker):
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{worker}")):
        x = tf.placeholder(tf.float32, [2, 2])
        w = tf.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])
        loss = tf.reduce_sum(tf.matmul(x, w))
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return x, w, loss, train


def test_a_graph_runs_where_it_is_placed(tasks):
    x, w, loss, train = linear(1)
    with tf.Session(tasks["worker", 0].target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run([loss, train], {x: np.eye(2)}) == [10.0, None]
        assert session.run(loss, {x: np.eye(2)}) == 8.0
        assert session.placement["w"] == "/job:ps/replica:0/task:0/device:CPU:0"
        assert session.placement["MatMul"] == "/job:worker/replica:0/task:1/device:CPU:0"
        assert [device.name for device in session.list_devices()] == [
            "/job:worker/replica:0/task:0/device:CPU:0",
            "/job:ps/replica:0/task:0/device:CPU:0",
            "/job:worker/replica:0/task:1/device:CPU:0",
        ]
        assert session.run([x, loss], {x: np.eye(2)})[0].tolist() == [[1, 0], [0, 1]]
        session.run(loss.op, {x: np.eye(2)})


def test_variables_outlive_sessions_and_all_masters_see_them(tasks):
    _, w, _, _ = linear(0)
    with tf.Session(tasks["worker", 0].target) as session:
        session.run(w.initializer)
    with tf.Session(tasks["worker", 1].target) as session:
        session.run(tf.assign_add(w, tf.ones([2, 2])))
        with tf.Session(tasks["ps", 0].target) as other:
            assert other.run(w).tolist() == [[2, 3], [4, 5]]
    isolated = tf.ConfigProto(isolate_session_state=True)
    with tf.Session(tasks["ps", 0].target, config=isolated) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
            session.run(w)


def test_reset_forgets_a_container_and_ends_sessions(tasks):
    target = tasks["worker", 0].target
    with tf.device("/job:ps"):
        kept = tf.get_variable("kept", initializer=1.0)
        with tf.container("other"):
            lost = tf.get_variable("lost", initializer=2.0)
    with tf.Session(target) as session:
        session.run([kept.initializer, lost.initializer])
        tf.Session.reset(target, ["other"])
        with pytest.raises(tf.errors.AbortedError, match="is not found"):
            session.run(kept)
    with tf.Session(target) as session:
        assert session.run(kept) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError, match="lost"):
            session.run(lost)


def test_a_queue_is_shared_by_name(tasks):
    with tf.device("/job:ps"):
        queue = tf.FIFOQueue(2, [tf.float32, tf.string], shapes=[[2], []], shared_name="shared")
    with tf.device("/job:worker/task:1"):
        enqueue = queue.enqueue(([1.0, 2.0], b"a\0"))
    dequeue = queue.dequeue()
    found = []
    with tf.Session(tasks["worker", 0].target) as waiting, tf.Session(tasks["worker", 1].target) as session:
        thread = threading.Thread(target=lambda: found.append(waiting.run(dequeue)))
        thread.start()
        time.sleep(0.05)
        session.run(enqueue)
        thread.join()
    assert found[0][0].tolist() == [1, 2] and found[0][1] == b"a\0"


def test_branches_on_other_tasks(tasks):
    choice = tf.placeholder(tf.bool, [])
    with tf.device("/job:ps"):
        w = tf.get_variable("w", initializer=2.0)
        count = tf.get_variable("count", initializer=0)

    def taken():
        with tf.device("/job:worker/task:0"):
            a = w * 3
        with tf.device("/job:worker/task:1"):
            b = a + 1
        with tf.device("/job:ps"), tf.control_dependencies([b]):
            counted = tf.assign_add(count, 1)
        with tf.control_dependencies([counted]):
            return tf.identity(b)

    def not_taken():
        with tf.device("/job:worker/task:1"):
            return w - 1

    y = tf.cond(choice, taken, not_taken)
    with tf.device("/job:worker/task:1"):
        z = y * 10
    with tf.Session(tasks["worker", 0].target) as session:
        session.run(tf.global_variables_initializer())
        found = [(session.run([y, z], {choice: value}), session.run(count)) for value in (True, False, True)]
    assert found == [([7.0, 70.0], 1), ([1.0, 10.0], 1), ([7.0, 70.0], 2)]


def test_a_loop_on_one_task_and_its_gradient(tasks):
    with tf.device("/job:ps"):
        w = tf.get_variable("w", initializer=2.0)
    with tf.device("/job:worker/task:1"):
        _, power = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * w), [0, 1.0])
        gradient = tf.gradients(power, w)[0]
    with tf.Session(tasks["worker", 0].target) as session:
        session.run(w.initializer)
        assert session.run([power, gradient]) == [16.0, 32.0]


def test_branches_and_loops_of_functions_run_whole_on_one_task(tasks):
    tf.enable_control_flow_v2()
    x, p = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
    with tf.device("/job:worker/task:1"):
        y = tf.cond(p, lambda: x * 2.0, lambda: x - 1.0, name="cond")
        z = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), [0, y], name="loop")[1]
        slope = tf.gradients(z, [x])[0]
    with tf.Session(tasks["worker", 0].target) as session:
        assert session.run([z, slope], {x: [1.0, 2.0], p: True})[0].tolist() == [16.0, 32.0]
        assert session.run(slope, {x: [1.0, 2.0], p: False}).tolist() == [8.0, 8.0]
        assert session.placement["loop"] == session.placement["cond"]
        assert not any(name.startswith(("loop/merge", "cond/switch")) for name in session.placement)


def test_errors_name_the_node_the_line_and_the_task(tasks):
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device("/job:ps"):
        y = tf.reshape(x + 1, [2], name="y")
    with tf.device("/job:worker/task:1"):
        z = y * 2
    with tf.Session(tasks["worker", 0].target) as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="3 values, but the requested shape has 2"
        ) as error:
            session.run(z, {x: [1, 2, 3]})
        assert error.value.op is y.op
        assert f"node y (defined at {y.op.source})" in error.value.message
        assert error.value.facts["device"] == "/job:ps/replica:0/task:0/device:CPU:0"
        assert session.run(z, {x: [1, 2]}).tolist() == [4, 6]
        assert session.run(z, {y: [5, 6]}).tolist() == [10, 12]


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_errors_are_worded_as_by_servers(tasks, release):
    """As TensorFlow's servers word them, head and all."""
    tf.set_release(release)
    with tf.device("/job:ps"):
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.reshape(x + 1, [2], name="y")
        v = tf.get_variable("v", initializer=1.0)
        queue = tf.FIFOQueue(1, tf.float32, shapes=[[]], name="q")
        dequeue = queue.dequeue(name="d")
    ps = "From /job:ps/replica:0/task:0:\n"
    with tf.Session(tasks["worker", 0].target) as session:
        for fetch, feeds, node, sentence in (
            (
                y,
                {x: [1, 2, 3]},
                "y",
                "Input to reshape is a tensor with 3 values, but the requested shape has 2",
            ),
            (v + 1, {}, "v/read", "Attempting to use uninitialized value v"),
            (dequeue, {}, "d", "is closed and has insufficient elements (requested 1, current size 0)"),
        ):
            if fetch is dequeue:
                session.run(queue.close())
            with pytest.raises(tf.errors.OpError) as error:
                session.run(fetch, feeds)
            lines = error.value.message.split("\n")
            if release == "2.21":
                assert (
                    lines[:2] == ["Graph execution error:", ""] and lines.count("Graph execution error:") == 1
                )
                assert lines[2] == f"Detected at node '{node}' defined at (most recent call last):"
                assert lines[-4] == f"Node: '{node}'" and lines[-1] == f"\t [[{{{{node {node}}}}}]]"
            else:
                assert len(lines) == 3 and lines[-1].startswith(f"\t [[node {node} (defined at ")
            assert lines[-3] + "\n" == ps and lines[-2].endswith(sentence)
        with pytest.raises(tf.errors.DeadlineExceededError) as error:
            session.run(
                tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue(), options=tf.RunOptions(timeout_in_ms=20)
            )
        assert error.value.message.count("Graph execution error:") == (release == "2.21")


def test_types_and_sizes_cross(tasks):
    values = [
        np.arange(6).astype(dtype.as_numpy_dtype).reshape(2, 3)
        for dtype in (tf.float64, tf.int8, tf.uint16, tf.bool, tf.complex64, tf.bfloat16, tf.float16)
    ]
    values += [np.zeros([0, 3], np.float32), np.arange(1 << 16), np.arange(1 << 20)]
    values += [np.array([[b"a", b""], [b"b\0", b"\xff"]], object)]
    with tf.device("/job:ps"):
        sent = [tf.identity(value) for value in values]
    with tf.device("/job:worker/task:1"):
        received = [tf.identity(tensor) for tensor in sent]
    with tf.Session(tasks["worker", 0].target) as session:
        for value, tensor, found in zip(values, received, session.run(received), strict=True):
            assert found.dtype == tensor.dtype.as_numpy_dtype and found.tolist() == value.tolist()
            found[...] = found  # the caller's own


def test_device_filters(tasks):
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.device("/job:worker/task:1"):
        x = tf.constant(1.0)
    with tf.Session(tasks["worker", 0].target, config=config) as session:
        assert len(session.list_devices()) == 2
        with pytest.raises(tf.errors.InvalidArgumentError, match="/job:worker/task:1"):
            session.run(x)


def test_a_limit_of_time(tasks):
    with tf.device("/job:ps"):
        dequeue = tf.FIFOQueue(1, tf.float32).dequeue()
    config = tf.ConfigProto(operation_timeout_in_ms=500)  # in which the session opens, too
    with tf.Session(tasks["worker", 0].target, config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(dequeue)


def test_the_servers_limit_of_time_is_that_of_steps_that_name_none():
    server = tf.train.Server.create_local_server(tf.ConfigProto(operation_timeout_in_ms=50))
    dequeue = tf.FIFOQueue(1, tf.float32).dequeue()
    try:
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match="limit .* 50 ms"):
                session.run(dequeue)
        own = tf.ConfigProto(operation_timeout_in_ms=70)
        with tf.Session(server.target, config=own) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match="limit .* 70 ms"):
                session.run(dequeue)
            with pytest.raises(tf.errors.DeadlineExceededError, match="limit .* 30 ms"):
                session.run(dequeue, options=tf.RunOptions(timeout_in_ms=30))
    finally:
        server.stop()


def test_targets(tasks):
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
        tf.Session("http://localhost:1")
    port = addresses(nobody=1)["nobody"][0]
    with pytest.raises(tf.errors.DeadlineExceededError, match="Deadline Exceeded"):
        tf.Session(f"grpc://{port}", config=tf.ConfigProto(operation_timeout_in_ms=50))


def test_the_end_of_the_targets_task_ends_all_steps():
    cluster = addresses(ps=1, worker=1)
    server = tf.train.Server(cluster, job_name="ps", task_index=0)
    target = process(cluster, "worker", 0)
    try:
        with tf.device("/job:ps"):
            blocked, begun = waiting_step()
            one = tf.constant(1) + 0
        with tf.Session(f"grpc://{cluster['worker'][0]}") as session:
            assert session.run(one) == 1
            with running_step(session, blocked) as errors:
                session.run(begun)
                target.kill()
            assert isinstance(errors[0], tf.errors.UnavailableError)
            with pytest.raises(tf.errors.UnavailableError):
                session.run(one)
    finally:
        server.stop()
        target.kill()
        target.wait()


def test_a_session_whose_task_was_stopped_in_its_process_says_so():
    with servers(ps=1, worker=1) as started:
        with tf.device("/job:ps"):
            one, two = tf.constant(1) + 0, tf.constant(2) + 0
        with tf.device("/job:worker"):
            three = tf.constant(3) + 0
        with tf.Session(started["worker", 0].target) as session:
            assert session.run(one) == 1
            started["worker", 0].stop()
            for on_ps in (one, two):  # what the other task knows, and what it does not
                with pytest.raises(tf.errors.UnavailableError, match="Socket closed"):
                    session.run(on_ps)
            with pytest.raises(tf.errors.AbortedError, match="is not found"):
                session.run(three)


def test_a_slow_task_only_slows():
    cluster = addresses(ps=1, worker=1)
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    slow = process(cluster, "ps", 0)
    try:
        with tf.device("/job:ps"):
            count = tf.get_variable("count", initializer=0)
            add = tf.assign_add(count, 1)
        with tf.Session(server.target) as session:
            session.run(count.initializer)
            slow.send_signal(signal.SIGSTOP)
            threading.Timer(0.5, slow.send_signal, [signal.SIGCONT]).start()
            assert [session.run(add), session.run(add)] == [1, 2]
    finally:
        server.stop()
        slow.kill()
        slow.wait()


def test_a_task_in_another_process_begins_late_and_is_killed():
    cluster = addresses(ps=1, worker=1)
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    started = []
    threading.Timer(0.3, lambda: started.append(process(cluster, "ps", 0))).start()
    try:
        with tf.device("/job:ps"):
            w = tf.get_variable("w", initializer=tf.ones([1 << 16]))
            blocked, begun = waiting_step()
        with tf.device("/job:worker"):
            total = tf.reduce_sum(w) + 0.0
        with tf.Session(server.target) as session:
            session.run(w.initializer)
            assert session.run(total) == 1 << 16
            with running_step(session, blocked) as errors:
                session.run(begun)
                started[0].kill()
            assert isinstance(errors[0], tf.errors.UnavailableError)
            assert errors[0].message == "From /job:ps/replica:0/task:0:\nSocket closed"
            with pytest.raises(tf.errors.UnavailableError, match="Socket closed"):
                session.run(total)
            started.append(process(cluster, "ps", 0))
            with tf.Session(server.target):  # waits for it
                with pytest.raises(tf.errors.AbortedError, match="Possibly this worker"):
                    session.run(total)
    finally:
        server.stop()
        for one in started:
            one.kill()
            one.wait()
    for address in (*cluster["ps"], *cluster["worker"]):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", int(address.rpartition(":")[2])))
