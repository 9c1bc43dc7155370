"""Read the nodes of a serialized ``GraphDef`` as columns, with array operations and without an object for each node.

The reader walks many nodes at once. Each round reads the next field of every node that has one left::

    data      0a 0e 0a 01 61 12 04 52 65 6c 75 1a 01 78 ...    node of 14 bytes: name "a", op "Relu", input "x"
    round 0   the name of each node        field 1
    round 1   the op type of each node     field 2
    round 2   an input, the device or an attribute

An attribute is the entry of a map, ``0a <key> 12 <value>``. Nodes of one op type whose deciding attributes have equal
bytes share a signature, so each distinct value is decoded once. The reader skips constants, shapes and everything else
that placement does not depend on.

Source: Protocol Buffers, "Encoding"; tensorflow/core/framework/node_def.proto and attr_value.proto, release 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.placer.graph_builder import Columns, PlacementGraphBuilder
from gpuplace.placer.kinds import numbered
from gpuplace.placer.placement_graph import COLOCATION_PREFIX, CONTROL, split_tensor_name
from gpuplace.progress import track

_FIRST, _SECOND = 0x0A, 0x12
"""Tags of fields 1 and 2 that contain bytes: a node; key and value of an attribute; a list, and its strings."""
_NAME, _OP, _INPUT, _DEVICE, _ATTR = 0x0A, 0x12, 0x1A, 0x22, 0x2A
"""Tags of a node's fields."""
_VERSION = 0x18
"""Tag of a graph's version, a number written by early releases of TensorFlow."""
_BYTES = 2
"""Wire type of byte fields, in the lowest three bits of the tag. The highest bit marks a longer tag."""

_BLOCK = 1 << 16
"""Number of nodes read at a time; their arrays fit in the processor's cache."""
_LEAST = 4
"""Number of blocks above which a progress bar is shown; fewer blocks finish before its delay."""
_FEW = 64
"""Number of nodes below which reading node by node is faster than a round."""
_PREFIX = COLOCATION_PREFIX.encode()


def read_columns(
    data: bytes, builder: PlacementGraphBuilder, attrs_of: Callable[[int], Mapping[str, Any]]
) -> Columns | None:
    """Return the nodes and edges of a graph, or None if they must be read node by node.

    This is the case for unusual bytes, such as a field that occurs twice, and for an invalid graph, such as an unknown
    input: reading node by node then finds the error and its message.

    Args:
        data: serialized ``GraphDef`` that protobuf has parsed without an error.
        builder: interns the signatures.
        attrs_of: returns the decoded attributes of the node at a position.
    """
    try:
        return _Reader(data, builder, attrs_of).columns()
    except _Unusual:
        return None


class _Unusual(Exception):
    """Raised if the graph must be read node by node."""


