"""`gpuplace advise`: a better placement of a graph, or split of a workload, and how far from the best it can be."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from gpuplace.advisor.search import Progress, Solution, solve
from gpuplace.advisor.workloads import read_workload, split_of
from gpuplace.cli.advise_graph import FOR_GRAPHS, advise_graph
from gpuplace.cli.output import write
from gpuplace.cli.setup import UsageError
from gpuplace.progress import is_seen
from gpuplace.views.tables.text import table_text

_WORDS = {"throughput": "largest load", "latency": "latency"}


def advise(arguments: argparse.Namespace) -> int:
    """Advises on a graph; or splits the workload of --problem and prints the split, or writes it."""
    if (arguments.graph is None) == (arguments.problem is None):
        raise UsageError("a GRAPH, or --problem FILE: one of them")
    if arguments.graph is not None:
        return advise_graph(arguments)
    return _advise_workload(arguments)


def _advise_workload(arguments: argparse.Namespace) -> int:
    given = [name for name in FOR_GRAPHS if getattr(arguments, name) not in (None, False)]
    if given:
        raise UsageError(f"--{given[0].replace('_', '-')}: of a graph; --problem is a workload")
    objective = arguments.objective or "throughput"
    if objective not in _WORDS:
        raise UsageError(f"--objective {objective}: of a graph; a workload has {' or '.join(_WORDS)}")
    try:
        data = sys.stdin.buffer.read() if arguments.problem == "-" else Path(arguments.problem).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {arguments.problem}: {error.strerror}") from None
    problem = read_workload(data, objective)
    is_shown = is_seen()
    found = solve(
        problem,
        objective,
        seconds=arguments.seconds,
        steps=arguments.steps,
        seed=arguments.seed,
        progress=_show if is_shown else None,
    )
    if is_shown:
        print("\r\033[K", end="", file=sys.stderr)
    write(json.dumps(_as_json(found)) if arguments.format == "json" else _text(found), arguments.output)
    return 0


def _show(progress: Progress) -> None:
    print(f"\r{progress.fraction:4.0%}  best {progress.objective:g}", end="", file=sys.stderr, flush=True)


def _as_json(found: Solution) -> dict[str, Any]:
    name = {"throughput": "maxLoad", "latency": "totalLatency"}[found.objective]
    return {name: found.value, "bound": found.bound, **split_of(found.problem, found.device_of)}


def _text(found: Solution) -> str:
    problem = found.problem
    rows = []
    for at, device in enumerate(problem.devices):
        nodes = [node for node, one in enumerate(found.device_of) if one == at]
        work, size = problem.seconds[nodes, device.kind].sum(), problem.sizes[nodes].sum()
        room = "-" if math.isinf(device.memory) else f"{device.memory:g}"
        rows.append((device.name, len(nodes), f"{work:g}", f"{size:g}", room))
    return "\n".join([table_text(("device", "nodes", "work", "bytes", "room"), rows), verdict(found)])


def verdict(found: Solution) -> str:
    """What was found, and how good it is, in a sentence.

    Args:
        found: of a search.
    """
    what = f"{_WORDS[found.objective]} {found.value:g}"
    if found.gap == 0:
        said = "the best possible"
    elif found.gap < 1:
        said = f"within {found.gap:.1%} of the best possible (no split is below {found.bound:g})"
    else:
        said = f"no split is below {found.bound:g}"
    return f"{what}: {said}" + ("; stopped early" if found.was_stopped else "")
