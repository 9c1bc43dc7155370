"""Content of files that anybody may have written: read as far as a message can go, decompressed in proportion.

>>> decompressed(gzip.compress(b"text"), "file.gz")
b'text'
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path

from gpuplace.errors import DataLossError, ResourceExhaustedError
from gpuplace.files.file_system import with_op_errors

GZIP = b"\x1f\x8b"
"""What a gzip file begins with."""
MAX_BYTES = (1 << 31) - 1
"""Bytes that protobuf takes for one message."""

_PIECE = 1 << 20
_MIN_UNPACKED = 1 << 28
_MAX_RATIO = 100
"""How much larger than its gzip file content of more than `_MIN_UNPACKED` bytes may be; the worst is about 1000."""


def read_message(path: Path) -> bytes:
    """A file's content; one that is not a regular file, such as a pipe, is read as far as a message can go.

    Raises:
        ResourceExhaustedError: more than a message can hold.
        OpError: it cannot be read.
    """
    with with_op_errors(path), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise too_large(str(path), f"{size} bytes")
        data = bytearray()
        while piece := file.read(_PIECE):
            data += piece
            if len(data) > MAX_BYTES:
                raise too_large(str(path), f"more than {MAX_BYTES} bytes")
        return bytes(data)


def decompressed(data: bytes, what: str, kind: str = "graph") -> bytes:
    """The content of a gzip file.

    Args:
        data: the file's.
        what: its name, for errors.
        kind: what it should hold.

    Raises:
        DataLossError: it is none, or is cut off.
        ResourceExhaustedError: it grows out of all proportion.
    """
    limit = min(MAX_BYTES, max(_MIN_UNPACKED, _MAX_RATIO * len(data)))
    unpacked = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while piece := file.read(_PIECE):
                unpacked += piece
                if len(unpacked) > limit:
                    raise too_large(what, f"{len(data)} bytes, more than {limit} when decompressed", kind)
    except (OSError, EOFError, zlib.error) as error:
        raise DataLossError.of(f"Can't decompress {what}: {error}", hint="is the file complete?") from error
    return bytes(unpacked)


def too_large(what: str, size: str, kind: str = "graph") -> ResourceExhaustedError:
    """The error for more than can be read.

    Args:
        what: name of the file, or what it is.
        size: what is too much, with its unit.
        kind: what it should hold.

    Returns:
        The error.
    """
    is_graph = kind == "graph"
    return ResourceExhaustedError.of(
        f"{what} is too large for a {kind}",
        facts={
            "size": size,
            "allowed": f"{MAX_BYTES} bytes; decompressed also at most {_MAX_RATIO} times the file",
        },
        hint="is it a graph at all? protobuf reads no message of 2 GiB or more: keep weights in a checkpoint"
        if is_graph
        else f"is it a {kind} at all? decompress it, and keep only what mentions devices",
    )
