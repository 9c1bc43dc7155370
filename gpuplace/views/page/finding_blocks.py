"""The findings of a step as blocks of a page (`gpuplace.views.tables.blocks`)."""

from __future__ import annotations

from typing import Any

from gpuplace.findings.finding import Finding, Findings
from gpuplace.views.tables.blocks import Block, text_block
from gpuplace.views.tables.findings import NOTHING, below, saving_text
from gpuplace.views.tables.text import printable

HEADING = "Findings"
"""Heading of the blocks."""


def finding_blocks(findings: Findings) -> list[Block]:
    """Return the findings as a table, followed by the harmless nodes and the assumptions.

    Args:
        findings: of one step.
    """
    if findings.skipped:
        return [text_block(findings.skipped, "faint")]
    blocks: list[Block] = []
    if findings.rows:
        blocks.append(
            {
                "kind": "table",
                "caption": HEADING,
                "columns": ["finding", "predicted", "cause", "what to change"],
                "rows": [
                    [
                        {"strong": printable(finding.headline)},
                        _saving(finding, findings.step_time),
                        printable(finding.cause),
                        _fix(finding),
                    ]
                    for finding in findings
                ],
                "look": "findings",
            }
        )
    else:
        blocks.append(text_block(NOTHING, "status"))
    return [*blocks, *(text_block(text, "faint") for text in below(findings))]


def _saving(finding: Finding, step_time: float) -> Any:
    text = saving_text(finding, step_time)
    if finding.gain is None or not step_time:
        return text
    return {"bar": [[finding.gain / step_time, "busy", text]], "text": text}


def _fix(finding: Finding) -> Any:
    fix = printable(finding.fix)
    return {"text": fix, "code": "\n".join(map(printable, finding.code.split("\n")))} if finding.code else fix