class _Data:
    """The bytes of a graph."""

    def __init__(self, data: bytes) -> None:
        self.bytes = data
        self.array = np.frombuffer(data, dtype=np.uint8)

    def lengths(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decode the lengths at some positions; return them and the positions after them."""
        size = self.array[at].astype(np.int64)
        begin = at + 1
        long = np.flatnonzero(size >= 128)
        shift = 7
        while len(long):
            digit = self.array[begin[long]].astype(np.int64)
            begin[long] += 1
            # The highest bit of the previous digit marks a continuation; it was counted as part of the length.
            size[long] += (digit - 1) << shift
            shift += 7
            long = long[digit >= 128]
        return size, begin

    def texts(self, begin: np.ndarray, end: np.ndarray) -> list[bytes]:
        """Return the bytes from each `begin` to its `end`."""
        data = self.bytes
        return [data[a:z] for a, z in zip(begin.tolist(), end.tolist(), strict=True)]

    def starting(self, begin: np.ndarray, text: bytes) -> np.ndarray:
        """Return the indices of the positions that start with a text of the given length."""
        matching = np.arange(len(begin))
        for offset, byte in enumerate(text):
            matching = matching[self.array[begin[matching] + offset] == byte]
        return matching


class _Numbers(dict[bytes, int]):
    """Text -> number; a new text gets the next number."""

    def __missing__(self, text: bytes) -> int:
        number = self[text] = len(self)
        return number


class _Positions(dict[bytes, int]):
    """Name -> position of the node; -1 for an unknown name."""

    def __missing__(self, name: bytes) -> int:
        return -1


def _looked_up(numbers: dict[bytes, int], texts: Sequence[bytes]) -> np.ndarray:
    return np.fromiter(map(numbers.__getitem__, texts), np.int32, len(texts))


class _Values(NamedTuple):
    """The values of one field, node by node."""

    counts: np.ndarray
    """[nodes] number of values of each node."""
    node: np.ndarray
    """[values] node, counted from the first of the block; ascending."""
    begin: np.ndarray
    """[values] start of the value in the data."""
    end: np.ndarray
    """[values] end of the value."""


class _Field:
    """One field of a block's nodes during the walk."""

    def __init__(self, count: int) -> None:
        self._counts = np.zeros(count, dtype=np.int64)
        self._parts: list[tuple[np.ndarray, ...]] = []

    def add(self, node: np.ndarray, begin: np.ndarray, end: np.ndarray) -> None:
        """Add a value to each of some distinct nodes."""
        turn = self._counts[node]
        self._counts[node] = turn + 1
        self._parts.append((node, turn, begin, end))

    def extend(self, node: np.ndarray, begin: np.ndarray, end: np.ndarray) -> None:
        """Add any number of values to some nodes, node by node."""
        turn = self._counts[node] + np.arange(len(node)) - np.searchsorted(node, node)
        self._counts += np.bincount(node, minlength=len(self._counts))
        self._parts.append((node, turn, begin, end))

    def values(self) -> _Values:
        """Return the values, those of each node in the order in which they were added."""
        counts = self._counts
        starts = np.cumsum(counts) - counts
        begin, end = np.empty((2, int(counts.sum())), dtype=np.int64)
        for node, turn, part_begin, part_end in self._parts:
            at = starts[node] + turn
            begin[at], end[at] = part_begin, part_end
        return _Values(counts, np.repeat(np.arange(len(counts)), counts), begin, end)


def _walked(data: _Data, at: np.ndarray, stop: np.ndarray) -> dict[int, _Values]:
    """Find the fields of the nodes whose content is at `at:stop`: tag -> values."""
    fields = {tag: _Field(len(at)) for tag in (_NAME, _OP, _INPUT, _DEVICE, _ATTR)}
    node = np.arange(len(at))
    while True:
        left = at < stop
        if not left.all():
            node, at, stop = node[left], at[left], stop[left]
        if len(node) < _FEW:
            break
        tags = data.array[at]
        if ((tags & 0x87) != _BYTES).any():
            raise _Unusual
        size, begin = data.lengths(at + 1)
        at = begin + size
        for tag, field in fields.items():
            is_this = tags == tag
            if is_this.all():
                field.add(node, begin, at)
            elif is_this.any():
                field.add(node[is_this], begin[is_this], at[is_this])
    # Few nodes are left, and each may have very many fields.
    rows = []
    for number, place, end in zip(node.tolist(), at.tolist(), stop.tolist(), strict=True):
        while place < end:
            tag = data.bytes[place]
            if tag & 0x87 != _BYTES:
                raise _Unusual
            length, start = _length(data.bytes, place + 1)
            place = start + length
            rows.append((tag, number, start, place))
    tags, *columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    for tag, field in fields.items():
        field.extend(*(column[tags == tag] for column in columns))
    return {tag: field.values() for tag, field in fields.items()}


class _Block(NamedTuple):
    """The columns of a block of nodes."""

    first: int
    """Position of the first node."""
    signature: np.ndarray
    """[nodes] number of the signature."""
    device: np.ndarray
    """[nodes] number of the requested device."""
    class_node: np.ndarray
    """[class entries] position of the node."""
    class_group: np.ndarray
    """[class entries] number of the group."""
    inputs: _Values


class _Reader:
    """Reads a graph block by block for `read_columns`; its methods raise `_Unusual`."""

    def __init__(
        self, data: bytes, builder: PlacementGraphBuilder, attrs_of: Callable[[int], Mapping[str, Any]]
    ) -> None:
        self.data = _Data(data)
        self.builder = builder
        self.attrs_of = attrs_of
        self.names: list[bytes] = []
        self.op_types, self.groups = _Numbers(), _Numbers()
        self.devices = _Numbers({b"": 0})

    def columns(self) -> Columns:
        """Return the nodes and edges."""
        nodes = _nodes(self.data.bytes)
        starts = range(0, len(nodes), _BLOCK)
        blocks = [
            self._block(first, nodes[first : first + _BLOCK])
            for first in track(starts, len(starts), "reading nodes", " blocks", least=_LEAST)
        ]
        positions = _Positions(zip(self.names, range(len(nodes)), strict=True))
        try:
            names, devices, groups = (
                b"\n".join(texts).decode().split("\n") for texts in (self.names, self.devices, self.groups)
            )
        except UnicodeDecodeError:  # a group: protobuf does not check the encoding of attributes
            raise _Unusual from None
        groups = groups[: len(self.groups)]  # splitting an empty list gives one part
        if len(positions) < len(names) or (len(names), len(devices), len(groups)) != (
            len(nodes),
            len(self.devices),
            len(self.groups),
        ):
            raise _Unusual
        signature, device, class_node, class_group = (
            np.concatenate([block[field] for block in blocks]) for field in range(1, 5)
        )
        edges = zip(*(self._edges(block, positions) for block in blocks), strict=True)
        src, src_output, dst, dst_input = map(np.concatenate, edges)
        return Columns(
            names,
            signature,
            device,
            devices,
            groups,
            class_node,
            class_group,
            src,
            src_output,
            dst,
            dst_input,
            _looked_up(positions, list(self.groups)),
        )

    def _block(self, first: int, lengths: np.ndarray) -> _Block:
        """Read the nodes whose lengths are at the given positions; the first is node number `first`."""
        size, begin = self.data.lengths(lengths)
        fields = _walked(self.data, begin, begin + size)
        for tag in (_NAME, _OP):
            if not (fields[tag].counts == 1).all():
                raise _Unusual
        requests = fields[_DEVICE]
        if (requests.counts > 1).any():
            raise _Unusual
        self.names += self._texts(fields[_NAME])
        device = np.zeros(len(begin), dtype=np.int32)
        device[requests.node] = _looked_up(self.devices, self._texts(requests))
        op_type = _looked_up(self.op_types, self._texts(fields[_OP]))
        attributes = _Attributes(self.data, fields[_ATTR])
        signature = self._signatures(first, op_type, attributes)
        class_node, class_group = self._classes(first, attributes)
        return _Block(first, signature, device, class_node, class_group, fields[_INPUT])

    def _texts(self, values: _Values) -> list[bytes]:
        return self.data.texts(values.begin, values.end)

    def _signatures(self, first: int, op_type: np.ndarray, attributes: _Attributes) -> np.ndarray:
        """[nodes] number of each node's signature."""
        names = list(self.op_types)
        present, kind = numbered(op_type)
        nodes, node_ends = _sorted_by(kind, len(present))
        entries, entry_ends = _sorted_by(kind[attributes.node], len(present))
        group, place = np.empty((2, len(op_type)), dtype=np.int64)
        count = 0
        for number, name in enumerate(present.tolist()):
            members = nodes[node_ends[number] : node_ends[number + 1]]
            place[members] = np.arange(len(members))
            deciding = self.builder.deciding_attrs(names[name].decode())
            codes = place[members]
            if deciding is not None:
                own = entries[entry_ends[number] : entry_ends[number + 1]]
                codes = attributes.codes(own, deciding, place, len(members))
            group[members] = count + codes
            count += int(codes.max()) + 1
        earliest = np.full(count, len(op_type))
        np.minimum.at(earliest, group, np.arange(len(op_type)))
        interned = np.empty(count, dtype=np.int32)
        for number in np.argsort(earliest).tolist():
            node = int(earliest[number])
            text = names[op_type[node]].decode()
            interned[number] = self.builder.intern_signature(text, self.attrs_of(first + node))
        return interned[group]

    def _classes(self, first: int, attributes: _Attributes) -> tuple[np.ndarray, np.ndarray]:
        """Return the node and the number of the group of each `_class` entry."""
        class_attrs = attributes.named(np.arange(len(attributes.node)), "_class")
        node, end = attributes.node[class_attrs] + first, attributes.end[class_attrs]
        begin, is_plain = attributes.only_text(attributes.begin[class_attrs], end)
        texts = self.data.texts(begin[is_plain], end[is_plain])
        if not is_plain.all():
            others = [
                (other, text)
                for other in node[~is_plain].tolist()
                for text in _group_names(self.attrs_of(other).get("_class"))
            ]
            node = np.concatenate((node[is_plain], np.array([other for other, _ in others], dtype=np.int64)))
            texts += [text for _, text in others]
            order = np.argsort(node, kind="stable")
            node, texts = node[order], [texts[at] for at in order.tolist()]
        return node, _looked_up(self.groups, texts)

    def _edges(self, block: _Block, positions: _Positions) -> tuple[np.ndarray, ...]:
        """Return source, output, destination and input of each edge into the nodes of a block."""
        counts, dst, begin, end = block.inputs
        if not (begin < end).all():
            raise _Unusual
        is_control = self.data.array[begin] == ord("^")
        if (is_control[:-1] & ~is_control[1:] & (dst[:-1] == dst[1:])).any():
            raise _Unusual
        texts = self.data.texts(begin + is_control, end)
        src = _looked_up(positions, texts)
        output = np.where(is_control, CONTROL, 0)
        for edge in np.flatnonzero(src < 0).tolist():
            name, number = split_tensor_name(texts[edge].decode())
            src[edge], output[edge] = positions[name.encode()], number
            if is_control[edge] or src[edge] < 0:
                raise _Unusual
        position = np.arange(len(dst)) - (np.cumsum(counts) - counts)[dst]
        position[is_control] = CONTROL
        edges = src, output, dst + block.first, position
        controls = np.flatnonzero(is_control)
        _, earliest = np.unique(dst[controls] * len(positions) + src[controls], return_index=True)
        if len(earliest) == len(controls):
            return edges
        keep = ~is_control
        keep[controls[earliest]] = True
        return tuple(column[keep] for column in edges)


class _Attributes:
    """The attributes of the nodes of a block.

    Attributes:
        node: [attributes] node, counted from the first of the block; ascending.
        begin, end: [attributes] start and end of the value in the data.
    """

    def __init__(self, data: _Data, entries: _Values) -> None:
        self.data = data
        self.node, self.end = entries.node, entries.end
        array = data.array
        if not (entries.end - entries.begin > 2).all() or not (array[entries.begin] == _FIRST).all():
            raise _Unusual
        self._key_size, self._key = data.lengths(entries.begin + 1)
        value = self._key + self._key_size
        if not (value + 1 < self.end).all() or not (array[value] == _SECOND).all():
            raise _Unusual
        size, self.begin = data.lengths(value + 1)
        if not np.array_equal(self.begin + size, self.end):
            raise _Unusual

    def named(self, entries: np.ndarray, name: str) -> np.ndarray:
        """Return the attributes with a name among the given ones; raise `_Unusual` if a node has several."""
        entries = entries[self._key_size[entries] == len(name)]
        entries = entries[self.data.starting(self._key[entries], name.encode())]
        if (np.diff(self.node[entries]) <= 0).any():
            raise _Unusual
        return entries

    def codes(self, entries: np.ndarray, names: Sequence[str], place: np.ndarray, count: int) -> np.ndarray:
        """Number the nodes of an op type by the bytes of the attributes that matter: equal bytes, equal number.

        Args:
            entries: attributes of these nodes.
            names: names of the attributes that matter.
            place: [nodes of the block] position of each node among these nodes.
            count: number of nodes.
        """
        codes = np.zeros(count, dtype=np.int64)
        for name in names:
            matching = self.named(entries, name)
            if len(matching):
                values = np.zeros(count, dtype=np.int64)
                values[place[self.node[matching]]] = self._value_codes(matching) + 1
                codes = numbered(codes * (int(values.max()) + 1) + values)[1]
        return codes

    def _value_codes(self, entries: np.ndarray) -> np.ndarray:
        """Number attribute values: equal bytes, equal number."""
        begin, end = self.begin[entries], self.end[entries]
        codes = np.empty(len(entries), dtype=np.int64)
        is_short = end - begin == 2  # a type, a bool or a small number
        short, rest = begin[is_short], ~is_short
        codes[is_short] = self.data.array[short] * np.int64(256) + self.data.array[short + 1]
        codes[rest] = _looked_up(_Numbers(), self.data.texts(begin[rest], end[rest])) + np.int64(1 << 16)
        return numbered(codes)[1]

    def only_text(self, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the `_class` values that are a list of one group, and the start of the group's name."""
        is_plain = end - begin > len(_PREFIX) + 4
        at = begin.copy()
        for tag in (_FIRST, _SECOND):
            is_plain[is_plain] = self.data.array[at[is_plain]] == tag
            size, after = self.data.lengths(at[is_plain] + 1)
            at[is_plain] = after
            is_plain[is_plain] = after + size == end[is_plain]
        plain = np.flatnonzero(is_plain)
        plain = plain[end[plain] - at[plain] >= len(_PREFIX)]
        is_plain[:] = False
        is_plain[plain[self.data.starting(at[plain], _PREFIX)]] = True
        return at + len(_PREFIX), is_plain


def _group_names(value: object) -> list[bytes]:
    """Return the groups in the value of a `_class` attribute."""
    texts = value if isinstance(value, tuple) else ()
    return [text[len(_PREFIX) :] for text in texts if isinstance(text, bytes) and text.startswith(_PREFIX)]


def _sorted_by(number: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort positions by their numbers, which are below `count`; return the order and the bounds of each number."""
    fitting = (
        number.astype(np.int16) if count < 1 << 15 else number
    )  # NumPy sorts 16-bit integers in linear time
    ends = np.cumsum(np.bincount(number, minlength=count))
    return np.argsort(fitting, kind="stable"), np.concatenate((np.zeros(1, np.int64), ends))


def _nodes(data: bytes) -> np.ndarray:
    """Find the positions of the nodes' lengths."""
    starts: list[int] = []
    note = starts.append
    at, end = 0, len(data)
    while at < end:
        tag, start = data[at], at + 1
        if tag == _FIRST:
            note(start)
        elif tag == _VERSION:
            at = _length(data, start)[1]
            continue
        elif tag & 0x87 != _BYTES:
            raise _Unusual
        size = data[start]
        if size < 128:
            at = start + 1 + size
        elif (high := data[start + 1]) < 128:
            at = start + 2 + size + (high - 1 << 7)
        else:
            size, at = _length(data, start)
            at += size
    if not starts:
        raise _Unusual
    return np.array(starts, dtype=np.int64)


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Decode the number at a position; return it and the position after it."""
    number = shift = 0
    while True:
        digit = data[at]
        at += 1
        number |= (digit & 127) << shift
        if digit < 128:
            return number, at
        shift += 7
