"""Clip lists of gradients to a common norm.

Source: tensorflow/python/ops/clip_ops.py, release 1.15 (arguments, sequence of ops).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.joining import stack
from gpuplace.ops.array.reshaping import rank, size
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.support import new, shape_tensor, sum_to
from gpuplace.typing import TensorLike, TensorsLike

__all__ = ["global_norm", "clip_by_global_norm", "clip_by_average_norm"]


@gradient("ClipByValue", since="2.21")
def _clip_by_value_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    """Gradient of ``clip_by_value``: to the bound where an element was clipped, otherwise to the clipped tensor."""
    x, low, high = op.inputs
    sizes = [shape_tensor(tensor) for tensor in (x, low, high)]
    zeros = new("ZerosLike", x=grad)
    below, above = new("Less", x=x, y=low), new("Greater", x=x, y=high)
    of_x, of_low = apply_op("BroadcastGradientArgs", s0=sizes[0], s1=sizes[1]).outputs
    _, of_high = apply_op("BroadcastGradientArgs", s0=sizes[0], s1=sizes[2]).outputs
    shares = (
        where(new("LogicalOr", x=below, y=above), zeros, grad),
        where(below, grad, zeros),
        where(above, grad, zeros),
    )
    axes = (of_x, of_low, of_high)
    return [sum_to(*item) for item in zip(shares, axes, sizes, strict=True)]


def _values(t_list: Any) -> list[Any]:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError("t_list should be a sequence")
    return [
        item.values
        if isinstance(item, IndexedSlices)
        else None
        if item is None
        else convert_to_tensor(item, name=f"t_{index}")
        for index, item in enumerate(t_list)
    ]


def global_norm(t_list: TensorsLike, name: str | None = None) -> Tensor:
    """Return the square root of the sum of squares of all elements of several tensors.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.global_norm([[3.0], None, [4.0]])))
    5.0

    Args:
        t_list: a list of floating tensors, ``IndexedSlices`` and None, which counts as 0.
        name: name of the scope.

    Returns:
        A scalar of their type.

    Raises:
        TypeError: ``t_list`` is not a sequence.
    """
    with name_scope(name, "global_norm", list(t_list)):
        halves = []
        for value in _values(t_list):
            if value is not None:
                with value.graph.colocate_with(value):
                    halves.append(new("L2Loss", t=value))
        half = reduce_sum(stack(halves))
        return new("Sqrt", "global_norm", x=half * constant(2.0, half.dtype.base_dtype))


def clip_by_global_norm(
    t_list: TensorsLike, clip_norm: TensorLike, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Return the tensors scaled so that their global norm is at most ``clip_norm``, and their original norm.

    If the norm is infinite or NaN, every result is NaN.

    Args:
        t_list: a list of floating tensors, ``IndexedSlices`` and None, which stays None.
        clip_norm: the maximum norm, a positive scalar.
        use_norm: the norm as a scalar tensor, if already computed. None: ``global_norm(t_list)``.
        name: name of the scope.

    Returns:
        A list like ``t_list``, and the original norm, a scalar.

    Raises:
        TypeError: ``t_list`` is not a sequence.
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError("t_list should be a sequence")
    norm = global_norm(t_list, name) if use_norm is None else use_norm
    with name_scope(name, "clip_by_global_norm", [*t_list, clip_norm]) as scope:
        kind = norm.dtype.base_dtype
        scale: Any = clip_norm * new("Minimum", x=1.0 / norm, y=constant(1.0, kind) / clip_norm)
        scale = where(new("IsFinite", x=norm), scale, constant(math.nan, kind))
        clipped: list[Any] = []
        for index, (item, value) in enumerate(zip(t_list, _values(t_list), strict=True)):
            if value is None:
                clipped.append(None)
                continue
            with value.graph.colocate_with(value):
                result = new("Identity", f"{scope}_{index}", input=value * scale)
            clipped.append(
                IndexedSlices(result, item.indices, item.dense_shape)
                if isinstance(item, IndexedSlices)
                else result
            )
        return clipped, norm


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """Return ``t`` scaled so that its norm divided by its number of elements is at most ``clip_norm``.

    Args:
        t: floating-point, of any shape.
        clip_norm: the maximum average norm, a positive scalar.
        name: name of the scope and of the last op.

    Returns:
        A tensor like ``t``.
    """
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert_to_tensor(t, name="t")
        count = cast(size(t), t.dtype.base_dtype)
        inverse = new("Rsqrt", x=reduce_sum(t * t, range_of(rank(t))))
        kind = t.dtype.base_dtype
        scaled = t * clip_norm * new("Minimum", x=inverse * count, y=constant(1.0, kind) / clip_norm)
        return new("Identity", scope, input=scaled)
