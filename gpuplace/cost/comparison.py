"""Comparison of a predicted step with a measured one: by op type, by node (largest error first) and by copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuplace.cost.samples import has_run
from gpuplace.display import above, with_safe_text
from gpuplace.runtime.plan.schedule.transfers import source_name
from gpuplace.typing import DataFrame, RunMetadata

_TRACED = re.compile(r"^/host:|/stream:|/memcpy$|/sync$")
"""Lists in which TensorFlow's tracers repeat entries of the devices' own lists."""
_SENT = re.compile(r"edge_\d+_(\S+) from (\S+) to (\S+)$")
"""End of the label of a ``RecvTensor`` entry."""
_MOVED = re.compile(r"(.+) = _(?:Host)?(Send|Recv)\(\S+ @(\S+)\)$")
_MOST_SHOWN = 12


class ComparedOp(NamedTuple):
    """Predicted and measured time of all nodes of one op type on one device type."""

    op: str
    """Op type."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""
    nodes: int
    """Number of nodes that were both measured and predicted."""
    predicted: float
    """Seconds."""
    measured: float
    """Seconds."""
    off: float
    """Relative error: predicted minus measured, divided by measured."""


class ComparedNode(NamedTuple):
    """Predicted and measured time of a node."""

    node: str
    """Node name."""
    op: str
    """Op type."""
    device: str
    """Full device name."""
    predicted: float
    """Seconds."""
    measured: float
    """Seconds."""


class ComparedCopy(NamedTuple):
    """Predicted and measured time of the copies of a node's outputs between two devices, or between two tasks."""

    tensor: str
    """The node; ``^node`` for a control signal."""
    source: str
    """Full name of the sending device or task."""
    target: str
    """Full name of the receiving device or task."""
    bytes: float
    """Bytes, as predicted."""
    predicted: float
    """Seconds."""
    measured: float
    """Seconds."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A predicted step compared with a measured one."""

    ops: tuple[ComparedOp, ...]
    """Rows by op type, largest difference first."""
    nodes: tuple[ComparedNode, ...]
    """Rows by node, largest difference first."""
    predicted: float
    """Predicted seconds of the whole step."""
    measured: float
    """Measured seconds of the whole step, from the start of its first node to the end of its last."""
    only_measured: tuple[str, ...] = field(default=())
    """Measured nodes that the estimate lacks: nodes of another step, or added by the runtime."""
    only_predicted: tuple[str, ...] = field(default=())
    """Predicted nodes that were not measured: folded, or not traced."""
    copies: tuple[ComparedCopy, ...] = field(default=())
    """Copies that were both measured and predicted, most bytes first."""

    @property
    def off(self) -> float:
        """Relative error of the whole step: predicted minus measured, divided by measured."""
        return self.predicted / self.measured - 1.0 if self.measured else 0.0

    def frame(self, table: str = "ops") -> DataFrame:
        """Return the comparison as a ``DataFrame``.

        Args:
            table: ``"ops"``, ``"nodes"`` or ``"copies"``.

        Raises:
            ValueError: There is no such table.
        """
        comparison_frame = above("gpuplace.jupyter.frames.estimate_frames", "comparison_frame")

        return comparison_frame(self, table)

    @with_safe_text
    def __str__(self) -> str:
        lines = [
            f"predicted {self.predicted * 1e3:.3f} ms, measured {self.measured * 1e3:.3f} ms: {self.off:+.0%}",
            f"{'op':<32}{'device':<8}{'nodes':>7}{'predicted ms':>14}{'measured ms':>14}{'off':>8}",
        ]
        for row in self.ops[:_MOST_SHOWN]:
            lines.append(
                f"{row.op:<32}{row.device_type:<8}{row.nodes:>7}{row.predicted * 1e3:>14.3f}"
                f"{row.measured * 1e3:>14.3f}{row.off:>+8.0%}"
            )
        if len(self.ops) > _MOST_SHOWN:
            lines.append(f"and {len(self.ops) - _MOST_SHOWN} more op types")
        if self.copies:
            lines.append(f"{'copy':<32}{'bytes':>15}{'predicted ms':>14}{'measured ms':>14}{'off':>8}")
        for copy in self.copies[:_MOST_SHOWN]:
            off = f"{copy.predicted / copy.measured - 1.0:>+8.0%}" if copy.measured else ""
            lines.append(
                f"{copy.tensor:<32}{copy.bytes:>15,.0f}{copy.predicted * 1e3:>14.3f}{copy.measured * 1e3:>14.3f}{off}"
            )
        if len(self.copies) > _MOST_SHOWN:
            lines.append(f"and {len(self.copies) - _MOST_SHOWN} more copies")
        if self.only_measured:
            lines.append(f"{len(self.only_measured)} nodes were measured but not predicted")
        if self.only_predicted:
            lines.append(f"{len(self.only_predicted)} nodes were predicted but not measured")
        return "\n".join(lines)

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Comparison of {len(self.nodes)} nodes: predicted {self.off:+.0%} of measured>"


