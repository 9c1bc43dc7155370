"""The workers of a dask cluster as tasks."""

import contextlib
import socket

import pytest

import gpuplace as tf
from gpuplace.clusters.dask_client import Cluster
from tests.clusters.running import running_step, until, waiting_step

distributed = pytest.importorskip("distributed")

ONLY_REFUSALS = {"distributed.comm.timeouts.connect": "1h"}
"""So long is a task waited for that does not answer, and so only one that refuses is found to be gone."""


@contextlib.contextmanager
def workers(count):
    """A dask cluster of so many workers in this process, and a client of it."""
    kinds = {"processes": False, "n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    kinds |= {"protocol": "tcp://", "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(**kinds, worker_dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield local, client


def listens(target):
    assert target.startswith("grpc+dask://127.0.0.1:")
    with socket.socket() as caller:
        return not caller.connect_ex(("127.0.0.1", int(target.rpartition(":")[2])))


def test_workers_become_tasks():
    with workers(3) as (local, client), tf.Graph().as_default():
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="need 4 more dask workers, but only 3 are free"
        ):
            tf.cluster(client, jobs={"worker": 4})
        with tf.cluster(client, jobs={"ps": 1, "worker": 2}) as cluster:
            assert cluster.cluster_spec.jobs == ["ps", "worker"]
            assert cluster.target == cluster.targets("worker")[0]
            with tf.device(tf.train.replica_device_setter(cluster=cluster.cluster_spec)):
                w = tf.get_variable("w", initializer=2.0)
            with tf.device("/job:worker/task:1"):
                y = w * 3
            with tf.Session(cluster.target) as session:
                session.run(w.initializer)
                assert session.run(y) == 6.0
            with tf.Session(f"dask://{local.scheduler_address.partition('://')[2]}") as session:
                assert session.run(y) == 6.0
                assert session.placement["w"] == "/job:ps/replica:0/task:0/device:CPU:0"
        with tf.cluster(client) as cluster:
            assert cluster.cluster_spec.num_tasks("worker") == 3


def test_tasks_end_with_their_workers():
    import dask

    with workers(2) as (local, client), tf.Graph().as_default():
        cluster = tf.cluster(client, jobs={"ps": 1, "worker": 1})
        (ps,), (worker,) = cluster.targets("ps"), cluster.targets("worker")
        with tf.device("/job:ps"):
            blocked, begun = waiting_step()
        with running_step(tf.Session(worker), blocked) as errors, tf.Session(ps) as other:
            other.run(begun)
            local.scale(1)
        assert isinstance(errors[0], tf.errors.UnavailableError)
        until(lambda: len(client.scheduler_info()["workers"]) == 1)
        assert [listens(target) for target in (ps, worker)] == [True, False]
        for target in (ps, worker):  # one is gone itself, the other one knows a task that is
            with (
                dask.config.set(ONLY_REFUSALS),
                pytest.raises(
                    tf.errors.UnavailableError, match="The connection to the dask worker of the task was lost"
                ),
            ):
                tf.Session(target)
        local.scale(2)
        client.wait_for_workers(2, timeout=10)
        with tf.cluster(client, jobs={"ps": 1, "worker": 1}) as again, tf.Session(again.target) as new:
            with tf.device("/job:ps"):
                assert new.run(tf.constant(1) + 1) == 2


def test_a_task_that_does_not_answer_is_gone_when_dask_would_wait_no_longer():
    import dask

    with socket.socket() as silent, contextlib.ExitStack() as callers:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        for _ in range(4):  # it takes no connections, and refuses none
            caller = callers.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(silent.getsockname())
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "300ms"}),
            pytest.raises(
                tf.errors.UnavailableError, match="The connection to the dask worker of the task was lost"
            ) as raised,
        ):
            tf.Session(f"grpc+dask://127.0.0.1:{silent.getsockname()[1]}")
    assert "gpuplace.cluster(client)" in raised.value.hint


def test_without_a_scheduler():
    import dask

    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "300ms"}),
            pytest.raises(
                tf.errors.UnavailableError,
                match="The connection to a dask worker or to the scheduler was lost",
            ),
        ):
            tf.Session(f"dask://127.0.0.1:{nobody.getsockname()[1]}")


class Client:
    dashboard_link = "http://127.0.0.1:8787/status"

    def __init__(self, services):
        self.services = services

    def scheduler_info(self):
        return {"services": self.services}


def test_the_dashboard_is_linked():
    spec = tf.train.ClusterSpec({"worker": []})
    assert Cluster(Client({"dashboard": 8787}), spec).dashboard_link == "http://127.0.0.1:8787/status"
    assert Cluster(Client({}), spec).dashboard_link is None
