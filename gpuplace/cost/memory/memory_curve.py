"""Bytes in use over the time of a foretold step.

Memory is foretold in the order of the session's plan, time in that of the executor, which differ: what a node allocates
is shown at the begin of the node, moved as little as the plan's order asks for (isotonic regression).

>>> in_order([1.0, 4.0, 2.0, 5.0])
[1.0, 3.0, 3.0, 5.0]
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuplace.cost.step_estimate import StepEstimate


def memory_curve(step: StepEstimate, device: str) -> list[tuple[float, int]]:
    """Seconds since the step's begin, and bytes in use from then on; nothing for a device without an allocator.

    Args:
        step: the estimate.
        device: full name.
    """
    use = next((use for use in step.memory.devices if use.device == device), None)
    if use is None:
        return []
    begins = step.begins
    timed = [number for number, (node, _) in enumerate(use.timeline) if node in begins]
    times = dict(zip(timed, in_order([begins[use.timeline[number][0]] for number in timed]), strict=True))
    now = 0.0
    curve = [(0.0, use.before)]
    for number, (_, nbytes) in enumerate(use.timeline):
        now = times.get(number, now)
        curve.append((now, nbytes))
    curve.append((max(now, step.step_time), curve[-1][1]))
    return curve


def in_order(values: Sequence[float]) -> list[float]:
    """The ascending values that are nearest to these, by the sum of squares.

    Source: Barlow, Bartholomew, Bremner and Brunk, Statistical inference under order restrictions, 1972
    (neighbours that are out of order are pooled).
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            before, size = pools.pop()
            mean, count = (mean * count + before * size) / (count + size), count + size
        pools.append((mean, count))
    return [mean for mean, count in pools for _ in range(count)]
