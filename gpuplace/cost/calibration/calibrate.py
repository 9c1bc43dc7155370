"""``gpuplace calibrate``: measure this machine, so that its times can be predicted.

Small steps of several kinds run here in two ways: traced, which times every kernel by itself, and untraced, as steps
usually run. CPU lines are fitted to the traced kernels, which also correct them op type by op type. The total times of
the untraced steps then determine how to scale starts and work, and the executor's share, such that the predictions of
the same steps match: tracing delays every kernel, and an untraced TensorFlow step computes several nodes at once where
it can, while a gpuplace step is a sequence of calls. Finally, the kernels of each step are corrected by its remaining
error, and everything is fitted once more. Only undisturbed rounds count (``counted_of``).

GPUs on which CuPy runs are timed by a step with many copies of one op, minus a step with one: the host cannot time
single kernels on a GPU's stream.
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
"""Largest factor by which the error of a whole step changes its kernels, in either direction."""
_FIRST_MOVE, _LAST_MOVE = 1.0, 0.02
_LEAST = 1e-9
_ROUND = 0.1
"""Errors below this count little, larger ones in proportion."""
_TRACING, _EXECUTOR, _WAKE_UP, _QUEUE = 1e-7, 3e-7, 5e-5, 2e-6
"""Initial values: seconds that tracing adds to a kernel, that the executor takes for a node, and that a pool thread
takes to wake up and to fetch a node."""
_CALL = np.array([1.0, 0.5, 0.1])
"""Initial values for a call, its extra time if it feeds, and a fed tensor, as fractions of half the shortest step."""
_NUMBERS = (
    *("starts", "work", "less", "executor_seconds", "idle_seconds", "wake_up_seconds", "queue_seconds"),
    *("call_seconds", "feeding_seconds", "feed_seconds"),
)
"""Parameters of the fit, as ``CostModel.corrected`` names them."""
_PULLS = np.array([0.02, 0.1, 0.005, 0.005, 0.005, 0.03, 0.01, *[0.005] * 3])
"""Penalty for moving each parameter away from what traced kernels show."""


class _Measured(NamedTuple):
    step: StepEstimate
    """Its estimate."""
    seconds: float
    """Measured seconds without tracing."""
    kernels: Sequence[Sample] = ()
    """Measured kernels of the traced step, if they are used for the fit."""


def calibrate(
    log: Callable[[str], None] = lambda text: None,
    machine: Machine | None = None,
    clock: Callable[[], float] = time.perf_counter,
    probes: Sequence[Probe] | None = None,
    tensorflow: str | None = None,
) -> CostModel:
    """Measure kernels on this machine and return a cost model; takes three to six minutes.

    Args:
        log: callback for progress messages.
        machine: the machine; None for the local one. GPUs are measured if they are real and sessions use them, which
            they do not if ``use_machine`` or GPUPLACE_MACHINE selects another machine.
        clock: clock in seconds.
        probes: steps to run; None for ``PROBES``.
        tensorflow: Python interpreter with TensorFlow 1.15 or later, to measure its CPU kernels for estimates with
            that release; None to measure gpuplace's own kernels.

    Raises:
        InvalidArgumentError: The interpreter cannot be run, or has no TensorFlow.
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
    reduce = counted_of(tensorflow)
    measured = []
    config = ConfigProto(inter_op_parallelism_threads=os.cpu_count() or 1)  # that of a session here
    for probe in built:
        feeds = {name: value.shape for name, value in probe.feeds.items()}
        step = estimate(probe.graph, probe.fetches, feeds, "1 CPU", config, runner.release, base)
        kernels = _kernels(step, runs[probe.name], reduce) if probe.has_kernels else []
        measured.append(_Measured(step, reduce([run.seconds for run in runs[probe.name]]), kernels))
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
    """Fit the model in three stages: kernels, whole steps, and kernels corrected by the errors of their steps.

    Tracing does not affect all kernels alike: it evicts the data of some from the caches, and some are faster in a
    sequence than by themselves. The remaining error of a step is distributed over its kernels.
    """
    count = len(on_gpus) + sum(len(probe.kernels) for probe in measured)
    owner = "" if tensorflow is None else "TensorFlow's "
    source = f"{count} {owner}kernels measured on this machine"

    def fit(factors: Sequence[float]) -> CostModel:
        samples = [
            sample._replace(seconds=factor * sample.seconds)
            for probe, factor in zip(measured, factors, strict=True)
            for sample in probe.kernels
        ]
        model = CostModel.of_samples([*samples, *on_gpus], base, source, caches_were_cold=tensorflow is None)
        return _corrected(model, measured, in_a_line=tensorflow is None)

    model = fit([1.0] * len(measured))
    errors = [
        probe.seconds / step_time_by(probe.step)(model) if probe.seconds > 0 else 1.0 for probe in measured
    ]
    return fit([min(max(error, 1 / _FURTHEST), _FURTHEST) for error in errors])


