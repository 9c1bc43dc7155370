"""Known values of small tensors before a step runs: sizes, axes, loop bounds.

A value is an array with a mask of unknown elements, as in ``tf.stack([tf.shape(x)[0], 10])`` for an ``x`` with an
unknown number of rows. A fully known value is computed by the op's own kernel. With unknown elements:

- an op that only moves elements (``Pack``, ``StridedSlice``) moves the mask in the same way, by the same kernel;
- an elementwise op makes an element unknown where any input's is;
- a reduction makes an element unknown if any element that it reduces is;
- the result of any other op is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.cost.shapes.engine import Engine
from gpuplace.cost.shapes.kinds import Array, Kind, Rules, Sizes, Value, is_known
from gpuplace.dtypes import string
from gpuplace.errors import OpError
from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import bind, has_compute, traits_of
from gpuplace.numerics.float_state import as_kernels_do
from gpuplace.shapes import UNKNOWN_SHAPE
from gpuplace.typing import DTypeLike

MAX_ELEMENTS = 1 << 12
"""Elements above which values are not computed."""

_MAX_CONSTANT = 1 << 16
"""Elements above which constants of the graph are not read."""


_rules = Rules()
_moved: dict[str, Callable[[int], Sequence[int]]] = {}
_reducing = Rules()
"""Reductions along axes."""
_reducing("Prod", "Sum", "Max", "Min", "Mean", "All", "Any")(True)


def _moves(data: Callable[[int], Sequence[int]], *op_types: str) -> None:
    """Register ops that only move elements of some inputs; ``data`` returns these inputs for a number of inputs."""
    _moved.update(dict.fromkeys(op_types, data))


def _first(count: int) -> Sequence[int]:
    return (0,)


_moves(_first, "Identity", "Reshape", "StridedSlice", "Slice", "ExpandDims", "Squeeze", "Gather", "GatherV2")
_moves(
    _first,
    "Transpose",
    "Unpack",
    "SplitV",
    "Tile",
    "Cast",
    "BroadcastTo",
    "StopGradient",
    "ReverseV2",
    "GatherNd",
)
_moves(_first, "Snapshot", "PreventGradient", "EnsureShape", "DeepCopy", "Copy", "PlaceholderWithDefault")
_moves(lambda count: range(count), "Pack", "IdentityN")
_moves(lambda count: range(count - 1), "ConcatV2")
_moves(lambda count: range(1, count), "Concat")
_moves(lambda count: (1,), "Split", "Fill")


def inputs_to_evaluate(kind: Kind) -> bool:
    """Whether the values of a node depend on those of its inputs."""
    if kind.op_type.startswith("Stack"):  # the popped value is not an input
        return False
    return kind.op_type not in _from_shapes and (kind.op_type in _rules or _is_pure(kind))


_from_shapes = frozenset(("Shape", "ShapeN"))
"""Ops whose values depend on the shapes of their inputs alone."""


def _is_pure(kind: Kind) -> bool:
    if kind.is_stateful or kind.handles or kind.makes_handle or not kind.dtypes:
        return False
    if kind.op_type not in _moved and any(dtype is string for dtype in (*kind.input_types, *kind.dtypes)):
        return False  # the number of elements does not bound the time: regular expressions, images
    traits = traits_of(kind.op_type)
    if traits.reads_outside or traits.calls_program or traits.waits or traits.own_state:
        return False
    return has_compute(kind.op_type, "CPU")


def evaluate(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    """Return the known part of each output of a node whose inputs have been evaluated."""
    rule = _rules.get(kind.op_type)
    return _by_kernel(engine, node, kind) if rule is None else rule(engine, node, kind)


def _by_kernel(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    """Compute the known parts of a node's outputs with the op's own kernel."""
    nothing: list[Value | None] = [None] * len(kind.dtypes)
    if not _is_pure(kind) or not engine.inputs[node]:
        return nothing
    if not _is_small(engine, node) and not (
        decide_shapes(engine, node, kind) and not all(map(is_known, engine.shapes[node] or ()))
    ):
        return nothing
    values = []
    for at, (source, output) in enumerate(engine.inputs[node]):
        value = engine.known_value(source, output) or _unknown(engine, kind, at, engine.sizes(source, output))
        if value is None:
            return nothing
        values.append(value)
    arrays = [array for array, _ in values]
    masks = [mask for _, mask in values]
    if all(mask is not None and bool(mask.all()) for mask in masks):
        return nothing
    if all(mask is None for mask in masks):
        return [(array, None) for array in _compute(kind, arrays)] or nothing
    return _partial(kind, arrays, masks) or nothing


_FEW = 64
"""Maximum input elements for which a kernel runs only to find its result's shape."""


