"""A predicted step beside a measured one: op type by op type, the nodes that are furthest off, and the copies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuplace.cost.samples import has_run
from gpuplace.display import above, with_safe_text
from gpuplace.runtime.plan.schedule.transfers import source_name
from gpuplace.typing import DataFrame

_TRACED = re.compile(r"^/host:|/stream:|/memcpy$|/sync$")
"""Lists in which TensorFlow's tracers repeat what the devices' lists hold."""
_SENT = re.compile(r"edge_\d+_(\S+) from (\S+) to (\S+)$")
"""End of the label of a ``RecvTensor``."""
_MOVED = re.compile(r"(.+) = _(?:Host)?(Send|Recv)\(\S+ @(\S+)\)$")
_MOST_SHOWN = 12


class ComparedOp(NamedTuple):
    """What all nodes of an op type took on a kind of device."""

    op: str
    """Op type."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""
    nodes: int
    """Nodes that were measured and predicted."""
    predicted: float
    """Seconds."""
    measured: float
    """Seconds."""
    off: float
    """Predicted less measured, as a part of the measured time."""


class ComparedNode(NamedTuple):
    """What a node took."""

    node: str
    """Its name."""
    op: str
    """Op type."""
    device: str
    """Full name."""
    predicted: float
    """Seconds."""
    measured: float
    """Seconds."""


