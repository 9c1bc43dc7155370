"""The workers of a dask cluster as tasks."""

import pytest

import gpuplace as tf
from gpuplace.clusters.dask_client import Cluster

distributed = pytest.importorskip("distributed")


def test_workers_become_tasks():
    kinds = {"processes": False, "n_workers": 3, "threads_per_worker": 1, "dashboard_address": None}
    kinds |= {"protocol": "tcp://", "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(**kinds, worker_dashboard_address=None) as local,
        distributed.Client(local) as client,
        tf.Graph().as_default(),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="need 4 dask workers more, and 3 are free"):
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
