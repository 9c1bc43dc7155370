"""Plans with real GPUs: they change the thread's current device, and put it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.backends.copy_streams import settling
from gpuplace.backends.cupy_backend import CupyBackend, gpu_step
from gpuplace.plan.executor import Plan


class PlanOnGPU(Plan):
    """A plan that changes the thread's current device and queues work on GPUs.

    Args:
        gpus: the real ones among its devices.
    """

    def __init__(self, *arguments: Any, gpus: Sequence[CupyBackend], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._copies = [gpu.queued.streams for gpu in gpus if gpu.queued is not None]

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """As ``Plan.run``."""
        with gpu_step():
            if not self._copies:
                return self.run_entered(feeds)
            with settling(self._copies):
                return self.run_entered(feeds)

    def run_entered(self, feeds: Sequence[Any]) -> list[Any]:
        """Does the work of ``run``, which cleans up behind it."""
        return super().run(feeds)
