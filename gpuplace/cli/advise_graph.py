"""`gpuplace advise GRAPH`: a recommended placement of a step, with reasons, and the graph that requests it."""

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
"""Options that apply to graphs only."""


def advise_graph(arguments: argparse.Namespace) -> int:
    """Print the recommended placement of a graph, and write the graph that requests it."""
    if arguments.objective == "latency":
        raise UsageError("--objective latency applies to a workload; for a graph use step_time")
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
    advice = advise(
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
        write_file(arguments.output, _written(advice, arguments.output))
    print(json.dumps(_as_json(advice), indent=1) if arguments.format == "json" else advice.explain())
    return 0


def _show(progress: SearchProgress) -> None:
    best = progress.score
    missing = f", {best.missing:.3g} bytes short of memory" if best.missing else ""
    print(
        f"\r\033[K{progress.fraction:4.0%}  best {best.value:g}{missing}", end="", file=sys.stderr, flush=True
    )


def _written(advice: Advice, path: str) -> str | bytes:
    """Return the contents of the output file, by its extension: the graph in binary or as text, or Python code."""
    if path.endswith(".py"):
        return advice.as_python()
    graph = advice.graph_def()
    if path.endswith((".pbtxt", ".txt", ".prototxt")):
        return str(graph)
    return bytes(graph.SerializeToString())


def _as_json(advice: Advice) -> dict[str, Any]:
    before = advice.before
    return {
        "objective": advice.objective,
        "value": advice.value,
        "before": before if before < float("inf") else None,
        "bound": advice.bound,
        "fits": advice.fits,
        "step_time": advice.estimate.step_time,
        "peak_memory": advice.estimate.peak_memory,
        "findings": findings_json(advice.findings),
        "notes": list(advice.notes),
        "moves": [move._asdict() for move in advice.moves],
        "requests": advice.requests,
        "problem": json.loads(advice.to_json()),
    }
