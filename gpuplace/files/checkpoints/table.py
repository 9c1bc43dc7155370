r"""Read and write sorted tables of keys and values, the file format of LevelDB.

    block of entries ... block of entries      each with a byte for its compression and a checksum
    block of meta information                  empty here
    index block                                a key at or after the last of a block -> where that block is
    footer                                     where the two blocks above are, and a magic number

An entry stores the length of the prefix that its key shares with the previous key; every 16th key is complete
("restart").

>>> data = write_table({b"": b"header", b"weights": b"1"})
>>> read_table(data, "model.index")
{b'': b'header', b'weights': b'1'}

Source: tensorflow/core/lib/io/table_builder.cc, block_builder.cc, format.cc, release 1.15.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from gpuplace.errors import DataLossError
from gpuplace.files.checkpoints.slices import WHAT_TO_DO
from gpuplace.files.crc32c import crc32c, mask, unmask

__all__ = ["read_table", "read_varint", "varint", "write_table"]

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
"""Footer size in bytes."""
_TRAILER = 5
"""Bytes after a block: compression and checksum."""
_BLOCK = 256 << 10
"""Size in bytes after which a block ends."""
_RESTART = 16
"""Number of entries between complete keys."""
_PLAIN, _SNAPPY = 0, 1


def varint(value: int) -> bytes:
    """Encode a number in as few bytes as possible, seven bits each, lowest bits first.

    Args:
        value: nonnegative number.
    """
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Decode a `varint`; return the number and the position after it.

    Args:
        data: data to read.
        at: start of the number.

    Raises:
        IndexError: the data end within the number.
    """
    value = shift = 0
    while True:
        octet = data[at]
        at += 1
        value |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80 or shift > 63:
            return value, at


class _Block:
    """A block under construction."""

    def __init__(self, restart_interval: int) -> None:
        self._interval = restart_interval
        self._data = bytearray()
        self._restarts = [0]
        self._count = 0
        self._last = b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._count < self._interval:
            limit = min(len(key), len(self._last))
            while shared < limit and key[shared] == self._last[shared]:
                shared += 1
        else:
            self._restarts.append(len(self._data))
            self._count = 0
        self._data += varint(shared) + varint(len(key) - shared) + varint(len(value))
        self._data += key[shared:] + value
        self._last = key
        self._count += 1

    @property
    def size(self) -> int:
        return len(self._data) + 4 * len(self._restarts) + 4

    @property
    def is_empty(self) -> bool:
        return not self._data

    def finish(self) -> bytes:
        numbers = [*self._restarts, len(self._restarts)]
        return bytes(self._data) + struct.pack(f"<{len(numbers)}I", *numbers)


def write_table(entries: Mapping[bytes, bytes]) -> bytes:
    """Return the content of a table file.

    Args:
        entries: key -> value; they are sorted here.
    """
    file = bytearray()
    index = _Block(1)
    block = _Block(_RESTART)
    last = b""
    waiting: bytes | None = None

    def flush() -> bytes:
        nonlocal block
        handle = _append(file, block)
        block = _Block(_RESTART)
        return handle

    for key in sorted(entries):
        if waiting is not None:
            index.add(_between(last, key), waiting)
            waiting = None
        block.add(key, entries[key])
        last = key
        if block.size >= _BLOCK:
            waiting = flush()
    if not block.is_empty:
        waiting = flush()
    meta = _append(file, _Block(_RESTART))
    if waiting is not None:
        index.add(_short_successor(last), waiting)
    handles = meta + _append(file, index)
    return bytes(file) + handles.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


def _append(file: bytearray, block: _Block) -> bytes:
    """Add a block to the file; return its handle (offset and size)."""
    at, content = len(file), block.finish()
    content += bytes([_PLAIN])
    file += content + struct.pack("<I", mask(crc32c(content)))
    return varint(at) + varint(len(content) - 1)


def _between(first: bytes, second: bytes) -> bytes:
    """Return a short key that is at least ``first`` and less than ``second``."""
    for at, (one, other) in enumerate(zip(first, second)):
        if one != other:
            return first[:at] + bytes([one + 1]) if one + 1 < other else first
    return first


def _short_successor(key: bytes) -> bytes:
    """Return a short key that is at least ``key``."""
    for at, octet in enumerate(key):
        if octet != 0xFF:
            return key[:at] + bytes([octet + 1])
    return key


def read_table(data: bytes, path: str) -> dict[bytes, bytes]:
    """Return the entries of a table, in order.

    Args:
        data: content of the file.
        path: file name for errors.

    Raises:
        DataLossError: the file is not a table, or is damaged or truncated.
    """
    if len(data) < _FOOTER:
        raise damaged("file is too short to be an sstable", path)
    footer = data[-_FOOTER:]
    if struct.unpack("<Q", footer[-8:])[0] != _MAGIC:
        raise damaged("not an sstable (bad magic number)", path)
    try:
        _, at = _handle(footer, 0)
        index, _ = _handle(footer, at)
        entries: dict[bytes, bytes] = {}
        for _, value in _entries(_block(data, index, path)):
            block, _ = _handle(value, 0)
            entries.update(_entries(_block(data, block, path)))
    except (IndexError, ValueError, struct.error) as error:
        raise damaged("bad entry in block", path, str(error)) from None
    return entries


def damaged(sentence: str, path: str, because: str = "") -> DataLossError:
    """Return the error for an invalid file.

    Args:
        sentence: TensorFlow's message.
        path: path of the file.
        because: details; may be empty.
    """
    facts = {"file": path} | ({"because": because} if because else {})
    return DataLossError.of(sentence, facts=facts, hint=WHAT_TO_DO)


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Decode a handle; return offset and size of the block, and the position after the handle."""
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at


def _block(data: bytes, handle: tuple[int, int], path: str) -> bytes:
    """Return the decompressed content of a block."""
    offset, size = handle
    content = data[offset : offset + size + 1]
    stored = data[offset + size + 1 : offset + size + _TRAILER]
    if len(content) + len(stored) != size + _TRAILER:
        raise damaged("truncated block read", path)
    if crc32c(content) != unmask(struct.unpack("<I", stored)[0]):
        raise damaged("block checksum mismatch", path)
    kind = content[-1]
    if kind == _PLAIN:
        return content[:-1]
    if kind == _SNAPPY:
        from gpuplace.files.checkpoints.snappy import decompress

        try:
            return decompress(content[:-1])
        except ValueError as error:
            raise damaged("corrupted compressed block contents", path, str(error)) from None
    raise damaged("bad block type", path)


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block."""
    (restarts,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise ValueError("more restarts than fit in the block")
    at, key = 0, b""
    while at < end:
        shared, at = read_varint(block, at)
        own, at = read_varint(block, at)
        size, at = read_varint(block, at)
        if shared > len(key) or at + own + size > end:
            raise ValueError("an entry is longer than its block")
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + size]
        at += size
