"""Plain text: tables, and summaries of a placement for a terminal or a saved notebook.

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

_NAME_LETTERS: int = RULES["text"]["name_letters"]
"""Maximum number of characters in a line of a box's name."""
_SERIES_LETTERS: int = RULES["text"]["series_letters"]
"""Maximum number of characters in the name of a series on one line."""
_MAX_PADDED = 80
_MIN_WIDTH = 8
MOST_SEARCHING_S = 2
"""Time limit of a search, in seconds."""
_MIN_TIMEOUT_S = 1e-3
"""Minimum time for each text, even after the limit, so that immediate matches are still found."""
OF_UNKNOWN_SIZE = words("of_unknown_size")
"""The size of copies whose sizes are all unknown."""
_WITHOUT_SPECIALS = re.compile(r"[\w/:, -]*")


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 node``, ``2,000 nodes``.

    >>> counted(1, "copy", "copies"), counted(2000, "node")
    ('1 copy', '2,000 nodes')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def printable(text: str) -> str:
    r"""Return a text with control characters and lone surrogates escaped, so that it is safe in XML.

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
    """Return a text of at most ``width`` characters; longer texts are shortened in the middle.

    >>> shortened("gradients/tower_0/MatMul_grad/MatMul", 20)
    'gradients/…ad/MatMul'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def name_lines(name: str) -> list[str]:
    """Return the name of a box on one line, or on two lines if it is the long name of a series.

    >>> name_lines("AttnOutputProjection_1 … AttnOutputProjection_9, 9 times")
    ['AttnOutputProjection_1 …', 'AttnOutputProje…ion_9, 9 times']
    """
    first, separator, last = name.partition(" … ")
    parts = [f"{first} …", last] if separator and len(name) > _SERIES_LETTERS else [name]
    return [shortened(part, _NAME_LETTERS) for part in parts]


def searcher(pattern: str) -> Callable[[str], Any]:
    """Return a search function for a regular expression; an invalid one is searched for as plain text.

    All searches of one function together end after `MOST_SEARCHING_S` seconds: ``(a+)+$`` could take years.

    >>> bool(searcher("Mat.*_1")("MatMul_1")), bool(searcher("a[")("a[0]"))
    (True, True)

    Raises:
        ValueError: raised by the returned function when the time is up.
    """
    if _WITHOUT_SPECIALS.fullmatch(pattern):
        return re.compile(pattern).search
    import regex  # like `re`, with a time limit

    try:
        compiled = regex.compile(pattern)
    except regex.error:
        return re.compile(re.escape(pattern)).search
    end = time.monotonic() + MOST_SEARCHING_S

    def search(text: str) -> Any:
        try:
            return compiled.search(text, timeout=max(end - time.monotonic(), _MIN_TIMEOUT_S))
        except TimeoutError:
            raise ValueError(
                f"the search for {pattern!r} takes more than {MOST_SEARCHING_S} seconds; avoid nested repetitions such "
                "as (a+)+, which can match in too many ways"
            ) from None

    return search


def table_text(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    limit: int | None = None,
    more: int = 0,
    width: int | None = None,
) -> str:
    """Return columns padded with blanks; ``-`` for an empty cell.

    A column is as wide as its longest cell, but cells longer than 80 characters do not widen the column for other rows.

    >>> print(table_text(("op", "device"), [("gradients/tower_0/MatMul", "CPU:0"), ("b", "GPU:0")], width=24))
    op                device
    gradient…/MatMul  CPU:0
    b                 GPU:0

    Args:
        columns: the column names.
        rows: rows with one value per column.
        limit: the maximum number of rows to show; the rest is counted.
        more: the number of rows that were not passed; they are counted too.
        width: the maximum line length in characters, for which long cells are shortened in the middle; None for no
            limit.
    """
    cells: list[list[str]] = []
    for row in rows:
        if limit is not None and len(cells) >= limit:
            more += 1
        else:
            cells.append(["-" if value in (None, "") else printable(str(value)) for value in row])
    lengths = [list(map(len, column)) for column in zip(columns, *cells, strict=True)]
    widths = [
        max((length for length in column if length <= _MAX_PADDED), default=_MAX_PADDED) for column in lengths
    ]
    if width is not None:
        widths = _fitted(list(map(max, lengths)), width - 2 * (len(columns) - 1))
        cells = [[shortened(cell, most) for cell, most in zip(row, widths, strict=True)] for row in cells]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [list(columns), *cells]
    ]
    if more:
        lines.append(f"... and {counted(more, 'more row')}")
    return "\n".join(lines)


