"""A schedule as a Python function, and a long one as several.

Every kernel is bound to its node beforehand; what remains is a straight line of calls, in which a name is given up or
taken over as soon as its value is dead::

    c = tf.matmul(x, w) + b        def step(f0):
                                       t0 = k1(f0, c0)
                                       t0 = k3(t0, c2)
                                       return [t0]

Constants and kernels are globals of the function. A line belongs to one step, so that an error is traced
back to its node without any work while all goes well. Plans that measure or that account for memory come from the same
builder with other lines; nothing is asked while a plan runs.

The builder is made of the kinds of lines it writes, each on top of the one before: ``plan_lines`` (names and
lifetimes), ``memory_lines`` (where results lie), ``kernel_lines`` (kernels, constants and copies), ``branch_lines``
(conditionals), ``loop_lines`` (loops) and, here, the feeds at the beginning, the fetches at the end, and the pieces of
``plan_pieces``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from gpuplace.dtypes import resource
from gpuplace.plan.codegen.loops import LoopLines
from gpuplace.plan.codegen.pieces import Compiler, Crossings, piece_starts
from gpuplace.plan.schedule.partition import Slot, Step, retval_name

__all__ = ["PlanBuilder", "PlanCode"]


@dataclass(slots=True, eq=False)
class PlanCode:
    """A compiled plan."""

    function: Callable[..., list[Any]]
    """Takes the feeds in order, gives the fetches in order."""
    codes: Sequence[CodeType]
    """Its code and that of the functions it calls, by which tracebacks are recognised."""
    owners: list[Step | None]
    """Line number, from 1, to the step it belongs to, at that index; no two functions share a number."""
    arguments: dict[int, tuple[str, ...]]
    """Line number to the names of the values that the kernel on this line takes."""
    blamed: dict[int, str]
    """Line number to the node that errors name, where it is not the step's."""
    texts: Sequence[str]
    """The text of each function."""

    @property
    def source(self) -> str:
        """The text."""
        return "".join(self.texts)


