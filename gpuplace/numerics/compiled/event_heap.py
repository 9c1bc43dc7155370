"""``heappush`` and ``heappop`` of ``heapq`` for compiled functions with an `EventHeap`.

It is the same binary heap in four arrays. No two events are equal, so events leave it in the same order as Python's
heap. This module needs numba; ``functions`` imports it when something is compiled.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from numba.extending import overload

from gpuplace.numerics.compiled.arrays import EventHeap
from gpuplace.numerics.compiled.record_types import RecordType

_HEAP = RecordType(EventHeap)


@overload(heappush)
def _push(heap: Any, event: Any) -> Any:
    if heap != _HEAP:
        return None

    def push(heap: Any, event: Any) -> None:
        times, turns, codes, lines = heap.times, heap.turns, heap.codes, heap.lines
        time, turn, code, line = event
        at = heap.size[0]
        heap.size[0] = at + 1
        while at > 0:
            above = (at - 1) // 2
            if times[above] < time or (times[above] == time and turns[above] < turn):
                break
            times[at], turns[at], codes[at], lines[at] = (
                times[above],
                turns[above],
                codes[above],
                lines[above],
            )
            at = above
        times[at], turns[at], codes[at], lines[at] = time, turn, code, line

    return push


@overload(heappop)
def _pop(heap: Any) -> Any:
    if heap != _HEAP:
        return None

    def pop(heap: Any) -> tuple[float, int, int, int]:
        times, turns, codes, lines = heap.times, heap.turns, heap.codes, heap.lines
        first = times[0], turns[0], codes[0], lines[0]
        size = heap.size[0] - 1
        heap.size[0] = size
        time, turn = times[size], turns[size]
        at = 0
        while True:
            below = 2 * at + 1
            if below >= size:
                break
            other = below + 1
            if other < size and (
                times[other] < times[below] or (times[other] == times[below] and turns[other] < turns[below])
            ):
                below = other
            if time < times[below] or (time == times[below] and turn < turns[below]):
                break
            times[at], turns[at], codes[at], lines[at] = (
                times[below],
                turns[below],
                codes[below],
                lines[below],
            )
            at = below
        times[at], turns[at], codes[at], lines[at] = time, turn, codes[size], lines[size]
        return first

    return pop


@overload(bool)
def _has_events(heap: Any) -> Any:
    if heap != _HEAP:
        return None

    def has_events(heap: Any) -> bool:
        return heap.size[0] > 0

    return has_events