def decide_shapes(engine: Engine, node: int, kind: Kind) -> bool:
    """Whether the values of a node's inputs, all small and integer, determine its shapes."""
    if kind.is_stateful or kind.handles or not kind.input_types or traits_of(kind.op_type).grows:
        return False
    count = 0
    for dtype, (source, output) in zip(kind.input_types, engine.inputs[node], strict=False):
        sizes = engine.sizes(source, output)
        if not (dtype.is_integer or dtype.is_bool) or sizes is None or None in sizes:
            return False
        count += math.prod(sizes)  # type: ignore[arg-type]
        if count > _FEW:
            return False
    return _is_pure(kind)


def _unknown(engine: Engine, kind: Kind, at: int, sizes: Sizes) -> Value | None:
    """Return a value with only its shape known, if that suffices to derive other elements."""
    if sizes is None or None in sizes or at >= len(kind.input_types) or not kind.input_types[at].is_integer:
        return None
    known_sizes: Any = sizes
    # NumPy multiplies the sizes that are not zero, even where there are no elements.
    if math.prod(size or 1 for size in known_sizes) > _FEW:
        return None
    dtype = kind.input_types[at].base_dtype.as_numpy_dtype
    # The largest number of an unsigned type.
    return np.full(known_sizes, -1).astype(dtype), np.ones(known_sizes, bool)


def _partial(kind: Kind, arrays: list[Array], masks: list[Array | None]) -> list[Value | None]:
    full = [
        np.zeros(array.shape, bool) if mask is None else mask
        for array, mask in zip(arrays, masks, strict=True)
    ]
    data = _moved.get(kind.op_type)
    if data is not None:
        moved = set(data(len(arrays)))
        if any(mask is not None and at not in moved for at, mask in enumerate(masks)):
            return []
        flags = [
            mask.astype(array.dtype) if at in moved else array
            for at, (array, mask) in enumerate(zip(arrays, full, strict=True))
        ]
        results, result_masks = _compute(kind, arrays), _compute(kind, flags)
        return [_value(array, mask.astype(bool)) for array, mask in zip(results, result_masks, strict=False)]
    if kind.op_type in _reducing and masks[1] is None:
        results = _compute(kind, arrays)
        axes = tuple(np.atleast_1d(arrays[1]).tolist())
        return [
            _value(array, np.any(full[0], axis=axes, keepdims=kind.attrs.get("keep_dims", False)))
            for array in results
        ]
    if traits_of(kind.op_type).elementwise and len(kind.dtypes) == 1:
        results = _compute(kind, arrays)
        unknown: Array = np.zeros((), bool)
        for mask in full:
            unknown = np.logical_or(unknown, mask)
        return [_value(array, np.broadcast_to(unknown, array.shape)) for array in results]
    return []


def _value(array: Array, unknown: Array) -> Value:
    unknown = np.asarray(unknown)
    if not unknown.any():
        return array, None
    array = np.array(array)
    array[unknown] = np.array(-1).astype(array.dtype) if array.dtype != bool else False
    return array, unknown


def _is_small(engine: Engine, node: int) -> bool:
    """Whether all outputs are known to be small; a kernel does not run just to find that its result is large."""
    for sizes in engine.shapes[node] or ():
        if sizes is None:
            return False
        count = 1
        for size in sizes:
            if size is None:
                return False
            count *= size
        if count > MAX_ELEMENTS:
            return False
    return True


_REFUSALS = (OpError, ValueError, TypeError, IndexError, AttributeError, OverflowError)
"""Errors of kernels for values that they reject, or that need more than arithmetic; the step will report them."""


def _compute(kind: Kind, arrays: list[Array]) -> list[Array]:
    """Run the op's kernel on arrays; return an empty list if it rejects them."""
    try:
        return _bound(kind)(arrays)
    except _REFUSALS:
        return []


def runner(kind: Kind) -> Callable[[list[Array]], list[Array]] | None:
    """Return a function that computes a node's outputs, or [] if its kernel rejects them; None if only a step can tell.

    Args:
        kind: the node's kind.
    """
    if not _is_pure(kind):
        return None
    try:
        run = _bound(kind)
    except _REFUSALS:
        return None

    def computed(arrays: list[Array]) -> list[Array]:
        try:
            return run(arrays)
        except _REFUSALS:
            return []

    return computed


def _bound(kind: Kind) -> Callable[[list[Array]], list[Array]]:
    """Return the op's kernel."""
    op = Operation(None, "", kind.op_type, kind.op_def, (), (), dict(kind.attrs))  # type: ignore[arg-type]
    fed = Operation(None, "", "Placeholder", None, (), (), {})  # type: ignore[arg-type]
    op.inputs = tuple(Tensor(fed, at, dtype, UNKNOWN_SHAPE) for at, dtype in enumerate(kind.input_types))
    op.outputs = [Tensor(op, at, dtype, UNKNOWN_SHAPE) for at, dtype in enumerate(kind.dtypes)]
    kernel, outputs = bind(kind.op_type, "CPU", np, op, None), len(kind.dtypes)

    def run(arrays: list[Array]) -> list[Array]:
        with as_kernels_do():
            outcome = kernel(*arrays)
        results = outcome if isinstance(outcome, (tuple, list)) else (outcome,)
        return [np.asarray(result) for result in results] if len(results) == outputs else []

    return run


