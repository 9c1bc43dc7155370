r"""The parts of a log: statements, pieces of text with their positions, and lines joined from several lines.

>>> both = line_of("a: (Neg): /job:j/replica", 1)[0] + line_of(":0/task:0/cpu:0", 2)[0]
>>> both.text, both.line_at(30), [(piece.line, piece.text) for piece in both.pieces(3, 30, None, False)]
('a: (Neg): /job:j/replica:0/task:0/cpu:0', 2, [(1, '(Neg): /job:j/replica'), (2, ':0/tas')])
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from gpuplace.views.logs.decorations import MARKUP, Decorations, replacement

_ANSI = re.compile(r"\A\x00+|\x00+\Z|\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-Z\\-_])")
_ANSI_OR_MARKUP = re.compile(f"{_ANSI.pattern}|{MARKUP.pattern}")
_MARKS_OF_MARKUP = frozenset("<&[\\")
"""Every markup contains one of these characters."""


class Kind(Enum):
    """Kinds of sentences."""

    NODE = "node"
    """A node and its device."""
    EVENT = "event"
    """An op that ran eagerly, and its device."""
    MAPPING = "mapping"
    """`Device mapping:`, the beginning of a session."""
    ROW = "row"
    """A device and its description."""
    CREATED = "created"
    """A created device: which GPU, with how much memory."""
    FOUND = "found"
    """`Found device 0 with properties:`"""
    PROPERTY = "property"
    """A line below `FOUND`."""
    IGNORED = "ignored"
    """A GPU that TensorFlow does not use."""
    OVERRIDDEN = "overridden"
    """A requested device that is overridden by the device of a variable."""
    COLOCATION = "colocation"
    """Nodes whose requests or colocations cannot be satisfied."""
    MEMBER = "member"
    """A node of a colocation group below `COLOCATION`, with its requested device."""
    GROUP = "group"
    """Another line below `COLOCATION`."""


class Statement(NamedTuple):
    """A recognized sentence."""

    kind: Kind
    is_stderr: bool
    line: int
    """Line of the text on which it begins, from 1."""
    name: str = ""
    """Name of the node."""
    type: str = ""
    """Op type."""
    device: str = ""
    """Device name as printed."""
    detail: str = ""
    """Description of a device, a reason, or properties."""
    memory_mb: int | None = None


class LogNote(NamedTuple):
    """A note about a part of a log that is not just a sentence."""

    line: int
    """Line number, from 1."""
    kind: str
    """`"undone"`: removed before reading; `"cut"`: a truncated sentence; `"ambiguous"`: two possible readings;
    `"overridden"`:
    a requested device overridden by that of a variable; `"colocation"`: requests or colocations that cannot be
    satisfied; `"start-up"`: TensorFlow's startup messages; `"no GPU"`: why it uses none; `"ignored"`: text that is not
    about placement.
    """
    text: str
    """The subject of the note; the beginning of a longer text."""


class Piece(NamedTuple):
    """Characters of the text that belong together."""

    line: int
    """Line number, from 1."""
    column: int
    """Column, from 0."""
    text: str
    statement: Statement | None
    """None if the characters were not recognized, or continue a statement."""
    is_understood: bool
    """Whether the piece is part of a statement, or blank."""


class LogText:
    """Characters, each with its position in the log."""

    __slots__ = ("joins", "parts", "text")

    def __init__(self, text: str, parts: list[tuple[int, int, int]]) -> None:
        self.text = text
        self.parts = parts
        """``(position here, line, column)`` where each run of adjacent characters begins."""

    def __add__(self, other: LogText) -> LogText:
        shift = len(self.text)
        return LogText(
            self.text + other.text,
            self.parts + [(at + shift, line, column) for at, line, column in other.parts],
        )

    def spaced(self, other: LogText) -> LogText:
        """Join two texts with a blank in place of the line break."""
        shift = len(self.text) + 1
        return LogText(
            f"{self.text} {other.text}",
            [
                *self.parts,
                (shift - 1, 0, 0),
                *((at + shift, line, column) for at, line, column in other.parts),
            ],
        )

    def cut(self, start: int, end: int) -> LogText:
        """Return the characters between two positions."""
        first = bisect_right(self.parts, (start, 1 << 62, 0)) - 1
        at, line, column = self.parts[first]
        parts = [(0, line, column + start - at)]
        for at, line, column in self.parts[first + 1 :]:
            if at >= end:
                break
            parts.append((at - start, line, column))
        return LogText(self.text[start:end], parts)

    def line_at(self, position: int) -> int:
        """Return the line number of a character."""
        return self.parts[bisect_right(self.parts, (position, 1 << 62, 0)) - 1][1]

    def breaks(self) -> set[int]:
        """Return the positions at which lines were joined."""
        return {at for at, _, _ in self.parts[1:]}

    def pieces(self, start: int, end: int, statement: Statement | None, understood: bool) -> Iterator[Piece]:
        """Yield the characters between two positions, one piece per line."""
        if start >= end:
            return
        if len(self.parts) == 1:
            at, line, column = self.parts[0]
            text = self.text[start:end]
            yield Piece(line, column + start - at, text, statement, understood or text.isspace())
            return
        part = self.cut(start, end)
        limits = [at for at, _, _ in part.parts[1:]] + [len(part.text)]
        for (at, line, column), limit in zip(part.parts, limits, strict=True):
            if line and limit > at:  # line 0 marks a blank that replaces a line break
                text = part.text[at:limit]
                yield Piece(line, column, text, statement, understood or text.isspace())
                statement = None


class Doubt(NamedTuple):
    """A text with two possible readings."""

    text: LogText
    readings: tuple[tuple[int, int, Statement], ...]
    """``(start, end, statement)`` of each reading."""


def line_of(
    text: str, line: int, decorations: Decorations | None = None, *, has_markup: bool = False
) -> tuple[LogText, list[Piece]]:
    """Return a line without control sequences, markup and decorations, and the removed pieces.

    Args:
        text: the line.
        line: its number, from 1.
        decorations: the decorations of the log's lines.
        has_markup: whether to undo HTML, and colours that lost their escape character.
    """
    removed = []
    if text.endswith("\r"):
        removed.append(Piece(line, len(text) - 1, "\r", None, True))
        text = text[:-1]
    clean = LogText(text, [(0, line, 0)])
    if has_markup and not _MARKS_OF_MARKUP.isdisjoint(text):
        clean = _without(_ANSI_OR_MARKUP, text, line, removed)
    elif "\x1b" in text or "\0" in text:
        clean = _without(_ANSI, text, line, removed)
    if decorations:
        start, end = decorations.inner(clean.text)
        if start:
            removed += clean.pieces(0, start, None, True)
            removed += clean.pieces(end, len(clean.text), None, True)
            clean = clean.cut(start, end)
    return clean, removed


def _without(pattern: re.Pattern[str], text: str, line: int, blanks: list[Piece]) -> LogText:
    """Return the text with matches of a pattern replaced by the text they represent; empty ones go to ``blanks``."""
    parts_of_text: list[str] = []
    parts = {0: (0, line, 0)}
    position = length = 0

    def keep(text_part: str, column: int) -> None:
        nonlocal length
        if text_part:
            parts_of_text.append(text_part)
            parts[length] = (length, line, column)
            length += len(text_part)

    for match in pattern.finditer(text):
        keep(text[position : match.start()], position)
        position = match.end()
        represented = replacement(match.group())
        keep(represented, match.start())
        if not represented:
            blanks.append(Piece(line, match.start(), match.group(), None, True))
    keep(text[position:], position)
    parts.setdefault(length, (length, line, position))
    return LogText("".join(parts_of_text), list(parts.values()))
