"""Matrix products, diagonals and bands.

Source: tensorflow/python/ops/math_ops.py, math_grad.py, array_grad.py, special_math_ops.py and
tensorflow/core/kernels/matmul_op.cc, batch_matmul_op_impl.h, matrix_diag_op.cc, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.arguments import int_of
from gpuplace.numerics.pieces import is_large_product, multiply, over
from gpuplace.ops.array.constant import zeros, zeros_like
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.array.reshaping import transpose
from gpuplace.ops.dispatch import dispatched
from gpuplace.ops.gradients.registry import gradient, skipped_inputs
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import binary_operator
from gpuplace.ops.shape_rules import merge_shapes, merge_sizes, require_rank, require_rank_at_least
from gpuplace.ops.support import broadcast, conjugate, new, same_shape, shape_tensor, sum_to
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "matmul", "batch_matmul", "sparse_matmul", "matrix_diag", "matrix_diag_part", "matrix_set_diag", "matrix_band_part",
    "diag", "diag_part", "trace", "cross", "matvec",
]  # fmt: skip


@dispatched
def matmul(
    a: TensorLike, b: TensorLike, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool =
    False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the product of two matrices or of two batches of matrices, whose leading dimensions broadcast.

    >>> import gpuplace as tf
    >>> tf.matmul(tf.zeros([5, 2, 3]), tf.zeros([3, 4])).shape.as_list()
    [5, 2, 4]

    Args:
        a: ``[..., rows, inner]``: floating, complex, int32 or int64 (no integers on a GPU).
        b: ``[..., inner, columns]``, of the same type.
        transpose_a: whether ``a`` is transposed, ``[..., inner, rows]``.
        transpose_b: whether ``b`` is transposed, ``[..., columns, inner]``.
        adjoint_a: whether ``a`` is conjugated and transposed.
        adjoint_b: whether ``b`` is conjugated and transposed.
        a_is_sparse: whether ``a`` has many zeros: adds the op ``SparseMatMul``, for float32 and bfloat16 on the CPU
            only.
        b_is_sparse: whether ``b`` has many zeros; see ``a_is_sparse``.
        name: name of the op.

    Returns:
        ``[..., rows, columns]`` of that type; float32 for ``SparseMatMul``.

    Raises:
        ValueError: inner sizes differ, ranks are wrong, or a matrix is both transposed and adjoint.
        TypeError: the types differ or are not supported.
        InvalidArgumentError: at run time, sizes do not match.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        a = convert_to_tensor(a, name="a")
        hint = None if rules() == "1.15" else a.dtype.base_dtype
        b = convert_to_tensor(b, name="b", dtype_hint=hint)
        rank_a, rank_b = a.shape.ndims, b.shape.ndims
        may_have_batch = any(rank is None or rank > 2 for rank in (rank_a, rank_b))
        if may_have_batch and not a_is_sparse and not b_is_sparse:
            a, adjoint_a = (conjugate(a), True) if transpose_a else (a, adjoint_a)
            b, adjoint_b = (conjugate(b), True) if transpose_b else (b, adjoint_b)
            return new("BatchMatMulV2", scope, x=a, y=b, adj_x=adjoint_a, adj_y=adjoint_b)
        a, transpose_a = (conjugate(a), True) if adjoint_a else (a, transpose_a)
        b, transpose_b = (conjugate(b), True) if adjoint_b else (b, transpose_b)
        sparse = {"bfloat16", "float32"}
        use_sparse = (a_is_sparse or b_is_sparse) and {a.dtype.name, b.dtype.name} <= sparse
        if use_sparse or (a.dtype.base_dtype.name == "bfloat16" != b.dtype.base_dtype.name):
            return new(
                "SparseMatMul", scope, a=a, b=b, transpose_a=transpose_a, transpose_b=transpose_b,
                a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse,
            )  # fmt: skip
        return new("MatMul", scope, a=a, b=b, transpose_a=transpose_a, transpose_b=transpose_b)


sparse_matmul = matmul


def _through_single(product: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Compute bfloat16 and half precision in float32, because NumPy multiplies them slowly or not at all."""

    def run(a: Any, b: Any) -> Any:
        if a.dtype.itemsize == 2 and a.dtype.kind not in "iu":
            return product(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
        return product(a, b)

    return run


def _product_for(xp: ArrayModule, op: Operation) -> Callable[[Any, Any], Any]:
    """Return the function that multiplies the matrices of a ``MatMul``, with only the checks that it needs."""
    if xp is not np:
        return xp.matmul if op.attrs["T"].size != 2 else _through_single(xp.matmul)
    if op.attrs["T"].size == 2:
        return _through_single(multiply)
    if not _has_sizes(op):
        return multiply
    left_sizes: Any = op.inputs[0].shape.sizes
    output_sizes: Any = op.outputs[0].shape.sizes
    depth, (rows, columns) = left_sizes[0 if op.attrs["transpose_a"] else 1], output_sizes
    if is_large_product(rows, depth, columns):
        return multiply
    return np.ndarray.dot if op.attrs["T"].is_floating else np.matmul


def _has_sizes(op: Operation) -> bool:
    return all(tensor.shape.is_fully_defined() for tensor in op.inputs)


def _incompatible(a: Any, b: Any) -> str:
    first, second = brackets(TensorShape(a.shape)), brackets(TensorShape(b.shape))
    return f"Matrix size-incompatible: In[0]: {first}, In[1]: {second}"


@binder("MatMul", fresh=True)
def _matmul(xp: ArrayModule, attrs: Any, op: Operation) -> Callable[..., Any]:
    """Bind ``matmul`` directly if the shapes were checked when the graph was built."""
    swap_a, swap_b = attrs["transpose_a"], attrs["transpose_b"]
    product = _product_for(xp, op)
    if _has_sizes(op):
        if swap_a:
            return (lambda a, b: product(a.T, b.T)) if swap_b else lambda a, b: product(a.T, b)
        return (lambda a, b: product(a, b.T)) if swap_b else product

    def multiply(a: Any, b: Any) -> Any:
        if a.ndim != 2 or b.ndim != 2:
            index, wrong = (0, a) if a.ndim != 2 else (1, b)
            sizes = brackets(TensorShape(wrong.shape))
            raise InvalidArgumentError.of(f"In[{index}] is not a matrix. Instead it has shape {sizes}")
        left, right = a.T if swap_a else a, b.T if swap_b else b
        if left.shape[1] != right.shape[0]:
            raise InvalidArgumentError.of(_incompatible(a, b))
        return product(left, right)

    return multiply


@compute("SparseMatMul", fresh=True)
def _sparse_matmul(xp: ArrayModule, a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    left, right = a.astype(xp.float32), b.astype(xp.float32)
    left, right = left.T if transpose_a else left, right.T if transpose_b else right
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise InvalidArgumentError.of(
            f"Matrix size incompatible: a: {brackets(TensorShape(a.shape))}, b: {brackets(TensorShape(b.shape))}"
        )
    return xp.matmul(left, right)


@shape_function("MatMul", "SparseMatMul")
def _matmul_shape(op: Operation) -> Any:
    a, b = require_rank(op.inputs[0].shape, 2).sizes, require_rank(op.inputs[1].shape, 2).sizes
    assert a is not None and b is not None
    a = a[::-1] if op.attrs["transpose_a"] else a
    b = b[::-1] if op.attrs["transpose_b"] else b
    merge_sizes(a[1], b[0])
    return (TensorShape.of((a[0], b[1])),)


@gradient("MatMul")
def _matmul_grad(op: Operation, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
    skipped = skipped_inputs(op)
    a = None if 1 in skipped else conjugate(op.inputs[0])
    b = None if 0 in skipped and 1 not in skipped else conjugate(op.inputs[1])
    swap_a, swap_b = op.attrs["transpose_a"], op.attrs["transpose_b"]

    def product(
        x: Tensor | None, y: Tensor | None, swap_x: bool = False, swap_y: bool = False
    ) -> Tensor | None:
        if x is None or y is None:  # the gradient that needs it is skipped
            return None
        return new("MatMul", a=x, b=y, transpose_a=swap_x, transpose_b=swap_y)

    if not swap_a and not swap_b:
        return product(grad, b, swap_y=True), product(a, grad, swap_x=True)
    if not swap_a:
        return product(grad, b), product(grad, a, swap_x=True)
    if not swap_b:
        return product(b, grad, swap_y=True), product(a, grad)
    return product(b, grad, True, True), product(grad, a, True, True)


@gradient("SparseMatMul")
def _sparse_matmul_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    a, b = op.inputs
    swap_a, swap_b = op.attrs["transpose_a"], op.attrs["transpose_b"]

    sparse = {a: op.attrs["a_is_sparse"], b: op.attrs["b_is_sparse"], grad: grad.op.type == "ReluGrad"}

    def product(x: Tensor, y: Tensor, swap_x: bool, swap_y: bool, like: Tensor) -> Tensor:
        right = transpose(y) if swap_y else y
        result = matmul(x, right, transpose_a=swap_x, a_is_sparse=sparse[x], b_is_sparse=sparse[y])
        return cast(result, like.dtype)

    left = product(b, grad, swap_b, True, a) if swap_a else product(grad, b, False, not swap_b, a)
    right = product(grad, a, True, swap_a, b) if swap_b else product(a, grad, not swap_a, False, b)
    return left, right


def batch_matmul(
    x: TensorLike, y: TensorLike, adj_x: bool = False, adj_y: bool = False, name: str | None = None
) -> Tensor:
    """Return the products of matrices in two batches of one shape (op ``BatchMatMul``).

    Args:
        x: ``[..., rows, inner]``: floating, complex, int32 or int64 (no integers on a GPU).
        y: ``[..., inner, columns]``, of the same type and with the same leading dimensions.
        adj_x: whether ``x`` is conjugated and transposed.
        adj_y: whether ``y`` is conjugated and transposed.
        name: name of the op.

    Returns:
        ``[..., rows, columns]`` of that type.

    Raises:
        ValueError: static sizes do not match, or a rank is below 2.
        TypeError: the types differ.
        InvalidArgumentError: at run time, sizes do not match.
    """
    return new("BatchMatMul", name, x=x, y=y, adj_x=adj_x, adj_y=adj_y)


def _adjoint(xp: ArrayModule, x: Array) -> Array:
    turned = xp.swapaxes(x, -1, -2)
    return xp.conjugate(turned) if x.dtype.kind == "c" else turned


@compute("BatchMatMul", "BatchMatMulV2", fresh=True)
def _batch_matmul(xp: ArrayModule, x: Array, y: Array, *, adj_x: bool, adj_y: bool) -> Array:
    if x.ndim < 2 or y.ndim < 2:
        index, wrong = (0, x) if x.ndim < 2 else (1, y)
        raise InvalidArgumentError.of(f"In[{index}] ndims must be >= 2: {wrong.ndim}")
    left, right = _adjoint(xp, x) if adj_x else x, _adjoint(xp, y) if adj_y else y
    if left.shape[-1] != right.shape[-2]:
        raise InvalidArgumentError.of(_incompatible(x, y))
    rows, (depth, columns) = left.shape[-2], right.shape[-2:]
    product = _through_single(multiply if xp is np else xp.matmul)
    if xp is not np or left.shape[:-2] != right.shape[:-2]:
        return product(left, right)
    result = xp.empty((*left.shape[:-1], columns), left.dtype)
    count = math.prod(result.shape[:-2])
    ours, theirs, results = (array.reshape(count, *array.shape[-2:]) for array in (left, right, result))

    def piece(part: slice) -> None:
        results[part] = product(ours[part], theirs[part])

    over(xp, count, (rows * depth + depth * columns + 2 * rows * columns) * left.itemsize, piece)
    return result


@shape_function("BatchMatMul", "BatchMatMulV2")
def _batch_matmul_shape(op: Operation) -> Any:
    a, b = op.inputs[0].shape.sizes, op.inputs[1].shape.sizes
    for sizes in (a, b):
        if sizes is not None and len(sizes) < 2:
            raise ValueError(f"Shape must be at least rank 2 but is rank {len(sizes)}")
    first, second = (UNKNOWN_SHAPE if sizes is None else TensorShape.of(sizes[:-2]) for sizes in (a, b))
    a, b = a or (None, None), b or (None, None)
    left = (a[-1], a[-2]) if op.attrs["adj_x"] else a[-2:]
    right = (b[-1], b[-2]) if op.attrs["adj_y"] else b[-2:]
    merge_sizes(left[1], right[0])
    batch = broadcast(first, second) if op.type == "BatchMatMulV2" else merge_shapes(first, second)
    return (batch.concatenate(TensorShape.of((left[0], right[1]))),)


@gradient("BatchMatMul", "BatchMatMulV2")
def _batch_matmul_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    x, y = op.inputs
    adj_x, adj_y = op.attrs["adj_x"], op.attrs["adj_y"]

    def product(first: Tensor, second: Tensor, adj_first: bool, adj_second: bool) -> Tensor:
        return matmul(first, second, adjoint_a=adj_first, adjoint_b=adj_second)

    grad_x = product(y, grad, adj_y, True) if adj_x else product(grad, y, False, not adj_y)
    grad_y = product(grad, x, True, adj_x) if adj_y else product(x, grad, not adj_x, False)
    same = x.shape.is_fully_defined() and y.shape.is_fully_defined() and x.shape == y.shape
    if op.type == "BatchMatMul" or same:
        return grad_x, grad_y
    shape_x, shape_y = shape_tensor(x), shape_tensor(y)

    axes_x, axes_y = apply_op("BroadcastGradientArgs", s0=shape_x[:-2], s1=shape_y[:-2]).outputs
    return sum_to(grad_x, axes_x, shape_x), sum_to(grad_y, axes_y, shape_y)


def matvec(
    a: TensorLike, b: TensorLike, transpose_a: bool = False, adjoint_a: bool = False, a_is_sparse: bool =
    False,
    b_is_sparse: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the product of a matrix and a vector, or of batches of them.

    Args:
        a: ``[..., rows, inner]``, of a type that ``matmul`` supports.
        b: ``[..., inner]``, of the same type.
        transpose_a: whether ``a`` is transposed, ``[..., inner, rows]``.
        adjoint_a: whether ``a`` is conjugated and transposed.
        a_is_sparse: whether ``a`` has many zeros; see ``matmul``.
        b_is_sparse: whether ``b`` has many zeros.
        name: name of the last op.

    Returns:
        ``[..., rows]`` of that type.

    Raises:
        ValueError: inner sizes differ, ranks are wrong, or ``a`` is both transposed and adjoint.
        TypeError: the types differ.
    """
    with name_scope(name, "MatVec", [a, b]) as scope:
        column = new("ExpandDims", input=b, dim=-1)
        product = matmul(
            a,
            column,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return new("Squeeze", scope, input=product, squeeze_dims=[-1])


# Diagonals and bands


def matrix_diag(
    diagonal: TensorLike, name: str = "diag", k: TensorLike = 0, num_rows: TensorLike = -1,
    num_cols: TensorLike = -1, padding_value: TensorLike = 0,
) -> Tensor:  # fmt: skip
    """Return matrices with the last dimension of ``diagonal`` on their diagonal and 0 elsewhere.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.matrix_diag([1, 2])).tolist()
    [[1, 0], [0, 2]]

    Any argument from ``k`` on selects the op ``MatrixDiagV2`` instead of ``MatrixDiag``. (TensorFlow 1.15 always adds
    ``MatrixDiag`` and ignores these arguments.)

    Args:
        diagonal: ``[..., n]``, numbers or bools (no integers on a GPU); for several diagonals, ``[..., diagonals, n]``,
            highest first.
        name: name of the op.
        k: the diagonal, positive above the main one; or the lowest and the highest of several.
        num_rows: number of rows; -1: as few as the diagonals need.
        num_cols: number of columns; -1: as few as the diagonals need.
        padding_value: the value of all other elements.

    Returns:
        ``[..., n, n]``, or ``[..., num_rows, num_cols]``, of the same type.

    Raises:
        ValueError: ``diagonal`` is known to be a scalar, or static sizes do not match; at run time,
            InvalidArgumentError.
    """
    if all(map(_is_default, (k, num_rows, num_cols, padding_value), (0, -1, -1, 0))):
        return new("MatrixDiag", name, diagonal=diagonal)
    diagonal = convert_to_tensor(diagonal, name="diagonal")
    padding = _padding(padding_value, diagonal)
    return new(
        "MatrixDiagV2",
        name,
        diagonal=diagonal,
        k=k,
        num_rows=num_rows,
        num_cols=num_cols,
        padding_value=padding,
    )


def _padding(value: TensorLike, like: Tensor) -> Tensor:
    """Return the padding for tensors of a type; a number becomes a bool for bools."""
    if like.dtype.is_bool and not isinstance(value, Tensor):
        value = bool(value)
    return convert_to_tensor(value, dtype=like.dtype, name="padding_value")


def _is_default(value: TensorLike, default: int) -> bool:
    """Return whether an argument has its default value."""
    return isinstance(value, int | float | bool | np.generic) and bool(value == default)


@compute("MatrixDiag")
def _matrix_diag(xp: ArrayModule, diagonal: Array) -> Array:
    if not diagonal.ndim:
        raise InvalidArgumentError.of("diagonal must be at least 1-dim, received shape: []")
    size = diagonal.shape[-1]
    result = xp.zeros((*diagonal.shape, size), diagonal.dtype)
    at = xp.arange(size)
    result[..., at, at] = diagonal
    return result


@shape_function("MatrixDiag")
def _matrix_diag_shape(op: Operation) -> Any:
    sizes = op.inputs[0].shape.sizes
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if not sizes:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    return (TensorShape.of((*sizes, sizes[-1])),)


@gradient("MatrixDiag")
def _matrix_diag_grad(op: Operation, grad: Tensor) -> Tensor:
    return matrix_diag_part(grad)


@dispatched
def matrix_diag_part(
    input: TensorLike, name: str = "diag_part", k: TensorLike = 0, padding_value: TensorLike = 0
) -> Tensor:
    """Return the diagonals of matrices.

    Args:
        input: ``[..., rows, columns]``, numbers or bools (no integers on a GPU).
        name: name of the op.
        k: the diagonal, or the lowest and the highest of several, as for ``matrix_diag``; selects the op
            ``MatrixDiagPartV2``.
        padding_value: padding for the shorter ones of several diagonals.

    Returns:
        ``[..., min(rows, columns)]`` of the same type; for several diagonals, ``[..., diagonals, longest]``.

    Raises:
        ValueError: the rank is known to be below 2; at run time, InvalidArgumentError.
    """
    if _is_default(k, 0):
        return new("MatrixDiagPart", name, input=input)
    input = convert_to_tensor(input, name="input")
    padding = _padding(padding_value, input)
    return new("MatrixDiagPartV2", name, input=input, k=k, padding_value=padding)


@compute("MatrixDiagPart")
def _matrix_diag_part(xp: ArrayModule, input: Array) -> Array:
    _require_matrix(input)
    return xp.array(xp.diagonal(input, axis1=-2, axis2=-1))


def _require_matrix(x: Any) -> None:
    if x.ndim < 2:
        sizes = brackets(TensorShape(x.shape))
        raise InvalidArgumentError.of(f"input must be at least 2-dim, received shape: {sizes}")


def _smaller(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


@shape_function("MatrixDiagPart")
def _matrix_diag_part_shape(op: Operation) -> Any:
    sizes = op.inputs[0].shape.sizes
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if len(sizes) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(sizes)}")
    return (TensorShape.of((*sizes[:-2], _smaller(*sizes[-2:]))),)


@gradient("MatrixDiagPart")
def _matrix_diag_part_grad(op: Operation, grad: Tensor) -> Tensor:
    matrix = op.inputs[0]
    sizes = matrix.shape.sizes
    if sizes is not None and sizes[-1] is not None and sizes[-1] == sizes[-2]:
        return matrix_diag(grad)
    return matrix_set_diag(zeros_like(matrix), grad)


def matrix_set_diag(
    input: TensorLike, diagonal: TensorLike, name: str = "set_diag", k: TensorLike = 0
) -> Tensor:
    """Return matrices with their diagonals replaced.

    Args:
        input: ``[..., rows, columns]``, numbers or bools (no integers on a GPU).
        diagonal: ``[..., min(rows, columns)]``, of the same type.
        name: name of the op.
        k: the diagonal, or the lowest and the highest of several, as for ``matrix_diag_part``; selects the op
            ``MatrixSetDiagV2``.

    Returns:
        A tensor like ``input``.

    Raises:
        ValueError: static shapes do not match; at run time, InvalidArgumentError.
        TypeError: the types differ.
    """
    if _is_default(k, 0):
        return new("MatrixSetDiag", name, input=input, diagonal=diagonal)
    return new("MatrixSetDiagV2", name, input=input, diagonal=diagonal, k=k)


@compute("MatrixSetDiag")
def _matrix_set_diag(xp: ArrayModule, input: Array, diagonal: Array) -> Array:
    _require_matrix(input)
    size = min(input.shape[-2:])
    if diagonal.shape != (*input.shape[:-2], size):
        raise InvalidArgumentError.of(
            f"must have diagonal.shape == input.shape[:-2] + min(input.shape[-2:]), but received input shape:"
            f" {brackets(TensorShape(input.shape))} and diagonal shape: {brackets(TensorShape(diagonal.shape))}"
        )
    result = xp.array(input)
    at = xp.arange(size)
    result[..., at, at] = diagonal
    return result


@shape_function("MatrixSetDiag")
def _matrix_set_diag_shape(op: Operation) -> Any:
    sizes, diagonal = op.inputs[0].shape.sizes, op.inputs[1].shape
    require_rank_at_least(diagonal, 1)
    if sizes is None:
        part = diagonal.sizes
        return (UNKNOWN_SHAPE if part is None else TensorShape.of((*part[:-1], None, None)),)
    if len(sizes) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(sizes)}")
    least = TensorShape.of((*sizes[:-2], _smaller(*sizes[-2:])))
    batch = merge_shapes(least, diagonal).sizes or ()
    return (TensorShape.of((*batch[:-1], *sizes[-2:])),)


@gradient("MatrixSetDiag")
def _matrix_set_diag_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    matrices = op.inputs[0].shape.merge_with(grad.shape)
    batch = matrices[:-2].merge_with(op.inputs[1].shape[:-1])
    sizes: Any
    if batch.is_fully_defined() and matrices[-2:].is_fully_defined():
        sizes = [*batch.as_list(), min(matrices[-2:].as_list())]
    else:
        with grad.graph.colocate_with(grad.op):
            shape, rank = shape_tensor(grad), rank_of(grad)
            outer = new("Slice", input=shape, begin=[0], size=[rank - 2])
            inner = new("Slice", input=shape, begin=[rank - 2], size=[2])
            least = new("Min", input=inner, reduction_indices=make_constant([0], int32))
            sizes = concat([outer, [least]], 0)
    rest = matrix_set_diag(grad, zeros(sizes, grad.dtype))
    return rest, matrix_diag_part(grad)


def matrix_band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None
) -> Tensor:
    """Return matrices with 0 outside a band around the diagonal.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.matrix_band_part([[1, 2], [3, 4]], 0, -1)).tolist()  # the upper triangle
    [[1, 2], [0, 4]]

    Args:
        input: ``[..., rows, columns]``, numbers or bools (no integers on a GPU).
        num_lower: number of diagonals to keep below the main one, a scalar int32 or int64; all if negative.
        num_upper: number of diagonals to keep above the main one, of the same type; all if negative.
        name: name of the op.

    Returns:
        A tensor like ``input``.

    Raises:
        InvalidArgumentError: at run time, ``num_lower`` is above ``rows``, or ``num_upper`` above ``columns``.
    """
    return new("MatrixBandPart", name, input=input, num_lower=num_lower, num_upper=num_upper)


@compute("MatrixBandPart")
def _matrix_band_part(xp: ArrayModule, input: Array, num_lower: Array, num_upper: Array) -> Array:
    _require_matrix(input)
    rows, columns = input.shape[-2:]
    lower = int_of(num_lower, "num_lower must be scalar, got shape")
    upper = int_of(num_upper, "num_upper must be scalar, got shape")
    for label, value, limit in (("num_lower", lower, rows), ("num_upper", upper, columns)):
        if value > limit:
            bound = "rows" if label == "num_lower" else "columns"
            raise InvalidArgumentError.of(
                f"{label} must be negative or less or equal to number of {bound} ({limit}) got: {value}"
            )
    below = xp.arange(rows)[:, None] - xp.arange(columns)
    inside = (below <= (rows if lower < 0 else lower)) & (-below <= (columns if upper < 0 else upper))
    return xp.where(inside, input, xp.zeros((), input.dtype))


shape_function("MatrixBandPart")(same_shape)


@gradient("MatrixBandPart")
def _matrix_band_part_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None]:
    return matrix_band_part(grad, op.inputs[1], op.inputs[2]), None, None


def diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor of twice the rank with ``diagonal`` where both halves of the indices are equal, and 0 elsewhere.

    >>> import gpuplace as tf
    >>> tf.diag(tf.zeros([2, 3])).shape.as_list()
    [2, 3, 2, 3]

    Args:
        diagonal: float32, float64, complex, int32 or int64, of any shape.
        name: name of the op.

    Returns:
        A tensor of the same type with ``diagonal``'s shape twice.

    Raises:
        TypeError: the type is not supported.
    """
    return new("Diag", name, diagonal=diagonal)


@compute("Diag")
def _diag(xp: ArrayModule, diagonal: Array) -> Array:
    result = xp.zeros((diagonal.size, diagonal.size), diagonal.dtype)
    at = xp.arange(diagonal.size)
    result[at, at] = diagonal.reshape(-1)
    return result.reshape(diagonal.shape * 2)


@shape_function("Diag")
def _diag_shape(op: Operation) -> Any:
    shape = require_rank_at_least(op.inputs[0].shape, 1)
    return (shape.concatenate(shape),)


@gradient("Diag")
def _diag_grad(op: Operation, grad: Tensor) -> Tensor:
    return new("DiagPart", input=grad)


def diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the diagonal of a tensor whose shape has two equal halves: the inverse of ``diag``.

    Args:
        input: float32, float64, complex, int32 or int64, of a positive, even rank.
        name: name of the op.

    Returns:
        A tensor of the same type with the first half of ``input``'s shape.

    Raises:
        ValueError: the rank is known to be odd or 0, or the halves of the shape are known to differ.
        InvalidArgumentError: at run time, in the same cases.
    """
    return new("DiagPart", name, input=input)


@compute("DiagPart")
def _diag_part(xp: ArrayModule, input: Array) -> Array:
    half = input.ndim // 2
    if input.ndim % 2 or not input.ndim or input.shape[:half] != input.shape[half:]:
        raise InvalidArgumentError.of(
            f"The rank of the tensor should be even and positive, got shape {brackets(TensorShape(input.shape))}"
        )
    count = 1
    for size in input.shape[:half]:
        count *= size
    return xp.array(xp.diagonal(input.reshape(count, count))).reshape(input.shape[:half])


@shape_function("DiagPart")
def _diag_part_shape(op: Operation) -> Any:
    sizes = op.inputs[0].shape.sizes
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if len(sizes) % 2 or not sizes:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(sizes)}")
    half = len(sizes) // 2
    return (TensorShape.of(tuple(map(merge_sizes, sizes[:half], sizes[half:]))),)


@gradient("DiagPart")
def _diag_part_grad(op: Operation, grad: Tensor) -> Tensor:
    return new("Diag", diagonal=grad)


@dispatched
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the traces of matrices.

    Args:
        x: ``[..., rows, columns]``, numbers.
        name: name of the op.

    Returns:
        ``[...]`` of the same type.

    Raises:
        ValueError: the rank is known to be below 2.
    """
    with name_scope(name, "Trace", [x]) as scope:
        part = matrix_diag_part(convert_to_tensor(x, name="x"))
        return new("Sum", scope, input=part, reduction_indices=[-1])


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Return the cross products of vectors of length 3.

    Args:
        a: ``[..., 3]``, real numbers.
        b: of the same type and shape.
        name: name of the op.

    Returns:
        A tensor like ``a``.

    Raises:
        TypeError: the types differ or are not real.
        ValueError: static shapes differ.
        InvalidArgumentError: at run time, the shapes differ, or the last dimension is not 3.
    """
    return new("Cross", name, a=a, b=b)


@compute("Cross")
def _cross(xp: ArrayModule, a: Array, b: Array) -> Array:
    if a.shape != b.shape or not a.ndim or a.shape[-1] != 3:
        raise InvalidArgumentError.of(
            f"Both inputs must be of same shape, with 3 elements in the last dimension:"
            f" {brackets(TensorShape(a.shape))} vs. {brackets(TensorShape(b.shape))}"
        )
    left, right = [1, 2, 0], [2, 0, 1]
    return a[..., left] * b[..., right] - a[..., right] * b[..., left]


@shape_function("Cross")
def _cross_shape(op: Operation) -> Any:
    return (merge_shapes(op.inputs[0].shape, op.inputs[1].shape),)


@gradient("Cross")
def _cross_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    return cross(op.inputs[1], grad), cross(grad, op.inputs[0])


binary_operator("matmul", matmul)