def _fitted(widths: list[int], room: int) -> list[int]:
    """Return column widths that fit, by narrowing the widest columns, but not below the width of a short word."""
    most = max(widths, default=0)
    while sum(min(width, most) for width in widths) > room and most > _MIN_WIDTH:
        most -= max(1, (sum(min(width, most) for width in widths) - room) // len(widths))
    return [min(width, max(most, _MIN_WIDTH)) for width in widths]


def placement_text(placement: Any, limit: int = 30) -> str:
    """Return a placement as lines of text: counts, copies, errors, then the nodes.

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
    """Return one line: ``7 nodes: 3 on GPU:2, 3 on GPU:3, 1 on CPU:0; 2 copies between devices, 32 B``."""
    view = view_of(placement)
    text = view.__dict__.get("_summary_text")
    if text is None:  # several views of a placement need it, and it is slow to compute
        text = view.__dict__["_summary_text"] = _summary_text(view)
    return text


def _summary_text(view: PlacementView) -> str:
    counts = [(device_label(device), count) for device, count in view.counts.items() if count]
    nodes_text = ", ".join(
        f"{count:,} on {label}" if label != "no device" else f"{count:,} without a device"
        for label, count in counts
    )
    copies = view.copies
    copies_part = "nothing is copied between devices" if view.knows_edges else "a log does not list copies"
    if copies:
        copies_part = copies_text(view, copies)
    unmet = int(view.is_unmet.sum())
    parts = [f"{counted(len(view), 'node')}: {nodes_text or 'none'}", copies_part]
    parts += [f"{counted(unmet, 'device request')} overridden"] if unmet else []
    parts += [view.outside().rstrip(".")] if view.outside() else []
    return "; ".join(parts)


def copies_text(view: PlacementView, copies: Sequence[CopyRow]) -> str:
    """Return number and size of copies: ``2 copies between devices, 32 B``.

    Args:
        view: the placement.
        copies: at least one of its copies.
    """
    total = sum(copy.runs for copy in copies)
    return f"{counted(total, 'copy', 'copies')} between devices, {sizes_text(view, copies)}"


def sizes_text(view: PlacementView, copies: Sequence[CopyRow]) -> str:
    """Return the size of copies: ``4.2 MiB and 3.1 MiB per example and 2 of unknown size``.

    Args:
        view: the placement.
        copies: at least one of its copies.
    """
    known_bytes = bytes_per_example = unknown = 0
    facts = view.tensors_of([(copy.node, copy.output) for copy in copies])
    for fact, copy in zip(facts, copies, strict=True):
        if fact.nbytes is not None:
            known_bytes += fact.nbytes * copy.runs
        elif fact.example_bytes is not None:
            bytes_per_example += fact.example_bytes * copy.runs
        else:
            unknown += copy.runs
    sizes = [bytes_text(known_bytes)] if known_bytes or not (bytes_per_example or unknown) else []
    sizes += [words("per_example", size=bytes_text(bytes_per_example))] if bytes_per_example else []
    if unknown:
        sizes.append(f"{unknown:,} {OF_UNKNOWN_SIZE}" if sizes else OF_UNKNOWN_SIZE)
    return reduce(lambda first, second: words("and", first=first, second=second), sizes)
