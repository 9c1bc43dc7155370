"""What the placer sees of a graph: flat arrays, one row per node and one per edge.

A graph of a million nodes has only a few hundred different *signatures* (op type with the attributes that choose a
kernel) and a few dozen requested devices. Both are interned, so that a rule is worked out once per signature or per
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

Edges are stored by consumer: all inputs of node 0, then all of node 1, ... each node's data inputs first. Nothing
here knows a device that exists or a kernel.

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
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.display import notebook_view, with_safe_text
from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import MERGES, NEXT_ITERATIONS
from gpuplace.graph.operation import Operation
from gpuplace.kernels.registry import Catalogue
from gpuplace.shapes import TensorShape

CONTROL = -1
"""Stands in `src_output` and `dst_input` of a control edge."""

COLOCATION_PREFIX = "loc:@"
"""What an entry of the `_class` attribute starts with; the rest is a colocation group's name, usually a node's."""


class Signature(NamedTuple):
    """An op type with the attributes that decide its kernels and the types of its inputs and outputs."""

    op_type: str
    attrs: tuple[tuple[str, Any], ...]
    """`(name, value)` of the type attributes, lists of types, list lengths and the kernel label."""


class TensorInfo(NamedTuple):
    """What is known of one output of a node, for tables of edges and copies."""

    dtype: Any
    """The `DType`, or None."""
    shape: tuple[int | None, ...] | None
    """The sizes, None if a size is unknown; None when the rank is."""
    nbytes: int | None
    """Size in bytes when everything is known."""


class Added(NamedTuple):
    """What a node was added for."""

    caller: str
    """The node of the user's graph that it stands for, with others."""
    inner: str
    """Its name in the function that it was copied from; "" for one that was not copied."""


class Inspection(NamedTuple):
    """A function that the placer looks into."""

    function: str
    """Its name."""
    body: Callable[[], PlacementGraph]
    """Its graph, made when it is first asked for: `_Arg` nodes first and `_Retval` nodes last. It may raise an
    `OpError`."""


_SHOWN_TYPES = 6
"""How many op types a short description names."""
_MAX_ELEMENTS = (1 << 63) - 1


def known_bytes(dtype: DType | None, sizes: tuple[int | None, ...] | None) -> int | None:
    """Bytes of a tensor; None if something is unknown, or where TensorFlow has no such tensor.

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
    """A graph as flat arrays; `PlacementGraphBuilder` makes it."""

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
    """[class entries] int32: its group, an index into `groups`; a node's entries in the order of the attribute."""
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
    """All attributes of a node, for error texts and reports; None when the source kept none."""
    tensor_info: Callable[[int, int], TensorInfo] | None = None
    """Type, shape and size of output `(node, output)`; None when the source cannot tell."""
    source_line: Callable[[int], str | None] | None = None
    """`file:line` that made a node, where known."""
    source: Any = None
    """The object that this was made from."""
    part: str = ""
    """What of a model this is, in words; `""` for a graph that is all there is."""
    origin: Callable[[int], str | None] | None = None
    """For a node that was added before placing: what it was made from, in words."""
    added: Callable[[int], Added | None] | None = None
    """For a node that was added before placing: for which; None for the user's own. None where no node was added."""
    edge_turn: np.ndarray | None = None
    """[edges] int64: when each data edge was made, where that is not node by node."""
    inspections: Mapping[int, Inspection] = field(default_factory=dict)
    """For a call that gives back resources: the function that it calls."""
    first_edge: Mapping[int, int] = field(default_factory=dict)
    """Node -> the edge into it that was made first, where that is not its first input's."""
    replaced: frozenset[str] = frozenset()
    """The nodes that others now stand for, one of them with its name: devices that they were assigned are gone."""
    leads_to_sink: np.ndarray | None = None
    """[nodes] bool: which have an edge to TensorFlow's sink; all that nobody consumes if None. Added nodes have
    none, and a node that got consumers later keeps its own."""

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
        """Data and control edges."""
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

    def op_type(self, node: int) -> str:
        """Op type of a node."""
        return self.signatures[self.signature[node]].op_type

    def requested_device(self, node: int) -> str:
        """What the user asked for, as written; "" where nothing was asked."""
        return self.devices[self.device[node]]

    def in_edges(self, node: int) -> range:
        """Positions of the edges into a node, data inputs first."""
        return range(int(self.in_start[node]), int(self.in_start[node + 1]))

    def out_edges(self, node: int) -> list[int]:
        """Positions of the edges out of a node."""
        return self.out_order[self.out_start[node] : self.out_start[node + 1]].tolist()

    def colocation(self, node: int) -> tuple[str, ...]:
        """Names of the `_class` groups of a node, without `loc:@`."""
        first, last = np.searchsorted(self.class_node, [node, node + 1])
        return tuple(self.groups[group] for group in self.class_group[first:last])

    def attrs(self, node: int) -> Mapping[str, Any]:
        """All attributes of a node as far as the source kept them, else those of its signature."""
        if self.node_attrs is not None:
            return self.node_attrs(node)
        attrs: dict[str, Any] = dict(self.signatures[self.signature[node]].attrs)
        groups = self.colocation(node)
        if groups:
            attrs["_class"] = tuple((COLOCATION_PREFIX + name).encode() for name in groups)
        return attrs

    def changed(self, **fields: Any) -> PlacementGraph:
        """A copy with other values in some fields; the order of the nodes stays."""
        made = replace(self, **fields)
        if "order" in vars(self):
            vars(made)["order"] = self.order
        return made

    @cached_property
    def order(self) -> np.ndarray:
        """[nodes]: nodes in the order in which TensorFlow visits them.

        A node is ready when all its inputs have been visited; of the ready ones the first in the source graph comes
        next. A `Merge` fed by a `NextIteration` waits only for its control inputs and one data input.

        Raises:
            InvalidArgumentError: the graph has a cycle that is not a loop of that kind.
        """
        count = len(self.names)
        if not len(self.src) or bool(np.all(self.src < self.dst)):
            return np.arange(count, dtype=np.int64)
        return np.array(self._ready_order(), dtype=np.int64)

    @cached_property
    def rank(self) -> np.ndarray:
        """[nodes]: place of each node in `order`."""
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
                if isinstance(self.source, Graph)  # of this process; else as imports say it
                else f"{len(missing)} nodes in a cycle",
                facts={"nodes": ", ".join(self.names[node] for node in missing[:20])},
                hint="only a while loop may have a cycle: an edge from NextIteration to Merge",
            )
        return order


