"""Measured kernels out of a step's statistics, TensorFlow's or ours: what a cost model is fitted to.

A CPU's kernel takes the time from the op's start to its end in its thread. A GPU's kernel takes what the lane of all
streams shows of it, under ``node:Op``; the lane of the device itself shows only how long the host took to start it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from gpuplace.device.gpu_models import GPUModel
from gpuplace.kernels.work.record import Work

_CPU = re.compile(r"/(?:device:)?cpu:\d+$", re.IGNORECASE)
_STREAMS = re.compile(r"/(?:device:)?gpu:(\d+)/stream:all$", re.IGNORECASE)
_LABEL = re.compile(r" = (?:_Mkl(?:Native)?|_)?(\w+)\(")
"""Type of the op that ran, in the label of a node; oneDNN's kernels and fused ones have names of their own."""
_SAME = 0.05
"""Kernels that take as long with one core, but for this part, compute in one thread."""
_LONGEST_GAP = 100e-6
"""Seconds between two nodes of a thread from which on it waited for something."""


class Sample(NamedTuple):
    """One measured kernel."""

    op_type: str
    """Type of the op."""
    work: Work
    """What it had to do."""
    gpu: GPUModel | None
    """Where; None for the CPU."""
    seconds: float
    """What it took."""
    share: float | None = None
    """Of that time: the part in which all cores of a CPU computed it; None: it was not measured with a single core."""


class HostTimes(NamedTuple):
    """What starting a node takes, in seconds, or None where nothing was measured."""

    executor: float | None
    """From the end of a kernel on the CPU to the start of the next in the thread."""
    launch: float | None
    """In the host's thread for a kernel on a GPU."""


def samples_of(
    run_metadatas: Iterable[Any],
    works: Mapping[str, tuple[str, Work]],
    gpus: Mapping[int, GPUModel],
    pick: Callable[[Sequence[float]], float] = median,
    alone: Iterable[Any] = (),
) -> list[Sample]:
    """Returns the measured kernels, a sample for every node and device.

    A kernel that takes as long with one core as with all computes in one thread. Any other has all of them while it
    runs, be it shorter so or longer, because it waits for them to wake up: two of these side by side save no time.

    Args:
        run_metadatas: ``RunMetadata`` or ``StepStats`` of steps.
        works: name of a node -> type of its op, and what it has to do; other nodes are left out.
        gpus: index of a GPU device -> its model; kernels of others are left out.
        pick: what counts of the times of a node that ran several times.
        alone: the same steps with one core of the CPU; none: what they would take is not known.
    """
    times = _times(run_metadatas, works, gpus, pick)
    times_alone = _times(alone, works, {}, pick)
    found = []
    for (name, gpu), seconds in times.items():
        alone_for = times_alone.get((name, gpu))
        share = None if alone_for is None else float(abs(alone_for - seconds) > _SAME * seconds)
        found.append(Sample(*works[name], None if gpu is None else gpus[gpu], seconds, share))
    return found


def _times(
    run_metadatas: Iterable[Any],
    works: Mapping[str, tuple[str, Work]],
    gpus: Mapping[int, GPUModel],
    pick: Callable[[Sequence[float]], float],
) -> dict[tuple[str, int | None], float]:
    """Seconds of each node on the CPU, and on each of the GPUs, where it took any."""
    times: dict[tuple[str, int | None], list[float]] = {}
    for stats in map(_step_stats, run_metadatas):
        for device in stats.dev_stats:
            stream = _STREAMS.search(device.device)
            gpu = int(stream[1]) if stream else None
            if gpu is None and not _CPU.search(device.device):
                continue
            executions: dict[tuple[str, int], float] = {}
            for index, node in enumerate(device.node_stats):
                name = node.node_name if gpu is None else node.node_name.split(":")[0]
                if name in works and (gpu is not None or has_run(node, works[name][0])):
                    key = (name, index if gpu is None else 0)  # a GPU's op may be several kernels
                    executions[key] = executions.get(key, 0.0) + _kernel_seconds(node)
            for (name, _), seconds in executions.items():
                times.setdefault((name, gpu), []).append(seconds)
    picked = {key: pick(seconds) for key, seconds in times.items() if key[1] is None or key[1] in gpus}
    return {key: seconds for key, seconds in picked.items() if seconds > 0}


def host_times(run_metadatas: Iterable[Any]) -> HostTimes:
    """Returns what the host takes to start nodes, by the median over all of them.

    Args:
        run_metadatas: ``RunMetadata`` or ``StepStats`` of steps.
    """
    gaps: list[float] = []
    launches: list[float] = []
    for stats in map(_step_stats, run_metadatas):
        for device in stats.dev_stats:
            if _CPU.search(device.device):
                threads: dict[int, list[Any]] = {}
                for node in device.node_stats:
                    threads.setdefault(node.thread_id, []).append(node)
                for nodes in threads.values():
                    ends = sorted((_start(node), _end(node)) for node in nodes)
                    between = [later[0] - earlier[1] for earlier, later in zip(ends, ends[1:])]
                    gaps += [max(0.0, gap) for gap in between if gap < _LONGEST_GAP]
            elif re.search(r"/(?:device:)?gpu:\d+$", device.device, re.IGNORECASE):
                launches += [_kernel_seconds(node) for node in device.node_stats]
    return HostTimes(median(gaps) if gaps else None, median(launches) if launches else None)


def _step_stats(run_metadata: Any) -> Any:
    return getattr(run_metadata, "step_stats", run_metadata)


def has_run(node: Any, op_type: str) -> bool:
    """Whether it is an op of that type that ran: TensorFlow's optimizers put fused ops in the place of the last.

    Args:
        node: ``NodeExecStats`` of a CPU; where it has no label, it ran as it is in the graph.
        op_type: the type; that of a fused op begins with ``_``.
    """
    found = _LABEL.search(node.timeline_label)
    return not op_type.startswith("_") if found is None else found[1] == op_type.removeprefix("_")


def _kernel_seconds(node: Any) -> float:
    nanos = node.op_end_rel_nanos - node.op_start_rel_nanos
    return float(nanos / 1e9 if nanos > 0 else (node.op_end_rel_micros - node.op_start_rel_micros) / 1e6)


def _start(node: Any) -> float:
    return float(node.all_start_nanos / 1e9 if node.all_start_nanos else node.all_start_micros / 1e6)


def _end(node: Any) -> float:
    start = _start(node)
    return start + float(
        node.all_end_rel_nanos / 1e9 if node.all_end_rel_nanos else node.all_end_rel_micros / 1e6
    )
