"""Find the values of tensors that are known while the graph is built.

Shape functions need them: ``Reshape`` knows the shape of its result only if its ``shape`` input is a constant. The
values of constants are known, and so are those that shape arithmetic computes from them.

Source: tensorflow/python/framework/tensor_util.py, release 1.15 (the op types looked through).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.graph.op_sets import EVALUATED_AT_ONCE, EVALUATED_OF_INPUTS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, broadcast_shapes

Array = np.ndarray[Any, Any]

Evaluation = Callable[[Operation], Array | list[Array] | None]
"""Return the value of an operation's output (a list for several outputs), or None if it is not known."""

_evaluations: dict[str, Evaluation] = {}

_MAX_ELEMENTS = 1 << 16
"""Maximum number of elements of a computed value."""

_MAX_REPEATED = 1 << 12
"""Number of elements above which a tensor that repeats a single value is expanded only on use."""

_MAX_DECODED = 1 << 24
"""Number of elements above which a constant from a file is decoded only if a step needs it."""

_MAX_RANK = 1 << 12
"""Maximum length of a shape vector; a longer one is unknown."""

_MAX_DEPTH = 100
"""Distance, in ops, at which the search stops."""


class _Search(threading.local):
    """Results of the current search, so that a tensor with many consumers is computed once."""

    def __init__(self) -> None:
        self.depth = 0
        self.found: dict[tuple[int, bool], Any] = {}

    def once(self, tensor: Tensor, as_shape: bool, work: Callable[[Tensor], Any], unknown: Any) -> Any:
        key = id(tensor), as_shape
        if key in self.found:
            return self.found[key]
        if self.depth >= _MAX_DEPTH:
            return unknown
        self.depth += 1
        try:
            value = self.found[key] = work(tensor)
        finally:
            self.depth -= 1
            if not self.depth:
                self.found.clear()
        return value


_search = _Search()


class Evaluated(Tensor):
    """A tensor whose value another class computes.

    Attributes:
        evaluate: returns the value, with -1 for unknown sizes, and a mask of unknown elements (None: all known); or
            None if nothing is known.
    """

    __slots__ = ("evaluate",)
    evaluate: Callable[[], tuple[Array, Array | None] | None]


class ShapeValueError(ValueError):
    """A value that is used as a shape has a size below -1."""


class Watched(Evaluated):
    """A tensor that distinguishes requests for its value from requests for its shape.

    Attributes:
        evaluate_as_shape: returns the known part of the shape whose sizes the tensor holds.
    """

    __slots__ = ("evaluate_as_shape",)
    evaluate_as_shape: Callable[[], TensorShape]


def constant_value(tensor: Tensor) -> Array | None:
    """Return the value of ``tensor``, or None if it depends on feeds or state."""
    if isinstance(tensor, Evaluated):
        known = tensor.evaluate()
        return None if known is None or known[1] is not None else known[0]
    function = _evaluations.get(tensor.op.type)
    if function is None:
        return None
    if tensor.op.type == "Const":
        return _constant(tensor.op)
    value: Array | list[Array] | None = _search.once(tensor, False, lambda wanted: function(wanted.op), None)
    return value[tensor.value_index] if isinstance(value, list) else value


