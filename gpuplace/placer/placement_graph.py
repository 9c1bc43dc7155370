"""The placer's view of a graph: flat arrays, one row per node and one per edge.

A graph of a million nodes has only a few hundred different *signatures* (op type with the attributes that choose a
kernel) and a few dozen requested devices. Both are interned, so that a rule is evaluated once per signature or per
device string and then spread over the nodes by array indexing::

    node        0        1        2          signatures[0] = Const   dtype=float32
    names       a        b        MatMul     signatures[1] = MatMul  T=float32
    signature   0        0        1
    device      1        1        0          devices[0] = ""   devices[1] = "/cpu:0"

    edge        0        1
    src         0        1                   a:0 ──> MatMul input 0
    src_output  0        0                   b:0 ──> MatMul input 1
    dst         2        2                   (-1 in src_output and dst_input: a control edge)
    dst_input   0        1

Edges are stored by consumer: all inputs of node 0, then all of node 1, ... each node's data inputs first. This module
does not know any machine's devices or kernels.

>>> from gpuplace.placer.graph_builder import PlacementGraphBuilder
>>> builder = PlacementGraphBuilder()
>>> _ = builder.add_node("a", "Const", {}, device="/cpu:0")
>>> _ = builder.add_node("b", "Const", {}, device="/cpu:0")
>>> _ = builder.add_node("c", "MatMul", {}, inputs=["a", "b"], control_inputs=["a"])
>>> graph = builder.build()
>>> graph.src.tolist(), graph.dst_input.tolist()
([0, 1, 0], [0, 1, -1])
>>> graph.devices
('', '/cpu:0')
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.display import notebook_view, with_safe_text
from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import MERGES, NEXT_ITERATIONS
from gpuplace.shapes import TensorShape

CONTROL = -1
"""The value of `src_output` and `dst_input` for a control edge."""

COLOCATION_PREFIX = "loc:@"
"""The prefix of an entry of the `_class` attribute; the rest is a colocation group's name, usually a node's."""


class Signature(NamedTuple):
    """An op type with the attributes that decide its kernels and the types of its inputs and outputs."""

    op_type: str
    attrs: tuple[tuple[str, Any], ...]
    """`(name, value)` of the type attributes, lists of types, list lengths and the kernel label."""


class TensorInfo(NamedTuple):
    """The known properties of one output of a node, for tables of edges and copies."""

    dtype: Any
    """The `DType`, or None."""
    shape: tuple[int | None, ...] | None
    """The dimensions, None for an unknown one; None for an unknown rank."""
    nbytes: int | None
    """Size in bytes; None if anything is unknown."""


class Added(NamedTuple):
    """The reason why a node was added before placing."""

    caller: str
    """The node of the user's graph that it replaces, together with others."""
    inner: str
    """Its name in the function that it was copied from; "" if it was not copied."""


class Inspection(NamedTuple):
    """A function that the placer inspects."""

    function: str
    """Its name."""
    body: Callable[[], PlacementGraph]
    """Returns its graph, built on the first call: `_Arg` nodes first, `_Retval` nodes last. May raise an `OpError`."""


_SHOWN_TYPES = 6
"""Number of op types that a short description names."""
_MAX_ELEMENTS = (1 << 63) - 1


def known_bytes(dtype: DType | None, sizes: tuple[int | None, ...] | None) -> int | None:
    """Return a tensor's size in bytes; None if anything is unknown, or if TensorFlow allows no such tensor.

    >>> from gpuplace.dtypes import float32
    >>> known_bytes(float32, (2, 3)), known_bytes(float32, (None, 3)), known_bytes(float32, (1 << 62,) * 3)
    (24, None, None)
    """
    count = TensorShape.of(sizes).num_elements()
    if dtype is None or count is None or count > _MAX_ELEMENTS:
        return None
    return dtype.size * count


