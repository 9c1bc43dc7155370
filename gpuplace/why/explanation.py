"""The explanation of a node's device, and its text.

MatMul_1 (MatMul) -> /job:localhost/replica:0/task:0/device:GPU:0
  request     none; created at train.py:14
  settled by  type priority: GPU comes before CPU
  steps       kernel         CPU:0 GPU:0 -> CPU:0 GPU:0  kernels for MatMul with T=float: GPU, CPU
              type priority  CPU:0 GPU:0 -> GPU:0        GPU comes before CPU
  for CPU     ask for '/device:CPU:0'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.typing import DataFrame
from gpuplace.why.node_text import short_device
from gpuplace.why.remedy import Remedy
from gpuplace.why.rules import Rule

_SHOWN_GROUP = 8
_SHOWN_DEVICES = 6
_SHOWN_FULL_NAMES = 2
_SHOWN_TIES = 4


@dataclass(frozen=True)
class Step:
    """One rule that acted on a node."""

    rule: Rule
    before: tuple[str, ...]
    """Devices left before the rule: local names (`GPU:0`), or full names if the machine has several tasks."""
    after: tuple[str, ...]
    """Devices left after the rule."""
    cause: str | None
    """The other node that made the rule apply, if there is one."""
    note: str
    """One sentence about its effect."""

    def __str__(self) -> str:
        return f"{self.rule.value}: {_devices_text(self.before)} -> {_devices_text(self.after)}, {self.note}"


@dataclass(frozen=True)
class Explanation:
    """Why a node has its device."""

    node: str
    op_type: str
    device: str
    """Full device name; "" if the node could not be placed."""
    requested: str
    """Device that the program requests, as written; "" for none."""
    source: str | None
    """`file:line` of the statement that created the node."""
    group: tuple[str, ...]
    """The nodes that must share its device, including itself."""
    rule: Rule
    """The rule that determined its device."""
    decided_by: str
    """The culprit: the node that the rule applies to (its request, its missing kernel), or the followed node."""
    because: str
    """The verdict as a sentence: `asks for '/gpu:1'`, `v, tied to it, asks for '/gpu:1'`, `follows m`."""
    held_by: str
    """The cause that would otherwise keep the node here: `v/Assign, tied to it, asks for '/gpu:1'`; "" if none would.
    """
    steps: tuple[Step, ...]
    remedies: tuple[Remedy, ...]
    """For each other device type: the change that would move the node there."""
    made_from: str | None = None
    """For a node that TensorFlow adds before placing: the node and the functions that it is derived from."""
    ties: tuple[str, ...] = ()
    """The bindings between the node and `decided_by`: `reference edge v -> w`, `b is colocated with a`.

    If `decided_by` is the node itself or outside the group, the bindings to the first visited member.
    """
    refused: str | None = None
    """TensorFlow's error if it rejects the graph; `device` is then where the node would otherwise go."""

    @property
    def anyway(self) -> bool:
        """Whether the node would be here even without the verdict's cause (the request, the missing kernel, ...)."""
        return bool(self.held_by)

    @property
    def remedy(self) -> tuple[tuple[str, str], ...]:
        """`(device type, change)` for each other device type."""
        return tuple((remedy.device_type, remedy.text) for remedy in self.remedies)

    @with_safe_text
    def __repr__(self) -> str:
        where = short_device(self.device)
        return f"<Explanation of {self.node} ({self.op_type}) on {where}: {self.rule.value}: {self.because}>"

    @with_safe_text
    def __str__(self) -> str:
        rows = [("refused", self.refused)] if self.refused else []
        rows.append(("request", self._request_text()))
        rows.append(("settled by", f"{self.rule.value}: {self.because}"))
        if self.anyway:
            rows.append(("here anyway", self.held_by))
        if self.made_from:
            rows.append(("derived from", self.made_from))
        if len(self.group) > 1:
            others = [name for name in self.group if name != self.node]
            more = f", and {len(others) - _SHOWN_GROUP} more" if len(others) > _SHOWN_GROUP else ""
            rows.append(("group", f"with {', '.join(others[:_SHOWN_GROUP])}{more}"))
        if self.ties:
            more = f"; and {len(self.ties) - _SHOWN_TIES} more" if len(self.ties) > _SHOWN_TIES else ""
            rows.append(("tied by", "; ".join(self.ties[:_SHOWN_TIES]) + more))
        rows.append(("steps", "\n".join(self._step_lines())))
        rows += [(f"for {kind}", text) for kind, text in self.remedy]
        width = max(len(label) for label, _ in rows) + 2
        indent = "\n" + " " * (width + 2)
        lines = [f"{self.node} ({self.op_type}) -> {self.device or 'no device'}"]
        lines += [f"  {label:<{width}}{text.replace(chr(10), indent)}" for label, text in rows]
        return "\n".join(lines)

    def _request_text(self) -> str:
        if self.requested:
            return f"'{self.requested}'{f', {self.source}' if self.source else ''}"
        return f"none{f'; created at {self.source}' if self.source else ''}"

    def _step_lines(self) -> Iterator[str]:
        table = [
            (step.rule.value, f"{_devices_text(step.before)} -> {_devices_text(step.after)}", step.note)
            for step in self.steps
        ]
        first = max(len(row[0]) for row in table) + 2
        second = max(len(row[1]) for row in table) + 2
        for rule, devices, note in table:
            yield f"{rule:<{first}}{devices:<{second}}{note}"

    def frame(self) -> DataFrame:
        """Return a ``DataFrame`` with one row per step; see ``explanation_frame`` in ``gpuplace.jupyter.frames``."""
        return above("gpuplace.jupyter.frames.explanation_frames", "explanation_frame")(self)

    _repr_mimebundle_ = notebook_view


def _devices_text(devices: tuple[str, ...]) -> str:
    """Format devices: all of a few, some of many, and counts by type for more than two full names."""
    if len(devices) > _SHOWN_FULL_NAMES and "/" in devices[0]:
        types = Counter(device.rpartition("device:")[2].partition(":")[0] for device in devices)
        return ", ".join(f"{count} {device_type}" for device_type, count in types.items())
    if len(devices) > _SHOWN_DEVICES:
        return f"{' '.join(devices[: _SHOWN_DEVICES - 1])} ... ({len(devices)})"
    return " ".join(devices) or "none"
