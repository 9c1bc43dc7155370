"""Partial runs: one step in several calls, each with some of the feeds and fetches; each node runs once.

::

    handle = session.partial_run_setup([r1, r2], [a, b, c])
    r1_value = session.partial_run(handle, r1, {a: 1, b: 2})       runs r1 = a + b, and all else that needs only a and b
    session.partial_run(handle, r2, {c: r1_value})                 runs r2 = r1 * c, with the r1 of the first call

Each call runs all nodes whose feeds are complete, whether they are fetched or not. Tensors that later nodes need are
kept and fed to them.

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
"""Runs a located signature with the values of its feeds; the operations of the set have already run."""


@dataclass
class _State:
    """State of a partial run."""

    located: Located
    """The whole signature in the executed graph."""
    names: dict[str, Tensor]
    """Fed or fetched tensors of the executed graph, by name."""
    operations: list[Operation]
    """All needed operations, in topological order."""
    units: list[dict[Operation, None]]
    """The operations; those of a loop form one unit."""
    fetches: set[Tensor]
    """Tensors that have not been fetched yet."""
    feeds: set[Tensor]
    """Tensors that have not been fed yet."""
    all_fetches: frozenset[Tensor]
    all_feeds: frozenset[Tensor]
    values_so_far: dict[Tensor, Any] = field(default_factory=dict)
    """Values of tensors that were fed, or computed and kept."""
    done: set[Operation] = field(default_factory=set)
    """Operations that have run."""


class PartialRuns:
    """Partial runs of one session.

    Args:
        graph: the session's graph.
        release: release whose error texts are used.
        has_target: whether the session runs on a cluster, whose master undoes the feeds of a failed call.
    """

    def __init__(self, graph: Graph, release: str, has_target: bool = False) -> None:
        self._graph = graph
        self._release = release
        self._has_target = has_target
        self._states: dict[str, _State] = {}
        self._count = 0
        self._lock = threading.Lock()

    def set_up(self, signature: Signature, locate: Callable[[Signature], Located]) -> str:
        """Set up a partial run and return its handle.

        Args:
            signature: all fetches, targets and feeds.
            locate: finds a signature in the executed graph.
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
        """Feed and fetch a part of the signature.

        Args:
            handle: the handle from ``set_up``.
            fetches: the tensors to fetch.
            feeds: the values to feed.
            run_part: runs a part of the graph.

        Raises:
            InvalidArgumentError: the handle is unknown, a feed or fetch was not set up or is repeated, or a fetch needs
                more feeds.
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
            before = dict(state.values_so_far), set(state.feeds)
            state.values_so_far.update((tensor, _own(value)) for tensor, value in feeds.items())
            state.feeds.difference_update(feeds)
            try:
                for tensor in fetches:
                    self._check_computable(state, tensor)
            except InvalidArgumentError:
                if self._has_target:
                    state.values_so_far, state.feeds = before
                raise
            self._advance(state, run_part)
            state.fetches.difference_update(fetches)
            values = [_own(state.values_so_far[tensor]) for tensor in fetches]
            if not state.fetches and not state.feeds:
                del self._states[handle]
        return values

    def _error(self, sentence: str) -> InvalidArgumentError:
        return InvalidArgumentError.of(with_lines(sentence, self._graph, self._release))

    def _check(self, state: _State, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any]) -> None:
        for what, tensors, declared, remaining, done in (
            ("feed", feeds, state.all_feeds, state.feeds, "fed"),
            ("fetch", fetches, state.all_fetches, state.fetches, "fetched"),
        ):
            for tensor in tensors:
                if tensor not in declared:
                    raise self._error(f"The {what} {tensor.name} was not specified in partial_run_setup.")
                if tensor not in remaining:
                    raise self._error(f"The {what} {tensor.name} has already been {done}.")

    def _check_computable(self, state: _State, fetch: Tensor) -> None:
        stack, seen = [fetch], {fetch}
        while stack:
            tensor = stack.pop()
            if tensor in state.feeds:
                sentence = f"Fetch {tensor.name} can't be computed from the feeds that have been fed so far."
                raise self._error(sentence)
            if tensor not in state.values_so_far:
                predecessors = [
                    *tensor.op.inputs,
                    *(output for op in tensor.op.controls for output in op.outputs[:1]),
                ]
                stack.extend(predecessor for predecessor in predecessors if predecessor not in seen)
                seen.update(predecessors)

    def _advance(self, state: _State, run_part: Run) -> None:
        """Run all operations whose feeds are complete."""
        values_so_far, done = state.values_so_far, state.done
        new: dict[Operation, None] = {}

        def is_available(op: Operation) -> bool:
            return op in done or op in new or any(tensor in values_so_far for tensor in op.outputs)

        def can_run(op: Operation, unit: Collection[Operation]) -> bool:
            if op in done or any(tensor in state.feeds for tensor in (*op.inputs, *op.outputs)):
                return False
            return all(
                tensor in values_so_far or tensor.op in unit or is_available(tensor.op)
                for tensor in op.inputs
            ) and all(control in unit or is_available(control) for control in op.controls)

        for unit in state.units:
            if all(can_run(op, unit) for op in unit):
                new.update(dict.fromkeys(unit))
        pending = (op for op in state.operations if op not in new and op not in done)
        needed_later = {tensor for op in pending for tensor in op.inputs}
        kept = [
            tensor
            for op in new
            for tensor in op.outputs
            if tensor in state.fetches
            or (
                tensor in needed_later
                and op.type not in VARIABLE_OPS
                and tensor.dtype.base_dtype is not resource
            )
        ]
        feeds = {
            tensor: values_so_far[tensor] for op in new for tensor in op.inputs if tensor in values_so_far
        }
        if new:
            part = state.located._replace(signature=(tuple(kept), tuple(new), tuple(feeds)))
            values_so_far.update(zip(kept, run_part(part, feeds, frozenset(done)), strict=True))
        values_so_far.update((tensor, value) for tensor, value in feeds.items())
        done.update(op for op in new if op.type not in VARIABLE_OPS)


def _own(value: object) -> Any:
    """Return a copy of an array, so that the caller may change the array that was fed or fetched."""
    return value.copy() if isinstance(value, np.ndarray) else value
