"""Tensor helpers for shapes, triangular matrices and weighted sums.

Source: tensorflow/python/ops/distributions/util.py, release 1.15.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import bool as bool_type
from gpuplace.dtypes import float32, int32
from gpuplace.graph.constant_value import static_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones_like, zeros, zeros_like
from gpuplace.ops.array.constant import range as numbers
from gpuplace.ops.array.gather import where, where_v2
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import broadcast_dynamic_shape, broadcast_static_shape
from gpuplace.ops.array.reshaping import rank, reshape, shape, squeeze, transpose
from gpuplace.ops.array.sequence import reverse
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_integer
from gpuplace.ops.math.comparison import greater, less, logical_or
from gpuplace.ops.math.division import mod
from gpuplace.ops.math.matrix import matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from gpuplace.ops.math.reduction import reduce_logsumexp, reduce_max, reduce_sum
from gpuplace.ops.math.unary import exp, expm1, is_inf, log, sign, sqrt
from gpuplace.shapes import TensorShape, dimension_value
from gpuplace.typing import TensorLike


def pick_vector(cond: TensorLike, true_vector: Any, false_vector: Any, name: str = "pick_vector") -> Any:
    """Return one of two vectors, which may have different lengths.

    Args:
        cond: a boolean that selects the vector; a known value needs no operations.
        true_vector: the vector for True.
        false_vector: the vector for False, of the same dtype.
        name: name of the scope.

    Raises:
        TypeError: ``cond`` is not a boolean, or the dtypes differ.
    """
    with name_scope(name, values=[cond, true_vector, false_vector]):
        cond = convert_to_tensor(cond, name="cond")
        if cond.dtype != bool_type:
            raise TypeError(f"{cond}.dtype={cond.dtype} which is not {bool_type}")
        static_condition = static_value(cond)
        if static_condition is not None:
            return true_vector if static_condition else false_vector
        first = convert_to_tensor(true_vector, name="true_vector")
        second = convert_to_tensor(false_vector, name="false_vector")
        if first.dtype != second.dtype:
            raise TypeError(f"{first}.dtype={first.dtype} does not match {second}.dtype={second.dtype}")
        length = shape(first)[0]
        both = concat([first, second], 0)
        return slice_of(both, [where_v2(cond, 0, length)], [where(cond, length, -1)])


def prefer_static_value(x: Tensor) -> Any:
    """Return a tensor's value if it is known, otherwise the tensor.

    Args:
        x: a tensor.
    """
    value = static_value(x)
    return x if value is None else value


def prefer_static_rank(x: TensorLike) -> Any:
    """Return the rank of a tensor, as an array if it is known and otherwise as a tensor.

    Args:
        x: the tensor.
    """
    return prefer_static_value(rank(x))


def prefer_static_broadcast_shape(
    shape1: Any, shape2: Any, name: str = "prefer_static_broadcast_shape"
) -> Any:
    """Return the broadcast shape of two shapes: a ``TensorShape`` if both are known, otherwise a tensor.

    Args:
        shape1: sizes.
        shape2: sizes.
        name: name of the scope.

    Raises:
        ValueError: only one is fully known, or they do not broadcast.
    """
    with name_scope(name, values=[shape1, shape2]):
        static_shapes = [_known_shape(one) for one in (shape1, shape2)]
        if static_shapes[0] is not None and static_shapes[1] is not None:
            return broadcast_static_shape(static_shapes[0], static_shapes[1])
        return broadcast_dynamic_shape(_sizes(shape1), _sizes(shape2))


def _known_shape(sizes: Any) -> TensorShape | None:
    if isinstance(sizes, TensorShape):
        return sizes
    value = static_value(convert_to_tensor(sizes, name="shape", dtype=int32))
    return None if value is None else TensorShape(value)


def _sizes(sizes: Any) -> Tensor:
    if isinstance(sizes, TensorShape):
        if not sizes.is_fully_defined():
            raise ValueError("Cannot broadcast from partially defined `TensorShape`.")
        sizes = sizes.as_list()
    return convert_to_tensor(sizes, name="shape", dtype=int32)


def rotate_transpose(x: TensorLike, shift: TensorLike, name: str = "rotate_transpose") -> Tensor:
    """Rotate the axes of a tensor: axes that leave at one end enter at the other.

    Args:
        x: the tensor.
        shift: number of positions to the right, an integer.
        name: name of the scope.
    """
    with name_scope(name, values=[x, shift]):
        x, shift = convert_to_tensor(x, name="x"), convert_to_tensor(shift, name="shift")
        assert_integer(shift)
        static_shift, axes = static_value(shift), x.shape.ndims
        if axes is not None and static_shift is not None:
            if axes < 2:
                return x
            steps = int(np.sign(static_shift)) * (abs(int(static_shift)) % axes)
            return transpose(x, perm=np.roll(np.arange(axes), steps)) if steps else x
        count = rank(x)
        backwards = less(shift, 0)
        left = mod(-shift, count)
        right = count - mod(shift, count)
        start = where_v2(backwards, left, right)
        first = numbers(0, start)
        return transpose(x, perm=concat([numbers(start, count), first], 0))


def matrix_diag_transform(
    matrix: TensorLike, transform: Callable[[Tensor], Tensor] | None = None, name: str | None = None
) -> Tensor:
    """Return matrices whose diagonals are changed by a function.

    Args:
        matrix: matrices along the last two axes.
        transform: function of the diagonals; None for no change.
        name: name of the scope.
    """
    with name_scope(name, "matrix_diag_transform", [matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        diagonal = transform(matrix_diag_part(matrix))
        return matrix_set_diag(matrix, diagonal)


def fill_triangular(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """Return triangular matrices with the elements of vectors, and zeros elsewhere.

    Args:
        x: vectors of ``n * (n + 1) / 2`` elements along the last axis.
        upper: whether the elements are above the diagonal rather than below.
        name: name of the scope.

    Raises:
        ValueError: the static length does not have the form ``n * (n + 1) / 2``.
    """
    with name_scope(name, "fill_triangular", [x]):
        x = convert_to_tensor(x, name="x")
        before = x.shape.with_rank_at_least(1)[:-1]
        length = dimension_value(x.shape[-1])
        size: Any
        if length is not None:
            exact = math.sqrt(0.25 + 2.0 * length) - 0.5
            if exact != math.floor(exact):
                raise ValueError(
                    f"Input right-most shape ({length}) does not correspond to a triangular matrix."
                )
            size = int(exact)
            final = before.concatenate([size, size])
        else:
            count = shape(x)[-1]
            size = cast(sqrt(0.25 + cast(2 * count, dtype=float32)), dtype=int32)
            final = before.concatenate([None, None])
        axes = prefer_static_rank(x)
        # Joined without their overlap, the vector and its mirror image have n * n elements; half of each row
        # is correct.
        if upper:
            pieces = [x, reverse(x[..., size:], axis=[axes - 1])]
        else:
            pieces = [x[..., size:], reverse(x, axis=[axes - 1])]
        sizes: Any = (
            final.as_list() if final.is_fully_defined() else concat([shape(x)[:-1], [size, size]], axis=0)
        )
        square_ones = reshape(concat(pieces, axis=-1), sizes)
        result = matrix_band_part(square_ones, 0 if upper else -1, -1 if upper else 0)
        result.set_shape(final)
        return result


def fill_triangular_inverse(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """Return the vectors from which ``fill_triangular`` builds triangular matrices.

    Args:
        x: triangular matrices along the last two axes.
        upper: whether the elements are above the diagonal rather than below.
        name: name of the scope.
    """
    with name_scope(name, "fill_triangular_inverse", [x]):
        x = convert_to_tensor(x, name="x")
        before = x.shape.with_rank_at_least(2)[:-2]
        size: Any = dimension_value(x.shape[-1])
        if size is not None:
            count: Any = size * (size + 1) // 2
            final = before.concatenate([count])
        else:
            size = shape(x)[-1]
            count = (size * (size + 1)) // 2
            final = before.concatenate([None])
        axes = prefer_static_rank(x)
        if upper:
            ahead, rows = x[..., 0, :], x[..., 1:, :]
        else:
            ahead, rows = reverse(x[..., -1, :], axis=[axes - 2]), x[..., :-1, :]
        turned = reverse(reverse(rows, axis=[axes - 1]), axis=[axes - 2])
        together = rows + turned
        flat = reshape(together, concat([shape(x)[:-2], [size * (size - 1)]], axis=0))
        result = concat([ahead, flat[..., : count - size]], axis=-1)
        result.set_shape(final)
        return result


def tridiag(
    below: TensorLike | None = None,
    diag: TensorLike | None = None,
    above: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return matrices with values on the diagonal and next to it.

    Args:
        below: the values below the diagonal.
        diag: the values on the diagonal.
        above: the values above the diagonal.
        name: name of the scope.

    Raises:
        ValueError: none is given.
    """

    def padded(x: Tensor) -> Tensor:
        sizes = concat([shape(x)[:-1], [1]], axis=0)
        zero = zeros(sizes, dtype=x.dtype)
        return matrix_diag(concat([zero, x, zero], axis=-1))

    with name_scope(name, "tridiag", [below, diag, above]):
        parts = []
        if below is not None:
            parts.append(padded(convert_to_tensor(below, name="below"))[..., :-1, 1:])
        if diag is not None:
            parts.append(matrix_diag(convert_to_tensor(diag, name="diag")))
        if above is not None:
            parts.append(padded(convert_to_tensor(above, name="above"))[..., 1:, :-1])
        if not parts:
            raise ValueError("Must specify at least one of `below`, `diag`, `above`.")
        return functools.reduce(lambda one, other: one + other, parts)


