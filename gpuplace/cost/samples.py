"""Measured kernels from step statistics of TensorFlow or gpuplace, to which a cost model is fitted.

A CPU kernel's time runs from the op's start to its end in its thread. A GPU kernel's time is that of its ``node:Op``
entry in the lane of all streams; the lane of the device itself shows only how long the host took to launch it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from gpuplace.device.gpu_models import GPUModel
from gpuplace.kernels.work.record import Work
from gpuplace.typing import RunMetadata

_CPU = re.compile(r"/(?:device:)?cpu:\d+$", re.IGNORECASE)
_STREAMS = re.compile(r"/(?:device:)?gpu:(\d+)/stream:all$", re.IGNORECASE)
_LABEL = re.compile(r" = (?:_Mkl(?:Native)?|_)?(\w+)\(")
"""Op type of the kernel that ran, in the label of a node; oneDNN kernels and fused kernels have their own names."""
_SAME = 0.05
"""Relative difference up to which a kernel takes as long with one core as with all, so that it runs in one thread."""
_LONGEST_GAP = 100e-6
"""Seconds between two nodes of a thread above which the thread waited for something."""


class Sample(NamedTuple):
    """One measured kernel."""

    op_type: str
    """Op type."""
    work: Work
    """Work of the kernel."""
    gpu: GPUModel | None
    """The GPU; None for the CPU."""
    seconds: float
    """Measured seconds."""
    share: float | None = None
    """Fraction of that time in which the kernel occupied all CPU cores; None without a single-core measurement."""


class HostTimes(NamedTuple):
    """Seconds to start a node; None where nothing was measured."""

    executor: float | None
    """Seconds from the end of a CPU kernel to the start of the next one in its thread."""
    launch: float | None
    """Seconds of the host's thread to launch a GPU kernel."""


def samples_of(
    run_metadatas: Iterable[Any],
    works: Mapping[str, tuple[str, Work]],
    gpus: Mapping[int, GPUModel],
    pick: Callable[[Sequence[float]], float] = median,
    alone: Iterable[Any] = (),
) -> list[Sample]:
    """Return the measured kernels, one sample for each node and device.

    A kernel that takes as long with one core as with all cores runs in one thread. Any other occupies all cores while
    it runs, even if it takes longer that way because it waits for threads to wake up: running two such kernels side by
    side saves no time.

    Args:
        run_metadatas: ``RunMetadata`` or ``StepStats`` of steps.
        works: name of a node to its op type and work; other nodes are ignored.
        gpus: index of a GPU device to its model; kernels of other GPUs are ignored.
        pick: reduction of the times of a node that ran several times.
        alone: the same steps with one CPU core; empty if these were not measured.
    """
    times = _times(run_metadatas, works, gpus, pick)
    times_alone = _times(alone, works, {}, pick)
    samples = []
    for (name, gpu), seconds in times.items():
        single_core_seconds = times_alone.get((name, gpu))
        share = (
            None
            if single_core_seconds is None
            else float(abs(single_core_seconds - seconds) > _SAME * seconds)
        )
        samples.append(Sample(*works[name], None if gpu is None else gpus[gpu], seconds, share))
    return samples


def _times(
    run_metadatas: Iterable[Any],
    works: Mapping[str, tuple[str, Work]],
    gpus: Mapping[int, GPUModel],
    pick: Callable[[Sequence[float]], float],
) -> dict[tuple[str, int | None], float]:
    """Return the seconds of each node on the CPU and on each GPU, without zeros."""
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
    """Return the median times that the host takes to start nodes.

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


def _step_stats(run_metadata: RunMetadata) -> Any:
    return getattr(run_metadata, "step_stats", run_metadata)


def has_run(node: Any, op_type: str) -> bool:
    """Whether an entry shows an op of a type: Grappler replaces the last op of a fused kernel with the fused op.

    Args:
        node: ``NodeExecStats`` of a CPU; without a label, the node ran as it is in the graph.
        op_type: the op type; that of a fused op begins with ``_``.
    """
    label = _LABEL.search(node.timeline_label)
    return not op_type.startswith("_") if label is None else label[1] == op_type.removeprefix("_")


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
