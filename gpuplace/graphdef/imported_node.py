"""Nodes of a ``GraphDef`` as ``import_graph_def`` checks them: attributes, inputs, versions, order of creation.

The messages are those of TensorFlow's import, which checks every attribute of every node. Placement checks less, with
other messages (``gpuplace.placer.validate``); the common check of the kinds of values is in
``gpuplace.graph.attr_check``.

Source: tensorflow/core/graph/graph_constructor.cc and tensorflow/core/framework/node_def_util.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError, UnimplementedError
from gpuplace.graph.attr_check import kind_fault, type_fault
from gpuplace.graph.graph import GRAPH_DEF_VERSIONS
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_notation import AttrDef
from gpuplace.graph.op_sets import MERGES, NEXT_ITERATIONS
from gpuplace.graph.operation import CLASS_ATTR, Tensor
from gpuplace.graph.ready_order import ready_order
from gpuplace.graph.scopes import VALID_OP_NAME
from gpuplace.graphdef.attr_values import decode_attr, decode_attrs
from gpuplace.graphdef.export import extra_fields
from gpuplace.placer.placement_graph import split_tensor_name
from gpuplace.release import rules
from gpuplace.shapes import TensorShape

OUTPUT_SHAPES = "_output_shapes"
_FEW = 16
"""Maximum number of inputs for which a fast check is used."""


class NodeKind:
    """Common properties of nodes with the same op and attributes, computed once.

    Attributes:
        op_def: signature of the op.
        attrs: attributes including defaults, without ``_class``.
        output_shapes: shapes that another program inferred, None if there are none.
        extra_fields: other fields of the ``NodeDef``, serialized.
    """

    __slots__ = (
        "op_def",
        "attrs",
        "output_shapes",
        "extra_fields",
        "_input_types",
        "_output_types",
        "_plain",
    )

    def __init__(self, op_def: OpDef, attrs: dict[str, Any], extra: bytes) -> None:
        self.op_def = op_def
        self.attrs = attrs
        shapes = attrs.pop(OUTPUT_SHAPES, None)
        are_shapes = isinstance(shapes, tuple) and all(isinstance(shape, TensorShape) for shape in shapes)
        self.output_shapes: tuple[TensorShape, ...] | None = shapes if are_shapes else None
        self.extra_fields = extra
        self._plain: list[DType] | None = None
        self._input_types: Sequence[DType] | None = None
        self._output_types: Sequence[DType] | None = None

    def input_types(self) -> Sequence[DType]:
        """Return the type of each input; KeyError for a missing attribute."""
        if self._input_types is None:
            self._input_types = self.op_def.input_types(self.attrs)
        return self._input_types

    def takes(self, inputs: tuple[Tensor, ...]) -> bool:
        """Return whether the inputs have exactly the expected types; if False, they may still be valid."""
        if self._plain is None:
            try:
                types = self.input_types()
            except KeyError:
                return False
            if len(types) > _FEW:
                return False
            self._plain = list(types)
        return self._plain == [tensor.dtype for tensor in inputs]

    def output_types(self) -> Sequence[DType]:
        """Return the type of each output; KeyError for a missing attribute."""
        if self._output_types is None:
            self._output_types = self.op_def.output_types(self.attrs)
        return self._output_types


class ImportedNode:
    """A node of the ``GraphDef`` with its references resolved.

    Attributes:
        name: name in the ``GraphDef``.
        op_type: op type.
        device: requested device.
        kind: properties shared with other nodes.
        groups: its ``_class`` attribute, None if it has none.
        inputs: (node, output) of each data input, by the names of the ``GraphDef``.
        control_inputs: names of the control inputs.
    """

    __slots__ = ("name", "op_type", "device", "kind", "groups", "inputs", "control_inputs")

    def __init__(self, name: str, op_type: str, device: str, kind: NodeKind, groups: Any) -> None:
        self.name = name
        self.op_type = op_type
        self.device = device
        self.kind = kind
        self.groups = groups
        self.inputs: list[tuple[str, int]] = []
        self.control_inputs: Sequence[str] = ()

    @property
    def op_def(self) -> OpDef:
        """Signature of the op."""
        return self.kind.op_def


class NodeReader:
    """Checks nodes of one ``GraphDef`` against their signatures, equal nodes only once.

    Args:
        op_def_of: returns the signature of an op type for a node, and that of newer releases, if any.
        producer: version of the program that wrote the graph.
    """

    def __init__(self, op_def_of: Callable[[str, str], tuple[OpDef, OpDef | None]], producer: int) -> None:
        self._op_def_of = op_def_of
        self._producer = producer
        self._kinds: dict[tuple[str, bytes], NodeKind] = {}
        self._groups: dict[bytes, Any] = {}
        self._sources: dict[str, tuple[str, int]] = {}
        self._lengths = _Lengths()

    def read(self, proto: Any) -> ImportedNode:
        """Read a node; InvalidArgumentError if it does not match its signature."""
        name, op_type, device, texts = proto.name, proto.op, proto.device, list(proto.input)
        if not VALID_OP_NAME.fullmatch(name):
            self._op_def_of(op_type, name)  # an unknown op comes first
            raise InvalidArgumentError.of(f"Node '{name}': Node name contains invalid characters")
        data = proto.SerializeToString(deterministic=True)
        start = sum(map(self._lengths.__getitem__, texts), self._lengths[op_type] + self._lengths[device])
        rest, group = _split_class(data[start + _length(name) :])
        kind = self._kinds.get((op_type, rest))
        groups = None
        if kind is None:
            kind, groups = self._new_kind(proto, name, op_type)
            if len(rest) < _REMEMBERED:
                self._kinds[op_type, rest] = kind
        elif group is not None:
            if group not in self._groups:
                self._groups[group] = _checked_groups(decode_attr(proto.attr[CLASS_ATTR]), name)
            groups = self._groups[group]
        node = ImportedNode(name, op_type, device, kind, groups)
        sources = self._sources
        for text in texts:
            source = sources.get(text)
            if source is None:
                if text.startswith("^"):
                    node.control_inputs = [*node.control_inputs, text[1:]]
                    continue
                source = sources[text] = split_tensor_name(text)
            if node.control_inputs:
                raise InvalidArgumentError.of(
                    f"Node '{name}': Control dependencies must come after regular dependencies"
                )
            node.inputs.append(source)
        return node

    def _new_kind(self, proto: Any, name: str, op_type: str) -> tuple[NodeKind, Any]:
        op_def, newer = self._op_def_of(op_type, name)
        attrs = _checked_attrs(proto, name, op_def, newer, self._producer)
        groups = attrs.pop(CLASS_ATTR) if CLASS_ATTR in attrs else None
        return NodeKind(op_def, attrs, extra_fields(proto)), groups


_REMEMBERED = 1 << 10
"""Maximum size of cached attributes in bytes; nodes with more, such as large constants, are rarely equal."""


class _Lengths(dict[str, int]):
    """Text -> size in a serialized node, after which the sorted attributes start."""

    def __missing__(self, text: str) -> int:
        length = self[text] = _length(text)
        return length


def _length(text: str) -> int:
    """Return the size of a field with ``text``; 0 for an empty text, which is omitted."""
    size = len(text) if text.isascii() else len(text.encode())
    if size < 128:
        return size + 2 if size else 0
    return size + 1 + (size.bit_length() + 6) // 7


_CLASS_KEY = b"\n\x06_class"


def _split_class(data: bytes) -> tuple[bytes, bytes | None]:
    """Split serialized attributes into those without ``_class``, which differs between nodes, and ``_class``."""
    if _CLASS_KEY not in data:
        return data, None
    at = 0
    while at < len(data) and data[at] == 0x2A:
        size, shift, body = 0, 0, at + 1
        while True:
            digit = data[body]
            size |= (digit & 127) << shift
            shift += 7
            body += 1
            if digit < 128:
                break
        if data.startswith(_CLASS_KEY, body):
            return data[:at] + data[body + size :], data[body : body + size]
        at = body + size
    return data, None


def _checked_attrs(
    proto: Any, name: str, op_def: OpDef, newer: OpDef | None, producer: int
) -> dict[str, Any]:
    """Return a node's attributes including defaults; InvalidArgumentError if they do not match the signature."""
    removal = op_def.removal(producer)
    if removal is not None:
        raise UnimplementedError.of(removal, facts={"node": name})
    attrs = decode_attrs(proto.attr)
    for attr_name in [key for key in attrs if not key.startswith("_") and key not in op_def.attr_defs]:
        added = newer.defaults if newer is not None else {}
        if attr_name in added and added[attr_name] == attrs[attr_name]:
            del attrs[attr_name]
            continue
        raise InvalidArgumentError.of(
            f"NodeDef mentions attr '{attr_name}' not in Op<{op_def}>; NodeDef: {{{{node {name}}}}}. (Check"
            f" whether your"
            " GraphDef-interpreting binary is up to date with your GraphDef-generating binary.).",
            hint='for a graph of TensorFlow 2: tf.set_release("2.21")' if rules() != "2.21" else None,
        )
    if CLASS_ATTR in attrs:
        attrs[CLASS_ATTR] = _checked_groups(attrs[CLASS_ATTR], name)
    for attr in op_def.attrs:
        if attr.name not in attrs:
            if not attr.has_default:
                raise InvalidArgumentError.of(
                    f"NodeDef missing attr '{attr.name}' from Op<{op_def}>; NodeDef: {{{{node {name}}}}}"
                )
            attrs[attr.name] = attr.default
        else:
            attrs[attr.name] = _checked(attr, attrs[attr.name], name)
    return attrs