def quick(seconds: Sequence[float]) -> float:
    """Return the mean of the fastest third of some times, without the fastest twelfth.

    >>> quick([1.0, 1.2, 1.2, 1.5, 1.6, 1.7, 1.7, 1.8, 1.9, 2.0, 2.5, 9.0])
    1.3
    """
    begin = len(seconds) // 12
    return fmean(sorted(seconds)[begin : max(len(seconds) // 3, begin + 1)])


def counted_of(tensorflow: str | None) -> Callable[[Sequence[float]], float]:
    """Return the reduction of the times of several rounds.

    Disturbances only make a step longer, by up to a half for minutes on a shared machine. Short times are therefore
    those of an idle machine, and reproducible. gpuplace's own steps run in one thread, so their minimum counts.
    TensorFlow's threads wait for each other, and a round in which they hardly do is luck, so its fastest twelfth does
    not count.

    Args:
        tensorflow: as in ``calibrate``.
    """
    return min if tensorflow is None else quick


def _kernels(
    step: StepEstimate, runs: Sequence[ProbeRun], reduce: Callable[[Sequence[float]], float]
) -> list[Sample]:
    """Return the kernel times of traced steps."""
    graph = step.part.graph
    works = {graph.names[node]: (graph.op_type(node), work) for node, work in enumerate(step.works)}
    fused = {  # traces name the last node of a fused kernel; for a normalization, the first
        graph.names[named]: (FUSED_OPS[graph.op_type(first)], step.works[first])
        for node, first in enumerate(step.flow.computed_by.tolist())
        if first >= 0
        for named in (first, node)
    }
    traces = [run.trace for run in runs]
    alone = [run.alone for run in runs if run.alone is not None]
    return [sample for nodes in (works, fused) for sample in samples_of(traces, nodes, {}, reduce, alone)]


def _corrected(model: CostModel, measured: Sequence[_Measured], in_a_line: bool) -> CostModel:
    """Return the model without tracing overhead, and with host times, fitted to whole steps.

    The whole steps are predicted for each choice of ten parameters. A pattern search finds the choice with the smallest
    relative error that is not far from the model.
    """
    timed = [probe for probe in measured if probe.seconds > 0]
    if not timed:
        return model
    steps = [(step_time_by(probe.step), probe.seconds) for probe in timed]
    least = max(min(probe.seconds for probe in timed) / 2, _LEAST)
    call = least * _CALL
    first = np.array([1.0, 1.0, _TRACING, _EXECUTOR, _EXECUTOR, _WAKE_UP, _QUEUE, *call])

    def model_of(logs: np.ndarray) -> CostModel:
        numbers = dict(zip(_NUMBERS, (first * np.exp(logs)).tolist(), strict=True))
        return model.corrected(**numbers, in_a_line=in_a_line)

    def penalized_error(logs: np.ndarray) -> float:
        candidate = model_of(logs)
        errors = np.array([np.log(predicted(candidate) / seconds) for predicted, seconds in steps])
        return float(np.mean(np.sqrt(errors**2 + _ROUND**2)) + np.abs(logs) @ _PULLS)

    return model_of(_minimize(penalized_error, len(first)))


def _minimize(objective: Callable[[np.ndarray], float], count: int) -> np.ndarray:
    """Minimize a function of some parameters by pattern search, starting from zeros.

    Source: Hooke and Jeeves, "Direct search" solution of numerical and statistical problems, Journal of the ACM 8
    (1961): exploratory moves and pattern moves.
    """
    best, move = np.zeros(count), _FIRST_MOVE
    least = objective(best)
    while move > _LAST_MOVE:
        before, begin = least, best
        for direction in np.concatenate((np.eye(count), -np.eye(count))):
            best, least = _along(objective, best, least, move * direction)
        best, least = _along(objective, best, least, best - begin)
        if least > before - 1e-4:
            move /= 2
    return best


def _along(
    objective: Callable[[np.ndarray], float], best: np.ndarray, least: float, step: np.ndarray
) -> tuple[np.ndarray, float]:
    """Repeat a step as long as it lowers the objective."""
    while step.any() and (value := objective(best + step)) < least:
        best, least = best + step, value
    return best, least


def _gpu_samples(index: int, gpu: GPUModel, clock: Callable[[], float]) -> Iterator[Sample]:
    """Time matrix products and memory-bound ops on a real GPU."""
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
    """Return the seconds of one op: the difference between a step with many copies and a step with one, per copy."""
    seconds = []
    for copies in (1, 1 + _COPIES):
        graph = Graph()
        with graph.as_default(), graph.device(f"/gpu:{index}"):
            make = build()
            target = group(*[make() for _ in range(copies)])
        with Session(graph=graph) as session:
            seconds.append(usual(partial(session.run, target), FEWEST_RUNS, OFTEN, clock=clock)[0])
    return max(seconds[1] - seconds[0], 0.0) / _COPIES
