"""`gpuplace log`: what a log says, and where a graph would be placed otherwise."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from gpuplace.cli.output import render
from gpuplace.cli.setup import UsageError, config_of, machine_of, opened, release_of
from gpuplace.graphdef.file_kinds import kind_of
from gpuplace.graphdef.files import GZIP, decompressed
from gpuplace.views.logs.graph_or_log import no_log
from gpuplace.views.logs.log_diff import LogMove
from gpuplace.views.logs.logged_placement import (
    LoggedDevice,
    LoggedEvent,
    LoggedGPU,
    LoggedNode,
    LoggedPlacement,
    OverriddenRequest,
    Unparsed,
)
from gpuplace.views.logs.op_rows import OpRow, op_rows
from gpuplace.views.logs.parser import parse_log
from gpuplace.views.logs.statements import LogNote

_DIFFERS = 3
"""Exit code where the log and the graph's placement differ."""


def log(arguments: argparse.Namespace) -> int:
    """Prints a table of a log; with a graph, the nodes that gpuplace would place elsewhere."""
    found = _read(arguments.log, arguments.show)
    if arguments.session is not None:
        if arguments.session not in found.numbers:
            raise UsageError(f"the log has sessions {found.numbers[0]} to {found.numbers[-1]}")
        found = found.sessions[arguments.session]
    if arguments.against:
        return _compare(found, arguments)
    if arguments.show != "notes":
        for note in found.notes:
            print(f"note: line {note.line}, {note.kind}: {note.text}", file=sys.stderr)
    rows, columns = _table(found, arguments.show)
    if arguments.format == "table":
        print(repr(found)[1:-1])
        if not rows:
            return 0
    print(render(rows, arguments.format, columns, limit=arguments.limit, full_names=arguments.full_names))
    return 0


def _read(path: str, show: str) -> LoggedPlacement:
    """The log of a file, or of standard input.

    Raises:
        UsageError: it cannot be read.
        InvalidArgumentError: TensorFlow tells nothing in it; not where that is what is to be shown.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        elif os.path.isdir(path):
            raise UsageError(f"{path} is a folder: give the file that the program's output was written to")
        else:
            with open(path, "rb") as stream:
                data = stream.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    name = "standard input" if path == "-" else path
    if kind_of(name, data) is not None:
        raise no_log(name, data)
    found = parse_log(data)
    if show != "unparsed" and not (
        found.rows or found.devices or found.events or found.gpus or found.overridden
    ):
        raise no_log(name, decompressed(data, name, "log") if data.startswith(GZIP) else data)
    return found


def _table(found: LoggedPlacement, table: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Rows of a table and its columns."""
    records: dict[str, tuple[Any, Any]] = {
        "nodes": (found.rows, LoggedNode),
        "devices": (found.devices, LoggedDevice),
        "gpus": (found.gpus, LoggedGPU),
        "events": (found.events, LoggedEvent),
        "overridden": (found.overridden, OverriddenRequest),
        "ops": (op_rows(found) if table == "ops" else (), OpRow),
        "unparsed": (found.unparsed, Unparsed),
        "notes": (found.notes, LogNote),
    }
    if table == "sessions":
        columns = ("session", "nodes", "events", "devices")
        rows = [
            {
                "session": part.numbers[0],
                "nodes": len(part),
                "events": len(part.events),
                "devices": ", ".join(f"{count} on {device}" for device, count in part.counts().items()),
            }
            for part in found.sessions
        ]
        return rows, columns
    values, kind = records[table]
    return [value._asdict() for value in values], kind._fields


def _compare(found: LoggedPlacement, arguments: argparse.Namespace) -> int:
    machine = machine_of(arguments.machine) if arguments.machine else None
    if machine is None and not found.device_names:
        raise UsageError("the log names no device; give a --machine")
    from gpuplace.graphdef.load import load_placement_graph

    if arguments.signature is None and not arguments.function:
        arguments.whole_graph = True  # a session logs the nodes of the whole graph
    model, part = opened(arguments, arguments.against)
    release = release_of(arguments, model)
    graph = load_placement_graph(model, release=release, **model.options(part))
    differences = found.compare(
        graph,
        machine=machine,
        config=config_of(arguments),
        release=release,
        visible_devices=arguments.visible_devices,
    )
    if arguments.format == "table":
        print(differences)
    else:
        rows = [move._asdict() for move in differences]
        rows += [
            dict.fromkeys(LogMove._fields, "")
            | {"node": name, "type": found.types[name], "logged": found[name]}
            for name in differences.only_logged
        ]
        print(render(rows, arguments.format, LogMove._fields, limit=arguments.limit))
    return _DIFFERS if differences.moves else 0
