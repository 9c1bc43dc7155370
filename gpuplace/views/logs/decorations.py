r"""What stands before and after the lines of a log: marks of comments and quotes, line numbers, times, names of tasks.

Which text it is can be seen from the lines that begin in only one way: ``Device mapping:``, a row of the mapping, a
device that is found or made. What stands before one of these is a decoration if it is made of marks, numbers, times,
levels, names in brackets or before a bar or a colon. The same, with other numbers, is then taken off every line.
Characters keep their places in the log.

>>> lines = ["# Device mapping:", "# /job:j/replica:0/task:0/gpu:0 -> device: 0, name: K40c", "# b: (Neg): /job:j", "x"]
>>> decorations = Decorations(lines)
>>> [line[slice(*decorations.inner(line))] for line in lines][2:], decorations.told
(['b: (Neg): /job:j', 'x'], {'# ': 1})
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from gpuplace.views.logs import grammar

_LONGEST = 200
"""Characters that a decoration has at most."""
_MOST = 16
"""Different decorations of one log."""
_FIRM = re.compile(
    r"Device mapping:|Found device \d|Executing op |Creat(?:ed|ing) (?:TensorFlow )?device"
    r"|Ignoring (?:(?:visible )?gpu device|device specification|request to colocate)|Failed to place the graph without"
    r"|/job:\w++/replica:\d++/task:\d++/(?:device:)?+\w++:\d++[ \t]*+->"
)
"""Sentences of which no other begins so."""
_TOKENS = (
    r"[ \t]++",
    r"(?:INFO|WARNING|WARN|ERROR|DEBUG|NOTICE|FATAL|Z)\b:?+",
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b",
    r"std(?:out|err)(?:[ \t]++[FP]\b)?+",
    r"[A-Za-z_][\w.]*+(?=[ \t]++(?:INFO|WARNING|WARN|ERROR|DEBUG)\b)",
    r"[\[(<][^\[\](){}<>\n]{0,80}+[\])>]:?+",
    r"\d[\d:.,TZ+/-]*+(?!\w)[.):|]?+",
    r"[A-Za-z_][\w.@-]*+(?:/[\w.@-]++)*+(?:\[\d++\])?+[ \t]*+[:|>]",
    r"[A-Za-z_][\w.@-]*+(?:/[\w.@-]++)*+(?=[ \t]++[A-Za-z_][\w.@-]*+\[\d++\]:|\t)",
    r"(?://|[#>*;|%$+=~!-]){1,8}+",
    r"[\"'`]{1,3}+",
)
DECORATION = re.compile(f"(?>{'|'.join(_TOKENS)}){{1,24}}+")
"""What may stand before a line; not longer than `_LONGEST`."""
_MARKS = re.compile(r"[ \t]*+(?://|[#>*;|%]){1,8}+[ \t]++")
"""Marks of quotes and comments before lines about nodes."""
FENCE = re.compile(r"[ \t]*+(?:/\*++|\*++/|/|[\"'`]{3}\w*+|<!--|-->|(?://|[#*;|%]){1,8}+|>{1,2}+)[ \t]*+")
"""A line of nothing but marks: a quote, a comment or a block of code begins or ends, or goes on."""
_AFTER = re.compile(r"[ \t]*+(?:`{1,3}+|\*\*|\||\\n[\"'],?+|[\"'](?:,[\w.:+/ -]{0,80}+)?+)")
"""What a line may be closed with."""
_RUN = re.compile(r"\d+|[ \t]+|[^\d \t]+")
_TAG = r"</?(?:a|b|br|code|div|em|font|i|li|p|pre|samp|span|strong|td|tr|tt|ul)(?:[ \t][^<>\n]{0,200}+)?+/?>"
_ENTITY = r"&(?:gt|lt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9A-Fa-f]{1,4});"
_LOST_ESCAPE = r"(?:(?:\^\[|\\u001b|\\x1b|\\033|\\e)\[\d{0,2}|\[\d{1,2})(?:;\d{1,3}){0,4}m"
_ESCAPED = r"(?<![:\\])\\[_*]"
MARKUP = re.compile(f"{_TAG}|{_ENTITY}|{_LOST_ESCAPE}|{_ESCAPED}")
"""HTML, Markdown's escapes, and colours of a terminal that lost their first character."""


def replacement(found: str) -> str:
    """What a piece of markup stands for."""
    if found[0] == "\\" and len(found) == 2:
        return found[1]
    return html.unescape(found).replace("\xa0", " ") if found.startswith("&") else ""


class Decorations:
    """What is known of the decorations of a log.

    Attributes:
        told: decoration -> number of the first line that has it, counted from 1.

    Args:
        lines: of the log, without colours and markup.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.told: dict[str, int] = {}
        self._before: dict[str, re.Pattern[str]] = {}
        self._after = ""
        for number, line in enumerate(lines, 1):
            if "evice" in line or "/job:" in line:
                self._learn(line, number)

    def __bool__(self) -> bool:
        return bool(self._before)

    def _learn(self, line: str, number: int) -> None:
        begin = grammar.PROMPT.match(line)
        start = begin.end() if begin is not None else 0
        found = _FIRM.search(line, start, start + _LONGEST + 80)
        if found is None and (marks := _MARKS.match(line, start)) is not None:
            found = grammar.PREFIX.match(line, marks.end()) or grammar.PLACED.match(line, marks.end())
        if found is None or found.start() == start:
            return
        before = line[: found.start()]
        if before in self.told or len(self._before) == _MOST or grammar.PREFIX.search(before):
            return
        if len(before) > _LONGEST or DECORATION.fullmatch(before) is None:
            return
        shape = _shape(before)
        if shape not in self._before:
            self._before[shape] = re.compile(shape)
            self.told[before] = number
        after = _AFTER.fullmatch(line, found.end())
        if after is not None and found.group().endswith(":"):
            self._after = after.group().strip()

    def inner(self, line: str) -> tuple[int, int]:
        """Where the text between a line's decorations begins and ends."""
        start = max((self._end(pattern, line) for pattern in self._before.values()), default=0)
        end = len(line)
        if start and self._after and line.endswith(self._after):
            end = max(start, len(line[: -len(self._after)].rstrip(" \t")))
        return start, end

    @staticmethod
    def _end(pattern: re.Pattern[str], line: str) -> int:
        found = pattern.match(line)
        return found.end() if found is not None else 0


def _shape(before: str) -> str:
    """Regular expression of a decoration: its numbers may be others, and so may blanks at its end be missing."""
    return "".join(_shape_of_runs([found.group() for found in _RUN.finditer(before)]))


def _shape_of_runs(runs: list[str]) -> Iterator[str]:
    for position, run in enumerate(runs):
        if run[0].isdigit():
            yield r"\d++"
        elif run[0] not in " \t":
            yield re.escape(run)
        elif position + 1 < len(runs):
            yield r"[ \t]++" if position else r"[ \t]*+"
        else:
            yield r"[ \t]*+"
