"""Notebook representations of graphs, sessions, placements, machines, tensors, operations and errors.

Each is HTML that works in saved notebooks, and an equivalent text. `mimebundle` returns both, or None for other
objects, for which IPython then uses its own representations.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import singledispatch
from typing import Any

import numpy as np

from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.tradeoff import Tradeoff
from gpuplace.advisor.towers import TowerChoices
from gpuplace.cost.sentences import explanation, peak_text
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.device.machine import Machine
from gpuplace.errors import CancelledError, OpError
from gpuplace.findings.finding import Findings
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.jupyter.pictures import placement_picture
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.runtime.memory.process_state import current_machine
from gpuplace.runtime.session.place import place
from gpuplace.views.logs.capture import LogCapture
from gpuplace.views.logs.log_diff import LogDiff
from gpuplace.views.logs.logged_placement import LoggedNote, LoggedPlacement
from gpuplace.views.logs.op_rows import OP_COLUMNS, op_cells, op_rows
from gpuplace.views.picture.memory_map import chunks_text, memory_html, memory_text
from gpuplace.views.tables import html
from gpuplace.views.tables.dependency_trace import Trace
from gpuplace.views.tables.findings import findings_html
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.rows import mapping_cells
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted, placement_text, table_text
from gpuplace.views.timelines.reader import step_timeline
from gpuplace.views.timelines.svg import timeline_svg
from gpuplace.why.blame import Blame
from gpuplace.why.diff import PlacementDiff
from gpuplace.why.explanation import Explanation
from gpuplace.why.placement import Placement

_MOST_TYPES = 12
_MOST_ROWS = 50
_MOST_MOVES = 12
_MOST_LINES = 200
_MOST_LEFT = 100
_ROWS_OF_LOG = 20
_LINES_OF_ESTIMATE = 20
_BOXES_OF_LOG = 24
_BOXES_IN_SIGHT = 6
"""Number of boxes that fit side by side on a page."""
_TRACED = re.compile("^/host:|/stream:|/memcpy$|/sync$")
"""Device lists in which TensorFlow's tracers repeat the content of other lists."""
_PICTURE_NODES = 3000
"""Maximum number of nodes of a graph that is displayed with a picture."""


def mimebundle(obj: Any, include: Any = None, exclude: Any = None) -> dict[str, str] | None:
    """Return ``{"text/html": ..., "text/plain": ...}`` for one of our objects; None for anything else."""
    shown = _shown(obj)
    if shown is None:
        return None
    html_text, plain = shown
    return {"text/html": html_text, "text/plain": plain}


@singledispatch
def _shown(obj: Any) -> tuple[str, str] | None:
    """Return HTML and text of an object; objects with a graph and `list_devices` are sessions."""
    if hasattr(obj, "step_stats") and hasattr(obj, "SerializeToString"):
        return _run_metadata(obj)
    if hasattr(obj, "list_devices") and hasattr(obj, "graph"):
        return _session(obj)
    return None


@_shown.register
def _placement(placement: Placement) -> tuple[str, str]:
    picture = placement_picture(placement)._repr_mimebundle_()
    return html.summary(placement) + picture["text/html"], placement_text(placement)


@_shown.register
def _estimate(step: StepEstimate) -> tuple[str, str]:
    """Return findings, the step's cost in sentences, devices, the slowest ops, and the timeline to unfold."""
    columns = ("device", "hardware", "busy", "share of step", "peak memory", "copies in", "bytes in")
    memory = {row.device: peak_text(row.peak, row.fits, bytes_text) for row in step.rows("memory")}
    rows = [
        (
            row.device,
            row.hardware,
            time_text(row.busy * 1e6),
            f"{row.share:.0%}",
            memory.get(row.device, ""),
            row.copies_in,
            bytes_text(int(row.bytes_in)),
        )
        for row in step.rows("devices")
    ]
    ops = [
        (row.op, row.device_type, row.nodes, time_text(row.time * 1e6), f"{row.share:.1%}", row.model)
        for row in step.rows("ops")[:_MOST_TYPES]
    ]
    sentences = explanation(step).splitlines()[:_LINES_OF_ESTIMATE]
    shown = "" if step.findings.skipped else findings_html(step.findings)
    shown += "".join(f"<p>{html.escape(line)}</p>" for line in sentences)
    shown += html.table(columns, [(html.chip(row[0]), *row[1:]) for row in rows], limit=_MOST_ROWS)
    slowest = html.table(("op", "kind", "nodes", "time", "share", "model"), ops)
    shown += f"<details><summary>Slowest ops</summary>{slowest}</details>"
    if len(step.flow.kind) <= _PICTURE_NODES:
        timeline = step.timeline()
        drawn = html.image(
            timeline_svg(timeline), f"Timeline. {timeline.text}", timeline_svg(timeline, "dark")
        )
        shown += f"<details><summary>Timeline</summary>{drawn}</details>"
    return shown, step.explain()


