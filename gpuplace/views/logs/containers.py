r"""Logs inside other files: notebook outputs, and JSON lines as containers and cloud services write them.

>>> content = unpacked('{"log": "Device mapping:\\n", "stream": "stdout"}\n{"log": "no\\n", "stream": "stderr"}')
>>> content.text, content.lines, content.what
('Device mapping:\nno', [1, 2], "JSON: field 'log' of 2 entries")
>>> unpacked("a: (Neg): /job:j/replica:0/task:0/cpu:0") is None
True
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace.views.tables.text import counted

_FIELDS = ("log", "message", "msg", "textPayload", "text", "body", "MESSAGE")
"""Fields of an entry that hold its text."""
_INNER = ("jsonPayload", "json_payload", "fields", "_source")
"""Fields of an entry that hold another entry."""
_BREAK = re.compile(r"<br[ ]?/?>(?!\r?\n|$)", re.IGNORECASE)


_ESCAPED = re.compile(r"(?:Device mapping:|[CcGg][Pp][Uu]:\d{1,4})(?:\\r)?\\n(?![\"'],?\s*$)", re.MULTILINE)
"""A line break after a sentence, written as two characters, within a line."""
_ESCAPED_BREAK = re.compile(r"(?:\\r)?\\n(?:[\"'],[ ]?[\"']|(?![\"'\w]|$)|(?=[\w/]))")
_OPENING = re.compile(r"\A[\[( ]{0,4}b?[\"']")
_CLOSING = re.compile(r"(?:\\n)?[\"'][\]) ,]{0,4}\Z")
_PAIR = re.compile(r"\b(msg|message)=(\"(?:[^\"\\]|\\.)*+\")")
_GAP = re.compile(r"[\s,]*+")
_DECODER = json.JSONDecoder()
_MAX_DEPTH = 4
"""Maximum nesting of lists and objects around entries."""
_MAX_HEAD = 200
"""Maximum number of characters before an entry on its line."""
Entry = tuple[str, str]
"""Name and text of a field."""


class Unpacked(NamedTuple):
    """The log extracted from a file."""

    text: str
    lines: list[int]
    """For each line of the text, its line number in the file, from 1; for a notebook, in its joined outputs."""
    what: str
    """A short description of the container format."""


def unpacked(text: str) -> Unpacked | None:
    """Return the log inside a text; None if the text is not a container."""
    content = _whole(text) if text.lstrip()[:1] in ("{", "[") else None
    if content is None and ('{"' in text or 'msg="' in text or 'message="' in text):
        content = _by_line(text)
    if content is None and "/job:" in text:
        if _ESCAPED.search(text):
            return _broken(text, _unescaped, "escaped line breaks")
        if _BREAK.search(text):
            return _broken(text, _BREAK.split, "HTML: line breaks")
    return content


def _whole(text: str) -> Unpacked | None:
    """Unpack a text that consists of JSON values: a notebook, an entry, a list of entries, or several of these."""
    entries: list[tuple[int, Entry]] = []
    position, line = 0, 1
    while (begin := _GAP.match(text, position)) is not None and begin.end() < len(text):
        line += text.count("\n", position, begin.end())
        try:
            value, position = _DECODER.raw_decode(text, begin.end())
        except (ValueError, RecursionError):
            return None
        if isinstance(value, Mapping) and ("cells" in value or "worksheets" in value):
            return _notebook(value)
        value_entries = [(line, entry) for entry in _entries(value, _MAX_DEPTH)]
        if not value_entries:
            return None
        entries += value_entries
        line += text.count("\n", begin.end(), position)
    return _of_entries(entries) if entries else None


def _notebook(value: Mapping[str, Any]) -> Unpacked:
    outputs = list(_outputs(value))
    joined = "\n".join(output.removesuffix("\n") for output in outputs)
    lines = list(range(1, joined.count("\n") + 2))
    return Unpacked(joined, lines, f"notebook: {counted(len(outputs), 'output')}")


def _by_line(text: str) -> Unpacked | None:
    """Unpack a text with entries, one per line, between other lines."""
    lines: list[tuple[int, Entry | str]] = []
    has_entry = False
    for number, line in enumerate(text.split("\n"), 1):
        entry = _entry_of_line(line)
        has_entry = has_entry or entry is not None
        lines.append((number, line if entry is None else entry))
    return _of_entries(lines) if has_entry else None


def _entry_of_line(line: str) -> Entry | None:
    """Return the JSON entry in a line, possibly after the writer's name, or an entry of `key="value"` pairs."""
    stripped = line.rstrip(" \t\r,")
    begin = stripped.find('{"', 0, _MAX_HEAD)
    if begin >= 0 and stripped.endswith("}"):
        try:
            return _field(json.loads(stripped[begin:]))
        except (ValueError, RecursionError):
            return None
    pair = _PAIR.search(line) if "level=" in line or "time=" in line else None
    if pair is None:
        return None
    try:
        return pair[1], str(json.loads(pair[2], strict=False))
    except ValueError:
        return None


