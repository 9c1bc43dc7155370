"""Partial runs: one step in several calls, which feed and fetch piece by piece; every node runs once.

::

    handle = session.partial_run_setup([r1, r2], [a, b, c])
    r1_value = session.partial_run(handle, r1, {a: 1, b: 2})       runs r1 = a + b, and all that needs a and b alone
    session.partial_run(handle, r2, {c: r1_value})                 runs r2 = r1 * c, with the r1 of the first call

Each call runs what the feeds so far make possible, also what nobody has fetched yet. What later nodes will need is kept
and fed to them.

Source: tensorflow/core/common_runtime/direct_session.cc (PRunSetup, PRun), releases 1.15 and 2.21.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.dtypes import resource
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import VARIABLE_OPS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.runtime.plan.compile import Signature
from gpuplace.runtime.plan.schedule.pruning import loop_units, pruned_operations
from gpuplace.runtime.plan.step_errors import with_lines
from gpuplace.runtime.session.session_placement import Located

Run = Callable[[Located, Mapping[Tensor, Any], frozenset[Operation]], list[Any]]
"""Runs what is located with the values of its feeds; the given operations have run."""


@dataclass
class _State:
    """What a handle stands for."""

    located: Located
    """All of it, in the graph that runs."""
    names: dict[str, Tensor]
    """The tensors of that graph that are fed or fetched, by their names."""
    operations: list[Operation]
    """All that is needed, sources first."""
    units: list[dict[Operation, None]]
    """The operations, those of a loop together."""
    fetches: set[Tensor]
    """Not fetched yet."""
    feeds: set[Tensor]
    """Not fed yet."""
    all_fetches: frozenset[Tensor]
    all_feeds: frozenset[Tensor]
    known: dict[Tensor, Any] = field(default_factory=dict)
    """Values that were fed, or computed and kept."""
    done: set[Operation] = field(default_factory=set)
    """What has run."""


class PartialRuns:
    """The partial runs of one session.

    Args:
        graph: the session's graph.
        release: whose error texts to use.
        has_target: whether a master on a cluster answers, which counts no feed of a call that is refused.
    """

    def __init__(self, graph: Graph, release: str, has_target: bool = False) -> None:
        self._graph = graph
        self._release = release
        self._has_target = has_target
        self._states: dict[str, _State] = {}
        self._count = 0
        self._lock = threading.Lock()

    def set_up(self, signature: Signature, locate: Callable[[Signature], Located]) -> str:
        """Begins a partial run; returns its handle.

        Args:
            signature: all that will be fetched, run and fed.
            locate: finds it in the graph that runs.
        """
        if not signature[0] and not signature[1]:
            raise self._error("Must specify at least one target to fetch or execute.")
        located = locate(signature)
        fetches, targets, feeds = located.signature
        operations = pruned_operations(fetches, targets, set(feeds))
        state = _State(
            located,
            {tensor.name: tensor for tensor in (*fetches, *feeds)},
            operations,
            loop_units(operations, set(feeds)),
            set(fetches),
            set(feeds),
            frozenset(fetches),
            frozenset(feeds),
        )

        def listed(items: Sequence[Any]) -> str:
            return ",".join(sorted(item.name for item in items))

        with self._lock:
            handle = f"{listed(feeds)}->{listed(fetches)}/{listed(targets)}/1/;{self._count}"
            self._count += 1
            self._states[handle] = state
        return handle

    def run(
        self, handle: str, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any], run_part: Run
    ) -> list[Any]:
        """Feeds and fetches a part of what was set up.

        Args:
            handle: what ``set_up`` returned.
            fetches: what to fetch now.
            feeds: what to feed now.
            run_part: runs what is to run now.

        Raises:
            InvalidArgumentError: an unknown handle, a feed or fetch that was not set up or had its turn already, or a
                fetch that needs more feeds.
        """
        with self._lock:
            state = self._states.get(handle)
            if state is None:
                raise self._error(
                    "Must run PartialRunSetup before performing partial runs"
                    if self._has_target
                    else "Must run 'setup' before performing partial runs!"
                )
            fetches = [state.names.get(tensor.name, tensor) for tensor in fetches]
            feeds = {state.names.get(tensor.name, tensor): value for tensor, value in feeds.items()}
            self._check(state, fetches, feeds)
            before = dict(state.known), set(state.feeds)
            state.known.update((tensor, _own(value)) for tensor, value in feeds.items())
            state.feeds.difference_update(feeds)
            try:
                for tensor in fetches:
                    self._check_computable(state, tensor)
            except InvalidArgumentError:
                if self._has_target:
                    state.known, state.feeds = before
                raise
            self._advance(state, run_part)
            state.fetches.difference_update(fetches)
            found = [_own(state.known[tensor]) for tensor in fetches]
            if not state.fetches and not state.feeds:
                del self._states[handle]
        return found

    def _error(self, sentence: str) -> InvalidArgumentError:
        return InvalidArgumentError.of(with_lines(sentence, self._graph, self._release))

    def _check(self, state: _State, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any]) -> None:
        for what, tensors, everything, left, done in (
            ("feed", feeds, state.all_feeds, state.feeds, "fed"),
            ("fetch", fetches, state.all_fetches, state.fetches, "fetched"),
        ):
            for tensor in tensors:
                if tensor not in everything:
                    raise self._error(f"The {what} {tensor.name} was not specified in partial_run_setup.")
                if tensor not in left:
                    raise self._error(f"The {what} {tensor.name} has already been {done}.")

    def _check_computable(self, state: _State, fetch: Tensor) -> None:
        stack, seen = [fetch], {fetch}
        while stack:
            tensor = stack.pop()
            if tensor in state.feeds:
                sentence = f"Fetch {tensor.name} can't be computed from the feeds that have been fed so far."
                raise self._error(sentence)
            if tensor not in state.known:
                before = [
                    *tensor.op.inputs,
                    *(one for op in tensor.op._control_inputs for one in op.outputs[:1]),
                ]
                stack.extend(one for one in before if one not in seen)
                seen.update(before)

    def _advance(self, state: _State, run_part: Run) -> None:
        """Runs all that the feeds so far make possible."""
        known, done = state.known, state.done
        new: dict[Operation, None] = {}

        def is_there(op: Operation) -> bool:
            return op in done or op in new or any(tensor in known for tensor in op.outputs)

        def can_run(op: Operation, unit: Collection[Operation]) -> bool:
            if op in done or any(tensor in state.feeds for tensor in (*op.inputs, *op.outputs)):
                return False
            return all(one in known or one.op in unit or is_there(one.op) for one in op.inputs) and all(
                control in unit or is_there(control) for control in op._control_inputs
            )

        for unit in state.units:
            if all(can_run(op, unit) for op in unit):
                new.update(dict.fromkeys(unit))
        later = {one for op in state.operations if op not in new and op not in done for one in op.inputs}
        kept = [
            tensor
            for op in new
            for tensor in op.outputs
            if tensor in state.fetches
            or (tensor in later and op.type not in VARIABLE_OPS and tensor.dtype.base_dtype is not resource)
        ]
        feeds = {one: known[one] for op in new for one in op.inputs if one in known}
        if new:
            part = state.located._replace(signature=(tuple(kept), tuple(new), tuple(feeds)))
            known.update(zip(kept, run_part(part, feeds, frozenset(done)), strict=True))
        known.update((tensor, value) for tensor, value in feeds.items())
        done.update(op for op in new if op.type not in VARIABLE_OPS)


def _own(value: Any) -> Any:
    """A value that stays as it is between the calls, whatever the caller does to the array that was fed or fetched."""
    return value.copy() if isinstance(value, np.ndarray) else value
