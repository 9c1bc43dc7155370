"""Sweeps of 2,000 placements, of the corpus on machines: one process beside several, and where a scheduler ends.

    python -m tests.benchmarks.bench_sweep [--workers 2] [--repeat 3] [--what place]

Three ways take turns: this process alone; workers that are there already; and processes that are started for it. The
best turn of each counts. What this process spends itself while workers work (client and scheduler are both in it), by
case and by batch, and what dask's scheduler takes for a task that does nothing, say how many workers one scheduler can
feed: a worker wants a batch every half second.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from distributed import Client

import gpuplace
from gpuplace.sweeps import runner
from tests.placer.corpus_files import folder

MACHINES = ("cpu", "1x Tesla K40c", "2x Tesla K20m", "2x Tesla K80", "4x V100", "8x P100", "3x T4")
CASES = 2000
IMAGINED = (10, 100, 1000)
"""Numbers of workers that are only imagined."""
_TASKS = 3000


def graphs() -> list[str]:
    """The files of the corpus, of which there are enough for `CASES` on `MACHINES`."""
    kinds = [(kind, writer) for writer in ("1.15", "2.21") for kind in ("corpus", "functions")]
    found = sorted(str(path) for kind, writer in kinds for path in folder(kind, writer).rglob("*.pb"))
    return found[: -(-CASES // len(MACHINES))]


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """Workers as a sweep starts them, which have loaded the package."""
    with runner.local_client(workers) as client:
        client.run(_load)
        yield client


def _load() -> str:
    import gpuplace.sweeps.evaluation

    return gpuplace.sweeps.evaluation.__name__


def best(repeat: int, *runs: Callable[[], object]) -> list[tuple[float, float]]:
    """Of each way the least seconds of some turns, and seconds of this process's processor in that turn."""
    found: list[list[tuple[float, float]]] = [[] for _ in runs]
    for _ in range(repeat):
        for run, turns in zip(runs, found, strict=True):
            begin, used = time.perf_counter(), time.process_time()
            run()
            turns.append((time.perf_counter() - begin, time.process_time() - used))
    return [min(turns) for turns in found]


def task_seconds(client: Client) -> float:
    """What the scheduler takes for a task that does nothing."""
    ((seconds, _),) = best(3, lambda: client.gather(client.map(_nothing, range(_TASKS), pure=False)))
    return seconds / _TASKS


def _nothing(number: int) -> int:
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--what", choices=("place", "estimate"), default="place")
    arguments = parser.parse_args()
    wanted = graphs()

    def sweep(**options: object) -> object:
        return gpuplace.sweep(wanted, MACHINES, what=arguments.what, releases="2.21", **options)

    cases = len(wanted) * len(MACHINES)
    print(f"{cases:,} cases; load before: {os.getloadavg()[0]:.1f} on {runner.cores()} cores")
    gpuplace.sweep(wanted[:3], MACHINES, what=arguments.what, workers=1)  # what is loaded once
    with cluster(arguments.workers) as client:
        sweep(client=client)
        (alone, alone_used), (warm, used), (started, _) = best(
            arguments.repeat,
            lambda: sweep(workers=1),
            lambda: sweep(client=client),
            lambda: sweep(workers=arguments.workers),
        )
        task = task_seconds(client)
    print(
        f"one process             {alone:7.2f} s   {alone / cases * 1e3:.2f} ms a case; processor {alone_used:.2f} s"
    )
    print(f"{arguments.workers} workers, there before {warm:7.2f} s   {alone / warm:.2f} times as fast")
    print(f"{arguments.workers} workers, started      {started:7.2f} s   {alone / started:.2f} times as fast")
    print(f"client and scheduler    {used:7.2f} s of processor, {used / cases * 1e3:.3f} ms a case")
    print(f"a task that does nothing {task * 1e3:.2f} ms")
    seconds = alone / cases
    batch = runner.BATCH_S
    print("\nworkers   a case a task: busy   batches: busy, by tasks alone and with each case's own share")
    for workers in IMAGINED:
        single = min(1.0, seconds / task / workers)
        by_tasks = min(1.0, batch / task / workers)
        whole = min(1.0, seconds / (used / cases) / workers)
        print(f"{workers:>7}   {single:>19.0%}   {by_tasks:>13.0%}   {whole:.0%}")
    print(
        f"limit     {seconds / task:>19.0f}   {batch / task:>13.0f}   {seconds / (used / cases):.0f} workers"
    )
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
