"""Trainings whose sessions are given datasets, tables, recurrent nets and queues, and go on from checkpoints."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graphdef.file_writer import FileWriterCache


@pytest.fixture(autouse=True)
def no_open_files():
    yield
    FileWriterCache.clear()


def recurrent_net():
    """A GRU over the batches of an iterator that a scaffold's local_init_op starts, with labels from a table."""
    steps = (np.arange(24, dtype=np.float32).reshape(12, 2, 1) % 5) / 5
    data = tf.data.Dataset.from_tensor_slices((steps, np.arange(12) % 3)).repeat().batch(4)
    iterator = data.make_initializable_iterator()
    x, y = iterator.get_next()
    keys, values = tf.constant([0, 1, 2], tf.int64), tf.constant([2, 0, 1], tf.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    kernel = tf.random_uniform_initializer(-0.5, 0.5, seed=5)
    cell = tf.nn.rnn_cell.GRUCell(5, kernel_initializer=kernel)
    state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)[1]
    w = tf.get_variable("w", [5, 3], initializer=kernel)
    loss = tf.losses.sparse_softmax_cross_entropy(table.lookup(tf.to_int64(y)), tf.matmul(state, w))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.05).minimize(loss, step)
    local = tf.group(tf.tables_initializer(), iterator.initializer, tf.local_variables_initializer())
    return train, loss, step, tf.train.Scaffold(local_init_op=local)


def losses_until(folder, last_step):
    with tf.Graph().as_default():
        train, loss, step, scaffold = recurrent_net()
        found = []
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, scaffold=scaffold, save_checkpoint_steps=100,
            hooks=[tf.train.StopAtStepHook(last_step=last_step)],
        ) as session:  # fmt: skip
            while not session.should_stop():
                number, value = session.run([step, loss, train])[:2]
                found.append((int(number), float(value)))
    return found


def test_a_recurrent_net_goes_on_where_it_stopped(tmp_path):
    """The iterator begins anew with each session, so the training stops where the data begin again."""
    whole = losses_until(str(tmp_path / "whole"), 9)
    parts = [losses_until(str(tmp_path / "parts"), last_step) for last_step in (3, 9)]
    assert [len(part) for part in parts] == [3, 6]
    assert parts[0] + parts[1] == whole and len({loss for _, loss in whole}) == 9
    names = dict(tf.train.list_variables(str(tmp_path / "parts")))
    assert names["rnn/gru_cell/gates/kernel/Adam_1"] == [6, 10]


def counting(name="MutableHashTable", checkpoint=True):
    """A table with the last step in which each word of a queue came."""
    with tf.device("/cpu:0"):
        word = tf.train.string_input_producer(["a", "c", "b"], shuffle=False).dequeue()
    step = tf.train.get_or_create_global_step()
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name=name, checkpoint=checkpoint)
    number = tf.assign_add(step, 1)
    return tf.group(table.insert(word, number), number), table


@pytest.mark.parametrize("checkpoint", [True, False])
def test_what_is_in_a_table_that_changes_is_saved(checkpoint, tmp_path):
    folder = str(tmp_path)
    with tf.Graph().as_default():
        go, _ = counting("last", checkpoint)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(last_step=2)]
        ) as session:
            while not session.should_stop():
                session.run(go)
    tables = [("last-keys", [2]), ("last-values", [2])] if checkpoint else []
    assert tf.train.list_variables(folder) == [("global_step", []), *tables]
    with tf.Graph().as_default():
        _, table = counting("last", checkpoint)
        found = table.lookup(tf.constant(["a", "b", "c"]))
        with tf.train.SingularMonitoredSession(checkpoint_dir=folder) as session:
            assert session.run(found).tolist() == ([1, -1, 2] if checkpoint else [-1, -1, -1])


def test_a_table_restored_drops_what_it_had(tmp_path):
    with tf.device("/cpu:0"):
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, -1.0], name="t")
    filled = [
        table.insert(tf.constant(keys, tf.int64), tf.constant(values)) for keys, values in
        (([1, 2], [[1.0, 2.0], [3.0, 4.0]]), ([7], [[7.0, 8.0]]))
    ]  # fmt: skip
    saver = tf.train.Saver()
    restore = [op for op in tf.get_default_graph().get_operations() if op.type == "LookupTableImportV2"]
    assert [(op.name, op.device, op.colocation_groups()) for op in restore] == [
        ("save/t_table_restore/LookupTableImportV2", "/device:CPU:0", [b"loc:@t"])
    ]
    with tf.Session() as session:
        session.run(filled[0])
        path = saver.save(session, str(tmp_path / "t"))
        session.run(filled[1])
        assert session.run(table.size()) == 3
        saver.restore(session, path)
        keys, values = session.run(table.export())
        assert dict(zip(keys.tolist(), values.tolist())) == {1: [1.0, 2.0], 2: [3.0, 4.0]}


@pytest.mark.parametrize("scope", [None, "again"])
def test_queue_runners_come_back_from_meta_graphs(scope):
    prefix = f"{scope}/" if scope else ""
    with tf.Graph().as_default():
        with tf.name_scope("in"):
            queue = tf.FIFOQueue(4, tf.int32, name="q")
            ended = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
            source = tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
            runner = tf.train.QueueRunner(
                queue, [queue.enqueue(source)] * 2, queue_closed_exception_types=ended
            )
            tf.train.add_queue_runner(runner)
        tf.add_to_collection("value", queue.dequeue(name="value"))
        meta = tf.train.export_meta_graph()
        other = tf.train.export_meta_graph(export_scope="other")
    assert meta.collection_def["queue_runners"].WhichOneof("kind") == "bytes_list"
    assert not other.collection_def["queue_runners"].bytes_list.value
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta, import_scope=scope)
        runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert [one.name for one in runners] == [
            f"{prefix}in/input_producer",
            f"{prefix}in/q",
        ]
        assert runners[1].queue_closed_exception_types == ended and len(runners[1].enqueue_ops) == 2
        assert runners[1].cancel_op.name == f"{prefix}in/q_Close_1"
        (value,) = tf.get_collection("value")
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            assert len(threads) == 5 and threads[-1].name.startswith(f"QueueRunnerThread-{prefix}in/q-")
            assert sorted(int(session.run(value)) for _ in range(5)) == [0, 1, 2, 3, 4]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(value)
            coordinator.request_stop()
            coordinator.join(threads)