@_shown.register
def _findings(findings: Findings) -> tuple[str, str]:
    """Return the findings with causes and fixes."""
    return findings_html(findings), str(findings)


@_shown.register
def _advice(advice: Advice) -> tuple[str, str]:
    """Return the recommendation in sentences, the moves, devices before and after, and Python code to unfold."""
    shown = "" if advice.findings.skipped else findings_html(advice.findings)
    shown += "".join(f"<p>{html.escape(line)}</p>" for line in (advice.text, *advice.notes))
    moves = [
        (
            move.scope or "everything",
            move.source,
            move.target,
            len(move.nodes),
            advice.shown(move.saves),
            move.why,
        )
        for move in advice.moves
    ]
    columns = ("scope", "from", "to", "nodes", "saves", "because")
    if moves:
        shown += html.table(columns, moves, limit=_MOST_ROWS)
    rows = advice.rows("devices")
    longest = max((value for row in rows for value in row[3:5] if not math.isnan(value)), default=0.0)
    fullest = max((value for row in rows for value in row[5:7] if not math.isnan(value)), default=0.0)
    devices = [
        (
            html.chip(row.device),
            row.nodes_before,
            row.nodes_after,
            *(
                html.bar(value, longest, time_text(value * 1e6))
                for value in (row.busy_before, row.busy_after)
            ),
            *(html.bar(value, fullest, bytes_text(value)) for value in (row.peak_before, row.peak_after)),
        )
        for row in rows
    ]
    titles = (
        *("device", "nodes now", "nodes recommended", "busy now", "busy recommended"),
        *("memory now", "memory recommended"),
    )
    shown += html.table(titles, devices, limit=_MOST_ROWS)
    if advice.has_gain:
        python = html.escape(advice.as_python())
        shown += f"<details><summary>As Python</summary><pre>{python}</pre></details>"
    return shown, advice.explain()


@_shown.register
def _tradeoff(tradeoff: Tradeoff) -> tuple[str, str]:
    """Return time against memory as a picture, and the placements as a table."""
    picture = html.image(tradeoff.svg(), f"Time against memory. {tradeoff.text}", tradeoff.svg("dark"))
    rows = [
        (
            html.Raw(f"<b>{html.escape(point.name)}</b>") if point.is_best else point.name,
            time_text(point.step_time * 1e6),
            peak_text(point.peak_memory, point.fits, bytes_text),
            "yes" if point.is_best else "",
        )
        for point in tradeoff.points
    ]
    titles = ("placement", "step time", "memory of the fullest device", "none is better in both")
    return f"<p>{html.escape(tradeoff.text)}</p>{picture}{html.table(titles, rows)}", tradeoff.explain()


@_shown.register
def _towers(choices: TowerChoices) -> tuple[str, str]:
    """Return the speedup by number of towers, as a picture and a table."""
    picture = html.image(choices.svg(), f"Towers. {choices.text}", choices.svg("dark"))
    most = max(row.speedup for row in choices.rows)
    rows = [
        (
            row.towers,
            row.variables,
            time_text(row.step_time * 1e6),
            html.bar(row.speedup, most, f"{row.speedup:.2f}"),
            "" if math.isnan(row.rate) else f"{row.rate:,.0f}",
            peak_text(row.peak_memory, row.fits, bytes_text),
        )
        for row in choices.rows
    ]
    titles = (
        "towers",
        "variables",
        "a step",
        "speedup",
        "examples per second",
        "memory of the fullest device",
    )
    return f"<p>{html.escape(choices.text)}</p>{picture}{html.table(titles, rows)}", choices.explain()


