"""`gpuplace estimate`: predict the cost of a graph's step, for one or more machines and batch sizes."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from gpuplace.cli.output import render
from gpuplace.cli.setup import UsageError, config_of, machine_of, opened, release_of
from gpuplace.cost.batches import batch_of
from gpuplace.cost.estimate import estimate as predict
from gpuplace.cost.grid import GridRow, cost_grid, fed_shapes, grid_row
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.cost.step_tables import TABLES
from gpuplace.device.device_set import DeviceSet
from gpuplace.errors import OpError
from gpuplace.runtime.session.place import devices_of, place
from gpuplace.views.tables.findings import findings_json


def estimate(arguments: argparse.Namespace) -> int:
    """Print the predicted step as sentences, a table or JSON; for several machines or batches, a row for each."""
    model, part = opened(arguments, arguments.graph)
    feeds = dict(map(feed_of, arguments.feed or ()))
    batches = _numbers(arguments.batch)
    trips = dict(map(trip_of, arguments.trips or ()))
    config, release = config_of(arguments), release_of(arguments, model)
    machines = {}
    for text in [*(arguments.machines or ()), *(arguments.gpu_machine or ())] or [None]:
        machine = machine_of(text)
        machines[text or str(machine)] = devices_of(machine, config, arguments.visible_devices, release)
    if arguments.table and len(machines) * max(len(batches), 1) > 1:
        raise UsageError("--table applies to one machine and one batch size; give only one of each")
    batch = batches[0] if len(batches) == 1 else None

    def predict_on(devices: DeviceSet) -> StepEstimate:
        placement = place(model, devices, config, release, **model.options(part))
        return predict(
            placement,
            arguments.fetch or None,
            feeds,
            devices,
            config,
            release,
            trip_counts=trips or None,
            batch=batch,
            whole_graph=arguments.whole_graph,
        )

    if len(machines) * max(len(batches), 1) == 1:
        ((name, devices),) = machines.items()
        step = predict_on(devices)
        if arguments.table:
            print(_table(step, arguments.table, arguments))
        elif arguments.format == "text":
            print(step.explain())
        else:
            row = _shown(grid_row(step, name, batch_of(fed_shapes(step.request.feeds))))
            if arguments.format == "json":
                print(json.dumps(_whole(step, row), indent=1))
            else:
                print(render([row], arguments.format, full_names=arguments.full_names))
        return 0
    rows = cost_grid(_first_of(machines.values(), predict_on), machines, batches)
    failed = [row for row in rows if row.error]
    columns = [name for name in _shown(rows[0]) if failed or name != "error" or arguments.format != "text"]
    form = "table" if arguments.format == "text" else arguments.format
    print(render([_shown(row) for row in rows], form, columns, full_names=arguments.full_names))
    return 1 if len(failed) == len(rows) else 0


def _first_of(machines: Iterable[DeviceSet], predict_on: Callable[[DeviceSet], StepEstimate]) -> StepEstimate:
    """Return the estimate on the first machine that allows one; raise the first error if there is none."""
    first_error: OpError | None = None
    for devices in machines:
        try:
            return predict_on(devices)
        except OpError as error:
            first_error = first_error or error
    assert first_error is not None
    raise first_error


def feed_of(text: str) -> tuple[str, tuple[int | None, ...]]:
    """Parse ``images=64,224,224,3``; a size of ``?`` or ``-1`` is the batch dimension."""
    name, equals, sizes = text.partition("=")
    try:
        shape = tuple(
            None if part.strip() in ("?", "-1", "None") else int(part)
            for part in sizes.split(",")
            if part.strip()
        )
    except ValueError:
        shape = (-2,)
    if not name or not equals or any(size is not None and size < 0 for size in shape):
        raise UsageError(
            f"--feed {text!r} is not of the form NAME=SIZE,SIZE,...; for example: images=64,224,224,3"
        )
    return name, shape


def trip_of(text: str) -> tuple[str, float]:
    """Parse ``while=20``: the frame of a loop and the number of iterations."""
    name, _, count = text.rpartition("=")
    try:
        return name, float(count)
    except ValueError:
        raise UsageError(f"--trips {text!r} is not of the form FRAME=COUNT; for example: while=20") from None


def _numbers(text: str | None) -> list[int]:
    """Parse batch sizes: ``16,32,64``."""
    if not text:
        return []
    for part in text.split(","):
        if not part.strip().isdecimal() or not int(part):
            raise UsageError(f"--batch takes positive integers, such as 32 or 16,32,64; got {part.strip()!r}")
    return [int(part) for part in text.split(",")]


def _shown(row: GridRow) -> dict[str, Any]:
    """Return a row in the units that the command prints; None for an unknown value."""
    is_known = not row.error
    return {
        "machine": row.machine,
        "batch": row.batch,
        "step_ms": round(row.step_time * 1e3, 4) if is_known else None,
        "per_second": None if math.isnan(row.rate) else round(row.rate, 2),
        "busy": round(row.busy, 4) if is_known else None,
        "copies_mb": round(row.copied / 1e6, 3) if is_known else None,
        "peak_mib": None if row.peak is None else round(row.peak / (1 << 20), 2),
        "fits": row.fits,
        "guessed": round(row.guessed, 4) if is_known else None,
        "error": row.error.partition("\n")[0],
    }


def _whole(step: StepEstimate, row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "step_time": step.step_time,
        "peak_memory": step.peak_memory,
        "busy": step.busy,
        "assumptions": list(step.assumptions),
        "findings": findings_json(step.findings),
        **{
            table: [record._asdict() for record in step.rows(table)] for table in ("devices", "memory", "ops")
        },
    }


def _table(step: StepEstimate, table: str, arguments: argparse.Namespace) -> str:
    if table not in TABLES:
        raise UsageError(f"--table {table!r} is unknown; choose one of {', '.join(TABLES)}")
    rows = [record._asdict() for record in step.rows(table)]
    form = "table" if arguments.format == "text" else arguments.format
    return render(rows, form, limit=arguments.limit, full_names=arguments.full_names)
