"""``tf.contrib.training.bucket`` and ``bucket_by_sequence_length``: nodes and batches are TensorFlow 1.15.5's."""

import gzip
import json
from pathlib import Path

import pytest

import gpuplace as tf

RECORDED = Path(__file__).parents[1] / "data" / "buckets-1.15.json.gz"
NODES = json.loads(gzip.decompress(RECORDED.read_bytes()))


def nodes(graph):
    return [
        [
            op.name,
            op.type,
            [tensor.name for tensor in op.inputs],
            sorted(control.name for control in op.control_inputs),
        ]
        for op in graph.get_operations()
    ]


def sequences(smaller, has_names, keeps):
    number = tf.train.range_input_producer(20, num_epochs=1, shuffle=False).dequeue()
    length = tf.mod(number * 7, 9) + 1
    sequence = tf.fill([length], number)
    given = {"seq": sequence, "n": number} if has_names else [sequence]
    more = {"keep_input": tf.greater(number, 2)} if keeps else {}
    return tf.contrib.training.bucket_by_sequence_length(
        length,
        given,
        3,
        [4, 7],
        dynamic_pad=True,
        allow_smaller_final_batch=smaller,
        capacity=5,
        **more,
    )


@pytest.mark.parametrize(
    ("case", "arguments"),
    [("plain", (False, False, False)), ("dict", (True, True, False)), ("keep", (True, True, True))],
)
def test_sequences_of_a_length_come_together(case, arguments):
    found = []
    with tf.Graph().as_default() as graph:
        lengths, batch = sequences(*arguments)
        assert nodes(graph) == NODES[case][0]
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coordinator)
            with pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    sizes, values = sess.run([lengths, batch])
                    padded = values["seq"] if arguments[1] else values[0]
                    assert padded.shape[1] == max(sizes)
                    found.append(sorted(padded[:, 0].tolist()))
            coordinator.request_stop()
            coordinator.join(threads)
    assert sorted(found) == NODES[case][1]


def test_buckets_with_batches_of_their_own_sizes():
    with tf.Graph().as_default() as graph:
        kind, batch = tf.contrib.training.bucket([tf.constant(3)], tf.constant(1), [2, 4], 2)
        assert nodes(graph) == NODES["b"][0]
        assert (kind.shape.as_list(), batch.shape.as_list()) == ([], [None])
        with tf.Session() as sess:
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coordinator)
            found = sess.run([kind, batch])
            coordinator.request_stop()
            coordinator.join(threads)
        assert (int(found[0]), found[1].tolist()) == (1, [3] * 4)


def test_what_is_refused():
    training = tf.contrib.training
    with tf.Graph().as_default():
        x = tf.constant([1])
        with pytest.raises(ValueError, match="If batch_size is a list it must have num_buckets elements"):
            training.bucket([x], 0, [2], 2)
        with pytest.raises(ValueError, match=r"\(\[3\]\) must have exactly num_buckets \(2\) elements"):
            training.bucket([x], 0, 2, 2, bucket_capacities=[3])
        with pytest.raises(ValueError, match=r"Expected at least one tensor in bucket\(\)"):
            training.bucket([], 0, 2, 2)
        with pytest.raises(TypeError, match="bucket_boundaries must be a list or tuple, but received: 4"):
            training.bucket_by_sequence_length(1, [x], 2, 4)
        with pytest.raises(ValueError, match="bucket_boundaries must not be empty"):
            training.bucket_by_sequence_length(1, [x], 2, [])
        with pytest.raises(TypeError, match="bucket boundaries must be integers, but saw: 1.5 and 2"):
            training.bucket_by_sequence_length(1, [x], 2, [1.5, 2])
        with pytest.raises(ValueError, match="sequential increasing lengths, but saw: 2 before 2"):
            training.bucket_by_sequence_length(1, [x], 2, [2, 2])
