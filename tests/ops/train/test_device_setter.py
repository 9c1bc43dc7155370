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


def test_strategies_of_contrib():
    training = tf.contrib.training

    def placed(strategy):
        with (
            tf.Graph().as_default(),
            tf.device(tf.train.replica_device_setter(ps_tasks=3, ps_strategy=strategy)),
        ):
            sizes = [[10], [], [3, 4], [2], [1]]
            return [tf.get_variable(f"v{i}", size).op.device[-1] for i, size in enumerate(sizes)]

    greedy = training.GreedyLoadBalancingStrategy(3, training.byte_size_load_fn)
    assert placed(greedy) == ["0", "1", "2", "1", "1"]
    assert placed(training.RandomStrategy(3)) == list("12122")
    assert placed(training.RandomStrategy(3, seed=7)) == list("10212")
    with tf.Graph().as_default(), pytest.raises(ValueError):
        training.byte_size_load_fn(tf.placeholder(tf.float32).op)


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


def test_tasks_of_a_job_with_gaps():
    cluster = tf.train.ClusterSpec({"worker": {3: "d:1", 1: "x:2"}, "ps": [], "chief": ("c:1",)})
    assert cluster.job_tasks("worker") == [None, "x:2", None, "d:1"]
    assert cluster.job_tasks("ps") == []
    assert cluster.as_dict() == {"worker": {1: "x:2", 3: "d:1"}, "ps": {}, "chief": ["c:1"]}
    assert list(cluster.as_dict()["worker"]) == [1, 3]
    assert cluster == {"worker": {1: "x:2", 3: "d:1"}, "ps": {}, "chief": {0: "c:1"}}
    assert cluster != tf.train.ClusterSpec({"chief": ["c:1"]}) and cluster != cluster.as_cluster_def()
    with pytest.raises(ValueError, match="No such job in cluster: 'q'"):
        cluster.job_tasks("q")
    with pytest.raises(TypeError, match="unhashable"):
        hash(cluster)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"a": [3]}, "Task address 3 must be bytes or unicode"),
        ({"a": {1: None}}, "Task address None must be bytes or unicode"),
        ({3: ["a"]}, "Job name 3 must be bytes or unicode"),
        ({"a": {"x": "b"}}, "'x' has type str, but expected one of: int"),
        ({"a": "abc"}, "The tasks for job 'a' must be a list or a dictionary from integers to strings."),
    ],
)
def test_wrong_clusters(wrong, sentence):
    with pytest.raises(TypeError) as error:
        tf.train.ClusterSpec(wrong)
    assert str(error.value) == sentence


def test_server_messages():
    cluster = tf.train.ClusterDef(job=[tf.train.JobDef(name="ps", tasks={0: "a:1"})])
    server = tf.train.ServerDef(cluster=cluster, job_name="ps", task_index=0, protocol="grpc")
    server.default_session_config.allow_soft_placement = True
    # as TensorFlow writes the same message
    written = b'\n\x0f\n\r\n\x02ps\x12\x07\x08\x00\x12\x03a:1\x12\x02ps"\x028\x01*\x04grpc'
    assert tf.train.ServerDef.FromString(written) == server
    assert tf.train.ClusterSpec(server.cluster).as_dict() == {"ps": ["a:1"]}


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
