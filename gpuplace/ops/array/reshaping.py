"""Tensor shapes and ops that change them: reshape, squeeze, transpose; and identity ops.

Source: tensorflow/python/ops/array_ops.py, array_grad.py and tensorflow/core/ops/array_ops.cc, release 1.15.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_n_to_tensor, convert_to_tensor, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.arguments import list_of
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.shape_rules import merge_shapes
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from gpuplace.ops.support import new, new_list, same_shape, scalar_shape, shape_tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, as_shape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, SizesLike, TensorLike

__all__ = [
    "shape", "shape_n", "size", "rank", "reshape", "expand_dims", "squeeze", "transpose", "matrix_transpose",
    "identity", "identity_n", "stop_gradient", "ensure_shape", "check_numerics",
    "verify_tensor_all_finite", "guarantee_const",
]  # fmt: skip


def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Tensor:
    """Return the shape as a vector, a constant if it is static.

    Args:
        input: a tensor of any type, or a sparse one.
        name: name of the op.
        out_type: int32 or int64.

    Returns:
        ``[rank]`` of that type.
    """
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            return new("Cast", x=input.dense_shape, DstT=out_type)
        input = convert_to_tensor(input)
        if input.shape.is_fully_defined():
            return make_constant(input.shape.as_list(), out_type, name=scope)
        return new("Shape", scope, input=input, out_type=out_type)


@compute("Shape", fresh=True)
def _shape(xp: ArrayModule, input: Array, *, out_type: Any) -> Array:
    return xp.array(input.shape, out_type.as_numpy_dtype)


@shape_function("Shape")
def _shape_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (TensorShape.of((op.inputs[0].shape.ndims,)),)


def shape_n(input: TensorLike, out_type: DTypeLike = int32, name: str | None = None) -> list[Tensor]:
    """Return the shape of each of several tensors.

    Args:
        input: a list of tensors of one type.
        out_type: int32 or int64.
        name: name of the op.

    Returns:
        A list of vectors of that type.
    """
    return new_list("ShapeN", name, input=input, out_type=out_type)


@compute("ShapeN")
def _shape_n(xp: ArrayModule, input: list[Any], *, out_type: Any) -> tuple[Array, ...]:
    return tuple(xp.array(item.shape, out_type.as_numpy_dtype) for item in input)


@shape_function("ShapeN")
def _shape_n_shape(op: Operation) -> tuple[TensorShape, ...]:
    return tuple(TensorShape.of((tensor.shape.ndims,)) for tensor in op.inputs)


def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Tensor:
    """Return the number of elements, a constant if it is static.

    Args:
        input: a tensor of any type, or a sparse one.
        name: name of the op.
        out_type: int32 or int64.

    Returns:
        A scalar of that type.
    """
    with name_scope(name, "Size", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            sizes = new("Cast", x=input.dense_shape, DstT=out_type)
            return new("Prod", scope, input=sizes, reduction_indices=0)
        input = convert_to_tensor(input)
        count = input.shape.num_elements()
        if count is not None:
            return make_constant(count, out_type, name=scope)
        return new("Size", scope, input=input, out_type=out_type)


@compute("Size", fresh=True)
def _size(xp: ArrayModule, input: Array, *, out_type: Any) -> Array:
    return xp.array(input.size, out_type.as_numpy_dtype)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the number of dimensions, a constant if it is static.

    Args:
        input: a tensor of any type, or a sparse one.
        name: name of the op.

    Returns:
        A scalar int32.
    """
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            return new("Size", scope, input=input.dense_shape)
        input = convert_to_tensor(input)
        if input.shape.ndims is not None:
            return make_constant(input.shape.ndims, int32, name=scope)
        return new("Rank", scope, input=input)


@compute("Rank", fresh=True)
def _rank(xp: ArrayModule, input: Array) -> Array:
    return xp.array(input.ndim, xp.int32)


shape_function("Size", "Rank")(scalar_shape)
not_differentiable("Shape", "ShapeN", "Size", "Rank")


# The same elements in another shape


def reshape(tensor: TensorLike, shape: SizesLike, name: str | None = None) -> Tensor:
    """Return the elements in another shape.

    >>> import gpuplace as tf
    >>> tf.reshape(tf.zeros([2, 6]), [3, -1]).shape.as_list()
    [3, 4]

    Args:
        tensor: a tensor of any type.
        shape: sizes, an int32 or int64 vector; one of them may be -1, which is then inferred.
        name: name of the op.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: the static numbers of elements differ.
        InvalidArgumentError: at run time, the numbers of elements differ, or two sizes are -1.
    """
    return new("Reshape", name, tensor=tensor, shape=shape)


