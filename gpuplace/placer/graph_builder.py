"""Build a `PlacementGraph` from nodes added one by one, or from whole columns.

>>> builder = PlacementGraphBuilder()
>>> _ = builder.add_node("a", "Const", {}, device="/cpu:0")
>>> _ = builder.add_node("c", "MatMul", {}, inputs=["a", "a"], control_inputs=["a"])
>>> graph = builder.build()
>>> graph.src.tolist(), graph.dst_input.tolist()
([0, 0, 0], [0, 1, -1])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import (
    COLOCATION_PREFIX,
    CONTROL,
    PlacementGraph,
    Signature,
    split_tensor_name,
)

Column: TypeAlias = Sequence[Any] | np.ndarray
"""One value per node, or per edge."""


class Columns(NamedTuple):
    """The nodes and edges of a whole graph; the fields correspond to those of `PlacementGraph`."""

    names: Sequence[str]
    signature: Column
    device: Column
    devices: Sequence[str]
    groups: Sequence[str]
    class_node: Column
    class_group: Column
    src: Column
    """Names or positions of nodes; an array holds positions only."""
    src_output: Column
    dst: Column
    dst_input: Column
    group_node: Column | None = None
    """None if not computed yet; otherwise the node names are known to be unique."""


class PlacementGraphBuilder:
    """Collects nodes and builds a `PlacementGraph`.

    Args:
        catalogue: lists the attributes that decide types and kernels. Without it, all types, integers, flags and short
            strings count; the result is equally correct but has more signatures.
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
        self._columns: Columns | None = None

    def add_node(
        self,
        name: str,
        op_type: str,
        attrs: Mapping[str, Any],
        inputs: Iterable[str | tuple[int, int]] = (),
        control_inputs: Iterable[str | int] = (),
        device: str = "",
    ) -> int:
        """Add a node and return its position.

        Args:
            name: the node's name.
            op_type: the op type, or the name of a function.
            attrs: attribute values in their Python form (`DType`, int, bytes, tuples of them, ...). `_class` is read
                here; other attributes only if they may decide a kernel or the type of an input or output.
            inputs: data inputs in order, as `(position, output)` of an earlier node or as in a GraphDef: `"a"`,
                `"a:1"`, and `"^a"` for a control input. Names may refer to later nodes.
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
        """Add all operations of a graph at once, with the same result as `add_node` for each.

        Args:
            operations: the operations, each at the position of its index; no node was added before.
        """
        ids, attr_names, signature = self._signature_ids, self._attr_names, self._signature
        devices, device = self._device_ids, self._device
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
            if op.controls
            for control in dict.fromkeys(op.controls)
        ]
        if controls:
            columns = np.array(controls, np.int32).T
            edges = [np.concatenate(pair) for pair in zip(edges, columns, strict=True)]
            order = np.argsort(edges[2], kind="stable")  # control edges come after a node's data edges
            edges = [column[order] for column in edges]
        self._columns = self._collected([op.name for op in operations], *edges)

    def add_columns(self, columns: Columns) -> None:
        """Add a whole graph; it must be the only addition.

        Args:
            columns: the nodes and edges; the signatures are numbers from `intern_signature`.
        """
        self._columns = columns

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
        """Record the `_class` entries of the last added node; entries without the `loc:@` prefix are ignored."""
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
        """Return the number of a node's signature."""
        names = self.deciding_attrs(op_type)
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

    def deciding_attrs(self, op_type: str) -> tuple[str, ...] | None:
        """Return the attribute names that distinguish the signatures of an op type; None if any may.

        Args:
            op_type: the op type, or the name of a function.
        """
        try:
            return self._attr_names[op_type]
        except KeyError:
            names = self._attr_names[op_type] = self._relevant_attrs(op_type)
            return names

    def _relevant_attrs(self, op_type: str) -> tuple[str, ...] | None:
        op_def = self._catalogue.ops.get(op_type) if self._catalogue is not None else None
        if self._catalogue is None or op_def is None:
            return None
        lengths = {arg.number_attr for arg in (*op_def.inputs, *op_def.outputs) if arg.number_attr}
        names = [attr.name for attr in op_def.attrs if attr.element_type == "type" or attr.name in lengths]
        return tuple(dict.fromkeys((*names, *self._catalogue.kernels.deciding_attrs(op_type), "_kernel")))

    def build(self, **extra: Any) -> PlacementGraph:
        """Resolve names and return the graph.

        Args:
            extra: the optional fields of `PlacementGraph` (`functions`, `node_attrs`, `tensor_info`, `source_line`,
                `source`, `origin`).

        Raises:
            InvalidArgumentError: two nodes have the same name, or an input names no node.
        """
        columns = self._columns or self._collected(
            self._names, self._src, self._src_output, self._dst, self._dst_input
        )
        names = columns.names
        joined = "\n".join(names)
        if names and (joined.count("\n") >= len(names) or not _ALL_NAMES.fullmatch(joined)):
            invalid = next(name for name in names if not _NAME.fullmatch(name))
            raise _bad_node(invalid, "Node name contains invalid characters")
        by_name = not isinstance(columns.src, np.ndarray) and not {type(end) for end in columns.src} <= {int}
        group_node, src, index = columns.group_node, columns.src, {}
        if group_node is None:
            if by_name or columns.groups or len(set(names)) < len(names):
                index = _index(names)
            group_node = [index.get(group, -1) for group in columns.groups]
            src = _resolved(columns, index) if by_name else src
        graph = PlacementGraph(
            names=tuple(names),
            signatures=tuple(self._signatures),
            signature=np.array(columns.signature, dtype=np.int32),
            devices=tuple(columns.devices),
            device=np.array(columns.device, dtype=np.int32),
            groups=tuple(columns.groups),
            group_node=np.array(group_node, dtype=np.int32),
            class_node=np.array(columns.class_node, dtype=np.int32),
            class_group=np.array(columns.class_group, dtype=np.int32),
            src=np.array(src, dtype=np.int32),
            src_output=np.array(columns.src_output, dtype=np.int32),
            dst=np.array(columns.dst, dtype=np.int32),
            dst_input=np.array(columns.dst_input, dtype=np.int32),
            **extra,
        )
        if index:
            vars(graph)["index"] = index
        return graph

    def _collected(self, names: Sequence[str], *edges: Column) -> Columns:
        """Return the added nodes, with these names and edges."""
        return Columns(
            names,
            self._signature,
            self._device,
            tuple(self._device_ids),
            tuple(self._group_ids),
            self._class_node,
            self._class_group,
            *edges,
        )