@_shown.register
def _logged(log: LoggedPlacement) -> tuple[str, str]:
    """Return nodes by device, a node table, the picture to unfold, and the text that was not understood.

    A log has no edges, so all boxes of its picture are in one row, which scrolls instead of shrinking.
    """
    picture = placement_picture(log, cap=_BOXES_OF_LOG, table=False)
    is_small = len(picture.drawing.boxes) <= _BOXES_IN_SIGHT
    drawn = html.scrolling(picture._repr_mimebundle_()["text/html"])
    left = [(left.line, left.text) for left in log.unparsed]
    shown = f"<p>{html.escape(repr(log)[1:-1])}</p>{html.summary(log)}"
    cells = op_cells(log)
    ops = [(html.chip(row.device), *cell_row[1:]) for row, cell_row in zip(op_rows(log), cells, strict=True)]
    shown += html.table(OP_COLUMNS, ops, limit=_ROWS_OF_LOG) if ops else ""
    if len(log):
        nodes = html.node_table(log, limit=_ROWS_OF_LOG)
        shown += f"<details><summary>Nodes</summary>{nodes}</details>"
        shown += f"<details{' open' if is_small else ''}><summary>Picture</summary>{drawn}</details>"
    if left:
        title = f"{counted(len(left), 'piece')} of text not understood"
        shown += f"<details><summary>{title}</summary>{html.table(('line', 'text'), left, limit=_MOST_LEFT)}</details>"
    plain = [repr(log), *([table_text(OP_COLUMNS, cells, _ROWS_OF_LOG)] if ops else []), placement_text(log)]
    return shown, "\n\n".join(plain)


@_shown.register
def _capture(log: LogCapture) -> tuple[str, str]:
    """Return the logged placement, or the reason why there is none."""
    if log.missing:
        return f"<p>{html.escape(log.missing)}</p>", log.missing
    return _logged(log.placement)


@_shown.register
def _graph(graph: Graph) -> tuple[str, str]:
    """Return the number of ops by type and request, and their placement on the current machine."""
    operations = graph.get_operations()
    title = f"Graph of {counted(len(operations), 'operation')}"
    if not operations:
        return f"<p><b>{title}</b></p>", title
    kinds = Counter((op.type, op.device) for op in operations).most_common()
    columns = ("op type", "requested device", "operations")
    rows = [(op_type, device, count) for (op_type, device), count in kinds]
    shown = f"<p><b>{title}</b></p>"
    if len(operations) <= _PICTURE_NODES:
        machine = current_machine()
        shown += f"<p>placed on <code>{html.escape(machine)}</code></p>"
        try:
            placement = place(graph, machine=machine, on_error="keep")
        except OpError as error:
            shown += html.error_html(error)
        else:
            shown += (
                html.summary(placement)
                + placement_picture(placement, table=False)._repr_mimebundle_()["text/html"]
            )
    table = html.table(columns, rows, limit=_MOST_TYPES)
    shown += f"<details><summary>{counted(len(rows), 'group')} of operations</summary>{table}</details>"
    return shown, f"{title}\n{table_text(columns, rows, _MOST_TYPES)}"


@_shown.register
def _machine(machine: Machine) -> tuple[str, str]:
    """Return CPUs, and the chain from GPUs to devices for this process."""
    rows = machine.mapping()
    description = "This machine" if machine.is_local else "Simulated machine"
    title = f"{description}: {machine}"
    cpus = counted(machine.cpus or sum(task.cpus for _, task in machine.tasks), "CPU device")
    more = [f"further device {name}" for name in machine.extra_devices]
    if machine.tasks:
        more += [counted(len(machine.tasks), "task"), f"network: {machine.network.text()}"]
    details = "; ".join([cpus, counted(len(machine.gpus), "GPU"), *more])
    shown = f"<p><b>{html.escape(title)}</b>: {html.escape(details)}</p>"
    plain = f"{title}: {details}"
    if rows:
        cells = [
            (gpu, name, bus, visible, device, bytes_text(limit) if limit else None, reason)
            for gpu, name, bus, visible, device, limit, reason in mapping_cells(rows)
        ]
        columns = ("GPU", "name", "PCI bus id", "visible as", "device", "memory limit", "why not")
        shown += html.mapping_table(rows)
        plain += "\n" + table_text(columns, cells)
    return shown, plain


@_shown.register
def _explanation(explanation: Explanation) -> tuple[str, str]:
    return html.explanation_html(explanation), str(explanation)


