"""The data of a placement's page, as plain lists for JSON: columns of nodes and edges, tables, reasons.

Repeated texts are indices into a list; names are stored once and are safe in HTML, XML and JSON alike
(`gpuplace.views.tables.text.printable`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.placer.edge_order import EDGE_ORDERED_RELEASES
from gpuplace.progress import track
from gpuplace.typing import PlacementLike, RunMetadata
from gpuplace.views.page.colours import colour_columns, path_columns
from gpuplace.views.page.reasons import NODE, SCOPE, reasons_of
from gpuplace.views.picture.box_facts import node_costs
from gpuplace.views.picture.differences import differences
from gpuplace.views.picture.drawing import AUTO_CAP, LEAST_ALIKE
from gpuplace.views.picture.outline import outline
from gpuplace.views.tables.attr_text import attr_columns
from gpuplace.views.tables.calls import all_calls
from gpuplace.views.tables.interner import Interner
from gpuplace.views.tables.palette import chip_look, device_style
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.rows import device_rows, mapping_cells
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import copies_text, printable, shortened, summary_text
from gpuplace.why.placement import Placement
from gpuplace.why.placement_log import device_name
from gpuplace.why.rules import RULES
from gpuplace.why.terms import TERMS

LOG_LINES = 100_000
"""Maximum number of log lines in a page."""
MOST_OPENED = AUTO_CAP
"""Maximum number of boxes in a first view; fewer on a small canvas."""
_MOVES = 20_000
_GROUPS = 5_000
_MEMBERS = 200
_UNPARSED = 2_000
"""Maximum number of pieces of unparsed text in a log's page, each of at most `_WIDEST` characters."""
_WIDEST = 500


def page_data(
    placement: PlacementLike,
    *,
    settings: Sequence[tuple[str, str]] = (),
    mapping: Iterable[Any] = (),
    against: Any = None,
    against_text: str = "the other placement",
    run_metadata: RunMetadata | None = None,
    estimate: StepEstimate | None = None,
) -> dict[str, Any]:
    """Return the data of a placement's page.

    Args:
        placement: a `Placement`, a `LoggedPlacement` or a `PlacementView`.
        settings: ``(label, text)`` of the settings of the placement.
        mapping: rows of ``Machine.mapping``.
        against: another `Placement` of the graph, to list the nodes that move.
        against_text: settings of the other placement.
        run_metadata: ``RunMetadata`` or ``StepStats`` of a step, for colours by time and memory.
        estimate: estimate of a step, for folded boxes.

    Raises:
        ValueError: the step contains none of the graph's nodes.
    """
    view = view_of(placement)
    if view.part:
        settings = [("graph", view.part), *settings]
    reasons = reasons_of(placement)
    return {
        "summary": printable(summary_text(view)),
        "settings": [[label, printable(text)] for label, text in settings],
        "devices": [*(_device(row) for row in device_rows(placement)), _no_device(view)],
        "types": list(map(printable, view.op_types)),
        "requests": list(map(printable, view.requests)),
        "nodes": _nodes(view),
        "scopes": _scopes(view),
        "edges": _edges(view),
        "copies": (copies := _copies(view))["edges"],
        "copyOf": copies["of"],
        "copyRows": copies["rows"],
        "copyText": printable(copies_text(view, view.copies)) if view.copies else "",
        "costs": None if estimate is None else _costs(placement, estimate),
        "sources": _sources(view),
        "verdicts": _verdicts(view),
        "calls": [
            [node, [list(map(printable, call)) for call in calls]]
            for node, calls in all_calls(placement).items()
        ],
        "reasons": None
        if reasons is None
        else {**reasons.as_json(), "strings": _safe(reasons.strings.values)},
        "groups": (groups := _groups(placement, view))[:_GROUPS],
        "groupCount": len(groups),
        "blame": _blame(placement),
        "mapping": [
            [_text(cell) for cell in (*cells[:5], bytes_text(cells[5]) if cells[5] else "", cells[6])]
            for cells in mapping_cells(mapping)
        ],
        "moves": _moves(placement, against),
        "against": printable(against_text),
        "log": _log(placement, view),
        "colours": colour_columns(view, run_metadata),
        "paths": path_columns(view, run_metadata),
        "attrs": attr_columns(placement),
        "unparsed": [
            [left.line, printable(shortened(left.text.expandtabs(2), _WIDEST))]
            for left in getattr(placement, "unparsed", ())[:_UNPARSED]
        ],
        "unparsedCount": len(getattr(placement, "unparsed", ())),
        "errors": [_error(error) for error in view.errors],
    }


