"""Plans: compiled schedules of signatures, and their errors.

A plan is compiled once for (fetches, targets, feeds) and runs any number of times, also in several threads at once: all
state of a step is in the local variables of one call.

Source: tensorflow/core/common_runtime/executor.cc, release 1.15 (which node an error names).
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from gpuplace.callers import is_of_signal_handler
from gpuplace.errors import DeadlineExceededError, ResourceExhaustedError
from gpuplace.numerics.float_state import enter, errors_now, has_denormals, keep_denormals, put_errors
from gpuplace.runtime.backends.cupy_backend import gpu_step
from gpuplace.runtime.plan.codegen.functions import PlanCode
from gpuplace.runtime.plan.schedule.partition import Schedule
from gpuplace.runtime.plan.step_errors import failed_step_error


@dataclass(eq=False, repr=False)
class Plan:
    """A compiled signature.

    Args:
        schedule: the schedule.
        code: the compiled function.
        release: release whose error texts are used.
        first_transfer: first number in the names of its transfer nodes in traces.
    """

    schedule: Schedule
    code: PlanCode
    release: str
    first_transfer: int = 0

    def __post_init__(self) -> None:
        self._function = self.code.function

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Return the fetched values for fed arrays of the right types.

        Overflow, division by zero and invalid operations are silent, as in TensorFlow.

        Raises:
            OpError: A kernel failed, with its node, device, inputs and source line.
        """
        errors, had_denormals = errors_now(), has_denormals()
        try:
            enter()
            return self._function(*feeds)
        except Exception as error:
            failure = self.failure(error)
            if failure is error:
                raise
            raise failure from error  # the session keeps only the program's own part of the cause
        finally:
            try:
                put_errors(errors)
            finally:
                if had_denormals:
                    keep_denormals()

    def failure(self, error: Exception, code: PlanCode | None = None) -> Exception:
        """Return the error of the node that was running, or ``error`` itself if none was."""
        if isinstance(error, DeadlineExceededError) or is_of_signal_handler(error):
            return error
        code = code or self.code
        frame = self.frame_of(error.__traceback__, code)
        step = None if frame is None else code.owners[frame.tb_lineno]
        if frame is None or step is None:
            if isinstance(error, MemoryError):
                return ResourceExhaustedError.of(f"OOM when fetching a value: {error}")
            return error
        local_values: Any = frame.tb_frame.f_locals
        global_values = frame.tb_frame.f_globals
        names = code.arguments.get(frame.tb_lineno, ())
        values = [local_values[name] if name in local_values else global_values.get(name) for name in names]
        blamed = code.blamed.get(frame.tb_lineno)
        op = step.op or step.inputs[0].tensor.op
        feeds = [slot.tensor.name for slot in self.schedule.feeds]
        failure = failed_step_error(error, op, step.device, values, self.release, blamed, feeds)
        traceback.clear_frames(error.__traceback__)  # otherwise the error would keep the step's tensors alive
        if isinstance(local_values, dict):  # up to Python 3.12 a copy, which the frame keeps
            local_values.clear()
        return failure

    @staticmethod
    def frame_of(trace: TracebackType | None, code: PlanCode) -> TracebackType | None:
        """Return the innermost frame of a plan's functions in a traceback."""
        frame = None
        while trace is not None:
            if any(trace.tb_frame.f_code is plan_code for plan_code in code.codes):
                frame = trace
            elif frame is not None:
                break
            trace = trace.tb_next
        return frame


class ConstantPlan(Plan):
    """A plan that returns constants and computes nothing."""

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run the plan; see ``Plan.run``."""
        try:
            return self._function(*feeds)
        except MemoryError as error:  # for the caller's copy
            raise self.failure(error) from error


class PlanOnGPU(Plan):
    """A plan that changes the thread's current device and queues kernels on GPUs."""

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run the plan; see ``Plan.run``."""
        with gpu_step():
            return super().run(feeds)
