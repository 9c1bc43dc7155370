"""Reading of untrusted files, with limits on size and compression ratio.

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
"""First bytes of a gzip file."""
MAX_BYTES = (1 << 31) - 1
"""Maximum size of a protobuf message in bytes."""

_PIECE = 1 << 20
_MIN_UNPACKED = 1 << 28
_MAX_RATIO = 100
"""Maximum compression ratio of content above `_MIN_UNPACKED` bytes; gzip reaches about 1000."""


def read_message(path: Path) -> bytes:
    """Return the content of a file; special files such as pipes are read up to the maximum message size.

    Raises:
        ResourceExhaustedError: the content exceeds the maximum message size.
        OpError: the file cannot be read.
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
    """Return the content of a gzip file.

    Args:
        data: compressed data.
        what: file name for errors.
        kind: expected content.

    Raises:
        DataLossError: the data are not gzip or are truncated.
        ResourceExhaustedError: the compression ratio is excessive.
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
        raise DataLossError.of(
            f"Can't decompress {what}: {error}", hint="check that the file is complete"
        ) from error
    return bytes(unpacked)


def too_large(what: str, size: str, kind: str = "graph") -> ResourceExhaustedError:
    """Return the error for content above the size limit.

    Args:
        what: file name or description.
        size: actual size with unit.
        kind: expected content.

    Returns:
        The error.
    """
    is_graph = kind == "graph"
    return ResourceExhaustedError.of(
        f"{what} is too large for a {kind}",
        facts={
            "size": size,
            "allowed": f"{MAX_BYTES} bytes; when decompressed also at most {_MAX_RATIO} times the file size",
        },
        hint="check that it is a graph; protobuf messages are limited to 2 GiB: keep weights in a checkpoint"
        if is_graph
        else f"check that it is a {kind}; decompress it and keep only the lines that mention devices",
    )