@binder("Reshape", shares=True)
def _bind_reshape(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    """Read a constant's sizes once: every step passes the same array, unless it feeds a shape."""
    general = functools.partial(_reshape, xp)
    static_shape = constant_value(op.inputs[1])
    if static_shape is None or static_shape.ndim != 1 or (static_shape < -1).any():
        return general
    sizes = static_shape.tolist()

    def fixed(tensor: Array, shape: Array) -> Any:
        if shape is static_shape:
            try:
                return tensor.reshape(sizes)
            except ValueError:
                pass  # the general function reports the error
        return general(tensor, shape)

    return fixed


def _reshape(xp: Any, tensor: Array, shape: Array) -> Array:
    sizes = list_of(shape, "sizes input must be 1-D, not")
    try:
        if min(sizes, default=0) >= -1:
            return tensor.reshape(sizes)
    except ValueError:
        pass  # NumPy cannot infer a size of an empty tensor; other errors get TensorFlow's message
    free = [axis for axis, size in enumerate(sizes) if size == -1]
    fixed = 1
    for axis, length in enumerate(sizes):
        if length < -1:
            raise InvalidArgumentError.of(f"Size {axis} must be non-negative, not {length}")
        fixed *= 1 if length == -1 else length
    has_none = 0 in sizes
    if len(free) > 1:
        raise InvalidArgumentError.of(f"Only one input size may be -1, not both {free[0]} and {free[1]}")
    if free:
        # Drop sizes of 0 from both sides; the rest determines the free size.
        counted = math.prod(size for size in tensor.shape if size or not has_none)
        product = math.prod(size for size in sizes if size > 0)
        if counted % product and not (has_none and 0 in tensor.shape):
            raise _multiple_error(tensor.size, fixed)
        sizes[free[0]] = counted // product
        fixed = math.prod(sizes)
    if fixed != tensor.size:
        raise InvalidArgumentError.of(
            f"Input to reshape is a tensor with {tensor.size} values, but the requested shape has {fixed}"
        )
    return tensor.reshape(sizes)


def _multiple_error(count: int, fixed: int) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"Input to reshape is a tensor with {count} values, but the requested shape requires a multiple of {fixed}"
    )


@shape_function("Reshape")
def _reshape_shape(op: Operation) -> tuple[TensorShape, ...]:
    input_shape, target = op.inputs[0].shape, constant_value_as_shape(op.inputs[1])
    count = 0 if input_shape.sizes is not None and 0 in input_shape.sizes else input_shape.num_elements()
    if target.sizes is None or count is None and None not in target.sizes:
        return (target,)
    free = [axis for axis, length in enumerate(target.sizes) if length is None]
    fixed = 1
    for length in target.sizes:
        fixed *= 1 if length is None else length
    if not free:
        if count != fixed:
            raise ValueError(
                f"Cannot reshape a tensor with {count} elements to shape {brackets(target)} ({fixed} elements)"
            )
        return (target,)
    if len(free) > 1 or count is None or fixed == 0:
        return (target,)
    if count % fixed:
        raise ValueError(f"Dimension size must be evenly divisible by {fixed} but is {count}")
    sizes = list(target.sizes)
    sizes[free[0]] = count // fixed
    return (TensorShape.of(tuple(sizes)),)


@gradient("Reshape")
def _reshape_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return reshape(grad, shape_tensor(op.inputs[0])), None


