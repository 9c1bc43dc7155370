"""Long plans in pieces: functions of several hundred steps, and one that calls them and passes values between them.

Python's parser takes most of the compile time of a plan, and memory per line, and nearly every long plan repeats
itself: layers, time steps, their gradients. If it is cut at the same place in every repetition, with names that start
again in each piece, the pieces have equal texts, each of which is compiled once::

    p1, p2:  def step(f0, a):             def step(f0):
              [t0] = a                     v = {}
              del a                        v[0] = p0(f0)
              t0 = k0(t0, f0)              v[1] = p1(f0, [v.pop(0)])
              ...                          a2 = p2(f0, [v.pop(1)])
              return t0                    return [a2]

A piece ends where the hash of the last few op types is smallest, within a window that contains one repetition unless
that is very long; the place does not depend on earlier steps. A value that other pieces need is kept in ``v`` until the
last of them, so it lives as long as in one function. It is passed in a list that the piece deletes: Python puts more
than 30 arguments into a tuple, which would keep all of them until the end of the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any
from zlib import crc32

from gpuplace.callers import PLAN_FILE
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step

MIN_STEPS = 500
"""Minimum number of steps in a piece: a call takes about as long as one small kernel."""
MAX_STEPS = 1500
"""Maximum number of steps in a piece; a plan with at most as many, not counting constants, is one function."""
_CONTEXT = 4
"""Number of steps that determine whether a piece ends after them."""


def piece_starts(steps: Sequence[Step]) -> list[int]:
    """Return the positions of the steps that begin a piece.

    >>> piece_starts([Step(None, "", (), (), ())] * 3000)
    [0, 500, 1000, 1500]
    """
    with_lines = sum([step.op_type != "Const" for step in steps])
    if with_lines <= MAX_STEPS:
        return [0]
    hashes: dict[str, int] = {"": 0}
    marks = []
    mark, mask = 0, (1 << 8 * _CONTEXT) - 1
    for step in steps:
        op_type = step.op_type
        op_hash = hashes.get(op_type)
        if op_hash is None:
            op_hash = hashes[op_type] = crc32(op_type.encode()) & 255
        mark = (mark << 8 | op_hash) & mask
        marks.append(mark * 0x9E3779B1 & mask)
    starts = [0]
    while len(steps) - starts[-1] > MAX_STEPS:
        window = marks[starts[-1] + MIN_STEPS - 1 : starts[-1] + MAX_STEPS]
        starts.append(starts[-1] + MIN_STEPS + window.index(min(window)))
    return starts


@dataclass
class Crossings:
    """Values that are passed from piece to piece.

    Args:
        schedule: schedule of the plan.
        starts: positions of the steps that begin a piece.
        roots: aliases to their values.
    """

    schedule: Schedule
    starts: Sequence[int]
    roots: Mapping[Slot, Slot]
    arriving: list[dict[Slot, None]] = field(default_factory=list)
    """For each piece, and for the fetches, the values read from earlier pieces, in order of use."""
    leaving: list[dict[Slot, None]] = field(default_factory=list)
    """For each piece, its values that others read, in that order."""
    last: dict[Slot, int] = field(default_factory=dict)
    """Last piece that reads a value; the number of pieces for a fetch."""

    def __post_init__(self) -> None:
        steps, roots = self.schedule.steps, self.roots
        home: dict[Slot, int] = dict.fromkeys(self.schedule.feeds, -1)
        ends = [*self.starts[1:], len(steps)]
        for piece, (start, end) in enumerate(zip(self.starts, ends, strict=True)):
            arriving: dict[Slot, None] = {}
            for step in steps[start:end]:
                for slot in step.inputs:
                    if home.get(roots.get(slot, slot)) != piece:
                        arriving[slot] = None
                for slot in step.outputs:
                    if slot not in roots:
                        home[slot] = piece
            self._note(piece, arriving)
        count = len(self.starts)
        self._note(count, dict.fromkeys(self.schedule.fetches))
        left: list[dict[Slot, None]] = [{} for _ in range(count)]
        for arriving in self.arriving:
            for slot in arriving:
                root = roots.get(slot, slot)
                if home[root] >= 0:
                    left[home[root]][root] = None
        self.leaving = left

    def _note(self, piece: int, arriving: dict[Slot, None]) -> None:
        self.arriving.append(arriving)
        for slot in arriving:
            self.last[self.roots.get(slot, slot)] = piece


@lru_cache(maxsize=256)
def _compiled(text: str) -> tuple[str, CodeType]:
    """Return a text, and the code of its only function; cached, because plans of one graph are similar."""
    module = compile(text, PLAN_FILE, "exec")
    return text, next(constant for constant in module.co_consts if isinstance(constant, CodeType))


class Compiler:
    """Compiles lines to functions; equal texts are compiled once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        """Text of each function."""
        self.codes: list[CodeType] = []
        """Code of each function; its line numbers continue those of the previous one."""
        self.namespaces: list[dict[str, Any]] = []
        """Globals of each function."""
        self._line = 1

    def function(self, parameters: Sequence[str], lines: Sequence[str], namespace: dict[str, Any]) -> Any:
        """Compile indented lines to a function, with ``namespace`` as its globals."""
        text = f"def step({', '.join(parameters)}):\n" + "\n".join(lines) + "\n"
        text, code = _compiled(text)
        code = code.replace(co_firstlineno=self._line)
        self._line += 1 + len(lines)
        self.texts.append(text)
        self.codes.append(code)
        self.namespaces.append(namespace)
        return FunctionType(code, namespace, "step")
