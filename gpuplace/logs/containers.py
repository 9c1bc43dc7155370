r"""Logs inside of other files: outputs of a notebook, and lines of JSON as containers and clouds write them.

>>> found = unpacked('{"log": "Device mapping:\\n", "stream": "stdout"}\n{"log": "no\\n", "stream": "stderr"}')
>>> found.text, found.lines, found.what
('Device mapping:\nno', [1, 2], "JSON: field 'log' of 2 entries")
>>> unpacked("a: (Neg): /job:j/replica:0/task:0/cpu:0") is None
True
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpuplace.tables.text import counted

__all__ = ["Unpacked", "unpacked"]

_FIELDS = ("log", "message", "msg", "textPayload", "text", "body", "MESSAGE")
"""Where an entry has its text."""
_INNER = ("jsonPayload", "json_payload", "fields", "_source")
"""Where an entry has another one."""
_BREAK = re.compile(r"<br[ ]?/?>(?!\r?\n|$)", re.IGNORECASE)


class Unpacked(NamedTuple):
    """What was in a file."""

    text: str
    lines: list[int]
    """Line of the file, counted from 1, for each line of the text; of a notebook, lines of its outputs together."""
    what: str
    """What was undone, in a few words."""


def unpacked(text: str) -> Unpacked | None:
    """The log inside of a text; None if the text is no container."""
    begin = text.lstrip()[:1]
    if begin in ("{", "["):
        found = _whole(text) or _by_line(text)
        if found is not None:
            return found
    elif '{"' in text and "\n{" in text:
        found = _by_line(text)
        if found is not None:
            return found
    if "/job:" in text and _BREAK.search(text):
        return _broken(text)
    return None


def _whole(text: str) -> Unpacked | None:
    """A text that is one JSON value: a notebook, an entry or a list of entries."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, Mapping) and ("cells" in value or "worksheets" in value):
        outputs = list(_outputs(value))
        joined = "\n".join(output.removesuffix("\n") for output in outputs)
        what = f"notebook: {counted(len(outputs), 'output')}"
        return Unpacked(joined, list(range(1, joined.count("\n") + 2)), what)
    entries = value if isinstance(value, list) else [value]
    fields = [_field(entry) for entry in entries]
    if not any(fields):
        return None
    return _of_entries([(1, field) for field in fields if field is not None])


def _by_line(text: str) -> Unpacked | None:
    """A text with entries, one a line, and other lines."""
    found: list[tuple[int, tuple[str, str] | str]] = []
    has_entry = False
    for number, line in enumerate(text.split("\n"), 1):
        entry = None
        stripped = line.strip()
        if stripped.startswith("{") and stripped.endswith(("}", "},")):
            try:
                entry = _field(json.loads(stripped.removesuffix(",")))
            except (ValueError, RecursionError):
                entry = None
        has_entry = has_entry or entry is not None
        found.append((number, line if entry is None else entry))
    return _of_entries(found) if has_entry else None


def _of_entries(entries: list[tuple[int, tuple[str, str] | str]]) -> Unpacked:
    """The lines of entries; a container cuts long lines into entries without a line break at the end."""
    cuts = any(
        not isinstance(entry, str) and entry[0] == "log" and entry[1].endswith("\n") for _, entry in entries
    )
    kept: list[str] = []
    numbers: list[int] = []
    names: Counter[str] = Counter()
    is_open = False
    for number, entry in entries:
        name, said = ("", entry) if isinstance(entry, str) else entry
        if name:
            names[name] += 1
        parts = said.removesuffix("\n").split("\n")
        if is_open and name == "log":
            kept[-1] += parts.pop(0)
        kept += parts
        numbers += [number] * len(parts)
        is_open = cuts and name == "log" and not said.endswith("\n")
    fields = " and ".join(
        f"field '{name}' of {counted(count, 'entry', 'entries')}" for name, count in names.items()
    )
    return Unpacked("\n".join(kept), numbers, f"JSON: {fields}")


def _field(entry: Any) -> tuple[str, str] | None:
    """Name and text of what an entry says."""
    if not isinstance(entry, Mapping):
        return None
    for name in _FIELDS:
        if isinstance(entry.get(name), str):
            return name, entry[name]
    for name in _INNER:
        inner = entry.get(name)
        if isinstance(inner, Mapping):
            found = _field(inner)
            if found is not None:
                return f"{name}.{found[0]}", found[1]
    return None


def _outputs(notebook: Mapping[str, Any]) -> Iterator[str]:
    """The texts that cells printed or showed, in order."""
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


def _broken(text: str) -> Unpacked:
    """A page in which tags break the lines."""
    kept: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        parts = _BREAK.split(line)
        kept += parts
        numbers += [number] * len(parts)
    return Unpacked("\n".join(kept), numbers, "HTML: line breaks")
