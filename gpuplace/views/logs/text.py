r"""The text of a log, from wherever it is: bytes of any usual encoding, compressed or not, files, captured cells.

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
"""Mark at the beginning -> encoding; that of UTF-16 begins that of UTF-32, so the order matters."""
_SAMPLE = 4096
_STRANGE = re.compile("[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
"""Characters that no terminal prints; zeros are left by files that were cut while they were written."""
_MOST_STRANGE = 0.02
_SURROGATE = re.compile("[\ud800-\udfff]")
"""What Python reads bytes that are not UTF-8 as (``surrogateescape``); no encoder and no table takes it back."""


def log_text(log: Any) -> str:
    """The text of a log, without lone surrogates.

    Args:
        log: a text of more than one line or that is not a file's name, bytes, a path, an open file, or what IPython's
            `%%capture` keeps (anything with `stdout` and `stderr`, which is read in this order).

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: nothing of these.
        DataLossError: a gzip file that is damaged.
        ResourceExhaustedError: a gzip file of a thousand times its size.
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
    raise TypeError(f"a log is a text, a path, an open file or a captured cell, not {type(log).__name__}")


def decoded(data: bytes, what: str = "the given bytes") -> str:
    """Bytes as text: of a gzip file, in UTF-8, or in UTF-16 and UTF-32 as PowerShell and Windows write them.

    Raises:
        DataLossError: a gzip file that is damaged.
        ResourceExhaustedError: a gzip file of a thousand times its size.
    """
    if data.startswith(GZIP):
        data = decompressed(data, what, "log")
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return data.decode(_without_mark(data[:_SAMPLE]), "replace")


def _without_mark(sample: bytes) -> str:
    """The encoding of text that does not say it: every other byte is zero in UTF-16."""
    half = len(sample) // 2
    zeros = sample[::2].count(0), sample[1::2].count(0)
    for mine, other, encoding in ((*zeros, "utf-16-be"), (*zeros[::-1], "utf-16-le")):
        if half > 8 and mine > 0.8 * half and other < 0.2 * half:
            return encoding
    return "utf-8"


def strange_share(text: str) -> float:
    """Share of characters, at the beginning of a text, that no text has."""
    sample = text.lstrip("\0")[:_SAMPLE]
    return len(_STRANGE.findall(sample)) / max(1, len(sample))


def check_is_text(text: str) -> None:
    """Raises DataLossError for what is not text."""
    share = strange_share(text)
    if share > _MOST_STRANGE:
        raise DataLossError.of(
            "This is not a log: it is not text",
            facts={"begins with": repr(text[:40]), "not printable": f"{share:.0%} of its first characters"},
            hint="a log is what TensorFlow printed with log_device_placement=True; a graph's file is read by "
            "gpuplace.place and gpuplace.explore",
        )
