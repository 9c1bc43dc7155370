"""A recommendation as blocks of a page (`gpuplace.views.tables.blocks`): before and after, moves, program text."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.choice_scores import OBJECTIVES
from gpuplace.advisor.steps.moves import Move
from gpuplace.advisor.steps.step_search import SearchProgress
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.views.tables.blocks import Block, button, buttons_block, heading_block, table_block, text_block
from gpuplace.views.tables.palette import chip_look
from gpuplace.views.tables.text import counted

_WORDS = {
    "step_time": ("a step", "takes"),
    "throughput": ("the busiest device", "works in a step"),
    "memory": ("the fullest device", "needs"),
}
WORDS = dict(zip(OBJECTIVES, ("time of a step", "steps in a pipeline", "memory"), strict=True))
"""Objective -> its label in the list of objectives."""


def value_text(objective: str, value: float) -> str:
    """Return a value of an objective with its unit.

    >>> value_text("memory", 2048), value_text("step_time", 0.002)
    ('2 KiB', '2 ms')
    """
    return size_text(value) if objective == "memory" else seconds_text(value)


def gap_text(advice: Advice) -> str:
    """Describe the distance of the recommendation from the optimum.

    Args:
        advice: the recommendation.
    """
    if advice.gap == 0:
        return "no placement can be better"
    if math.isinf(advice.gap):
        return "the best possible value is unknown"
    if advice.gap > 1:
        return f"at most {1 + advice.gap:.1f} times the best possible: none is below {advice.shown(advice.bound)}"
    return f"within {advice.gap:.0%} of the best possible: none is below {advice.shown(advice.bound)}"


def progress_blocks(objective: str, done: SearchProgress | None) -> list[Block]:
    """Return the progress of a search, with a button that stops it.

    Args:
        objective: as for `gpuplace.advise`.
        done: progress of the search; None before the first answer.
    """
    text, share = "Estimating the current step", 0.0
    if done is not None:
        share = done.fraction
        text = f"The best so far: {value_text(objective, done.score.value)}"
        if done.score.missing:
            text += f", but it is {size_text(done.score.missing)} short of memory"
    return [
        {"kind": "progress", "share": share, "label": "Search for a better placement", "text": text},
        buttons_block("The search", [button("Stop", "advice:stop", "and keep the best so far")]),
    ]


def advice_blocks(
    advice: Advice, chosen: Collection[str], applied: str = "", why_not: str = ""
) -> list[Block]:
    """Return a recommendation as blocks: the step before and after, the moved regions, and the program text.

    Args:
        advice: the recommendation.
        chosen: scopes of the selected moves.
        applied: description of the applied part; ``""`` if nothing is applied.
        why_not: why it cannot be applied; ``""`` if it can.
    """
    blocks = [text_block(advice.text, "status")]
    blocks += [text_block(note) for note in advice.notes]
    if advice.was_stopped:
        blocks.append(text_block("The search was stopped early. This is the best placement so far.", "faint"))
    if applied:
        blocks.append(text_block(applied, "part"))
    if why_not:
        blocks.append(text_block(why_not, "stale"))
    blocks.append({"kind": "side", "parts": [[_before_and_after(advice)], [_devices(advice)]]})
    if advice.moves:
        blocks += [
            heading_block(f"Moves: {counted(len(advice.moves), 'region')}"),
            _moves(advice.moves, advice, chosen, bool(why_not)),
            _buttons(advice, chosen, bool(applied), bool(why_not)),
        ]
    if advice.has_gain:
        blocks += [
            heading_block("As Python"),
            {
                "kind": "code",
                "text": advice.as_python(),
                "label": "The recommendation as Python",
                "copy": "Copy as Python",
            },
        ]
    return blocks


def _before_and_after(advice: Advice) -> Block:
    most = max([value for value in (advice.before, advice.value) if math.isfinite(value)], default=0.0) or 1.0

    def bar(value: float, label: str) -> Any:
        if not math.isfinite(value):
            return "cannot be placed, or does not fit"
        text = advice.shown(value)
        return {"bar": [[value / most, "busy", f"{label}: {text}"]], "text": text}

    rows = [["now", bar(advice.before, "now")], [{"strong": "advised"}, bar(advice.value, "advised")]]
    if advice.bound > 0:
        rows.append(["at best", bar(advice.bound, "no placement is below")])
    rows.append(["how good", gap_text(advice)])
    if advice.objective != "step_time":
        now = "" if advice.baseline is None else f"{seconds_text(advice.baseline.step_time)} now, "
        rows.append(["a step", f"{now}{seconds_text(advice.estimate.step_time)} advised"])
    return table_block("Before and after", [*_WORDS[advice.objective]], rows)


def _devices(advice: Advice) -> Block:
    rows, devices = [], advice.rows("devices")
    longest = max([row.busy_after for row in devices] + [_known(row.busy_before) for row in devices]) or 1.0
    fullest = max([row.peak_after for row in devices] + [_known(row.peak_before) for row in devices]) or 1.0

    def busy(value: float) -> Any:
        if math.isnan(value):
            return ""
        text = seconds_text(value)
        return {"bar": [[value / longest, "busy", f"busy: {text}"]], "text": text}

    def peak(value: float, limit: int) -> Any:
        if math.isnan(value):
            return ""
        text = size_text(value) + (": does not fit" if 0 < limit < value else "")
        return {"bar": [[value / fullest, "variables", f"peak: {text}"]], "text": text}

    for row in devices:
        rows.append(
            [
                chip_look(row.device),
                f"{row.nodes_before:,}",
                f"{row.nodes_after:,}",
                busy(row.busy_before),
                busy(row.busy_after),
                peak(row.peak_before, row.limit),
                peak(row.peak_after, row.limit),
            ]
        )
    return table_block(
        "Devices before and after",
        [
            *("device", "nodes now", "advised"),
            *("busy now", "busy recommended", "memory now", "memory recommended"),
        ],
        rows,
        [1, 2],
        look="short",
    )


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _moves(moves: Collection[Move], advice: Advice, chosen: Collection[str], is_off: bool) -> Block:
    rows = []
    for number, move in enumerate(moves):
        name = move.scope or "everything"
        tick = {
            "check": move.scope in chosen,
            "name": f"advice:choose:{number}",
            "label": f"Apply the move of {name}",
            "off": is_off,
        }
        is_scope = bool(move.scope) and "{" not in move.scope
        rows.append(
            [
                tick,
                {"node": move.scope} if is_scope else {"strong": name},
                f"{len(move.nodes):,}",
                _chips(move.source),
                _chips(move.target),
                advice.shown(move.saves) if move.saves > 0 else "",
                move.why,
            ]
        )
    return table_block(
        "Moves",
        ["apply", "region", "nodes", "from", "to", "saves", "because"],
        rows,
        [2, 5],
        look="prose",
    )


def _chips(devices: str) -> Block:
    return {"chips": [chip_look(f"/device:{label}") for label in devices.split(", ")]}


def _buttons(advice: Advice, chosen: Collection[str], is_applied: bool, is_off: bool) -> Block:
    buttons = []
    if not is_off:
        some = len(chosen)
        buttons.append(button("Apply all", "advice:all"))
        if 0 < some < len(advice.moves):
            buttons.append(
                button("Apply the selected moves", "advice:some", f"{some} of {len(advice.moves)}")
            )
    if is_applied:
        buttons.append(button("Revert the recommendation", "advice:back"))
    return buttons_block("The advice", buttons)