def _entries(value: object, depth: int) -> Iterator[Entry]:
    """Yield the entry in a value, or the entries in its nested lists."""
    entry = _field(value)
    if entry is not None:
        yield entry
    elif depth and isinstance(value, list | Mapping):
        for item in value if isinstance(value, list) else value.values():
            yield from _entries(item, depth - 1)


def _of_entries(entries: Sequence[tuple[int, Entry | str]]) -> Unpacked:
    """Join the lines of entries; containers split long lines into entries without a line break at the end."""
    cuts = any(
        not isinstance(entry, str) and entry[0] == "log" and entry[1].endswith("\n") for _, entry in entries
    )
    lines: list[str] = []
    numbers: list[int] = []
    names: Counter[str] = Counter()
    is_open = False
    for number, entry in entries:
        name, text = ("", entry) if isinstance(entry, str) else entry
        if name:
            names[name] += 1
        parts = text.removesuffix("\n").split("\n")
        if is_open and name == "log":
            lines[-1] += parts.pop(0)
        lines += parts
        numbers += [number] * len(parts)
        is_open = cuts and name == "log" and not text.endswith("\n")
    fields = " and ".join(
        f"field '{name}' of {counted(count, 'entry', 'entries')}" for name, count in names.items()
    )
    return Unpacked("\n".join(lines), numbers, f"JSON: {fields}")


def _field(entry: object) -> Entry | None:
    """Return name and text of an entry."""
    if not isinstance(entry, Mapping):
        return None
    for name in _FIELDS:
        if isinstance(entry.get(name), str):
            return name, entry[name]
    for name in _INNER:
        inner = entry.get(name)
        if isinstance(inner, Mapping):
            inner_field = _field(inner)
            if inner_field is not None:
                return f"{name}.{inner_field[0]}", inner_field[1]
    return None


def _outputs(notebook: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts that cells printed or displayed, in order."""
    sheets = notebook.get("worksheets") or [notebook]
    for sheet in sheets if isinstance(sheets, list) else ():
        for cell in _dicts(sheet.get("cells") if isinstance(sheet, Mapping) else None):
            for output in _dicts(cell.get("outputs")):
                data = output.get("data")
                shown = data.get("text/plain") if isinstance(data, Mapping) else None
                for part in (output.get("text"), shown, output.get("traceback")):
                    if isinstance(part, str):
                        yield part
                    elif isinstance(part, list):
                        yield ("\n" if part is output.get("traceback") else "").join(map(str, part))


def _dicts(items: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in (items if isinstance(items, list) else ()) if isinstance(item, Mapping))


def _broken(text: str, split: Callable[[str], list[str]], what: str) -> Unpacked:
    """Unpack a text in which another character sequence represents line breaks."""
    lines: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        parts = split(line)
        lines += parts
        numbers += [number] * len(parts)
    return Unpacked("\n".join(lines), numbers, what)


def _unescaped(line: str) -> list[str]:
    """Split a line that is a Python or JSON string, or a list of strings, into its lines."""
    if _ESCAPED.search(line) is None:
        return [line]
    parts = _ESCAPED_BREAK.split(line)
    parts[0], parts[-1] = _OPENING.sub("", parts[0]), _CLOSING.sub("", parts[-1])
    return parts
