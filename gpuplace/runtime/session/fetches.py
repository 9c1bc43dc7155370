"""Fetches of ``run``: flattens their structure, and builds the result with the same structure.

A structure of lists, tuples, dicts and classes is flattened to unique tensors and operations, and the result is built
from their values::

    [c, {"x": a, "y": [b, c]}]  ──flatten──>  c, a, b  ──run──>  C, A, B  ──build──>  [C, {"x": A, "y": [B, C]}]

>>> from gpuplace.graph.graph import Graph
>>> graph = Graph()
>>> op = graph.create_op("NoOp", [])
>>> fetches = FetchStructure(graph, ["NoOp", op])
>>> fetches.operations == (op,), fetches.build([])
(True, [None, None])

Source: tensorflow/python/client/session.py, release 1.15 (what can be fetched, texts of the errors).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import SESSION_HANDLES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.gradients.indexed_slices import IndexedSlices, IndexedSlicesValue
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, parts_of
from gpuplace.runtime.session.tensor_handle import TensorHandle

Build = Callable[[Sequence[Any]], Any]


Fetch = Callable[[Any], tuple[Sequence[Any], Build]]
"""Returns the tensors of an object, and the function that builds the fetched value from theirs."""

Feed = Callable[[Any, Any], Sequence[tuple[Any, Any]]]
"""Returns tensors and values for an object and the value fed to it."""


class _Composite(NamedTuple):
    """Functions to fetch and feed the objects of a class."""

    kind: type
    fetch: Fetch
    feed: Feed | None
    parts: Callable[[Any], Sequence[Any]] | None


_composites: list[_Composite] = []

_MESSAGES = (
    "Fetch argument {fetch!r} has invalid type {type!r}",
    "Fetch argument {fetch!r} has invalid type {type!r}, must be a string or Tensor. ({error})",
    "Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})",
    "Operation {name!r} has been marked as not fetchable. Typically this happens when it is defined in another function"
    " or code block. Use return values,explicit Python locals or TensorFlow collections to access it.",
)
"""Errors: fetch is None, wrong type, not in this graph, not fetchable."""

_MESSAGES_2_21 = (
    'Argument `fetch` = {fetch} has invalid type "{type.__name__}". Cannot be None',
    'Argument `fetch` = {fetch} has invalid type "{type.__name__}" must be a string or Tensor. ({error})',
    "Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})",
    "Operation {name} has been marked as not fetchable. Typically this happens when it is defined in another function"
    " or code block. Use return values, explicit Python locals or TensorFlow collections to access it.",
)


def register_composite_fetch(
    kind: type, parts: Callable[[Any], Sequence[Tensor]], build: Callable[[Sequence[Any]], Any]
) -> None:
    """Make objects of a class fetchable and feedable.

    Args:
        kind: the class.
        parts: a function from an object to its tensors.
        build: a function from the values of the tensors to the fetched value.
    """

    def pairs(key: object, value: object) -> Sequence[tuple[Any, Any]]:
        return _fed_parts(key, parts(key), value)

    _composites.insert(0, _Composite(kind, lambda fetch: (parts(fetch), build), pairs, parts))


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Fetch,
    feed_function: Feed | None = None,
    feed_function_for_partial_run: Callable[[Any], Sequence[Any]] | None = None,
) -> None:
    """Make objects of a class fetchable and feedable.

    Args:
        tensor_type: the class.
        fetch_function: a function from an object to its fetches, and a function from their values to the result.
        feed_function: a function from an object and its fed value to pairs of tensor and value; None: it cannot be fed.
        feed_function_for_partial_run: a function from an object to the tensors to feed; None: those of
            ``fetch_function``.

    Raises:
        ValueError: the class, or a subclass, is registered already.
    """
    if any(issubclass(composite.kind, tensor_type) for composite in _composites):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _composites.insert(
        0, _Composite(tensor_type, fetch_function, feed_function, feed_function_for_partial_run)
    )


def _fed_parts(key: Any, parts: Sequence[Tensor], value: Any) -> Sequence[tuple[Any, Any]]:
    """Return the tensors of an object with their values; constants at the end need not be fed.

    Raises:
        ValueError: the number of values is wrong.
    """
    values = list(value)
    if len(values) > len(parts) and all(part is None for part in values[len(parts) :]):
        values = values[: len(parts)]  # slices without a known shape
    fed = parts[: len(values)]
    if len(values) > len(parts) or any(part.op.type != "Const" for part in parts[len(values) :]):
        raise ValueError(f"Feeding {key!r} needs {len(parts)} values, for {list(parts)}; got {len(values)}.")
    return list(zip(fed, values, strict=True))


def _composite(value: object) -> _Composite | None:
    for composite in _composites:
        if isinstance(value, composite.kind):
            return composite
    return None


def _slices_parts(fetch: IndexedSlices) -> Sequence[Tensor]:
    parts = (fetch.values, fetch.indices)
    return parts if fetch.dense_shape is None else (*parts, fetch.dense_shape)


def _slices_value(parts: Sequence[Any]) -> IndexedSlicesValue:
    return IndexedSlicesValue(parts[0], parts[1], parts[2] if len(parts) == 3 else None)


register_composite_fetch(IndexedSlices, _slices_parts, _slices_value)
register_composite_fetch(SparseTensor, parts_of, lambda parts: SparseTensorValue(*parts))


def composite_pairs(key: object, value: object) -> Sequence[tuple[Any, Any]] | None:
    """Return the tensors that feeding an object of several tensors feeds, with their values; None for a single tensor.

    Raises:
        TypeError: the object cannot be fed.
        ValueError: the number of values is wrong.
    """
    composite = _composite(key)
    if composite is None:
        return None
    if composite.feed is None:
        raise TypeError(f"Cannot feed {key!r}: no feed function is registered for {composite.kind}")
    return composite.feed(key, value)


def composite_parts(key: object) -> Sequence[Any] | None:
    """Return the tensors to feed for an object made of several tensors; None for a single tensor."""
    composite = _composite(key)
    if composite is None:
        return None
    return composite.fetch(key)[0] if composite.parts is None else composite.parts(key)


class _Leaf:
    """Callable that returns the value of one tensor, or None for an operation."""

    __slots__ = ("position",)

    def __init__(self, position: int | None) -> None:
        self.position = position

    def __call__(self, values: Sequence[Any]) -> Any:
        return None if self.position is None else values[self.position]


_NESTED = -1


def _flat_list(positions: list[int | None]) -> Build:
    """Return a function that returns the values at ``positions`` as a list, with None for position None."""
    if not any(position is not None for position in positions):
        return lambda values: [None] * len(positions)
    count = len(positions)
    if positions == list(range(count)):
        return lambda values: list(values[:count])
    return lambda values: [None if position is None else values[position] for position in positions]


def parts_of_fetch(fetch: Any) -> Sequence[Any] | None:
    """Return the fetches of an object of several tensors, or of a class with ``attrs``; None for any other object."""
    fields = getattr(type(fetch), "__attrs_attrs__", None)
    if fields is not None:
        return [getattr(fetch, field.name) for field in fields]
    if isinstance(fetch, Tensor | Operation):
        return None
    composite = _composite(fetch)
    return None if composite is None else composite.fetch(fetch)[0]


class FetchStructure:
    """Flattened fetches.

    Args:
        graph: the graph.
        fetches: the fetches.
        release: release whose error texts are used.
        session: session of the ``TensorHandle`` objects built for handles of its tensors; None: handles remain strings.

    Attributes:
        tensors: unique tensors, in order of appearance.
        operations: unique operations.
        build: function from the values of ``tensors`` to the structure of the fetches.

    Raises:
        TypeError: a fetch has the wrong type.
        ValueError: a name or element is not in this graph.
    """

    def __init__(self, graph: Graph, fetches: Any, release: str = "1.15", session: Any = None) -> None:
        self._graph = graph
        self._session = session
        self._messages = _MESSAGES_2_21 if release == "2.21" else _MESSAGES
        self._positions: dict[Tensor, int] = {}
        self._operations: dict[Operation, None] = {}
        try:
            self.build: Build = self._visit(fetches)
        except RecursionError:
            raise ValueError("The fetches are nested too deeply: does a list contain itself?") from None
        self.tensors: tuple[Tensor, ...] = tuple(self._positions)
        self.operations: tuple[Operation, ...] = tuple(self._operations)

    def _visit(self, fetch: Any) -> Build:
        if fetch is None:
            raise TypeError(self._messages[0].format(fetch=fetch, type=type(fetch)))
        if isinstance(fetch, (list, tuple)):
            return self._sequence(fetch)
        if isinstance(fetch, Mapping):
            return self._mapping(fetch)
        if hasattr(type(fetch), "__attrs_attrs__"):
            return self._attrs(fetch)
        if isinstance(fetch, Tensor | Operation | str | bytes):
            return self._element(fetch, fetch)
        composite = _composite(fetch)
        if composite is not None:
            tensors, build = composite.fetch(fetch)
            parts = [self._element(tensor, fetch) for tensor in tensors]
            return lambda values: build([part(values) for part in parts])
        return self._element(fetch, fetch)

    def _element(self, element: object, fetch: Any) -> Build:
        try:
            item = self._graph.as_graph_element(element, allow_tensor=True, allow_operation=True)
        except TypeError as error:
            raise TypeError(self._messages[1].format(fetch=fetch, type=type(fetch), error=error)) from None
        except (ValueError, KeyError) as error:
            raise ValueError(self._messages[2].format(fetch=fetch, error=error)) from None
        if not self._graph.is_fetchable(item):
            name = item.op.name if isinstance(item, Tensor) else item.name
            raise ValueError(self._messages[3].format(name=name))
        if isinstance(item, Operation):
            self._operations.setdefault(item)
            return _Leaf(None)
        leaf = _Leaf(self._positions.setdefault(item, len(self._positions)))
        if self._session is None or item.op.type not in SESSION_HANDLES:
            return leaf
        session, dtype = self._session, item.op.inputs[0].dtype.base_dtype
        return lambda values: TensorHandle(leaf(values), dtype, session)

    def _sequence(self, fetches: Any) -> Build:
        parts = [self._visit(fetch) for fetch in fetches]
        cls = type(fetches)
        if hasattr(cls, "_fields"):
            return lambda values: cls(*[part(values) for part in parts])
        positions = [part.position if isinstance(part, _Leaf) else _NESTED for part in parts]
        if cls is list and _NESTED not in positions:
            return _flat_list(positions)
        if cls is list:
            return lambda values: [part(values) for part in parts]
        if cls is tuple:
            return lambda values: tuple([part(values) for part in parts])
        return lambda values: cls([part(values) for part in parts])

    def _mapping(self, fetches: Mapping[Any, Any]) -> Build:
        parts = {key: self._visit(fetch) for key, fetch in fetches.items()}
        cls: Any = type(fetches)
        arguments = (fetches.default_factory,) if isinstance(fetches, defaultdict) else ()

        def build(values: Sequence[Any]) -> Any:
            built = cls(*arguments)
            for key, part in parts.items():
                built[key] = part(values)
            return built

        return build

    def _attrs(self, fetches: Any) -> Build:
        cls = type(fetches)
        fields = cls.__attrs_attrs__
        parts = {
            getattr(field, "alias", None) or field.name.lstrip("_"): self._visit(getattr(fetches, field.name))
            for field in fields
        }
        return lambda values: cls(**{name: part(values) for name, part in parts.items()})
