"""tf.TensorArray, map_fn, foldl, foldr and scan: errors, unwritten places, gradients, structures."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.fixture(params=["cpu", "1x Tesla K40c"])
def machine(request):
    tf.use_machine(request.param)


def run(fetches, feed=None):
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        return session.run(fetches, feed)


def error_of(fetch):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        run(fetch)
    return caught.value.message


def test_what_is_read_and_written_wrongly():
    array = tf.TensorArray(tf.float32, 2, tensor_array_name="mine")
    message = error_of(array.read(2))
    assert (
        message.startswith("TensorArray mine_")
        and "Tried to read from index 2 but array size is: 2" in message
    )
    assert (
        "Could not read from TensorArray index 0.  Furthermore, the element shape is not fully"
        in error_of(array.read(0))
    )
    assert "Tried to write to index 5 but array is not resizeable and size is: 2" in error_of(
        array.write(5, 1.0).flow
    )
    once = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, 1.0)
    assert "Could not write to TensorArray index 0 because it has already been written to." in error_of(
        once.write(0, 2.0).flow
    )
    first = once.read(0)
    with tf.control_dependencies([first]):
        second = once.read(0)
    assert "Could not read index 0 twice because it was cleared after a previous read" in error_of(second)
    ragged = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
    assert "Index 0 has shape: [1] but index 1 has shape: [2]" in error_of(ragged.stack())
    assert "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is 3" in error_of(
        tf.TensorArray(tf.float32, 2).split([1.0, 2.0], [1, 2]).flow
    )


def test_what_is_refused_before_it_runs():
    array = tf.TensorArray(tf.float32, 2).write(0, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"Inconsistent shapes: saw \(3,\) but expected \(2,\)"):
        array.write(1, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="Size must be provided if handle is not provided"):
        tf.TensorArray(tf.float32)
    with pytest.raises(ValueError, match="Cannot provide both a handle and size at the same time"):
        tf.TensorArray(tf.float32, 2, handle=array.handle, flow=array.flow)
    with pytest.raises(ValueError, match="flow must not be None if handle is not None."):
        tf.TensorArray(tf.float32, handle=array.handle)
    with pytest.raises(TypeError, match="Handle must be a Tensor"):
        tf.TensorArray(tf.float32, handle=1)
    for function in (tf.map_fn, tf.foldl, tf.foldr, tf.scan):
        with pytest.raises(TypeError, match="fn must be callable."):
            function(1, [1.0])
    with pytest.raises(ValueError, match="elems must be a 1"):
        tf.map_fn(lambda v: v, 1.0)


@pytest.mark.usefixtures("machine")
def test_arrays_that_grow_and_places_that_were_never_written():
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[2], clear_after_read=False)
    array = array.write(2, [1.0, 2.0]).write(1, [3.0, 4.0])
    size, values, again = run([array.size(), array.stack(), array.identity().read(2)])
    assert size == 3
    np.testing.assert_array_equal(values, [[0, 0], [3, 4], [1, 2]])
    np.testing.assert_array_equal(again, [1, 2])
    empty = tf.TensorArray(tf.float32, 0, element_shape=[2])
    assert run(empty.stack()).shape == (0, 2)
    assert run(array.close()) is None


@pytest.mark.usefixtures("machine")
def test_gradients_of_arrays_are_sums():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    total = array.read(0) * 2.0 + array.read(0) * 3.0 + array.gather([2])[0]
    np.testing.assert_array_equal(run(tf.gradients(total, x)[0]), [[5, 5], [0, 0], [1, 1]])
    parts = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    joined = parts.concat() * x
    np.testing.assert_array_equal(run(tf.gradients(joined, x)[0]), 2 * run(x))
    written = tf.TensorArray(tf.float32, 2).write(0, x[0] * x[1]).write(1, x[2])
    np.testing.assert_array_equal(run(tf.gradients(written.stack(), x)[0]), [[3, 4], [1, 2], [1, 1]])
    with pytest.raises(ValueError, match="Expected op/tensor name to start with gradients"):
        tf.gradients(written.stack(), x, name="mine")


@pytest.mark.usefixtures("machine")
def test_functions_of_rows_against_python():
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    x = tf.placeholder(tf.float32, [None, 3])
    mapped = tf.map_fn(lambda v: {"a": v["x"] + v["y"], "b": tf.reduce_sum(v["x"])}, {"x": x, "y": x * 2.0},
                       dtype={"a": tf.float32, "b": tf.float32})  # fmt: skip
    left = tf.foldl(lambda a, v: a * 0.5 + v, x)
    right = tf.foldr(lambda a, v: a * 0.5 + v, x)
    sums = tf.scan(
        lambda a, v: (a[0] + v, a[1] * 2), x, initializer=(tf.zeros([3]), tf.constant(1)), infer_shape=True
    )
    back = tf.scan(lambda a, v: a + v, x, reverse=True)
    got = run([mapped["a"], mapped["b"], left, right, *sums, back], {x: rows})
    folded, unfolded = rows[0], rows[-1]
    for row in rows[1:]:
        folded = folded * 0.5 + row
    for row in rows[-2::-1]:
        unfolded = unfolded * 0.5 + row
    expected = [
        rows * 3,
        rows.sum(1),
        folded,
        unfolded,
        rows.cumsum(0),
        [2, 4, 8, 16],
        rows[::-1].cumsum(0)[::-1],
    ]
    for found, wanted in zip(got, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert mapped["a"].shape.as_list() == [None, 3]


def test_variables_that_a_function_makes_and_an_array_in_a_loop_of_its_own():
    x = tf.constant([1.0, 2.0, 3.0])

    def step(i, array):
        with tf.variable_scope("inside", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", initializer=lambda: tf.constant(2.0), use_resource=True)
        return i + 1, array.write(i, x[i] * w)

    array = tf.while_loop(lambda i, _: i < 3, step, [0, tf.TensorArray(tf.float32, 3)])[1]
    (w,) = tf.global_variables()
    result = array.stack()
    gradient = tf.gradients(result, w)[0]
    with tf.Session() as session:
        session.run(w.initializer)
        np.testing.assert_array_equal(session.run(result), [2.0, 4.0, 6.0])
        assert session.run(gradient) == 6.0
