"""Measures this machine, so that its times can be foretold: ``gpuplace calibrate``.

Small training steps of several kinds run here, each twice over: traced, which times every kernel by itself, and
untraced, as steps usually run. Lines of the CPU and factors of op types come from the traced kernels. What the untraced
steps take as a whole then scales the lines, their starts and the rest apart: tracing makes every node start later, and
an untraced step computes several nodes at a time where it can.

GPUs, where CuPy runs on them, are timed by the same op many times in one step, less once: kernels on a GPU's stream
cannot be timed from the host one by one.

>>> [probe.name for probe in PROBES][:3]
['small layers', 'wide layers', 'convolutions']
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.node_work import step_work
from gpuplace.cost.samples import Sample, samples_of
from gpuplace.cost.shapes.step_shapes import step_shapes
from gpuplace.cost.work import Product, Work
from gpuplace.device.gpu_models import GPUModel
from gpuplace.device.machine import Machine
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Tensor
from gpuplace.graphdef.messages import RunMetadata, RunOptions
from gpuplace.ops.array.constant import placeholder, zeros
from gpuplace.ops.flow.control import group
from gpuplace.ops.gradients.gradients import gradients
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.reduction import reduce_mean, reduce_sum
from gpuplace.ops.math.unary import exp, sigmoid, sqrt, tanh
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.nn.conv import conv2d
from gpuplace.ops.nn.norm import fused_batch_norm
from gpuplace.ops.nn.pool import avg_pool, max_pool
from gpuplace.session.session import Session

__all__ = ["PROBES", "Probe", "calibrate"]

_FEWEST_RUNS, _MOST_RUNS = 5, 40
_SECONDS_OF_RUNS = 0.4
_COPIES = 24
_LEAST_SHARE = 0.3
_FURTHEST, _STEPS, _PULL = 200.0, 121, 0.01
_CHAIN = 400


class Probe(NamedTuple):
    """A graph that is run to measure kernels."""

    name: str
    """What it is like."""
    build: Callable[[], list[Tensor]]
    """Makes the graph in the default one; what is fetched (without its values)."""


def _random(*sizes: int) -> Tensor:
    """Fed numbers: constants would be folded or computed once."""
    return placeholder("float32", sizes)


def _layers(batch: int, width: int, depth: int, activate: Callable[..., Tensor]) -> list[Tensor]:
    inputs, weights = _random(batch, width), [_random(width, width) for _ in range(depth)]
    biases = [_random(width) for _ in range(depth)]
    out = inputs
    for weight, bias in zip(weights, biases):
        out = activate(apply_op("BiasAdd", value=matmul(out, weight), bias=bias).outputs[0])
    loss = reduce_mean(out * out)
    steps = gradients(loss, [*weights, *biases])
    return [variable - 0.01 * step for variable, step in zip([*weights, *biases], steps)]


def _convolutions(batch: int, size: int, channels: int, depth: int, window: int = 3) -> list[Tensor]:
    out = _random(batch, size, size, 3)
    filters = [_random(window, window, 3 if not layer else channels, channels) for layer in range(depth)]
    scale, offset = _random(channels), _random(channels)
    for number, weights in enumerate(filters):
        out = conv2d(out, weights, strides=[1, 1, 1, 1], padding="SAME")
        out = relu(fused_batch_norm(out, scale, offset)[0])
        if number == 0:
            out = max_pool(out, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    last = reduce_sum(avg_pool(out, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"))
    return [weights - 0.01 * step for weights, step in zip(filters, gradients(last, filters))]


def _elementwise(count: int) -> list[Tensor]:
    x, y = _random(count), _random(count)
    first = [x + y, x * y, x - y, x / (y + 3.0), relu(x), tanh(x), sigmoid(x), exp(x * 0.1), sqrt(x * x)]
    return [*first, reduce_sum(x * y), reduce_mean(apply_op("Maximum", x=x, y=y).outputs[0])]


def _products(sizes: Sequence[tuple[int, int, int]]) -> list[Tensor]:
    return [matmul(_random(m, k), _random(k, n)) for m, n, k in sizes]


PROBES = (
    Probe("small layers", lambda: _layers(32, 64, 4, relu)),
    Probe("wide layers", lambda: _layers(128, 512, 3, tanh)),
    Probe("convolutions", lambda: _convolutions(8, 32, 16, 3)),
    Probe("wide convolutions", lambda: _convolutions(4, 28, 64, 2)),
    Probe("small windows", lambda: _convolutions(8, 24, 96, 3, window=1)),
    Probe("large windows", lambda: _convolutions(4, 20, 24, 3, window=5)),
    Probe("few numbers", lambda: _elementwise(1_000)),
    Probe("many numbers", lambda: _elementwise(100_000)),
    Probe("a great many numbers", lambda: _elementwise(2_000_000)),
    Probe(
        "products",
        lambda: _products(
            [
                (1, 1024, 1024),
                (16, 256, 1024),
                (64, 10, 784),
                (256, 256, 256),
                (512, 512, 512),
                (64, 2048, 512),
            ]
        ),
    ),
)
"""What is run; training steps, elementwise ops and products of several sizes."""


class _Measured(NamedTuple):
    samples: list[Sample]
    """Its kernels."""
    seconds: float
    """Of the whole step, untraced."""


def calibrate(
    log: Callable[[str], None] = lambda text: None,
    machine: Machine | None = None,
    clock: Callable[[], float] = time.perf_counter,
    probes: Sequence[Probe] | None = None,
) -> CostModel:
    """Returns a model of this machine, from kernels that are measured here; takes some seconds.

    Args:
        log: called with what is being measured.
        machine: the machine; None: the one that is really there. Its GPUs are measured if they are real.
        clock: tells seconds.
        probes: what is run; None: ``PROBES``.
    """
    here = Machine.local() if machine is None else machine
    base = CostModel.uncalibrated()
    measured = []
    for probe in PROBES if probes is None else probes:
        log(f"CPU: {probe.name}")
        measured.append(_measured(probe, clock))
    samples = [sample for found in measured for sample in found.samples]
    gpus = {gpu.model: None for gpu in here.gpus} if here.is_local else {}
    for index, gpu in enumerate(gpus):
        log(f"GPU: {gpu.name}")
        samples += _gpu_samples(index, gpu, clock)
    source = f"{len(samples)} kernels measured on this machine"
    model = CostModel.of_samples(samples, base, source)
    log("CPU: starting nodes")
    executor_seconds = _executor_seconds(clock)
    return model.scaled(*_scales(model, measured, executor_seconds), executor_seconds)


def _scales(model: CostModel, measured: Sequence[_Measured], executor_seconds: float) -> tuple[float, float]:
    """What starts, and the rest of kernels' times, are multiplied by so that untraced steps take what they took."""
    without = model.scaled(0.0, 1.0, executor_seconds)
    rows = []
    for found in measured:
        works, op_types = (
            [sample.work for sample in found.samples],
            [sample.op_type for sample in found.samples],
        )
        rest = sum(without.kernel_times(works, None, op_types))
        starts = sum(model.kernel_times(works, None, op_types)) - rest
        least = _LEAST_SHARE * found.seconds  # the executor's share of a step is an estimate itself
        rows.append((starts, rest, max(found.seconds - executor_seconds * len(works), least)))
    return scales_of(rows)


