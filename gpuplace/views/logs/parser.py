r"""Reads what TensorFlow prints with `log_device_placement`, of any release from 0.5 to 2.x.

Nodes, device mappings, GPUs and eager ops are understood in stdout, stderr or both mixed; whatever else is in the text
is returned too. `text` finds the text, `containers` takes it out of JSON and notebooks, `decorations` takes marks off
its lines, `grammar` has the sentences, `reader` undoes line wrapping and the mixing of the two copies, `sessions` puts
the statements together.

>>> log = parse_log('''Device mapping:
... /job:localhost/replica:0/task:0/gpu:0 -> device: 0, name: Tesla K40c, pci bus
... id: 0000:05:00.0
... b: /job:localhost/replica:0/task:0/gpu:0
... MatMul: /job:localhost/replica:0/task:0/gpu:0
... [[ 22.  28.]
... ''')
>>> log["MatMul"], log.devices[0].name, [left.text for left in log.unparsed]
('/job:localhost/replica:0/task:0/gpu:0', 'Tesla K40c', ['[[ 22.  28.]'])
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpuplace.progress import track
from gpuplace.views.logs import grammar
from gpuplace.views.logs.containers import unpacked
from gpuplace.views.logs.logged_placement import (
    LoggedDevice,
    LoggedEvent,
    LoggedGPU,
    LoggedNode,
    LoggedPlacement,
    OverriddenRequest,
    Unparsed,
)
from gpuplace.views.logs.reader import read_log
from gpuplace.views.logs.sessions import sessions_of
from gpuplace.views.logs.startup import is_startup, why_no_gpu
from gpuplace.views.logs.statements import Kind, LogNote, Statement
from gpuplace.views.logs.text import check_is_text, log_text
from gpuplace.views.tables.text import counted

_PROPERTY = re.compile(
    r"(?P<key>name|major|minor|pciBusID|computeCapability|[Tt]otal ?[Mm]emory|deviceMemorySize):? "
    r"(?P<value>.*?)(?=$|\n| (?:major|minor|pciBusID|name|memoryClockRate|computeCapability|[Ff]ree ?[Mm]emory"
    r"|core|deviceMemory))"
)


def parse_log(log: Any) -> LoggedPlacement:
    """The placement that TensorFlow printed.

    Args:
        log: text, bytes, path, open file, lines, or the result of `%%capture` in a notebook.

    Raises:
        FileNotFoundError: a path that does not exist.
        TypeError: something else.
        DataLossError: a file or bytes that are no text at all, or a gzip file that is damaged.
        ResourceExhaustedError: a gzip file of a thousand times its size.
    """
    statements: list[Statement] = []
    unparsed: list[Unparsed] = []
    startup: list[Unparsed] = []
    notes: list[LogNote] = []
    text = log_text(log)
    inside = unpacked(text)

    def line_of(line: int) -> int:
        return line if inside is None else inside.lines[line - 1]

    if text is not log and "/job:" not in text and "evice" not in text:
        check_is_text(text)
    content = text if inside is None else inside.text
    for piece in track(read_log(content, notes), content.count("\n") + 1, "reading the log", unit=" lines"):
        if piece.statement is not None:
            statements.append(piece.statement)
        elif not piece.is_understood:
            place = startup if is_startup(piece.text) else unparsed
            place.append(Unparsed(line_of(piece.line), piece.column, piece.text))
    if inside is not None:
        notes = [note._replace(line=inside.lines[note.line - 1]) for note in notes]
        notes.append(LogNote(1, "undone", inside.what))
    if text is not log and not statements:
        check_is_text(text)
    unparsed.sort()
    overridden = [
        (request._replace(line=line_of(request.line)), text) for request, text in _overridden(statements)
    ]
    notes += [
        LogNote(request.line, "colocation" if request.reason == "colocation" else "overridden", text)
        for request, text in overridden
    ]
    sessions, hardware = sessions_of(one for one in statements if one.kind not in _NOT_AS_ASKED)
    rows: list[LoggedNode] = []
    devices: list[LoggedDevice] = []
    events: list[LoggedEvent] = []
    for number, session in enumerate(sessions):
        rows += [
            LoggedNode(node.name, node.type, node.device, number, line_of(node.line))
            for node in session.nodes
        ]
        devices += [
            LoggedDevice(row.device, row.detail, *_physical(row.detail), number, line_of(row.line))
            for row in session.rows
        ]
        events += [
            LoggedEvent(event.type, event.device, number, line_of(event.line)) for event in session.events
        ]
    return LoggedPlacement(
        tuple(rows),
        tuple(devices),
        tuple(events),
        tuple(gpu._replace(line=line_of(gpu.line)) for gpu in _gpus(hardware)),
        tuple(unparsed),
        tuple(range(len(sessions))) or (0,),
        (*sorted(notes), *_startup_notes(startup), *_ignored(unparsed)),
        tuple([request for request, _ in overridden]),
    )


_NOT_AS_ASKED = frozenset({Kind.OVERRIDDEN, Kind.COLOCATION, Kind.MEMBER, Kind.GROUP})


def _overridden(statements: Iterable[Statement]) -> list[tuple[OverriddenRequest, str]]:
    """The requests that TensorFlow says it overrode, each with a sentence."""
    found: list[tuple[OverriddenRequest, str]] = []
    group: list[Statement] = []

    def close() -> None:
        if group:
            found.append(_of_group(group))
            group.clear()

    for one in sorted(statements, key=lambda one: one.line):
        if one.kind is Kind.OVERRIDDEN:
            request = OverriddenRequest(one.name, one.detail, one.device, "reference", 1, one.line)
            asked = one.detail or "no device"
            found.append(
                (request, f"{one.name} asks for {asked} and is on {one.device}, where its variable is")
            )
        elif one.kind is Kind.COLOCATION:
            close()
            group.append(one)
        elif one.kind in _NOT_AS_ASKED and group:
            group.append(one)
    close()
    return found


def _of_group(group: list[Statement]) -> tuple[OverriddenRequest, str]:
    """What the statements about one colocation group say, the sentence first."""
    head = group[0]
    members = [one for one in group if one.kind is Kind.MEMBER]
    devices = [
        one.detail.rstrip("].") for one in group if one.detail.startswith("/job:") and one.kind is Kind.GROUP
    ]
    first = next((one for one in members if one.detail), members[0] if members else head)
    device = devices[0] if devices else ""
    asked = first.detail if first.kind is Kind.MEMBER else ""
    text = head.detail
    if members:
        text = f"{counted(len(members), 'node')} with {first.name} cannot be on {asked or 'the requested device'}"
        text += f" and are on {device}" if device else ""
    return OverriddenRequest(first.name, asked, device, "colocation", len(members) or 1, head.line), text


def _startup_notes(lines: list[Unparsed]) -> list[LogNote]:
    """Notes about TensorFlow's start: how many lines, and why it uses no GPU."""
    if not lines:
        return []
    notes = [LogNote(lines[0].line, "start-up", f"{counted(len(lines), 'line')} of TensorFlow's start")]
    reasons = {reason: line.line for line in reversed(lines) if (reason := why_no_gpu(line.text))}
    return [*notes, *(LogNote(line, "no GPU", reason) for reason, line in reversed(reasons.items()))]


