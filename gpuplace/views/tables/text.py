"""Plain text: tables, and a placement as a few lines for a terminal or a saved notebook.

>>> print(table_text(("op", "device"), [("a", "CPU:0"), ("MatMul", None)]))
op      device
a       CPU:0
MatMul  -
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import CopyRow, PlacementView, view_of
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.web.rules import RULES, words

_MOST_PADDED = 80
_LEAST_WIDTH = 8
MOST_SEARCHING_S = 2
"""Seconds that a search may take."""
_LEAST_S = 1e-3
"""For each text, also when the time is up: what is matched at once still is."""
OF_UNKNOWN_SIZE = words("of_unknown_size")
"""The size of copies that nothing is known of."""
_WITHOUT_SPECIALS = re.compile(r"[\w/:, -]*")


def counted(number: int, singular: str, plural: str = "") -> str:
    """``1 node``, ``2,000 nodes``.

    >>> counted(1, "copy", "copies"), counted(2000, "node")
    ('1 copy', '2,000 nodes')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def printable(text: str) -> str:
    r"""The text with control characters and lone surrogates written out, so that it is safe in XML.

    >>> print(printable("a\x00b\n\ud800"))
    a\x00b\n\ud800
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\u00a0\u3000" else char.encode("unicode_escape").decode()
        for char in text
    )


def shortened(text: str, width: int) -> str:
    """At most ``width`` characters, the middle left out where there are more.

    >>> shortened("gradients/tower_0/MatMul_grad/MatMul", 20)
    'gradients/…ad/MatMul'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def searcher(pattern: str) -> Callable[[str], Any]:
    """Search by regular expression; what is not one is searched for as it is.

    All that one searcher does ends after `MOST_SEARCHING_S` seconds: ``(a+)+$`` would take years.

    >>> bool(searcher("Mat.*_1")("MatMul_1")), bool(searcher("a[")("a[0]"))
    (True, True)

    Raises:
        ValueError: by the function that is returned: the time is up.
    """
    if _WITHOUT_SPECIALS.fullmatch(pattern):
        return re.compile(pattern).search
    import regex  # like `re`, with a limit of time

    try:
        compiled = regex.compile(pattern)
    except regex.error:
        return re.compile(re.escape(pattern)).search
    end = time.monotonic() + MOST_SEARCHING_S

    def search(text: str) -> Any:
        try:
            return compiled.search(text, timeout=max(end - time.monotonic(), _LEAST_S))
        except TimeoutError:
            raise ValueError(
                f"the search for {pattern!r} takes more than {MOST_SEARCHING_S} seconds: a repetition of repetitions, "
                "such as (a+)+, can be matched in too many ways; leave one of them out"
            ) from None

    return search


def table_text(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    limit: int | None = None,
    more: int = 0,
    width: int | None = None,
) -> str:
    """Columns padded with blanks; ``-`` where there is nothing.

    A column is as wide as its longest cell, except that a cell of more than 80 characters widens it for no other row.

    >>> print(table_text(("op", "device"), [("gradients/tower_0/MatMul", "CPU:0"), ("b", "GPU:0")], width=24))
    op                device
    gradient…/MatMul  CPU:0
    b                 GPU:0

    Args:
        columns: their names.
        rows: as many values each.
        limit: how many rows to show; the rest is counted.
        more: rows that are not given and counted all the same.
        width: characters a line may have, for which the middle of long cells is left out; None: as long as it gets.
    """
    kept: list[list[str]] = []
    for row in rows:
        if limit is not None and len(kept) >= limit:
            more += 1
        else:
            kept.append(["-" if value in (None, "") else printable(str(value)) for value in row])
    lengths = [list(map(len, column)) for column in zip(columns, *kept, strict=True)]
    widths = [max((one for one in column if one <= _MOST_PADDED), default=_MOST_PADDED) for column in lengths]
    if width is not None:
        widths = _fitted(list(map(max, lengths)), width - 2 * (len(columns) - 1))
        kept = [[shortened(cell, most) for cell, most in zip(row, widths, strict=True)] for row in kept]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [list(columns), *kept]
    ]
    if more:
        lines.append(f"... and {counted(more, 'more row')}")
    return "\n".join(lines)


