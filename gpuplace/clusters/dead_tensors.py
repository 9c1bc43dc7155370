"""Which values of a step may be missing, because they are in a branch of a conditional that is not taken.

::

    Switch(x, p):1 ──> a ─┐ {p is true}
                          ├─> Merge {}     one of the two is there, whatever p is
    Switch(x, p):0 ──> b ─┘ {p is false}

A loop in such a branch is missing as a whole; what is inside it is told within an iteration.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (dead tensors).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpuplace.graph.op_sets import ALL_SWITCHES, ENTERS, EXITS, IDENTITY_OPS, MERGES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.plan.schedule.loop_frames import Frame, Frames

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
        for op in operations:
            self._of[op] = self._found(op)

    def may_be_dead(self, key: Tensor | Operation) -> bool:
        """Whether a value may be missing, or an operation may not run, in a frame that runs."""
        return bool(self._of.get(key, _NONE) if isinstance(key, Operation) else self._of_tensor(key))

    def around(self, frame: Frame) -> bool:
        """Whether a loop may not run."""
        return bool(self._around.get(frame))

    def _of_tensor(self, tensor: Tensor) -> Conditions:
        if tensor in self._feeds:
            return _NONE
        op = tensor.op
        found = self._of.get(op, _NONE)
        if op.type in ALL_SWITCHES and not decides_loop(op, self._frames):
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
    while tensor.op.type in IDENTITY_OPS:
        tensor = tensor.op.inputs[0]
    return tensor


def _are_opposite(one: Conditions, other: Conditions) -> bool:
    """Whether exactly one of two conditions holds."""
    if len(one) != 1 or len(other) != 1:
        return False
    ((predicate, output),), ((other_predicate, other_output),) = one, other
    return predicate is other_predicate and output != other_output
