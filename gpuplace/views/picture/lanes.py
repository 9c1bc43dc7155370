"""The picture by device: boxes are split by device, with each part in the lane of its device.

::

    Drawing ──by_device──> Drawing of shares ──sheet_of──> Sheet ──scene──> web/drawing/lanes.js, which draws it

A box whose nodes are all on one device is unchanged; another box has a part for each device, ``s3~1`` of ``s3``.

>>> from gpuplace.views.picture.drawing import draw
>>> from gpuplace.views.tables.placement_view import PlacementView
>>> rows = [("a/x", "Const", "", "/device:CPU:0"), ("a/y", "Neg", "", "/device:GPU:0")]
>>> shares = by_device(draw(PlacementView.of_columns(rows, [("a/x", 0, "a/y", 0)]), []))
>>> [(box.id, box.device, box.nodes, box.share_of) for box in shares.boxes]
[('s1~0', '/device:CPU:0', 1, 2), ('s1~1', '/device:GPU:0', 1, 2)]
>>> [(link.src, link.dst, link.copies) for link in shares.links]
[('s1~0', 's1~1', 1)]
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gpuplace.views.picture.drawing import Box, Drawing, link_of, links_of
from gpuplace.views.picture.outline import outline
from gpuplace.views.picture.scene import BAR, face_values
from gpuplace.views.picture.sheet import Face, Sheet, role_colour
from gpuplace.views.picture.strips import ranks
from gpuplace.views.picture.text_width import text_width
from gpuplace.views.picture.wires import Wire, wire_of
from gpuplace.views.tables.palette import LIGHT, chip_look, device_style
from gpuplace.views.tables.rows import device_rows
from gpuplace.views.tables.text import counted, shortened
from gpuplace.web.rules import RULES, words

__all__ = ["by_device", "lanes_size", "scene"]

_LANES: dict[str, Any] = RULES["lanes"]
_TEXT, _BOX = RULES["text"], RULES["box"]
_SMALL: float = _TEXT["small"]
_SCOPE_LETTERS: int = _TEXT["name_letters"]


def by_device(drawing: Drawing) -> Drawing:
    """Return the drawing with a box for each device part; links connect parts, also parts of one box."""
    view = drawing.view
    slots = len(view.devices) + 1
    device = np.where(view.device < 0, slots - 1, view.device)
    codes, part_of, counts = np.unique(
        drawing.box_of * slots + device, return_inverse=True, return_counts=True
    )
    unmet = np.bincount(part_of[view.is_unmet], minlength=len(codes))
    guilty = np.bincount(part_of[sorted(view.guilty)], minlength=len(codes))
    names = [*view.devices, ""]
    boxes: list[Box] = []
    for part, (code, count) in enumerate(zip(codes.tolist(), counts.tolist(), strict=True)):
        box = drawing.boxes[code // slots]
        if count == box.nodes:
            boxes.append(replace(box, share_of=count))
            continue
        requests = np.unique(view.request[part_of == part]).tolist()
        boxes.append(
            replace(
                box,
                id=f"{box.id}~{code % slots}",
                nodes=count,
                shares=((names[code % slots], count),),
                requests=tuple(sorted(filter(None, (view.requests[request] for request in requests)))),
                unmet=int(unmet[part]),
                guilty=int(guilty[part]),
                share_of=box.nodes,
            )
        )
    return replace(
        drawing,
        boxes=tuple(boxes),
        clusters=(),
        links=tuple(links_of(view, outline(view), boxes, part_of, backward=drawing.backward)),
        shelved=frozenset(box.id for box in boxes if whole_of(box.id) in drawing.shelved),
        box_of=part_of,
        whole=drawing,
    )


def whole_of(identity: str) -> str:
    """Return the id of a part of a box."""
    return identity.partition("~")[0]


def scene(sheet: Sheet, placement: Any) -> dict[str, Any]:
    """Return the input of ``gpuplace/web/drawing/lanes.js`` for JSON.

    Args:
        sheet: sheet of a drawing of parts.
        placement: placement to draw.
    """
    lanes = _lanes(sheet.drawing, placement)
    position = {device: lane for lane, (device, _) in enumerate(lanes)}
    labels = _labels(sheet)
    return {
        "lanes": [look for _, look in lanes],
        "boxes": [
            {
                **face_values(face, _lines(face, sheet.drawing)),
                "lane": position[face.box.device],
                "isLast": face.box.id in sheet.drawing.shelved,
            }
            for face in sheet.faces
        ],
        "links": [
            {
                "src": wire.link.src,
                "dst": wire.link.dst,
                "rank": wire.link.rank,
                "look": {
                    "kind": "" if wire.kind == "tensor" else wire.kind,
                    "label": labels.get((wire.link.src, wire.link.dst), []),
                    "tip": wire.tip,
                    "width": wire.pen,
                },
            }
            for wire in sheet.wires
        ],
    }


def _lanes(drawing: Drawing, placement: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return devices with the looks of their lanes; nodes without a device come last."""
    lanes = []
    for row in sorted(device_rows(placement), key=lambda row: device_style(row.device).order):
        copies = counted(row.copies_in, "copy", "copies")
        texts = [counted(row.nodes, "node")]
        if row.copies_in:
            size, more, _ = row.size_in.partition(" and ")  # a lane is narrow
            texts.append(words("lane_bytes", copies=copies, size=f"{size} …" if more else size))
        task = row.device.rpartition("/device:")[0]
        lanes.append((row.device, {"texts": texts, "nodes": row.nodes, "task": task}))
    without = int((drawing.view.device < 0).sum())
    if without:
        lanes.append(("", {"texts": [counted(without, "node")], "nodes": without, "task": ""}))
    return [(device, chip_look(device) | look) for device, look in lanes]


