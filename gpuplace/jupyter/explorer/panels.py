"""The explorer's texts and small tables, as blocks that its page draws (`gpuplace.views.tables.blocks`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.jupyter.explorer.remedies import Remedy
from gpuplace.placer.placed import AnyFault
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.tables.blocks import (
    Block,
    button,
    buttons_block,
    error_card,
    heading_block,
    table_block,
    text_block,
)
from gpuplace.views.tables.memory import MemoryRow
from gpuplace.views.tables.moves import Moves
from gpuplace.views.tables.palette import chip_look
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.rows import mapping_cells
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted, summary_text
from gpuplace.why.messages import error_of
from gpuplace.why.placement import Placement

_NAMES = 12
_KINDS = 40
_OF_PARTS = (("tags",), ("signature",), ("functions",), ("clear_devices",))
"""Settings that select the part of the graph, if only these are wrong."""
_WITHOUT = ("These settings allow no devices", "This part of the graph cannot be placed")
"""Messages for wrong settings in general, and for those of `_OF_PARTS`."""
_FIRST = 2
"""Number of remedies offered next to the error; the Errors tab lists all of them."""


def remedy_buttons(remedies: Sequence[Remedy], most: int | None = None) -> list[Block]:
    """Return one button per remedy; nothing without remedies."""
    buttons = [button(remedy.label, f"remedy:{i}", remedy.effect) for i, remedy in enumerate(remedies[:most])]
    return [buttons_block("Remedies", buttons)] if buttons else []


def status_blocks(
    placement: Any,
    error: BaseException | None,
    blamed: Sequence[str],
    remedies: Sequence[Remedy],
    is_stale: bool,
    *,
    part: str = "",
    trail: Sequence[str] = (),
) -> list[Block]:
    """Return the status: counts, or the error and its remedies.

    Args:
        placement: the shown placement, or None.
        error: the error, or None.
        blamed: settings that already show the error.
        remedies: remedies that were tried.
        is_stale: whether the shown placement belongs to earlier settings.
        part: a description of the placed part of a model; `""` for a complete graph.
        trail: the graphs from which the shown function was opened, and the function.
    """
    blocks: list[Block] = [text_block(part, "part")] if part else []
    if trail:
        blocks.append(
            {
                "kind": "trail",
                "label": "Where this function is called",
                "steps": [{"label": label, "action": f"trail:{i}"} for i, label in enumerate(trail)],
            }
        )
    if error is None:
        return [*blocks, text_block(summary_text(placement), "status")]
    if not blamed:
        blocks.append({"kind": "error", **error_card(error)})
    if is_stale:
        where = f": see {blamed[0]}" if blamed else ""
        blocks.append(
            text_block(f"{_WITHOUT[blamed[:1] in _OF_PARTS]}{where}. The last placement is shown.", "stale")
        )
    more = len(getattr(placement, "faults", ())) - 1
    if more > 0 and not is_stale:
        blocks.append(text_block(f"and {counted(more, 'more error')}: see Errors below", "faint"))
    return blocks + remedy_buttons(remedies, _FIRST)


# ---------------------------------------------------------------------------------------------------------- errors


def error_blocks(
    placement: Any, error: BaseException | None, remedies: Sequence[Remedy], is_stale: bool
) -> list[Block]:
    """Return all errors and the remedies; equal faults appear once, with the nodes that they name."""
    if error is None:
        return [text_block("No errors: every node has a device.", "status")]
    blocks: list[Block] = []
    if remedies:
        blocks.append(heading_block("Remedies (tested)"))
        blocks += remedy_buttons(remedies)
    if is_stale or not isinstance(placement, Placement):
        return [*blocks, {"kind": "error", "quiet": True, **error_card(error)}]
    kinds = _alike(placement)
    for faults in list(kinds.values())[:_KINDS]:
        first = error_of(placement, faults[0])
        names = list(dict.fromkeys(name for fault in faults for name in _names(placement, fault)))
        title = counted(len(faults), "error") if len(kinds) > 1 or len(faults) > 1 else "Error"
        blocks += [
            heading_block(f"{title}: {counted(len(names), 'node')}"),
            {"kind": "nodes", "names": names[:_NAMES], "more": max(0, len(names) - _NAMES)},
            {"kind": "error", "quiet": True, **error_card(first)},
        ]
        blocks += _code(placement, faults[0])
    if len(kinds) > _KINDS:
        blocks.append(text_block(f"and {counted(len(kinds) - _KINDS, 'more group')} of errors", "faint"))
    return blocks


def _names(placement: Placement, fault: AnyFault) -> list[str]:
    nodes = [getattr(fault, part, None) for part in ("node", "first", "second")]
    return [placement.graph.names[node] for node in nodes if node is not None]


def _alike(placement: Placement) -> dict[Any, list[AnyFault]]:
    """Group the faults of one type whose nodes have the same op type and request."""
    kinds: dict[Any, list[AnyFault]] = {}
    graph = placement.graph
    for fault in placement.faults:
        node = getattr(fault, "node", getattr(fault, "first", None))
        about = () if node is None else (graph.op_type(node), graph.requested_device(node))
        kinds.setdefault((type(fault), about), []).append(fault)
    return kinds


def _code(placement: Placement, fault: AnyFault) -> list[Block]:
    """Return the program change that fixes a fault in a device request; empty for other faults."""
    node = getattr(fault, "node", getattr(fault, "second", None))
    if node is None:
        return []
    graph = placement.graph
    if not graph.requested_device(node):
        return []
    kinds = [kind for kind, _ in placement.group_supported(node)] or [
        kind for kind, _ in placement.facts_of(node).supported
    ]
    devices = [device.parsed.local_name for device in placement.device_set if device.device_type in kinds]
    if not devices:
        return []
    place = (graph.source_line(node) if graph.source_line else None) or ""
    where = f"  # {place}" if place else ""
    text = (
        f'with tf.device("{devices[0]}"):{where}, instead of "{graph.requested_device(node)}"'
        if place
        else (f'with tf.device("{devices[0]}"):  # instead of "{graph.requested_device(node)}"')
    )
    return [
        text_block("or change the program:", "faint"),
        {"kind": "code", "text": f"{text}\n    ...  # {graph.names[node]}"},
    ]


# ---------------------------------------------------------------------------------------------------------- memory


def memory_blocks(rows: Sequence[MemoryRow]) -> list[Block]:
    """Return one row per device: its limit, the bytes placed on it, and its allocator's counters."""
    has_stats = any(row.stats is not None for row in rows)
    columns = ["device", "nodes", "limit", "placed", "variables", "constants", "outputs", "unknown"]
    if has_stats:
        columns += ["in use", "peak", "allocations"]
    widest = max([row.known for row in rows] + [row.limit or 0 for row in rows if row.known], default=0)
    table = []
    for row in rows:
        cells: list[Any] = [chip_look(row.device), f"{row.nodes:,}", _limit(row), _bar(row, widest)]
        cells += [bytes_text(size) if size else "" for size in (row.variables, row.constants, row.outputs)]
        cells.append(counted(row.unknown, "tensor") if row.unknown else "")
        if has_stats:
            stats = row.stats
            cells += (
                ["", "", ""]
                if stats is None
                else [
                    bytes_text(stats.bytes_in_use),
                    bytes_text(stats.peak_bytes_in_use),
                    f"{stats.num_allocs:,}",
                ]
            )
        table.append(cells)
    grows = next((row.grows for row in rows if row.grows is not None), None)
    growth_note = {
        None: "",
        True: "allow_growth: each GPU's allocator reserves memory on demand, up to the limit.",
        False: "Each GPU's allocator reserves its whole limit when the first op runs there (no allow_growth).",
    }[grows]
    over = [row for row in rows if row.limit and row.variables + row.constants > row.limit]
    blocks: list[Block] = [
        table_block(
            "Memory by device",
            columns,
            table,
            [i for i, name in enumerate(columns) if name not in ("device", "placed")],
        )
    ]
    for row in over:
        blocks.append(
            text_block(
                f"{chip_look(row.device)['label']}: variables and constants alone exceed the limit.",
                "alarm",
            )
        )
    if growth_note:
        blocks.append(text_block(growth_note, "faint"))
    blocks.append(
        text_block(
            "Variables and constants stay in memory. Outputs are summed as if none were freed, so a step needs less.",
            "faint",
        )
    )
    if not has_stats:
        blocks.append(
            text_block("Explore a session that has run to see the counters of its simulated GPUs.", "faint")
        )
    return blocks


