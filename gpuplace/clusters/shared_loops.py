"""Loops whose operations are on several tasks: each of the tasks goes round, and one of them decides.

::

    task that decides    Merge ──> Less ──> LoopCond ──> _Send          (in every iteration)
                                                           :
    every other task     Merge ──────────────────────────> Switch <── LoopCond <── _Recv
                           ^                                 |
                           └───────── NextIteration <── Identity ──> what its own operations wait for

What a task sends in an iteration goes right away, and is taken in the same iteration of the other one. A variable of
the loop stays on the task of its ``Merge``; values from outside that do not change come to each task once.

Source: tensorflow/core/graph/graph_partition.cc, release 1.15 (the control loops of partitions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuplace.clusters.dead_tensors import decides_loop
from gpuplace.errors import UnimplementedError
from gpuplace.graph.op_sets import ENTERS, EXITS, IDENTITY_OPS, MERGES, SWITCHES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.runtime.plan.schedule.loop_frames import DECIDING, GOING_ON, LEAVING, Frame, Frames


def is_constant_entry(op: Operation) -> bool:
    """Whether an operation leads a value into a loop that stays what it is."""
    return op.type in ENTERS and bool(op.attrs["is_constant"])


class SharedLoops:
    """The loops of a step, and the tasks that take part in each.

    Args:
        operations: of the step, in its order.
        frames: in which frame each is.
        device: full name of the device of each; what leads into a loop, through it and out of it goes to the device of
            the ``Merge`` of its variable.
        task_of: gives the task of a device.

    Raises:
        UnimplementedError: a loop on several tasks has no single ``LoopCond``.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        frames: Frames,
        device: dict[Operation, str],
        task_of: Callable[[str], str],
    ) -> None:
        self._frames = frames
        self._keep_variables_together(operations, device)
        tasks: dict[Frame, dict[str, Operation]] = {}
        for op in operations:
            if not is_constant_entry(op):
                for frame in frames.path(op):
                    tasks.setdefault(frame, {}).setdefault(task_of(device[op]), op)
        self.tasks = {frame: list(found) for frame, found in tasks.items() if len(found) > 1}
        """Loop on several tasks -> their names."""
        for frame in self.tasks:
            if frame.predicate is None:
                facts = {f"on {task}": f"{op.name} ({op.type})" for task, op in tasks[frame].items()}
                raise UnimplementedError.of(
                    f"The loop '{frame.name}' would run on {len(facts)} tasks, and has no LoopCond.",
                    facts=facts,
                    hint="put all of the loop on one task: with tf.device('/job:worker/task:0')",
                )

    def _keep_variables_together(self, operations: Sequence[Operation], device: dict[Operation, str]) -> None:
        for merge in operations:
            if merge.type not in MERGES or self._frames.of[merge] is None:
                continue
            if not any(map(self._frames.is_back_edge, merge.inputs)):
                continue
            others = [tensor.op for tensor in merge.inputs]
            for switch in merge.outputs[0].consumers():
                if switch in device and switch.type in SWITCHES and decides_loop(switch, self._frames):
                    others.append(switch)
                    others += [taker for taker in switch.outputs[0].consumers() if taker.type in EXITS]
            for op in others:
                if op in device:
                    device[op] = device[merge]

    def around(self, op: Operation) -> list[Frame]:
        """The loops on several tasks that an operation is in, the outermost first."""
        return [frame for frame in self._frames.path(op) if frame in self.tasks]

    def part(self, frame: Frame) -> int:
        """The part of the loop around it that a loop is in."""
        return self._frames.parts[frame]

    def anchored(self, op: Operation) -> tuple[Frame, int] | None:
        """The loop and its part that whoever waits for an operation wants to be in, where it has no other effect.

        Args:
            op: a control input.
        """
        frame = self._frames.of[op]
        if frame is None or frame not in self.tasks:
            return None
        if op is frame.predicate or any(map(self._frames.is_back_edge, op.inputs)):
            return frame, DECIDING
        if op.type in IDENTITY_OPS and op.inputs[0].op.type in SWITCHES:
            if decides_loop(op.inputs[0].op, self._frames):
                return frame, _part_behind(op.inputs[0])
        return None

    def place(self, key: Tensor | Operation) -> tuple[Frame, int] | None:
        """The loop, and its part, in which a value comes from another task; None outside of loops.

        Args:
            key: the value, or the operation whose end is waited for.

        Raises:
            UnimplementedError: it leads into a loop in a way that ``while_loop`` does not.
        """
        op = key.op if isinstance(key, Tensor) else key
        frame = self._frames.after[op]
        if frame is None:
            return None
        if op.type in ENTERS:
            raise UnimplementedError.of(
                f"'{op.name}' leads into the loop '{frame.name}', and another task takes its value as it is.",
                hint="tf.while_loop makes loops whose variables are merged first",
            )
        if op.type in EXITS:
            inner = self._frames.of[op]
            assert inner is not None
            return frame, self._frames.parts[inner]
        if op.type in SWITCHES and decides_loop(op, self._frames):
            return frame, _part_behind(key) if isinstance(key, Tensor) else GOING_ON
        return frame, self._frames.parts[op]


def _part_behind(tensor: Tensor) -> int:
    return GOING_ON if tensor.value_index else LEAVING
