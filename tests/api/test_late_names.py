"""Names that release 1.15 has of later ones. The expected values are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf

RATES = [("SAME", 1), ("SAME", 2), ("VALID", 2), ("SAME", 3), ("VALID", 3)]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize(("padding", "rate"), RATES)
def test_transposed_dilated_convolutions_are_gradients(padding, rate):
    values = np.random.default_rng(rate)
    images = values.standard_normal((2, 9, 8, 4)).astype(np.float32)
    filters = tf.constant(values.standard_normal((3, 2, 4, 3)).astype(np.float32))
    x = tf.constant(images)
    y = tf.nn.atrous_conv2d(x, filters, rate, padding)
    grad = tf.constant(values.standard_normal(y.shape.as_list()).astype(np.float32))
    expected = tf.gradients(y, x, grad)[0]
    found = tf.nn.atrous_conv2d_transpose(grad, filters, [2, 9, 8, 4], rate, padding)
    assert found.shape.as_list() == [2, 9, 8, 4]
    np.testing.assert_allclose(*tf.Session().run([found, expected]), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="rate 0 cannot be less than one"):
        tf.nn.atrous_conv2d_transpose(grad, filters, [2, 9, 8, 4], 0, padding)


def test_gradients_of_depthwise_convolutions():
    values = np.random.default_rng(1)
    x, kernel = (
        tf.constant(values.standard_normal(one).astype(np.float32)) for one in ((1, 5, 5, 2), (2, 2, 2, 3))
    )
    y = tf.nn.depthwise_conv2d_native(x, kernel, [1, 1, 1, 1], "VALID")
    expected = tf.gradients(y, [x, kernel], tf.ones_like(y))
    found = [
        tf.nn.depthwise_conv2d_backprop_input([1, 5, 5, 2], kernel, tf.ones_like(y), [1, 1, 1, 1], "VALID"),
        tf.nn.depthwise_conv2d_native_backprop_filter(
            x, [2, 2, 2, 3], tf.ones_like(y), [1, 1, 1, 1], "VALID"
        ),
    ]
    for one, other in zip(*tf.Session().run([found, expected]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_average_losses():
    losses = tf.nn.compute_average_loss([1.0, 2.0, 3.0], [[1.0], [2.0], [3.0]], global_batch_size=4)
    assert tf.Session().run([losses, tf.nn.scale_regularization_loss([1.0, 2.0])]) == [3.5, 3.0]
    with pytest.raises(ValueError, match="Expected a tensor with at least rank 1"):
        tf.nn.compute_average_loss(1.0)


def test_labels_that_are_written_as_often_as_found():
    logits = np.log(np.array([[[0.8, 0.1, 0.1]], [[0.1, 0.1, 0.8]], [[0.8, 0.1, 0.1]]], np.float32))
    (path,), _ = tf.nn.ctc_beam_search_decoder_v2(logits, [3])
    (merged,), _ = tf.nn.ctc_beam_search_decoder(logits, [3])
    found = tf.Session().run([path.values, merged.values])
    assert [one.tolist() for one in found] == [[0, 0], [0]]


def test_fingerprints_of_another_method():
    with pytest.raises(ValueError, match="Unsupported method: md5"):
        tf.fingerprint(["a"], method="md5")
    assert tf.Session().run(tf.timestamp()) > 1.5e9


def test_types():
    assert tf.assert_same_float_dtype([None, tf.constant(1.0)]) is tf.float32
    assert tf.debugging.assert_same_float_dtype(dtype=tf.float64) is tf.float64
    with pytest.raises(ValueError, match=r"must be of the same type \(<dtype: 'float32'>\) as a:0"):
        tf.assert_same_float_dtype([tf.constant(1.0, name="a"), tf.constant(1)])
    with pytest.raises(ValueError, match="Expected floating point type"):
        tf.assert_same_float_dtype([tf.constant(1)])
    assert tf.Session().run(tf.dtypes.cast([1.7], tf.int32)).tolist() == [1]
    assert tf.qint8 in tf.QUANTIZED_DTYPES and tf.int8 not in tf.QUANTIZED_DTYPES


def test_names_that_stand_elsewhere_too():
    assert (
        tf.dimension_value(tf.TensorShape([3])[0]) == 3
        and tf.dimension_at_index(tf.TensorShape(None), 1).value is None
    )
    assert tf.train.queue_runner.QueueRunner is tf.train.QueueRunner
    assert (
        tf.saved_model.SERVING == "serve"
        and tf.saved_model.PREDICT_METHOD_NAME == "tensorflow/serving/predict"
    )
    assert (
        tf.linalg.global_norm is tf.global_norm
        and tf.initializers.tables_initializer is tf.tables_initializer
    )
    assert tf.lookup.experimental.DenseHashTable.__name__ == "DenseHashTable"
    assert tf.get_logger().name == "tensorflow" and tf.TensorInfo().name == ""
    assert tf.manip.space_to_batch_nd is tf.space_to_batch_nd
    assert tf.resource_loader.get_path_to_datafile("x").endswith("/tests/api/x")
