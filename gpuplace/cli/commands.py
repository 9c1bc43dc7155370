"""What each command does. A command prints its answer and returns the exit code; see ``gpuplace.cli``."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import os
from typing import Any

from gpuplace import release as releases
from gpuplace.cli.output import render
from gpuplace.cli.run_script import run_script
from gpuplace.device.machine import ENVIRONMENT_VARIABLE as MACHINE_VARIABLE
from gpuplace.device.machine import Machine, default_machine
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.placer.blame import BlameRow
from gpuplace.placer.placement import Placement
from gpuplace.report.tables import node_rows
from gpuplace.runtime.place import place as place_graph


class UsageError(Exception):
    """The command line, or the environment that it reads, is wrong."""


def run(arguments: argparse.Namespace) -> int:
    """Runs a script with the machine and the release named, which its child processes see as well."""
    _machine(arguments.machine)
    if arguments.machine:
        os.environ[MACHINE_VARIABLE] = arguments.machine
    if arguments.release:
        os.environ[releases.ENVIRONMENT_VARIABLE] = arguments.release
    _release(arguments)
    try:
        return run_script(arguments.script, arguments.script_arguments)
    except OSError as error:
        if error.filename != arguments.script:
            raise
        raise UsageError(f"cannot read {arguments.script}: {error.strerror}") from None


def place(arguments: argparse.Namespace) -> int:
    """Prints a row, or a log line, for every node."""
    release = _release(arguments)
    placement = _placement(arguments, _machine(arguments.machine), release, on_error="raise")
    if arguments.format == "log":
        print(placement.log(release).rstrip("\n"))
        return 0
    columns = ("node", "type", "requested", "assigned")
    rows = [{column: getattr(row, column) for column in columns} for row in node_rows(placement)]
    print(render(rows, arguments.format, columns))
    return 0


def explain(arguments: argparse.Namespace) -> int:
    """Prints why a node is where it is; of a graph that cannot be placed, what is known, and the error."""
    release = _release(arguments)
    placement = _placement(arguments, _machine(arguments.machine), release, on_error="keep")
    names = placement.graph.names
    if arguments.node not in placement.graph.index:
        raise NotFoundError(
            None,
            None,
            f"The graph has no node '{arguments.node}'.",
            facts={
                "nearest": ", ".join(map(repr, difflib.get_close_matches(arguments.node, names))) or "none"
            },
        )
    print(placement.explain(arguments.node))
    if placement.errors:
        raise placement.errors[0]
    return 0


def blame(arguments: argparse.Namespace) -> int:
    """Prints what keeps nodes off a device type; of a graph that cannot be placed, what is known, and the error."""
    release = _release(arguments)
    placement = _placement(arguments, _machine(arguments.machine), release, on_error="keep")
    found = placement.blame(arguments.device_type)
    if arguments.format == "text":
        print(found)
    else:
        rows = [
            dataclasses.asdict(row)
            | {
                "rule": row.rule.value,
                "op_types": ", ".join(row.op_types),
                "dtypes": ", ".join(row.dtypes),
            }
            for row in found
        ]
        columns = [column.name for column in dataclasses.fields(BlameRow)]
        print(render(rows, arguments.format, columns))
    if placement.errors:
        raise placement.errors[0]
    return 0


def diff(arguments: argparse.Namespace) -> int:
    """Prints the nodes whose device differs, and the difference between the placements that moves each."""
    release = _release(arguments)
    here = _machine(arguments.machine)
    there = _machine(arguments.against) if arguments.against else here
    first = _placement(arguments, here, release, on_error="raise")
    second = _placement(arguments, there, arguments.against_release or release, on_error="raise")
    types = {row.node: row.type for row in node_rows(first)}
    rows = [
        {
            "node": move.node,
            "type": types[move.node],
            "here": move.before,
            "against": move.after,
            "cause": move.cause.value,
            "note": move.note,
        }
        for move in first.diff(second)
    ]
    if not rows and arguments.format == "table":
        print("no node moves")
    else:
        print(render(rows, arguments.format, ("node", "type", "here", "against", "cause", "note")))
    return 0


def devices(arguments: argparse.Namespace) -> int:
    """Prints what became of each GPU of the machine on its way to a device."""
    _release(arguments)
    rows = [
        {
            "gpu": row.physical_id,
            "name": row.name,
            "pci_bus_id": row.pci_bus_id,
            "visible": row.visible_id,
            "device": row.device,
            "memory_limit_mib": row.memory_limit >> 20 if row.device else None,
            "reason": row.reason,
        }
        for row in _machine(arguments.machine).mapping(_config(arguments))
    ]
    if not rows and arguments.format == "table":
        print("no GPU")
    else:
        print(render(rows, arguments.format))
    return 0


def _machine(text: str | None) -> Machine:
    try:
        return Machine.parse(text) if text else default_machine()
    except InvalidArgumentError as error:
        raise UsageError(str(error)) from None


def _release(arguments: argparse.Namespace) -> str:
    try:
        return releases.resolve(getattr(arguments, "release", None))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _config(arguments: argparse.Namespace) -> Any:
    """The ConfigProto of --config and --soft; None where neither is given."""
    soft = getattr(arguments, "soft", False)
    if not arguments.config and not soft:
        return None
    from gpuplace.graphdef.messages import ConfigProto, text_format

    config = ConfigProto()
    if arguments.config:
        try:
            with open(arguments.config, encoding="utf-8") as stream:
                text_format.Parse(stream.read(), config)
        except OSError as error:
            raise UsageError(f"cannot read {arguments.config}: {error.strerror}") from None
        except (UnicodeDecodeError, text_format.ParseError) as error:
            raise UsageError(f"{arguments.config} is no ConfigProto: {error}") from None
    if soft:
        config.allow_soft_placement = True
    return config


def _placement(arguments: argparse.Namespace, machine: Machine, release: str, on_error: str) -> Placement:
    if not os.path.exists(arguments.graph):
        raise UsageError(f"cannot read {arguments.graph}: No such file or directory")
    try:
        return place_graph(
            arguments.graph,
            machine=machine,
            config=_config(arguments),
            release=release,
            on_error=on_error,
            tags=arguments.tags,
            signature=arguments.signature,
            clear_devices=arguments.clear_devices,
        )
    except ValueError as error:
        if arguments.tags is None and arguments.signature is None:
            raise
        raise UsageError(str(error)) from None
