"""Predicted training rates beside those that TensorFlow published in 2017, on Google's machine with Tesla K80s.

``python -m tests.benchmarks.bench_step_estimates`` prints images a second for 1, 2, 4 and 8 GPUs: published, predicted,
and what a bare roofline predicts: every kernel of the busiest GPU at the full rate of the data sheet, be it of its
arithmetic or of its memory, and copies for nothing. With ``--tensorflow PYTHON --estimator FILE`` also what the
estimator of TensorFlow itself predicts (Grappler's virtual cluster; the file is a program that takes ``GRAPH --fetch
NAME --gpus N --gpu capability,MHz,multiprocessors,GiB,GB/s`` and prints JSON with ``step_time``). In brackets how far
each is off. Nothing in the model is fitted to these rates.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import gpuplace as tf
from gpuplace.cost.estimate import estimate
from gpuplace.cost.step_estimate import StepEstimate
from tests.benchmarks.published_nets import BATCH, PUBLISHED, training_step

RELEASE = "1.0"
"""Of TensorFlow, when the rates were measured: Grappler did not yet take out what nobody takes."""


def predicted(net: str, gpus: int, machine: str = "Tesla K80") -> tuple[float, StepEstimate, Any]:
    """The seconds that predicting took, the estimate, and the operation that is run."""
    with tf.Graph().as_default() as graph:
        step = training_step(tf, net, gpus)
    started = time.perf_counter()
    config = tf.ConfigProto(allow_soft_placement=True)
    found = estimate(graph, step, machine=f"{gpus}x {machine}", config=config, release=RELEASE)
    return time.perf_counter() - started, found, step


def roofline_seconds(step: StepEstimate) -> float:
    """The step of a bare roofline: the busiest GPU's kernels at the full rate of the data sheet."""
    busy = [0.0] * len(step.device_names)
    works = dict(zip(step.part.graph.names, step.works, strict=True))
    places = {name: number for number, name in enumerate(step.device_names)}
    for row in step.rows("nodes"):
        place = places[row.device]
        gpu, work = step.machinery.models[place], works[row.name]
        if gpu is not None:
            busy[place] += row.runs * max(work.flops / gpu.fp32_flops, work.nbytes / gpu.memory_bandwidth)
    return max(busy)


def tensorflow_seconds(step: StepEstimate, fetch: str, python: str, estimator: str) -> float:
    """The step as TensorFlow's own estimator predicts it, of the graph with its devices written into it.

    Args:
        step: the step, placed.
        fetch: the operation that is run.
        python: an interpreter that has TensorFlow.
        estimator: the program.
    """
    gpus = [model for model in step.machinery.models if model is not None]
    gpu = gpus[0]
    capability = "{}.{}".format(*gpu.compute_capability)
    rates = (capability, round(gpu.clock_hz / 1e6), gpu.sm_count, gpu.memory_bytes / 2**30)
    graph_def = step.placement.graph.source.as_graph_def()
    for node in graph_def.node:
        node.device = step.placement[node.name]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.pb")
        with open(path, "wb") as stream:
            stream.write(graph_def.SerializeToString())
        described = ",".join(map(str, (*rates, gpu.memory_bandwidth / 1e9)))
        given = ("--fetch", fetch, "--gpus", str(len(gpus)), "--gpu", described)
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        answer = subprocess.run(
            (python, estimator, path, *given), stdout=subprocess.PIPE, check=True, cwd=folder, env=environ
        )
    return float(json.loads(answer.stdout)["step_time"])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--net", action="append", choices=list(PUBLISHED))
    parser.add_argument("--gpus", type=int, action="append")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--tensorflow", metavar="PYTHON", help="an interpreter that has TensorFlow")
    parser.add_argument("--estimator", metavar="FILE", help="what asks TensorFlow's estimator")
    arguments = parser.parse_args()
    if bool(arguments.tensorflow) != bool(arguments.estimator):
        parser.error("--tensorflow and --estimator belong together")
    ways = ["predicted", "roofline", *(["TensorFlow's"] if arguments.tensorflow else [])]
    errors: dict[str, list[float]] = {way: [] for way in ways}
    columns = "".join(f"{way:>18}" for way in ways)
    print(f"{'net':<14}{'GPUs':>5}{'published':>11}{columns}{'predicting s':>15}{'GPU busy':>10}")
    for net in arguments.net or PUBLISHED:
        for gpus, published in PUBLISHED[net].items():
            if arguments.gpus and gpus not in arguments.gpus:
                continue
            elapsed, step, op = predicted(net, gpus)
            seconds = [step.step_time, roofline_seconds(step)]
            if arguments.tensorflow:
                seconds.append(tensorflow_seconds(step, op.name, arguments.tensorflow, arguments.estimator))
            cells = ""
            for way, taken in zip(ways, seconds, strict=True):
                rate = BATCH[net] * gpus / taken
                off = rate / published - 1
                errors[way].append(abs(off))
                cells += f"{rate:>10.1f} ({off:>+5.0%})"
            busy = max(step.busy.values()) / step.step_time
            print(f"{net:<14}{gpus:>5}{published:>11.1f}{cells}{elapsed:>15.2f}{busy:>10.0%}", flush=True)
            if arguments.explain:
                _explain(step)
    _sum_up(errors)


def _explain(step: StepEstimate) -> None:
    print(step.explain()[:3000])
    for row in step.rows("ops")[:14]:
        print(f"    {row.op:<28}{row.device_type:<5}{row.nodes:>6}{row.time * 1e3:>10.2f} ms {row.model}")


def _sum_up(errors: dict[str, Sequence[float]]) -> None:
    for way, found in errors.items():
        if found:
            print(f"{way}: mean |error| {sum(found) / len(found):.1%}, worst {max(found):.1%}")


if __name__ == "__main__":
    main()
