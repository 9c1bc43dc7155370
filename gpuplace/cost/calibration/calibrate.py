"""Measures this machine, so that its times can be predicted: ``gpuplace calibrate``.

Small steps of several kinds run here, each twice over: traced, which times every kernel by itself, and untraced, as
steps usually run. Lines of the CPU come from the traced kernels, which correct them, type of op by type of op. What the
untraced steps take as a whole then scales starts and the rest apart, and finds the executor's share, until the same
steps, predicted, take what they took: tracing makes every kernel start later, and an untraced step of TensorFlow
computes several nodes at a time where it can, while one of gpuplace is a line of calls. Then the kernels of each step
are corrected by it, and all is fitted once more. Of several rounds those count that nothing disturbed (``counted_of``).

GPUs, where CuPy runs on them, are timed by the same op many times in one step, less once: kernels on a GPU's stream
cannot be timed from the host one by one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

import numpy as np

from gpuplace.cost.calibration.probe_runs import FEWEST_RUNS, OFTEN, ProbeRun, here, with_tensorflow
from gpuplace.cost.calibration.probes import PROBES, Probe, build
from gpuplace.cost.calibration.tensorflow_steps import usual
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import estimate, step_time_by
from gpuplace.cost.samples import Sample, samples_of
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.device.gpu_models import GPUModel
from gpuplace.device.machine import Machine
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import FUSED_OPS
from gpuplace.graph.operation import Tensor
from gpuplace.graphdef.messages import ConfigProto
from gpuplace.kernels.work.record import Product, Work
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.flow.control import group
from gpuplace.ops.math.matrix import matmul
from gpuplace.runtime.memory.process_state import current_machine
from gpuplace.runtime.session.session import Session

_COPIES = 24
_FURTHEST = 2.0
"""What a whole step changes its kernels by, or one over it, at most."""
_FIRST_MOVE, _LAST_MOVE = 1.0, 0.02
_LEAST = 1e-9
_ROUND = 0.1
"""Errors below this count little, and large ones in proportion."""
_TRACING, _EXECUTOR, _WAKE_UP, _QUEUE = 1e-7, 3e-7, 5e-5, 2e-6
"""What is tried first: seconds that tracing adds to a kernel, of the executor for a node, of a thread of the pool that
wakes up or fetches a node."""
_CALL = np.array([1.0, 0.5, 0.1])
"""The same of a call, of what it takes longer that feeds, and of a fed tensor, as parts of half the shortest step."""
_NUMBERS = (
    *("starts", "work", "less", "executor_seconds", "idle_seconds", "wake_up_seconds", "queue_seconds"),
    *("call_seconds", "feeding_seconds", "feed_seconds"),
)
"""What is found, as ``CostModel.corrected`` names it."""
_PULLS = np.array([0.02, 0.1, 0.005, 0.005, 0.005, 0.03, 0.01, *[0.005] * 3])
"""How dear it is to leave what traced kernels show."""


class _Measured(NamedTuple):
    step: StepEstimate
    """What is predicted of it."""
    seconds: float
    """What it took, untraced."""
    kernels: Sequence[Sample] = ()
    """What its kernels took when it was traced, if they are worth fitting to."""


def calibrate(
    log: Callable[[str], None] = lambda text: None,
    machine: Machine | None = None,
    clock: Callable[[], float] = time.perf_counter,
    probes: Sequence[Probe] | None = None,
    tensorflow: str | None = None,
) -> CostModel:
    """Returns a model of this machine, from kernels that are measured here; takes three to six minutes.

    Args:
        log: called with what is being measured.
        machine: the machine; None: the one that is really there. Its GPUs are measured if they are real, and sessions
            use them, which they do not where ``use_machine`` or GPUPLACE_MACHINE names another machine.
        clock: tells seconds.
        probes: what is run; None: ``PROBES``.
        tensorflow: Python interpreter that has TensorFlow, 1.15 or later, whose kernels on the CPU are measured then,
            for estimates with the release that it is; None: gpuplace's own.

    Raises:
        InvalidArgumentError: the interpreter is none, or has no TensorFlow.
    """
    device = Machine.local() if machine is None else machine
    base = CostModel.uncalibrated()
    built = [build(probe) for probe in (PROBES if probes is None else probes)]
    runs: dict[str, list[ProbeRun]] = {probe.name: [] for probe in built}
    with here(clock) if tensorflow is None else with_tensorflow(tensorflow) as runner:
        for number in range(runner.rounds):
            log(f"CPU: {len(built)} kinds of steps, round {number + 1} of {runner.rounds}")
            for probe in built:
                runs[probe.name].append(runner.run(probe))
    counted = counted_of(tensorflow)
    measured = []
    config = ConfigProto(inter_op_parallelism_threads=os.cpu_count() or 1)  # that of a session here
    for probe in built:
        feeds = {name: value.shape for name, value in probe.feeds.items()}
        step = estimate(probe.graph, probe.fetches, feeds, "1 CPU", config, runner.release, base)
        kernels = _kernels(step, runs[probe.name], counted) if probe.has_kernels else []
        measured.append(_Measured(step, counted([found.seconds for found in runs[probe.name]]), kernels))
    on_gpus: list[Sample] = []
    if tensorflow is None and device.is_local and current_machine().is_local:
        for index, gpu in enumerate(dict.fromkeys(gpu.model for gpu in device.gpus)):
            log(f"GPU: {gpu.name}")
            on_gpus += _gpu_samples(index, gpu, clock)
    log("CPU: whole steps")
    return _fitted(base, measured, on_gpus, tensorflow)


def _fitted(
    base: CostModel, measured: Sequence[_Measured], on_gpus: Sequence[Sample], tensorflow: str | None
) -> CostModel:
    """The model by all that was measured: kernels, then whole steps, then kernels as their steps say that they are.

    Tracing does not change all kernels alike: some it takes out of the caches, and some are quicker in a row than each
    of them is found to be. What is left between a step and what is predicted of it is shared out among its kernels.
    """
    count = len(on_gpus) + sum(len(found.kernels) for found in measured)
    whose = "" if tensorflow is None else "TensorFlow's "
    source = f"{count} {whose}kernels measured on this machine"

    def by(factors: Sequence[float]) -> CostModel:
        samples = [
            sample._replace(seconds=factor * sample.seconds)
            for found, factor in zip(measured, factors, strict=True)
            for sample in found.kernels
        ]
        model = CostModel.of_samples([*samples, *on_gpus], base, source, coldly=tensorflow is None)
        return _corrected(model, measured, in_a_line=tensorflow is None)

    model = by([1.0] * len(measured))
    off = [
        found.seconds / step_time_by(found.step)(model) if found.seconds > 0 else 1.0 for found in measured
    ]
    return by([min(max(one, 1 / _FURTHEST), _FURTHEST) for one in off])


def quick(seconds: Sequence[float]) -> float:
    """The mean of the quickest third of the times of rounds, without the quickest twelfth.

    >>> quick([1.0, 1.2, 1.2, 1.5, 1.6, 1.7, 1.7, 1.8, 1.9, 2.0, 2.5, 9.0])
    1.3
    """
    begin = len(seconds) // 12
    return fmean(sorted(seconds)[begin : max(len(seconds) // 3, begin + 1)])


def counted_of(tensorflow: str | None) -> Callable[[Sequence[float]], float]:
    """What counts of the times of rounds.

    All that disturbs a step makes it longer, by up to a half for minutes on a machine that others use: what is quick is
    what a machine takes that does nothing else, and the same an hour later. One thread computes gpuplace's own steps,
    one node after the other: the least counts. The threads of TensorFlow wait for each other, and a round in which they
    hardly do is luck: the quickest twelfth does not count.

    Args:
        tensorflow: as of ``calibrate``.
    """
    return min if tensorflow is None else quick


def _kernels(
    step: StepEstimate, runs: Sequence[ProbeRun], counted: Callable[[Sequence[float]], float]
) -> list[Sample]:
    """What the kernels of traced steps took."""
    graph = step.part.graph
    works = {graph.names[node]: (graph.op_type(node), work) for node, work in enumerate(step.works)}
    fused = {  # traces name the last of several nodes that one kernel computes; of a normalisation, the first
        graph.names[named]: (FUSED_OPS[graph.op_type(first)], step.works[first])
        for node, first in enumerate(step.flow.computed_by.tolist())
        if first >= 0
        for named in (first, node)
    }
    traces = [found.trace for found in runs]
    alone = [found.alone for found in runs if found.alone is not None]
    return [sample for one in (works, fused) for sample in samples_of(traces, one, {}, counted, alone)]


def _corrected(model: CostModel, measured: Sequence[_Measured], in_a_line: bool) -> CostModel:
    """The model without what tracing adds to the starts of kernels, and with the host's part, by whole steps.

    The whole steps are predicted for each choice of ten numbers. Moves along each number, which become smaller, find
    the choice with the least relative error that is not far from the model.
    """
    known = [found for found in measured if found.seconds > 0]
    if not known:
        return model
    steps = [(step_time_by(found.step), found.seconds) for found in known]
    least = max(min(found.seconds for found in known) / 2, _LEAST)
    call = least * _CALL
    first = np.array([1.0, 1.0, _TRACING, _EXECUTOR, _EXECUTOR, _WAKE_UP, _QUEUE, *call])

    def of(logs: np.ndarray) -> CostModel:
        numbers = dict(zip(_NUMBERS, (first * np.exp(logs)).tolist(), strict=True))
        return model.corrected(**numbers, in_a_line=in_a_line)

    def off(logs: np.ndarray) -> float:
        tried = of(logs)
        errors = np.array([np.log(predicted(tried) / seconds) for predicted, seconds in steps])
        return float(np.mean(np.sqrt(errors**2 + _ROUND**2)) + np.abs(logs) @ _PULLS)

    return of(_descended(off, len(first)))


def _descended(off: Callable[[np.ndarray], float], count: int) -> np.ndarray:
    """Where moves come to, from zeros, that lessen it: along one of so many numbers, then along all that helped.

    Source: Hooke and Jeeves, "Direct search" solution of numerical and statistical problems, Journal of the ACM 8
    (1961): exploratory moves and pattern moves.
    """
    best, move = np.zeros(count), _FIRST_MOVE
    least = off(best)
    while move > _LAST_MOVE:
        before, begin = least, best
        for direction in np.concatenate((np.eye(count), -np.eye(count))):
            best, least = _along(off, best, least, move * direction)
        best, least = _along(off, best, least, best - begin)
        if least > before - 1e-4:
            move /= 2
    return best


def _along(
    off: Callable[[np.ndarray], float], best: np.ndarray, least: float, step: np.ndarray
) -> tuple[np.ndarray, float]:
    """As many steps from a place as lessen what is there."""
    while step.any() and (tried := off(best + step)) < least:
        best, least = best + step, tried
    return best, least


def _gpu_samples(index: int, gpu: GPUModel, clock: Callable[[], float]) -> Iterator[Sample]:
    """Products and passes over memory on a real GPU."""
    for m, n, k in ((1024, 1024, 1024), (4096, 4096, 4096), (64, 4096, 4096), (256, 1000, 2048)):
        work = Work(
            "float32",
            2.0 * m * n * k,
            4.0 * (m * k + k * n),
            4.0 * m * n,
            kernel=Product(m, n, k),
            model="product",
        )
        yield Sample("MatMul", work, gpu, _repeated(index, partial(_pair, m, k, n), clock))
    for count in (1 << 20, 1 << 25):
        work = Work("float32", count, 8.0 * count, 4.0 * count)
        yield Sample("Add", work, gpu, _repeated(index, partial(_sum, count), clock))


def _pair(m: int, k: int, n: int) -> Callable[[], Tensor]:
    left, right = zeros([m, k]), zeros([k, n])
    return lambda: matmul(left, right)


def _sum(count: int) -> Callable[[], Tensor]:
    left, right = zeros([count]), zeros([count])
    return lambda: left + right


def _repeated(index: int, build: Callable[[], Callable[[], Tensor]], clock: Callable[[], float]) -> float:
    """Seconds of one op: of a step with many less a step with one, by the number more."""
    taken = []
    for copies in (1, 1 + _COPIES):
        graph = Graph()
        with graph.as_default(), graph.device(f"/gpu:{index}"):
            make = build()
            done = group(*[make() for _ in range(copies)])
        with Session(graph=graph) as session:
            taken.append(usual(partial(session.run, done), FEWEST_RUNS, OFTEN, clock=clock)[0])
    return max(taken[1] - taken[0], 0.0) / _COPIES
