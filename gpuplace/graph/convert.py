"""Convert Python values to tensors of the default graph: the first step of each op's Python function.

A tensor is used unchanged; a list that contains tensors is packed; anything else becomes a constant. Other classes
(variables, indexed slices) register a conversion.

Source: tensorflow/python/framework/ops.py and ops/array_ops.py, release 1.15 (order of conversions, names,
messages).
"""

from __future__ import annotations

import contextlib
from _thread import get_ident
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from types import NoneType
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype, count_of, int32, int64, leaves, own_array
from gpuplace.errors import ResourceExhaustedError
from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_def import op_registry
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.scopes import end_name, enter_name
from gpuplace.graph.stacks import Block, end_default, graph_stack
from gpuplace.graph.stacks import get_default_graph as _default_graph
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike, ShapeLike, TensorLike

Conversion = Callable[..., Any]
"""``(value, dtype=None, name=None, as_ref=False) -> Tensor``, or NotImplemented."""

_conversions: list[tuple[int, int, Any, Conversion]] = []


def get_default_graph() -> Graph:
    """Return the graph to which this thread adds operations."""
    stack = graph_stack.stack
    return stack[-1] if stack else _default_graph(Graph)


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Conversion, priority: int = 100
) -> None:
    """Register a conversion of instances of a type to tensors.

    Args:
        base_type: type or tuple of types to convert.
        conversion_func: ``(value, dtype=None, name=None, as_ref=False)`` -> a tensor or NotImplemented.
        priority: lower numbers are tried first; ties in the order of registration.

    Raises:
        TypeError: ``conversion_func`` is not callable.
    """
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _conversions.append((priority, len(_conversions), base_type, conversion_func))
    _conversions.sort(key=lambda row: row[:2])