def expand_dims(
    input: TensorLike, axis: TensorLike | None = None, name: str | None = None, dim: TensorLike | None = None
) -> Tensor:
    """Insert a dimension of size 1 into ``input``.

    Args:
        input: a tensor of any type.
        axis: position of the new dimension, a scalar int32 or int64; negative values count from the end of the result's
            dimensions.
        name: name of the op.
        dim: deprecated name of ``axis``.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: none or both of ``axis`` and ``dim`` are given, or the axis is known to be out of range.
        InvalidArgumentError: at run time, the axis is out of range.
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return new("ExpandDims", name, input=input, dim=axis)


@compute("ExpandDims", shares=True)
def _expand_dims(xp: ArrayModule, input: Array, dim: Array) -> Array:
    if dim.size != 1:
        raise InvalidArgumentError.of("'dim' must be a tensor with a single value")
    axis = int(dim.reshape(-1)[0])
    if not -1 - input.ndim <= axis <= input.ndim:
        raise InvalidArgumentError.of(
            f"Tried to expand dim index {axis} for tensor with {input.ndim} dimensions."
        )
    return xp.expand_dims(input, axis)


@shape_function("ExpandDims")
def _expand_dims_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, axis = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if axis is None:
        return (TensorShape.of((None,) * (len(sizes) + 1)),)
    if axis.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value")
    at = int(axis.reshape(-1)[0])
    if not -1 - len(sizes) <= at <= len(sizes):
        raise ValueError(f"dim {at} not in the interval [{-1 - len(sizes)}, {len(sizes)}].")
    at += len(sizes) + 1 if at < 0 else 0
    return (TensorShape.of((*sizes[:at], 1, *sizes[at:])),)


def squeeze(
    input: TensorLike, axis: TensorLike | None = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Remove dimensions of size 1 from ``input``.

    Args:
        input: a tensor of any type.
        axis: the dimensions to remove, an integer or a list; negative values count from the end. None: all of size 1.
        name: name of the op.
        squeeze_dims: deprecated name of ``axis``.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: both ``axis`` and ``squeeze_dims`` are given, or a dimension is out of range or known not to be 1.
        InvalidArgumentError: at run time, in the same cases.
    """
    axis = deprecated_argument_lookup("axis", axis, "squeeze_dims", squeeze_dims)
    axes = [] if axis is None else [axis] if not isinstance(axis, (list, tuple)) else list(axis)
    return new("Squeeze", name, input=input, squeeze_dims=axes)


@compute("Squeeze", shares=True)
def _squeeze(xp: ArrayModule, input: Array, *, squeeze_dims: Any) -> Array:
    for axis in squeeze_dims:
        if not -input.ndim <= axis < input.ndim:
            raise InvalidArgumentError.of(
                f"Tried to squeeze dim index {axis} for tensor with {input.ndim} dimensions."
            )
        if input.shape[axis] != 1:
            raise InvalidArgumentError.of(
                f"Can not squeeze dim[{axis % input.ndim}], expected a dimension of 1, got {input.shape[axis]}"
            )
    return xp.squeeze(input, tuple(squeeze_dims) or None)


@shape_function("Squeeze")
def _squeeze_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, axes = op.inputs[0].shape.sizes, op.attrs["squeeze_dims"]
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if not axes:
        if None in sizes:
            return (UNKNOWN_SHAPE,)
        return (TensorShape.of(tuple(length for length in sizes if length != 1)),)
    removed = set()
    for axis in axes:
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"squeeze_dims[0] not in [{-len(sizes)},{len(sizes)})")
        at = axis % len(sizes)
        if sizes[at] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{at}], expected a dimension of 1, got {sizes[at]}")
        removed.add(at)
    return (TensorShape.of(tuple(length for at, length in enumerate(sizes) if at not in removed)),)


@gradient("ExpandDims")
def _expand_dims_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return reshape(grad, shape_tensor(op.inputs[0])), None


@gradient("Squeeze")
def _squeeze_grad(op: Operation, grad: Tensor) -> Tensor:
    return reshape(grad, shape_tensor(op.inputs[0]))


# Another order of dimensions


def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """Permute the dimensions of ``a``.

    >>> import gpuplace as tf
    >>> tf.transpose(tf.zeros([2, 3, 4]), [2, 0, 1]).shape.as_list()
    [4, 2, 3]

    Args:
        a: a tensor of any type.
        perm: the dimension of ``a`` for each dimension of the result, an int32 or int64 vector. None: reversed.
        name: name of the op.
        conjugate: also conjugate complex numbers (op ``ConjugateTranspose``).

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: a static ``perm`` has another length, or a number out of range.
        InvalidArgumentError: at run time, ``perm`` is not a permutation.
    """
    with name_scope(name, "transpose", [a]) as scope:
        op_type = "Transpose"
        if conjugate:
            a = convert_to_tensor(a, name="a")
            op_type = "ConjugateTranspose" if a.dtype.is_complex else op_type
        if perm is None:
            a = convert_to_tensor(a, name="a")
            if a.shape.ndims is None:
                dims = new("Rank", input=a)
                perm = (dims - 1) - new("Range", start=0, limit=dims, delta=1)
            else:
                perm = list(range(a.shape.ndims))[::-1]
                perm = convert_to_tensor(perm, int32, name="perm")
        return new(op_type, scope, x=a, perm=perm)


