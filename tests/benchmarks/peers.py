"""Figures of one library in a process of its own, so that libraries and their threads do not meet."""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TENSORFLOW_VARIABLE = "GPUPLACE_TENSORFLOW_PYTHON"
"""Environment variable: the Python that has TensorFlow."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")


def in_process(python: str, benchmark: str, *words: str, threads: int | None = None) -> Any:
    """What `python -m tests.benchmarks.BENCHMARK WORDS` prints last, as JSON; ends the program where that fails.

    Args:
        python: the interpreter.
        benchmark: name of the module.
        words: its arguments.
        threads: how many each library may use in an operation; its own choice where None.
    """
    command = [python, "-m", f"tests.benchmarks.{benchmark}", *words]
    done = subprocess.run(command, env=_environment(threads), cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _environment(threads: int | None) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return environment if threads is None else environment | dict.fromkeys(_THREADS, str(threads))


def in_turns(
    pythons: Mapping[str, str], benchmark: str, words: list[str], repeat: int, threads: int | None = None
) -> dict[str, list[dict[str, float]]]:
    """For each library the figures of each turn, in which one library is measured after the other.

    Args:
        pythons: name of each library to the interpreter that has it.
        benchmark: name of the module, which takes `--measure LIBRARY --only WORD ...`.
        words: the cases to measure; all where there are none.
        repeat: number of turns.
        threads: as in `in_process`.
    """
    turns: dict[str, list[dict[str, float]]] = {library: [] for library in pythons}
    for _ in range(repeat):
        for library, python in pythons.items():
            arguments = ("--measure", library, "--only", *words)
            turns[library].append(in_process(python, benchmark, *arguments, threads=threads))
    return turns


def medians(turns: Mapping[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """For each library the median of each case over the turns."""
    return {
        library: {name: statistics.median(turn[name] for turn in found) for name in found[0]}
        for library, found in turns.items()
    }


class Least(NamedTuple):
    """The least that a call took, in microseconds."""

    wall: float = math.inf
    cpu: float = math.inf
    """Of all threads of the process, on average over a turn: it is not counted exactly at the end of a single call."""
    median: float = math.inf
    """Of the calls of a turn."""

    def and_of(self, other: Least) -> Least:
        """The least of two turns."""
        return Least(*map(min, self, other))


def serve(calls: Mapping[str, Callable[[], Any]]) -> None:
    """Measures calls as ``interleaved`` asks for it; what they print goes where errors go.

    Args:
        calls: by the names of the cases.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps(list(calls)), file=answers, flush=True)
    for line in sys.stdin:
        name, seconds = json.loads(line)
        print(json.dumps(least(calls[name], seconds)), file=answers, flush=True)


def least(call: Callable[[], Any], seconds: float, fewest: int = 1) -> Least:
    """Measures a call again and again for so long, and at least so often."""
    call()
    taken: list[float] = []
    cpu, end = time.process_time(), time.perf_counter() + seconds
    while len(taken) < fewest or time.perf_counter() < end:
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    mean_cpu = (time.process_time() - cpu) / len(taken)
    return Least(1e6 * min(taken), 1e6 * mean_cpu, 1e6 * statistics.median(taken))


@contextlib.contextmanager
def interleaving(
    pythons: Mapping[str, str], benchmark: str, words: list[str], seconds: float = 0.15
) -> Iterator[Callable[[], dict[str, dict[str, Least]]]]:
    """A call that measures a round, and returns what each library took for each case.

    All libraries stay loaded, each in a process of its own. In a round, each case is measured in one library right
    after the other. So on a machine with other work to do, which slows down now this and now that, all of them get
    quiet moments, and a ratio of what they took at least means something even where a time does not.

    Args:
        pythons: name of each library to the interpreter that has it.
        benchmark: name of the module, which takes `--measure LIBRARY --only WORD ...` and calls ``serve``.
        words: the cases to measure; all where there are none.
        seconds: that a case of a library takes in a round.
    """
    with contextlib.ExitStack() as stack:
        workers = {}
        for library, python in pythons.items():
            command = [python, "-m", f"tests.benchmarks.{benchmark}", "--measure", library, "--only", *words]
            workers[library] = stack.enter_context(
                subprocess.Popen(
                    command,
                    env=_environment(None),
                    cwd=ROOT,
                    text=True,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
            )

        def hear(library: str) -> Any:
            line = workers[library].stdout.readline()
            return json.loads(line) if line else sys.exit(f"{library} failed")

        cases = {library: hear(library) for library in workers}

        def measure() -> dict[str, dict[str, Least]]:
            turn: dict[str, dict[str, Least]] = {library: {} for library in workers}
            for name in next(iter(cases.values())):
                for library, told in turn.items():
                    print(json.dumps([name, seconds]), file=workers[library].stdin, flush=True)
                    told[name] = Least(*hear(library))
            return turn

        yield measure


def interleaved(
    pythons: Mapping[str, str], benchmark: str, words: list[str], rounds: int, seconds: float = 0.15
) -> dict[str, dict[str, Least]]:
    """The least of each case for each library; see ``interleaving``.

    Args:
        pythons: name of each library to the interpreter that has it.
        benchmark: name of the module, which takes `--measure LIBRARY --only WORD ...` and calls ``serve``.
        words: the cases to measure; all where there are none.
        rounds: how many.
        seconds: that a case of a library takes in a round.
    """
    found: dict[str, dict[str, Least]] = {library: {} for library in pythons}
    with interleaving(pythons, benchmark, words, seconds) as measure:
        for _ in range(rounds):
            for library, turn in measure().items():
                for name, took in turn.items():
                    found[library][name] = took.and_of(found[library].get(name, Least()))
    return found
