"""Which values of a step may be missing, because they are in a branch of a conditional that is not taken.

::

    Switch(x, p):1 ──> a ─┐ {p is true}
                          ├─> Merge {}     one of the two is there, whatever p is
    Switch(x, p):0 ──> b ─┘ {p is false}

A loop in such a branch is missing as a whole; what is inside it is told within an iteration. There a predicate that the
loop itself hangs on is known.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (dead tensors).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpuplace.graph.op_sets import ALL_SWITCHES, ENTERS, EXITS, IDENTITY_OPS, MERGES, SWITCHES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.runtime.plan.schedule.loop_frames import Frame, Frames

Conditions = frozenset[tuple[Tensor, int]]
"""Predicates, each with the output of a switch that is needed."""

_NONE: Conditions = frozenset()


class DeadTensors:
    """The conditions of a step's values.

    Args:
        operations: sources before consumers.
        frames: its loops, if it has any.
        feeds: what is fed.
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
            self._of[op] = self._found(op)

    def may_be_dead(self, key: Tensor | Operation) -> bool:
        """Whether a value may be missing, or an operation may not run, in a frame that runs."""
        return bool(self._of.get(key, _NONE) if isinstance(key, Operation) else self._of_tensor(key))

    def around(self, frame: Frame) -> bool:
        """Whether a loop may not run."""
        return bool(self._around.get(frame))

    def decides_whole_loop(self, enter: Operation) -> bool:
        """Whether a loop runs where what leads into it is there, and then all that it takes is.

        Args:
            enter: leads a value into the loop.
        """
        frame = None if self._frames is None else self._frames.after[enter]
        if frame is None or enter.attrs["is_constant"] or not self._is_whole(frame):
            return False
        return self._entries[frame].get(enter) == self._around[frame]

    def known_branch(self, switch: Operation) -> int | None:
        """The output of a switch that is always taken, where it is in a loop that would not run otherwise.

        Args:
            switch: has two outputs.
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
            self._whole[frame] = bool(around) and around == self._decides(frame)
        return self._whole[frame]

    def _decides(self, frame: Frame) -> Conditions:
        """The conditions of the values that lead into a loop and on which it hangs whether there is an iteration."""
        assert self._frames is not None and frame.predicate is not None
        entries, found, seen = self._entries[frame], _NONE, set[Operation]()
        waiting = [frame.predicate]
        while waiting:
            op = waiting.pop()
            found |= entries.get(op, _NONE)
            if op not in seen and op not in entries:
                seen.add(op)
                waiting += [tensor.op for tensor in op.inputs if not self._frames.is_back_edge(tensor)]
        return found

    def _of_tensor(self, tensor: Tensor) -> Conditions:
        if tensor in self._feeds:
            return _NONE
        op = tensor.op
        found = self._of.get(op, _NONE)
        if op.type in ALL_SWITCHES and not decides_loop(op, self._frames):
            if op.type in SWITCHES and self.known_branch(op) == tensor.value_index:
                return found
            found |= {(_root(op.inputs[1]), tensor.value_index)}
        return found

    def _found(self, op: Operation) -> Conditions:
        frames = self._frames
        inputs = [tensor for tensor in op.inputs if frames is None or not frames.is_back_edge(tensor)]
        found = [self._of_tensor(tensor) for tensor in inputs]
        if op.type in MERGES and len(found) == 2 and _are_opposite(found[0] - found[1], found[1] - found[0]):
            found = [found[0] & found[1]]
        found += [self._of.get(control, _NONE) for control in op.control_inputs]
        every = frozenset[tuple[Tensor, int]]().union(*found)
        if frames is not None and op.type in ENTERS:
            inside = frames.after[op]
            assert inside is not None
            self._around[inside] = self._around.get(inside, _NONE) | every
            self._entries.setdefault(inside, {})[op] = every
            return _NONE
        if frames is not None and op.type in EXITS:
            left = frames.of[op]
            assert left is not None
            return self._around.get(left, _NONE)
        return every


def decides_loop(switch: Operation, frames: Frames | None) -> bool:
    """Whether a switch ends a loop or goes on with it, and begins no conditional."""
    frame = None if frames is None else frames.of.get(switch)
    return frame is not None and switch.inputs[1].op is frame.predicate


def _root(tensor: Tensor) -> Tensor:
    while tensor.op.type in IDENTITY_OPS or (tensor.op.type in ENTERS and tensor.op.attrs["is_constant"]):
        tensor = tensor.op.inputs[0]
    return tensor


def _are_opposite(one: Conditions, other: Conditions) -> bool:
    """Whether exactly one of two conditions holds."""
    if len(one) != 1 or len(other) != 1:
        return False
    ((predicate, output),), ((other_predicate, other_output),) = one, other
    return predicate is other_predicate and output != other_output
