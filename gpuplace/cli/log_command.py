"""`gpuplace log`: show the contents of a log, and compare it with a graph's placement."""

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
"""Exit code if the log differs from the graph's placement."""


def log(arguments: argparse.Namespace) -> int:
    """Print a table of a log; with a graph, the nodes that gpuplace would place elsewhere."""
    logged = _read(arguments.log, arguments.show)
    if arguments.session is not None:
        if arguments.session not in logged.numbers:
            first, last = logged.numbers[0], logged.numbers[-1]
            raise UsageError(
                f"the log has no session {arguments.session}; its sessions are {first} to {last}"
            )
        logged = logged.sessions[arguments.session]
    if arguments.against:
        return _compare(logged, arguments)
    if arguments.show != "notes":
        for note in logged.notes:
            print(f"note: line {note.line}, {note.kind}: {note.text}", file=sys.stderr)
    rows, columns = _table(logged, arguments.show)
    if arguments.format == "table":
        print(repr(logged)[1:-1])
        if not rows:
            return 0
    print(render(rows, arguments.format, columns, limit=arguments.limit, full_names=arguments.full_names))
    return 0


def _read(path: str, show: str) -> LoggedPlacement:
    """Read the log from a file or from standard input.

    Raises:
        UsageError: the file cannot be read.
        InvalidArgumentError: the text holds nothing from TensorFlow, unless the unparsed text is to be shown.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        elif os.path.isdir(path):
            raise UsageError(f"{path} is a folder; pass the file with the program's output")
        else:
            with open(path, "rb") as stream:
                data = stream.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    name = "standard input" if path == "-" else path
    if kind_of(name, data) is not None:
        raise no_log(name, data)
    logged = parse_log(data)
    if show != "unparsed" and not (
        logged.rows or logged.devices or logged.events or logged.gpus or logged.overridden
    ):
        raise no_log(name, decompressed(data, name, "log") if data.startswith(GZIP) else data)
    return logged


def _table(logged: LoggedPlacement, table: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the rows of a table and its columns."""
    records: dict[str, tuple[Any, Any]] = {
        "nodes": (logged.rows, LoggedNode),
        "devices": (logged.devices, LoggedDevice),
        "gpus": (logged.gpus, LoggedGPU),
        "events": (logged.events, LoggedEvent),
        "overridden": (logged.overridden, OverriddenRequest),
        "ops": (op_rows(logged) if table == "ops" else (), OpRow),
        "unparsed": (logged.unparsed, Unparsed),
        "notes": (logged.notes, LogNote),
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
            for part in logged.sessions
        ]
        return rows, columns
    values, record_type = records[table]
    return [value._asdict() for value in values], record_type._fields


def _compare(logged: LoggedPlacement, arguments: argparse.Namespace) -> int:
    machine = machine_of(arguments.machine) if arguments.machine else None
    if machine is None and not logged.device_names:
        raise UsageError("the log names no device; add --machine")
    from gpuplace.graphdef.load import load_placement_graph

    if arguments.signature is None and not arguments.function:
        arguments.whole_graph = True  # a session logs the nodes of the whole graph
    model, part = opened(arguments, arguments.against)
    release = release_of(arguments, model)
    graph = load_placement_graph(model, release=release, **model.options(part))
    differences = logged.compare(
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
            | {"node": name, "type": logged.types[name], "logged": logged[name]}
            for name in differences.only_logged
        ]
        print(render(rows, arguments.format, LogMove._fields, limit=arguments.limit))
    return _DIFFERS if differences.moves else 0
