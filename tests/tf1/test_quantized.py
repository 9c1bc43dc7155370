"""Quantized numbers and ops that compute with them. The expected values are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf

X = (np.random.RandomState(1).randn(3, 5) * 3).astype(np.float32)

ROWS = {
    ("qint8", "SCALED", -4.0, 5.0): [124, -47, -40, -82, 66],
    ("quint8", "MIN_COMBINED", 0.0, 6.0): [207, 0, 0, 0, 110],
    ("quint8", "MIN_FIRST", -4.0, 5.0): [251, 61, 68, 22, 187],
    ("quint8", "MIN_FIRST", 1.0, 3.0): [255, 0, 0, 0, 221],
    ("quint8", "MIN_FIRST", -3.0, -1.0): [255, 99, 120, 0, 255],
}
RANGES = {(-4.0, 5.0): (-4.0, 5.0), (0.0, 6.0): (0.0, 6.0), (1.0, 3.0): (0.0, 3.0), (-3.0, -1.0): (-3.0, 0.0)}


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def quantized(array, low, high):
    return tf.quantize(array, low, high, tf.quint8, mode="MIN_FIRST")


@pytest.mark.parametrize(("dtype", "mode", "low", "high"), ROWS)
def test_numbers_as_quantized_ones(session, dtype, mode, low, high):
    found = session.run(tf.quantize(X, low, high, tf.as_dtype(dtype), mode=mode))
    assert found.output[0].tolist() == ROWS[dtype, mode, low, high]
    if mode != "SCALED":
        assert (found.output_min, found.output_max) == RANGES[low, high]


@pytest.mark.parametrize("dtype", ["qint8", "quint8", "qint16", "quint16"])
@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
def test_quantized_numbers_stand_for_numbers_nearby(session, dtype, mode):
    low = 0.0 if mode == "SCALED" and dtype.startswith("qu") else -4.0
    found = tf.quantize(X, low, 5.0, tf.as_dtype(dtype), mode=mode)
    back, least, most = session.run([tf.dequantize(*found, mode=mode), *found[1:]])
    step = (most - least) / (2 ** (8 if "8" in dtype else 16) - 1)
    assert np.abs(back - np.clip(X, least, most)).max() <= 1.01 * step


def test_halves(session):
    halves = np.float32([[0.5, 1.5, -2.5]])
    even, away = (
        tf.quantize_v2(halves, -127.0, 127.0, tf.qint8, mode="SCALED", round_mode=mode)
        for mode in ("HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO")
    )
    assert [one.tolist() for one in session.run([even.output, away.output])] == [[[0, 2, -2]], [[1, 2, -3]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be larger than input_min_range"):
        session.run(tf.quantize(halves, 2.0, 1.0, tf.qint8))


def test_joined_in_one_range(session):
    parts = quantized(X, -4.0, 5.0), quantized(X, 0.0, 9.0)
    found = session.run(tf.quantized_concat(0, *zip(*parts, strict=True)))
    assert (found.output_min, found.output_max) == (-4.0, 9.0)
    assert found.output[0].tolist() == [174, 42, 47, 15, 129]
    assert found.output[3].tolist() == [174, 78, 78, 78, 129]


def images():
    """Images and filters, drawn as the recorded values were."""
    random = np.random.RandomState(1)
    random.randn(3, 5)
    return random.rand(1, 5, 5, 2).astype(np.float32) * 3 - 1, random.randn(3, 3, 2, 2).astype(np.float32)


@pytest.mark.parametrize(
    ("padding", "sums"),
    [
        ("SAME", [6363, -3428, -4044, 8616, -16565, -25510]),
        ("VALID", [9030, -5067, -28479, -3030, 19385, 13289]),
    ],
)
def test_convolutions(session, padding, sums):
    given, filters = (
        quantized(one, *ends) for one, ends in zip(images(), ((-1.0, 2.0), (-2.0, 2.0)), strict=True)
    )
    made = tf.nn.quantized_conv2d(given[0], filters[0], *given[1:], *filters[1:], [1, 1, 1, 1], padding)
    assert made.output.dtype is tf.qint32
    found, floats = session.run([made, tf.dequantize(*made, mode="MIN_FIRST")])
    assert found.output.ravel()[:6].tolist() == sums
    assert found.output_max == pytest.approx(396306.125) and found.output_min == pytest.approx(-396306.125)
    plain = tf.nn.conv2d(images()[0], np.clip(images()[1], -2, 2), [1, 1, 1, 1], padding)
    assert np.abs(session.run(plain) - floats).max() < 0.2


def test_products_rectifiers_and_pools(session):
    given = quantized(images()[0], -1.0, 2.0)
    limited, largest, mean = (
        tf.raw_ops.QuantizedRelu(features=given[0], min_features=given[1], max_features=given[2]),
        tf.nn.quantized_max_pool(*given, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        tf.nn.quantized_avg_pool(*given, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
    )
    whole, low, high, mid = session.run([given.output, limited[0], largest.output, mean.output])
    assert (low == np.maximum(whole, 85)).all()  # 85 stands for 0
    blocks = whole[0, :4, :4].reshape(2, 2, 2, 2, 2)
    assert (high[0] == blocks.max(axis=(1, 3))).all()
    assert (mid[0] == blocks.astype(int).sum(axis=(1, 3)) // 4).all()
    rows = quantized(X, -4.0, 5.0)
    product, least, most = tf.raw_ops.QuantizedMatMul(
        a=rows[0], b=rows[0], min_a=rows[1], max_a=rows[2], min_b=rows[1], max_b=rows[2], Toutput=tf.qint32,
        transpose_b=True,
    )  # fmt: skip
    floats = session.run(tf.dequantize(product, least, most, mode="MIN_FIRST"))
    clipped = np.clip(X, -4, 5)
    assert np.abs(floats - clipped @ clipped.T).max() < 0.5
    reshaped = tf.raw_ops.QuantizedReshape(tensor=rows[0], shape=[15], input_min=rows[1], input_max=rows[2])[
        0
    ]
    assert session.run(reshaped).shape == (15,)
    assert tf.nn.quantized_relu_x(given[0], 1.5, *given[1:]).output.shape == given.output.shape