def static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor that TensorFlow's Python knows, or None; a variable's value is never known.

    Shape inference knows more: it also follows sums, slices and ``Identity`` (`constant_value`). Errors at graph
    construction, and which ops are added, depend on this smaller set of values.

    Args:
        tensor: a tensor; an object that is not part of a graph is its own value.
        partial: for tensors stacked along the first axis, return an array of the known values, with None for the
            others.
    """
    if not isinstance(tensor, Tensor):
        return None if hasattr(tensor, "graph") else tensor
    if partial and tensor.op.type == "Pack" and not tensor.op.attrs.get("axis", 0):
        values = [constant_value(item) for item in tensor.op.inputs]
        if any(value is not None for value in values) and any(value is None for value in values):
            known = np.empty(len(values), object)
            known[:] = [value if value is None or value.ndim else value.item() for value in values]
            return known
    return constant_value(tensor) if _is_plain(tensor) else None


def _is_plain(tensor: Tensor) -> bool:
    """Return whether TensorFlow's Python can evaluate all ops that a tensor depends on.

    Source: tensorflow/python/framework/tensor_util.py, release 1.15.
    """
    met: set[Operation] = set()
    left = [tensor.op]
    while left:
        op = left.pop()
        if op.type in EVALUATED_OF_INPUTS:
            fresh = {source.op for source in op.inputs} - met
            met |= fresh
            left += fresh
        elif op.type not in EVALUATED_AT_ONCE:
            return False
    return True


def _value_of(*op_types: str) -> Callable[[Evaluation], Evaluation]:
    """Register a function that returns the value of an operation of these types, or None."""

    def register(function: Evaluation) -> Evaluation:
        _evaluations.update(dict.fromkeys(op_types, function))
        return function

    return register


def _constant(op: Operation) -> Array | None:
    held = op.attrs["value"]
    if held.dtype.base_dtype is not op.outputs[0].dtype.base_dtype:  # the graph fails when it runs
        return None
    if not held.is_decoded and (held.shape.num_elements() or 0) > _MAX_DECODED:
        return None
    value: Array = held.array
    return None if value.size > _MAX_REPEATED and not any(value.strides) else value


_value_of("Const")(_constant)


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """Return the known part of the shape that a vector of sizes describes; -1 is an unknown size.

    Args:
        tensor: the sizes; a scalar -1 is an unknown shape.

    Raises:
        ShapeValueError: a size is below -1.
        ValueError: the tensor is not a vector.
    """
    if tensor.shape.ndims == 1 and (tensor.shape[0].value or 0) > _MAX_RANK:
        return UNKNOWN_SHAPE
    shape: TensorShape = _search.once(tensor, True, _as_shape, UNKNOWN_SHAPE)
    return shape


def _of_sizes(sizes: Array) -> TensorShape:
    if sizes.size and sizes.min() < -1:
        raise ShapeValueError(f"Invalid value in tensor used for shape: {sizes.min()}")
    return TensorShape.of(tuple(None if size < 0 else size for size in sizes.tolist()))


def _as_shape(tensor: Tensor) -> TensorShape:
    if isinstance(tensor, Watched):
        return tensor.evaluate_as_shape()
    if tensor.shape.ndims == 0:
        value = constant_value(tensor)
        if value is not None and int(value) == -1:
            return UNKNOWN_SHAPE
        raise ValueError("Received a scalar as shape; only -1 is allowed as a scalar shape")
    if tensor.shape.ndims not in (None, 1):
        raise ValueError(f"Shape must be rank 1 but is rank {tensor.shape.ndims}")
    if isinstance(tensor, Evaluated) and (evaluated := tensor.evaluate()) is not None:
        return _of_sizes(evaluated[0])
    op = tensor.op
    if op.type == "Shape":
        return op.inputs[0].shape
    if op.type == "Placeholder" and op.graph.is_func_graph:
        origin = op.graph.origin_of(
            op
        )  # a tensor captured from an outer graph has the same value in every call
        if origin is not None:
            return constant_value_as_shape(origin)
    if op.type == "Pack" and op.attrs.get("axis", 0) == 0:
        sizes = [constant_value(item) for item in op.inputs]
        return TensorShape.of(tuple(None if size is None or int(size) < 0 else int(size) for size in sizes))
    if op.type in ("Concat", "ConcatV2"):
        parts = op.inputs[1:] if op.type == "Concat" else op.inputs[:-1]
        shape = TensorShape.of(())
        for part in parts:
            shape = shape.concatenate(constant_value_as_shape(part))
        return shape
    value = constant_value(tensor)
    if value is not None:
        return _of_sizes(value)
    if op.type == "StridedSlice" and (sizes_left := _part_of_sizes(op)) is not None:
        return sizes_left
    rank = tensor.shape[0].value if tensor.shape.ndims == 1 else None
    return UNKNOWN_SHAPE if rank is None else TensorShape.of((None,) * rank)


def _part_of_sizes(op: Operation) -> TensorShape | None:
    """Return some of the sizes that a vector describes, or None if it is unknown which ones."""
    attrs = op.attrs
    if any(attrs.get(f"{name}_mask", 0) for name in ("ellipsis", "new_axis", "shrink_axis")):
        return None
    bounds = [constant_value(tensor) for tensor in op.inputs[1:]]
    sizes = constant_value_as_shape(op.inputs[0]).sizes
    if sizes is None or any(bound is None or len(bound) != 1 for bound in bounds):
        return None
    begin, end, step = (int(bound[0]) for bound in bounds if bound is not None)
    part = slice(None if attrs.get("begin_mask") else begin, None if attrs.get("end_mask") else end, step)
    return TensorShape.of(sizes[part])


@_value_of("Shape")
def _shape(op: Operation) -> Array | None:
    shape = op.inputs[0].shape
    return np.array(shape.as_list(), op.outputs[0].dtype.as_numpy_dtype) if shape.is_fully_defined() else None


@_value_of("Size")
def _size(op: Operation) -> Array | None:
    count = op.inputs[0].shape.num_elements()
    return None if count is None else np.asarray(count, op.outputs[0].dtype.as_numpy_dtype)


@_value_of("Rank")
def _rank(op: Operation) -> Array | None:
    rank = op.inputs[0].shape.ndims
    return None if rank is None else np.asarray(rank, np.int32)


def _value_from_inputs(*op_types: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register ``function(op, *values)`` for ops with known inputs and a small result.

    The function may return None.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(op: Operation) -> Array | None:
            count = op.outputs[0].shape.num_elements()
            if count is not None and count > _MAX_ELEMENTS:
                return None
            values = [constant_value(tensor) for tensor in op.inputs]
            if any(value is None for value in values):
                return None
            result = function(op, *values)
            return None if result is None else np.asarray(result, op.outputs[0].dtype.as_numpy_dtype)

        _value_of(*op_types)(evaluate)
        return function

    return register


@_value_from_inputs("Range")
def _range(op: Operation, start: Array, limit: Array, delta: Array) -> Array:
    return np.arange(start.item(), limit.item(), delta.item()) if delta != 0 else np.empty(0)


@_value_from_inputs("BroadcastArgs")
def _broadcast(op: Operation, one: Array, other: Array) -> Any:
    try:
        return broadcast_shapes(
            TensorShape.of(tuple(one.tolist())), TensorShape.of(tuple(other.tolist()))
        ).sizes
    except ValueError:  # the step reports it
        return None


def _strided_slice(op: Operation, value: Array, begin: Array, end: Array, strides: Array) -> Any:
    attrs = op.attrs
    items: list[Any] = []
    for axis, (low, high, step) in enumerate(
        zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True)
    ):
        bit = 1 << axis
        if attrs["shrink_axis_mask"] & bit:
            items.append(low)
        else:
            items.append(
                slice(
                    None if attrs["begin_mask"] & bit else low,
                    None if attrs["end_mask"] & bit else high,
                    step,
                )
            )
    return value[tuple(items)]


@_value_of("StridedSlice")
def _slice_value(op: Operation) -> Array | None:
    if op.attrs["ellipsis_mask"] or op.attrs["new_axis_mask"]:
        return None
    source = op.inputs[0]
    bounds = [constant_value(tensor) for tensor in op.inputs[1:]]
    if any(bound is None for bound in bounds):
        return None
    value = constant_value(source)
    if value is not None:
        return np.asarray(_strided_slice(op, value, *bounds))  # type: ignore[arg-type]
    is_one_size = op.attrs["shrink_axis_mask"] == 1 and len(bounds[0]) == 1  # type: ignore[arg-type]
    # Release 1.15 uses no single size of a partially known shape.
    if source.op.type == "Shape" and is_one_size and rules() != "1.15":
        sizes = source.op.inputs[0].shape.sizes
        if sizes is not None and -len(sizes) <= int(bounds[0][0]) < len(sizes):  # type: ignore[index]
            size = sizes[int(bounds[0][0])]  # type: ignore[index]
            return None if size is None else np.asarray(size, source.dtype.as_numpy_dtype)
    return None


@_value_of("Unpack")
def _unpacked(op: Operation) -> list[Array] | None:
    value, axis = constant_value(op.inputs[0]), op.attrs["axis"]
    if value is None or value.size > _MAX_ELEMENTS or not -value.ndim <= axis < value.ndim:
        return None
    return list(np.moveaxis(value, axis, 0))


@_value_from_inputs("ExpandDims")
def _expanded(op: Operation, value: Array, axis: Array) -> Array | None:
    fits = axis.size == 1 and -value.ndim - 1 <= axis.item() <= value.ndim
    return np.expand_dims(value, axis.item()) if fits else None


@_value_from_inputs("Squeeze")
def _squeezed(op: Operation, value: Array) -> Array | None:
    sizes = op.outputs[0].shape
    return value.reshape(sizes.as_list()) if sizes.is_fully_defined() else None


_value_from_inputs("Cast", "Identity")(lambda op, x: x)
_value_from_inputs("Pack")(lambda op, *values: np.stack(values, op.attrs.get("axis", 0)))
_value_from_inputs("Concat")(lambda op, axis, *values: np.concatenate(values, int(axis)))
_value_from_inputs("ConcatV2")(lambda op, *values: np.concatenate(values[:-1], int(values[-1])))
_value_from_inputs("Fill")(lambda op, dims, value: np.full(dims, value))
for _op_type, _reduce in (("Prod", np.prod), ("Sum", np.sum), ("Max", np.max), ("Min", np.min)):
    _value_from_inputs(_op_type)(
        lambda op, x, axis, reduce=_reduce: (
            reduce(x, axis=tuple(np.atleast_1d(axis).tolist()), keepdims=op.attrs["keep_dims"])
            if x.size
            else None
        )
    )
_value_from_inputs("Add", "AddV2")(lambda op, x, y: x + y)
_value_from_inputs("Sub")(lambda op, x, y: x - y)
_value_from_inputs("Mul")(lambda op, x, y: x * y)
_value_from_inputs("Maximum")(lambda op, x, y: np.maximum(x, y))
_value_from_inputs("Equal")(lambda op, x, y: x == y)
_value_from_inputs("NotEqual")(lambda op, x, y: x != y)
_value_from_inputs("FloorDiv")(lambda op, x, y: np.floor_divide(x, np.where(y == 0, 1, y)))
_value_from_inputs("FloorMod")(lambda op, x, y: np.mod(x, np.where(y == 0, 1, y)))
