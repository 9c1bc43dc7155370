"""Names of ``tensorflow.python.framework.common_shapes``, in addition to those of ``gpuplace.shapes``.

Source: tensorflow/python/framework/common_shapes.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace import shapes
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.shapes import TensorShape, as_shape


def unknown_shape(op: Any, **kwargs: Any) -> list[TensorShape]:
    """Return an unknown shape for each output.

    Args:
        op: the operation.
        **kwargs: ignored.
    """
    return [TensorShape(None)] * len(op.outputs)


def scalar_shape(unused_op: Any) -> list[TensorShape]:
    """Return the shape of a scalar.

    Args:
        unused_op: the operation.
    """
    return [TensorShape([])]


def unchanged_shape(op: Any) -> list[TensorShape]:
    """Return the shape of the only input.

    Args:
        op: the operation.
    """
    return [op.inputs[0].shape]


def call_cpp_shape_fn(op: Any, require_shape_fn: bool = True) -> dict[str, list[TensorShape]]:
    """Return the shapes of an operation's outputs, derived from its inputs and attributes.

    Args:
        op: the operation.
        require_shape_fn: ignored; in TensorFlow an op without a shape function is an error, here its shapes
            are unknown.

    Raises:
        ValueError: the inputs do not fit the op.
    """
    return {"shapes": list(infer_shapes(op, len(op.outputs)))}


def broadcast_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the broadcast shape of two shapes.

    Args:
        shape_x: a shape.
        shape_y: another shape.

    Raises:
        ValueError: the shapes are incompatible.
    """
    first, second = as_shape(shape_x), as_shape(shape_y)
    if first.ndims is None or second.ndims is None:
        return TensorShape(None)
    try:
        return shapes.broadcast_shapes(first, second)
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {first} and {second}") from None


def is_broadcast_compatible(shape_x: Any, shape_y: Any) -> bool:
    """Return whether two shapes of known rank can be broadcast together.

    Args:
        shape_x: a shape.
        shape_y: another shape.
    """
    first, second = as_shape(shape_x), as_shape(shape_y)
    if first.ndims is None or second.ndims is None:
        return False
    try:
        broadcast_shape(first, second)
    except ValueError:
        return False
    return True
