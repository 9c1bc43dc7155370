"""A parsed log where the explorer expects settings: it can be looked at, and nothing about it can be changed."""

from __future__ import annotations

from typing import Any

from gpuplace.device.machine import Machine
from gpuplace.errors import FailedPreconditionError
from gpuplace.release import get_release
from gpuplace.report.logged_placement import LoggedPlacement

__all__ = ["LoggedState"]


class LoggedState:
    """Stands in the place of a `WhatIf`.

    Attributes:
        placement: the log.
        error: says, after a change was asked for, that a log cannot be placed again.
    """

    mapping = ()
    soft = False

    def __init__(self, log: LoggedPlacement) -> None:
        self.placement = self.source = log
        self.machine = log.machine() if log.device_names else Machine.simulated(gpus=0)
        self.release = get_release()
        self.visible: tuple[int, ...] = ()
        self.error: Exception | None = None

    def change(self, **settings: Any) -> None:
        """Changes nothing; `error` says why."""
        self.error = FailedPreconditionError(
            None,
            None,
            "A log tells where nodes were, and cannot be placed again.",
            facts={"asked for": ", ".join(f"{name}={value}" for name, value in settings.items())},
            hint="explore its graph on the log's machine, explore(graph, machine=log.machine()), or log.compare(graph)",
        )

    def log(self) -> str:
        """The log's lines about nodes."""
        return "".join(
            f"{row.name}: ({row.type}): {row.device}\n" if row.type else f"{row.name}: {row.device}\n"
            for row in self.placement.rows
        )
