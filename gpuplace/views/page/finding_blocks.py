"""What stands out in a step, as blocks that a page draws (`gpuplace.views.tables.blocks`)."""

from __future__ import annotations

from typing import Any

from gpuplace.findings.finding import Finding, Findings
from gpuplace.views.tables.blocks import Block, text_block
from gpuplace.views.tables.findings import NOTHING, below, saving_text
from gpuplace.views.tables.text import printable

HEADING = "What stands out"
"""Heading of the blocks."""


def finding_blocks(found: Findings) -> list[Block]:
    """The findings as a table, with what is harmless and what was assumed below it.

    Args:
        found: the findings.
    """
    if found.skipped:
        return [text_block(found.skipped, "faint")]
    blocks: list[Block] = []
    if found.rows:
        blocks.append(
            {
                "kind": "table",
                "caption": HEADING,
                "columns": ["finding", "predicted", "cause", "what to change"],
                "rows": [
                    [
                        {"strong": printable(one.headline)},
                        _saving(one, found.step_time),
                        printable(one.cause),
                        _fix(one),
                    ]
                    for one in found
                ],
                "look": "findings",
            }
        )
    else:
        blocks.append(text_block(NOTHING, "status"))
    return [*blocks, *(text_block(text, "faint") for text in below(found))]


def _saving(one: Finding, step_time: float) -> Any:
    text = saving_text(one, step_time)
    if one.gain is None or not step_time:
        return text
    return {"bar": [[one.gain / step_time, "busy", text]], "text": text}


def _fix(one: Finding) -> Any:
    fix = printable(one.fix)
    return {"text": fix, "code": "\n".join(map(printable, one.code.split("\n")))} if one.code else fix