def make_constant(
    value: Any,
    dtype: DTypeLike | None = None,
    shape: ShapeLike = None,
    name: str | None = "Const",
    verify_shape: Any = False,
) -> Tensor:
    """Add a ``Const`` that copies the value; for arguments and errors see ``dtypes.as_array``.

    Args:
        value: scalar, nested lists, or array.
        dtype: element type; None: inferred from the value.
        shape: shape; None: the shape of the value.
        name: name of the operation.
        verify_shape: raise an error if the value has another shape.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    try:
        array = own_array(value, wanted, shape, verify_shape)
    except MemoryError as error:
        raise ResourceExhaustedError.of(f"OOM when allocating a constant: {error}") from error
    except NotImplementedError as error:  # the values include a tensor
        raise TypeError("List of Tensors when single Tensor expected") from error
    value_count = None if shape is None else count_of(value)
    tensor = TensorValue.of_array(array, wanted.base_dtype if wanted is not None else None, value_count)
    attrs = {"value": tensor, "dtype": tensor.dtype}
    return (
        get_default_graph()
        .create_op("Const", (), (tensor.dtype,), name=name or "Const", attrs=attrs)
        .outputs[0]
    )


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    as_ref: bool = False,
) -> Tensor:
    """Return ``value`` as a tensor of the default graph.

    Args:
        value: tensor, variable, array, Python value, or nested list of these.
        dtype: required element type; None for any.
        name: name of a constant that is added.
        preferred_dtype: element type to use if the value can be converted to it.
        dtype_hint: newer name of ``preferred_dtype``.
        as_ref: keep a reference to a variable.

    Returns:
        A tensor; ``value`` itself if it is a tensor.

    Raises:
        TypeError: the value cannot be converted to ``dtype``.
        ValueError: ``value`` is a tensor of another type or a ragged list.
    """
    preferred_dtype = preferred_dtype if preferred_dtype is not None else dtype_hint
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        if wanted is not None and not wanted.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {value.dtype.name}:"
                f" {value!r}"
            )
        return value
    for _, _, base_type, function in _conversions:
        if isinstance(value, base_type):
            result = NotImplemented
            if wanted is None and preferred_dtype is not None:
                try:
                    result = function(value, dtype=as_dtype(preferred_dtype), name=name, as_ref=as_ref)
                except (TypeError, ValueError):
                    result = NotImplemented
            if result is NotImplemented:
                result = function(value, dtype=wanted, name=name, as_ref=as_ref)
            if result is not NotImplemented:
                return result
    if isinstance(value, Operation):
        raise TypeError(
            f"Can't convert Operation '{value.name}' to Tensor (target dtype={wanted!r}, name={name!r},"
            f" as_ref={as_ref!r}): an operation has no value; convert one of its outputs"
        )
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        common = _common_dtype(value)
        chosen = wanted or (common if preferred_dtype is None else as_dtype(preferred_dtype))
        parts = value if chosen in (None, common) else _with_casts(value, chosen)
        return _pack(parts, chosen, name or "packed")
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
        if wanted is not None and wanted not in (int32, int64):
            raise TypeError(f"Cannot convert a TensorShape to dtype: {wanted}")
        name = name or "shape_as_tensor"
    if wanted is None and preferred_dtype is not None:
        with contextlib.suppress(TypeError, ValueError):
            return make_constant(value, preferred_dtype, name=name)
    return make_constant(value, wanted, name=name)


def _is_tensor_like(value: object) -> bool:
    return isinstance(value, Tensor) or any(isinstance(value, base) for _, _, base, _ in _conversions)


def _holds_tensors(value: Sequence[Any]) -> bool:
    return any(map(_is_tensor_like, leaves(value)))


def _common_dtype(value: Sequence[Any]) -> DType | None:
    for item in value:
        if isinstance(item, (list, tuple)):
            found = _common_dtype(item)
            if found is not None:
                return found
        elif _is_tensor_like(item):
            return as_dtype(item.dtype).base_dtype
    return None


def _with_casts(values: Sequence[Any], dtype: DType) -> list[Any]:
    """Return nested lists with their tensors cast to a type; leaves that are not tensors are unchanged."""
    result = []
    for value in values:
        if isinstance(value, (list, tuple)):
            value = _with_casts(value, dtype)
        elif _is_tensor_like(value) and as_dtype(value.dtype).base_dtype is not dtype:
            value = convert_to_tensor(value)
            attrs = {"SrcT": value.dtype.base_dtype, "DstT": dtype, "Truncate": False}
            op_def = op_registry().lookup("Cast")
            made = get_default_graph().create_op("Cast", [value], name="Cast", attrs=attrs, op_def=op_def)
            value = made.outputs[0]
        result.append(value)
    return result


def _pack(values: Sequence[Any], dtype: DType | None, name: str) -> Tensor:
    """Pack nested lists that contain tensors; other leaves become constants."""
    graph = get_default_graph()
    with graph.name_scope(name) as scope:
        parts = []
        for index, value in enumerate(values):
            if isinstance(value, (list, tuple)) and _holds_tensors(value):
                parts.append(_pack(value, dtype, str(index)))
            else:
                parts.append(_packed_part(value, dtype, str(index)))
        op_def = op_registry().lookup("Pack")
        first = parts[0].dtype.base_dtype
        attrs = {"N": len(parts), "T": first, "axis": 0}
        return graph.create_op("Pack", parts, name=scope, attrs=attrs, op_def=op_def).outputs[0]


def _packed_part(value: TensorLike, dtype: DType | None, name: str) -> Tensor:
    if isinstance(value, Tensor) and dtype is not None and value.dtype.base_dtype is not dtype:
        raise TypeError(
            f"Cannot convert a list containing a tensor of dtype {value.dtype} to {dtype} (Tensor is: {value!r})"
        )
    return convert_to_tensor(value, dtype, name=name)


def convert_n_to_tensor(
    values: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    as_ref: bool = False,
) -> list[Tensor]:
    """Convert each value of a list.

    Args:
        values: list or tuple of values that ``convert_to_tensor`` accepts.
        dtype: required element type; None for any.
        name: prefix of the names of constants: ``name_0``, ``name_1``, ...
        preferred_dtype: element type to use if a value can be converted to it.
        as_ref: keep references to variables.

    Returns:
        A list of tensors.

    Raises:
        TypeError: ``values`` is not a list, or an element cannot be converted.
    """
    if not isinstance(values, (list, tuple)):
        raise TypeError("values must be a sequence.")
    return [
        convert_to_tensor(
            value, dtype, None if name is None else f"{name}_{index}", preferred_dtype, as_ref=as_ref
        )
        for index, value in enumerate(values)
    ]


def name_scope(
    name: str | None, default_name: str | None = None, values: Sequence[Any] | None = None
) -> OpScope:
    """Return a name scope for an op's Python function, as a ``with`` block or decorator; it yields the scope's name.

    >>> import gpuplace as tf
    >>> with tf.name_scope("tower") as scope:
    ...     scope, tf.constant(1).name
    ('tower/', 'tower/Const:0')

    Args:
        name: the caller's name, or None.
        default_name: name to use if ``name`` is None.
        values: the op's arguments. They must belong to one graph, which becomes the default graph inside.

    Raises:
        ValueError: on entry: both names are None although ``values`` are passed, or the values belong to several
            graphs.
    """
    return OpScope(name, default_name, values)


class OpScope(Block):
    """A ``name_scope`` block, which raises its errors on entry."""

    def __init__(self, name: str | None, default_name: str | None, values: Sequence[Any] | None) -> None:
        self._arguments = name, default_name, values
        self._graph: Any = None
        self._outer = ""
        self._depth = 0

    def _recreate_cm(self) -> OpScope:
        return OpScope(*self._arguments)

    def __enter__(self) -> str:
        name, default_name, values = self._arguments
        chosen = default_name if name is None else name
        if not isinstance(default_name, (str, bytes, NoneType)):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely meant to pass this into"
                " the `values` kwarg."
            )
        if chosen is None and values is not None:
            raise ValueError("At least one of name (None) and default_name (None) must be provided.")
        graph = self._graph = graph_of(values) if values else get_default_graph()
        names = [graph.scopes.of_thread.name_stack]
        self._outer, self._depth = names[0], len(graph_stack.stack)
        self._ending = partial(
            _end_op_scope, get_ident(), graph.scopes.of_thread, names, graph_stack.stack, self._depth, graph
        )
        inner = enter_name(graph, chosen)
        names.append(inner)
        graph_stack.stack.append(graph)
        return inner + "/" if chosen else ""

    def __exit__(self, *exc: object) -> None:
        self._graph.scopes.of_thread.name_stack = self._outer
        del graph_stack.stack[self._depth :]
        self._ending = bool


def _end_op_scope(
    thread: int, of_thread: Any, names: Sequence[str], stack: list[Any], depth: int, graph: Graph
) -> None:
    """End the name scope and the default graph of an ``OpScope``, if they still exist."""
    end_name(thread, of_thread, names)
    end_default(thread, stack, depth, graph)


_PLAIN = frozenset({NoneType, bool, int, float, str, bytes, DType, TensorShape, np.ndarray})
"""Types whose values belong to no graph."""


def graph_for(element: Any) -> Graph:
    """Return the graph for operations on a tensor or variable: its own, or the function body under construction."""
    stack = graph_stack.stack
    found: Graph = stack[-1] if stack and stack[-1].is_traced else element.graph
    return found


def graph_of(values: Collection[Any]) -> Graph:
    """Return the graph of the tensors and operations among ``values``, or the default graph.

    Within a function body the result is always the body.

    Raises:
        ValueError: the values belong to several graphs.
    """
    stack = graph_stack.stack
    if stack and stack[-1].is_traced:
        traced: Graph = stack[-1]
        return traced
    graph: Graph | None = None
    for value in values:
        kind = type(value)
        for item in value if kind is list or kind is tuple else (value,):
            kind = type(item)
            if kind is Tensor:
                item_graph = item.op.graph
            elif kind in _PLAIN:
                continue
            else:
                convert = getattr(item, "_as_graph_element", None)
                element = convert() if convert is not None else None
                if type(element) is not Tensor:
                    return _one_graph_of(values)
                item_graph = element.op.graph
            if graph is None:
                graph = item_graph
            elif item_graph is not graph:
                return _one_graph_of(values)
    return graph or get_default_graph()


def _one_graph_of(values: Iterable[Any]) -> Graph:
    found: list[Any] = []
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(item, (Tensor, Operation)):
                convert = getattr(item, "_as_graph_element", None)
                item = convert() if convert is not None else None
            if item is not None:
                found.append(item)
    for item in found:
        if item.graph is not found[0].graph:
            raise ValueError(f"{item!r} must be from the same graph as {found[0]!r}.")
    return found[0].graph if found else get_default_graph()