class PlacementGraphBuilder:
    """Collects nodes and makes a `PlacementGraph`.

    Args:
        catalogue: tells which attributes decide about types and kernels. Without it all types, ints, flags and short
            strings count (right as well, only with more signatures than needed).
    """

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self._catalogue = catalogue
        self._names: list[str] = []
        self._signature: list[int] = []
        self._device: list[int] = []
        self._signature_ids: dict[tuple[Any, ...], int] = {}
        self._signatures: list[Signature] = []
        self._device_ids: dict[str, int] = {"": 0}
        self._group_ids: dict[str, int] = {}
        self._class_node: list[int] = []
        self._class_group: list[int] = []
        self._class_ids: dict[str | bytes, int] = {}
        self._src: list[int | str] = []
        self._src_output: list[int] = []
        self._dst: list[int] = []
        self._dst_input: list[int] = []
        self._attr_names: dict[str, tuple[str, ...] | None] = {}

    def add_node(
        self,
        name: str,
        op_type: str,
        attrs: Mapping[str, Any],
        inputs: Iterable[str | tuple[int, int]] = (),
        control_inputs: Iterable[str | int] = (),
        device: str = "",
    ) -> int:
        """Adds a node and returns its position.

        Args:
            name: the node's name.
            op_type: op type, or the name of a function.
            attrs: attribute values in their Python form (`DType`, int, bytes, tuples of them, ...); `_class` is read
                here, of the rest only what may decide a kernel or the type of an input or output.
            inputs: data inputs in order, as `(position, output)` of an earlier node or as GraphDef writes them:
                `"a"`, `"a:1"`, and `"^a"` for a control input. Names may be those of later nodes.
            control_inputs: positions or names of nodes that must run before.
            device: requested device, as written.
        """
        node = self._begin_node(name, op_type, attrs, device)
        controls: list[int | str] = []
        position = 0
        for item in inputs:
            if type(item) is tuple:
                self._src.append(item[0])
                self._src_output.append(item[1])
                self._dst.append(node)
                self._dst_input.append(position)
                position += 1
                continue
            if isinstance(item, str):
                if item.startswith("^"):
                    controls.append(item[1:])
                    continue
                if controls:
                    raise _bad_node(name, "Control dependencies must come after regular dependencies")
                producer, output = split_tensor_name(item)
                self._src.append(producer)
            else:
                position_of_producer, output = item
                self._src.append(position_of_producer)
            self._src_output.append(output)
            self._dst.append(node)
            self._dst_input.append(position)
            position += 1
        if control_inputs:
            controls.extend(control_inputs)
        if controls:
            self._add_controls(node, controls)
        return node

    def add_operations(self, operations: Sequence[Operation]) -> None:
        """Adds all operations of a graph, as `add_node` does one after the other.

        Args:
            operations: each at the position that is its index; nothing else is added before.
        """
        ids, attr_names, signature = self._signature_ids, self._attr_names, self._signature
        devices, device = self._device_ids, self._device
        self._names = [op.name for op in operations]
        for op in operations:
            op_type, attrs, requested = op.type, op.attrs, op._device
            deciding = attr_names.get(op_type)
            number = None if deciding is None else ids.get((op_type, *map(attrs.get, deciding)))
            signature.append(self.intern_signature(op_type, attrs) if number is None else number)
            if requested not in devices:
                devices[requested] = len(devices)
            device.append(devices[requested])
            if "_class" in attrs:
                self._colocate(op.index, attrs)
        inputs = [op.inputs for op in operations]
        counts = np.fromiter(map(len, inputs), np.int32, len(inputs))
        ends = np.cumsum(counts)
        dst = np.repeat(np.arange(len(inputs), dtype=np.int32), counts)
        edges = [
            np.array([tensor.op.index for taken in inputs for tensor in taken], np.int32),
            np.array([tensor.value_index for taken in inputs for tensor in taken], np.int32),
            dst,
            np.arange(len(dst), dtype=np.int32) - (ends - counts).astype(np.int32)[dst],
        ]
        controls = [
            (control.index, CONTROL, op.index, CONTROL)
            for op in operations
            if op._control_inputs
            for control in dict.fromkeys(op._control_inputs)
        ]
        if controls:
            columns = np.array(controls, np.int32).T
            edges = [np.concatenate(pair) for pair in zip(edges, columns, strict=True)]
            order = np.argsort(edges[2], kind="stable")  # a node's control edges come after its others
            edges = [column[order] for column in edges]
        self._src, self._src_output, self._dst, self._dst_input = (column.tolist() for column in edges)

    def _begin_node(self, name: str, op_type: str, attrs: Mapping[str, Any], device: str) -> int:
        node = len(self._names)
        self._names.append(name)
        self._signature.append(self.intern_signature(op_type, attrs))
        device_id = self._device_ids.get(device)
        if device_id is None:
            device_id = self._device_ids[device] = len(self._device_ids)
        self._device.append(device_id)
        self._colocate(node, attrs)
        return node

    def _colocate(self, node: int, attrs: Mapping[str, Any]) -> None:
        groups = attrs.get("_class")
        if isinstance(groups, (tuple, list)):
            self.colocate(node, groups)

    def _add_controls(self, node: int, controls: Sequence[int | str]) -> None:
        for control in dict.fromkeys(controls):
            self._src.append(control)
            self._src_output.append(CONTROL)
            self._dst.append(node)
            self._dst_input.append(CONTROL)

    def colocate(self, node: int, groups: Iterable[Any]) -> None:
        """Notes the `_class` entries of the node last added; those without the `loc:@` prefix mean nothing."""
        for group in groups:
            if not isinstance(group, (str, bytes)):
                continue
            number = self._class_ids.get(group)
            if number is None:
                text = group.decode(errors="replace") if isinstance(group, bytes) else group
                if not text.startswith(COLOCATION_PREFIX):
                    continue
                number = self._group_ids.setdefault(text[len(COLOCATION_PREFIX) :], len(self._group_ids))
                self._class_ids[group] = number
            self._class_node.append(node)
            self._class_group.append(number)

    def intern_signature(self, op_type: str, attrs: Mapping[str, Any]) -> int:
        """Number of the signature of such a node."""
        try:
            names = self._attr_names[op_type]
        except KeyError:
            names = self._attr_names[op_type] = self._relevant_attrs(op_type)
        if names is None:
            names = tuple(sorted(name for name, value in attrs.items() if _may_decide(name, value)))
            key: tuple[Any, ...] = (op_type, names, *[attrs[name] for name in names])
        else:
            key = (op_type, *[attrs.get(name) for name in names])
        number = self._signature_ids.get(key)
        if number is None:
            number = self._signature_ids[key] = len(self._signatures)
            pairs = tuple((name, attrs[name]) for name in names if name in attrs)
            self._signatures.append(Signature(op_type, pairs))
        return number

    def _relevant_attrs(self, op_type: str) -> tuple[str, ...] | None:
        op_def = self._catalogue.ops.get(op_type) if self._catalogue is not None else None
        if self._catalogue is None or op_def is None:
            return None
        lengths = {arg.number_attr for arg in (*op_def.inputs, *op_def.outputs) if arg.number_attr}
        names = [attr.name for attr in op_def.attrs if attr.element_type == "type" or attr.name in lengths]
        return tuple(dict.fromkeys((*names, *self._catalogue.kernels.deciding_attrs(op_type), "_kernel")))

    def build(self, **extra: Any) -> PlacementGraph:
        """Resolves names and freezes everything.

        Args:
            extra: the optional fields of `PlacementGraph` (`functions`, `node_attrs`, `tensor_info`, `source_line`,
                `source`, `origin`).

        Raises:
            InvalidArgumentError: two nodes of one name, or an input that names no node.
        """
        joined = "\n".join(self._names)
        if self._names and (joined.count("\n") >= len(self._names) or not _ALL_NAMES.fullmatch(joined)):
            wrong = next(name for name in self._names if not _NAME.fullmatch(name))
            raise _bad_node(wrong, "Node name contains invalid characters")
        src: Sequence[int | str] = self._src
        by_name = not {type(source) for source in src} <= {int}
        index: dict[str, int] = {}
        if by_name or self._group_ids or len(set(self._names)) < len(self._names):
            index = self._index()
        if by_name:
            src = self._resolve(src, index)
        return PlacementGraph(
            names=tuple(self._names),
            signatures=tuple(self._signatures),
            signature=np.array(self._signature, dtype=np.int32),
            devices=tuple(self._device_ids),
            device=np.array(self._device, dtype=np.int32),
            groups=tuple(self._group_ids),
            group_node=np.array([index.get(group, -1) for group in self._group_ids], dtype=np.int32),
            class_node=np.array(self._class_node, dtype=np.int32),
            class_group=np.array(self._class_group, dtype=np.int32),
            src=np.array(src, dtype=np.int32),
            src_output=np.array(self._src_output, dtype=np.int32),
            dst=np.array(self._dst, dtype=np.int32),
            dst_input=np.array(self._dst_input, dtype=np.int32),
            **extra,
        )

    def _index(self) -> dict[str, int]:
        index = {name: i for i, name in enumerate(self._names)}
        if len(index) < len(self._names):
            for i, name in enumerate(self._names):
                if index[name] != i:
                    raise InvalidArgumentError.of(
                        f"Node '{name}' is not unique",
                        facts={"positions": f"{i} and {index[name]}"},
                        hint="give one of the two nodes another name",
                    )
        return index

    def _resolve(self, src: Sequence[int | str], index: Mapping[str, int]) -> list[int]:
        resolved: list[int] = []
        for edge, source in enumerate(src):
            found = index.get(source) if isinstance(source, str) else source
            if found is None:
                node = self._names[self._dst[edge]]
                output = self._src_output[edge]
                text = f"^{source}" if output == CONTROL else f"{source}:{output}" if output else source
                raise InvalidArgumentError.of(
                    f"Node '{node}': Unknown input node '{text}'",
                    hint="every input must be the output of a node of the same graph",
                )
            resolved.append(found)
        return resolved