def reduce_weighted_logsumexp(
    logx: TensorLike,
    w: TensorLike | None = None,
    axis: TensorLike | None = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """Return ``log(abs(sum(w * exp(logx))))``, computed without overflow.

    Args:
        logx: logarithms.
        w: weights of any sign; None for 1.
        axis: axes to sum over; None for all.
        keep_dims: whether to keep these axes, with size 1.
        return_sign: whether to return the sign of the sum as well.
        name: name of the scope.

    Returns:
        The logarithm, or the logarithm and the sign.
    """
    with name_scope(name, "reduce_weighted_logsumexp", [logx, w]):
        logx = convert_to_tensor(logx, name="logx")
        if w is None:
            plain = reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (plain, ones_like(plain)) if return_sign else plain
        w = convert_to_tensor(w, dtype=logx.dtype, name="w")
        sizes = logx + log(abs(w))
        most = reduce_max(sizes, axis=axis, keepdims=True)
        most = where_v2(is_inf(most), zeros_like(most), most)
        relative = sign(w) * exp(sizes - most)
        total = reduce_sum(relative, axis=axis, keepdims=keep_dims)
        if not keep_dims:
            most = squeeze(most, axis)
        of_total = sign(total)
        result = most + log(of_total * total)
        return (result, of_total) if return_sign else result


def softplus_inverse(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of softplus.

    Args:
        x: floating; positive.
        name: name of the scope.
    """
    with name_scope(name, "softplus_inverse", [x]):
        x = convert_to_tensor(x, name="x")
        threshold = np.log(np.finfo(x.dtype.as_numpy_dtype).eps) + 2.0
        small = less(x, np.exp(threshold))
        large = greater(x, -threshold)
        of_small, of_large = log(x), x
        x = where_v2(logical_or(small, large), ones_like(x), x)
        y = x + log(-expm1(-x))
        return where_v2(small, of_small, where_v2(large, of_large, y))
