"""Dead tensors: values of a step that are missing because their branch of a conditional is not taken.

::

    Switch(x, p):1 ──> a ─┐ {p is true}
                          ├─> Merge {}     one of the two is alive, whatever p is
    Switch(x, p):0 ──> b ─┘ {p is false}

A loop in such a branch is dead as a whole; the conditions of nodes inside it hold within an iteration. There, a
predicate on which the loop itself depends is known.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (dead tensors).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpuplace.graph.op_sets import ALL_SWITCHES, ENTERS, EXITS, IDENTITY_OPS, MERGES, SWITCHES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.runtime.plan.schedule.loop_frames import Frame, Frames

Conditions = frozenset[tuple[Tensor, int]]
"""Predicates, each with the required switch output."""

_NONE: Conditions = frozenset()


class DeadTensors:
    """Conditions under which the values of a step are alive.

    Args:
        operations: operations in topological order.
        frames: loop frames of the step, if any.
        feeds: fed tensors.
    """

    def __init__(
        self, operations: Sequence[Operation], frames: Frames | None, feeds: Collection[Tensor]
    ) -> None:
        self._frames = frames
        self._feeds = feeds
        self._of: dict[Operation, Conditions] = {}
        self._around: dict[Frame, Conditions] = {}
        self._whole: dict[Frame, bool] = {}
        self._entries: dict[Frame, dict[Operation, Conditions]] = {}
        for op in operations:
            self._of[op] = self._conditions_of(op)

    def may_be_dead(self, key: Tensor | Operation) -> bool:
        """Whether a value may be dead, or an operation may not run, in a frame that runs."""
        return bool(self._of.get(key, _NONE) if isinstance(key, Operation) else self._of_tensor(key))

    def around(self, frame: Frame) -> bool:
        """Whether a loop may not run."""
        return bool(self._around.get(frame))

    def decides_whole_loop(self, enter: Operation) -> bool:
        """Whether the input of an ``Enter`` determines if all inputs of its loop are alive.

        Args:
            enter: ``Enter`` of the loop.
        """
        frame = None if self._frames is None else self._frames.after[enter]
        if frame is None or enter.attrs["is_constant"] or not self._is_whole(frame):
            return False
        return self._entries[frame].get(enter) == self._around[frame]

    def known_branch(self, switch: Operation) -> int | None:
        """Return the output of a switch that is always taken, because its loop would not run otherwise; None if
        unknown.

        Args:
            switch: a switch with two outputs.
        """
        if self._frames is None or decides_loop(switch, self._frames):
            return None
        predicate = _root(switch.inputs[1])
        for frame in self._frames.path(switch):
            for output in (0, 1):
                if (predicate, output) in self._around.get(frame, _NONE) and self._is_whole(frame):
                    return output
        return None

    def _is_whole(self, frame: Frame) -> bool:
        if frame not in self._whole:
            around = self._around.get(frame, _NONE)
            self._whole[frame] = bool(around) and around == self._entry_conditions(frame)
        return self._whole[frame]

    def _entry_conditions(self, frame: Frame) -> Conditions:
        """Return the conditions of the loop inputs on which the first evaluation of the loop's predicate depends."""
        assert self._frames is not None and frame.predicate is not None
        entries, conditions, seen = self._entries[frame], _NONE, set[Operation]()
        pending = [frame.predicate]
        while pending:
            op = pending.pop()
            conditions |= entries.get(op, _NONE)
            if op not in seen and op not in entries:
                seen.add(op)
                pending += [tensor.op for tensor in op.inputs if not self._frames.is_back_edge(tensor)]
        return conditions

    def _of_tensor(self, tensor: Tensor) -> Conditions:
        if tensor in self._feeds:
            return _NONE
        op = tensor.op
        conditions = self._of.get(op, _NONE)
        if op.type in ALL_SWITCHES and not decides_loop(op, self._frames):
            if op.type in SWITCHES and self.known_branch(op) == tensor.value_index:
                return conditions
            conditions |= {(_root(op.inputs[1]), tensor.value_index)}
        return conditions

    def _conditions_of(self, op: Operation) -> Conditions:
        frames = self._frames
        inputs = [tensor for tensor in op.inputs if frames is None or not frames.is_back_edge(tensor)]
        conditions = [self._of_tensor(tensor) for tensor in inputs]
        if op.type in MERGES and len(conditions) == 2:
            first, second = conditions
            if _are_opposite(first - second, second - first):
                conditions = [first & second]
        conditions += [self._of.get(control, _NONE) for control in op.control_inputs]
        union = frozenset[tuple[Tensor, int]]().union(*conditions)
        if frames is not None and op.type in ENTERS:
            inside = frames.after[op]
            assert inside is not None
            self._around[inside] = self._around.get(inside, _NONE) | union
            self._entries.setdefault(inside, {})[op] = union
            return _NONE
        if frames is not None and op.type in EXITS:
            frame = frames.of[op]
            assert frame is not None
            return self._around.get(frame, _NONE)
        return union


def decides_loop(switch: Operation, frames: Frames | None) -> bool:
    """Whether a switch continues or leaves a loop, so that it does not belong to a conditional."""
    frame = None if frames is None else frames.of.get(switch)
    return frame is not None and switch.inputs[1].op is frame.predicate


def _root(tensor: Tensor) -> Tensor:
    while tensor.op.type in IDENTITY_OPS or (tensor.op.type in ENTERS and tensor.op.attrs["is_constant"]):
        tensor = tensor.op.inputs[0]
    return tensor


def _are_opposite(first: Conditions, second: Conditions) -> bool:
    """Whether exactly one of two conditions holds."""
    if len(first) != 1 or len(second) != 1:
        return False
    ((predicate, output),), ((other_predicate, other_output),) = first, second
    return predicate is other_predicate and output != other_output
