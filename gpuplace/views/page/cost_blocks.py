"""The predicted cost of a step as blocks of a page (`gpuplace.views.tables.blocks`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.cost.comparison import Comparison
from gpuplace.cost.grid import GridRow
from gpuplace.cost.memory.memory_curve import memory_curve
from gpuplace.cost.sentences import breakdown, explanation, peak_text
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.views.tables.blocks import (
    Block,
    button,
    buttons_block,
    error_card,
    heading_block,
    table_block,
    text_block,
)
from gpuplace.views.tables.palette import GPU_FILLS, chip_look, device_style
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted
from gpuplace.views.timelines.plots import Axis, Line, plot_svg

_MOST_ROWS = 12
_MOST_LINES = 10
"""Maximum number of devices in the memory plot."""
_SECONDS = 1e6
"""Microseconds in a second."""


def seconds_text(seconds: float) -> str:
    """Return a time with its unit.

    >>> seconds_text(0.0123), seconds_text(0.0)
    ('12.3 ms', '0 µs')
    """
    return time_text(seconds * _SECONDS)


def change_text(now: float, before: float) -> str:
    """Describe a change of time.

    >>> change_text(0.05, 0.1), change_text(0.1, 0.1)
    ('100 ms before the last change: 50.0% less', 'as before the last change')
    """
    if abs(now - before) <= 1e-9 * max(now, before):
        return "as before the last change"
    share = abs(now - before) / before if before else 1.0
    return f"{seconds_text(before)} before the last change: {share:.1%} {'less' if now < before else 'more'}"


def cost_blocks(step: StepEstimate, before: float | None = None) -> list[Block]:
    """Return the predicted cost of a step as blocks.

    Args:
        step: estimate of the step.
        before: time of the step before the last change in seconds; None without one.
    """
    told = f"A step takes {seconds_text(step.step_time)}"
    if before is not None:
        told += f" ({change_text(step.step_time, before)})"
    blocks = [text_block(f"{told}. {step.guessed:.0%} of the kernel time is guessed.", "status")]
    blocks.append(text_block("\n".join(explanation(step, with_breakdown=False).splitlines()[1:])))
    if step.step_time:
        blocks.append(_breakdown(step))
    ops, nodes = _longest(step)
    blocks.append(_side_by_side([_devices(step)], _memory(step)))
    blocks.append(_side_by_side([ops], _copies(step)))
    blocks.append(nodes)
    return blocks


def _breakdown(step: StepEstimate) -> Block:
    """Return the parts of the step time as bars, whose shares add up to 100 %."""
    rows = [
        [
            {"strong": part.name},
            {"bar": [[part.percent / 100, "busy", part.name]], "text": f"{part.percent}%"},
            seconds_text(part.seconds),
        ]
        for part in breakdown(step)
    ]
    return table_block("Breakdown of the step time", ["part", "share", "time"], rows, [2])


def _side_by_side(*parts: list[Block]) -> Block:
    return {"kind": "side", "parts": [part for part in parts if part]}


def compared_blocks(compared: Comparison, is_beside: bool) -> list[Block]:
    """Return the predicted and the measured step side by side, by op type.

    Args:
        compared: predicted and measured step.
        is_beside: whether the timeline shows both steps.
    """
    rows = [
        [
            {"strong": row.op},
            row.device_type,
            f"{row.nodes:,}",
            seconds_text(row.predicted),
            seconds_text(row.measured),
            f"{row.off:+.0%}",
        ]
        for row in compared.ops[:_MOST_ROWS]
    ]
    told = (
        f"The measured step took {seconds_text(compared.measured)}; {seconds_text(compared.predicted)} were "
        f"predicted, {compared.off:+.0%}."
    )
    label = "Show the measured step alone" if is_beside else "Show predicted and measured in the timeline"
    return [
        heading_block("Predicted and measured"),
        text_block(told),
        table_block(
            "Predicted and measured, by op type",
            ["op type", "on", "nodes", "predicted", "measured", "off"],
            rows,
            [2, 3, 4, 5],
        ),
        buttons_block("The timeline", [button(label, "cost:beside")]),
    ]


def cost_error_blocks(error: BaseException) -> list[Block]:
    """Return the reason why there is no prediction."""
    return [{"kind": "error", "quiet": True, **error_card(error)}]


def _devices(step: StepEstimate) -> Block:
    memory = {row.device: row for row in step.rows("memory")}
    rows = []
    for row in step.rows("devices"):
        kept = memory.get(row.device)
        rows.append(
            [
                chip_look(row.device),
                row.hardware,
                f"{row.nodes:,}",
                {
                    "bar": [[row.share, "busy", f"busy: {seconds_text(row.busy)}"]],
                    "text": f"{seconds_text(row.busy)}, {row.share:.0%}",
                },
                _moved(row.copies_in, row.bytes_in),
                _moved(row.copies_out, row.bytes_out),
                "" if kept is None else _peak(kept),
            ]
        )
    columns = ["device", "hardware", "nodes", "busy", "copies in", "copies out", "peak memory"]
    return table_block("Devices in the step", columns, rows, [2, 4, 5])


def _moved(count: int, nbytes: float) -> str:
    return f"{count:,}: {bytes_text(round(nbytes))}" if count else ""


def _peak(row: Any) -> Any:
    if row.peak is None or not row.limit:
        return peak_text(row.peak, row.fits, bytes_text)
    told = peak_text(row.peak, row.fits, lambda nbytes: f"{bytes_text(nbytes)} of {bytes_text(row.limit)}")
    return {"bar": [[row.peak / row.limit, "variables", f"peak at {row.at}"]], "text": told}


def _memory(step: StepEstimate) -> list[Block]:
    lines: list[Line] = []
    for row in step.rows("memory"):
        points = memory_curve(step, row.device)
        if len(points) > 2:
            style = device_style(row.device)
            lines.append(Line(style.label, style.fill, points, row.limit or None))
    if not lines:
        return []
    shown = sorted(lines, key=lambda line: -max(y for _, y in line.points))[:_MOST_LINES]
    label = "Bytes in use over the step: " + ", ".join(
        f"{line.label} at most {bytes_text(round(max(y for _, y in line.points)))}" for line in shown
    )
    svg = plot_svg(
        shown,
        Axis("time in the step", seconds_text),
        Axis("bytes in use", lambda value: bytes_text(round(value)), base=2),
        is_stepped=True,
        theme="page",
        width=440,
        height=220,
        title=label,
    )
    return [heading_block("Memory over the step"), {"kind": "picture", "svg": svg, "label": label}]


def _longest(step: StepEstimate) -> tuple[Block, Block]:
    ops = [
        [
            {"strong": row.op},
            row.device_type,
            f"{row.nodes:,}",
            seconds_text(row.time),
            f"{row.share:.1%}",
            row.model,
        ]
        for row in step.rows("ops")[:_MOST_ROWS]
    ]
    nodes = sorted(step.rows("nodes"), key=lambda row: (-row.time, row.name))[:_MOST_ROWS]
    listed = [
        [{"node": row.name}, row.op, chip_look(row.device), seconds_text(row.time), row.guessed or row.model]
        for row in nodes
    ]
    return (
        table_block("Op types by time", ["op type", "on", "nodes", "time", "share", "model"], ops, [2, 3, 4]),
        table_block("Nodes by time", ["node", "op type", "device", "time", "model"], listed, [3]),
    )


def _copies(step: StepEstimate) -> list[Block]:
    moved = step.copies
    if not moved:
        return [text_block("Nothing is copied between devices.", "faint")]
    rows = [
        [
            {"node": copy.tensor.partition(":")[0]},
            chip_look(copy.source),
            chip_look(copy.target),
            bytes_text(round(copy.bytes)),
            seconds_text(copy.time),
            seconds_text(copy.wait),
            copy.way,
        ]
        for copy in sorted(moved, key=lambda copy: (-copy.time, copy.tensor))[:_MOST_ROWS]
    ]
    blocks = [
        table_block(
            "Copies by time", ["tensor of", "from", "to", "bytes", "time", "waited", "way"], rows, [3, 4, 5]
        )
    ]
    if len(moved) > _MOST_ROWS:
        blocks.append(
            text_block(f"and {counted(len(moved) - _MOST_ROWS, 'more copy', 'more copies')}", "faint")
        )
    return blocks


def grid_blocks(rows: Sequence[GridRow]) -> list[Block]:
    """Return predictions for several machines and batch sizes as a table and a plot."""
    has_batch = any(row.batch is not None for row in rows)
    fastest = min((row.step_time for row in rows if row.step_time == row.step_time), default=0.0)
    table = []
    for row in rows:
        batch = [] if not has_batch else ["" if row.batch is None else f"{row.batch:,}"]
        if row.error:
            table.append([row.machine, *batch, row.error.splitlines()[0], "", "", ""])
            continue
        rate = f"{row.rate:,.1f}" if row.rate == row.rate else ""
        told = seconds_text(row.step_time)
        time: Any = {"strong": told} if row.step_time == fastest else told
        peak = peak_text(row.peak, row.fits, bytes_text)
        table.append([row.machine, *batch, time, rate, peak, f"{row.guessed:.0%}"])
    columns = [
        "machine",
        *(["batch"] if has_batch else []),
        "step",
        "examples per second",
        "peak memory",
        "guessed",
    ]
    first = 2 if has_batch else 1
    blocks: list[Block] = [
        table_block(
            "Machines and batch sizes",
            columns,
            table,
            [*([1] if has_batch else []), first, first + 1, first + 3],
        )
    ]
    lines: list[Line] = []
    for machine in dict.fromkeys(row.machine for row in rows):
        points = [
            (float(row.batch), row.rate)
            for row in sorted((row for row in rows if row.machine == machine), key=lambda row: row.batch or 0)
            if row.batch is not None and row.rate == row.rate
        ]
        if points:
            lines.append(Line(machine, GPU_FILLS[len(lines) % len(GPU_FILLS)], points))
    if any(len(line.points) > 1 for line in lines):
        label = "Examples per second by batch size: " + "; ".join(
            f"{line.label} {line.points[0][1]:,.0f} to {line.points[-1][1]:,.0f}" for line in lines
        )
        svg = plot_svg(
            lines,
            Axis("batch size", lambda value: f"{value:,.0f}", is_log=True),
            Axis("examples per second", lambda value: f"{value:,.0f}"),
            theme="page",
            title=label,
        )
        blocks.append({"kind": "picture", "svg": svg, "label": label})
    return blocks
