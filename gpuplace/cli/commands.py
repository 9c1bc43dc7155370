"""The commands of ``gpuplace``. Each prints its answer and returns the exit code; see ``gpuplace.cli``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, fields, replace

from gpuplace.cli.output import render, terminal_width
from gpuplace.cli.setup import UsageError, config_of, machine_of, placement_of, release_of
from gpuplace.typing import Findings
from gpuplace.views.tables.rows import node_rows
from gpuplace.views.tables.text import counted, summary_text
from gpuplace.web.rules import RULES
from gpuplace.why.placement import Placement


def place(arguments: argparse.Namespace) -> int:
    """Print a row, or a log line, for every node."""
    placement = placement_of(arguments, machine_of(arguments.machine), on_error="raise")
    if arguments.format == "log":
        if arguments.limit is not None:
            raise UsageError("--limit does not apply to --format log, which prints TensorFlow's own lines")
        print(placement.log(placement.release).rstrip("\n"))
        return 0
    columns = (*RULES["tables"]["nodes"], "rule", "decided_by")
    nodes = range(len(placement.graph))
    shown = nodes[: arguments.limit]
    rows = [{column: getattr(row, column) for column in columns} for row in node_rows(placement, shown)]
    if placement.graph.part and arguments.format == "table":
        print(placement.subject.text(placement.release), file=sys.stderr)
    if arguments.format == "table":  # a pipe gets the rows only
        print(summary_text(placement), file=sys.stdout if terminal_width() is not None else sys.stderr)
    more = len(nodes) - len(shown)
    print(render(rows, arguments.format, columns, more=more, full_names=arguments.full_names))
    return 0


def explain(arguments: argparse.Namespace) -> int:
    """Print why a node has its device; for a graph that cannot be placed, the partial answer and the error."""
    placement = placement_of(arguments, machine_of(arguments.machine), on_error="keep")
    print(placement.explain(arguments.node))
    if placement.errors:
        raise placement.errors[0]
    return 0


def blame(arguments: argparse.Namespace) -> int:
    """Print the findings about a step, then the causes that keep nodes off a device type.

    For a graph that cannot be placed, print the partial answer and the error.
    """
    placement = placement_of(arguments, machine_of(arguments.machine), on_error="keep")
    causes = placement.blame(arguments.device_type)
    findings = _findings(arguments, placement)
    if arguments.format == "text":
        if findings is not None:
            print(replace(findings, harmless=()), end="\n\n")  # the causes below list the harmless nodes
        print(causes)
    else:
        from gpuplace.why.blame import BlameRow

        rows = [
            asdict(row)
            | {
                "rule": row.rule.value,
                "op_types": ", ".join(row.op_types),
                "dtypes": ", ".join(row.dtypes),
                "devices": ", ".join(row.devices),
            }
            for row in causes
        ]
        columns = [column.name for column in fields(BlameRow)]
        if arguments.format == "json":
            from gpuplace.views.tables.findings import findings_json

            records = [] if findings is None else findings_json(findings)
            print(json.dumps({"findings": records, "causes": rows}, indent=1))
        else:
            print(render(rows, arguments.format, columns))
    if placement.errors:
        raise placement.errors[0]
    return 0


def _findings(arguments: argparse.Namespace, placement: Placement) -> Findings | None:
    """Return the findings about a step; None if the command is not about GPUs or the machine has none."""
    has_gpu = any(device.device_type == "GPU" for device in placement.device_set)
    if arguments.format == "csv" or arguments.device_type != "GPU" or not has_gpu or placement.errors:
        return None
    from gpuplace.cli.estimate_command import feed_of
    from gpuplace.findings.find import placement_findings

    return placement_findings(
        placement,
        arguments.fetch or None,
        dict(map(feed_of, arguments.feed or ())),
        config_of(arguments),
        arguments.batch,
    )


def diff(arguments: argparse.Namespace) -> int:
    """Print the nodes whose device differs, with the verdict after the move, and both verdicts in words."""
    here = machine_of(arguments.machine)
    there = machine_of(arguments.against) if arguments.against else here
    first = placement_of(arguments, here, on_error="raise")
    second = placement_of(arguments, there, on_error="raise", release=arguments.against_release)
    types = {row.node: row.type for row in node_rows(first)}
    rows = [
        {
            "node": move.node,
            "type": types[move.node],
            "here": move.before,
            "against": move.after,
            "cause": move.cause.value,
            "decided_by": move.decided_by,
            "note": move.note,
        }
        for move in first.diff(second)
    ]
    if not rows and arguments.format == "table":
        print("no node moves")
        return 0
    if arguments.format == "table" and terminal_width() is not None:
        print(f"{counted(len(rows), 'node')} of {len(first.graph):,} {'moves' if len(rows) == 1 else 'move'}")
    columns = ("node", "type", "here", "against", "cause", "decided_by", "note")
    print(render(rows, arguments.format, columns, limit=arguments.limit, full_names=arguments.full_names))
    return 0


def devices(arguments: argparse.Namespace) -> int:
    """Print how each GPU of the machine becomes a device, or why it does not."""
    release_of(arguments)
    machine = machine_of(arguments.machine)
    links = machine.links
    rows = [
        {
            "gpu": row.physical_id,
            "name": row.name,
            "pci_bus_id": row.pci_bus_id,
            "visible": row.visible_id,
            "device": row.device,
            "memory_limit_mib": row.memory_limit >> 20 if row.device else None,
            "links": links.text(row.physical_id),
            "reason": row.reason,
        }
        for row in machine.mapping(config_of(arguments), release=release_of(arguments))
    ]
    if not rows and arguments.format == "table":
        print("no GPU")
    else:
        print(render(rows, arguments.format))
    if machine.tasks and arguments.format == "table":
        print(f"network between {counted(len(machine.tasks), 'task')}: {machine.network.text()}")
    return 0
