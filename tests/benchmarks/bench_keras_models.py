"""Estimates of exported Keras models, asked for as a user would: the machine and the batch, and no other option.

    python tests/oracle/keras_models.py FOLDER                      # with TensorFlow 2.21: the models and their facts
    python -m tests.benchmarks.bench_keras_models FOLDER [NAME ...] # without it

Each model is estimated in four ways: ``gpuplace.estimate(path, machine=...)``, with ``batch=32``, with the signature's
own names in ``feeds`` and ``fetches``, and by ``gpuplace estimate PATH --machine ... --batch 32``. A model passes if

- its operations per example are 0.95 to 1.25 times those that TensorFlow's profiler counts on the frozen graph. Einsum
  nodes, which the profiler skips, are added to its count; a model with loops is compared with the unrolled model;
- the predicted time is at least that work at the GPU's peak rate, and at most 25 times that. A loop starts every kernel
  of every trip from the host, which no peak rate bounds: models with loops have no upper limit;
- at most 5 % of the time is guessed, and the release is the one that wrote the model;
- all four answer, and the last three with the same step time.

Where a model leaves more open than the batch (the length of a text, the size of an image), the last two are fed the
shape that was counted, and judge the model; the others have to answer anyway. The exit status is 1 if a model fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpuplace as tf
from gpuplace.device.gpu_models import find_model

GPU = "V100"
MACHINE = f"1x {GPU}"
BATCH = 32
RELEASE = "2.21"
FLOPS_RATIO = 0.95, 1.25
TIME_RATIO = 1.0, 25.0
MOST_GUESSED = 0.05
SAME_TIME = 1e-6
"""Relative difference between two times of one step that counts as none: JSON rounds."""


@dataclass(frozen=True)
class Expected:
    """What TensorFlow says of a model."""

    example: Mapping[str, tuple[int, ...]]
    """Input name -> shape of one example, its first size 1."""
    is_open: bool
    """Whether sizes besides the batch are open."""
    outputs: tuple[str, ...]
    """Names of the signature's outputs."""
    flops: float
    """Operations of one example."""
    has_loops: bool
    """Whether the model has while loops."""

    @staticmethod
    def of(facts: Mapping[str, Any]) -> Expected:
        """Read the facts of one model.

        Args:
            facts: an entry of ``facts.json``.
        """
        prefix = "" if facts["unrolled_flops"] is None else "unrolled_"
        return Expected(
            {name: tuple(sizes) for name, sizes in facts["example"].items()},
            any(None in spec["shape"][1:] for spec in facts["inputs"].values()),
            tuple(facts["outputs"]),
            facts[f"{prefix}flops"] + facts[f"{prefix}einsum_flops"],
            facts["loops"] > 0,
        )

    def seconds(self) -> float:
        """The time of a batch at the GPU's peak rate."""
        return self.flops * BATCH / find_model(GPU).fp32_flops


def by_names(path: str, expected: Expected) -> tf.StepEstimate:
    """Estimate a batch by the names of the signature.

    Args:
        path: the SavedModel.
        expected: the model's facts.
    """
    feeds = {name: (BATCH, *sizes[1:]) for name, sizes in expected.example.items()}
    return tf.estimate(path, fetches=list(expected.outputs), feeds=feeds, machine=MACHINE)


def by_command(path: str, expected: Expected) -> dict[str, Any]:
    """Estimate a batch on the command line.

    Args:
        path: the SavedModel.
        expected: the model's facts.

    Raises:
        CalledProcessError: the command failed.
    """
    command = [sys.executable, "-m", "gpuplace", "estimate", path, "--machine", MACHINE]
    command += ["--batch", str(BATCH), "--format", "json"]
    for name, sizes in expected.example.items() if expected.is_open else ():
        command += ["--feed", f"{name}=?," + ",".join(map(str, sizes[1:]))]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(answer)


def problems(path: str, expected: Expected) -> tuple[str, list[str]]:
    """Estimate one model in all ways; return the figures of its row and the names of what is wrong.

    Args:
        path: the SavedModel.
        expected: the model's facts.
    """
    found: list[str] = []
    plain = _answer(found, "plain call", lambda: tf.estimate(path, machine=MACHINE))
    if plain is not None and not expected.is_open and _flops(plain) < FLOPS_RATIO[0] * expected.flops:
        found.append("plain call: fewer operations than one example has")
    batch = _answer(found, "batch", lambda: tf.estimate(path, machine=MACHINE, batch=BATCH))
    named = _answer(found, "names", lambda: by_names(path, expected))
    judged = named if expected.is_open else batch
    if judged is None:
        return f"{'-':>6} {'-':>8} {'-':>8} {'-':>8}", found
    flops = _flops(judged) / BATCH / expected.flops
    time = judged.step_time / expected.seconds()
    if judged.placement.release != RELEASE:
        found.append(f"placed as release {judged.placement.release}")
    if not FLOPS_RATIO[0] <= flops <= FLOPS_RATIO[1]:
        found.append("operations")
    if time < TIME_RATIO[0] or (time > TIME_RATIO[1] and not expected.has_loops):
        found.append("time")
    if judged.guessed > MOST_GUESSED:
        found.append("guessed")
    if named is not None and named.step_time != judged.step_time:
        found.append(f"names: {named.step_time / judged.step_time:.3f} times the time")
    try:
        commanded = by_command(path, expected)
        if commanded["batch"] != BATCH or abs(commanded["step_time"] / judged.step_time - 1) > SAME_TIME:
            found.append(f"command: {commanded['step_time']} s for a batch of {commanded['batch']}")
    except subprocess.CalledProcessError as error:
        found.append(f"command: {error.stderr.strip().splitlines()[0]}")
    return f"{len(judged.running):6} {flops:8.3f} {time:8.2f} {judged.guessed:8.1%}", found


def _answer(found: list[str], way: str, ask: Callable[[], tf.StepEstimate]) -> tf.StepEstimate | None:
    """An estimate; None, and a problem more, where there is an error instead."""
    try:
        return ask()
    except (tf.errors.OpError, ValueError, TypeError, KeyError) as error:
        found.append(f"{way}: {(str(error).splitlines() or [type(error).__name__])[0]}")
        return None


def _flops(step: tf.StepEstimate) -> float:
    return sum(row.flops for row in step.rows("nodes"))


def main() -> int:
    """Print a row a model and a summary; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args()
    facts = json.loads((asked.folder / "facts.json").read_text())
    failed = 0
    names = asked.names or list(facts)
    print(f"{'model':24} {'nodes':>6} {'flops/TF':>8} {'t/bound':>8} {'guessed':>8}  problems")
    for name in names:
        figures, found = problems(str(asked.folder / name), Expected.of(facts[name]))
        failed += bool(found)
        print(f"{name:24} {figures}  {'; '.join(found) or 'none'}", flush=True)
    print(f"{len(names) - failed} of {len(names)} models pass, on {MACHINE}, batch {BATCH}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
