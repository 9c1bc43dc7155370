"""``tf.distribute``: datasets, checkpoints, aggregation, merge calls, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import gpuplace as tf

GPUS = ["/gpu:0", "/gpu:1"]
SOFT = tf.ConfigProto(allow_soft_placement=True)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def strategy():
    return tf.distribute.MirroredStrategy(GPUS)


def run(*fetches, first=()):
    with tf.Session(config=SOFT) as session:
        session.run([tf.global_variables_initializer(), *first])
        return [session.run(fetch) for fetch in fetches]


def test_replicas_take_the_parts_of_a_batch_in_turns(strategy):
    dataset = tf.data.Dataset.range(16).batch(8)
    iterator = strategy.make_dataset_iterator(dataset)
    rows = strategy.experimental_local_results(iterator.get_next())
    with tf.Session(config=SOFT) as session:
        session.run(iterator.initialize())
        found = [[row.tolist() for row in session.run(rows)] for _ in range(2)]
        assert found == [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9, 10, 11], [12, 13, 14, 15]]]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(rows)
        session.run(iterator.initializer)
        assert session.run(rows)[0].tolist() == [0, 1, 2, 3]


def test_an_input_function_gives_each_replica_elements_of_its_own(strategy):
    def dataset(context):
        assert context.get_per_replica_batch_size(8) == 4
        with pytest.raises(ValueError, match="not divisible"):
            context.get_per_replica_batch_size(7)
        return tf.data.Dataset.range(8).batch(2)

    iterator = strategy.make_input_fn_iterator(dataset)
    rows = strategy.experimental_local_results(iterator.get_next())
    found = run(rows, rows, first=[iterator.initialize()])
    assert [[row.tolist() for row in pair] for pair in found] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


def test_batches_that_cannot_be_cut(strategy):
    with pytest.raises(ValueError, match="Batch size 3 cannot be divided evenly among 2 replicas"):
        strategy.make_dataset_iterator(tf.data.Dataset.range(9).batch(3, drop_remainder=True))
    with pytest.raises(ValueError, match="must be batched"):
        strategy.experimental_distribute_dataset(tf.data.Dataset.range(9)).make_initializable_iterator()


def test_a_checkpoint_holds_a_variable_once_and_is_restored_into_all_copies(strategy, tmp_path):
    with strategy.scope():
        variable = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        change = variable.assign([3.0, 4.0])
    saver, path = tf.train.Saver(), str(tmp_path / "model")
    with tf.Session(config=SOFT) as session:
        session.run(tf.global_variables_initializer())
        session.run(change)
        saver.save(session, path)
        session.run(tf.global_variables_initializer())
        saver.restore(session, path)
        copies = session.run(list(strategy.experimental_local_results(variable)))
    assert [name for name, _ in tf.train.list_variables(path)] == ["v"]
    np.testing.assert_array_equal(copies, [[3, 4], [3, 4]])


@pytest.mark.parametrize(
    ("aggregation", "expected"), [("SUM", 3.0), ("MEAN", 1.5), ("ONLY_FIRST_REPLICA", 1.0)]
)
def test_what_replicas_assign_is_brought_together(strategy, aggregation, expected):
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=tf.VariableAggregation[aggregation], trainable=False)

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return variable.assign(tf.cast(number + 1, tf.float32))

        changed = strategy.experimental_local_results(strategy.experimental_run_v2(step))
    assert run(list(changed)) == [[expected, expected]]


def test_a_variable_that_is_synchronized_on_read(strategy):
    with strategy.scope():
        variable = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        add = strategy.experimental_run_v2(
            lambda: variable.assign_add(
                tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group + 1, tf.float32)
            )
        )
        total = strategy.extended.read_var(variable)
        local = list(strategy.experimental_local_results(add))
        with pytest.raises(ValueError, match="does not support `assign_add` in cross-replica context"):
            variable.assign_add(1.0)
    assert variable not in tf.trainable_variables()
    assert run(local, total)[0] == [1.0, 2.0]
    with tf.Session(config=SOFT) as session:
        session.run(tf.global_variables_initializer())
        session.run(local)
        assert session.run(total) == 3.0


def test_merge_calls(strategy):
    def merged(given, value):
        assert given is strategy and tf.distribute.in_cross_replica_context()
        return given.extended.broadcast_to(
            given.reduce("SUM", value, axis=None), list(given.extended.worker_devices)[0]
        )

    def step():
        context = tf.distribute.get_replica_context()
        assert tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()
        assert context.num_replicas_in_sync == 2 and context.strategy is strategy
        return context.merge_call(merged, (tf.constant(2.0),)), context.devices[0]

    with strategy.scope():
        assert tf.distribute.get_replica_context() is None
        total, devices = strategy.experimental_run_v2(step)
        assert strategy.experimental_local_results(devices) == strategy.extended.worker_devices
    assert run(list(strategy.experimental_local_results(total)))[0][0] == 4.0
    assert not tf.distribute.has_strategy() and tf.distribute.get_replica_context() is not None


def test_all_reduce_and_its_gradient(strategy):
    def step():
        x = tf.constant(3.0)
        y = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x * x)
        return y, tf.gradients(y, x)[0]

    with strategy.scope():
        y, slope = strategy.experimental_run_v2(step)
    values = [list(strategy.experimental_local_results(one)) for one in (y, slope)]
    assert run(*values) == [[18.0, 18.0], [12.0, 12.0]]


def test_errors_of_replicas_come_out_and_leave_the_graph_usable(strategy, graph):
    def uneven():
        context = tf.distribute.get_replica_context()
        if context.devices[0].endswith("GPU:0"):
            context.merge_call(lambda strategy: None)

    def failing():
        raise KeyError("of the program")

    with strategy.scope():
        with pytest.raises(RuntimeError, match="different number of replica_context"):
            strategy.experimental_run_v2(uneven)
        with pytest.raises(KeyError, match="of the program"):
            strategy.experimental_run_v2(failing)
        with pytest.raises(RuntimeError, match="Use `_distributed_apply"):
            tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])
        with (
            pytest.raises(RuntimeError, match="Already inside"),
            tf.distribute.OneDeviceStrategy("/cpu:0").scope(),
        ):
            pass
        with pytest.raises(ValueError, match="You must specify an aggregation method"):
            variable = tf.Variable(0.0)
            strategy.experimental_run_v2(lambda: variable.assign(1.0))
    assert graph.scopes.of_thread.distribution == () and graph.get_name_scope() == ""
    tf.constant(1.0, name="after")
    assert graph.get_operation_by_name("after").device == ""


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([], "Got an empty"),
        (["/gpu:0", "/device:GPU:0"], "No duplicates"),
        (["/job:worker"], "device names"),
    ],
)
def test_devices_that_cannot_be(devices, message):
    with pytest.raises(ValueError, match=message):
        tf.distribute.MirroredStrategy(devices)


def test_one_device(graph):
    strategy = tf.distribute.OneDeviceStrategy("/gpu:1")
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.5)

        def step():
            weight = tf.get_variable("w", [], initializer=tf.ones_initializer(), use_resource=True)
            loss = tf.square(weight)
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return weight.read_value()

        value = strategy.experimental_run_v2(step)
    assert {op.device[-5:] for op in graph.get_operations() if op.type == "VarHandleOp"} == {"GPU:1"}
    assert run(list(strategy.experimental_local_results(value))) == [[0.0]]


def test_the_default_strategy():
    strategy = tf.distribute.get_strategy()
    with strategy.scope():
        value = strategy.experimental_run_v2(lambda x: x + 1, args=(tf.constant(1),))
    assert strategy.num_replicas_in_sync == 1 and run(strategy.reduce("SUM", value)) == [2]


def test_losses_fall_with_monitored_sessions(strategy):
    with strategy.scope():
        global_step = tf.train.get_or_create_global_step()
        weight = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        optimizer = tf.train.AdamOptimizer(0.1)

        def step():
            loss = tf.square(weight - 1.0)
            with tf.control_dependencies([optimizer.minimize(loss, global_step=global_step)]):
                return tf.identity(loss)

        loss = strategy.reduce("MEAN", strategy.experimental_run_v2(step))
    hooks = [tf.train.StopAtStepHook(last_step=30)]
    losses = []
    with tf.train.MonitoredTrainingSession(hooks=hooks, config=SOFT) as session:
        while not session.should_stop():
            losses.append(session.run(loss))
    assert len(losses) == 30 and losses[-1] < 0.1 < losses[0]