@compute("Transpose", "ConjugateTranspose", views=True)
def _transpose(xp: ArrayModule, x: Array, perm: Array, *, ctx: Any) -> Array:
    order = list_of(perm, "perm must be a vector, not")
    if len(order) != x.ndim:
        raise InvalidArgumentError.of(
            f"transpose expects a vector of size {x.ndim}. But input(1) is a vector of size {len(order)}"
        )
    for axis in range(x.ndim):
        if axis not in order:
            for wrong in order:
                if not 0 <= wrong < x.ndim:
                    raise InvalidArgumentError.of(f"{wrong} is out of range [0 .. {x.ndim})")
            raise InvalidArgumentError.of(f"{axis} is missing from {{{','.join(map(str, order))}}}.")
    result = xp.transpose(x, order)
    return xp.conjugate(result) if ctx.op.type == "ConjugateTranspose" and x.dtype.kind == "c" else result


@shape_function("Transpose", "ConjugateTranspose")
def _transpose_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, perm = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None:
        count = op.inputs[1].shape.num_elements() if perm is None else perm.size
        if count is None or (perm is None and count == 1):
            return (UNKNOWN_SHAPE,)
        return (TensorShape.of((None,) * count),)
    count = op.inputs[1].shape.num_elements()
    if count is not None and count != len(sizes):
        raise ValueError(f"Dimension must be {len(sizes)} but is {count}")
    if perm is None:
        return (TensorShape.of((None,) * len(sizes)),)
    if any(not -len(sizes) <= axis < len(sizes) for axis in perm.tolist()):
        wrong = next(axis for axis in perm.tolist() if not -len(sizes) <= axis < len(sizes))
        raise ValueError(f"perm dim {wrong} is out of range of input rank {len(sizes)}")
    return (TensorShape.of(tuple(sizes[axis] for axis in perm.tolist())),)


@gradient("Transpose", "ConjugateTranspose")
def _transpose_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    back = new("InvertPermutation", x=op.inputs[1])
    return transpose(grad, back, conjugate=op.type == "ConjugateTranspose"), None


