"""Plans with real GPUs: they change the thread's current device, and put it back.

When a step fails, the copies that it queued are waited for before the error goes to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.backends.cupy_backend import CupyBackend, gpu_step
from gpuplace.errors import InternalError
from gpuplace.plan.executor import Plan

__all__ = ["PlanOnGPU"]


class PlanOnGPU(Plan):
    """A plan that changes the thread's current device and queues work on GPUs.

    Args:
        gpus: the real ones among its devices.
    """

    def __init__(self, *arguments: Any, gpus: Sequence[CupyBackend], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._gpus = tuple(gpus)

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """As ``Plan.run``."""
        with gpu_step():
            try:
                return self.run_entered(feeds)
            except BaseException as error:
                self.settle(error)
                raise
            finally:
                for gpu in self._gpus:
                    gpu.streams.let_go()

    def run_entered(self, feeds: Sequence[Any]) -> list[Any]:
        """Does the work of ``run``, which cleans up behind it."""
        return super().run(feeds)

    def settle(self, error: BaseException) -> None:
        """Waits for the copies of a step that failed with ``error``."""
        for gpu in self._gpus:
            try:
                gpu.streams.settle()
            except InternalError as late:  # one error for the caller, with both texts
                error.add_note(f"A copy that was under way: {late.message}")