def _limit(row: MemoryRow) -> str:
    return "no limit" if row.limit is None else bytes_text(row.limit)


def _bar(row: MemoryRow, widest: int) -> dict[str, Any]:
    """Return the placed bytes as shares of the device's limit, or of the largest sum if there is none."""
    whole = row.limit or max(widest, 1)
    parts = [("variables", row.variables), ("constants", row.constants), ("outputs", row.outputs)]
    share = row.known / whole
    part = "under 0.1%" if 0 < share < 0.001 else f"{share:.1%}"
    text = f"{bytes_text(row.known)}" + (f", {part} of the limit" if row.limit and row.known else "")
    return {
        "bar": [[size / whole, name, f"{name}: {bytes_text(size)}"] for name, size in parts if size],
        "text": text,
    }


# ---------------------------------------------------------------------------------------------------------- devices


def device_blocks(mapping: Sequence[Any] | None, environ: Mapping[str, str], config_code: str) -> list[Block]:
    """Return the chain from GPUs to devices (None if the settings allow no devices), and the settings."""
    settings = "\n".join([*(f"{name}={value}" for name, value in environ.items()), config_code])
    if not mapping:
        message = "These settings allow no devices." if mapping is None else "This machine has no GPU."
        return [text_block(message, "status"), {"kind": "code", "text": settings, "label": "Settings"}]
    rows = [
        [
            str(gpu),
            name,
            bus,
            "" if visible is None else str(visible),
            chip_look(device) if device else "",
            bytes_text(limit) if limit else "",
            reason or "",
        ]
        for gpu, name, bus, visible, device, limit, reason in mapping_cells(mapping)
    ]
    columns = ["GPU", "name", "PCI bus id", "visible as", "device", "memory limit", "why not"]
    return [
        table_block("From GPUs to devices", columns, rows),
        {"kind": "code", "text": settings, "label": "Settings"},
    ]


