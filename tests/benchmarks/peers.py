"""Figures of one library in a process of its own, so that libraries and their threads do not meet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
