"""tensordot and einsum against NumPy's."""

import numpy as np
import pytest

import gpuplace as tf

RANDOM = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape)


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [((2, 3), (3, 4), 1), ((2, 3, 4), (4, 3), [[1, 2], [1, 0]]), ((2, 3), (2, 3), 2), ((2,), (3,), 0),
     ((2, 3, 4), (5, 3), [[-2], [1]]), ((2, 3), (3, 2), [1, 0])],
)  # fmt: skip
@pytest.mark.parametrize("known", [True, False])
def test_tensordot(a: tuple[int, ...], b: tuple[int, ...], axes: object, known: bool) -> None:
    x, y = array(*a), array(*b)
    left = tf.placeholder(tf.float64, a if known else [None] * len(a))
    right = tf.placeholder(tf.float64, b)
    result = tf.tensordot(left, right, axes)
    expected = np.tensordot(x, y, axes)
    assert result.shape.is_compatible_with(expected.shape)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(result, {left: x, right: y}), expected, rtol=1e-10)


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij->ji", (2, 3)),
    ("ij->i", (2, 3)),
    ("ij->", (2, 3)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("bij,bik->bjk", (5, 2, 3), (5, 2, 4)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("ijk,kl,lm->ijm", (2, 3, 4), (4, 5), (5, 2)),
    ("ijk,jl->ikl", (2, 3, 4), (3, 5)),
    ("ab,c->c", (2, 3), (4,)),
    ("abc,cb->a", (2, 3, 4), (4, 3)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=[case[0] for case in EQUATIONS])
@pytest.mark.parametrize("known", [True, False])
def test_einsum(case: tuple, known: bool) -> None:
    equation, *shapes = case
    values = [array(*shape) for shape in shapes]
    inputs = [tf.placeholder(tf.float64, shape if known else [None] * len(shape)) for shape in shapes]
    result = tf.einsum(equation, *inputs)
    expected = np.einsum(equation, *values)
    if known:
        assert result.shape.as_list() == list(expected.shape)
    with tf.Session() as session:
        actual = session.run(result, dict(zip(inputs, values, strict=True)))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("equation", "shapes", "sentence"),
    [
        ("ij,,jk", [(2, 2)], "Indices have incorrect format"),
        ("ii->i", [(2, 2)], "an axis appears more than once"),
        ("ij->ik", [(2, 2)], "Invalid equation: ij->ik"),
        ("ijk->i", [(2, 2)], "Unexpected rank"),
    ],
)
def test_malformed_equations(equation: str, shapes: list, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        tf.einsum(equation, *[tf.placeholder(tf.float32, shape) for shape in shapes])
    with pytest.raises(TypeError, match="invalid keyword arguments"):
        tf.einsum("i->i", tf.placeholder(tf.float32, [2]), shape=3)