def matrix_transpose(a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Swap the last two dimensions of ``a``.

    Args:
        a: ``[..., rows, columns]`` of any type.
        name: name of the scope.
        conjugate: also conjugate complex numbers.

    Returns:
        ``[..., columns, rows]`` of the same type.

    Raises:
        ValueError: the rank is known to be below 2.
    """
    with name_scope(name, "matrix_transpose", [a]):
        a = convert_to_tensor(a, name="a")
        dims = a.shape.ndims
        if dims is None:
            dims_tensor = new("Rank", input=a)
            outer = new("Range", start=0, limit=dims_tensor - 2, delta=1)
            inner = [dims_tensor - 1, dims_tensor - 2]
            perm: Any = new("ConcatV2", "concat", values=[outer, inner], axis=0)
        elif dims < 2:
            raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {a.shape}")
        else:
            perm = [*range(dims - 2), dims - 1, dims - 2]
        return transpose(a, perm=perm, conjugate=conjugate)


# Identity ops


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor with the same elements: a new node with the same value.

    Args:
        input: a tensor of any type, a sparse tensor or ``IndexedSlices``; for a variable, its value.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    parts: Any = None
    if isinstance(input, SparseTensor | SparseTensorValue):
        parts = SparseTensor(
            *(new("Identity", input=item) for item in (input.indices, input.values, input.dense_shape))
        )
    elif isinstance(input, IndexedSlices):
        values, indices = (new("Identity", input=item) for item in (input.values, input.indices))
        shape = None if input.dense_shape is None else new("Identity", input=input.dense_shape)
        parts = IndexedSlices(values, indices, shape)
    if parts is not None:
        return parts
    result = new("Identity", name, input=input)
    if hasattr(input, "_handle_data"):
        result._handle_data = input._handle_data  # type: ignore[attr-defined]
    return result


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Return ``input``, treated as a constant by gradients.

    Args:
        input: a tensor of any type.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("StopGradient", name, input=input)


def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """Return ``input`` with the promise that it never changes; on the CPU only.

    Args:
        input: a tensor of any type.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("GuaranteeConst", name, input=input)


@compute("Identity", "StopGradient", "Snapshot", "GuaranteeConst", forwards=True)
@compute("RefIdentity")
def _identity(xp: ArrayModule, input: Array) -> Array:
    return input


shape_function("Identity", "StopGradient", "Snapshot", "GuaranteeConst", "RefIdentity")(same_shape)


@gradient("Identity", "RefIdentity", "EnsureShape")
def _identity_grad(op: Operation, grad: Tensor) -> Tensor:
    return grad


not_differentiable("StopGradient")


def identity_n(input: TensorLike, name: str | None = None) -> list[Tensor]:
    """Return several tensors unchanged, in one node that runs when all of them are available.

    Args:
        input: a list of tensors, of any types.
        name: name of the op.

    Returns:
        A list of tensors like these.
    """
    return new_list("IdentityN", name, input=convert_n_to_tensor(input))


@compute("IdentityN", shares=True)
def _identity_n(xp: ArrayModule, input: list[Any]) -> Any:
    return tuple(input)


@shape_function("IdentityN")
def _identity_n_shape(op: Operation) -> tuple[TensorShape, ...]:
    return tuple(tensor.shape for tensor in op.inputs)


@gradient("IdentityN")
def _identity_n_grad(op: Operation, *grads: Tensor) -> Any:
    return grads


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return ``x`` after a shape check at run time; the result has the checked static shape.

    Args:
        x: a tensor of any type.
        shape: a shape, possibly partial, such as ``[None, 3]``.
        name: name of the op.

    Returns:
        A tensor like ``x``, with that static shape.

    Raises:
        ValueError: the static shape does not match.
        InvalidArgumentError: at run time, the shape does not match.
    """
    return new("EnsureShape", name, input=x, shape=as_shape(shape))


@compute("EnsureShape", shares=True)
def _ensure_shape(xp: ArrayModule, input: Array, *, shape: Any, ctx: Any) -> Array:
    if not shape.is_compatible_with(input.shape):
        raise InvalidArgumentError.of(
            f"Shape of tensor {ctx.op.inputs[0].op.name} {brackets(TensorShape(input.shape))} is not compatible with"
            f" expected shape {brackets(shape)}."
        )
    return input


@shape_function("EnsureShape")
def _ensure_shape_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (merge_shapes(op.attrs["shape"], op.inputs[0].shape),)


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """Return ``tensor`` after a check for NaN and infinity.

    Args:
        tensor: floating-point, of any shape.
        message: prefix of the error message.
        name: name of the op.

    Returns:
        A tensor like ``tensor``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, an element is NaN or infinite.
    """
    return new("CheckNumerics", name, tensor=tensor, message=message)


@compute("CheckNumerics", shares=True)
def _check_numerics(xp: ArrayModule, tensor: Array, *, message: bytes) -> Array:
    if not xp.isfinite(tensor).all():
        nan, inf = bool(xp.isnan(tensor).any()), bool(xp.isinf(tensor).any())
        label = "Inf and NaN" if nan and inf else "NaN" if nan else "Inf"
        raise InvalidArgumentError.of(f"{message.decode()} : Tensor had {label} values")
    return tensor


shape_function("CheckNumerics")(same_shape)


@gradient("CheckNumerics")
def _check_numerics_grad(op: Operation, grad: Tensor) -> Tensor:
    text = op.attrs["message"]  # TensorFlow's format: b'...'
    return check_numerics(grad, f"Not a number (NaN) or infinity (Inf) values detected in gradient. {text}")


def verify_tensor_all_finite(t: TensorLike, msg: str, name: str | None = None) -> Tensor:
    """Return ``t`` after a check, on the same device, for NaN and infinity.

    Args:
        t: floating-point, of any shape.
        msg: prefix of the error message.
        name: name of the scope.

    Returns:
        A tensor like ``t``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, an element is NaN or infinite.
    """
    with name_scope(name, "VerifyFinite", [t]):
        t = convert_to_tensor(t, name="t")
        with t.graph.colocate_with(t):
            check = check_numerics(t, message=msg)
            with t.graph.control_dependencies([check]):
                return identity(t, name="control_dependency")