def _safe(value: object) -> Any:
    """Return the value with printable texts; the marks of `gpuplace.views.page.reasons` stay."""
    if isinstance(value, str):
        if value.replace(SCOPE, "").replace(NODE, "").isprintable():
            return value
        return "".join(c if c in f"{SCOPE}{NODE}\n" else printable(c) for c in value)
    if isinstance(value, dict):
        return {key: _safe(item) for key, item in value.items()}
    return list(map(_safe, value)) if isinstance(value, (list, tuple)) else value


def _text(value: object) -> str:
    return "" if value is None else printable(str(value))


def _look(device: str) -> dict[str, Any]:
    style = device_style(device)
    return chip_look(device, label=printable(style.label), order=list(style.order), name=printable(device))


def _device(row: Any) -> dict[str, Any]:
    limit = bytes_text(row.memory_limit) if row.memory_limit is not None else ""
    more = {"type": row.type, "nodes": row.nodes, "limit": limit, "text": printable(row.description)}
    return _look(row.device) | more | {"copies": row.copies_in, "bytes": row.size_in}


def _no_device(view: PlacementView) -> dict[str, Any]:
    missing = int((view.device < 0).sum())
    return _look("") | {"type": "", "nodes": missing, "limit": "", "text": "", "copies": 0, "bytes": ""}


def _verdicts(view: PlacementView) -> dict[str, Any] | None:
    """Return the rule that determined each node's device, and the culprit, with definitions of the terms."""
    if view.verdicts is None:
        return None
    verdicts = view.verdicts()
    rules = [rule.value for rule in RULES]
    return {
        "rules": rules,
        "rule": verdicts.rule.tolist(),
        "culprit": verdicts.culprit.tolist(),
        "terms": TERMS,
    }


def _nodes(view: PlacementView) -> dict[str, Any]:
    tree = outline(view)
    paths = [tree.scope_names[scope] for scope in tree.named_scope]
    names = [name.rpartition("/") for name in track(view.names, len(view), "writing nodes")]
    prefixes = Interner()
    elsewhere = [
        (node, prefixes(printable(prefix)))
        for node, ((prefix, _, _), scope) in enumerate(zip(names, tree.scope_of.tolist(), strict=True))
        if prefix != paths[scope]
    ]
    return {
        "name": [printable(name) for _, _, name in names],
        "elsewhere": [node for node, _ in elsewhere],
        "prefix": [number for _, number in elsewhere],
        "prefixes": prefixes.values,
        "scope": tree.scope_of.tolist(),
        "strip": "".join(map(str, tree.strip.tolist())) if tree.strip.any() else "",
        "aside": np.flatnonzero(tree.is_training).tolist(),
        "type": view.op_type.tolist(),
        "request": view.request.tolist(),
        "device": view.device.tolist(),
        "unmet": np.flatnonzero(view.is_unmet).tolist(),
        "guilty": sorted(view.guilty),
    }


def _scopes(view: PlacementView) -> dict[str, Any]:
    """Return the scopes as columns; `alike` has the first of a run of copies, -1 for a scope without copies."""
    tree = outline(view)
    alike = [-1] * len(tree)
    for scope in range(len(tree)):
        if len(tree.children[scope]) >= LEAST_ALIKE:
            for run in tree.repeats(scope, view.op_type):
                for child in run:
                    alike[child] = run[0]
    return {
        "name": [printable(tree.name(scope)) for scope in range(len(tree))],
        "key": _below_parents(list(map(printable, tree.paths)), tree.parent.tolist()),
        "path": [printable(tree.scope_names[scope]) for scope in tree.named_scope],
        "parent": tree.parent.tolist(),
        "alike": alike,
        "added": [scope for scope, name in enumerate(tree.scope_names) if not name],
        "layers": [scope for scope, is_layer in enumerate(tree.is_layer) if is_layer],
        "contents": [[scope, list(map(printable, lines))] for scope, lines in tree.contents.items()],
        "towers": tree.towers,
        "hasRoom": tree.has_room,
        "differs": [[scope, printable(text)] for scope, text in differences(view).items()],
        "shelves": tree.shelves,
        "steps": tree.steps(MOST_OPENED),
    }


def _below_parents(keys: list[str], parents: list[int]) -> list[str]:
    """Return each key without the prefix of its parent's key, or with a leading slash if it has no such prefix."""
    relative_keys = []
    for key, parent in zip(keys, parents, strict=True):
        before = keys[parent] + "/" if keys[parent] else ""
        relative_keys.append(
            key[len(before) :] if key.startswith(before) and key != keys[parent] else f"/{key}"
        )
    return relative_keys


def _edges(view: PlacementView) -> dict[str, Any]:
    """Return the edges as columns; ``fact`` is the tensor's index into ``facts``, -1 for a control edge."""
    facts = Interner()
    fact = []
    tensors = list(zip(view.src.tolist(), view.src_output.tolist(), strict=True))
    for src, output in track(tensors, len(tensors), "writing edges", " edges"):
        fact.append(-1 if output < 0 else facts(_fact(view, src, output)))
    return {
        "src": view.src.tolist(),
        "output": view.src_output.tolist(),
        "dst": view.dst.tolist(),
        "input": view.dst_input.tolist(),
        "fact": fact,
        "facts": facts.values,
    }


