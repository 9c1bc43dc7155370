"""Loops whose operations are on several tasks: each task iterates, and one of them evaluates the predicate.

::

    deciding task        Merge ──> Less ──> LoopCond ──> _Send          (in every iteration)
                                                           :
    every other task     Merge ──────────────────────────> Switch <── LoopCond <── _Recv
                           ^                                 |
                           └───────── NextIteration <── Identity ──> control inputs of its own operations

Tensors sent in an iteration are sent immediately, and received in the same iteration of the other task. A loop variable
stays on the task of its ``Merge``; loop-invariant values are sent once to each task.

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
    """Whether an operation is the ``Enter`` of a loop-invariant value."""
    return op.type in ENTERS and bool(op.attrs["is_constant"])


class SharedLoops:
    """Loops of a step, and the tasks of each.

    Args:
        operations: operations of the step, in order.
        frames: loop frames of the operations.
        device: full device name of each operation; ``Enter``, ``Switch``, ``NextIteration`` and ``Exit`` of a loop
            variable are moved to the device of its ``Merge``.
        task_of: returns the task of a device.

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
        self.tasks = {frame: list(names) for frame, names in tasks.items() if len(names) > 1}
        """Names of the tasks of each loop on several tasks."""
        for frame in self.tasks:
            if frame.predicate is None:
                facts = {f"on {task}": f"{op.name} ({op.type})" for task, op in tasks[frame].items()}
                raise UnimplementedError.of(
                    f"The loop '{frame.name}' would run on {len(facts)} tasks, but has no LoopCond.",
                    facts=facts,
                    hint="put the whole loop on one task: with tf.device('/job:worker/task:0')",
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
                    others += [leaving for leaving in switch.outputs[0].consumers() if leaving.type in EXITS]
            for op in others:
                if op in device:
                    device[op] = device[merge]

    def around(self, op: Operation) -> list[Frame]:
        """Return the loops on several tasks that contain an operation, the outermost first."""
        return [frame for frame in self._frames.path(op) if frame in self.tasks]

    def part(self, frame: Frame) -> int:
        """Return the part of the surrounding loop that contains a loop."""
        return self._frames.parts[frame]

    def anchored(self, op: Operation) -> tuple[Frame, int] | None:
        """Return the loop and its part that a control input stands for if it only marks a part of a loop; otherwise
        None.

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
                return frame, _part_of_output(op.inputs[0])
        return None

    def place(self, key: Tensor | Operation) -> tuple[Frame, int] | None:
        """Return the loop, and its part, in which a value is received from another task; None outside of loops.

        Args:
            key: the value, or the operation of a control edge.

        Raises:
            UnimplementedError: it enters a loop in a way that ``while_loop`` does not.
        """
        op = key.op if isinstance(key, Tensor) else key
        frame = self._frames.after[op]
        if frame is None:
            return None
        if op.type in ENTERS:
            raise UnimplementedError.of(
                f"'{op.name}' enters the loop '{frame.name}', and another task uses its value directly.",
                hint="use tf.while_loop, whose loops merge their variables first",
            )
        if op.type in EXITS:
            inner = self._frames.of[op]
            assert inner is not None
            return frame, self._frames.parts[inner]
        if op.type in SWITCHES and decides_loop(op, self._frames):
            return frame, _part_of_output(key) if isinstance(key, Tensor) else GOING_ON
        return frame, self._frames.parts[op]


def _part_of_output(tensor: Tensor) -> int:
    return GOING_ON if tensor.value_index else LEAVING
