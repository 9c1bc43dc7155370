"""``tf.contrib.memory_stats``: what a session's allocators count, asked for in the graph."""

import pytest

import gpuplace as tf


@pytest.fixture
def stats():
    tf.use_machine("2x Tesla K80")
    yield tf.contrib.memory_stats
    tf.use_machine(None)


def test_the_bytes_in_use_are_those_of_the_gpus_allocator(stats):
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.device("/gpu:1"):
            held = tf.get_variable("held", [1 << 20], initializer=tf.zeros_initializer())
            now, most, limit = stats.BytesInUse(), stats.MaxBytesInUse(), stats.BytesLimit()
        allocator = sess.allocators["/job:localhost/replica:0/task:0/device:GPU:1"]
        before, _ = sess.run([now, most])
        sess.run(held.initializer)
        assert sess.run(now) == allocator.stats().bytes_in_use
        assert before + (4 << 20) <= sess.run(now) < before + (5 << 20)
        assert sess.run(most) == allocator.stats().peak_bytes_in_use >= before + (4 << 20)
        assert sess.run(limit) == allocator.stats().bytes_limit
        assert now.dtype == tf.int64 and now.shape.as_list() == []


def test_gpus_count_apart(stats):
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.device("/gpu:1"):
            held = tf.get_variable("held", [1 << 20], initializer=tf.zeros_initializer())
        with tf.device("/gpu:0"):
            first = stats.BytesInUse()
        before = sess.run(first)
        sess.run(held.initializer)
        assert sess.run(first) < before + (4 << 20)


def test_the_ops_are_placed_as_their_kernels_say(stats):
    with tf.Graph().as_default() as graph:
        ops = [stats.BytesInUse().op, stats.MaxBytesInUse().op, stats.BytesLimit().op]
        assert [op.name for op in ops] == ["BytesInUse", "MaxBytesInUse", "BytesLimit"]
        assert {tf.place(graph)[op.name][-5:] for op in ops} == {"GPU:0"}
        with tf.device("/cpu:0"):
            limit = stats.BytesLimit()
            stats.BytesInUse(name="nowhere")
        with tf.Session() as sess:
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="nowhere.*Could not satisfy|Cannot assign"
            ):
                sess.run("nowhere:0")
        assert limit.device == "/device:CPU:0"
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as sess:
        assert sess.run(stats.BytesLimit()) == -1
