"""Nodes that are alike: of one op type with the same attributes, so that what is found for one holds for all.

A graph of 100,000 nodes has some hundred kinds of nodes. Shapes are kept as plain tuples of sizes here: two that are
equal hash and compare without Python code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
"""A shape: a size or None for each dimension; None where the rank is unknown."""

Array = np.ndarray[Any, Any]

Value = tuple[Array, Array | None]
"""A tensor's value, -1 where it is unknown, and which elements are unknown; None: none is."""

_HANDLE_TYPES = ("resource", "variant", "string_ref")


class Rules(dict[str, Any]):
    """Functions by the op types that they are for; called with op types, it registers the function below."""

    def __call__(self, *op_types: str) -> Callable[[Any], Any]:
        def register(function: Any) -> Any:
            self.update(dict.fromkeys(op_types, function))
            return function

        return register


@dataclass(slots=True, eq=False, repr=False)
class Kind:
    """What nodes of one op type with the same attributes have in common."""

    number: int
    """Its place among the kinds of a graph."""
    op_type: str
    """Op type, or the name of a function."""
    op_def: OpDef | None
    """The signature; None for an op that nobody knows."""
    attrs: Mapping[str, Any]
    """The attributes, defaults included, without those that begin with an underscore."""
    input_types: tuple[DType, ...]
    """Declared type of each data input."""
    output_types: tuple[DType, ...]
    """Declared type of each output."""
    dtypes: tuple[DType, ...] = field(init=False)
    """Type of each output, reference types as their base."""
    handles: tuple[int, ...] = field(init=False)
    """The inputs that are the handle of something that is kept elsewhere."""
    makes_handle: bool = field(init=False)
    """Whether an output is such a handle."""
    found: dict[Any, Any] = field(default_factory=dict)
    """What has been inferred, by the shapes of the inputs."""
    asked: tuple[int, ...] = ()
    work: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dtypes = tuple(dtype.base_dtype for dtype in self.output_types)
        self.handles = tuple(at for at, dtype in enumerate(self.input_types) if dtype.name in _HANDLE_TYPES)
        self.makes_handle = any(dtype.name in _HANDLE_TYPES for dtype in self.output_types)

    @property
    def is_stateful(self) -> bool:
        """Whether the op's result may depend on more than its inputs."""
        return self.op_def is None or self.op_def.is_stateful


_MOST_TENSORS = 1 << 16
"""Nodes that declare more inputs or outputs than this count as nodes of unknown ops."""


class Kinds:
    """The kinds of nodes of a graph, and of the functions that it calls.

    Args:
        catalogue: the ops.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._known: dict[Any, Kind] = {}
        self._of_graph: dict[int, tuple[PlacementGraph, list[Kind]]] = {}
        self.all: list[Kind] = []

    def of_nodes(self, graph: PlacementGraph) -> list[Kind]:
        """Return the kind of each node of a graph; looked up once, as shapes are inferred for several batches."""
        if id(graph) in self._of_graph:
            return self._of_graph[id(graph)][1]
        attrs_of = graph.attrs if graph.node_attrs is None else graph.node_attrs
        known, found, op_types = self._known, [], graph.op_types
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
                kind = known.get(key)
            except TypeError:  # an attribute of no known kind: the node is one of its own
                key, kind = object(), None
            if kind is None:
                kind = known[key] = self._new(op_type, attrs, graph.functions)
            found.append(kind)
        self._of_graph[id(graph)] = graph, found
        return found

    def _new(self, op_type: str, attrs: Mapping[str, Any], functions: Mapping[str, Any]) -> Kind:
        op_def = self.catalogue.ops.get(op_type) or functions.get(op_type)
        given = {name: value for name, value in attrs.items() if not name.startswith("_")}
        inputs: tuple[DType, ...] = ()
        outputs: tuple[DType, ...] = ()
        if op_def is not None:
            given = {**op_def.defaults, **given}
            try:
                declared = declared_types(op_def, given)
                if max(map(len, declared)) > _MOST_TENSORS:
                    op_def = None
                else:
                    inputs, outputs = map(tuple, declared)
            except (KeyError, TypeError, InvalidArgumentError, NotFoundError):
                pass  # an attribute is missing: the node is not sound, and nothing is known of its outputs
        kind = Kind(len(self.all), op_type, op_def, given, inputs, outputs)
        self.all.append(kind)
        return kind


def shape_of(sizes: Sizes) -> TensorShape:
    """Sizes as a ``TensorShape``; equal ones are one object."""
    shape = _shapes.get(sizes)
    if shape is None:
        if len(_shapes) > _MOST_SHAPES:
            _shapes.clear()
        shape = _shapes[sizes] = TensorShape.of(sizes)
    return shape


_shapes: dict[Sizes, TensorShape] = {}
_MOST_SHAPES = 1 << 16


def joined(one: Sizes, other: Sizes) -> Sizes:
    """The least general shape of which both are instances.

    >>> joined((2, 3), (2, 4)), joined((2,), (2, 3))
    ((2, None), None)
    """
    if one == other:
        return one
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple([a if a == b else None for a, b in zip(one, other, strict=True)])


def filled_with(sizes: Sizes, size: int) -> tuple[int, ...]:
    """Sizes with a number in the place of those that are unknown; none where the rank is."""
    return tuple([size if one is None else one for one in sizes or ()])


def is_known(sizes: Sizes) -> bool:
    """Whether rank and all sizes are known."""
    return sizes is not None and None not in sizes
