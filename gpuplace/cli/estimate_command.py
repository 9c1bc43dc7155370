"""`gpuplace estimate`: what a step of a graph costs, on one machine or several, for one batch or several."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from gpuplace.cli.output import render
from gpuplace.cli.setup import UsageError, config_of, machine_of, opened, release_of
from gpuplace.cost.batches import batch_feeds, batch_of
from gpuplace.cost.estimate import estimate as foretell
from gpuplace.cost.step_estimate import TABLES, StepEstimate

_COLUMNS = ("machine", "batch", "step_ms", "per_second", "busy", "copies_mb", "peak_mib", "fits", "guessed")


def estimate(arguments: argparse.Namespace) -> int:
    """Prints what a step takes: sentences, a table, or all of it as JSON; a row for each machine and batch."""
    if not os.path.exists(arguments.graph):
        raise UsageError(f"cannot read {arguments.graph}: No such file or directory")
    model, part = opened(arguments, arguments.graph)
    feeds = dict(map(feed_of, arguments.feed or ()))
    batches: list[int | None] = [*_numbers(arguments.batch)] or [None]
    machines = [*(arguments.machines or ()), *(arguments.gpu_machine or ())] or [None]
    trips = dict(map(_trip, arguments.trips or ()))
    rows, steps = [], []
    from gpuplace.session.place import place

    for machine in machines:
        placement = place(
            model,
            machine_of(machine),
            config_of(arguments),
            release_of(arguments),
            visible_devices=arguments.visible_devices,
            **part.options(),
        )
        for batch in batches:
            fed = feeds if batch is None else batch_feeds(feeds, batch)
            step = foretell(
                placement,
                arguments.fetch or None,
                fed,
                placement.device_set,
                config_of(arguments),
                release_of(arguments),
                trip_counts=trips or None,
            )
            steps.append(step)
            rows.append(_row(step, machine or "", batch_of(fed) if batch is None else batch))
    if arguments.table:
        if len(steps) > 1:
            raise UsageError("--table: of one machine and one batch")
        print(_table(steps[0], arguments.table, arguments))
    elif arguments.format == "text" and len(steps) == 1:
        print(steps[0].explain())
    elif arguments.format == "json" and len(steps) == 1:
        print(json.dumps(_whole(steps[0], rows[0]), indent=1))
    else:
        form = "table" if arguments.format == "text" else arguments.format
        print(render(rows, form, _COLUMNS, full_names=arguments.full_names))
    return 0


def feed_of(text: str) -> tuple[str, tuple[int | None, ...]]:
    """``images=64,224,224,3``; a size that is ``?`` or ``-1`` is the batch."""
    name, equals, sizes = text.partition("=")
    try:
        found = tuple(
            None if one.strip() in ("?", "-1", "None") else int(one)
            for one in sizes.split(",")
            if one.strip()
        )
    except ValueError:
        found = (-2,)
    if not name or not equals or any(size is not None and size < 0 for size in found):
        raise UsageError(f"--feed {text!r} is not NAME=SIZE,SIZE,..., such as images=64,224,224,3")
    return name, found


def _trip(text: str) -> tuple[str, float]:
    name, _, count = text.rpartition("=")
    try:
        return name, float(count)
    except ValueError:
        raise UsageError(f"--trips {text!r} is not FRAME=COUNT, such as while=20") from None


def _numbers(text: str | None) -> list[int]:
    """``16,32,64``."""
    if not text:
        return []
    if not all(one.strip().isdecimal() and int(one) for one in text.split(",")):
        raise UsageError(f"--batch {text!r} is not a list of numbers, such as 16,32,64")
    return [int(one) for one in text.split(",")]


def _row(step: StepEstimate, machine: str, batch: int | None) -> dict[str, Any]:
    gpus = [
        name for name, is_gpu in zip(step.device_names, step.machinery.is_gpu.tolist(), strict=True) if is_gpu
    ]
    busiest = max((step.busy[name] for name in gpus or step.device_names), default=0.0)
    peaks = step.peak_memory
    moved = sum(copy.bytes for copy in step.copies if copy.way not in ("signal", "host memory"))
    total = step.step_time
    return {
        "machine": machine or str(getattr(step.placement.device_set.origin, "machine", "")),
        "batch": batch,
        "step_ms": round(total * 1e3, 4),
        "per_second": None if batch is None or not total else round(batch / total, 2),
        "busy": round(busiest / total, 4) if total else 0.0,
        "copies_mb": round(moved / 1e6, 3),
        "peak_mib": round(max((peaks.get(name, 0) for name in gpus), default=0) / (1 << 20), 2)
        if gpus
        else None,
        "fits": step.memory.fits,
        "guessed": round(step.guessed, 4),
    }


def _whole(step: StepEstimate, row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "step_time": step.step_time,
        "peak_memory": step.peak_memory,
        "busy": step.busy,
        "assumptions": list(step.assumptions),
        **{table: [one._asdict() for one in step.rows(table)] for table in ("devices", "memory", "ops")},
    }


def _table(step: StepEstimate, table: str, arguments: argparse.Namespace) -> str:
    if table not in TABLES:
        raise UsageError(f"--table {table!r}: choose one of {', '.join(TABLES)}")
    rows = [one._asdict() for one in step.rows(table)]
    form = "table" if arguments.format == "text" else arguments.format
    return render(rows, form, limit=arguments.limit, full_names=arguments.full_names)