def _vector(sizes: Sizes, dtype: DTypeLike) -> Value | None:
    if sizes is None:
        return None
    unknown = np.array([size is None for size in sizes], bool)
    array = _integers([-1 if size is None else size for size in sizes], dtype)
    return None if array is None else (array, unknown if unknown.any() else None)


def _integers(numbers: Any, dtype: Any) -> Array | None:
    """Return integers of a type; None if it cannot represent them, so that the step fails."""
    try:
        return np.array(numbers, dtype)
    except OverflowError:
        return None


@_rules("Const", "HostConst")
def _const(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    held = engine.attrs_of(node).get("value")
    if not isinstance(held, TensorValue):
        return [None]
    count = held.shape.num_elements()
    if count is None or count > _MAX_CONSTANT:
        return [None]
    try:
        return [(held.array, None)]
    except OpError:  # a corrupt constant, which the step reports
        return [None]


@_rules("Shape", "ShapeN")
def _shape(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    shapes = [engine.sizes(source, output) for source, output in engine.inputs[node]]
    return [_vector(sizes, dtype.as_numpy_dtype) for sizes, dtype in zip(shapes, kind.dtypes, strict=True)]


@_rules("Size")
def _size(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    sizes = engine.sizes(*engine.inputs[node][0])
    if sizes is None or None in sizes:
        return [None]
    known: Any = sizes
    count = _integers(math.prod(known), kind.dtypes[0].as_numpy_dtype)
    return [None if count is None else (count, None)]


@_rules("Rank")
def _rank(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    sizes = engine.sizes(*engine.inputs[node][0])
    return [None if sizes is None else (np.asarray(len(sizes), np.int32), None)]


@_rules("StringSplit", "StringSplitV2")
def _split_texts(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    """Return the dense shape of the words: one row per text."""
    texts = engine.sizes(*engine.inputs[node][0])
    return [None, None, _vector((texts[0], None), np.int64) if texts else None]


@_rules("Minimum", "Maximum")
def _bounded(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    """Return the bound if a value is clamped to one value: the minimum of 10 and the maximum of (10, n) is 10.

    ``tf.math.bincount`` uses this for ``minlength`` and ``maxlength``.
    """
    values = _by_kernel(engine, node, kind)
    if values[0] is not None and values[0][1] is None:
        return values
    sources = engine.inputs[node]
    for bound, other in (sources, sources[::-1]):
        limit = _known_number(engine, bound)
        if limit is None or engine.kinds[other[0]].op_type != _OPPOSITES[kind.op_type]:
            continue
        for number in (_known_number(engine, source) for source in engine.inputs[other[0]]):
            if number is not None and (number >= limit if kind.op_type == "Minimum" else number <= limit):
                return [(limit, None)]
    return values


_OPPOSITES = {"Minimum": "Maximum", "Maximum": "Minimum"}


def _known_number(engine: Engine, tensor: tuple[int, int]) -> Array | None:
    """Return the known value of a scalar."""
    value = engine.known_value(*tensor)
    return None if value is None or value[1] is not None or value[0].ndim else value[0]


@_rules("VariableShape")
def _variable_shape(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    handle = engine.handle_at(node, 0)
    return [None if handle is None else _vector(handle.variable_sizes(), kind.dtypes[0].as_numpy_dtype)]


@_rules("Switch", "RefSwitch", "Enter", "NextIteration", "Exit")
def _pass_through(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    return [engine.known_value(*engine.inputs[node][0])] * len(kind.dtypes)


@_rules("Merge")
def _merge(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    sources = engine.merged_sources(node)
    values = [engine.known_value(*source) for source in sources]
    if not values or any(value is None or value[0].shape != values[0][0].shape for value in values):  # type: ignore[index]
        return [None, None]
    array, unknown = values[0]  # type: ignore[misc]
    differing = np.zeros(array.shape, bool) if unknown is None else unknown
    for other, mask in values[1:]:  # type: ignore[misc]
        differing = differing | (other != array) | (False if mask is None else mask)
    return [None if array.ndim == 0 and differing.any() else _value(array, differing), None]


@_rules("TensorArraySizeV3", "TensorArraySizeV2", "TensorArraySize", "TensorListLength")
def _count(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    handle = engine.handle_at(node, 0)
    return [None if handle is None or handle.count is None else handle.count]


@_rules("StackPushV2", "StackPush")
def _pushed(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    return [engine.value_of_input(node, 1)]


@_rules("StackPopV2", "StackPop")
def _popped(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    """Return the pushed value if it is pushed in one place and known there: it is the same in every iteration."""
    handle = engine.handle_at(node, 0)
    if handle is None or len(handle.pushed) != 1:
        return [None]
    pushing, at = handle.pushed[0]
    return [pushing.value_of_input(at, 1)]


@_rules("_Arg", "_Retval")
def _argument(engine: Engine, node: int, kind: Kind) -> list[Value | None]:
    return [None] * len(kind.dtypes)
