"""Input pipelines of queues: what comes out, in which batches, and when they end."""

import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


def batches_of(fetches):
    """All that comes, until there is no more."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = []
        try:
            while not coord.should_stop():
                found.append(session.run(fetches))
        except tf.errors.OutOfRangeError as error:
            coord.request_stop(error)
        coord.join(threads)
        return found


def test_strings_come_as_often_as_asked():
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    assert batches_of(queue.dequeue()) == [b"a", b"b", b"c"] * 2
    assert [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)] == [
        "input_producer/fraction_of_32_full:0"
    ]


def test_every_epoch_is_shuffled_as_in_tensorflow():
    queue = tf.train.range_input_producer(6, num_epochs=2, seed=7)
    found = [int(value) for value in batches_of(queue.dequeue())]
    assert sorted(found[:6]) == sorted(found[6:]) == list(range(6))
    assert found[:6] != found[6:]


@pytest.mark.parametrize(("smaller", "sizes"), [(False, [2, 2]), (True, [2, 2, 1])])
def test_slices_in_batches(smaller, sizes):
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]
    row, label = tf.train.slice_input_producer([rows, [0, 1, 2, 3, 4]], num_epochs=1, shuffle=False)
    batch = tf.train.batch([row, label], 2, allow_smaller_final_batch=smaller)
    assert batch[0].shape.as_list() == [None if smaller else 2, 2]
    found = batches_of(batch)
    assert [len(labels) for _, labels in found] == sizes
    assert [row for values, _ in found for row in values.tolist()] == rows[: sum(sizes)]


def test_dicts_and_padding():
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.batch({"n": number, "x": tf.range(number)}, 3, dynamic_pad=True)
    (found,) = batches_of(batch)
    assert found["n"].tolist() == [0, 1, 2]
    assert found["x"].tolist() == [[0, 0], [0, 0], [0, 1]]


def test_shuffled_batches_have_everything_once():
    number = tf.train.range_input_producer(20, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.shuffle_batch([number], 5, capacity=12, min_after_dequeue=6, seed=3)
    found = [int(value) for values in batches_of(batch) for value in values]
    assert sorted(found) == list(range(20)) != found


def test_several_lists_are_joined():
    one, other = (tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue() for _ in range(2))
    batch = tf.train.batch_join([[one], [other + 10]], 2)
    found = [int(value) for values in batches_of(batch) for value in values]
    assert sorted(found) == [0, 1, 2, 3, 10, 11, 12, 13]
    with pytest.raises(TypeError, match=r"Expected types to be consistent: float32 vs. int32."):
        tf.train.batch_join([[tf.constant(1.0)], [tf.constant(2)]], 3)


def test_some_are_not_kept():
    number = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
    batch = tf.train.maybe_batch([number], number < 4, 2)
    assert [values.tolist() for values in batches_of(batch)] == [[0, 1], [2, 3]]


def test_rows_that_are_not_kept():
    rows = tf.train.input_producer([[0, 1, 2, 3]], num_epochs=1).dequeue()
    batch = tf.train.maybe_shuffle_batch([rows], 2, 8, 1, tf.equal(rows % 2, 1), enqueue_many=True)
    (found,) = batches_of(batch)
    assert sorted(found.tolist()) == [1, 3]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: tf.train.shuffle_batch([tf.constant(1.0)], 4, 5, 5), "capacity 5 must be bigger than"),
        (lambda: tf.train.batch([tf.placeholder(tf.float32)], 4), "Cannot infer Tensor's rank"),
        (lambda: tf.train.batch([tf.placeholder(tf.float32, [None])], 4), "All shapes must be fully defined"),
        (lambda: tf.train.string_input_producer([]), "requires a non-null input tensor"),
        (lambda: tf.train.batch([], 4), "Expected at least one tensor in batch()."),
        (lambda: tf.train.batch_join([], 4), "Expected at least one set of tensors"),
        (lambda: tf.train.limit_epochs(tf.constant(1), 0), "num_epochs must be > 0 not 0."),
        (
            lambda: tf.train.maybe_batch([tf.constant(1)], [True], 2),
            "`keep_input` cannot be a vector when `enqueue_many=False`.",
        ),
    ],
)
def test_what_cannot_be_built(make, sentence):
    with pytest.raises(ValueError) as error:
        make()
    assert sentence in str(error.value)


def test_a_dequeue_of_a_whole_program_that_gives_up_says_why():
    """An error in a producer reaches the step that waits for it: its queue is closed."""
    names = tf.train.string_input_producer(["1", "x"], shuffle=False, num_epochs=1)
    batch = tf.train.batch([tf.string_to_number(names.dequeue())], 2)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        with pytest.raises(tf.errors.OutOfRangeError, match="'_\\d+_batch/fifo_queue' is closed"):
            session.run(batch)
        with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string: x"):
            coord.join(threads)


def test_names_of_files_may_be_a_tensor():
    queue = tf.train.string_input_producer(tf.constant(["a", "b"]), num_epochs=1)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert sorted(session.run(queue.dequeue_many(2))) == [b"a", b"b"]
        coordinator.request_stop()
        coordinator.join(threads)
