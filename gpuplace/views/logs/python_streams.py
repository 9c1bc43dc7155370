r"""What Python writes to streams that are not file descriptors 1 and 2, as in a notebook's kernel.

There `print` sends its text to the notebook without a file descriptor, and so does TensorFlow with the lines about ops
that run eagerly, once it has noticed the notebook.

>>> import io
>>> stream = io.StringIO()
>>> copy = PythonStream(stream, is_quiet=True)
>>> _ = stream.write("a: (Neg): /job:localhost/replica:0/task:0/cpu:0"), stream.write("\nresult\n")
>>> copy.restore(), stream.getvalue(), copy.text(0, copy.position)
(None, 'result\n', 'a: (Neg): /job:localhost/replica:0/task:0/cpu:0\nresult\n')
"""

from __future__ import annotations

import re
import sys
from typing import Any

_ABOUT_PLACEMENT = re.compile(r"[^\n]*(?:/job:|Device mapping:)[^\n]*\n?")


class PythonStream:
    """A copy of what is written to a stream; the stream stays the same object, which loggers hold as well.

    Args:
        stream: the stream.
        is_quiet: whether lines about placement are kept but not written.
    """

    def __init__(self, stream: Any, is_quiet: bool) -> None:
        self._stream = stream
        self._is_quiet = is_quiet
        self._write = stream.write
        self._parts: list[str] = []
        self._drops_line_break = False
        stream.write = self._keep

    @property
    def position(self) -> int:
        """Number of texts written until now."""
        return len(self._parts)

    def text(self, begin: int, end: int) -> str:
        """What was written between two positions."""
        return "".join(self._parts[begin:end])

    def restore(self) -> None:
        """Write no copies any more."""
        vars(self._stream).pop("write", None)

    def _keep(self, text: str) -> int:
        self._parts.append(text)
        shown = text
        if self._is_quiet:
            if self._drops_line_break:  # `print` writes it by itself
                shown = shown.removeprefix("\n")
            last = shown.rpartition("\n")[2]
            self._drops_line_break = _ABOUT_PLACEMENT.match(last) is not None
            shown = _ABOUT_PLACEMENT.sub("", shown)
        if shown:
            self._write(shown)
        return len(text)


def python_streams(is_quiet: bool) -> list[PythonStream | None]:
    """Copies of standard output and of standard error, each None where the stream is a file descriptor's or the other.

    Args:
        is_quiet: as of `PythonStream`.
    """
    found: list[PythonStream | None] = []
    for stream in (sys.stdout, sys.stderr):
        is_new = not found or stream is not sys.stdout
        has_copy = is_new and hasattr(stream, "__dict__") and not _is_descriptor(stream)
        found.append(PythonStream(stream, is_quiet) if has_copy else None)
    return found


def _is_descriptor(stream: Any) -> bool:
    """Whether a stream writes to file descriptor 1 or 2."""
    try:
        return stream.fileno() in (1, 2)
    except (AttributeError, OSError):  # io.UnsupportedOperation is an OSError: no descriptor
        return False
