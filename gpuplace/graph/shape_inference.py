"""Infer output shapes when an operation is created.

The op library registers a function for each op type. Without one, the output shapes are unknown.

Source: tensorflow/python/framework/common_shapes.py and core/common_runtime/shape_refiner.cc, release 1.15 (wording of
the errors).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.array_text import summary
from gpuplace.graph.constant_value import ShapeValueError, Watched, constant_value, constant_value_as_shape
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.lazy import import_next, meet_waiting
from gpuplace.shapes import MAX_DIMENSIONS, UNKNOWN_SHAPE, TensorShape, brackets

ShapeFunction = Callable[[Operation], Sequence[TensorShape]]
"""Returns the output shapes for an operation's inputs and attributes; ValueError if they do not match."""

_SHOWN = 256
"""Maximum number of elements of a value in an error message."""

_functions: dict[str, ShapeFunction] = {}


def shape_function(*op_types: str) -> Callable[[ShapeFunction], ShapeFunction]:
    """Register the decorated function for these op types; raise ValueError if one already has a function."""

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
    """Return the shape function of an op, or None.

    Args:
        op_type: op type.
    """
    while op_type not in _functions and import_next():
        pass
    return _functions.get(op_type)


def infer_shapes(op: Operation, num_outputs: int) -> Sequence[TensorShape]:
    """Return the output shapes of ``op``, whose inputs and attributes are set.

    Raises:
        ValueError: the input shapes do not match the op or each other.
        TypeError: an attribute has another type than the op declares, or the shape function is wrong.
    """
    function = shape_function_of(op.type)
    if function is None:
        return (UNKNOWN_SHAPE,) * num_outputs
    try:
        shapes = function(op)
    except ShapeValueError as error:  # raised without the operation's name
        raise ValueError(str(error)) from None
    except ValueError as error:
        raise ValueError(_sentence(op, function, str(error))) from None
    if len(shapes) != num_outputs:
        raise TypeError(
            f"the shape function of {op.type} returned {len(shapes)} shapes for {num_outputs} outputs"
        )
    return shapes


def _sentence(op: Operation, function: ShapeFunction, fault: str) -> str:
    """Return the message for an invalid operation, with the input shapes and values that matter.

    TensorFlow runs a shape function without values first, and then with the values that it requested. The message
    includes the values known at that point.
    """
    taken = _Taken(op)
    while True:
        asked = len(taken.values) + len(taken.shapes)
        try:
            function(taken.operation)
        except ValueError as error:
            fault = str(error)
            break
        taken.give()
        if len(taken.values) + len(taken.shapes) == asked:
            break
    input_shapes = ", ".join([brackets(tensor.shape, "?") for tensor in op.inputs])
    text = f"{fault} for '{op.name}' (op: '{op.type}') with input shapes: {input_shapes}"
    values = {at: value for at, value in taken.values.items() if at not in taken.shapes}
    if shown := ", ".join([f"input[{at}] = <{summary(values[at], _SHOWN)}>" for at in sorted(values)]):
        text += f" and with computed input tensors: {shown}"
    if shapes := ", ".join(
        [f"input[{at}] = {brackets(taken.shapes[at], '?')}" for at in sorted(taken.shapes)]
    ):
        text += f" and with input tensors computed as partial shapes: {shapes}"
    return f"{text}."


class _Taken:
    """An operation for a shape function, with the input values that it requested in the previous call.

    Attributes:
        operation: the operation that the shape function inspects.
        values: input position -> value.
        shapes: input position -> the shape whose sizes the input holds.

    Args:
        op: the operation.
    """

    def __init__(self, op: Operation) -> None:
        self.values: dict[int, Any] = {}
        self.shapes: dict[int, TensorShape] = {}
        self._inputs = op.inputs
        self._asked: set[int] = set()
        self._asked_as_shapes: set[int] = set()
        self.operation = Operation(op.graph, op.name, op.type, op.op_def, (), (), op.attrs)
        self.operation.inputs = tuple([self._watched(at, tensor) for at, tensor in enumerate(op.inputs)])
        self.operation.outputs = op.outputs

    def _watched(self, at: int, tensor: Tensor) -> Watched:
        watched = Watched(tensor.op, tensor.value_index, tensor.dtype, tensor.shape)
        rank = tensor.shape[0].value if tensor.shape.ndims == 1 else None
        unknown = UNKNOWN_SHAPE
        if rank is not None and rank <= MAX_DIMENSIONS:  # a longer vector cannot be a list of sizes
            unknown = TensorShape.of((None,) * rank)

        def evaluate() -> tuple[Any, None] | None:
            self._asked.add(at)
            return (self.values[at], None) if at in self.values else None

        def evaluate_as_shape() -> TensorShape:
            self._asked_as_shapes.add(at)
            return self.shapes.get(at, unknown)

        watched.evaluate = evaluate
        watched.evaluate_as_shape = evaluate_as_shape
        return watched

    def give(self) -> None:
        """Provide the requested values, as far as they are known, in the next call."""
        for at in self._asked - self.values.keys():
            value = constant_value(self._inputs[at])
            if value is not None:
                self.values[at] = value
        for at in self._asked_as_shapes - self.shapes.keys():
            self.shapes[at] = constant_value_as_shape(self._inputs[at])
