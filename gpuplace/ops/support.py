"""Helpers shared by the op library: adding an op, elementwise shapes, gradients of broadcasting.

Source: tensorflow/core/framework/common_shape_fns.cc and tensorflow/python/ops/math_grad.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import make_constant
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.ops.gradients.registry import skipped_inputs
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import ArrayModule, DTypeLike


def new(op_type: str, name: str | None = None, **arguments: Any) -> Tensor:
    """Add an op with one output and return the output; the arguments are those of ``apply_op``."""
    return apply_op(op_type, name, **arguments).outputs[0]


def new_list(op_type: str, name: str | None = None, **arguments: Any) -> list[Tensor]:
    """Add an op and return its outputs."""
    return list(apply_op(op_type, name, **arguments).outputs)


def same_shape(op: Operation) -> Sequence[TensorShape]:
    """Shape function: every output has the shape of the first input."""
    return (op.inputs[0].shape,) * max(1, len(op.op_def.outputs if op.op_def else ()))


def scalar_shape(op: Operation) -> Sequence[TensorShape]:
    """Shape function: one scalar."""
    return (TensorShape.of(()),)


def shape_of_second(op: Operation) -> Sequence[TensorShape]:
    """Shape function: the shape of the second input."""
    return (op.inputs[1].shape,)


def unknown_shape(op: Operation) -> Sequence[TensorShape]:
    """Shape function: a shape that is known only at run time."""
    return (UNKNOWN_SHAPE,)


def no_outputs(op: Operation) -> Sequence[TensorShape]:
    """Shape function of ops without outputs."""
    return ()


def broadcast(left: TensorShape, right: TensorShape) -> TensorShape:
    """Return the shape of an elementwise result; raise ValueError with the message of the C++ shape functions."""
    a, b = left.sizes, right.sizes
    if a is None or b is None:
        return UNKNOWN_SHAPE
    if a == b and None not in a:
        return left
    rank = max(len(a), len(b))
    result: list[int | None] = []
    for x, y in zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True):
        if x is None or y is None:
            size = y if x is None else x
            result.append(None if size == 1 else size)
        elif x == y or y == 1:
            result.append(x)
        elif x == 1:
            result.append(y)
        else:
            raise ValueError(f"Dimensions must be equal, but are {x} and {y}")
    return TensorShape.of(tuple(result))


def broadcast_shape(op: Operation) -> Sequence[TensorShape]:
    """Shape function: the first two inputs broadcast against each other."""
    return (broadcast(op.inputs[0].shape, op.inputs[1].shape),)


def unary_ufunc(function: str, *op_types: str, slow: bool = False) -> None:
    """Define elementwise ops that are one NumPy function of one tensor, which a plan calls directly."""
    shape_function(*op_types)(same_shape)
    _ufunc(function, op_types, slow)


def binary_ufunc(function: str, *op_types: str) -> None:
    """Define elementwise ops that are one NumPy function of two broadcast tensors, which a plan calls directly."""
    shape_function(*op_types)(broadcast_shape)
    _ufunc(function, op_types)


def _ufunc(function: str, op_types: tuple[str, ...], slow: bool = False) -> None:
    def bare(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
        return getattr(xp, function)

    bare.__qualname__ = f"{function}_of_{'_'.join(op_types)}"
    binder(*op_types, elementwise=True, slow=slow)(bare)


def shape_tensor(tensor: Tensor) -> Tensor:
    """Return the shape of ``tensor`` as an int32 vector, a constant if it is static."""
    from_sizes = tensor.shape.sizes
    if from_sizes is None or None in from_sizes:
        return new("Shape", input=tensor)
    return constant_of(list(from_sizes), "Shape")


def constant_of(value: Any, name: str, dtype: DTypeLike = "int32") -> Tensor:
    """Return a constant of that type; ``value`` may be an empty list."""
    return make_constant(value, dtype, name=name)


def sum_to(grad: Tensor, axes: Tensor, shape: Tensor) -> Tensor:
    """Sum ``grad`` over ``axes`` and reshape it to ``shape``: the gradient of a broadcast."""
    return new("Reshape", tensor=new("Sum", input=grad, reduction_indices=axes), shape=shape)


Broadcast = list[tuple[Tensor, Tensor]]
"""For each input of a binary operation, the axes to sum its gradient over and its shape."""


def broadcast_of(x: Tensor, y: Tensor) -> Broadcast:
    """Return the axes along which two tensors are broadcast, and their shapes."""
    shapes = shape_tensor(x), shape_tensor(y)
    axes = apply_op("BroadcastGradientArgs", s0=shapes[0], s1=shapes[1]).outputs
    return list(zip(axes, shapes, strict=True))


def broadcast_gradients(
    op: Operation, of_x: Callable[[], Tensor], of_y: Callable[[], Tensor]
) -> tuple[Tensor, Tensor]:
    """Return the gradients that two functions build, each reduced to its input's shape before the next is built."""
    back_x, back_y = broadcast_of(*op.inputs[:2])
    first = sum_to(of_x(), *back_x)
    return first, sum_to(of_y(), *back_y)