def logged_device_blocks(log: Any) -> list[Block]:
    """Return the devices that a log names."""
    logged_devices = log.devices if isinstance(log, LoggedPlacement) else ()
    described = {row.device: row.description for row in logged_devices}
    view = view_of(log)
    rows = [
        [chip_look(device), device, described.get(device, ""), f"{count:,}"]
        for device, count in view.counts.items()
        if device
    ]
    columns = ["device", "full name", "hardware", "nodes"]
    return [table_block("Devices of the log", columns, rows)]


# ---------------------------------------------------------------------------------------------------------- compare


def compare_blocks(
    before: str, after: str, moves: Moves | None, choices: Sequence[tuple[str, str]]
) -> list[Block]:
    """Return the compared placements, and the number of moved nodes by cause.

    Args:
        before: a description of the compared placement; ``""`` for none.
        after: a description of the current placement.
        moves: the differences; None if nothing is compared.
        choices: ``(label, action)`` of other comparisons.
    """
    buttons = [button(label, action) for label, action in choices]
    chooser: Block = buttons_block("Compare with", buttons)
    if moves is None:
        return [
            text_block(
                "Compare the current placement with the one before a change, or with another placement.",
                "faint",
            ),
            chooser,
        ]
    blocks: list[Block] = [
        table_block(
            "Compared placements", ["", ""], [[{"strong": "before"}, before], [{"strong": "after"}, after]]
        )
    ]
    summary = f"{counted(len(moves), 'node moves', 'nodes move')}"
    for names, which in ((moves.only_before, "before"), (moves.only_after, "after")):
        if names:
            summary += f"; {counted(len(names), 'node is', 'nodes are')} only in the graph {which}"
    blocks.append(
        text_block(
            summary if len(moves) or moves.only_before or moves.only_after else "No node moves.", "status"
        )
    )
    if len(moves):
        blocks.append(
            table_block(
                "Moves by cause",
                ["cause", "nodes", "meaning"],
                [
                    [{"strong": cause}, f"{number:,}", moves.meanings.get(cause, "")]
                    for cause, number in moves.by_cause()
                ],
            )
        )
    return [*blocks, chooser]
