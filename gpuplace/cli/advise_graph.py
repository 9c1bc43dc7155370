"""`gpuplace advise GRAPH`: a better placement of a step, with its reasons, and the graph that asks for it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.advise import advise
from gpuplace.advisor.steps.step_search import SearchProgress
from gpuplace.cli.estimate_command import feed_of
from gpuplace.cli.setup import UsageError, config_of, machine_of, opened, release_of
from gpuplace.progress import is_seen
from gpuplace.views.tables.findings import findings_json
from gpuplace.writing import write_file

FOR_GRAPHS = (
    "machine", "fetch", "feed", "batch", "keep", "release", "config", "soft", "visible_devices", "tags", "signature",
    "function", "whole_graph", "clear_devices",
)  # fmt: skip
"""Options that only a graph has."""


def advise_graph(arguments: argparse.Namespace) -> int:
    """Prints what is advised for a graph, and writes the graph that asks for it."""
    if arguments.objective == "latency":
        raise UsageError("--objective latency: of a workload; of a graph there is step_time")
    from gpuplace.runtime.session.place import place

    model, part = opened(arguments, arguments.graph)
    config, release = config_of(arguments), release_of(arguments, model)
    placement = place(
        model,
        machine_of(arguments.machine),
        config,
        release,
        "keep",
        visible_devices=arguments.visible_devices,
        **model.options(part),
    )
    is_shown = is_seen()
    found = advise(
        placement,
        arguments.fetch or None,
        dict(map(feed_of, arguments.feed or ())),
        batch=arguments.batch,
        whole_graph=arguments.whole_graph,
        objective=arguments.objective or "step_time",
        seconds=arguments.seconds,
        seed=arguments.seed,
        keep=arguments.keep,
        config=config,
        release=release,
        steps=arguments.steps,
        progress=_show if is_shown else None,
    )
    if is_shown:
        print("\r\033[K", end="", file=sys.stderr)
    if arguments.output != "-":
        write_file(arguments.output, _written(found, arguments.output))
    print(json.dumps(_as_json(found), indent=1) if arguments.format == "json" else found.explain())
    return 0


def _show(progress: SearchProgress) -> None:
    best = progress.score
    missing = f", {best.missing:.3g} bytes of memory missing" if best.missing else ""
    print(
        f"\r\033[K{progress.fraction:4.0%}  best {best.value:g}{missing}", end="", file=sys.stderr, flush=True
    )


def _written(found: Advice, path: str) -> str | bytes:
    """What is written, by the ending of the file: the graph as a message or as text, or Python."""
    if path.endswith(".py"):
        return found.as_python()
    made = found.graph_def()
    if path.endswith((".pbtxt", ".txt", ".prototxt")):
        return str(made)
    return bytes(made.SerializeToString())


def _as_json(found: Advice) -> dict[str, Any]:
    before = found.before
    return {
        "objective": found.objective,
        "value": found.value,
        "before": before if before < float("inf") else None,
        "bound": found.bound,
        "fits": found.fits,
        "step_time": found.estimate.step_time,
        "peak_memory": found.estimate.peak_memory,
        "findings": findings_json(found.findings),
        "notes": list(found.notes),
        "moves": [move._asdict() for move in found.moves],
        "requests": found.requests,
        "problem": json.loads(found.to_json()),
    }