def _reduced_axes(sizes: tuple[int | None, ...], other: tuple[int | None, ...]) -> list[int]:
    """Return the axes of the broadcast shape over which to sum a gradient back to ``mine``."""
    rank = max(len(sizes), len(other))
    padded = (1,) * (rank - len(sizes)) + sizes
    return [axis for axis in range(rank) if padded[axis] == 1]


def is_first_alone_needed(op: Operation) -> bool:
    """Return whether the second input is a scalar whose gradient is not needed."""
    return 1 in skipped_inputs(op) and op.inputs[1].shape.sizes == ()


def reduced_gradients(
    op: Operation, grad: Tensor, of_x: Callable[[], Tensor], of_y: Callable[[], Tensor]
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients that two functions build, summed where an input's static shape differs from the output's.

    Static shapes make the axes constants. As in TensorFlow, the operation that finds the axes stays in the graph at the
    first use of a pair of shapes. A gradient that is not needed is None.
    """
    x, y = op.inputs[:2]
    a, b = x.shape.sizes, y.shape.sizes
    skipped = skipped_inputs(op)
    if a is None or b is None or None in a or None in b:
        shape_x, shape_y = new("Shape", input=x), new("Shape", input=y)
        axes_x, axes_y = apply_op("BroadcastGradientArgs", s0=shape_x, s1=shape_y).outputs
        first = None if 0 in skipped else sum_to(of_x(), axes_x, shape_x)
        return first, None if 1 in skipped else sum_to(of_y(), axes_y, shape_y)
    pairs_seen: set[tuple[Any, Any]] = op.graph.attached.setdefault("broadcasts seen", set())
    if (a, b) not in pairs_seen:
        pairs_seen.add((a, b))
        apply_op("BroadcastGradientArgs", s0=np.array(a, np.int32), s1=np.array(b, np.int32))
    gradients: list[Tensor | None] = []
    for i, (own_sizes, other, make) in enumerate(((a, b, of_x), (b, a, of_y))):
        if i in skipped:
            gradients.append(None)
            continue
        gradient = make()
        if own_sizes != grad.shape.sizes:
            axes = np.array(_reduced_axes(own_sizes, other), np.int32)
            gradient = new("Sum", input=gradient, reduction_indices=axes)
            gradient = new("Reshape", tensor=gradient, shape=np.array(own_sizes, np.int32))
        gradients.append(gradient)
    return gradients[0], gradients[1]


def after(grad: Tensor) -> Any:
    """Return a scope whose ops run after ``grad``, so that a gradient's recomputations stay out of the forward pass."""
    return grad.graph.control_dependencies([grad])


def conjugate(x: Tensor) -> Tensor:
    """Return the complex conjugate; real tensors are returned unchanged."""
    return new("Conj", input=x) if x.dtype.is_complex else x


def like(value: Any, tensor: Tensor, name: str = "Const") -> Tensor:
    """Return a scalar constant of ``tensor``'s type."""
    return constant_of(value, name, tensor.dtype.base_dtype)