def scales_of(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Returns what starts, and the rest, are multiplied by: those that foretell best in proportion, neither far from 1.

    Args:
        rows: of every step the sum of starts, of the rest, and what it took; seconds.
    """
    known = np.array([row for row in rows if row[0] + row[1] > 0 and row[2] > 0]).reshape(-1, 3)
    if not len(known):
        return 1.0, 1.0
    start, rest = 1.0, 1.0
    for furthest in (_FURTHEST, _FURTHEST ** (3 / _STEPS)):  # all over, then around the best
        around = np.geomspace(1 / furthest, furthest, _STEPS)
        starts, rests = start * around, rest * around
        whole = starts[:, None, None] * known[:, 0] + rests[None, :, None] * known[:, 1]
        off = np.abs(np.log(whole / known[:, 2])).mean(axis=2)
        off += _PULL * (np.abs(np.log(starts))[:, None] + np.abs(np.log(rests))[None, :])
        best = np.unravel_index(int(off.argmin()), off.shape)
        start, rest = float(starts[best[0]]), float(rests[best[1]])
    return start, rest


def _feeds(graph: Graph) -> dict[Any, Any]:
    """Numbers for every placeholder, between 0.1 and 1.1, always the same."""
    numbers = np.random.default_rng(14)
    return {
        operation.outputs[0]: (numbers.random(_sizes(operation.outputs[0])) + 0.1).astype(np.float32)
        for operation in graph.get_operations()
        if operation.type == "Placeholder"
    }


def _sizes(tensor: Tensor) -> list[int]:
    return [size or 1 for size in tensor.shape.sizes or ()]


def _measured(probe: Probe, clock: Callable[[], float]) -> _Measured:
    graph = Graph()
    with graph.as_default():
        done = group(*probe.build())
    feeds = _feeds(graph)
    shapes = step_shapes(graph, {tensor.name: value.shape for tensor, value in feeds.items()})
    works = {
        shapes.graph.names[node]: (shapes.graph.op_type(node), work)
        for node, work in enumerate(step_work(shapes))
    }
    traces = []
    with Session(graph=graph) as session:

        def traced() -> None:
            trace = RunMetadata()
            session.run(
                done, feeds, options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=trace
            )
            traces.append(trace)

        seconds = _best(lambda: session.run(done, feeds), clock)
        _best(traced, clock)
    return _Measured(samples_of(traces, works, {}, min), seconds)


def _best(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    """The shortest time of several runs, after one that counts for nothing: others may use the machine meanwhile."""
    run()
    taken: list[float] = []
    while len(taken) < _FEWEST_RUNS or (len(taken) < _MOST_RUNS and sum(taken) < _SECONDS_OF_RUNS):
        started = clock()
        run()
        taken.append(clock() - started)
    return min(taken)


def _executor_seconds(clock: Callable[[], float]) -> float:
    """What a node costs that computes next to nothing, its kernel included."""
    graph = Graph()
    with graph.as_default():
        out = placeholder("float32", [4])
        first = next(iter(graph.get_operations())).outputs[0]
        for _ in range(_CHAIN):
            out = tanh(out)
    feeds = {first: np.ones(4, np.float32)}
    with Session(graph=graph) as session:
        return _best(lambda: session.run(out, feeds), clock) / _CHAIN


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
            taken.append(_best(partial(session.run, done), clock))
    return max(taken[1] - taken[0], 0.0) / _COPIES