def _lines(face: Face, drawing: Drawing) -> list[list[Any]]:
    """Return ``[text, size, colour, is bold]`` for lines, ``["bar"]`` for parts; below the name, the open scope."""
    lines = []
    for number, line in enumerate(face.lines):
        for text, role in line.spans:  # in separate lines: a lane is narrow
            shown = shortened(text, _LANES["letters"]) if number < face.name_lines else text.strip()
            lines.append([shown, line.size, role_colour(role, LIGHT, face.look), line.is_bold])
        if number + 1 == face.name_lines:
            path = outline(drawing.view).paths[face.box.cluster]
            if path:
                role = "fill" if face.look is not None else "faint"
                shown = words("lane_scope", scope=shortened(path, _SCOPE_LETTERS))
                lines.append([shown, _SMALL, role_colour(role, LIGHT, face.look), False])
            lines += [[BAR, strip] for strip in range(len(face.bars))]
    return lines


def _labels(sheet: Sheet) -> dict[tuple[str, str], list[str]]:
    """Map the ends of a line to its label. Lines from one box to one lane share one, since a device gets a tensor
    once."""
    view, drawing = sheet.drawing.view, sheet.drawing
    device = {box.id: box.device for box in drawing.boxes}
    groups: dict[tuple[str, str], list[Wire]] = {}
    for wire in sheet.wires:
        if wire.kind == "copy":
            groups.setdefault((wire.link.src, device[wire.link.dst]), []).append(wire)
    index = {box.id: position for position, box in enumerate(drawing.boxes)}
    labels = {}
    for (src, _), wires in groups.items():
        first = wires[0]
        if len(wires) > 1:
            ends = [index[wire.link.dst] for wire in wires]
            is_in = (drawing.box_of[view.src] == index[src]) & np.isin(drawing.box_of[view.dst], ends)
            first = wire_of(link_of(view, src, first.link.dst, np.flatnonzero(is_in)))
        labels[(src, wires[0].link.dst)] = [" · ".join(first.label)]
    return labels


