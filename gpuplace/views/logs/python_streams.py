r"""Capture Python's output on streams that do not use file descriptors 1 and 2, as in a notebook's kernel.

In a kernel, `print` sends its text to the notebook without a file descriptor. TensorFlow does the same with lines about
eager ops once it has detected the notebook.

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
    """Copies the text written to a stream; the stream object stays the same because loggers hold references to it.

    Args:
        stream: such as ``sys.stdout``.
        is_quiet: whether placement lines are kept but not written.
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
        """The number of texts written so far."""
        return len(self._parts)

    def text(self, begin: int, end: int) -> str:
        """Return the text written between two positions."""
        return "".join(self._parts[begin:end])

    def restore(self) -> None:
        """Stop copying."""
        vars(self._stream).pop("write", None)

    def _keep(self, text: str) -> int:
        self._parts.append(text)
        shown = text
        if self._is_quiet:
            if self._drops_line_break:  # `print` writes the line break separately
                shown = shown.removeprefix("\n")
            last = shown.rpartition("\n")[2]
            self._drops_line_break = _ABOUT_PLACEMENT.match(last) is not None
            shown = _ABOUT_PLACEMENT.sub("", shown)
        if shown:
            self._write(shown)
        return len(text)


def python_streams(is_quiet: bool) -> list[PythonStream | None]:
    """Return copies of standard output and standard error.

    An item is None for a stream with a descriptor, and for standard error if it is the same stream.

    Args:
        is_quiet: as for `PythonStream`.
    """
    copies: list[PythonStream | None] = []
    for stream in (sys.stdout, sys.stderr):
        is_new = not copies or stream is not sys.stdout
        has_copy = is_new and hasattr(stream, "__dict__") and not _is_descriptor(stream)
        copies.append(PythonStream(stream, is_quiet) if has_copy else None)
    return copies


def _is_descriptor(stream: Any) -> bool:
    """Return whether a stream writes to file descriptor 1 or 2."""
    try:
        return stream.fileno() in (1, 2)
    except (
        AttributeError,
        OSError,
    ):  # io.UnsupportedOperation, an OSError, means that there is no descriptor
        return False
