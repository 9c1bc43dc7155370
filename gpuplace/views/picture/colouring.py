"""Colourings of a picture: the category of each node, with a legend and counts.

::

    name         categories                                   look
    assigned     devices of the machine                       the device's, the same in every picture
    requested    devices as the program wrote them            that of the device asked for
    type         op types, the most frequent first            by place; from the 17th on all are "other"
    group        colocation groups, the largest first         by place
    memory       steps of the bytes of a node's outputs       dark is much
    time         steps of the time in one step                dark is much
    cause        the rule that settled the device             the rule's, the same in every picture
    moved        the rule that moved a node (compare)         the rule's

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns([("a", "Const", "/cpu:0", "/device:CPU:0"), ("n", "Neg", "", "/device:CPU:0")])
>>> [(category.label, category.count) for category in colouring(view, "requested").categories]
[('CPU:0', 1), ('no request', 1)]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpuplace.typing import PlacementLike, RunMetadata
from gpuplace.views.picture.marks import Moves
from gpuplace.views.tables.palette import (
    MOST_CATEGORIES,
    Look,
    category_look,
    device_label,
    device_look,
    device_style,
    scale_look,
)
from gpuplace.views.tables.placement_view import PlacementView, view_of
from gpuplace.views.tables.scale import Scale, bytes_scale, time_scale
from gpuplace.views.tables.step_times import is_predicted, measured_bytes, measured_us
from gpuplace.views.tables.text import counted, printable, shortened
from gpuplace.why.rules import RULES, Rule

COLOURINGS = ("assigned", "requested", "type", "group", "memory", "time", "cause")
"""Names of colourings; ``"time"`` needs a measured step."""

_RULE_PLACES = (
    Rule.REQUEST,
    Rule.KERNEL,
    Rule.TYPE_PRIORITY,
    Rule.ONLY_DEVICE,
    Rule.REQUESTS_DROPPED,
    Rule.IDENTITY,
    Rule.GENERATOR,
    Rule.SOFT_PLACEMENT,
    Rule.NAME_ORDER,
    Rule.METADATA,
    Rule.KERNEL_PRIORITY,
    Rule.ASSIGNED,
    Rule.DEFAULT_DEVICE,
    Rule.SOFT_RESOURCE,
    Rule.HOST_DATA,
    Rule.YIELDS_TO_SOURCE,
)
"""The rules in the order of their looks, so that a rule has the same colour in every picture."""


@dataclass(frozen=True, slots=True)
class Category:
    """One entry of the legend."""

    label: str
    look: Look
    count: int
    """Number of nodes."""
    note: str = ""
    """Tooltip text."""

    @property
    def chip(self) -> dict[str, Any]:
        """The legend entry for scripts, printable."""
        return self.look.chip(label=printable(self.label), count=self.count, note=printable(self.note))


@dataclass(frozen=True, eq=False)
class Colouring:
    """The category of each node."""

    name: str
    """One of `COLOURINGS`, or ``"moved"``."""
    title: str
    """Description of the colours' meaning."""
    categories: tuple[Category, ...]
    """The categories, in legend order."""
    category: np.ndarray
    """[nodes] position in `categories`."""
    values: np.ndarray | None = None
    """[nodes] value that determines the category, NaN if unknown; None for a colouring without values."""
    scale: Scale | None = None
    """Steps and unit of the values."""
    texts: Callable[[int], str] = field(default=lambda node: "", repr=False)
    """Returns the text in a node's own box, ``""`` for none."""

    def shares(self, box_of: np.ndarray, boxes: int) -> np.ndarray:
        """Return [boxes, categories] numbers of nodes."""
        width = len(self.categories)
        return np.bincount(box_of * width + self.category, minlength=boxes * width).reshape(boxes, width)

    def strips(self, box_of: np.ndarray, boxes: int, strip: np.ndarray) -> np.ndarray:
        """Return [boxes, strips, categories] numbers of nodes.

        Args:
            box_of: [nodes] position of each node's box.
            boxes: number of boxes.
            strip: [nodes] the strip of its box that a node counts for.
        """
        count = int(strip.max(initial=0)) + 1
        return self.shares(box_of * count + strip, boxes * count).reshape(boxes, count, len(self.categories))

    def totals(self, box_of: np.ndarray, boxes: int) -> list[float] | None:
        """Return [boxes] sums of the known values; None for a colouring without values."""
        if self.values is None:
            return None
        return np.bincount(box_of, weights=np.nan_to_num(self.values), minlength=boxes).tolist()


