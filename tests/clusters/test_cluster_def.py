"""Sessions whose configuration has a cluster of its own; what errors say is TensorFlow 1.15.5's."""

import pytest

import gpuplace as tf

WORKERS = ("/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0")


@pytest.fixture
def servers():
    made = [tf.train.Server.create_local_server() for _ in range(2)]
    yield made
    for server in made:
        server.stop()


def config(**jobs):
    """A configuration with the servers' tasks under other names."""
    cluster = tf.train.ClusterDef()
    for name, servers in jobs.items():
        job = cluster.job.add(name=name)
        for index, server in enumerate(servers):
            job.tasks[index] = server.target.removeprefix("grpc://")
    return tf.ConfigProto(cluster_def=cluster)


def test_tasks_have_the_names_that_the_session_gives_them(servers):
    one, other = servers
    assert _devices(one, config(worker=[one, other])) == list(WORKERS)
    assert _devices(one, config(worker=[other, one])) == list(reversed(WORKERS))
    assert _devices(one, config(ps=[one], worker=[other])) == [
        "/job:ps/replica:0/task:0/device:CPU:0",
        WORKERS[0],
    ]


def _devices(server, configuration):
    with tf.Session(server.target, config=configuration) as session:
        return [device.name for device in session.list_devices()]


def test_steps_run_where_they_are_told(servers):
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [2])
        y = x * 3.0
    with tf.device("/job:worker/task:0"):
        z = y + 1.0
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session(servers[0].target, config=config(worker=servers)) as session:
        assert session.run(z, {x: [1.0, 2.0]}, options, metadata).tolist() == [4.0, 7.0]
        handle = session.partial_run_setup([y, z], [x])
        assert session.partial_run(handle, y, {x: [1.0, 1.0]}).tolist() == [3.0, 3.0]
        assert session.partial_run(handle, z).tolist() == [4.0, 4.0]
    ran = {
        (stats.device, node.node_name) for stats in metadata.step_stats.dev_stats for node in stats.node_stats
    }
    assert {(WORKERS[1], y.op.name), (WORKERS[0], z.op.name)} <= ran


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_belong_to_the_session_unless_state_is_shared(servers, use_resource):
    with tf.device("/job:worker/task:1"):
        v = tf.Variable(1.0, use_resource=use_resource)
        add = v.assign_add(1.0).op
    own = config(worker=servers)
    with tf.Session(servers[0].target, config=own) as one, tf.Session(servers[0].target, config=own) as other:
        one.run(v.initializer)
        assert one.run(v) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            other.run(v)
    shared = config(worker=servers)
    shared.experimental.share_session_state_in_clusterspec_propagation = True
    renamed = config(first=servers[:1], second=servers[1:])
    renamed.experimental.share_session_state_in_clusterspec_propagation = True
    with tf.Session(servers[0].target, config=shared) as one:
        one.run(v.initializer)
        one.run(add)
    with tf.Graph().as_default(), tf.device("/job:second/task:0"):
        same = tf.Variable(0.0, name=v.op.name, use_resource=use_resource)
        with tf.Session(servers[0].target, config=renamed) as other:
            assert other.run(same) == 2.0


def test_a_cluster_without_the_target_and_other_mistakes(servers):
    one, other = servers
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"The master \(current machine\) is not included in"
    ):
        tf.Session(one.target, config=config(worker=[other])).run(tf.constant(1))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Found multiple matching tasks that correspond to"
    ):
        tf.Session(one.target, config=config(worker=[one, one])).run(tf.constant(1))
    for order in (servers, servers[::-1]):
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"names the job and task index to be the same names .* Job: local, task index: 0",
        ):
            tf.Session(one.target, config=config(local=order)).run(tf.constant(1))