def _fact(view: PlacementView, node: int, output: int) -> tuple[str, int | None, int | None]:
    """Describe a tensor's dtype and shape; return this text, its bytes, and its bytes per example."""
    tensor = view.tensor_of(node, output)
    return printable(str(tensor)), tensor.nbytes, tensor.example_bytes


def _copies(view: PlacementView) -> dict[str, list[Any]]:
    """Return the edges along copies, the copy of each, and rows of node, output, devices, runs and fact."""
    edges = np.flatnonzero(view.is_copy)
    rows = [
        [copy.node, copy.output, copy.source, copy.target, copy.runs, *_fact(view, copy.node, copy.output)]
        for copy in view.copies
    ]
    return {"edges": edges.tolist(), "of": view.copy_of_edge[edges].tolist(), "rows": rows}


def _costs(placement: PlacementLike, estimate: StepEstimate) -> dict[str, Any]:
    """Return the predicted seconds of each node, and ``[node, bytes]`` of variables."""
    costs = node_costs(placement, estimate)
    held = np.flatnonzero(costs.variables)
    return {
        "seconds": [float(f"{seconds:.4g}") for seconds in costs.seconds.tolist()],
        "variables": list(zip(held.tolist(), costs.variables[held].tolist(), strict=True)),
    }


def _sources(view: PlacementView) -> dict[str, Any]:
    texts = Interner()
    nodes = track(range(len(view)), len(view), "writing source lines")
    of = [texts(printable(view.source_line(node) or "")) for node in nodes]
    return {"texts": texts.values, "of": of if len(texts.values) > 1 or texts.values != [""] else []}


def _groups(placement: PlacementLike, view: PlacementView) -> list[list[Any]]:
    """Return the colocation groups, largest first: ``[members, count, deciding node, request]``."""
    if not isinstance(placement, Placement):
        return []
    groups = sorted(placement.groups(), key=lambda group: -len(group.nodes))
    index = view.index
    return [
        [
            [index[name] for name in group.nodes[:_MEMBERS]],
            len(group.nodes),
            index[group.decided_by],
            printable(group.requested),
        ]
        for group in groups
    ]


def _blame(placement: PlacementLike) -> list[list[Any]]:
    """Return ``[nodes, bytes, rule, cause, ops, example, remedy]`` for nodes that are not on a GPU."""
    if not isinstance(placement, Placement):
        return []
    return [
        [
            row.nodes,
            bytes_text(row.nbytes) if row.nbytes or not row.unsized else bytes_text(None),
            row.rule.value,
            printable(row.cause),
            printable(", ".join(row.op_types[:8])),
            printable(row.example),
            printable(row.remedy),
        ]
        for row in placement.blame()
    ]


def _moves(placement: Any, against: Any) -> dict[str, Any] | None:
    if against is None:
        return None
    diff = placement.diff(against)
    index = view_of(placement).index
    devices = Interner()
    rows = [
        [index[m.node], devices(m.before), devices(m.after), m.cause.value, printable(m.note)]
        for m in diff.moves[:_MOVES]
    ]
    looks = [_look(device) for device in devices.values]
    return {"rows": rows, "devices": looks, "total": len(diff)}


def _log(placement: PlacementLike, view: PlacementView) -> dict[str, Any]:
    """Return the log lines: the index of a node whose line follows from its record, otherwise the text."""
    if not hasattr(placement, "log"):
        return {"lines": [], "devices": [], "typed": False, "more": 0}
    devices = [device_name(device, view.release) for device in view.devices]
    typed = view.release not in EDGE_ORDERED_RELEASES
    all_lines = placement.log().splitlines()
    lines: list[int | str] = []
    kept = all_lines[:LOG_LINES]
    for line in track(kept, len(kept), "writing the log", " lines"):
        node = view.index.get(line.partition(": ")[0], -1)
        kind = f"({view.op_type_of(node)}): " if typed and node >= 0 else ""
        is_plain = node >= 0 and line == f"{view.names[node]}: {kind}{devices[view.device[node]]}"
        lines.append(node if is_plain else printable(line))
    return {"lines": lines, "devices": devices, "typed": typed, "more": max(0, len(all_lines) - LOG_LINES)}


def _error(error: BaseException) -> dict[str, Any]:
    facts = list(getattr(error, "facts", {}).items())
    if hint := getattr(error, "hint", None):
        facts.append(("try", hint))
    return {
        "kind": type(error).__name__,
        "message": _safe(str(getattr(error, "message", error)).expandtabs(2)),
        "facts": [[label, _safe(str(text))] for label, text in facts],
    }