def colouring(
    placement: PlacementLike, name: str = "assigned", *, run_metadata: RunMetadata | None = None
) -> Colouring:
    """Return a colouring.

    Args:
        placement: a `Placement` or a `PlacementView`.
        name: one of `COLOURINGS`.
        run_metadata: ``RunMetadata`` or ``StepStats`` of a step; needed for ``"time"``, and makes ``"memory"`` show
            measured bytes.

    Raises:
        ValueError: the name is unknown, or ``"time"`` without a step.
    """
    view = view_of(placement)
    if name not in _MAKERS:
        raise ValueError(f"Unknown colouring {name!r}: choose one of {', '.join(COLOURINGS)}")
    if name == "time" and run_metadata is None:
        raise ValueError(
            "colour='time' shows measured times: run a step with "
            "options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=metadata, and pass "
            "run_metadata=metadata"
        )
    if run_metadata is not None and name in ("time", "memory"):
        return _MAKERS[name](view, run_metadata)
    colourings = view.__dict__.setdefault("_colourings", {})
    if name not in colourings:
        colourings[name] = _MAKERS[name](view, None)
    chosen: Colouring = colourings[name]
    return chosen


def cause_look(rule: Rule) -> Look:
    """Return the look of a rule, the same in all pictures."""
    if rule is Rule.FAILED:
        return Look(corners="square")
    if rule in _RULE_PLACES:
        return category_look(_RULE_PLACES.index(rule))
    return replace(category_look(MOST_CATEGORIES), outlines=1 + RULES.index(rule) % 3)


