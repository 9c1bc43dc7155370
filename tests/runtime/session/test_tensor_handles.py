"""Tensors that stay in a session: handles, what is fed for them, and when they are forgotten."""

import gc

import numpy as np
import pytest

import gpuplace as tf


def test_a_handle_is_evaluated_fed_and_followed():
    a = tf.constant([1.0, 2.0])
    b = a * 3.0
    with tf.Session() as session:
        handle = session.run({"kept": [tf.get_session_handle(b)]})["kept"][0]
        assert handle.handle.split(";")[0] == "GetSessionHandle"
        np.testing.assert_array_equal(handle.eval(), [3, 6])
        holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
        following = tf.get_session_handle(kept + 1.0)
        for _ in range(3):
            handle = session.run(following, {holder: handle.handle})
        np.testing.assert_array_equal(handle.eval(), [6, 9])
        np.testing.assert_array_equal(session.run(b + 1.0, {b: handle}), [7, 10])
        assert session.run(b[0], {b: handle}) == 6


def test_a_handle_outlives_the_array_that_was_fed():
    x = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
        array = np.array([1, 2], np.int32)
        handle = session.run(tf.get_session_handle(x), {x: array})
        array[:] = 9
        assert handle.eval().tolist() == [1, 2]


def test_tensors_are_forgotten_with_their_handles():
    with tf.Session() as session:
        made = tf.get_session_handle(tf.constant(4))
        raw = session.run(made).get_raw_handle()
        holder, kept = tf.get_session_tensor(raw, tf.int32)
        assert session.run(kept, {holder: raw}) == 4
        gone, delete = tf.delete_session_tensor(raw)
        session.run(delete, {gone: raw})
        lost = session.run(made).handle
        gc.collect()
        for handle in (raw, lost):
            with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
                session.run(kept, {holder: handle})
        handle = session.run(made)
        handle.delete()
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.eval()
        assert len(session.resources) == 0


def test_a_handle_says_the_device():
    tf.use_machine("1x Tesla V100")
    with tf.device("/gpu:0"):
        on_gpu = tf.get_session_handle(tf.constant([2.0]) + 1.0)
    with tf.Session() as session:
        handle = session.run(on_gpu)
        assert handle.handle.endswith("/device:GPU:0")
        holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
        assert (holder.device, kept.device) == ("/job:localhost/replica:0/task:0/device:GPU:0",) * 2
        assert session.run(kept * 2.0, {holder: handle.handle}).tolist() == [6]
    with pytest.raises(TypeError, match="must be of type Tensor"):
        tf.get_session_handle(3)
