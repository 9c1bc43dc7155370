"""Poolings over channels and over the batch: what runs, and what TensorFlow's kernels refuse."""

import numpy as np
import pytest

import gpuplace as tf

IMAGES = np.random.default_rng(5).random((2, 4, 4, 6), dtype=np.float32)

BATCH = "Pooling is not yet supported on the batch dimension."
BOTH = "MaxPooling supports exactly one of pooling across depth or pooling across width/height."
DIVIDE = "Depthwise max pooling requires the depth window to evenly divide the input depth"
STRIDE = "Depthwise max pooling requires the depth window to equal the depth stride"
CPU_ONLY = "Depthwise max pooling is currently only implemented for CPU devices."
SPATIAL = "Non-spatial pooling is not yet supported. Volunteers? :)"
GRADIENT = "MaxPoolingGrad is not yet supported on the depth dimension."


def pooled(function, ksize, strides, machine="cpu", images=IMAGES, data_format="NHWC", gradient=False):
    """The result of a pooling as a session computes it."""
    tf.use_machine(machine)
    x = tf.placeholder(tf.float32, images.shape, name="x")
    y = getattr(tf.nn, function)(x, ksize, strides, "VALID", data_format)
    if gradient:
        y = tf.gradients(y, x)[0]
    return tf.Session().run(y, {x: images})


def refused(function, ksize, strides, **options):
    """First line of the UnimplementedError."""
    with pytest.raises(tf.errors.UnimplementedError) as caught:
        pooled(function, ksize, strides, **options)
    assert caught.value.hint
    return caught.value.message.splitlines()[0]


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_the_largest_of_neighbouring_channels(depth):
    found = pooled("max_pool", [1, 1, 1, depth], [1, 1, 1, depth])
    np.testing.assert_array_equal(found, IMAGES.reshape(2, 4, 4, 6 // depth, depth).max(axis=4))


def test_channels_first():
    images = np.ascontiguousarray(IMAGES.transpose(0, 3, 1, 2))
    found = pooled("max_pool", [1, 2, 1, 1], [1, 2, 1, 1], images=images, data_format="NCHW")
    np.testing.assert_array_equal(found, images.reshape(2, 3, 2, 4, 4).max(axis=2))
    assert refused("max_pool", [1, 4, 1, 1], [1, 4, 1, 1], images=images, data_format="NCHW") == DIVIDE


def test_strides_along_height_and_width_do_nothing_for_a_window_over_channels():
    found = pooled("max_pool", [1, 1, 1, 2], [1, 2, 2, 2])
    np.testing.assert_array_equal(found, pooled("max_pool", [1, 1, 1, 2], [1, 1, 1, 2]))


@pytest.mark.parametrize("function", ["max_pool", "avg_pool"])
def test_a_stride_along_channels_does_nothing_for_a_window_over_pixels(function):
    found = pooled(function, [1, 2, 2, 1], [1, 1, 1, 2])
    np.testing.assert_array_equal(found, pooled(function, [1, 2, 2, 1], [1, 1, 1, 1]))


def test_the_shape_that_is_inferred_holds_for_the_result():
    for ksize, strides, sizes in (
        ([1, 1, 1, 2], [1, 1, 1, 2], [2, 4, 4, 3]),
        ([1, 1, 1, 2], [1, 2, 2, 2], [2, None, None, 3]),
        ([1, 2, 2, 1], [1, 1, 1, 2], [2, 3, 3, None]),
        ([1, 2, 2, 1], [1, 2, 2, 1], [2, 2, 2, 6]),
    ):
        y = tf.nn.max_pool(tf.zeros([2, 4, 4, 6]), ksize, strides, "VALID")
        assert y.shape.as_list() == sizes
        assert y.shape.is_compatible_with(pooled("max_pool", ksize, strides).shape)
    with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 7 from 6"):
        tf.nn.max_pool(tf.zeros([2, 4, 4, 6]), [1, 1, 1, 7], [1, 1, 1, 7], "VALID")


@pytest.mark.parametrize(
    ("ksize", "strides", "sentence", "mean"),
    [
        ([2, 1, 1, 1], [1, 1, 1, 1], BATCH, BATCH),
        ([1, 1, 1, 1], [2, 1, 1, 1], BATCH, BATCH),
        ([1, 2, 2, 1], [2, 2, 2, 1], BATCH, BATCH),
        ([2, 1, 1, 2], [2, 1, 1, 2], BATCH, BATCH),
        ([1, 2, 1, 2], [1, 1, 1, 2], BOTH, BOTH),
        ([1, 2, 2, 2], [1, 2, 2, 2], BOTH, BOTH),
        ([1, 1, 1, 4], [1, 1, 1, 4], DIVIDE, DIVIDE),
        ([1, 1, 1, 2], [1, 1, 1, 1], STRIDE, STRIDE),
        ([1, 1, 1, 2], [1, 1, 1, 2], None, SPATIAL),
    ],
)
def test_windows_that_no_kernel_has(ksize, strides, sentence, mean):
    """The sentences are those of the CPU's kernels of 1.0.1, 1.4.1 and 2.21."""
    if sentence is not None:
        assert refused("max_pool", ksize, strides) == sentence
        assert refused("max_pool", ksize, strides, gradient=True) in (sentence, GRADIENT)
    assert refused("avg_pool", ksize, strides) == mean
    assert refused("avg_pool", ksize, strides, gradient=True) == mean


def test_gradients_over_channels():
    assert refused("max_pool", [1, 1, 1, 2], [1, 1, 1, 2], gradient=True) == GRADIENT
    assert refused("max_pool", [1, 2, 2, 1], [1, 1, 1, 2], gradient=True) == GRADIENT
    found = pooled("max_pool", [1, 2, 2, 1], [1, 1, 1, 2], machine="1x T4", gradient=True)
    assert found.shape == IMAGES.shape


def test_a_gpu_has_no_kernel_for_channels():
    tf.use_machine("1x T4")
    x = tf.placeholder(tf.float32, IMAGES.shape)
    y = tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID", name="y")
    with pytest.raises(tf.errors.UnimplementedError) as caught:
        tf.Session().run(y, {x: IMAGES})
    assert caught.value.message.startswith(CPU_ONLY + "\n\t [[node y ")
    assert "/cpu:0" in caught.value.hint
    assert refused("avg_pool", [1, 1, 1, 2], [1, 1, 1, 2], machine="1x T4") == CPU_ONLY
    with tf.device("/cpu:0"):
        y = tf.nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID")
    assert tf.Session().run(y, {x: IMAGES}).shape == (2, 4, 4, 3)


@pytest.mark.parametrize("strides", [[1, 1, 1, 2], [2, 2, 2, 1]])
def test_a_convolution_before_it_changes_nothing(strides):
    """A pooling that is computed with the convolution before it is over pixels alone."""
    tf.use_machine("cpu")
    x = tf.placeholder(tf.float32, IMAGES.shape)
    h = tf.nn.conv2d(x, tf.ones([3, 3, 6, 8]), [1, 1, 1, 1], "SAME")
    ksize = [1, 1, 1, 2] if strides[0] == 1 else [1, 2, 2, 1]
    y = tf.nn.max_pool(h, ksize, strides, "VALID")
    session = tf.Session()
    if strides[0] == 1:
        features = session.run(h, {x: IMAGES})
        np.testing.assert_array_equal(
            session.run(y, {x: IMAGES}), features.reshape(2, 4, 4, 4, 2).max(axis=4)
        )
    else:
        with pytest.raises(tf.errors.UnimplementedError, match="batch dimension"):
            session.run(y, {x: IMAGES})
