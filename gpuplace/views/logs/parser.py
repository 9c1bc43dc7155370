r"""Parse the output of `log_device_placement`, from any TensorFlow release from 0.5 to 2.x.

Nodes, device mappings, GPUs and eager ops are recognized in stdout, stderr or a mixture of both; the remaining text is
returned too. `text` decodes the input, `containers` extracts it from JSON and notebooks, `decorations` removes marks
around lines, `grammar` defines the sentences, `reader` undoes line wrapping and separates the two mixed copies, and
`sessions` groups the statements.

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
    """Parse the placement that TensorFlow printed.

    Args:
        log: text, bytes, path, open file, lines, or the result of `%%capture` in a notebook.

    Raises:
        FileNotFoundError: the path does not exist.
        TypeError: the argument has another type.
        DataLossError: the file or bytes are not text, or a gzip file is damaged.
        ResourceExhaustedError: a gzip file decompresses to more than a thousand times its size.
    """
    statements: list[Statement] = []
    unparsed: list[Unparsed] = []
    startup: list[Unparsed] = []
    notes: list[LogNote] = []
    text = log_text(log)
    container = unpacked(text)

    def line_of(line: int) -> int:
        return line if container is None else container.lines[line - 1]

    if text is not log and "/job:" not in text and "evice" not in text:
        check_is_text(text)
    content = text if container is None else container.text
    for piece in track(read_log(content, notes), content.count("\n") + 1, "reading the log", unit=" lines"):
        if piece.statement is not None:
            statements.append(piece.statement)
        elif not piece.is_understood:
            target = startup if is_startup(piece.text) else unparsed
            target.append(Unparsed(line_of(piece.line), piece.column, piece.text))
    if container is not None:
        notes = [note._replace(line=container.lines[note.line - 1]) for note in notes]
        notes.append(LogNote(1, "undone", container.what))
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
    sessions, hardware = sessions_of(
        statement for statement in statements if statement.kind not in _OVERRIDE_KINDS
    )
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


_OVERRIDE_KINDS = frozenset({Kind.OVERRIDDEN, Kind.COLOCATION, Kind.MEMBER, Kind.GROUP})


def _overridden(statements: Iterable[Statement]) -> list[tuple[OverriddenRequest, str]]:
    """Return the requests that TensorFlow reports as overridden, each with a sentence."""
    pairs: list[tuple[OverriddenRequest, str]] = []
    group: list[Statement] = []

    def close() -> None:
        if group:
            pairs.append(_of_group(group))
            group.clear()

    for statement in sorted(statements, key=lambda statement: statement.line):
        if statement.kind is Kind.OVERRIDDEN:
            request = OverriddenRequest(
                statement.name, statement.detail, statement.device, "reference", 1, statement.line
            )
            requested = statement.detail or "no device"
            pairs.append(
                (
                    request,
                    f"{statement.name} requests {requested}, but follows its variable to {statement.device}",
                )
            )
        elif statement.kind is Kind.COLOCATION:
            close()
            group.append(statement)
        elif statement.kind in _OVERRIDE_KINDS and group:
            group.append(statement)
    close()
    return pairs


def _of_group(group: list[Statement]) -> tuple[OverriddenRequest, str]:
    """Return the overridden request that the statements about one colocation group describe, and a sentence."""
    head = group[0]
    members = [statement for statement in group if statement.kind is Kind.MEMBER]
    devices = [
        statement.detail.rstrip("].")
        for statement in group
        if statement.detail.startswith("/job:") and statement.kind is Kind.GROUP
    ]
    first = next((statement for statement in members if statement.detail), members[0] if members else head)
    device = devices[0] if devices else ""
    requested = first.detail if first.kind is Kind.MEMBER else ""
    text = head.detail
    if members:
        text = f"{counted(len(members), 'node')} colocated with {first.name} cannot run on "
        text += requested or "the requested device"
        text += f" and run on {device}" if device else ""
    return OverriddenRequest(first.name, requested, device, "colocation", len(members) or 1, head.line), text


def _startup_notes(lines: list[Unparsed]) -> list[LogNote]:
    """Return notes about TensorFlow's startup lines: their number, and why it uses no GPU."""
    if not lines:
        return []
    notes = [LogNote(lines[0].line, "start-up", f"{counted(len(lines), 'startup line')} of TensorFlow")]
    reasons = {reason: line.line for line in reversed(lines) if (reason := why_no_gpu(line.text))}
    return [*notes, *(LogNote(line, "no GPU", reason) for reason, line in reversed(reasons.items()))]


def _ignored(unparsed: list[Unparsed]) -> list[LogNote]:
    """Return a note on all text that is not about placement."""
    if not unparsed:
        return []
    text = f"{counted(len(unparsed), 'piece')} of text, starting with {unparsed[0].text.strip()[:80]!r}"
    return [LogNote(unparsed[0].line, "ignored", text)]


def _physical(description: str) -> tuple[int | None, str, str, str]:
    """Return number, model, PCI bus id and compute capability from a description."""
    match = grammar.PHYSICAL.match(description)
    if match is None:
        return None, "", "", ""
    capability = grammar.CAPABILITY.search(description, match.end())
    return (
        int(match["physical_id"]),
        match["name"],
        match["pci_bus_id"],
        capability[1] if capability is not None else "",
    )


def _gpus(hardware: Iterable[Statement]) -> list[LoggedGPU]:
    """Return the statements about GPUs, without exact repetitions."""
    gpus: dict[LoggedGPU, None] = {}
    pending: tuple[Statement, list[str]] | None = None

    def close() -> None:
        if pending is not None:
            gpus[_found_gpu(*pending)] = None

    for statement in hardware:
        if statement.kind is Kind.PROPERTY:
            if pending is not None:
                pending[1].append(statement.detail)
            continue
        close()
        pending = None
        if statement.kind is Kind.FOUND:
            pending = (statement, [])
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
    values = {
        match["key"].lower().replace(" ", ""): match["value"].strip() for match in _PROPERTY.finditer(text)
    }
    capability = values.get("computecapability", "")
    if not capability and "major" in values and "minor" in values:
        capability = f"{values['major']}.{values['minor']}"
    return LoggedGPU(
        "found",
        "",
        int(statement.name),
        values.get("name", ""),
        values.get("pcibusid", ""),
        capability,
        None,
        text,
        statement.line,
    )
