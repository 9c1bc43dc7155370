"""Training with replicas: between-graph and in-graph, asynchronous and synchronous, and after a task was lost."""

import threading

import numpy as np
import pytest

import gpuplace as tf
from tests.clusters.running import addresses, process, servers

pytest.importorskip("distributed")

X = np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])
Y = X @ np.float32([[1], [-1]])


def model(device):
    """A linear model whose variables are on the parameter servers."""
    with tf.device(device):
        x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    return x, y, loss, step


def one_process(steps):
    """The losses of plain training."""
    with tf.Graph().as_default():
        x, y, loss, step = model(None)
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, train], {x: X, y: Y})[0] for _ in range(steps)]


def run_workers(count, work):
    """Calls a function in a thread for each worker; the first error is raised."""
    errors = []

    def call(index):
        try:
            with tf.Graph().as_default():
                work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=[index], daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the chief's thread
def test_synchronous_training_takes_the_mean_of_all_workers():
    found = {}
    is_ready, in_step = threading.Event(), threading.Barrier(2)
    with servers(ps=2, worker=2) as started:

        def work(index):
            setter = tf.train.replica_device_setter(ps_tasks=2, worker_device=f"/job:worker/task:{index}")
            x, y, loss, step = model(setter)
            with tf.device(setter):
                optimizer = tf.train.SyncReplicasOptimizer(
                    tf.train.GradientDescentOptimizer(0.01), replicas_to_aggregate=2
                )
                train = optimizer.minimize(loss, step)
            half = slice(2 * index, 2 * index + 2)
            hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
            losses = []
            assert index == 0 or is_ready.wait(30)
            with tf.train.MonitoredTrainingSession(
                started["worker", index].target, is_chief=index == 0, hooks=[hook], stop_grace_period_secs=0.2
            ) as session:
                is_ready.set()
                for _ in range(4):
                    losses.append(session.run([loss, train], {x: X[half], y: Y[half]})[0])
                    in_step.wait(30)  # else one may take the other's token too
            found[index] = losses

        run_workers(2, work)
    np.testing.assert_allclose(np.mean([found[0], found[1]], axis=0), one_process(4), rtol=1e-5)


def test_asynchronous_training_counts_every_step():
    is_ready = threading.Event()
    with servers(ps=1, worker=2) as started:

        def work(index):
            setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{index}")
            x, y, loss, step = model(setter)
            train = tf.train.GradientDescentOptimizer(0.001).minimize(loss, step)
            assert index == 0 or is_ready.wait(30)
            with tf.train.MonitoredTrainingSession(
                started["worker", index].target, is_chief=index == 0
            ) as session:
                is_ready.set()
                for _ in range(5):
                    session.run(train, {x: X, y: Y})

        run_workers(2, work)
        with tf.Graph().as_default(), tf.device("/job:ps"):
            step = tf.train.get_or_create_global_step()
            with tf.Session(started["ps", 0].target) as session:
                assert session.run(step) == 10


def test_towers_in_one_graph_give_the_losses_of_one_process():
    with servers(ps=1, worker=2) as started, tf.Graph().as_default():
        with tf.device("/job:ps"):
            w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
            optimizer = tf.train.GradientDescentOptimizer(0.01)
        losses = []
        for index in range(2):
            half = slice(2 * index, 2 * index + 2)
            with tf.device(f"/job:worker/task:{index}"):
                losses.append(tf.reduce_mean(tf.square(tf.matmul(X[half], w) + b - Y[half])))
        with tf.device("/job:ps"):
            loss = tf.add_n(losses) / 2
        train = optimizer.minimize(loss, colocate_gradients_with_ops=True)
        with tf.Session(started["worker", 0].target) as session:
            session.run(tf.global_variables_initializer())
            found = [session.run([loss, train])[0] for _ in range(4)]
    np.testing.assert_allclose(found, one_process(4), rtol=1e-5)


def test_the_chief_goes_on_from_its_checkpoint_when_a_parameter_server_is_back(tmp_path):
    cluster = addresses(ps=1, worker=1)
    started = [process(cluster, "ps", 0)]
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    try:
        with tf.Graph().as_default():
            x, y, loss, step = model(tf.train.replica_device_setter(cluster=cluster))
            train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step)
            found = []
            with tf.train.MonitoredTrainingSession(
                server.target,
                checkpoint_dir=str(tmp_path),
                hooks=[tf.train.StopAtStepHook(last_step=8)],
                save_checkpoint_steps=2,
                save_checkpoint_secs=None,
                save_summaries_steps=None,
                save_summaries_secs=None,
                log_step_count_steps=None,
            ) as session:
                while not session.should_stop():
                    found.append(int(session.run([step, train], {x: X, y: Y})[0]))
                    if len(found) == 5:
                        started[0].kill()
                        started[0].wait()
                        started.append(process(cluster, "ps", 0))
            with tf.Session(server.target) as session:
                assert session.run(step) == 8
        assert len(found) >= 8
    finally:
        server.stop()
        for one in started:
            one.kill()
            one.wait()


@pytest.mark.parametrize(("level", "products"), [(0, 2), (2, 3)])
def test_a_worker_computes_no_gradient_of_what_is_fed(level, products):
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = level
    with servers(ps=1, worker=1) as started, tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(ps_tasks=1)):
            w = tf.get_variable("weights", [2, 1], initializer=tf.zeros_initializer())
            fed = tf.placeholder(tf.float32, [4, 2])
            loss = tf.reduce_mean(tf.square(tf.matmul(fed, w) - 1.0))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session(started["worker", 0].target, config=config) as session:
            session.run(w.initializer)
            session.run(train, {fed: X})
            (opened,) = started["worker", 0]._running.task._sessions.values()
            types = [step.op_type for part in opened.parts.values() for step in part.plan.schedule.steps]
            assert types.count("MatMul") == products
            np.testing.assert_allclose(session.run(w)[:, 0], 0.2 * X.mean(axis=0), rtol=1e-6)
