"""Findings as records: a cause, the change that removes it, and the predicted gain of the change."""

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
    GRADIENTS: "gradients are computed on another device than their layer",
    HOST_DATA: "ops without a GPU kernel move data from the GPU to the host and back",
    OVERRIDDEN: "a reference or resource edge overrides a device request",
    VARIABLES: "GPUs copy variables from another device in every step",
    AVERAGING: "one device averages the gradients of all towers",
    IDLE: "a GPU has nothing to do, or waits for work that was pinned to the CPU",
    INPUT: "input pipeline ops take the GPU's time",
    SMALL: "starting kernels takes longer than running them",
}
"""Meaning of each kind of finding."""


class FindingRow(NamedTuple):
    """Finding as a table row."""

    kind: str
    """One of `KINDS`."""
    headline: str
    """Summary in one line."""
    gain: float
    """Predicted time saved by the fix, in seconds; NaN if it cannot be predicted."""
    share: float
    """Predicted time saved, as a fraction of the step time."""
    short: int
    """Missing memory in bytes; 0 if the step fits."""
    nodes: int
    """Number of nodes concerned."""
    devices: str
    """Short names of the devices concerned."""
    cause: str
    """The cause."""
    fix: str
    """Change to make in the program."""
    code: str
    """Change as Python code."""


@dataclass(frozen=True)
class Finding:
    """A cause that costs time or prevents the step from running, and the change that removes it."""

    kind: str
    """One of `KINDS`."""
    headline: str
    """Summary in one line."""
    cause: str
    """Cause in one or two sentences, with names and numbers."""
    fix: str
    """Change to make in the program, in TensorFlow's terms."""
    code: str
    """Change as Python code."""
    nodes: tuple[str, ...]
    """Names of the nodes concerned, in graph order."""
    devices: tuple[str, ...]
    """Short names of the devices concerned."""
    gain: float | None
    """Predicted time saved by the change, in seconds; None if it cannot be predicted."""
    short: int = 0
    """Missing memory in bytes; 0 if the step fits."""
    moved: tuple[tuple[str, str], ...] = ()
    """Nodes that the change moves to another device, with the short name of that device."""

    def row(self, step_time: float) -> FindingRow:
        """Return the finding as a table row.

        Args:
            step_time: step time in seconds.
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
    """Return the result for a step that was not searched.

    Args:
        reason: the reason, as a sentence.
    """
    return Findings((), 0.0, skipped=reason)


@dataclass(frozen=True)
class Findings:
    """Findings of a step: at most five, the largest predicted gain first."""

    rows: tuple[Finding, ...]
    """Findings; a step that does not fit in memory comes first, because it cannot run."""
    step_time: float
    """Step time without changes, in seconds."""
    harmless: tuple[tuple[str, int], ...] = ()
    """Kinds of nodes that never run on a GPU, such as ``savers``, and their counts (`gpuplace.why.harmless`)."""
    skipped: str = ""
    """Reason why the step was not searched; ``""`` if it was."""
    notes: tuple[str, ...] = ()
    """Assumptions of the predictions, as sentences."""

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
        findings_text = above("gpuplace.tables.findings", "findings_text")
        text: str = findings_text(self)
        return text

    def table(self) -> list[FindingRow]:
        """Return the findings as table rows."""
        return [finding.row(self.step_time) for finding in self.rows]

    def frame(self) -> DataFrame:
        """Return the findings as a pandas ``DataFrame``.

        `gpuplace.jupyter.frames.estimate_frames` lists the columns.
        """
        findings_frame = above("gpuplace.jupyter.frames.estimate_frames", "findings_frame")

        return findings_frame(self)

    _repr_mimebundle_ = notebook_view