def compare(step: Any, run_metadata: RunMetadata) -> Comparison:
    """Compare an estimate with a measured step; a fused kernel counts for the first of its nodes.

    Args:
        step: the `StepEstimate`.
        run_metadata: ``RunMetadata`` or ``StepStats``.

    Raises:
        TypeError: The argument is neither.
        ValueError: No node of the graph was measured.
    """
    stats = getattr(run_metadata, "step_stats", run_metadata)
    devices = getattr(stats, "dev_stats", None)
    if devices is None:
        raise TypeError(
            f"run_metadata must be a RunMetadata or a StepStats, not {type(run_metadata).__name__}"
        )
    rows = {row.name: row for row in step.rows("nodes")}
    names = step.part.graph.names
    fused_into = {names[node]: names[by] for node, by in enumerate(step.flow.computed_by.tolist()) if by >= 0}
    measured: dict[str, float] = {}
    kernels: dict[str, float] = {}
    unpredicted: dict[str, None] = {}
    copies = _Copies()
    begin, end = float("inf"), 0.0
    for device in devices:
        is_stream = "/stream:" in device.device
        if _TRACED.search(device.device) and not is_stream:
            continue
        for node in device.node_stats:
            if copies.note(device.device, node):
                continue
            seconds = (node.all_end_rel_nanos / 1e9) or (node.all_end_rel_micros / 1e6)
            start = (node.all_start_nanos / 1e9) or (node.all_start_micros / 1e6)
            if node.node_name not in ("_SOURCE", "_SINK"):
                begin, end = min(begin, start), max(end, start + seconds)
            name = node.node_name
            if is_stream:
                name = name.partition(":")[0]
                if name in rows and "MEMCPY" not in node.node_name:
                    kernels[name] = kernels.get(name, 0.0) + seconds
            elif name in rows:
                if name in fused_into and not has_run(node, rows[name].op):
                    name = fused_into[name]
                measured[name] = measured.get(name, 0.0) + seconds
            elif name not in ("_SOURCE", "_SINK") and source_name(name) is None:
                unpredicted[name] = None
    measured |= {name: max(seconds, measured.get(name, 0.0)) for name, seconds in kernels.items()}
    if not measured:
        raise ValueError(
            "The step_stats contain none of this step's nodes. Trace with FULL_TRACE, and pass the graph that ran."
        )
    sums: dict[tuple[str, str], list[float]] = {}
    nodes = []
    for name, seconds in measured.items():
        row = rows[name]
        nodes.append(ComparedNode(name, row.op, row.device, row.time, seconds))
        device_type = "GPU" if "GPU" in row.device else "CPU"
        row_sums = sums.setdefault((row.op, device_type), [0, 0.0, 0.0])
        row_sums[0] += 1
        row_sums[1] += row.time
        row_sums[2] += seconds
    ops = [
        ComparedOp(
            op, device_type, int(count), predicted, seconds, predicted / seconds - 1.0 if seconds else 0.0
        )
        for (op, device_type), (count, predicted, seconds) in sums.items()
    ]
    ops.sort(key=lambda row: (-abs(row.predicted - row.measured), row.op, row.device_type))
    nodes.sort(key=lambda row: (-abs(row.predicted - row.measured), row.node))
    return Comparison(
        tuple(ops),
        tuple(nodes),
        step.step_time,
        end - begin,
        tuple(unpredicted),
        tuple(name for name in rows if name not in measured and fused_into.get(name) not in measured),
        copies.beside(step.copies),
    )


class _Copies:
    """Measured copies of a step."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str, str, bool], float] = {}
        """By node, source and target (devices of one task, or two tasks), and whether they hold bytes."""

    def note(self, device: str, stats: Any) -> bool:
        """Record an entry of a device's list if it belongs to a copy; return whether it does."""
        seconds = (stats.all_end_rel_nanos / 1e9) or (stats.all_end_rel_micros / 1e6)
        has_bytes = any(
            output.tensor_description.allocation_description.requested_bytes for output in stats.output
        )
        is_remote = stats.node_name == "RecvTensor"
        label = _SENT.search(stats.timeline_label) if is_remote else _MOVED.match(stats.timeline_label)
        if label is None:
            return is_remote
        node, source, target = label[1], _task(label[2]), _task(label[3])
        if not is_remote:
            node, source, target = source_name(label[1]) if label[2] == "Recv" else None, label[3], device
        if node is not None and (is_remote or _task(source) == _task(target)):
            key = node, source, target, has_bytes
            self._seconds[key] = self._seconds.get(key, 0.0) + seconds
        return True

    def beside(self, copies: Sequence[Any]) -> tuple[ComparedCopy, ...]:
        """Return the copies that were both measured and predicted."""
        by_route: dict[tuple[str, str, str], list[float]] = {}
        for copy in copies:
            node = copy.tensor.removeprefix("^").partition(":")[0]
            source, target = copy.source, copy.target
            if _task(source) != _task(target):
                source, target = _task(source), _task(target)
            measured = self._seconds.get((node, source, target, not copy.tensor.startswith("^")))
            if measured is not None:
                sums = by_route.setdefault(
                    (copy.tensor.partition(":")[0], source, target), [0.0, 0.0, measured]
                )
                sums[0] += copy.bytes
                sums[1] += copy.time
        rows = [ComparedCopy(*key, *sums) for key, sums in by_route.items()]
        return tuple(sorted(rows, key=lambda row: (-row.bytes, row.tensor, row.source, row.target)))


def _task(device: str) -> str:
    return device.rpartition("/device:")[0]
