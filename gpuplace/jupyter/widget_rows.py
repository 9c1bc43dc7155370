"""The notes of the explorer's legend: what stands behind the devices."""

from __future__ import annotations

from gpuplace.report.drawing import Drawing
from gpuplace.report.text import bytes_text, counted

__all__ = ["legend_notes"]


def legend_notes(drawing: Drawing) -> list[list[str]]:
    """``[kind, text]`` of what stands behind the devices in the legend."""
    notes = []
    if drawing.copies:
        size = f", {bytes_text(drawing.nbytes)}" if drawing.nbytes else ""
        notes.append(["copy", f"╌╌ {counted(drawing.copies, 'copy', 'copies')} between devices{size}"])
    if drawing.unmet:
        notes.append(["alarm", f"≠ {counted(drawing.unmet, 'request')} not met"])
    if drawing.guilty:
        notes.append(["alarm", f"✖ {counted(drawing.guilty, 'node')} cannot be placed"])
    if drawing.nodes > len(drawing.boxes):
        notes.append(
            ["plain", f"▸ {counted(drawing.nodes, 'node')} in {counted(len(drawing.boxes), 'box', 'boxes')}"]
        )
    return notes
