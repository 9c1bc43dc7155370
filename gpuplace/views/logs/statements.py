r"""What a log is cut into: statements, pieces of text with their places, and lines put together from several.

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
"""One of these is in all markup."""


class Kind(Enum):
    """What a sentence tells."""

    NODE = "node"
    """A node and its device."""
    EVENT = "event"
    """An op that ran eagerly, and where."""
    MAPPING = "mapping"
    """`Device mapping:`, with which a session begins."""
    ROW = "row"
    """A device and what it is."""
    CREATED = "created"
    """A device that was made, of which GPU, with how much memory."""
    FOUND = "found"
    """`Found device 0 with properties:`"""
    PROPERTY = "property"
    """A line below that."""
    IGNORED = "ignored"
    """A GPU that TensorFlow does not use."""
    OVERRIDDEN = "overridden"
    """A device that was asked for, and gives way to that of a variable."""
    COLOCATION = "colocation"
    """Nodes that cannot be where, or with whom, they were asked to be."""
    MEMBER = "member"
    """A node of a colocation group below that, with the device that it asks for."""
    GROUP = "group"
    """Another line below that."""


class Statement(NamedTuple):
    """A sentence that was understood."""

    kind: Kind
    is_stderr: bool
    line: int
    """Line of the text on which it begins, counted from 1."""
    name: str = ""
    """Node's name."""
    type: str = ""
    """Op type."""
    device: str = ""
    """As printed."""
    detail: str = ""
    """Description of a device, reason, or properties."""
    memory_mb: int | None = None


class LogNote(NamedTuple):
    """What was done with a place of a log that is not plainly a sentence."""

    line: int
    """Counted from 1."""
    kind: str
    """`"undone"`: taken off before reading; `"cut"`: a sentence that breaks off; `"ambiguous"`: readable in two ways;
    `"overridden"`: a requested device that gave way to that of a variable; `"colocation"`: nodes that could not be
    where, or with whom, they were asked to be; `"start-up"`: TensorFlow's start; `"no GPU"`: why it
    uses none; `"ignored"`: text that says nothing of placement."""
    text: str
    """What it is about; of text its beginning."""


class Piece(NamedTuple):
    """Characters of the text that belong together."""

    line: int
    """Counted from 1."""
    column: int
    """Counted from 0."""
    text: str
    statement: Statement | None
    """None if the characters were not understood, or are a further piece of a statement."""
    is_understood: bool
    """Part of a statement, or blank."""


class LogText:
    """Characters, each with its place in the log."""

    __slots__ = ("joins", "parts", "text")

    def __init__(self, text: str, parts: list[tuple[int, int, int]]) -> None:
        self.text = text
        self.parts = parts
        """``(position here, line, column)`` where a run of neighbouring characters begins."""

    def __add__(self, other: LogText) -> LogText:
        shift = len(self.text)
        return LogText(
            self.text + other.text,
            self.parts + [(at + shift, line, column) for at, line, column in other.parts],
        )

    def spaced(self, other: LogText) -> LogText:
        """Both with a blank between them that stands for the line break."""
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
        """Characters from one position to another."""
        first = bisect_right(self.parts, (start, 1 << 62, 0)) - 1
        at, line, column = self.parts[first]
        parts = [(0, line, column + start - at)]
        for at, line, column in self.parts[first + 1 :]:
            if at >= end:
                break
            parts.append((at - start, line, column))
        return LogText(self.text[start:end], parts)

    def line_at(self, position: int) -> int:
        """Line of a character."""
        return self.parts[bisect_right(self.parts, (position, 1 << 62, 0)) - 1][1]

    def breaks(self) -> set[int]:
        """Positions at which lines were put together."""
        return {at for at, _, _ in self.parts[1:]}

    def pieces(self, start: int, end: int, statement: Statement | None, understood: bool) -> Iterator[Piece]:
        """The characters from one position to another, a piece a line."""
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
            if line and limit > at:  # line 0 is a blank that stands for a line break
                text = part.text[at:limit]
                yield Piece(line, column, text, statement, understood or text.isspace())
                statement = None


class Doubt(NamedTuple):
    """Text with two readings."""

    text: LogText
    readings: tuple[tuple[int, int, Statement], ...]
    """``(start, end, statement)`` each."""


def line_of(
    text: str, line: int, decorations: Decorations | None = None, *, has_markup: bool = False
) -> tuple[LogText, list[Piece]]:
    """A line without what only a terminal or a page sees and without its decorations, and these.

    Args:
        text: the line.
        line: its number, counted from 1.
        decorations: what stands before and after the lines of the log.
        has_markup: whether HTML, and colours that lost their first character, are undone.
    """
    blanks = []
    if text.endswith("\r"):
        blanks.append(Piece(line, len(text) - 1, "\r", None, True))
        text = text[:-1]
    made = LogText(text, [(0, line, 0)])
    if has_markup and not _MARKS_OF_MARKUP.isdisjoint(text):
        made = _without(_ANSI_OR_MARKUP, text, line, blanks)
    elif "\x1b" in text or "\0" in text:
        made = _without(_ANSI, text, line, blanks)
    if decorations:
        start, end = decorations.inner(made.text)
        if start:
            blanks += made.pieces(0, start, None, True)
            blanks += made.pieces(end, len(made.text), None, True)
            made = made.cut(start, end)
    return made, blanks


def _without(pattern: re.Pattern[str], text: str, line: int, blanks: list[Piece]) -> LogText:
    """The text with what a pattern finds replaced by what it stands for; what stands for nothing goes to ``blanks``."""
    kept: list[str] = []
    parts = {0: (0, line, 0)}
    at = length = 0

    def keep(said: str, column: int) -> None:
        nonlocal length
        if said:
            kept.append(said)
            parts[length] = (length, line, column)
            length += len(said)

    for found in pattern.finditer(text):
        keep(text[at : found.start()], at)
        at = found.end()
        stands_for = replacement(found.group())
        keep(stands_for, found.start())
        if not stands_for:
            blanks.append(Piece(line, found.start(), found.group(), None, True))
    keep(text[at:], at)
    parts.setdefault(length, (length, line, at))
    return LogText("".join(kept), list(parts.values()))
