"""Plans with real GPUs: they change the thread's current device, and put it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.backends.cupy_backend import gpu_step
from gpuplace.plan.executor import Plan


class PlanOnGPU(Plan):
    """A plan that changes the thread's current device and queues kernels on GPUs."""

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """As ``Plan.run``."""
        with gpu_step():
            return super().run(feeds)
