"""Kinds of nodes: nodes of one op type with the same attributes, which share all inferred results.

A graph of 100,000 nodes has a few hundred kinds. Shapes are plain tuples of sizes here, because equal tuples hash and
compare without Python code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graph.op_def import OpDef
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.node_facts import declared_types
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.shapes import TensorShape

Sizes = tuple[int | None, ...] | None
"""A shape: a size or None for each dimension; None if the rank is unknown."""

Array = np.ndarray[Any, Any]

Value = tuple[Array, Array | None]
"""A tensor's value, with -1 in unknown elements, and the mask of unknown elements; None if all are known."""

_HANDLE_TYPES = ("resource", "variant", "string_ref")


class Rules(dict[str, Any]):
    """Functions by op type; calling the registry with op types registers the decorated function."""

    def __call__(self, *op_types: str) -> Callable[[Any], Any]:
        def register(function: Any) -> Any:
            self.update(dict.fromkeys(op_types, function))
            return function

        return register


@dataclass(slots=True, eq=False, repr=False)
class Kind:
    """Common properties of nodes of one op type with the same attributes."""

    number: int
    """Position among the kinds of a graph."""
    op_type: str
    """Op type, or the name of a function."""
    op_def: OpDef | None
    """Signature; None for an unknown op."""
    attrs: Mapping[str, Any]
    """Attributes with defaults, without those that begin with an underscore."""
    input_types: tuple[DType, ...]
    """Declared type of each data input."""
    output_types: Sequence[DType]
    """Declared type of each output."""
    dtypes: tuple[DType, ...] = field(init=False)
    """Type of each output, reference types as their base; empty if there are more than `_MOST_TENSORS`."""
    handles: tuple[int, ...] = field(init=False)
    """Inputs that are resource handles."""
    makes_handle: bool = field(init=False)
    """Whether an output is such a handle."""
    shapes: dict[Any, Any] = field(default_factory=dict)
    """Inferred shapes by input shapes."""
    value_inputs: tuple[int, ...] = ()
    """Inputs whose values the shape function reads."""
    work: dict[Any, Any] = field(default_factory=dict)
    """Work by input shapes."""

    def __post_init__(self) -> None:
        is_short = len(self.output_types) <= _MOST_TENSORS
        self.dtypes = tuple(dtype.base_dtype for dtype in self.output_types) if is_short else ()
        self.handles = tuple(at for at, dtype in enumerate(self.input_types) if dtype.name in _HANDLE_TYPES)
        self.makes_handle = any(dtype.name in _HANDLE_TYPES for dtype in self.dtypes)

    def dtype(self, output: int) -> DType:
        """Return the type of an output, a reference type as its base."""
        return self.output_types[output].base_dtype

    @property
    def is_stateful(self) -> bool:
        """Whether the op's result may depend on more than its inputs."""
        return self.op_def is None or self.op_def.is_stateful


_MOST_TENSORS = 1 << 16
"""Number of inputs or outputs above which a node's op counts as unknown."""


class Kinds:
    """Kinds of nodes of a graph, and of the functions that it calls.

    Args:
        catalogue: op definitions.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._known: dict[Any, Kind] = {}
        self._of_graph: dict[int, tuple[PlacementGraph, list[Kind]]] = {}
        self.all: list[Kind] = []

    def of_nodes(self, graph: PlacementGraph) -> list[Kind]:
        """Return the kind of each node of a graph; cached, because shapes are inferred for several batches."""
        if id(graph) in self._of_graph:
            return self._of_graph[id(graph)][1]
        attrs_of = graph.attrs if graph.node_attrs is None else graph.node_attrs
        kind_by_key, kinds, op_types = self._known, [], graph.op_types
        for node, signature in enumerate(graph.signature.tolist()):
            op_type, attrs = op_types[signature], attrs_of(node)
            if op_type == "Const":
                value = attrs.get("value")
                key: Any = (
                    "Const",
                    attrs.get("dtype"),
                    getattr(getattr(value, "shape", None), "sizes", None),
                )
            else:
                key = (op_type, *[item for item in attrs.items() if not item[0].startswith("_")])
            try:
                kind = kind_by_key.get(key)
            except TypeError:  # an unhashable attribute: the node has a unique key
                key, kind = object(), None
            if kind is None:
                kind = kind_by_key[key] = self._new(op_type, attrs, graph.functions)
            kinds.append(kind)
        self._of_graph[id(graph)] = graph, kinds
        return kinds

    def _new(self, op_type: str, attrs: Mapping[str, Any], functions: Mapping[str, Any]) -> Kind:
        op_def = self.catalogue.ops.get(op_type) or functions.get(op_type)
        declared_attrs = {name: value for name, value in attrs.items() if not name.startswith("_")}
        inputs: tuple[DType, ...] = ()
        outputs: Sequence[DType] = ()
        if op_def is not None:
            declared_attrs = {**op_def.defaults, **declared_attrs}
            try:
                declared_inputs, outputs = declared_types(op_def, declared_attrs)
                if max(len(declared_inputs), len(outputs)) > _MOST_TENSORS:
                    op_def = None
                else:
                    inputs = tuple(declared_inputs)
            except (KeyError, TypeError, InvalidArgumentError, NotFoundError):
                pass  # an attribute is missing: the node is invalid, and its outputs are unknown
        kind = Kind(len(self.all), op_type, op_def, declared_attrs, inputs, outputs)
        self.all.append(kind)
        return kind


def shape_of(sizes: Sizes) -> TensorShape:
    """Return sizes as a ``TensorShape``; equal sizes share one object."""
    shape = _shapes.get(sizes)
    if shape is None:
        if len(_shapes) > _MOST_SHAPES:
            _shapes.clear()
        shape = _shapes[sizes] = TensorShape.of(sizes)
    return shape


_shapes: dict[Sizes, TensorShape] = {}
_MOST_SHAPES = 1 << 16


def joined(first: Sizes, second: Sizes) -> Sizes:
    """Return the least general shape of which both shapes are instances.

    >>> joined((2, 3), (2, 4)), joined((2,), (2, 3))
    ((2, None), None)
    """
    if first == second:
        return first
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple([a if a == b else None for a, b in zip(first, second, strict=True)])


def filled_with(sizes: Sizes, size: int) -> tuple[int, ...]:
    """Return sizes with the unknown ones replaced; empty if the rank is unknown."""
    return tuple([size if known is None else known for known in sizes or ()])


def is_known(sizes: Sizes) -> bool:
    """Whether the rank and all sizes are known."""
    return sizes is not None and None not in sizes