_NAME_PATTERN = r"[A-Za-z0-9._][A-Za-z0-9_.\\/\-]*(?:>[A-Za-z0-9._][A-Za-z0-9_.\\/\-]*)*"
_NAME = re.compile(_NAME_PATTERN)
_ALL_NAMES = re.compile(rf"{_NAME_PATTERN}(?:\n{_NAME_PATTERN})*+")
_MAX_OUTPUT = (1 << 31) - 1


def _bad_node(name: str, what: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(f"Node '{name}': {what}")


def split_tensor_name(text: str) -> tuple[str, int]:
    """Node and output of a tensor's name as GraphDef writes it.

    >>> split_tensor_name("scope/split:2"), split_tensor_name("scope/split")
    (('scope/split', 2), ('scope/split', 0))
    """
    name, colon, output = text.rpartition(":")
    if colon and output.isascii() and output.isdigit():
        return name, min(int(output), _MAX_OUTPUT) if len(output) < 12 else _MAX_OUTPUT
    return text, 0


def _may_decide(name: str, value: Any) -> bool:
    if name == "_kernel":
        return True
    if name.startswith("_"):
        return False
    if isinstance(value, tuple):
        return bool(value) and isinstance(value[0], DType)
    return isinstance(value, (DType, int)) or (isinstance(value, bytes) and len(value) <= 32)
