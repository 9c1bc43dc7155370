"""Why the nodes of a name scope, or all nodes that a text matches, have their devices: shares of devices and rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.display import with_safe_text
from gpuplace.placer.decide import NOWHERE
from gpuplace.why.rules import RULES, Rule

_SHOWN = 6


@dataclass(frozen=True)
class ScopeExplanation:
    """The rules that determined the devices of several nodes."""

    of: str
    """The name scope, or the text that matched the nodes."""
    nodes: tuple[str, ...]
    """The nodes' names, in graph order."""
    devices: tuple[tuple[str, int], ...]
    """Local device name and number of nodes, largest first; "no device" for nodes that cannot be placed."""
    rules: tuple[tuple[Rule, int], ...]
    """The rules that determined a device, with the number of nodes, largest first."""

    @with_safe_text
    def __str__(self) -> str:
        total = len(self.nodes)
        shown = ", ".join(self.nodes[:_SHOWN])
        more = f" and {total - _SHOWN:,} more" if total > _SHOWN else ""
        devices = ", ".join(f"{device} {_share(count, total)}" for device, count in self.devices)
        lines = [f"{self.of}: {total:,} node{'' if total == 1 else 's'}", f"  devices  {devices}"]
        for number, (rule, count) in enumerate(self.rules):
            label = "rules" if number == 0 else ""
            lines.append(f"  {label:<7}  {rule.value} {_share(count, total)}: {rule.meaning}")
        return "\n".join([*lines, f"  nodes    {shown}{more}"])


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.0%})"


def explain_nodes(placement: Any, of: str, nodes: list[int]) -> ScopeExplanation:
    """Return the rules that determined the devices of several nodes.

    Args:
        placement: a `Placement`.
        of: the text that matched the nodes.
        nodes: the nodes' positions.
    """
    at = np.asarray(nodes, dtype=np.int64)
    labels = placement.device_labels
    devices = [(labels[d] if d != NOWHERE else "no device") for d in placement.devices[at].tolist()]
    rules = np.bincount(placement.verdicts.rule[at], minlength=len(RULES)).tolist()
    counts = {device: devices.count(device) for device in dict.fromkeys(devices)}
    return ScopeExplanation(
        of,
        tuple(placement.graph.names[node] for node in nodes),
        tuple(sorted(counts.items(), key=lambda item: -item[1])),
        tuple(
            sorted(((rule, n) for rule, n in zip(RULES, rules, strict=True) if n), key=lambda item: -item[1])
        ),
    )