def _index(names: Sequence[str]) -> dict[str, int]:
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        for i, name in enumerate(names):
            if index[name] != i:
                raise InvalidArgumentError.of(
                    f"Node '{name}' is not unique",
                    facts={"positions": f"{i} and {index[name]}"},
                    hint="give one of the two nodes another name",
                )
    return index


def _resolved(columns: Columns, index: Mapping[str, int]) -> list[int]:
    """Return the positions of the producing nodes, some of which are given by name."""
    resolved: list[int] = []
    for edge, source in enumerate(columns.src):
        position = index.get(source) if isinstance(source, str) else source
        if position is None:
            node = columns.names[columns.dst[edge]]
            output = columns.src_output[edge]
            text = f"^{source}" if output == CONTROL else f"{source}:{output}" if output else source
            raise InvalidArgumentError.of(
                f"Node '{node}': Unknown input node '{text}'",
                hint="every input must be the output of a node of the same graph",
            )
        resolved.append(position)
    return resolved


_NAME_PATTERN = r"[A-Za-z0-9._][A-Za-z0-9_.\\/\-]*(?:>[A-Za-z0-9._][A-Za-z0-9_.\\/\-]*)*"
_NAME = re.compile(_NAME_PATTERN)
_ALL_NAMES = re.compile(rf"{_NAME_PATTERN}(?:\n{_NAME_PATTERN})*+")
_MAX_OUTPUT = (1 << 31) - 1


def _bad_node(name: str, what: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(f"Node '{name}': {what}")


def _may_decide(name: str, value: Any) -> bool:
    if name == "_kernel":
        return True
    if name.startswith("_"):
        return False
    if isinstance(value, tuple):
        return bool(value) and isinstance(value[0], DType)
    return isinstance(value, (DType, int)) or (isinstance(value, bytes) and len(value) <= 32)