@dataclass(frozen=True, eq=False)
class PlacementGraph:
    """A graph as flat arrays, built by `gpuplace.placer.graph_builder`."""

    names: tuple[str, ...]
    """Node names, in the order of the source graph."""
    signatures: tuple[Signature, ...]
    """The distinct signatures."""
    signature: np.ndarray
    """[nodes] int32: index into `signatures`."""
    devices: tuple[str, ...]
    """The distinct requested devices; the first is "", no request."""
    device: np.ndarray
    """[nodes] int32: index into `devices`."""
    groups: tuple[str, ...]
    """The distinct names of `_class` groups, without `loc:@`."""
    group_node: np.ndarray
    """[groups] int32: the node that has the group's name, or -1."""
    class_node: np.ndarray
    """[class entries] int32: node of each `_class` entry; ascending."""
    class_group: np.ndarray
    """[class entries] int32: its group, an index into `groups`; a node's entries keep the order of the attribute."""
    src: np.ndarray
    """[edges] int32: producing node."""
    src_output: np.ndarray
    """[edges] int32: output of the producing node, or `CONTROL`."""
    dst: np.ndarray
    """[edges] int32: consuming node; ascending."""
    dst_input: np.ndarray
    """[edges] int32: input of the consuming node, or `CONTROL`."""
    functions: Mapping[str, Any] = field(default_factory=dict)
    """Function library: name -> `OpDef` of the functions that a node may name instead of an op."""
    node_attrs: Callable[[int], Mapping[str, Any]] | None = None
    """Returns all attributes of a node, for error messages and reports; None if the source kept none."""
    tensor_info: Callable[[int, int], TensorInfo] | None = None
    """Returns type, shape and size of output `(node, output)`; None if the source has none."""
    source_line: Callable[[int], str | None] | None = None
    """Returns `file:line` of the statement that created a node, if known."""
    source: Any = None
    """The object that this graph was built from."""
    part: str = ""
    """A description of this part of a model; `""` for a complete graph."""
    origin: Callable[[int], str | None] | None = None
    """For a node added before placing: a description of its origin."""
    added: Callable[[int], Added | None] | None = None
    """For a node added before placing: the reason; None for the user's own nodes. None if no node was added."""
    source_rank: Callable[[int], int] | None = None
    """If nodes were added: each node's rank in the user's graph, or that of the node it was added for."""
    edge_turn: np.ndarray | None = None
    """[edges] int64: when each data edge was created, if not node by node."""
    inspections: Mapping[int, Inspection] = field(default_factory=dict)
    """For a call that returns resources: the function that it calls."""
    first_edge: Mapping[int, int] = field(default_factory=dict)
    """Node -> the first created edge into it, if it is not the first input's."""
    replaced: frozenset[str] = frozenset()
    """The replaced nodes. One of the replacing nodes has the same name; assigned devices do not carry over."""
    leads_to_sink: np.ndarray | None = None
    """[nodes] bool: whether the node has an edge to TensorFlow's sink; None if exactly the nodes without consumers have
    one.
    Added nodes have none, and a node that got consumers later keeps its own.
    """

    def __len__(self) -> int:
        return len(self.names)

    @with_safe_text
    def __repr__(self) -> str:
        """`<PlacementGraph of 3 nodes and 2 edges: 2 Const, 1 MatMul>`"""
        types = Counter(self.op_type(node) for node in range(len(self))).most_common()
        shown = [f"{count} {op_type}" for op_type, count in types[:_SHOWN_TYPES]]
        if len(types) > _SHOWN_TYPES:
            left = len(types) - _SHOWN_TYPES
            shown.append(f"{left} more op type{'' if left == 1 else 's'}")
        edges = f"{self.num_edges} edge{'' if self.num_edges == 1 else 's'}"
        nodes = f"{len(self)} node{'' if len(self) == 1 else 's'}"
        return f"<PlacementGraph of {nodes} and {edges}: {', '.join(shown) or 'empty'}>"

    _repr_mimebundle_ = notebook_view

    @property
    def num_edges(self) -> int:
        """The number of data and control edges."""
        return len(self.src)

    @cached_property
    def index(self) -> dict[str, int]:
        """Node name -> position."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def in_start(self) -> np.ndarray:
        """[nodes + 1]: the edges into node `i` are `in_start[i]:in_start[i + 1]`."""
        return np.searchsorted(self.dst, np.arange(len(self.names) + 1)).astype(np.int64)

    @cached_property
    def class_start(self) -> np.ndarray:
        """[nodes + 1]: the `_class` entries of node `i` are `class_start[i]:class_start[i + 1]`."""
        return np.searchsorted(self.class_node, np.arange(len(self.names) + 1)).astype(np.int64)

    @cached_property
    def out_order(self) -> np.ndarray:
        """[edges]: edges sorted by producing node, ties in edge order."""
        return np.argsort(self.src, kind="stable")

    @cached_property
    def out_start(self) -> np.ndarray:
        """[nodes + 1]: the edges out of node `i` are `out_order[out_start[i]:out_start[i + 1]]`."""
        counts = (
            np.bincount(self.src, minlength=len(self.names))
            if len(self.src)
            else np.zeros(len(self.names), int)
        )
        return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)

    @cached_property
    def op_types(self) -> list[str]:
        """[signatures] the op type of each signature."""
        return [signature.op_type for signature in self.signatures]

    def op_type(self, node: int) -> str:
        """Return the op type of a node."""
        return self.signatures[self.signature[node]].op_type

    def of_types(self, chosen: Container[str] | Callable[[str], bool]) -> np.ndarray:
        """Return for each node, [nodes] bool, whether its op type is in a container or passes a test."""
        passes = chosen if callable(chosen) else chosen.__contains__
        return np.array([bool(passes(name)) for name in self.op_types] or [False])[self.signature]

    def requested_device(self, node: int) -> str:
        """Return the device that the user requested for a node, as written; "" for none."""
        return self.devices[self.device[node]]

    def in_edges(self, node: int) -> range:
        """Return the positions of the edges into a node, data inputs first."""
        return range(int(self.in_start[node]), int(self.in_start[node + 1]))

    def out_edges(self, node: int) -> list[int]:
        """Return the positions of the edges out of a node."""
        return self.out_order[self.out_start[node] : self.out_start[node + 1]].tolist()

    def colocation(self, node: int) -> tuple[str, ...]:
        """Return the names of a node's `_class` groups, without `loc:@`."""
        first, last = self.class_start[node : node + 2].tolist()
        return tuple([self.groups[group] for group in self.class_group[first:last].tolist()])

    def attrs(self, node: int) -> Mapping[str, Any]:
        """Return all attributes of a node if the source kept them, otherwise those of its signature."""
        if self.node_attrs is not None:
            return self.node_attrs(node)
        attrs: dict[str, Any] = dict(self.signatures[self.signature[node]].attrs)
        groups = self.colocation(node)
        if groups:
            attrs["_class"] = tuple((COLOCATION_PREFIX + name).encode() for name in groups)
        return attrs

    def changed(self, **fields: Any) -> PlacementGraph:
        """Return a copy with other values in some fields; the node order stays."""
        copy = replace(self, **fields)
        if "order" in vars(self):
            vars(copy)["order"] = self.order
        return copy

    @cached_property
    def order(self) -> np.ndarray:
        """[nodes]: the nodes in the order in which TensorFlow visits them.

        A node is ready when all its inputs have been visited; the ready node that is first in the source graph comes
        next. A `Merge` fed by a `NextIteration` waits only for its control inputs and one data input.

        Raises:
            InvalidArgumentError: the graph has a cycle that is not a while loop.
        """
        count = len(self.names)
        if not len(self.src) or bool(np.all(self.src < self.dst)):
            return np.arange(count, dtype=np.int64)
        return np.array(self._ready_order(), dtype=np.int64)

    @cached_property
    def rank(self) -> np.ndarray:
        """[nodes]: index of each node in `order`."""
        rank = np.empty(len(self.names), dtype=np.int64)
        rank[self.order] = np.arange(len(self.names))
        return rank

    def _ready_order(self) -> list[int]:
        pending = np.diff(self.in_start).tolist()
        is_merge = [signature.op_type in MERGES for signature in self.signatures]
        is_next = [signature.op_type in NEXT_ITERATIONS for signature in self.signatures]
        signature = self.signature.tolist()
        src = self.src.tolist()
        if any(is_next):
            dst_input = self.dst_input.tolist()
            for node in range(len(pending)):
                if not is_merge[signature[node]]:
                    continue
                edges = self.in_edges(node)
                data = [e for e in edges if dst_input[e] != CONTROL]
                if any(is_next[signature[src[e]]] for e in data):
                    pending[node] = len(edges) - len(data) + 1
        consumers = self.dst[self.out_order].tolist()
        out_start = self.out_start.tolist()
        ready = [node for node, count in enumerate(pending) if count == 0]
        order: list[int] = []
        while ready:
            node = heapq.heappop(ready)
            order.append(node)
            from_next_iteration = is_next[signature[node]]
            for dst in consumers[out_start[node] : out_start[node + 1]]:
                if from_next_iteration and is_merge[signature[dst]]:
                    continue
                pending[dst] -= 1
                if pending[dst] == 0:
                    heapq.heappush(ready, dst)
        if len(order) < len(pending):
            missing = sorted(set(range(len(pending))) - set(order))
            first = ", ".join(self.names[node] for node in missing[:3])
            raise InvalidArgumentError.of(
                f"Graph is invalid, contains a cycle with {len(missing)} nodes, including: {first}"
                if isinstance(self.source, Graph)  # built in this process; imports have their own message
                else f"{len(missing)} nodes in a cycle",
                facts={"nodes": ", ".join(self.names[node] for node in missing[:20])},
                hint="only a while loop may have a cycle: an edge from NextIteration to Merge",
            )
        return order


_MAX_OUTPUT = (1 << 31) - 1


def split_tensor_name(text: str) -> tuple[str, int]:
    """Split a tensor name of a GraphDef into node name and output index.

    >>> split_tensor_name("scope/split:2"), split_tensor_name("scope/split")
    (('scope/split', 2), ('scope/split', 0))
    """
    name, colon, output = text.rpartition(":")
    if colon and output.isascii() and output.isdigit():
        return name, min(int(output), _MAX_OUTPUT) if len(output) < 12 else _MAX_OUTPUT
    return text, 0
