"""How long `import gpuplace` takes beside `import tensorflow` and `import numpy`, in one run.

    python tests/benchmarks/import_time.py [--tensorflow PYTHON] [--rounds N] [--slowest N]

PYTHON is an interpreter that has TensorFlow; by default this one, where it does. Each round starts one fresh
interpreter a statement, the statements in turn, so that whatever else the machine does touches all alike; the
figure is the median with the bare interpreter's start taken off.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """What the interpreters see: this checkout, and compiled modules kept as on any other machine."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}


def seconds(python: str, statement: str) -> float:
    """Wall-clock seconds of a fresh interpreter that runs `statement`."""
    start = time.perf_counter()
    subprocess.run([python, "-c", statement], check=True, env=environment(), capture_output=True)
    return time.perf_counter() - start


def measure(statements: dict[str, tuple[str, str]], rounds: int) -> dict[str, float]:
    """Median seconds of each statement, less its interpreter's own start."""
    pythons = {python for python, _ in statements.values()}
    runs = {label: [] for label in statements} | {python: [] for python in pythons}
    for index in range(rounds + 1):
        for label, (python, statement) in statements.items():
            taken = seconds(python, statement)
            if index:  # the first round fills the file cache
                runs[label].append(taken)
        for python in pythons:
            taken = seconds(python, "pass")
            if index:
                runs[python].append(taken)
    return {
        label: statistics.median(runs[label]) - statistics.median(runs[python])
        for label, (python, _) in statements.items()
    }


def slowest(count: int) -> list[str]:
    """The `count` modules that take most of `import gpuplace` themselves, from -X importtime."""
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import gpuplace"],
        check=True,
        env=environment(),
        capture_output=True,
        text=True,
    )
    rows = [line.removeprefix("import time:").split("|") for line in result.stderr.splitlines()[1:]]
    rows.sort(key=lambda row: int(row[0]), reverse=True)
    return [f"{int(own) / 1000:8.1f} ms  {name.strip()}" for own, _, name in rows[:count]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tensorflow", metavar="PYTHON", help="an interpreter that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="also list the N slowest modules")
    arguments = parser.parse_args()

    statements = {"numpy": (sys.executable, "import numpy"), "gpuplace": (sys.executable, "import gpuplace")}
    tensorflow = arguments.tensorflow or (sys.executable if importlib.util.find_spec("tensorflow") else None)
    if tensorflow:
        statements["tensorflow"] = (tensorflow, "import tensorflow")
    medians = measure(statements, arguments.rounds)
    for label, taken in medians.items():
        ratio = f"  {taken / medians['gpuplace']:6.2f} x gpuplace" if label != "gpuplace" else ""
        print(f"import {label:<12}{taken * 1000:9.1f} ms{ratio}")
    if not tensorflow:
        print("TensorFlow is not installed here: name an interpreter that has it with --tensorflow")
    for line in slowest(arguments.slowest):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