def _assigned(view: PlacementView, _: object) -> Colouring:
    full = [*view.devices, ""]
    order = sorted(range(len(view.counts)), key=lambda position: device_style(full[position]).order)
    if "" not in view.counts:
        order = [position for position in order if full[position]]
    place = np.full(len(full), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    categories = [
        Category(device_label(full[i]), device_look(full[i]), view.counts[full[i]], full[i]) for i in order
    ]
    return Colouring("assigned", "assigned device", tuple(categories), place[view.device])


def _requested(view: PlacementView, _: object) -> Colouring:
    nothing = "no request" if view.knows_edges else "request unknown"  # logs do not contain requests
    labels = [device_label(request) if request else nothing for request in view.requests]
    looks = {label: device_look(request) for label, request in zip(labels, view.requests, strict=True)}
    orders = {
        label: (request == "", device_style(request).order)
        for label, request in zip(labels, view.requests, strict=True)
    }
    distinct = sorted(looks, key=lambda label: (*orders[label], label))
    place = np.array([distinct.index(label) for label in labels], dtype=np.int64)
    return _categorical(
        view,
        "requested",
        "requested device",
        distinct,
        place[view.request],
        [looks[label] for label in distinct],
    )


def _type(view: PlacementView, _: object) -> Colouring:
    return _ranked("type", "op type", view.op_types, view.op_type, "types")


def _group(view: PlacementView, _: object) -> Colouring:
    if view.groups is None:
        category = np.zeros(len(view), dtype=np.int64)
        return _categorical(view, "group", "colocation group", ["groups unknown"], category, [Look()])
    _, first, number, sizes = np.unique(
        view.groups(), return_index=True, return_inverse=True, return_counts=True
    )
    shared = np.flatnonzero(sizes > 1)
    shared = shared[np.lexsort((first[shared], -sizes[shared]))]
    place = np.full(len(sizes), -1, dtype=np.int64)
    place[shared] = np.arange(len(shared))
    labels = [
        f"{shortened(view.names[int(first[group])], 24)} …" for group in shared[:MOST_CATEGORIES].tolist()
    ]
    category = place[number]
    kept, more = min(len(shared), MOST_CATEGORIES), len(shared) - MOST_CATEGORIES
    category = np.where(category >= kept, kept, category)
    looks = [category_look(i) for i in range(kept)]
    if more > 0:
        labels.append(f"{counted(more, 'smaller group')}")
        looks.append(category_look(MOST_CATEGORIES))
    category = np.where(category < 0, len(labels), category)
    groups = _categorical(view, "group", "colocation group", [*labels, "alone"], category, [*looks, Look()])
    sized = sizes[number]
    return Colouring(
        groups.name,
        groups.title,
        groups.categories,
        groups.category,
        texts=lambda node: f"group of {int(sized[node])}" if sized[node] > 1 else "alone",
    )


def _memory(view: PlacementView, run_metadata: RunMetadata) -> Colouring:
    if run_metadata is not None:
        values, title = (
            measured_bytes(view, run_metadata),
            f"bytes of outputs in the {_source(run_metadata)} step",
        )
    else:
        values, title = _known_bytes(view), "bytes of outputs"
    return _number("memory", title, values, bytes_scale(values))


def _known_bytes(view: PlacementView) -> np.ndarray:
    """Return [nodes] bytes of all outputs; NaN if a size is unknown."""
    if not view.knows_edges:
        return np.full(len(view), np.nan)
    totals: list[float] = []
    for node, outputs in enumerate(view.outputs.tolist()):
        total = 0.0
        for output in range(outputs):
            size = view.tensor_of(node, output).nbytes
            total += np.nan if size is None else size
        totals.append(total)
    return np.array(totals)


def _time(view: PlacementView, run_metadata: RunMetadata) -> Colouring:
    values = measured_us(view, run_metadata)
    source = _source(run_metadata)
    missing = "did not run" if source == "measured" else "does not run"
    return _number("time", f"time in the {source} step", values, time_scale(values), missing)


def _source(run_metadata: RunMetadata) -> str:
    """Return whether a step is ``"measured"`` or ``"predicted"``."""
    return "predicted" if is_predicted(run_metadata) else "measured"


def _number(
    name: str, title: str, values: np.ndarray, scale: Scale, missing: str = "size unknown"
) -> Colouring:
    """Return a scale's steps as categories, followed by "zero" and "unknown" if present."""
    steps = len(scale.bounds) - 1
    category = np.clip(np.searchsorted(scale.bounds, values, side="right") - 1, 0, max(0, steps - 1))
    labels = [scale.step_text(step) for step in range(steps)]
    # Few steps are spread over all the shades.
    looks = [scale_look(round(step * 5 / max(1, steps - 1)) if steps > 1 else 2) for step in range(steps)]
    for here, label, look in (
        (values == 0, scale.text(0), Look(corners="square")),
        (np.isnan(values), missing, replace(category_look(MOST_CATEGORIES), pattern="dots")),
    ):
        if here.any() or not steps:
            category = np.where(here, len(labels), category)
            labels.append(label)
            looks.append(look)
    counts = np.bincount(category, minlength=len(labels)).tolist()
    return Colouring(
        name,
        title,
        tuple(Category(label, look, n) for label, look, n in zip(labels, looks, counts, strict=True)),
        category,
        values,
        scale,
        lambda node: missing if np.isnan(values[node]) else scale.text(float(values[node])),
    )


def _cause(view: PlacementView, _: object) -> Colouring:
    if view.verdicts is None:
        category = np.zeros(len(view), dtype=np.int64)
        return _categorical(view, "cause", "deciding rule", ["cause unknown"], category, [Look()])
    return by_rule(view, "cause", "deciding rule", view.verdicts().rule)


def moved_colouring(placement: PlacementLike, moves: Moves) -> Colouring:
    """Return a colouring of moved nodes by the rule that moved them.

    Args:
        placement: the later `Placement` or `PlacementView`.
        moves: from `gpuplace.views.picture.marks.compare`.
    """
    view = view_of(placement)
    if (moves.rules >= 0).any() or not moves.is_moved.any():
        return by_rule(view, "moved", "what moved, by cause", moves.rules, "did not move")
    labels, looks = ["moved", "did not move"], [category_look(0), Look()]
    return _categorical(view, "moved", "what moved", labels, (~moves.is_moved).astype(np.int64), looks)


def by_rule(view: PlacementView, name: str, title: str, rules: np.ndarray, rest: str = "") -> Colouring:
    """Return a colouring by rule, most frequent first.

    Args:
        view: placement to colour.
        name: name of the colouring.
        title: title of the legend.
        rules: [nodes] position in `RULES`, -1 for none.
        rest: label of nodes without a rule.
    """
    frequent = Counter(rules[rules >= 0].tolist())
    order = [number for number, _ in sorted(frequent.items(), key=lambda item: (-item[1], item[0]))]
    place = np.full(len(RULES) + 1, len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    labels = [RULES[number].value for number in order]
    looks = [cause_look(RULES[number]) for number in order]
    notes = [RULES[number].meaning for number in order]
    if rest and (rules < 0).any():
        labels, looks, notes = [*labels, rest], [*looks, Look()], [*notes, ""]
    category = place[rules]
    counts = np.bincount(category, minlength=len(labels)).tolist()
    return Colouring(
        name,
        title,
        tuple(Category(*row) for row in zip(labels, looks, counts, notes, strict=True)),
        category,
        texts=lambda node: RULES[rules[node]].value if rules[node] >= 0 else "",
    )


def _ranked(name: str, title: str, labels: Sequence[str], codes: np.ndarray, plural: str) -> Colouring:
    """Return categories by frequency; the rest beyond the palette becomes a single category."""
    counts = np.bincount(codes, minlength=len(labels))
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-counts[code], labels[code]))
    kept = order[:MOST_CATEGORIES]
    place = np.full(len(labels), len(kept), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    category = place[codes]
    categories = [
        Category(shortened(labels[code], 24), category_look(i), int(counts[code]), labels[code])
        for i, code in enumerate(kept)
    ]
    rest = order[MOST_CATEGORIES:]
    if rest:
        listed = ", ".join(labels[code] for code in rest[:12]) + (" …" if len(rest) > 12 else "")
        number = int(counts[rest].sum())
        categories.append(
            Category(f"other ({len(rest)} {plural})", category_look(MOST_CATEGORIES), number, listed)
        )
    return Colouring(name, title, tuple(categories), category)


def _categorical(
    view: PlacementView,
    name: str,
    title: str,
    labels: Sequence[str],
    category: np.ndarray,
    looks: Sequence[Look],
) -> Colouring:
    """Return categories with looks; the smallest ones beyond the palette become a single category."""
    counts = np.bincount(category, minlength=len(labels))
    if len(labels) > MOST_CATEGORIES + 2:
        largest = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        kept = sorted(largest.tolist())
        place = np.full(len(labels), len(kept), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        category = place[category]
        labels = [*(labels[i] for i in kept), f"other ({len(labels) - len(kept)})"]
        looks = [*(looks[i] for i in kept), category_look(MOST_CATEGORIES)]
        counts = np.bincount(category, minlength=len(labels))
    categories = tuple(
        Category(shortened(label, 28), look, n, label)
        for label, look, n in zip(labels, looks, counts.tolist(), strict=True)
    )
    return Colouring(name, title, categories, category)


_MAKERS: dict[str, Callable[[PlacementView, Any], Colouring]] = {
    "assigned": _assigned,
    "requested": _requested,
    "type": _type,
    "group": _group,
    "memory": _memory,
    "time": _time,
    "cause": _cause,
}