@dataclass
class PlanBuilder(LoopLines):
    """Makes the code of a schedule."""

    _compiler: Compiler = field(default_factory=Compiler)
    _places: dict[Slot, str] = field(default_factory=dict)

    def build(self) -> PlanCode:
        """Compiles the schedule.

        Raises:
            UnimplementedError: a node has no function that computes it.
            ResourceExhaustedError: a constant does not fit on its simulated GPU.
        """
        schedule, count = self.schedule, len(self.schedule.steps)
        self._find_uses()
        starts = [0] if schedule.loops else piece_starts(schedule.steps)
        self.names.update((slot, f"f{slot.index}") for slot in schedule.feeds)
        own = [*(["check"] if self.is_timed else []), *self.parameters]
        if len(starts) == 1:
            self._begin_guards("g{}")
            self._begin()
            self._copy_feeds()
            self._add_steps(0, count)
            self._at(count)
        else:
            self._begin_guards("g[{}]")
            self._add_pieces(Crossings(schedule, starts, self._roots), own)
        self._check_fetches()
        fetched = ", ".join([self._fetched(slot, position) for position, slot in enumerate(schedule.fetches)])
        self.emit(None, f"return [{fetched}]")
        function = self._function([*own, *(self.names[slot] for slot in schedule.feeds)])
        self._end_guards()
        compiler = self._compiler
        return PlanCode(function, compiler.codes, self.owners, self.arguments, self.blamed, compiler.texts)

    def uses(self) -> tuple[dict[Slot, Step], dict[Slot, list[Step]]]:
        """Who makes and who takes every value."""
        self._find_uses()
        return self._producers, self._readers

    def _function(self, parameters: Sequence[str]) -> Any:
        """The function of the lines since it was begun; none knows its own, so constants go when the session closes."""
        namespace, self.namespace = self.namespace, {}
        return self._compiler.function(parameters, self.lines, namespace)

    def _copy_feeds(self) -> None:
        """Adds the lines that copy fed values which a kernel may keep."""
        for slot in self.schedule.feeds:
            if self._may_be_kept(slot):
                self.namespace["copied"] = np.array
                self.emit(None, f"{self.names[slot]} = copied({self.names[slot]})")

    def _add_steps(self, start: int, end: int) -> None:
        early = {name: self.retires_early and device.memory is None for name, device in self.backends.items()}
        for number in range(start, end):
            step = self.schedule.steps[number]
            self._at(number)
            is_early = early[step.device]
            if is_early:
                self._retire(number, step)
            self._add_guarded(number, step)
            if not is_early:
                self._retire(number, step)
            if self._dead:
                self._drop_dead(step)

    # Pieces

    def _add_pieces(self, crossings: Crossings, own: Sequence[str]) -> None:
        """Makes the functions of the pieces, and adds the lines of the one that calls them."""
        functions, calls = {}, []
        for piece in range(len(crossings.starts)):
            self._begin()
            functions[f"p{piece}"], call = self._add_piece(piece, crossings, own)
            calls.append(call)
        self._begin()
        self.namespace.update(functions)
        self._copy_feeds()
        if self._places:
            self.emit(None, "v = {}")
        if self._guards:
            self.emit(None, f"g = [None] * {len(self._guards)}")
        for call in calls:
            self.emit(None, call)
        for slot in crossings.arriving[-1]:
            root = self._roots.get(slot, slot)
            if root in self._globals:
                self.names[slot] = self.bound("c", self._globals[root])
            else:
                self.names[slot] = self._places.get(root) or self.names[root]

    def _add_piece(self, piece: int, crossings: Crossings, own: Sequence[str]) -> tuple[Any, str]:
        """The function of a piece, and the line that calls it."""
        bounds = [*crossings.starts, len(self.schedule.steps)]
        parameters, values = list(own), list(own)
        named: set[Slot] = set()
        for slot in crossings.arriving[piece]:
            root = self._roots.get(slot, slot)
            if root in self._globals:
                self.names[root] = self.bound("c", self._globals[root])
            elif root not in named:
                named.add(root)
                place = self._places.get(root)
                if place is None:  # fed
                    values.append(self.names[root])
                else:
                    is_last = crossings.last[root] == piece
                    values.append(f"v.pop({place[2:-1]})" if is_last else place)
                    self.names[root] = f"t{self._locals}"
                    self._locals += 1
                parameters.append(self.names[root])
            self.names[slot] = self.names[root]
        self._add_steps(bounds[piece], bounds[piece + 1])
        if self._guards:
            parameters.append("g")
            values.append("g")
        leaving = [root for root in crossings.leaving[piece] if root not in self._globals]
        if leaving or not self.lines:
            self.emit(None, f"return {', '.join([self.names[root] for root in leaving])}")
        fetched = len(crossings.starts)
        for root in leaving:
            number = len(self._places)
            self._places[root] = f"a{number}" if crossings.last[root] == fetched else f"v[{number}]"
        targets = ", ".join([self._places[root] for root in leaving])
        call = f"p{piece}({', '.join(values)})"
        return self._function(parameters), f"{targets} = {call}" if targets else call

    def _fetched(self, slot: Slot, position: int) -> str:
        """The expression that gives a caller a value of its own: an array, or a scalar for rank 0."""
        name = self.names[slot]
        tensor = slot.tensor
        if tensor.dtype.base_dtype is resource:
            return name
        self.namespace["copied"], self.namespace["fetched"] = np.array, _fetched_value
        producer = self._producers.get(slot)
        if producer is None:  # fed
            return f"copied({name})"
        rank = tensor.shape.ndims
        if slot.is_ref:
            value = f"x{position}"
            self.blamed[len(self.owners)] = retval_name(tensor, position)
            self.emit(producer, f"{value} = copied({name}.value)")
        elif self._makes_new(producer) and not self._may_be_kept(slot):
            value = name
        elif rank == 0:
            return f"{name}[()]"
        else:
            value = f"copied({name})"
        if rank is None:
            return f"fetched({value})"
        return value if rank else f"{value}[()]"


def _fetched_value(value: Any) -> Any:
    return value if value.ndim else value[()]
