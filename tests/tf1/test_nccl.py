"""``tf.contrib.nccl``: graphs are those of TensorFlow 1.15.5, and GPUs get what was computed of all of them."""

import threading

import numpy as np
import pytest

import gpuplace as tf


@pytest.fixture(autouse=True)
def two_gpus():
    tf.use_machine("2x Tesla K80")
    yield
    tf.use_machine(None)


@pytest.fixture
def nccl():
    with tf.Graph().as_default():
        yield tf.contrib.nccl


def towers(*values, dtype=tf.float32):
    found = []
    for number, value in enumerate(values):
        with tf.device(f"/gpu:{number}"):
            found.append(tf.constant(value, dtype) * 1)
    return found


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64, tf.int32, tf.int64])
@pytest.mark.parametrize(
    ("name", "expected"), [("sum", [4, 7]), ("prod", [3, 10]), ("min", [1, 2]), ("max", [3, 5])]
)
def test_all_get_the_result(nccl, name, expected, dtype):
    tensors = towers([1, 5], [3, 2], dtype=dtype)
    results = getattr(nccl, f"all_{name}")(tensors)
    assert [(one.device, one.op.type, one.shape.as_list()) for one in results] == [
        ("/device:GPU:0", "NcclAllReduce", [2]),
        ("/device:GPU:1", "NcclAllReduce", [2]),
    ]
    assert [one.op.get_attr("num_devices") for one in results] == [2, 2]
    assert len({one.op.get_attr("shared_name") for one in results}) == 1
    with tf.Session() as sess:
        for _ in range(2):
            for found in sess.run(results):
                assert found.tolist() == expected and found.dtype == dtype.as_numpy_dtype


def test_sums_on_one_gpu_and_tensors_for_all(nccl):
    tensors = towers([1.0, 5.0], [3.0, 2.0])
    with tf.device("/gpu:1"):
        total = nccl.reduce_sum(tensors)
        taken = nccl.broadcast(tensors[0]) + 1
    assert total.op.type == "NcclReduce" and total.device == "/device:GPU:1"
    with tf.Session() as sess:
        assert sess.run(total).tolist() == [4, 7]
        assert sess.run(taken).tolist() == [2, 6]


def test_gradients_of_sums_are_sums_of_gradients(nccl):
    tensors = towers([1.0, 5.0], [3.0, 2.0])
    results = nccl.all_sum(tensors)
    losses = []
    for number, one in enumerate(results):
        with tf.device(f"/gpu:{number}"):
            losses.append(tf.reduce_sum(one * (number + 1)))
    grads = tf.gradients(losses, tensors, colocate_gradients_with_ops=True)
    assert [grad.op.name for grad in grads] == [
        "gradients/NcclAllReduce_grad/NcclAllReduce",
        "gradients/NcclAllReduce_1_grad/NcclAllReduce",
    ]
    assert grads[0].op.get_attr("shared_name") == results[0].op.get_attr("shared_name") + b"_grad"
    with tf.Session() as sess:
        assert [grad.tolist() for grad in sess.run(grads)] == [[3, 3], [3, 3]]


def test_gradients_of_a_sum_on_one_gpu_and_of_tensors_for_all(nccl):
    tensors = towers([1.0, 5.0], [3.0, 2.0])
    with tf.device("/gpu:1"):
        total = nccl.reduce_sum(tensors)
    shared = nccl.broadcast(tensors[0])
    uses = []
    for number, factor in ((1, 3.0), (0, 5.0)):
        with tf.device(f"/gpu:{number}"):
            uses.append(shared * factor)
    grads = tf.gradients(total, tensors, colocate_gradients_with_ops=True)
    (grad,) = tf.gradients(uses, tensors[0], colocate_gradients_with_ops=True)
    assert [one.op.type for one in (*grads, grad)] == ["NcclBroadcast", "NcclBroadcast", "NcclReduce"]
    with tf.Session() as sess:
        assert sess.run([*grads, grad])[2].tolist() == [8, 8]
        assert sess.run(grads)[1].tolist() == [1, 1]


def test_what_is_refused(nccl):
    tensors = towers([1.0], [2.0])
    with pytest.raises(ValueError, match="Must pass >0 tensors to all reduce operations"):
        nccl.all_sum([])
    with pytest.raises(ValueError, match="Must pass >0 tensors to reduce operations"):
        nccl.reduce_sum([])
    for wrong in (lambda one: nccl.all_sum([one]), lambda one: nccl.reduce_sum([one]), nccl.broadcast):
        with pytest.raises(ValueError, match="Device assignment required for nccl collective ops"):
            wrong(tf.constant(1.0))
    with pytest.raises(ValueError, match="One input tensor must be assigned to current device"):
        nccl.reduce_sum(tensors)
    with pytest.raises(LookupError, match="No gradient defined for NcclAllReduce except sum"):
        tf.gradients(nccl.all_max(tensors)[0], tensors, colocate_gradients_with_ops=True)


def test_one_result_alone_is_an_error_and_the_others_go_on(nccl):
    results = nccl.all_sum(towers([1.0], [2.0]))
    with tf.Session() as sess:
        with pytest.raises(tf.errors.UnimplementedError, match="2 ops of a collective must run together"):
            sess.run(results[0])
        assert [one.tolist() for one in sess.run(results)] == [[3], [3]]


def test_an_operation_that_fails_ends_the_waiting(nccl):
    tensors = towers([1.0], [2.0])
    with tf.device("/gpu:1"):
        tensors[1] = tf.check_numerics(tf.log(tensors[1] - 3), "no number")
    results = nccl.all_sum(tensors)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
        sess.run(results)


def test_steps_at_once_keep_apart(nccl):
    given = tf.placeholder(tf.float32, [])
    tensors = []
    for number in range(2):
        with tf.device(f"/gpu:{number}"):
            tensors.append(given * (number + 1))
    results = nccl.all_sum(tensors)
    found = {}
    with tf.Session() as sess:

        def step(value):
            for _ in range(10):
                found.setdefault(value, []).extend(sess.run(results, {given: value}))

        threads = [threading.Thread(target=step, args=(float(value),)) for value in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for value, sums in found.items():
        np.testing.assert_array_equal(sums, [3 * value] * 20)
    assert len(found) == 3
