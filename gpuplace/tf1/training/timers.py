"""Timers for hooks that run at intervals of steps or seconds.

>>> timer = SecondOrStepTimer(every_steps=10)
>>> triggered = []
>>> for step in range(25):
...     if timer.should_trigger_for_step(step):
...         triggered.append(step)
...         _ = timer.update_last_triggered_step(step)
>>> triggered
[0, 10, 20]

Source: tensorflow/python/training/basic_session_run_hooks.py, release 1.15.
"""

from __future__ import annotations

import time


class SecondOrStepTimer:
    """A timer that triggers at the first step and then at intervals of steps or seconds.

    Args:
        every_secs: interval in seconds, or None.
        every_steps: interval in steps, or None.

    Raises:
        ValueError: neither is given, or both are.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        self.reset()
        self._every_secs = every_secs
        self._every_steps = every_steps
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")

    def reset(self) -> None:
        """Reset the timer: the next step triggers."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether to trigger at this step; never twice for the same step.

        Args:
            step: the global step.
        """
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return self._every_steps is not None and step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record that the timer triggered.

        Args:
            step: the global step.

        Returns:
            Seconds and steps since the previous trigger; None for both at the first one.
        """
        now = time.time()
        elapsed: tuple[float | None, int | None] = (None, None)
        if self._last_time is not None and self._last_step is not None:
            elapsed = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """Return the step of the last trigger, or None."""
        return self._last_step


class NeverTriggerTimer(SecondOrStepTimer):
    """A timer that never triggers."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        """Return False.

        Args:
            step: the global step.
        """
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Do nothing.

        Args:
            step: the global step.

        Returns:
            A pair of None.
        """
        return None, None