def _ignored(unparsed: list[Unparsed]) -> list[LogNote]:
    """A note about all that says nothing of placement."""
    if not unparsed:
        return []
    told = f"{counted(len(unparsed), 'piece')} of text, from {unparsed[0].text.strip()[:80]!r} on"
    return [LogNote(unparsed[0].line, "ignored", told)]


def _physical(description: str) -> tuple[int | None, str, str, str]:
    """Number, model, PCI bus id and compute capability in a description."""
    found = grammar.PHYSICAL.match(description)
    if found is None:
        return None, "", "", ""
    capability = grammar.CAPABILITY.search(description, found.end())
    return (
        int(found["physical_id"]),
        found["name"],
        found["pci_bus_id"],
        capability[1] if capability is not None else "",
    )


def _gpus(hardware: Iterable[Statement]) -> list[LoggedGPU]:
    """What is told of GPUs; said again word for word, once."""
    gpus: dict[LoggedGPU, None] = {}
    found: tuple[Statement, list[str]] | None = None

    def close() -> None:
        if found is not None:
            gpus[_found_gpu(*found)] = None

    for statement in hardware:
        if statement.kind is Kind.PROPERTY:
            if found is not None:
                found[1].append(statement.detail)
            continue
        close()
        found = None
        if statement.kind is Kind.FOUND:
            found = (statement, [])
        else:
            is_created = statement.kind is Kind.CREATED
            gpu = LoggedGPU(
                "created" if is_created else "ignored",
                statement.device,
                *_physical(statement.detail),
                statement.memory_mb,
                statement.detail if is_created else statement.name,
                statement.line,
            )
            gpus[gpu] = None
    close()
    return list(gpus)


def _found_gpu(statement: Statement, properties: list[str]) -> LoggedGPU:
    text = "\n".join(properties)
    told = {
        found["key"].lower().replace(" ", ""): found["value"].strip() for found in _PROPERTY.finditer(text)
    }
    capability = told.get("computecapability", "")
    if not capability and "major" in told and "minor" in told:
        capability = f"{told['major']}.{told['minor']}"
    return LoggedGPU(
        "found",
        "",
        int(statement.name),
        told.get("name", ""),
        told.get("pcibusid", ""),
        capability,
        None,
        text,
        statement.line,
    )