def _checked_groups(groups: Any, name: str) -> tuple[bytes, ...]:
    """Return a ``_class`` attribute; InvalidArgumentError if it is not a list of strings."""
    values: tuple[bytes, ...] = () if groups is None else groups
    fault = kind_fault(_CLASS, values)
    if fault is not None:
        raise _attr_error(fault, _CLASS, name)
    return values


_CLASS = AttrDef(CLASS_ATTR, "list(string)")


def _attr_error(fault: str, attr: AttrDef, node: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(f"{fault}\n\t for attr '{attr.name}'\n\t; NodeDef: {{{{node {node}}}}}")


def _checked(attr: AttrDef, value: Any, node: str) -> Any:
    """Return an attribute's value if its type and value are allowed by the signature."""
    if attr.is_list and value is None:
        value = ()
    fault = kind_fault(attr, value)
    if fault is None and attr.element_type == "type":
        fault = type_fault(value)
    if fault is not None:
        raise _attr_error(fault, attr, node)
    items = value if attr.is_list else (value,)
    if attr.allowed is not None:
        for item in items:
            if item not in attr.allowed:
                shown = item.short_name if isinstance(item, DType) else f'"{item.decode(errors="replace")}"'
                allowed = ", ".join(
                    v.short_name if isinstance(v, DType) else f'"{v.decode(errors="replace")}"'
                    for v in attr.allowed
                )
                raise InvalidArgumentError.of(
                    f"Value for attr '{attr.name}' of {shown} is not in the list of allowed values:"
                    f" {allowed}\n\t; NodeDef:"
                    f" {{{{node {node}}}}}"
                )
    size = len(items) if attr.is_list else value
    if attr.minimum is not None and isinstance(size, int) and size < attr.minimum:
        what = "Length" if attr.is_list else "Value"
        raise InvalidArgumentError.of(
            f"{what} for attr '{attr.name}' of {size} must be at least minimum {attr.minimum}\n\t; NodeDef:"
            f" {{{{node {node}}}}}"
        )
    return value


def check_versions(versions: Any) -> None:
    """Raise InvalidArgumentError if the graph's versions exclude this release."""
    ours = GRAPH_DEF_VERSIONS[rules()]
    if versions.producer < 0:
        raise InvalidArgumentError.of(
            f"GraphDef producer version {versions.producer} below min producer 0 supported by TensorFlow {rules()}."
            "  Please regenerate your graph."
        )
    if versions.min_consumer > ours:
        raise InvalidArgumentError.of(
            f"GraphDef min consumer version {versions.min_consumer} above current version {ours} for"
            f" TensorFlow {rules()}."
            "  Please upgrade TensorFlow."
        )
    if ours in versions.bad_consumers:
        raise InvalidArgumentError.of(
            f"GraphDef disallows consumer version {ours}.  Please upgrade TensorFlow: this version is likely buggy."
        )


def _is_in_order(nodes: Sequence[ImportedNode], position: Mapping[str, int]) -> bool:
    """Return whether every node already comes after its inputs."""
    for index, node in enumerate(nodes):
        for source, _ in node.inputs:
            if position.get(source, index) >= index:
                return False
        for source in node.control_inputs:
            if position.get(source, index) >= index:
                return False
    return True


def topological_order(
    nodes: Sequence[ImportedNode],
    external: Iterable[tuple[str, int]] = (),
    written: Callable[[int], Sequence[str]] | None = None,
) -> Sequence[int]:
    """Return the positions of the nodes in topological order; of ready nodes, the smallest position first.

    Args:
        nodes: all nodes; an input is one of them or a key of ``external``.
        external: inputs from outside ``nodes``.
        written: returns a node's inputs in the notation for errors; None: the usual one.

    Raises:
        InvalidArgumentError: a node has an unknown input, or nodes form a cycle.
    """
    position = {node.name: index for index, node in enumerate(nodes)}
    outside = set(external)
    if not outside and _is_in_order(nodes, position):
        return range(len(nodes))
    sources: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for source, output in [*node.inputs, *((control, -1) for control in node.control_inputs)]:
            if (source, output) in outside:
                continue
            source_index = position.get(source)
            if source_index is None:
                text = f"^{source}" if output < 0 else source if output == 0 else f"{source}:{output}"
                if output == 0 and written is not None and f"{source}:0" in written(index):
                    text = f"{source}:0"
                raise InvalidArgumentError.of(f"Node '{node.name}': Unknown input node '{text}'")
            if node.op_type in MERGES and output >= 0 and nodes[source_index].op_type in NEXT_ITERATIONS:
                continue
            sources[index].append(source_index)
    order = ready_order(range(len(nodes)), sources.__getitem__)
    if len(order) < len(nodes):
        stuck = [nodes[index].name for index in sorted(set(range(len(nodes))).difference(order))]
        shown = ", ".join(stuck[:8]) + (", ..." if len(stuck) > 8 else "")
        raise InvalidArgumentError.of(
            f"{len(stuck)} nodes in a cycle",
            facts={"waiting": shown},
            hint="only the edge from a NextIteration into a Merge may go backwards",
        )
    return order
