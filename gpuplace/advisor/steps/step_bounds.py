"""What no placement of a step can be below: its longest way, and its work divided among all devices.

Copies cost nothing here and every node has the device that computes it quickest, so that a bound holds for the
estimate's clock whatever is chosen; how near it is depends on how much of the step is copies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.freedom import Freedom
from gpuplace.cost.estimate import step_threads
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.graph.op_sets import CONSTANT_OPS, METADATA_OPS, NEXT_ITERATIONS
from gpuplace.placer.placement_graph import CONTROL

Floats = NDArray[np.float64]
_METADATA = METADATA_OPS | {"ShapeN", "VariableShape"}
_ROUNDS = 60


def step_bound(step: StepEstimate, freedom: Freedom, objective: str, kept: Floats) -> float:
    """Seconds, or bytes for ``"memory"``, that no placement is below.

    Args:
        step: an estimate of the step.
        freedom: what may be chosen.
        objective: as of `gpuplace.advise`.
        kept: [groups] bytes of variables and constants.
    """
    devices = len(freedom.placement.device_set)
    if objective == "memory":
        return float(max(kept.max(initial=0.0), kept.sum() / devices))
    table = device_seconds(step, freedom)
    load = _load(step, table)
    return load if objective == "throughput" else max(load, _longest_way(step, table))


def device_seconds(step: StepEstimate, freedom: Freedom) -> Floats:
    """[nodes of the step, devices] seconds of all executions of a kernel; infinite where it may not be.

    Args:
        step: an estimate of the step.
        freedom: what may be chosen.
    """
    part, model, machinery = step.part, step.cost_model, step.machinery
    count = len(part.graph)
    op_types = [part.graph.op_type(node) for node in range(count)]
    runs = step.node_runs
    idle = step.flow.folded | part.is_fed | (runs == 0)
    idle |= np.array([name in CONSTANT_OPS for name in op_types] or [False])[:count]
    idle |= np.array([not (work.launches or work.nbytes or work.flops) for work in step.works] or [False])[
        :count
    ]
    found = np.zeros((count, len(machinery.models)))
    known: dict[str | None, Floats] = {}
    for device, gpu in enumerate(machinery.models):
        name = None if gpu is None else gpu.name
        if name not in known:
            known[name] = np.array(model.kernel_times(step.works, gpu, op_types)) * runs
        found[:, device] = np.where(idle, 0.0, known[name])
    cpus = np.flatnonzero(~machinery.is_gpu)
    if len(cpus):  # kernels of GPUs that work in host memory take the time of a CPU
        on_host = step.flow.on_host
        found[on_host] = found[on_host][:, cpus[:1]]
    allowed = freedom.allowed[freedom.group[part.nodes]]
    found[~allowed] = np.inf
    return found


def _load(step: StepEstimate, table: Floats) -> float:
    """The least time in which all devices together do the work; a node may be divided."""
    is_gpu = step.machinery.is_gpu
    gpus = int(is_gpu.sum())
    on_gpu = table[:, is_gpu].min(axis=1, initial=np.inf)
    on_cpu = table[:, ~is_gpu].min(axis=1, initial=np.inf)
    rooms = step_threads(step) + 1
    if not gpus:
        return float(on_cpu[np.isfinite(on_cpu)].sum()) / rooms
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.isinf(on_gpu), -1.0, np.where(np.isinf(on_cpu), np.inf, on_cpu / on_gpu))
    order = np.argsort(np.nan_to_num(ratio, nan=0.0, posinf=np.inf), kind="stable")
    cpu, gpu = on_cpu[order], on_gpu[order]
    must = np.isinf(gpu)
    cpu_sum = np.cumsum(np.where(np.isinf(cpu), 0.0, cpu))
    gpu_left = np.concatenate((np.cumsum(np.where(must, 0.0, gpu)[::-1])[::-1], [0.0]))
    forced = float(cpu[must].sum())
    low, high = forced / rooms, max(float(gpu_left[0]) / gpus, forced / rooms)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        first = int(np.searchsorted(cpu_sum, middle * rooms, side="right"))
        left = float(gpu_left[first])
        if first < len(cpu):
            before = float(cpu_sum[first - 1]) if first else 0.0
            part = (middle * rooms - before) / float(cpu[first]) if 0 < cpu[first] < np.inf else 0.0
            left -= part * float(gpu[first]) if np.isfinite(gpu[first]) else 0.0
        if left / gpus <= middle:
            high = middle
        else:
            low = middle
    return low


def _longest_way(step: StepEstimate, table: Floats) -> float:
    """Kernels one after the other along the data; iterations of a loop may overlap, and count once."""
    graph = step.part.graph
    least = np.where(np.isinf(table), np.inf, table).min(axis=1)
    least = np.where(np.isfinite(least), least, 0.0) / np.maximum(step.node_runs, 1.0)
    types = [signature.op_type for signature in graph.signatures]
    stops = np.array([name in _METADATA for name in types] or [False])[graph.signature] | step.flow.on_host
    loops = np.array([name in NEXT_ITERATIONS for name in types] or [False])[graph.signature]
    skip = (graph.src_output == CONTROL) | stops[graph.dst] | loops[graph.src] | step.flow.folded[graph.dst]
    reached = least.tolist()
    own = least.tolist()
    start, src, left_out = graph.in_start.tolist(), graph.src.tolist(), skip.tolist()
    for node in graph.order.tolist():
        before = 0.0
        for edge in range(start[node], start[node + 1]):
            if not left_out[edge] and reached[src[edge]] > before:
                before = reached[src[edge]]
        reached[node] = before + own[node]
    return max(reached, default=0.0)
