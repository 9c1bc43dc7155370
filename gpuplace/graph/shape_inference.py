"""Shapes of outputs, inferred when an operation is made.

The op library registers one function per op type; an op type without one has outputs of unknown shape.

Source: tensorflow/python/framework/common_shapes.py, release 1.15 (wording of the errors).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuplace.graph.operation import Operation
from gpuplace.lazy import import_waiting, meet_waiting
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets

ShapeFunction = Callable[[Operation], Sequence[TensorShape]]
"""Gives the shape of each output from the operation's inputs and attributes; ValueError if they do not fit."""

_functions: dict[str, ShapeFunction] = {}


def shape_function(*op_types: str) -> Callable[[ShapeFunction], ShapeFunction]:
    """Registers the decorated function for these op types; ValueError if one has a function already."""

    def register(function: ShapeFunction) -> ShapeFunction:
        meet_waiting(function)
        for op_type in op_types:
            known = _functions.setdefault(op_type, function)
            if known is not function:
                raise ValueError(
                    f"Op {op_type} has two shape functions: {known.__qualname__} and {function.__qualname__}"
                )
        return function

    return register


def shape_function_of(op_type: str) -> ShapeFunction | None:
    """The function that tells the shapes of an op's outputs; None for an op without one.

    Args:
        op_type: the op.
    """
    function = _functions.get(op_type)
    return _functions.get(op_type) if function is None and import_waiting() else function


def infer_shapes(op: Operation, num_outputs: int) -> Sequence[TensorShape]:
    """The shape of each output of ``op``, of which only inputs and attributes are set.

    Raises:
        ValueError: the inputs' shapes do not fit the op or each other.
    """
    function = shape_function_of(op.type)
    if function is None:
        return (UNKNOWN_SHAPE,) * num_outputs
    try:
        shapes = function(op)
    except ValueError as error:
        given = ", ".join(brackets(tensor.shape, "?") for tensor in op.inputs)
        raise ValueError(f"{error} for '{op.name}' (op: '{op.type}') with input shapes: {given}.") from None
    if len(shapes) != num_outputs:
        raise AssertionError(
            f"the shape function of {op.type} gave {len(shapes)} shapes for {num_outputs} outputs"
        )
    return shapes