def _fitted(widths: list[int], room: int) -> list[int]:
    """Widths of columns that fit, the widest made narrower; none below that of a short word."""
    most = max(widths, default=0)
    while sum(min(width, most) for width in widths) > room and most > _LEAST_WIDTH:
        most -= max(1, (sum(min(width, most) for width in widths) - room) // len(widths))
    return [min(width, max(most, _LEAST_WIDTH)) for width in widths]


def placement_text(placement: Any, limit: int = 30) -> str:
    """A placement in lines: counts, copies, errors, then the nodes.

    >>> from gpuplace.views.tables.placement_view import PlacementView
    >>> print(placement_text(PlacementView.of_columns([("a", "Const", "/cpu:0", "/device:CPU:0")])))
    1 node: 1 on CPU:0; nothing is copied between devices
    node  type   requested  assigned
    a     Const  /cpu:0     CPU:0
    """
    view = view_of(placement)
    rows = (
        (name, view.op_type_of(node), view.request_of(node), device_label(view.device_of(node)))
        for node, name in enumerate(view.names[:limit])
    )
    more = max(0, len(view) - limit)
    parts = [summary_text(view), table_text(RULES["tables"]["nodes"], rows, more=more)]
    if view.part:
        parts.insert(0, view.part)
    if view.errors:
        parts.insert(-1, "\n".join(f"{type(error).__name__}: {error}" for error in view.errors[:3]))
    return "\n".join(parts)


def summary_text(placement: Any) -> str:
    """``7 nodes: 3 on GPU:2, 3 on GPU:3, 1 on CPU:0; 2 copies between devices, 32 B``."""
    view = view_of(placement)
    known = view.__dict__.get("_summary_text")
    if known is None:  # asked for several times by all that shows a placement, and long in the making
        known = view.__dict__["_summary_text"] = _summary_text(view)
    return known


def _summary_text(view: PlacementView) -> str:
    found = [(device_label(device), count) for device, count in view.counts.items() if count]
    where = ", ".join(
        f"{count:,} on {label}" if label != "no device" else f"{count:,} without a device"
        for label, count in found
    )
    copies = view.copies
    moved = "nothing is copied between devices" if view.knows_edges else "a log does not list copies"
    if copies:
        moved = copies_text(view, copies)
    unmet = int(view.is_unmet.sum())
    parts = [f"{counted(len(view), 'node')}: {where or 'none'}", moved]
    parts += [f"{counted(unmet, 'request')} not met"] if unmet else []
    parts += [view.outside().rstrip(".")] if view.outside() else []
    return "; ".join(parts)


def copies_text(view: PlacementView, copies: Sequence[CopyRow]) -> str:
    """Return number and size of copies: ``2 copies between devices, 32 B``.

    Args:
        view: the placement.
        copies: some of its copies, at least one.
    """
    total = sum(copy.runs for copy in copies)
    return f"{counted(total, 'copy', 'copies')} between devices, {sizes_text(view, copies)}"


def sizes_text(view: PlacementView, copies: Sequence[CopyRow]) -> str:
    """Return the size of copies: ``4.2 MiB and 3.1 MiB per example and 2 of unknown size``.

    Args:
        view: the placement.
        copies: some of its copies, at least one.
    """
    known = of_examples = unknown = 0
    facts = view.tensors_of([(copy.node, copy.output) for copy in copies])
    for fact, copy in zip(facts, copies, strict=True):
        if fact.nbytes is not None:
            known += fact.nbytes * copy.runs
        elif fact.example_bytes is not None:
            of_examples += fact.example_bytes * copy.runs
        else:
            unknown += copy.runs
    sizes = [bytes_text(known)] if known or not (of_examples or unknown) else []
    sizes += [words("per_example", size=bytes_text(of_examples))] if of_examples else []
    if unknown:
        sizes.append(f"{unknown:,} {OF_UNKNOWN_SIZE}" if sizes else OF_UNKNOWN_SIZE)
    return reduce(lambda first, second: words("and", first=first, second=second), sizes)