@_shown.register
def _blame(blame: Blame) -> tuple[str, str]:
    """Return the causes, largest first, and a line about the harmless nodes."""
    title = f"{blame.nodes:,} of {counted(blame.total, 'node')} not on a {blame.device_type}"
    columns = ("nodes", "bytes", "rule", "cause", "ops", "for example", "try")
    rows = (
        (
            f"{row.nodes:,}",
            bytes_text(row.nbytes) if row.nbytes or not row.unsized else bytes_text(None),
            row.rule.value,
            row.cause,
            ", ".join(row.op_types[:_MOST_TYPES]),
            row.example,
            row.remedy,
        )
        for row in blame.causes
    )
    table = html.table(columns, rows, limit=_MOST_ROWS) if blame.causes else ""
    harmless = f"<p>{html.escape(blame.harmless_text)}</p>" if blame.harmless else ""
    return f"<p><b>{html.escape(title)}</b></p>{table}{harmless}", _first_lines(str(blame))


@_shown.register
def _diff(diff: PlacementDiff) -> tuple[str, str]:
    """Return the nodes that move, grouped by cause."""
    title = f"{counted(len(diff), 'node')} {'moves' if len(diff) == 1 else 'move'}"
    parts = [f"<p><b>{title}</b></p>"]
    for rule, moves in diff.by_cause().items():
        rows = ((move.node, html.chip(move.before), html.chip(move.after), move.note) for move in moves)
        table = html.table(("node", "before", "after", "because"), rows, limit=_MOST_MOVES)
        parts.append(
            f"<details open><summary><b>{html.escape(rule.value)}</b>: {counted(len(moves), 'node')}; "
            f"{html.escape(rule.meaning)}</summary>{table}</details>"
        )
    for names, where in ((diff.only_before, "before"), (diff.only_after, "after")):
        if names:
            shown = ", ".join(names[:_MOST_TYPES])
            parts.append(f"<p>{counted(len(names), 'node')} only {where}: {html.escape(shown)}</p>")
    return "".join(parts), _first_lines(str(diff))


@_shown.register
def _placement_graph(graph: PlacementGraph) -> tuple[str, str]:
    """Return the number of nodes by type and request."""
    kinds = Counter(
        (graph.op_type(node), graph.requested_device(node)) for node in range(len(graph))
    ).most_common()
    title = f"Graph of {counted(len(graph), 'node')} and {counted(graph.num_edges, 'edge')}, as the placer sees it"
    columns = ("op type", "requested device", "nodes")
    rows = [(op_type, device, count) for (op_type, device), count in kinds]
    shown = f"<p><b>{title}</b></p>{html.table(columns, rows, limit=_MOST_TYPES) if rows else ''}"
    return shown, f"{title}\n{table_text(columns, rows, _MOST_TYPES)}" if rows else title


@_shown.register
def _trace(trace: Trace) -> tuple[str, str]:
    """Return the traced nodes by device, and the first of them."""
    view = trace.view
    chosen = np.flatnonzero(trace.nodes)[:_MOST_ROWS].tolist()
    columns = ("node", "op type", "device")
    rows = [(view.names[node], view.op_type_of(node), view.device_of(node)) for node in chosen]
    more = len(trace) - len(rows)
    table = html.table(columns, [(*row[:2], html.chip(row[2])) for row in rows], more=more)
    plain = table_text(columns, [(*row[:2], device_label(row[2])) for row in rows], more=more)
    return f"<p><b>{html.escape(trace.text)}</b></p>{table}", f"{trace.text}\n{plain}"


@_shown.register
def _log_diff(diff: LogDiff) -> tuple[str, str]:
    """Return the nodes whose device differs from the log."""
    title = repr(diff)[1:-1].partition(": ")[2]
    columns = ("node", "op type", "logged", "compared with", "rule")
    rows = ((move.node, move.type, html.chip(move.logged), html.chip(move.other), move.rule) for move in diff)
    table = html.table(columns, rows, limit=_MOST_ROWS) if len(diff) else ""
    return f"<p><b>{html.escape(title)}</b></p>{table}", _first_lines(str(diff))


@_shown.register
def _note(note: LoggedNote) -> tuple[str, str]:
    lines = "<br>".join(html.escape(line.strip()) for line in str(note).splitlines())
    return f"<p>{lines}</p>", str(note)


@_shown.register
def _error(error: OpError) -> tuple[str, str]:
    return html.error_html(error), f"{type(error).__name__}: {error}"


