r"""Read a log's text from bytes in any common encoding, compressed or not, files, or captured cells.

>>> log_text("a: (Neg): /job:j/replica:0/task:0/cpu:0\n".encode("utf-16"))
'a: (Neg): /job:j/replica:0/task:0/cpu:0\n'
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable
from typing import Any

from gpuplace.errors import DataLossError
from gpuplace.graphdef.files import GZIP, decompressed

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order mark -> encoding. The mark of UTF-16 is a prefix of that of UTF-32, so the order matters."""
_SAMPLE = 4096
_STRANGE = re.compile("[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
"""Characters that no terminal prints; files that are truncated while being written contain zeros."""
_MAX_STRANGE = 0.02
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Python's representation of bytes that are not UTF-8 (``surrogateescape``), which encoders and tables reject."""


def log_text(log: Any) -> str:
    """Return the text of a log, without lone surrogates.

    Args:
        log: a text that has several lines or is not a file name, bytes, a path, an open file, or the result of
            IPython's `%%capture` (any object with `stdout` and `stderr`, read in this order).

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: the argument has another type.
        DataLossError: a gzip file is damaged.
        ResourceExhaustedError: a gzip file decompresses to more than a thousand times its size.
    """
    return _SURROGATE.sub("\ufffd", _text(log))


def _text(log: Any) -> str:
    if isinstance(log, bytes | bytearray | memoryview):
        return decoded(bytes(log))
    if isinstance(log, str):
        if "\n" in log or len(log) > 4096 or not os.path.isfile(log):
            looks_like_path = log.endswith((".log", ".txt", ".out", ".err", ".gz")) and not any(
                map(str.isspace, log)
            )
            if not looks_like_path:
                return log
        log = os.fspath(log)
    elif hasattr(log, "stdout") and hasattr(log, "stderr"):
        parts = [_text(part) for part in (log.stdout, log.stderr) if part is not None]
        return "\n".join(part.removesuffix("\n") for part in parts if part)
    elif hasattr(log, "read"):
        content = log.read()
        return content if isinstance(content, str) else _text(content)
    if isinstance(log, os.PathLike | str):
        with open(log, "rb") as stream:
            return decoded(stream.read(), os.fspath(log))
    if isinstance(log, Iterable) and not hasattr(log, "keys"):
        return "\n".join(str(line).removesuffix("\n") for line in log)
    raise TypeError(
        f"a log must be a text, a path, an open file or a captured cell, not {type(log).__name__}"
    )


def decoded(data: bytes, what: str = "the given bytes") -> str:
    """Decode bytes: a gzip file, UTF-8, or UTF-16 and UTF-32 as PowerShell and Windows write them.

    Raises:
        DataLossError: a gzip file is damaged.
        ResourceExhaustedError: a gzip file decompresses to more than a thousand times its size.
    """
    if data.startswith(GZIP):
        data = decompressed(data, what, "log")
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return data.decode(_without_mark(data[:_SAMPLE]), "replace")


def _without_mark(sample: bytes) -> str:
    """Return the encoding of a text without a byte order mark; in UTF-16 every other byte is zero."""
    half = len(sample) // 2
    zeros = sample[::2].count(0), sample[1::2].count(0)
    for mine, other, encoding in ((*zeros, "utf-16-be"), (*zeros[::-1], "utf-16-le")):
        if half > 8 and mine > 0.8 * half and other < 0.2 * half:
            return encoding
    return "utf-8"


def strange_share(text: str) -> float:
    """Return the share of unprintable characters at the beginning of a text."""
    sample = text.lstrip("\0")[:_SAMPLE]
    return len(_STRANGE.findall(sample)) / max(1, len(sample))


def check_is_text(text: str) -> None:
    """Check that a decoded file is text.

    Raises:
        DataLossError: it is not.
    """
    share = strange_share(text)
    if share > _MAX_STRANGE:
        raise DataLossError.of(
            "This file is not a log, because it is not text",
            facts={"begins with": repr(text[:40]), "not printable": f"{share:.0%} of its first characters"},
            hint="pass the text that TensorFlow prints with log_device_placement=True; for a graph's file use "
            "gpuplace.place or gpuplace.explore",
        )
