"""How far iterators are, in checkpoints; what comes and the sentences are TensorFlow 1.15.5's."""

import pytest

import gpuplace as tf


@pytest.fixture
def saved():
    """An initialisable iterator over 0 to 9, what it gives, and a saver that keeps it beside a variable."""
    iterator = tf.data.Dataset.range(10).make_initializable_iterator()
    value = iterator.get_next()
    tf.add_to_collection(
        tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator)
    )
    start = tf.group(iterator.initializer, tf.Variable(1.0).initializer)
    return start, value, tf.train.Saver()


def test_a_saver_keeps_how_far_an_iterator_is(saved, tmp_path):
    start, value, saver = saved
    types = [op.type for op in tf.get_default_graph().get_operations()]
    assert (types.count("SerializeIterator"), types.count("DeserializeIterator")) == (1, 1)
    restore = tf.get_default_graph().get_operation_by_name("save/DeserializeIterator")
    assert [one.name for one in restore.inputs] == ["IteratorV2:0", "save/RestoreV2:0"]
    assert restore.colocation_groups() == [b"loc:@IteratorV2"]
    with tf.Session() as session:
        session.run(start)
        assert [session.run(value) for _ in range(2)] == [0, 1]
        path = saver.save(session, str(tmp_path / "model"))
        assert session.run(value) == 2
        saver.restore(session, path)
        assert session.run(value) == 2
    assert tf.train.list_variables(path) == [("IteratorV2:0-state", []), ("Variable", [])]
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match=r"Restore\(\) failed because the iterator has"
        ):
            saver.restore(session, path)
        session.run(start)
        session.run(value)
        saver.restore(session, path)
        assert [session.run(value) for _ in range(8)] == [2, 3, 4, 5, 6, 7, 8, 9]
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            session.run(value)
        path = saver.save(session, str(tmp_path / "end"))
    with tf.Session() as session:
        session.run(start)
        saver.restore(session, path)
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            session.run(value)
        session.run(start)
        assert session.run(value) == 0


def test_one_shot_iterators_need_no_initialisation(tmp_path):
    iterator = tf.data.Dataset.range(5).map(lambda x: x * x).make_one_shot_iterator()
    value = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        saver.save(session, str(tmp_path / "none"))
        assert [session.run(value) for _ in range(2)] == [0, 1]
        path = saver.save(session, str(tmp_path / "two"))
    with tf.Session() as session:
        saver.restore(session, path)
        assert session.run(value) == 4
        saver.restore(session, str(tmp_path / "none"))
        assert session.run(value) == 0


def test_shuffled_with_a_seed_and_repeated(tmp_path):
    iterator = tf.data.Dataset.range(6).shuffle(6, seed=3).repeat(2).make_initializable_iterator()
    value = iterator.get_next()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(7):
            session.run(value)
        path = saver.save(session, str(tmp_path / "model"))
        left = [session.run(value) for _ in range(5)]
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert [session.run(value) for _ in range(5)] == left


def test_checkpoints_of_objects(saved, tmp_path):
    iterator = tf.data.Dataset.range(10).make_initializable_iterator()
    value, checkpoint = iterator.get_next(), tf.train.Checkpoint(iterator=iterator)
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(value)
        path = checkpoint.save(str(tmp_path / "model"), session)
        assert [session.run(value) for _ in range(2)] == [1, 2]
        checkpoint.restore(path).assert_consumed().run_restore_ops(session)
        assert session.run(value) == 1
    assert ("iterator/.ATTRIBUTES/ITERATOR_STATE", []) in tf.train.list_variables(path)


def test_states_as_messages():
    iterator = tf.data.Dataset.range(10).make_initializable_iterator()
    value = iterator.get_next()
    state = tf.data.experimental.make_saveable_from_iterator(iterator).specs[0].tensor
    message = tf.io.serialize_tensor(state)
    given = tf.placeholder(tf.string, [])
    again = tf.raw_ops.DeserializeIterator(
        resource_handle=iterator._iterator_resource, serialized=tf.io.parse_tensor(given, tf.variant)
    )
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match=r"Save\(\) failed because the iterator has"
        ):
            session.run(message)
        session.run(iterator.initializer)
        session.run(value)
        found = session.run(message)
        session.run(value)
        session.run(again, {given: found})
        assert session.run(value) == 1
        other = found.replace(b"gpuplace::Iterator", b"gpuplace::Somethin")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="cannot be restored from a value of type gpupl"
        ):
            session.run(again, {given: other})
