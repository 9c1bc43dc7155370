r"""Split a log into pieces: sentences of TensorFlow's grammar, and other text.

Changes by a terminal, a notebook or ``2>&1`` are undone first:

- A line that the terminal **wrapped**, at its last column or between two words, is joined again.
- TensorFlow writes each line to stdout and to stderr. Only the copy on stderr has a prefix, which marks where its lines
  begin, even in the middle of a line of stdout::

      MatMul: (MatMul): /job:localhost/repI tensorflow/core/common_runtime/placer.cc:54] MatMul: (MatMul)/job:...
      lica:0/task:0/device:GPU:0

- Marks before and after lines, HTML and colours are removed (`decorations`).
- A statement with two possible readings is accepted only if one of them also occurs elsewhere in the log.

The pieces together are the complete text, except for the spelling of characters in HTML; no text is lost.

>>> [(piece.text, piece.statement is not None) for piece in read_log("go\na: (Neg): /job:j/replica:0/task:0/cpu:0")]
[('go', False), ('a: (Neg): /job:j/replica:0/task:0/cpu:0', True)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuplace.views.logs import grammar
from gpuplace.views.logs.decorations import DECORATION, FENCE, MARKUP, Decorations
from gpuplace.views.logs.statements import Doubt, Kind, LogNote, LogText, Piece, Statement, line_of
from gpuplace.views.logs.wrapped_lines import WrappedLines

_MAX_HELD = 2000
"""Maximum length in characters of a truncated sentence that is carried over to the next line."""
_SHOWN = 120
"""Number of characters of a text that a note quotes."""
_BLANKS = re.compile(r"\s+")
_RELEVANT = re.compile(r":|evice|Executing|[\x00\x1b\r]")
"""Every line that is a sentence, or its beginning, contains a match."""


_ROWS_OF = {
    Kind.MAPPING: {Kind.ROW},
    Kind.FOUND: {Kind.PROPERTY},
    Kind.COLOCATION: {Kind.GROUP, Kind.MEMBER},
}
"""Header -> kinds of its rows."""


def read_log(text: str, notes: list[LogNote] | None = None) -> Iterator[Piece]:
    """Yield the pieces of a text. Pieces of ambiguous statements come last, so the order is not that of the text.

    Args:
        text: the log.
        notes: receives notes about restored, truncated and ambiguous text.
    """
    reader = _Reader([] if notes is None else notes)
    lines = text.split("\n")
    has_markup = "/job:" in text and MARKUP.search(text) is not None
    decorations = Decorations(
        (line_of(line, 0, has_markup=has_markup)[0].text for line in lines)
        if has_markup or "\x1b" in text
        else lines
    )
    reader.note_undone(decorations, has_markup)
    wraps = WrappedLines(lines)
    position = 0
    while position < len(lines):
        if (
            not (decorations or has_markup)
            and not wraps.is_full(position)
            and (piece := reader.usual(lines[position], position + 1)) is not None
        ):
            yield piece
            position += 1
            continue
        joined, blanks = line_of(lines[position], position + 1, decorations, has_markup=has_markup)
        yield from blanks
        while wraps.is_full(position):
            position += 1
            more, blanks = line_of(lines[position], position + 1, has_markup=has_markup)
            yield from blanks
            joined = joined + more
        position += 1
        yield from reader.read(joined)
    yield from reader.finish()


class _Reader:
    def __init__(self, notes: list[LogNote]) -> None:
        self.notes = notes
        self.pending: LogText | None = None
        """Text of stdout that its next line may continue."""
        self.held: tuple[LogText, int, bool, str] | None = None
        """A truncated sentence: text, where it begins, whether it is on stderr, the prefix's file."""
        self.block: tuple[Kind, bool] | None = None
        """The header whose rows may follow, and whether they are on stderr."""
        self.doubts: list[Doubt] = []
        self.certain: set[tuple[str, str]] = set()
        """Names and devices of unambiguous statements."""
        self.certain_devices: set[str] = set()

    def note_undone(self, decorations: Decorations, has_markup: bool) -> None:
        """Record notes about text removed from every line."""
        if has_markup:
            self.notes.append(LogNote(1, "undone", "HTML, Markdown escapes, or colours of a terminal"))
        for before, line in decorations.first_lines.items():
            self.notes.append(LogNote(line, "undone", f"{before!r} before lines"))

    # ------------------------------------------------------------------------------------------------------------ lines

    def read(self, line: LogText) -> Iterator[Piece]:
        text = line.text
        prefixes = list(grammar.PREFIX.finditer(text)) if "]" in text or ":" in text else []
        if not prefixes:
            yield from self._plain_line(line)
            return
        yield from self._drop_held()
        head = prefixes[0].start()
        if text[:head].strip():
            before = line.cut(0, head)
            before = before if self.pending is None else self._take_pending() + before
            if len(before.text) < _MAX_HELD and (
                grammar.NAME_END.search(before.text)
                or self._is_begun(before.text, _begin(before.text, 0), "")
            ):
                self.pending = before
            else:  # no sentence continues after it: a prompt, or a container's prefix
                is_prefix = len(before.text) < _SHOWN and DECORATION.fullmatch(before.text) is not None
                yield from before.pieces(0, len(before.text), None, is_prefix)
        else:
            yield from line.pieces(0, head, None, True)
        ends = [prefix.start() for prefix in prefixes[1:]] + [len(text)]
        for prefix, end in zip(prefixes, ends, strict=True):
            file = prefix["file"] or prefix["file2"] or ""
            part = line.cut(prefix.start(), end)
            if (
                end < len(text) and not text[prefix.end() : end].strip()
            ):  # another logger's, before the next prefix
                yield from part.pieces(0, len(part.text), None, True)
                continue
            yield from self._drop_held()
            yield from self._consume(part, prefix.end() - prefix.start(), True, file)

    def usual(self, text: str, number: int) -> Piece | None:
        """Return the piece of a line that is one complete statement about a node, or irrelevant; otherwise None.

        This fast path covers most lines of most logs.
        """
        if self.held is not None or self.pending is not None:
            return None
        is_stderr, start = False, 0
        if self.block is None and _RELEVANT.search(text) is None:
            return Piece(
                number, 0, text, None, not text or FENCE.fullmatch(text) is not None or text.isspace()
            )
        if (prefix := grammar.PREFIX.match(text)) is not None:
            is_stderr, start = True, prefix.end()
        match = grammar.PLACED.regex.fullmatch(text, start)
        if match is None:
            return None
        name, op_type, device = match.group("name", "type", "device")
        self.certain.add((name, device))
        self.certain_devices.add(device)
        self.block = None
        return Piece(number, 0, text, Statement(Kind.NODE, is_stderr, number, name, op_type, device), True)

    def _plain_line(self, line: LogText) -> Iterator[Piece]:
        """Read a line of stdout, or a row below a header on stderr."""
        text = line.text
        if not text.strip():
            if self.block is not None and self.block[1]:
                if self.block[0] is not Kind.COLOCATION:  # its rows have blank lines between them
                    self.block = None
            elif self.pending is not None and not self._is_begun(self.pending.text, 0, ""):
                yield from self._consume(self._take_pending(), 0, False, "")
            yield from line.pieces(0, len(text), None, True)
            return
        if self._goes_on_below_header(line):
            yield from self._drop_held()
            yield from self._consume(line, 0, True, "")
            return
        if self.pending is None:
            yield from self._consume(line, 0, False, "")
            return
        before = self._take_pending()
        yield from self._drop_held()
        doubt = self._two_readings(before, line)
        if doubt is not None:
            self.doubts.append(doubt)
        else:
            yield from self._consume(before + line, 0, False, "")

    def _goes_on_below_header(self, line: LogText) -> bool:
        """Return whether a line without a prefix is a row of a header on stderr; all others are on stdout."""
        if self.block is None or not self.block[1]:
            return False
        sentence = self._sentence(line, _begin(line.text, 0), True, "")
        return sentence is not None and sentence[1].kind in _ROWS_OF[self.block[0]]

    def _take_pending(self) -> LogText:
        assert self.pending is not None
        taken, self.pending = self.pending, None
        return taken

    def _two_readings(self, before: LogText, line: LogText) -> Doubt | None:
        """Return the two readings of an interrupted line and its continuation, if both are possible.

        The text before the interruption may or may not be the beginning of a name, and a number may continue.
        """
        both = before + line
        limit = len(before.text)
        begin = _begin(both.text, 0)
        whole = self._sentence(both, begin, False, "")
        if not grammar.NAME_END.search(before.text):
            return None
        alone = self._sentence(line, 0, False, "")
        if alone is not None and alone[1].kind is Kind.NODE:
            readings = [(limit, limit + alone[0], alone[1])]
            if whole is not None:
                readings.append((begin, whole[0], whole[1]))
            if before.text[-1:].isspace():
                return None
            return Doubt(both, tuple(readings))
        short = self._sentence(before, begin, False, "")
        if whole is not None and short is not None and short[0] == limit < whole[0]:
            return Doubt(both, ((begin, *short), (begin, *whole)))
        return None

    # -------------------------------------------------------------------------------------------------------- sentences

    def _drop_held(self) -> Iterator[Piece]:
        if self.held is None:
            return
        (text, start, is_stderr, _), self.held = self.held, None
        row = grammar.ROW.match(text.text, start)
        if row is not None and grammar.PHYSICAL.match(row["description"]):
            statement = Statement(
                Kind.ROW, is_stderr, text.line_at(start), device=row["device"], detail=row["description"]
            )
            yield from text.pieces(0, len(text.text), statement, True)
            return
        self.notes.append(LogNote(text.line_at(start), "cut", _shown(text.text[start:])))
        yield from text.pieces(0, len(text.text), None, False)

    def _consume(self, line: LogText, start: int, is_stderr: bool, file: str) -> Iterator[Piece]:
        """Read a line, or the part of it that was written to stderr."""
        if self.held is not None:
            (held, held_start, held_stderr, held_file), self.held = self.held, None
            if self._sentence(line, _begin(line.text, start), is_stderr, file) is None:
                for joined in (held + line, held.spaced(line)):
                    sentence = self._sentence(joined, held_start, held_stderr, held_file)
                    if sentence is not None and sentence[0] > len(held.text):
                        yield from self._sentences(joined, held_start, held_stderr, held_file)
                        return
                for joined in (held + line, held.spaced(line)):
                    if len(joined.text) < _MAX_HELD and self._is_begun(joined.text, held_start, held_file):
                        self.held = (joined, held_start, held_stderr, held_file)
                        return
            self.held = (held, held_start, held_stderr, held_file)
            yield from self._drop_held()
        yield from self._sentences(line, start, is_stderr, file)

    def _sentences(self, line: LogText, start: int, is_stderr: bool, file: str) -> Iterator[Piece]:
        """Yield the sentences of a line in order, with the text between them."""
        text = line.text
        breaks = line.breaks()
        done = 0
        position = _begin(text, start)
        is_first = True
        while position < len(text):
            sentence = self._sentence(line, position, is_stderr, file)
            if sentence is None:
                if is_first and len(text) < _MAX_HELD and self._is_begun(text, position, file):
                    self.held = (line, position, is_stderr, file)
                    return
                later = grammar.placed_later(text, position + 1)
                if later is None or any(later[0] < at < later[1] for at in breaks):
                    break
                if self._sentence(line, later[0], is_stderr, file) is None:
                    break
                yield from line.pieces(done, later[0], None, False)
                done = position = later[0]
                continue
            end, statement = sentence
            is_first = False
            doubt = self._wrapped_number(line.cut(done, end), position - done, statement, breaks, done)
            if doubt is not None:
                self.doubts.append(doubt)
            else:
                self._note(statement)
                yield from line.pieces(done, end, statement, True)
            done = end
            position = end
            if end not in breaks and statement.kind is not Kind.MAPPING:
                blanks = _BLANKS.match(text, end)
                if blanks is None:
                    break
                position = blanks.end()
        if is_first:
            self.block = None
        yield from line.pieces(done, len(text), None, is_first and FENCE.fullmatch(text) is not None)

    def _wrapped_number(
        self, part: LogText, start: int, statement: Statement, breaks: set[int], before: int
    ) -> Doubt | None:
        """Return the two readings of a statement at the end of a text whose device number continues after a line break.

        Args:
            part: the text up to the statement's end.
            start: where the statement begins in it.
            statement: its longest reading.
            breaks: positions of the line breaks in the whole line.
            before: number of characters of the whole line before the part.
        """
        if not breaks or statement.kind not in (Kind.NODE, Kind.EVENT):
            return None
        end = len(part.text)
        digits = len(statement.device.rpartition(":")[2])
        for position in breaks:
            if end - digits < position - before < end:
                short = statement._replace(device=statement.device[: position - before - end])
                return Doubt(part, ((start, position - before, short), (start, end, statement)))
        return None

    def _note(self, statement: Statement) -> None:
        """Record a statement, for ambiguous ones, and the header whose rows may follow."""
        if statement.kind in _ROWS_OF:
            self.block = (statement.kind, statement.is_stderr)
        elif self.block is not None and statement.kind not in _ROWS_OF[self.block[0]]:
            self.block = None
        if statement.kind is Kind.NODE:
            self.certain.add((statement.name, statement.device))
        if statement.device:
            self.certain_devices.add(statement.device)

    def _sentence(
        self, line: LogText, position: int, is_stderr: bool, file: str
    ) -> tuple[int, Statement] | None:
        """Return the sentence at a position and its end."""
        text = line.text
        number = line.line_at(position)
        head = text[position : position + 16]
        if self.block is not None and self.block[0] is Kind.COLOCATION and self.block[1] == is_stderr:
            if (row := grammar.MEMBER.match(text, position)) is not None:
                requested = row["device"] or ""
                return len(text), Statement(
                    Kind.MEMBER, is_stderr, number, row["name"], row["type"], detail=requested
                )
            if grammar.GROUP.match(text, position) is not None:
                return len(text), Statement(Kind.GROUP, is_stderr, number, detail=text[position:].rstrip())
        if head.startswith("/job:"):
            row = grammar.ROW.match(text, position)
            if row is None:
                return None
            description = row["description"]
            end = row.end()
            if description.startswith("device:") and "name:" in description[:20]:
                physical = grammar.PHYSICAL.match(text, row.start("description"))
                if physical is None:
                    return None
                end = physical.end()
                capability = grammar.CAPABILITY.match(text, end)
                if capability is not None:
                    end = capability.end()
                elif text.startswith(",", end):
                    return None
            elif not (self.block or description.startswith("device:")):
                return None
            detail = text[row.start("description") : end]
            return end, Statement(Kind.ROW, is_stderr, number, device=row["device"], detail=detail)
        if head.startswith("Device mapping:"):
            for rule in (grammar.NO_DEVICES, grammar.HEADER):
                match = rule.match(text, position)
                if match is not None and (match.end() == len(text) or text.startswith("/job:", match.end())):
                    return match.end(), Statement(Kind.MAPPING, is_stderr, number)
            return None
        if head.startswith("Executing op"):
            match = grammar.EAGER.match(text, position)
            if match is None or not self._is_end(line, match.end()):
                return None
            return match.end(), Statement(
                Kind.EVENT, is_stderr, number, type=match["op"], device=match["device"]
            )
        if head.startswith("Creat"):
            match = grammar.CREATED.match(text, position)
            if match is None:
                return None
            memory = None if match["memory"] is None else int(match["memory"])
            return match.end(), Statement(
                Kind.CREATED,
                is_stderr,
                number,
                device=match["device"],
                detail=match["description"],
                memory_mb=memory,
            )
        if head.startswith(("Ignoring ", "Failed to place")):
            return self._override(text, position, is_stderr, number)
        if head.startswith("Found device"):
            match = grammar.FOUND.match(text, position)
            if match is None:
                return None
            return match.end(), Statement(Kind.FOUND, is_stderr, number, name=match["physical_id"])
        if self.block is not None and self.block[0] is Kind.FOUND and self.block[1] == is_stderr:
            match = grammar.PROPERTIES.match(text, position)
            if match is not None:
                return len(text), Statement(Kind.PROPERTY, is_stderr, number, detail=text[position:].rstrip())
        match = grammar.PLACED.match(text, position)
        if match is None and (not file or "placer" in file):
            match = grammar.PLAIN.match(text, position)
        if match is None or not self._is_end(line, match.end()):
            return None
        op_type = match["type"] if "type" in match.re.groupindex else ""
        return match.end(), Statement(Kind.NODE, is_stderr, number, match["name"], op_type, match["device"])

    @staticmethod
    def _override(text: str, position: int, is_stderr: bool, number: int) -> tuple[int, Statement] | None:
        """Match a sentence about a GPU, a device request or a colocation that TensorFlow ignores."""
        if (match := grammar.IGNORED.match(text, position)) is not None:
            statement = Statement(
                Kind.IGNORED, is_stderr, number, match["reason"], detail=match["description"]
            )
        elif (match := grammar.OVERRIDDEN.match(text, position)) is not None:
            statement = Statement(
                Kind.OVERRIDDEN,
                is_stderr,
                number,
                match["name"],
                device=match["device"],
                detail=match["requested"],
            )
        elif (match := grammar.NOT_COLOCATED.match(text, position)) is not None:
            statement = Statement(Kind.COLOCATION, is_stderr, number, match["name"], detail=match[0])
        elif (match := grammar.RESOURCES_MOVED.match(text, position)) is not None:
            statement = Statement(Kind.COLOCATION, is_stderr, number, detail=match[0])
        else:
            return None
        return match.end(), statement

    @staticmethod
    def _is_end(line: LogText, end: int) -> bool:
        """Return whether a sentence may end here: before a blank or a line break."""
        return end == len(line.text) or line.text[end].isspace() or end in line.breaks()

    def _is_begun(self, text: str, start: int, file: str) -> bool:
        """Return whether the rest of a text is the beginning of a sentence."""
        if text.startswith("/job:", start):
            row = grammar.ROW.match(text, start)
            if row is None:
                return grammar.ROW.is_begun(text, start)
            description = row["description"]
            physical = grammar.PHYSICAL.match(description)
            if physical is not None:
                rest = description[physical.end() :]
                return bool(rest) and ", compute capability:".startswith(" ".join(rest.split()))
            return "device: ".startswith(description[:8]) or description.startswith("device:")
        if text.startswith(("Creat", "Ignoring"), start):
            return "evice" in text[start : start + 40] and ")" not in text[-1:]
        if text.startswith("Device mapping", start):
            return grammar.NO_DEVICES.is_begun(text, start)
        if text.startswith("Executing", start):
            return grammar.EAGER.is_begun(text, start)
        return grammar.PLACED.is_begun(text, start) or (
            (not file or "placer" in file) and grammar.PLAIN.is_begun(text, start)
        )

    # -----------------------------------------------------------------------------------------------------------
    # the end

    def finish(self) -> Iterator[Piece]:
        """Yield the text that was held back."""
        yield from self._drop_held()
        if self.pending is not None:
            yield from self._consume(self._take_pending(), 0, False, "")
            yield from self._drop_held()
        for doubt in self.doubts:
            yield from self._settle(doubt)

    def _settle(self, doubt: Doubt) -> Iterator[Piece]:
        """Yield a text with two readings, with the reading that the rest of the log supports.

        If it does not support exactly one, the text is left unparsed.
        """
        text, readings = doubt
        chosen = [
            reading
            for reading in readings
            if reading[2].kind is Kind.NODE and (reading[2].name, reading[2].device) in self.certain
        ]
        if not chosen and len({reading[2].name for reading in readings}) == 1 and len(readings) > 1:
            chosen = [reading for reading in readings if reading[2].device in self.certain_devices]
        if len(chosen) != 1:
            self.notes.append(LogNote(text.line_at(0), "ambiguous", _shown(text.text)))
            yield from text.pieces(0, len(text.text), None, False)
            return
        start, end, statement = chosen[0]
        begin = 0 if start == _begin(text.text, 0) else start
        yield from text.pieces(0, begin, None, False)
        yield from text.pieces(begin, end, statement, True)
        rest = text.cut(end, len(text.text)) if end < len(text.text) else None
        if rest is not None:
            yield from rest.pieces(0, len(rest.text), None, False)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _begin(text: str, start: int) -> int:
    """Return the position after prompts and blanks."""
    match = grammar.PROMPT.match(text, start)
    return match.end() if match is not None else start
