"""The advisor on published workloads: its objectives, bounds and times, beside those of other programs if given.

    python -m tests.benchmarks.bench_workloads FOLDER [--seconds 10] [--seed 0] [--objective NAME] [--match TEXT]
        [--others RESULTS.json] [--splits FOLDER]

FOLDER is searched for workloads as JSON. The objective of each is "throughput" or "latency" by the folder that it is
in, such as `latency-inputs`, unless `--objective` says it. RESULTS.json has what other programs came to:
`{"throughput/LayerGraphs/bert24_inference": {"NAME OF A METHOD": {"value": 17.8, "seconds": 0.1}}}`; a value of null is
no answer. With `--splits` every split is written for other programs to judge.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from gpuplace.advisor.solve import Solution, solve
from gpuplace.advisor.workloads import OBJECTIVES, read_workload, split_of

SAME = 1e-4
"""Objectives that differ by less than this part are the same: other programs print four to six digits."""


def workloads(folder: Path, objective: str | None, match: str) -> list[tuple[str, str, Path]]:
    """(objective, name, file) of every workload below a folder."""
    found = []
    for path in sorted(folder.rglob("*.json")):
        parts = path.relative_to(folder).parts[:-1] or (folder.name,)
        wanted = objective or next(
            (o for o in OBJECTIVES for part in (folder.name, *parts) if part.startswith(o)), None
        )
        name = "/".join([*(part for part in parts if not part.endswith("-inputs")), path.stem])
        if wanted and match in f"{wanted}/{name}" and b'"maxFPGAs"' in path.read_bytes():
            found.append((wanted, name, path))
    return found


def best_of_others(results: dict[str, Any]) -> tuple[str, float, float | None] | None:
    """(method, value, seconds) of the best of other programs."""
    values = [
        (one["value"], method, one.get("seconds"))
        for method, one in results.items()
        if one["value"] is not None
    ]
    if not values:
        return None
    value, method, seconds = min(values, key=lambda found: found[:2])
    return method, value, seconds


def verdict(found: Solution, other: tuple[str, float, float | None] | None) -> str:
    if other is None:
        return ""
    if found.value < other[1] * (1 - SAME):
        return "better"
    return "the same" if found.value <= other[1] * (1 + SAME) else "WORSE"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--objective", choices=OBJECTIVES)
    parser.add_argument("--match", default="", help="only workloads with this in their name")
    parser.add_argument("--others", type=Path)
    parser.add_argument("--splits", type=Path)
    arguments = parser.parse_args()
    others = json.loads(arguments.others.read_text()) if arguments.others else {}
    counts: dict[str, int] = {}
    print(
        "| workload | best of others | by | its seconds | ours | bound | at most above best | CPU seconds | |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for objective, name, path in workloads(arguments.folder, arguments.objective, arguments.match):
        problem = read_workload(path.read_bytes(), objective)
        begin = time.process_time()
        found = solve(problem, objective, seconds=arguments.seconds, seed=arguments.seed)
        used = time.process_time() - begin
        other = best_of_others(others.get(f"{objective}/{name}", {}))
        said = verdict(found, other)
        counts[said] = counts.get(said, 0) + 1
        cells = (
            [f"{other[1]:.6g}", other[0], "-" if other[2] is None else f"{other[2]:.3g}"]
            if other
            else ["-"] * 3
        )
        row = [f"{objective}/{name}", *cells, f"{found.value:.6g}", f"{found.bound:.6g}", f"{found.gap:.1%}"]
        print("| " + " | ".join([*row, f"{used:.1f}", said]) + " |", flush=True)
        if arguments.splits:
            target = arguments.splits / objective / f"{name}.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(split_of(problem, found.device_of)))
    print(", ".join(f"{said or 'alone'}: {count}" for said, count in counts.items()))


if __name__ == "__main__":
    main()
