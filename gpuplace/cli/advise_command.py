"""`gpuplace advise`: recommend a placement of a graph, or a split of a workload, with a bound on the best one."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from gpuplace.advisor.solve import Progress, Solution, solve
from gpuplace.advisor.workloads import read_workload, split_of
from gpuplace.cli.advise_graph import FOR_GRAPHS, advise_graph
from gpuplace.cli.output import write
from gpuplace.cli.setup import UsageError
from gpuplace.progress import is_seen
from gpuplace.views.tables.text import table_text

_WORDS = {"throughput": "largest load", "latency": "latency"}


def advise(arguments: argparse.Namespace) -> int:
    """Recommend a placement of a graph, or split the workload of --problem and print or write the split."""
    if (arguments.graph is None) == (arguments.problem is None):
        raise UsageError("give either a GRAPH or --problem FILE")
    if arguments.graph is not None:
        return advise_graph(arguments)
    return _advise_workload(arguments)


def _advise_workload(arguments: argparse.Namespace) -> int:
    graph_options = [name for name in FOR_GRAPHS if getattr(arguments, name) not in (None, False)]
    if graph_options:
        option = graph_options[0].replace("_", "-")
        raise UsageError(f"--{option} applies to a graph, not to the workload of --problem")
    objective = arguments.objective or "throughput"
    if objective not in _WORDS:
        raise UsageError(
            f"--objective {objective} applies to a graph; for a workload use {' or '.join(_WORDS)}"
        )
    try:
        data = sys.stdin.buffer.read() if arguments.problem == "-" else Path(arguments.problem).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {arguments.problem}: {error.strerror}") from None
    problem = read_workload(data, objective)
    is_shown = is_seen()
    solution = solve(
        problem,
        objective,
        seconds=arguments.seconds,
        steps=arguments.steps,
        seed=arguments.seed,
        progress=_show if is_shown else None,
    )
    if is_shown:
        print("\r\033[K", end="", file=sys.stderr)
    write(json.dumps(_as_json(solution)) if arguments.format == "json" else _text(solution), arguments.output)
    return 0


def _show(progress: Progress) -> None:
    print(f"\r{progress.fraction:4.0%}  best {progress.objective:g}", end="", file=sys.stderr, flush=True)


def _as_json(solution: Solution) -> dict[str, Any]:
    name = {"throughput": "maxLoad", "latency": "totalLatency"}[solution.objective]
    return {name: solution.value, "bound": solution.bound, **split_of(solution.problem, solution.device_of)}


def _text(solution: Solution) -> str:
    problem = solution.problem
    rows = []
    for index, device in enumerate(problem.devices):
        nodes = [node for node, assigned in enumerate(solution.device_of) if assigned == index]
        work, size = problem.seconds[nodes, device.kind].sum(), problem.sizes[nodes].sum()
        capacity = "-" if math.isinf(device.memory) else f"{device.memory:g}"
        rows.append((device.name, len(nodes), f"{work:g}", f"{size:g}", capacity))
    return "\n".join([table_text(("device", "nodes", "work", "bytes", "capacity"), rows), verdict(solution)])


def verdict(solution: Solution) -> str:
    """Return one sentence about a solution and its distance from the best one.

    Args:
        solution: the result of a search.
    """
    objective = f"{_WORDS[solution.objective]} {solution.value:g}"
    if solution.gap == 0:
        quality = "the best possible"
    elif solution.gap < 1:
        quality = f"within {solution.gap:.1%} of the best possible (no split is below {solution.bound:g})"
    else:
        quality = f"no split is below {solution.bound:g}"
    return f"{objective}: {quality}" + ("; stopped early" if solution.was_stopped else "")
