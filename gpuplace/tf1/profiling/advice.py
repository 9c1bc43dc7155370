"""Checks of ``advise``: unused accelerators, ops with faster variants, and the most expensive operations.

Source: tensorflow/core/profiler/internal/advisor, release 1.15 (the checks, their options and messages).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gpuplace.tf1.profiling.graph_profile import GraphProfile
from gpuplace.tf1.profiling.messages import AdviceProto
from gpuplace.tf1.profiling.options import Options
from gpuplace.tf1.profiling.report import show
from gpuplace.tf1.profiling.views.columns import micros

__all__ = ["ALL_ADVICE", "check"]

ALL_ADVICE: dict[str, dict[str, str]] = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}
"""All checks, with their options; TensorFlow has a further internal ``JobChecker``, which reports nothing."""


@dataclass
class _Usage:
    """The times at which a device was used."""

    start: int
    end: int = 0
    busy: int = 0


def _accelerators(profile: GraphProfile) -> Iterator[str]:
    """Report how much of its time each accelerator computes, in each node's last step."""
    uses: dict[str, _Usage] = {}
    for node in profile.nodes.values():
        if node.steps and "gpu" in node.device:
            last = node.steps[max(node.steps)]
            use = uses.setdefault(node.device, _Usage(last.all_start_micros))
            use.start = min(one for one in (use.start, last.all_start_micros) if one or not use.start)
            use.end = max(use.end, last.latest_end_micros)
            use.busy += sum(
                time.int64_values[1] for execs in last.accelerator_execs.values() for time in execs.times
            )
    for device, use in sorted(uses.items()):
        if use.end > use.start:
            share = use.busy / (use.end - use.start)
            yield f"device: {device} {'' if share >= 0.5 else 'low '}utilization: {share:.2f}"


def _operations(profile: GraphProfile) -> Iterator[str]:
    """Report ops that have a faster variant."""
    nodes = profile.nodes.values()
    if any("BatchNorm" in node.name for node in nodes) and not any(
        "FusedBatchNorm" in node.types for node in nodes
    ):
        yield "Maybe use faster FusedBatchNorm instead of BatchNorm"
    if any("gpu" in node.device and _layout(node) == b"NHWC" for node in nodes):
        yield "Found operation using NHWC data_format on GPU. Maybe NCHW is faster."


def _layout(node: Any) -> bytes:
    layout: bytes = node.attrs["data_format"].s if "data_format" in node.attrs else b""
    return layout


def _by_time(least: int, max_depth: int) -> Options:
    return Options.of(
        {
            "max_depth": max_depth,
            "min_micros": least,
            "order_by": "micros",
            **dict.fromkeys(("account_type_regexes", "start_name_regexes", "show_name_regexes"), [".*"]),
            "select": ["micros"],
            "output": "none",
        }
    )


def _times(node: Any, of: str = "") -> str:
    named = {
        "cpu": "cpu_exec_micros",
        "accelerator": "accelerator_exec_micros",
        "total": "exec_micros",
    }
    return ", ".join(f"{name}: {micros(getattr(node, of + count))}" for name, count in named.items())


_MOST = 3
"""Number of entries in each list."""


def _expensive(profile: GraphProfile) -> Iterator[str]:
    """Report the op types, scopes and Python lines that take the most time."""
    name = "ExpensiveOperationChecker"
    if not profile.steps:
        print(f"Missing RunMetadata info. Skip {name}", file=sys.stderr)
        print(f"Missing run_meta for {name}", file=sys.stderr)
    else:
        root = show(profile, "op", _by_time(1, max_depth=3))
        lines: list[str] = []
        node = root
        while node.children and len(lines) < _MOST:
            node = node.children[0]
            share = 100 * node.exec_micros / (root.total_exec_micros + 1e-10)
            lines.append(f"top {len(lines) + 1} operation type: {node.name}, {_times(node)} ({share:.2f}%)")
        if lines:
            yield "\n".join(lines)
    scopes = show(profile, "scope", _by_time(100, max_depth=100)).children
    if scopes:
        yield "\n".join(
            f"top {place} graph node: {node.name}, {_times(node)}"
            for place, node in enumerate(scopes[:_MOST], 1)
        )
    if not profile.has_traces:
        print(f"Missing op_log (code traces) for {name}", file=sys.stderr)
        return
    node = show(profile, "code", _by_time(1, max_depth=100))
    while len(node.children) == 1:
        node = node.children[0]
    if node.children:
        yield "\n".join(_lines(node, 0))


_LONG = 1000
"""Python lines are listed from this time on, in microseconds."""


def _lines(node: Any, depth: int) -> Iterator[str]:
    if len(node.children) <= 1 or depth > _MOST:
        return
    for child in node.children[:_MOST]:
        if child.total_exec_micros >= _LONG:
            yield f"{'  ' * depth}{child.name}, {_times(child, of='total_')}"
            yield from _lines(child, depth + 1)


_CHECKS: dict[str, Callable[[GraphProfile], Iterator[str]]] = {
    "AcceleratorUtilizationChecker": _accelerators,
    "OperationChecker": _operations,
    "ExpensiveOperationChecker": _expensive,
}


def check(profile: GraphProfile, options: Any) -> Any:
    """Check a profile, and print the results.

    Args:
        profile: the nodes.
        options: names of checks -> their options, which are empty; None for no check.

    Returns:
        An ``AdviceProto``.
    """
    advice = AdviceProto()
    for name, checked in _CHECKS.items():
        if name in (options or ()):
            advice.checkers[name].reports.extend(checked(profile))
    for name in reversed(_CHECKS):
        if name in advice.checkers:
            print("\n".join((f"\n{name}:", *advice.checkers[name].reports)))
    return advice
