"""`gpuplace sweep`: many graphs, machines and configs, on all cores or a dask cluster; one row per case."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from typing import Any

from gpuplace.cli.estimate_command import feed_of, trip_of
from gpuplace.cli.output import render
from gpuplace.cli.setup import UsageError, config_of, machine_of
from gpuplace.sweeps.evaluation import OPTIONS, Row
from gpuplace.sweeps.sweep import sweep as swept

FORMATS = ("table", "json", "csv", "jsonl")
"""``jsonl`` prints one line per row as the rows finish, in any order."""
_NOT_IN_TABLES = ("case", "peak_memory")


def sweep(arguments: argparse.Namespace) -> int:
    """Print a row for each case: JSON lines as they finish, other formats in order at the end."""
    for text in arguments.machines or ():
        machine_of(text)
    is_stream = arguments.format == "jsonl"
    rows: list[Row] = []

    def add_row(row: Row) -> None:
        rows.append({name: _finite(value) for name, value in row.items()})
        if is_stream:
            print(json.dumps(rows.pop()), flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # about an early end, which is reported below
        try:
            frame = swept(
                arguments.graphs,
                arguments.machines,
                _configs(arguments),
                arguments.what,
                arguments.scheduler,
                releases=arguments.releases,
                resume=arguments.resume,
                on_row=add_row,
                workers=arguments.workers,
                visible_devices=arguments.visible_devices,
                **_options(arguments),
            )
        except (ImportError, ValueError) as error:
            raise UsageError(str(error)) from None
    if not is_stream:
        print(_printed(sorted(rows, key=lambda row: row["case"]), arguments))
    if len(frame) < frame.attrs["cases"]:
        progress = f"stopped after {len(frame):,} of {frame.attrs['cases']:,} cases"
        continuation = "; run the same command again to continue" if arguments.resume else ""
        print(f"gpuplace sweep: {progress}{continuation}", file=sys.stderr)
        return 130
    return 1 if len(frame) and frame["error"].notna().all() else 0


def _configs(arguments: argparse.Namespace) -> list[Any]:
    """Return the ConfigProto of each --config, with --soft applied."""
    configs = []
    for path in arguments.configs or (None,):
        arguments.config = path
        configs.append(config_of(arguments))
    return configs


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    options = {
        "tags": arguments.tags,
        "signature": arguments.signature,
        "function": arguments.function,
        "clear_devices": arguments.clear_devices or None,
        "fetches": arguments.fetch,
        "feeds": dict(map(feed_of, arguments.feed)) if arguments.feed else None,
        "trip_counts": dict(map(trip_of, arguments.trips)) if arguments.trips else None,
        "objective": arguments.objective,
        "seconds": arguments.seconds,
        "steps": arguments.steps,
        "seed": arguments.seed,
        "keep": arguments.keep,
    }
    set_options = {name: value for name, value in options.items() if value is not None}
    for name in set_options:
        if name not in OPTIONS[arguments.what]:
            option = {"fetches": "fetch", "feeds": "feed", "trip_counts": "trips"}.get(name, name)
            allowed = " or ".join(what for what, names in OPTIONS.items() if name in names)
            raise UsageError(f"--{option} requires --what {allowed}")
    return set_options


def _finite(value: object) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _printed(rows: list[Row], arguments: argparse.Namespace) -> str:
    form = arguments.format
    limit, full_names = arguments.limit, arguments.full_names
    if form == "json":
        return render(rows, form, limit=limit)
    if form == "csv":
        shown = [
            {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
            for row in rows
        ]
        return render(shown, form, limit=limit)
    columns = [name for name in (rows[0] if rows else ()) if name not in _NOT_IN_TABLES]
    for name in ("config", "error", "message"):
        if not any(row[name] for row in rows) and name in columns:
            columns.remove(name)
    return render([{name: _cell(row[name]) for name in columns} for row in rows], form, columns,
                  limit=limit, full_names=full_names)  # fmt: skip


def _cell(value: object) -> Any:
    """Return a value as a table shows it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{count} on {device}" for device, count in value.items())
    return value.partition("\n")[0] if isinstance(value, str) else value
