"""Findings as records: the cause, the fix, and the fix's predicted saving."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.typing import DataFrame

DOES_NOT_FIT = "does not fit"
GRADIENTS = "gradients elsewhere"
HOST_DATA = "data through the CPU"
OVERRIDDEN = "overridden request"
VARIABLES = "copied variables"
AVERAGING = "gradient averaging"
IDLE = "idle GPU"
INPUT = "input on a GPU"
SMALL = "small kernels"

KINDS = {
    DOES_NOT_FIT: "a GPU has too little memory for the step",
    GRADIENTS: "gradients are computed on a different device from their layer",
    HOST_DATA: "ops without a GPU kernel move data from the GPU to the CPU and back",
    OVERRIDDEN: "a reference or resource edge overrides a device request",
    VARIABLES: "GPUs copy variables from another device in every step",
    AVERAGING: "one device averages the gradients of all towers",
    IDLE: "a GPU is idle, or waits for work that was pinned to the CPU",
    INPUT: "input pipeline ops take the GPU's time",
    SMALL: "starting kernels takes longer than running them",
}
"""Kind of finding -> its meaning."""


class FindingRow(NamedTuple):
    """A finding as a row of a table."""

    kind: str
    """One of `KINDS`."""
    headline: str
    """The finding in one line."""
    gain: float
    """Predicted seconds that the fix saves; NaN without a prediction."""
    share: float
    """The same as a fraction of the step."""
    short: int
    """Bytes of missing memory; 0 if the step fits."""
    nodes: int
    """Number of affected nodes."""
    devices: str
    """Short names of the affected devices."""
    cause: str
    """The cause."""
    fix: str
    """Recommended change of the program."""
    code: str
    """The change as Python code."""


@dataclass(frozen=True)
class Finding:
    """A cause that costs time, or keeps the step from running, with the change that removes it."""

    kind: str
    """One of `KINDS`."""
    headline: str
    """The finding in one line."""
    cause: str
    """The cause in one or two sentences, with names and numbers."""
    fix: str
    """Recommended change of the program, in TensorFlow's terms."""
    code: str
    """The change as Python code."""
    nodes: tuple[str, ...]
    """The affected nodes, in graph order."""
    devices: tuple[str, ...]
    """Short names of the affected devices."""
    gain: float | None
    """Predicted seconds that the change saves; None without a prediction."""
    short: int = 0
    """Bytes of missing memory; 0 if the step fits."""
    moved: tuple[tuple[str, str], ...] = ()
    """Nodes that the change moves, with the short name of the new device."""

    def row(self, step_time: float) -> FindingRow:
        """Return the finding as a row of a table.

        Args:
            step_time: time of the step in seconds.
        """
        gain = math.nan if self.gain is None else self.gain
        return FindingRow(
            self.kind,
            self.headline,
            gain,
            gain / step_time if step_time else math.nan,
            self.short,
            len(self.nodes),
            ", ".join(self.devices),
            self.cause,
            self.fix,
            self.code,
        )

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Finding: {self.kind}: {self.headline}>"


def no_findings(reason: str) -> Findings:
    """Return empty findings for a step that was not searched.

    Args:
        reason: the reason, a sentence.
    """
    return Findings((), 0.0, skipped=reason)


@dataclass(frozen=True)
class Findings:
    """The findings of a step: at most five, the largest predicted gain first."""

    rows: tuple[Finding, ...]
    """The findings. Missing memory comes first, since the step cannot run."""
    step_time: float
    """Predicted time of the step in seconds, without changes."""
    harmless: tuple[tuple[str, int], ...] = ()
    """Kinds of nodes that never run on a GPU, such as ``savers``, and their numbers (`gpuplace.why.harmless`)."""
    skipped: str = ""
    """Why the step was not searched; ``""`` if it was."""
    notes: tuple[str, ...] = ()
    """Assumptions of the predictions, a sentence each."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.rows)

    def __getitem__(self, number: int) -> Finding:
        return self.rows[number]

    @with_safe_text
    def __repr__(self) -> str:
        count = len(self.rows)
        first = f", first {self.rows[0].kind}: {self.rows[0].headline}" if count else ""
        return f"<{count} finding{'' if count == 1 else 's'}{first}>"

    @with_safe_text
    def __str__(self) -> str:
        findings_text = above("gpuplace.views.tables.findings", "findings_text")
        found: str = findings_text(self)
        return found

    def table(self) -> list[FindingRow]:
        """Return a row for each finding."""
        return [one.row(self.step_time) for one in self.rows]

    def frame(self) -> DataFrame:
        """Return the findings as a pandas ``DataFrame``; for columns see `gpuplace.jupyter.frames.estimate_frames`."""
        return above("gpuplace.jupyter.frames.estimate_frames", "findings_frame")(self)

    _repr_mimebundle_ = notebook_view
