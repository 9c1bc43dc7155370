"""When hooks do something: every so many steps or seconds.

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
    """Triggers at the first step and then once every so many steps or seconds.

    Args:
        every_secs: seconds; None: steps count.
        every_steps: steps; None: seconds count.

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
        """Begins anew: the next step triggers."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time; never twice for a step.

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
        """Notes that it triggered.

        Args:
            step: the global step.

        Returns:
            Seconds and steps since the time before; None for both at the first time.
        """
        now = time.time()
        elapsed: tuple[float | None, int | None] = (None, None)
        if self._last_time is not None and self._last_step is not None:
            elapsed = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The step at which it triggered last; None before the first time."""
        return self._last_step


class NeverTriggerTimer(SecondOrStepTimer):
    """Never triggers."""

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        """False.

        Args:
            step: the global step.
        """
        return False

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes nothing.

        Args:
            step: the global step.

        Returns:
            None twice.
        """
        return None, None
