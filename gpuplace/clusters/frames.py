"""Wire format of messages between tasks: plain values as JSON, followed by the memory of arrays.

::

    size of the header, number of buffers     two 32-bit numbers
    size of each buffer                       64-bit numbers
    header                                    the message; bytes are replaced by {"#": number of the buffer}
    buffers

Only numbers, strings, lists, dicts with string keys and bytes can be encoded. No class, function or module can be
named, so decoding a message cannot run code chosen by its sender. This is why dask's format is not used: it unpickles
data even with ``deserialize=False`` (``distributed.protocol.core.loads``, ``__Pickled__``).

>>> head, *buffers = encoded({"op": "run", "feeds": [1.5, b"abc"]})
>>> head[HEAD.size + 8 * len(buffers) :]
b'{"op":"run","feeds":[1.5,{"#":0}]}'
>>> decoded(_, buffers)
{'op': 'run', 'feeds': [1.5, b'abc']}
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from typing import Any

HEAD = struct.Struct("!II")
"""Size of the header and number of buffers."""
MOST_HEADER_BYTES = 1 << 26
MOST_BUFFERS = 1 << 20
MOST_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
"""Maximum size of a message in bytes: the memory of this machine."""
_BUFFER = "#"

Buffer = bytes | memoryview


class FrameError(ConnectionError):
    """The received bytes are not a message; the connection is closed."""


def encoded(message: dict[str, Any]) -> list[Buffer]:
    """Return the pieces to send, in order; the memory of arrays is not copied.

    Args:
        message: a dict of numbers, strings, lists, dicts and bytes.

    Raises:
        TypeError: a value has another type.
    """
    buffers: list[Buffer] = []

    def reference(value: object) -> dict[str, int]:
        if not isinstance(value, bytes | memoryview):
            raise TypeError(f"{type(value).__name__} cannot be sent to another task")
        buffers.append(value)
        return {_BUFFER: len(buffers) - 1}

    header = json.dumps(message, default=reference, check_circular=False, separators=(",", ":")).encode()
    sizes = struct.pack(f"!{len(buffers)}Q", *(len(buffer) for buffer in buffers))
    return [HEAD.pack(len(header), len(buffers)) + sizes + header, *buffers]


def checked_head(head: bytes) -> tuple[int, int]:
    """Return the size of the header and the number of buffers.

    Raises:
        FrameError: a number exceeds its limit.
    """
    header, count = HEAD.unpack(head)
    if header > MOST_HEADER_BYTES or count > MOST_BUFFERS:
        raise FrameError(f"a message of {count} buffers with a header of {header} bytes")
    return header, count


def checked_sizes(sizes: bytes) -> tuple[int, ...]:
    """Return the sizes of the buffers in bytes.

    Raises:
        FrameError: their sum exceeds the memory of this machine.
    """
    buffer_sizes = struct.unpack(f"!{len(sizes) // 8}Q", sizes)
    if sum(buffer_sizes) > MOST_BYTES:
        raise FrameError(f"a message of {sum(buffer_sizes)} bytes")
    return buffer_sizes


def decoded(header: bytes, buffers: Sequence[Buffer]) -> dict[str, Any]:
    """Return the message for a header and its buffers.

    Raises:
        FrameError: the header is not a message.
    """

    def value(item: dict[str, Any]) -> Any:
        return buffers[item[_BUFFER]] if len(item) == 1 and _BUFFER in item else item

    try:
        message = json.loads(header, object_hook=value)
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise FrameError(f"a header that cannot be read ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise FrameError(f"a {type(message).__name__} instead of a message")
    return message