def lanes_size(sheet: Sheet, canvas: tuple[float, float]) -> tuple[float, float]:
    """Estimate the size of the picture by device, as ``lanes.js`` lays it out for a canvas.

    Args:
        sheet: sheet of a drawing of parts.
        canvas: width and height of the canvas.

    Returns:
        Width and height in points.
    """
    drawing = sheet.drawing
    pairs = [pair for link in drawing.links for pair in link.below]
    rank = ranks((box.id for box in drawing.boxes), pairs)
    order = sorted(drawing.boxes, key=lambda box: (box.id in drawing.shelved, rank[box.id]))
    count: dict[str, int] = {}
    for box in drawing.boxes:
        count[box.device] = count.get(box.device, 0) + 1
    sizes = {face.box.id: _size(face, drawing) for face in sheet.faces}
    best: tuple[float, float, float] | None = None
    tried: set[tuple[int, ...]] = set()
    for deep in range(max(count.values(), default=1), 0, -1):
        most = {device: math.ceil(number / deep) for device, number in count.items()}
        if tuple(most.values()) in tried:
            continue
        tried.add(tuple(most.values()))
        width, height = _rows_size(_rows(order, pairs, rank, most), sizes, len(drawing.view.devices))
        scale = max(width / canvas[0], height / canvas[1])
        best = min(best or (scale, width, height), (scale, width, height))
    return (0.0, 0.0) if best is None else best[1:]


def _size(face: Face, drawing: Drawing) -> tuple[float, float]:
    lines = _lines(face, drawing)
    widths = [0.0 if line[0] == BAR else text_width(line[0], line[1], line[3]) for line in lines]
    heights = [_BOX["bar"] if line[0] == BAR else line[1] for line in lines]
    grow = _BOX["inset"] * (face.outlines - 1)
    height = sum(heights) + len(lines) * _TEXT["leading"]
    return max(widths) + 2 * _BOX["pad_x"] + grow, height + 2 * _BOX["pad_y"] + grow


def _rows(
    order: list[Box], pairs: list[tuple[str, str]], rank: dict[str, int], most: dict[str, int]
) -> list[dict[str, list[str]]]:
    """[rows] device -> its boxes, up to a maximum, below or to the right of their inputs; see ``rowsOf``."""
    needs: dict[str, list[str]] = {box.id: [] for box in order}
    for src, dst in pairs:
        if rank[src] < rank[dst]:
            needs[dst].append(src)
    ends: dict[str, tuple[int, int, str]] = {}
    row_of: dict[str, int] = {}
    rows: list[dict[str, list[str]]] = []
    for box in order:
        last, used, beside = ends.get(box.device, (0, 0, ""))
        row = last + (used >= most[box.device])
        for needed in needs[box.id]:
            if needed in row_of:
                row = max(row, row_of[needed] + (needed != beside or row != last))
        ends[box.device] = (row, used + 1 if row == last else 1, box.id)
        row_of[box.id] = row
        rows += [{} for _ in range(row + 1 - len(rows))]
        rows[row].setdefault(box.device, []).append(box.id)
    return rows


def _rows_size(
    rows: list[dict[str, list[str]]], sizes: dict[str, tuple[float, float]], devices: int
) -> tuple[float, float]:
    widest: dict[str, float] = {}
    height = _LANES["head"] + 2 * (_SMALL + 2) + 2 * (_LANES["margin"] + _LANES["pad"])
    for row in rows:
        for device, boxes in row.items():
            wide = sum(sizes[box][0] for box in boxes) + _LANES["apart"] * (len(boxes) - 1)
            widest[device] = max(widest.get(device, 0.0), wide)
        tracks = max((len(boxes) for boxes in row.values()), default=0)
        gap = max(_LANES["gap"], _LANES["track"] * (tracks + 1) + _LANES["arrow"])
        height += max((sizes[box][1] for boxes in row.values() for box in boxes), default=0.0) + gap
    empty = min(devices - len(widest), int(_LANES["most_empty"]))
    lane = 2 * _LANES["pad"]
    channels = _LANES["gutter"] + 2 * _LANES["track"]
    width = sum(max(wide, 60.0) + lane + channels for wide in widest.values())
    width += max(0, empty) * (60.0 + _LANES["gutter"]) + 2 * _LANES["margin"]
    return width, height
