"""Random matrices for tests of linear operators: any, triangular, positive definite, or of columns that nearly depend.

A complex one has a random real and a random imaginary part. With a seed the values are those of TensorFlow: what is
drawn second has a seed of its own, so far from the first.

Source: tensorflow/python/ops/linalg/linear_operator_test_util.py, release 1.15 (names, scopes, distances of seeds).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import DType, as_dtype, float32
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones_like
from gpuplace.ops.array.reshaping import matrix_transpose
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import complex as complex_of
from gpuplace.ops.math.matrix import matmul, matrix_band_part, matrix_set_diag
from gpuplace.ops.math.unary import sign
from gpuplace.ops.random import random_ops
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike, TensorLike

_FURTHER = {"imaginary normal": 1234, "imaginary uniform": 12345, "sign": 12, "embedding": 1287}
"""What is drawn second -> how far its seed is from the first."""


def _seed_of(what: str, seed: int | None) -> int | None:
    return None if seed is None else seed + _FURTHER[what]


def _of_parts(dtype: DType, draw: Callable[[int | None], Tensor], what: str, seed: int | None) -> Tensor:
    """What is drawn once, or for a complex type twice."""
    real = draw(seed)
    return complex_of(real, draw(_seed_of(what, seed))) if dtype.is_complex else real


def random_normal(
    shape: Any,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
) -> Tensor:
    """Returns values of a normal distribution, of a complex type both parts.

    Args:
        shape: sizes of the result.
        mean: mean of either part.
        stddev: standard deviation of either part.
        dtype: type of the elements, floating or complex.
        seed: seed of the first draw; None: see ``set_random_seed``.
    """
    dtype = as_dtype(dtype)

    def draw(seed: int | None) -> Tensor:
        return random_ops.random_normal(shape, mean=mean, stddev=stddev, dtype=dtype.real_dtype, seed=seed)

    with name_scope("random_normal"):
        return _of_parts(dtype, draw, "imaginary normal", seed)


def random_uniform(
    shape: Any,
    minval: Any = None,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
) -> Tensor:
    """Returns values spread evenly over ``[minval, maxval)``, of a complex type both parts.

    Args:
        shape: sizes of the result.
        minval: the least value of either part.
        maxval: what either part stays below.
        dtype: type of the elements, floating or complex.
        seed: seed of the first draw; None: see ``set_random_seed``.
    """
    dtype = as_dtype(dtype)

    def draw(seed: int | None) -> Tensor:
        return random_ops.random_uniform(
            shape, dtype=dtype.real_dtype, minval=minval, maxval=maxval, seed=seed
        )

    with name_scope("random_uniform"):
        return _of_parts(dtype, draw, "imaginary uniform", seed)


def random_sign_uniform(
    shape: Any,
    minval: Any = None,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
) -> Tensor:
    """Returns values of ``random_uniform``, each of them or its negative.

    Args:
        shape: sizes of the result.
        minval: the least value of either part, before the sign.
        maxval: what either part stays below, before the sign.
        dtype: type of the elements, floating or complex.
        seed: seed of the first draw; None: see ``set_random_seed``.
    """
    with name_scope("random_sign_uniform"):
        values = random_uniform(shape, minval=minval, maxval=maxval, dtype=dtype, seed=seed)
        signs = sign(random_ops.random_uniform(shape, minval=-1.0, maxval=1.0, seed=_seed_of("sign", seed)))
        return values * cast(signs, values.dtype)


def random_tril_matrix(
    shape: Any, dtype: DTypeLike, force_well_conditioned: bool = False, remove_upper: bool = True
) -> Tensor:
    """Returns lower triangular matrices of a normal distribution.

    Args:
        shape: sizes of the result, the last two alike.
        dtype: type of the elements, floating or complex.
        force_well_conditioned: whether the elements on the diagonal, and so the eigenvalues, are of modulus 1 to 2.
        remove_upper: whether the elements above the diagonal are zeros; else there is something there.
    """
    dtype = as_dtype(dtype)
    with name_scope("random_tril_matrix"):
        found = random_normal(shape, dtype=dtype)
        if remove_upper:
            found = matrix_band_part(found, -1, 0)
        if force_well_conditioned:
            most = convert_to_tensor(math.sqrt(2.0), dtype=dtype.real_dtype)
            found = matrix_set_diag(
                found, random_sign_uniform(shape[:-1], minval=1.0, maxval=most, dtype=dtype)
            )
        return found


def random_positive_definite_matrix(
    shape: Any, dtype: DTypeLike, force_well_conditioned: bool = False
) -> Tensor:
    """Returns matrices that are their own adjoints and positive definite: triangular ones times their adjoints.

    Args:
        shape: sizes of the result, the last two alike.
        dtype: type of the elements, floating or complex.
        force_well_conditioned: whether what is on the diagonal of the triangular ones is of modulus 1 to 2.

    Raises:
        ValueError: the last two sizes differ.
    """
    if not isinstance(shape, Tensor):
        shape = TensorShape(shape)
        shape.dims[-1].assert_is_compatible_with(shape.dims[-2])
    with name_scope("random_positive_definite_matrix"):
        triangle = random_tril_matrix(shape, dtype, force_well_conditioned=force_well_conditioned)
        return matmul(triangle, triangle, adjoint_b=True)


def random_normal_correlated_columns(
    shape: Sequence[int],
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    eps: float = 1e-4,
    seed: int | None = None,
) -> Tensor:
    """Returns matrices whose columns nearly lie in a plane through ``mean``; columns fewer than rows, or one, are free.

    Args:
        shape: sizes of the result, a list.
        mean: mean of the elements.
        stddev: standard deviation of elements that are free.
        dtype: type of the elements, floating or complex.
        eps: how far from the plane they are.
        seed: seed of the first draw; None: see ``set_random_seed``.

    Raises:
        ValueError: there are less than two sizes.
    """
    if len(shape) < 2:
        raise ValueError(f"Argument shape must be at least length 2.  Found: {shape}")
    *batch, rows, columns = shape
    if columns < 2 or columns < rows:
        return random_normal(shape, mean=mean, stddev=stddev, dtype=dtype, seed=seed)
    with name_scope("random_normal_correlated_columns"):
        within = random_normal(
            [*batch, rows, columns - 1], stddev=1.0 / math.sqrt(columns - 1), dtype=dtype, seed=seed
        )
        embedding = random_normal(
            [*batch, columns, columns - 1], dtype=dtype, seed=_seed_of("embedding", seed)
        )
        in_plane = matrix_transpose(matmul(embedding, within, transpose_b=True))
        middle = ones_like(in_plane) * mean
        return in_plane + random_normal(shape, stddev=eps, dtype=dtype) + middle
