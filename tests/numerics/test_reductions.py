"""Reductions over any axes of arrays of any layout, against NumPy's."""

import itertools

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.numerics import reductions
from gpuplace.numerics.reductions import reduced

SHAPES = [
    (16, 512, 4),
    (4096, 8),
    (3, 10000),
    (40000,),
    (7, 31, 5, 17),
    (2, 9000, 1),
    (5, 4001),
    (1, 20000),
    (0, 8),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("how", ["sum", "prod"])
def test_as_numpy(shape, dtype, how, monkeypatch):
    monkeypatch.setattr(reductions, "LARGE", 0)
    random = np.random.default_rng(2)
    x = random.standard_normal(shape)
    x = (np.sign(x) * 1.001 ** np.abs(x) if how == "prod" else x * 9).astype(dtype)
    wide = x.astype({"f": np.float64, "c": np.complex128, "i": np.int32}[x.dtype.kind])
    for count in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            wanted = getattr(np, how)(wide, axis=axes, dtype=wide.dtype)
            for array in (x, np.asfortranarray(x)):
                found = reduced(np, how, array, axes)
                assert found.dtype == x.dtype and found.shape == wanted.shape
                tolerance = 1e-4 if x.dtype.itemsize < 8 or x.dtype.kind == "c" else 1e-11
                np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * 1000)


def test_other_axes_may_be_fed():
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    with tf.Graph().as_default(), tf.Session() as session:
        axis = tf.constant(0)
        given = tf.placeholder(tf.float32, [2, 6])
        parts, total = tf.split(given, 2, axis), tf.reduce_sum(given, axis)
        for number in (0, 1, -1):
            wanted = [*np.split(x, 2, number), x.sum(number)]
            for run, want in zip(session.run([*parts, total], {given: x, axis: number}), wanted, strict=True):
                np.testing.assert_array_equal(run, want)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid reduction dimension"):
            session.run(total, {given: x, axis: 2})
        with pytest.raises(tf.errors.InvalidArgumentError, match="split_dim < input rank"):
            session.run(parts, {given: x, axis: 2})


def test_a_sum_of_two_tensors_is_one_call():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 2])
        assert session.run(tf.add_n([x, x + 1]), {x: np.ones((2, 2))}).tolist() == [[3, 3], [3, 3]]
        y = tf.placeholder(tf.int32, None)
        assert session.run(tf.add_n([y, y]), {y: [1, 2]}).tolist() == [2, 4]
