"""Variables on parameter servers."""

import pytest

import gpuplace as tf


def devices(setter, inner=None):
    with tf.Graph().as_default() as graph, tf.device(setter), tf.device(inner if inner is not None else ""):
        variables = [tf.get_variable(f"v{i}", [1]) for i in range(3)]
        total = tf.add_n(variables, name="total")
    del total
    return {name: graph.get_operation_by_name(name).device for name in ("v0", "v1", "v2", "total")}


def test_variables_go_round_and_the_rest_to_the_worker():
    assert devices(tf.train.replica_device_setter(ps_tasks=2)) == {
        "v0": "/job:ps/task:0",
        "v1": "/job:ps/task:1",
        "v2": "/job:ps/task:0",
        "total": "/job:worker",
    }


def test_what_is_asked_for_inside_is_kept():
    setter = tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:7")
    assert devices(setter, "/gpu:1") == {
        "v0": "/job:ps/task:0/device:GPU:1",
        "v1": "/job:ps/task:1/device:GPU:1",
        "v2": "/job:ps/task:0/device:GPU:1",
        "total": "/job:worker/task:7/device:GPU:1",
    }
    with_job = devices(tf.train.replica_device_setter(ps_tasks=2), "/job:mine")
    assert with_job == dict.fromkeys(with_job, "/job:mine")
    kept = devices(tf.train.replica_device_setter(ps_tasks=2, merge_devices=False), "/gpu:1")
    assert kept == dict.fromkeys(kept, "/device:GPU:1")


def test_clusters_strategies_and_op_types():
    cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:1", "c:1"], "worker": {3: "d:1"}})
    assert devices(tf.train.replica_device_setter(cluster=cluster))["v2"] == "/job:ps/task:2"
    assert (
        devices(tf.train.replica_device_setter(cluster=cluster, ps_strategy=lambda op: 1))["v2"]
        == "/job:ps/task:1"
    )
    assert devices(tf.train.replica_device_setter(ps_tasks=1, ps_ops=["AddN"]))["total"] == "/job:ps/task:0"
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None
    assert tf.train.replica_device_setter() is None
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)


def test_cluster_specs():
    cluster = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": {3: "d:1"}})
    assert cluster.jobs == ["ps", "worker"]
    assert cluster.num_tasks("ps") == 2
    assert cluster.task_indices("worker") == [3]
    assert cluster.task_address("ps", 1) == "b:1"
    assert cluster.as_dict() == {"ps": ["a:1", "b:1"], "worker": {3: "d:1"}}
    assert tf.train.ClusterSpec(cluster) == cluster
    assert not tf.train.ClusterSpec({})
    with pytest.raises(ValueError, match="No such job in cluster: 'x'"):
        cluster.num_tasks("x")
    with pytest.raises(ValueError, match="No task with index 0 in job 'worker'"):
        cluster.task_address("worker", 0)
    for wrong in (3, {"ps": 3}):
        with pytest.raises(TypeError, match="must be a"):
            tf.train.ClusterSpec(wrong)


def test_clusters_as_messages():
    cluster = tf.train.ClusterSpec({"worker": {3: "d:1"}, "ps": ["a:1", "b:1"]})
    message = cluster.as_cluster_def()
    assert [(job.name, dict(job.tasks)) for job in message.job] == [
        ("ps", {0: "a:1", 1: "b:1"}),
        ("worker", {3: "d:1"}),
    ]
    assert tf.train.ClusterSpec(message) == cluster
    with tf.device(tf.train.replica_device_setter(cluster=message)):
        assert [tf.Variable(0).device for _ in range(3)] == [f"/job:ps/task:{task}" for task in (0, 1, 0)]
