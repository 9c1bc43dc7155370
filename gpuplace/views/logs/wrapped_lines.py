r"""Find the lines of a log that a terminal wrapped at its last column.

A line is *full* if it continues on the next line. Two conditions must hold: no neighboring line is longer, and some
line of the same length ends inside a text with only one possible continuation: a device name, a prefix, or a long name
alone on its line.

>>> lines = ["abc: (Neg): /job:localhost/re", "plica:0/task:0/device:CPU:0", "done"]
>>> wraps = WrappedLines(lines)
>>> [wraps.is_full(i) for i in range(3)]
[True, False, False]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuplace.progress import track
from gpuplace.views.logs import grammar

_NEAR = 20
"""Number of lines before and after a line that are compared."""
_LONG = 40
"""Minimum length of a name alone on its line that counts, in characters."""
_DIGITS = 4
"""Maximum number of digits of a device index."""
_TAIL = 400
"""Number of characters at a line's end that are examined."""
_OPEN_PREFIX = re.compile(r"(?:(?:\A|: )[IWEF] [^\s\]]*|[IWEF]\d{4} \d\d:\d\d:[\d.]+ +\d* ?[^\s\]]*)\]?\Z")
_OPEN_TIME = re.compile(r"\A\d{4}-\d\d-\d\d[ \d:.]*(?:: ?[IWEF]?)?\Z")


class WrappedLines:
    """The wrapped lines of a log.

    Args:
        lines: the lines of the log.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._lengths = list(map(len, lines))
        self._widths: set[int] = set()
        for position in track(range(len(lines) - 1), len(lines), "reading the log", " lines"):
            length = self._lengths[position]
            if length and length not in self._widths and self._breaks_off(position):
                self._widths.add(length)

    def is_full(self, position: int) -> bool:
        """Return whether a line continues on the next one."""
        length = self._lengths[position]
        if length not in self._widths or position + 1 == len(self._lines):
            return False
        return max(self._lengths[max(0, position - _NEAR) : position + _NEAR + 1]) == length

    def _breaks_off(self, position: int) -> bool:
        line, following = self._lines[position], self._lines[position + 1]
        if not following or following[0].isspace():
            return False
        if line.endswith(":0") and not line.endswith(("replica:0", "task:0")):
            return False  # a device name that cannot continue
        device_start = line.rfind("/job:", max(0, len(line) - _TAIL))
        if device_start >= 0:
            begun = line[device_start:]
            device_match = grammar.DEVICE_NAME.match(begun)
            if device_match is not None:
                if device_match.end() < len(begun) or begun.endswith(":0"):
                    return False
                if len(following) > _DIGITS or not following.isdigit() or not self._is_longest(position):
                    return False
                prefix = grammar.PREFIX.search(line)
                return prefix is None or prefix.start() == 0
            joined = begun + following[:_TAIL]
            return grammar.DEVICE_NAME.is_begun(begun) and (
                grammar.DEVICE_NAME.match(joined) is not None
                or len(following) == len(line)
                and grammar.DEVICE_NAME.is_begun(joined)
            )
        tail = line[-_TAIL:]
        if (_OPEN_PREFIX.search(tail) or _OPEN_TIME.match(tail)) and not grammar.PREFIX.match(following):
            joined = tail + following[:_TAIL]
            prefix_match = grammar.PREFIX.search(joined)
            return prefix_match is not None and prefix_match.start() < len(tail) < prefix_match.end()
        if ": (" in tail[-80:] and grammar.PLACED.is_begun(tail):
            return grammar.PLACED.match(tail + following[:_TAIL]) is not None
        prefix = grammar.PREFIX.match(line)
        rest = line if prefix is None else line[prefix.end() :]
        return (
            len(line) >= _LONG
            and not any(map(str.isspace, rest))
            and self._is_longest(position)
            and grammar.PLACED.match(following) is not None
        )

    def _is_longest(self, position: int) -> bool:
        return max(self._lengths[max(0, position - _NEAR) : position + _NEAR + 1]) == self._lengths[position]