@_shown.register
def _allocator(allocator: BFCAllocator) -> tuple[str, str]:
    plain = [memory_text(allocator), chunks_text(allocator)]
    return memory_html(allocator), "\n".join(filter(None, plain))


@_shown.register
def _tensor(tensor: Tensor) -> tuple[str, str]:
    rows = [
        ("tensor", tensor.name),
        ("dtype", tensor.dtype.name),
        ("shape", str(tensor.shape)),
        ("created by", f"{tensor.op.type}, requested device: {tensor.device or 'none'}"),
    ]
    return html.table(("", ""), rows), repr(tensor)


@_shown.register
def _operation(operation: Operation) -> tuple[str, str]:
    rows = [
        ("operation", operation.name),
        ("type", operation.type),
        ("requested device", operation.device or "none"),
        ("inputs", ", ".join(tensor.name for tensor in operation.inputs)),
        ("control inputs", ", ".join(control.name for control in operation.control_inputs)),
        ("outputs", ", ".join(f"{out.name} {out.dtype.name} {out.shape}" for out in operation.outputs)),
        ("created at", operation.source),
    ]
    kept = [(label, value) for label, value in rows if value]
    return html.table(("", ""), kept), repr(operation)


def _session(session: Any) -> tuple[str, str]:
    """Return devices and their memory; for a closed session, only its state."""
    try:
        devices = session.list_devices()
    except CancelledError:
        title = f"{type(session).__name__}: closed"
        return f"<p><b>{title}</b></p>", title
    rows = [(html.chip(device.name), device.name, _memory(device)) for device in devices]
    graph = counted(len(session.graph.get_operations()), "operation")
    title = f"{type(session).__name__}: {counted(len(devices), 'device')}, graph of {graph}"
    shown = f"<p><b>{title}</b></p>{html.table(('device', 'name', 'memory limit'), rows)}"
    plain_rows = [(device_label(device.name), device.name, _memory(device)) for device in devices]
    return shown, f"{title}\n{table_text(('device', 'name', 'memory limit'), plain_rows)}"


def _run_metadata(metadata: Any) -> tuple[str, str]:
    """Return devices with their ops and times, and the slowest ops."""
    stats = [device for device in metadata.step_stats.dev_stats if not _TRACED.search(device.device)]
    ops = [
        (stat.node_name, device.device, stat.all_end_rel_micros)
        for device in stats
        for stat in device.node_stats
    ]
    title = f"RunMetadata: {counted(len(ops), 'op')} on {counted(len(stats), 'device')}"
    if metadata.partition_graphs:
        title += f", {counted(len(metadata.partition_graphs), 'partition graph')}"
    columns = ("device", "ops", "µs in ops", "µs from first to last")
    rows = []
    for device in stats:
        starts = [stat.all_start_micros for stat in device.node_stats]
        ends = [stat.all_start_micros + stat.all_end_rel_micros for stat in device.node_stats]
        busy = sum(stat.all_end_rel_micros for stat in device.node_stats)
        rows.append((device.device, len(starts), busy, max(ends) - min(starts) if starts else 0))
    slowest = sorted(ops, key=lambda op: -op[2])[:_MOST_TYPES]
    shown = f"<p><b>{title}</b></p>"
    if ops:
        timeline = step_timeline(metadata)
        shown += html.image(
            timeline_svg(timeline), f"Timeline. {timeline.text}", timeline_svg(timeline, "dark")
        )
        shown += html.table(columns, [(html.chip(row[0]), *row[1:]) for row in rows], limit=_MOST_ROWS)
        top = html.table(("op", "device", "µs"), [(name, html.chip(dev), us) for name, dev, us in slowest])
        shown += f"<details><summary>Slowest ops</summary>{top}</details>"
    plain = [(device_label(row[0]), *row[1:]) for row in rows]
    return shown, "\n".join([title, *([table_text(columns, plain, _MOST_ROWS)] if ops else [])])


def _memory(device: Any) -> str:
    return bytes_text(device.memory_limit_bytes) if device.device_type == "GPU" else ""


def _first_lines(text: str) -> str:
    lines = text.splitlines()
    more = len(lines) - _MOST_LINES
    return text if more <= 0 else "\n".join([*lines[:_MOST_LINES], f"... and {counted(more, 'more line')}"])
