"""Figures of one library in a process of its own, so that libraries and their threads do not meet."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    if threads is not None:
        environment |= dict.fromkeys(_THREADS, str(threads))
    command = [python, "-m", f"tests.benchmarks.{benchmark}", *words]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


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
