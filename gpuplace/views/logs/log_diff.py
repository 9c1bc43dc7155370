"""The differences between a log and another placement of the same graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gpuplace.device.parsed_name import parse_name
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.typing import DataFrame
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.text import counted
from gpuplace.why.placement import Placement

_SHOWN = 12


class LogMove(NamedTuple):
    """A node whose two devices differ."""

    node: str
    type: str
    """Op type; "" if neither source has it."""
    logged: str
    """Full device name in the log, in the format of 1.15."""
    other: str
    """Full device name in the other placement, in the format of 1.15."""
    rule: str
    """The rule that determined the other device if the other source is a `Placement`, otherwise ""."""


@dataclass(frozen=True)
class LogDiff:
    """The differences; True if there are any."""

    moves: tuple[LogMove, ...]
    """Nodes with different devices, in the log's order."""
    only_logged: tuple[str, ...]
    """Nodes that are only in the log."""
    only_other: tuple[str, ...]
    """Nodes that are not in the log."""
    same: int
    """Number of nodes with the same device in both."""

    def __len__(self) -> int:
        return len(self.moves)

    def __iter__(self) -> Iterator[LogMove]:
        return iter(self.moves)

    def __bool__(self) -> bool:
        return bool(self.moves or self.only_logged or self.only_other)

    @with_safe_text
    def __repr__(self) -> str:
        parts = [f"{counted(self.same, 'node')} on the same device", f"{len(self.moves):,} on another"]
        parts += [f"{len(self.only_logged):,} only in the log"] if self.only_logged else []
        parts += [f"{len(self.only_other):,} not in the log"] if self.only_other else []
        return f"<LogDiff: {', '.join(parts)}>"

    _repr_mimebundle_ = notebook_view

    @with_safe_text
    def __str__(self) -> str:
        lines = [
            f"{counted(self.same, 'node')} on the same device, {counted(len(self.moves), 'node')} on another"
        ]
        device_pairs = Counter((device_label(move.logged), device_label(move.other)) for move in self.moves)
        lines[0] += "".join(
            f"; {count} logged {logged}, compared with {compared}"
            for (logged, compared), count in device_pairs.items()
        )
        lines += [
            f"  {move.node}: logged {move.logged}, compared with {move.other}{f' ({move.rule})' if move.rule else ''}"
            for move in self.moves[:_SHOWN]
        ]
        if len(self.moves) > _SHOWN:
            lines.append(f"  and {len(self.moves) - _SHOWN} more")
        for title, names in (("only in the log", self.only_logged), ("not in the log", self.only_other)):
            if names:
                more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
                lines.append(f"{title} ({len(names)}): {', '.join(names[:_SHOWN])}{more}")
        return "\n".join(lines)

    def frame(self) -> DataFrame:
        """Return a ``DataFrame`` with one row per difference; see ``jupyter.frames.log_frames.log_diff_frame``."""
        return above("gpuplace.jupyter.frames.log_frames", "log_diff_frame")(self)


def full_name(device: str) -> str:
    """Return a device name in the format of 1.15, whatever its printed format.

    >>> full_name("/job:localhost/replica:0/task:0/gpu:1")
    '/job:localhost/replica:0/task:0/device:GPU:1'
    """
    parsed = parse_name(device)
    return device if parsed is None else parsed.to_string()


def log_diff(log: Mapping[str, str], other: Mapping[str, str], types: Mapping[str, str]) -> LogDiff:
    """Compare node by node; `/gpu:0` and `/device:GPU:0` are equal.

    Args:
        log: node name -> device, as logged.
        other: node name -> device of another log, or a `Placement`.
        types: node name -> op type, if a log has it.
    """
    placement = other if isinstance(other, Placement) else None
    canonical = {device: full_name(device) for device in {*log.values(), *other.values()}}
    other_devices = dict(other)
    moves = []
    same = 0
    for name, device in log.items():
        if name not in other_devices:
            continue
        logged, compared = canonical[device], canonical[other_devices[name]]
        if logged == compared:
            same += 1
            continue
        op_type, rule = types.get(name, ""), ""
        if placement is not None:
            node = placement.graph.index[name]
            op_type = op_type or placement.graph.op_type(node)
            rule = placement.verdicts.rule_of(node).value
        moves.append(LogMove(name, op_type, logged, compared, rule))
    return LogDiff(
        tuple(moves),
        tuple(name for name in log if name not in other_devices),
        tuple(name for name in other_devices if name not in log),
        same,
    )
