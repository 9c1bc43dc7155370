r"""Decorations around the lines of a log: comment and quote marks, line numbers, times, task names.

Decorations are learned from lines that can begin in only one way: ``Device mapping:``, a row of the mapping, a found or
created device. Text before such a line is a decoration if it consists of marks, numbers, times, levels, and names in
brackets or before a bar or a colon. The same text, also with other numbers, is then removed from every line. Characters
keep their positions in the log.

>>> lines = ["# Device mapping:", "# /job:j/replica:0/task:0/gpu:0 -> device: 0, name: K40c", "# b: (Neg): /job:j", "x"]
>>> decorations = Decorations(lines)
>>> [line[slice(*decorations.inner(line))] for line in lines][2:], decorations.first_lines
(['b: (Neg): /job:j', 'x'], {'# ': 1})
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from gpuplace.views.logs import grammar

_MAX_LENGTH = 200
"""Maximum length of a decoration in characters."""
_MAX_DECORATIONS = 16
"""Maximum number of different decorations in a log."""
_FIRM = re.compile(
    r"Device mapping:|Found device \d|Executing op |Creat(?:ed|ing) (?:TensorFlow )?device"
    r"|Ignoring (?:(?:visible )?gpu device|device specification|request to colocate)|Failed to place the graph without"
    r"|/job:\w++/replica:\d++/task:\d++/(?:device:)?+\w++:\d++[ \t]*+->"
)
"""Beginnings that identify a TensorFlow sentence."""
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
"""Text that may precede a line, up to `_MAX_LENGTH` characters."""
_MARKS = re.compile(r"[ \t]*+(?://|[#>*;|%]){1,8}+[ \t]++")
"""Quote and comment marks before lines about nodes."""
FENCE = re.compile(r"[ \t]*+(?:/\*++|\*++/|/|[\"'`]{3}\w*+|<!--|-->|(?://|[#*;|%]){1,8}+|>{1,2}+)[ \t]*+")
"""A line of marks only: a quote, a comment or a code block begins, ends or continues."""
_AFTER = re.compile(r"[ \t]*+(?:`{1,3}+|\*\*|\||\\n[\"'],?+|[\"'](?:,[\w.:+/ -]{0,80}+)?+)")
"""Text that may close a line."""
_RUN = re.compile(r"\d+|[ \t]+|[^\d \t]+")
_TAG = r"</?(?:a|b|br|code|div|em|font|i|li|p|pre|samp|span|strong|td|tr|tt|ul)(?:[ \t][^<>\n]{0,200}+)?+/?>"
_ENTITY = r"&(?:gt|lt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9A-Fa-f]{1,4});"
_LOST_ESCAPE = r"(?:(?:\^\[|\\u001b|\\x1b|\\033|\\e)\[\d{0,2}|\[\d{1,2})(?:;\d{1,3}){0,4}m"
_ESCAPED = r"(?<![:\\])\\[_*]"
MARKUP = re.compile(f"{_TAG}|{_ENTITY}|{_LOST_ESCAPE}|{_ESCAPED}")
"""HTML, Markdown escapes, and terminal colours that lost their escape character."""


def replacement(markup: str) -> str:
    """Return the text that a piece of markup represents."""
    if markup[0] == "\\" and len(markup) == 2:
        return markup[1]
    return html.unescape(markup).replace("\xa0", " ") if markup.startswith("&") else ""


class Decorations:
    """The decorations of a log.

    Attributes:
        first_lines: decoration -> number of the first line that has it, from 1.

    Args:
        lines: the lines of the log, without colours and markup.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.first_lines: dict[str, int] = {}
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
        sentence = _FIRM.search(line, start, start + _MAX_LENGTH + 80)
        if sentence is None and (marks := _MARKS.match(line, start)) is not None:
            sentence = grammar.PREFIX.match(line, marks.end()) or grammar.PLACED.match(line, marks.end())
        if sentence is None or sentence.start() == start:
            return
        before = line[: sentence.start()]
        if (
            before in self.first_lines
            or len(self._before) == _MAX_DECORATIONS
            or grammar.PREFIX.search(before)
        ):
            return
        if len(before) > _MAX_LENGTH or DECORATION.fullmatch(before) is None:
            return
        shape = _shape(before)
        if shape not in self._before:
            self._before[shape] = re.compile(shape)
            self.first_lines[before] = number
        after = _AFTER.fullmatch(line, sentence.end())
        if after is not None and sentence.group().endswith(":"):
            self._after = after.group().strip()

    def inner(self, line: str) -> tuple[int, int]:
        """Return where the text between a line's decorations begins and ends."""
        start = max((self._end(pattern, line) for pattern in self._before.values()), default=0)
        end = len(line)
        if start and self._after and line.endswith(self._after):
            end = max(start, len(line[: -len(self._after)].rstrip(" \t")))
        return start, end

    @staticmethod
    def _end(pattern: re.Pattern[str], line: str) -> int:
        match = pattern.match(line)
        return match.end() if match is not None else 0


def _shape(before: str) -> str:
    """Return a regular expression for a decoration, with any numbers and optional blanks at the end."""
    return "".join(_shape_of_runs([match.group() for match in _RUN.finditer(before)]))


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
