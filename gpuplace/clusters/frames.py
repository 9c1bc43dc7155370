"""Messages between tasks as bytes: plain values as JSON, and the memory of arrays beside them.

::

    size of the header, number of buffers     two 32-bit numbers
    size of each buffer                       64-bit numbers
    header                                    the message; bytes in it stand as {"#": number of their buffer}
    buffers

Only numbers, texts, lists, dicts with text keys and bytes can be written so. No class, function or module can be named,
so reading a message runs no code of its sender's choice. That is why the frames are not those of dask, which unpickles
whatever arrives, also with ``deserialize=False`` (``distributed.protocol.core.loads``, ``__Pickled__``).

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
"""The largest message, in bytes: one that fills the memory of this machine cannot be kept in it."""
_BUFFER = "#"

Buffer = bytes | memoryview


class FrameError(ConnectionError):
    """Bytes that are not a message; their connection is closed."""


def encoded(message: dict[str, Any]) -> list[Buffer]:
    """Return the pieces to send, in their order; arrays' memory is not copied.

    Args:
        message: numbers, texts, lists, dicts and bytes.

    Raises:
        TypeError: a value of another type.
    """
    buffers: list[Buffer] = []

    def reference(value: Any) -> dict[str, int]:
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
        FrameError: more than any message has.
    """
    header, count = HEAD.unpack(head)
    if header > MOST_HEADER_BYTES or count > MOST_BUFFERS:
        raise FrameError(f"a message of {count} buffers with a header of {header} bytes")
    return header, count


def checked_sizes(sizes: bytes) -> tuple[int, ...]:
    """Return the sizes of the buffers, in bytes.

    Raises:
        FrameError: together they are more than this machine's memory.
    """
    found = struct.unpack(f"!{len(sizes) // 8}Q", sizes)
    if sum(found) > MOST_BYTES:
        raise FrameError(f"a message of {sum(found)} bytes")
    return found


def decoded(header: bytes, buffers: Sequence[Buffer]) -> dict[str, Any]:
    """Return the message of a header and its buffers.

    Raises:
        FrameError: the header is not that of a message.
    """

    def value(found: dict[str, Any]) -> Any:
        return buffers[found[_BUFFER]] if len(found) == 1 and _BUFFER in found else found

    try:
        message = json.loads(header, object_hook=value)
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise FrameError(f"a header that cannot be read ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise FrameError(f"a {type(message).__name__} in place of a message")
    return message