class ComparedCopy(NamedTuple):
    """What the copies of a node's tensors took, from one device to another, or from one task to another."""

    tensor: str
    """The node; ``^node`` for the signal that it is done."""
    source: str
    """Full name of the device, or of the task, that they come from."""
    target: str
    """The same of where they go to."""
    bytes: float
    """Bytes, as predicted."""
    predicted: float
    """Seconds."""
    measured: float
    """Seconds."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A predicted step beside a measured one."""

    ops: tuple[ComparedOp, ...]
    """By op type, the largest difference first."""
    nodes: tuple[ComparedNode, ...]
    """By node, the largest difference first."""
    predicted: float
    """Seconds of the whole step."""
    measured: float
    """The same as it was measured: from the begin of its first node to the end of its last."""
    only_measured: tuple[str, ...] = field(default=())
    """Nodes that were measured and are not in the estimate: of another step, or made by the runtime."""
    only_predicted: tuple[str, ...] = field(default=())
    """Nodes that were predicted and not measured: folded, or not traced."""
    copies: tuple[ComparedCopy, ...] = field(default=())
    """By copy, those with the most bytes first; those that were measured and predicted."""

    @property
    def off(self) -> float:
        """How far the whole step is off: predicted less measured, as a part of the measured time."""
        return self.predicted / self.measured - 1.0 if self.measured else 0.0

    def frame(self, table: str = "ops") -> DataFrame:
        """The comparison as a ``DataFrame``.

        Args:
            table: ``"ops"``, ``"nodes"`` or ``"copies"``.

        Raises:
            ValueError: there is no such table.
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
            lines.append(f"{len(self.only_measured)} nodes were measured and not predicted")
        if self.only_predicted:
            lines.append(f"{len(self.only_predicted)} nodes were predicted and not measured")
        return "\n".join(lines)

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Comparison of {len(self.nodes)} nodes: predicted {self.off:+.0%} of measured>"


def compare(step: Any, run_metadata: Any) -> Comparison:
    """Puts an estimate beside what was measured; what one kernel computed counts for the first of its nodes.

    Args:
        step: the estimate.
        run_metadata: ``RunMetadata`` or ``StepStats``.

    Raises:
        TypeError: it is neither.
        ValueError: nothing of the graph was measured.
    """
    stats = getattr(run_metadata, "step_stats", run_metadata)
    devices = getattr(stats, "dev_stats", None)
    if devices is None:
        raise TypeError(f"run_metadata is a RunMetadata or a StepStats, not {type(run_metadata).__name__}")
    rows = {row.name: row for row in step.rows("nodes")}
    names = step.part.graph.names
    joined = {names[node]: names[by] for node, by in enumerate(step.flow.computed_by.tolist()) if by >= 0}
    measured: dict[str, float] = {}
    kernels: dict[str, float] = {}
    other: dict[str, None] = {}
    moved = _Copies()
    begin, end = float("inf"), 0.0
    for device in devices:
        is_stream = "/stream:" in device.device
        if _TRACED.search(device.device) and not is_stream:
            continue
        for node in device.node_stats:
            if moved.note(device.device, node):
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
                if name in joined and not has_run(node, rows[name].op):
                    name = joined[name]
                measured[name] = measured.get(name, 0.0) + seconds
            elif name not in ("_SOURCE", "_SINK") and source_name(name) is None:
                other[name] = None
    measured |= {name: max(seconds, measured.get(name, 0.0)) for name, seconds in kernels.items()}
    if not measured:
        raise ValueError(
            "The step_stats hold none of this step's nodes: was trace_level FULL_TRACE, and is it this graph?"
        )
    sums: dict[tuple[str, str], list[float]] = {}
    nodes = []
    for name, seconds in measured.items():
        row = rows[name]
        nodes.append(ComparedNode(name, row.op, row.device, row.time, seconds))
        kind = "GPU" if "GPU" in row.device else "CPU"
        found = sums.setdefault((row.op, kind), [0, 0.0, 0.0])
        found[0] += 1
        found[1] += row.time
        found[2] += seconds
    ops = [
        ComparedOp(op, kind, int(count), predicted, seconds, predicted / seconds - 1.0 if seconds else 0.0)
        for (op, kind), (count, predicted, seconds) in sums.items()
    ]
    ops.sort(key=lambda row: (-abs(row.predicted - row.measured), row.op, row.device_type))
    nodes.sort(key=lambda row: (-abs(row.predicted - row.measured), row.node))
    return Comparison(
        tuple(ops),
        tuple(nodes),
        step.step_time,
        end - begin,
        tuple(other),
        tuple(name for name in rows if name not in measured and joined.get(name) not in measured),
        moved.beside(step.copies),
    )


class _Copies:
    """Copies that were measured."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str, str, bool], float] = {}
        """By node, source and target (devices of one task, or two tasks), and whether they hold bytes."""

    def note(self, device: str, stats: Any) -> bool:
        """Notes an entry of a device's list, if it is of a copy; returns whether it is."""
        seconds = (stats.all_end_rel_nanos / 1e9) or (stats.all_end_rel_micros / 1e6)
        has_bytes = any(
            output.tensor_description.allocation_description.requested_bytes for output in stats.output
        )
        is_sent = stats.node_name == "RecvTensor"
        found = _SENT.search(stats.timeline_label) if is_sent else _MOVED.match(stats.timeline_label)
        if found is None:
            return is_sent
        node, source, target = found[1], _task(found[2]), _task(found[3])
        if not is_sent:
            node, source, target = source_name(found[1]) if found[2] == "Recv" else None, found[3], device
        if node is not None and (is_sent or _task(source) == _task(target)):
            key = node, source, target, has_bytes
            self._seconds[key] = self._seconds.get(key, 0.0) + seconds
        return True

    def beside(self, copies: Sequence[Any]) -> tuple[ComparedCopy, ...]:
        """The copies that were measured and predicted."""
        found: dict[tuple[str, str, str], list[float]] = {}
        for copy in copies:
            node = copy.tensor.removeprefix("^").partition(":")[0]
            source, target = copy.source, copy.target
            if _task(source) != _task(target):
                source, target = _task(source), _task(target)
            measured = self._seconds.get((node, source, target, not copy.tensor.startswith("^")))
            if measured is not None:
                sums = found.setdefault((copy.tensor.partition(":")[0], source, target), [0.0, 0.0, measured])
                sums[0] += copy.bytes
                sums[1] += copy.time
        rows = [ComparedCopy(*key, *sums) for key, sums in found.items()]
        return tuple(sorted(rows, key=lambda row: (-row.bytes, row.tensor, row.source, row.target)))


def _task(device: str) -> str:
    return device.rpartition("/device:")[0]
