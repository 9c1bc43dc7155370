"""The memory of a simulated GPU as a picture: allocated regions, chunks in use, and free memory.

Each region that the allocator took from the GPU is a bar, divided into its chunks::

    GPU_0_bfc: 20.0 MiB in use, 41.0 MiB taken from the GPU in 5 regions, limit 10.5 GiB
    1.0 MiB   #.......................
    16.0 MiB  ########################  w

>>> from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
>>> from gpuplace.runtime.memory.device_memory import DeviceMemory
>>> allocator = BFCAllocator(DeviceMemory(8 << 20), 8 << 20, allow_growth=True)
>>> address = allocator.allocate(768 << 10, label="weights")
>>> print(memory_text(allocator))
GPU_0_bfc: 1.0 MiB in use, 1.0 MiB taken from the GPU in 1 region, limit 8.0 MiB
1.0 MiB  ################################################  weights
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.views.tables import html
from gpuplace.views.tables.palette import CPU_FILL, GPU_FILLS, INK, LIGHT, Theme, theme_named
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted, shortened, table_text

_WIDTH = 720
_LEFT = 96
_RIGHT = 16
_ROW = 34
_BAR = 22
_MOST_REGIONS = 8
_MOST_CHUNKS = 12
_CELLS = 48
_LETTER = 6.3
"""Width of a letter of the labels, in units of the picture."""
_COLUMNS = ("who", "asked for", "takes", "state")


def memory_title(allocator: Any) -> str:
    """Return name, bytes in use, bytes allocated and limit in one line."""
    stats, regions = allocator.stats(), allocator.regions()
    taken = sum(region.size for region in regions)
    return (
        f"{allocator.name}: {bytes_text(stats.bytes_in_use)} in use, {bytes_text(taken)} taken from the GPU in "
        f"{counted(len(regions), 'region')}, limit {bytes_text(stats.bytes_limit)}"
    )


def memory_text(allocator: Any) -> str:
    """Return a line for each region: ``#`` in use, ``+`` partly, ``.`` free, then its users."""
    rows = []
    for number, region in enumerate(allocator.regions()[:_MOST_REGIONS]):
        chunks = [chunk for chunk in allocator.chunks() if chunk.region == number]
        users = [chunk.label or "?" for chunk in chunks if chunk.in_use]
        rows.append((bytes_text(region.size), _bar(region, chunks), shortened(", ".join(users), 60)))
    size = max((len(row[0]) for row in rows), default=0)
    lines = [f"{label:<{size}}  {bar}  {users}".rstrip() for label, bar, users in rows]
    more = len(allocator.regions()) - _MOST_REGIONS
    if more > 0:
        lines.append(f"and {counted(more, 'more region')}")
    return "\n".join([memory_title(allocator), *lines])


def chunks_text(allocator: Any) -> str:
    """Return a line for each of the largest chunks; empty without allocated memory."""
    rows = [_row(chunk) for chunk in _by_size(allocator)]
    return table_text(_COLUMNS, rows, _MOST_CHUNKS) if rows else ""


def _by_size(allocator: Any) -> list[Any]:
    return sorted(allocator.chunks(), key=lambda chunk: -chunk.size)


def _bar(region: Any, chunks: Sequence[Any]) -> str:
    """Return [_CELLS] characters for one region."""
    used = [0.0] * _CELLS
    for chunk in chunks:
        if chunk.in_use:
            start = (chunk.address - region.address) / region.size * _CELLS
            end = start + chunk.size / region.size * _CELLS
            for cell in range(int(start), min(_CELLS, int(end) + 1)):
                used[cell] += max(0.0, min(end, cell + 1) - max(start, cell))
    return "".join("#" if part > 0.99 else "+" if part > 0 else "." for part in used)


def memory_html(allocator: Any) -> str:
    """Return the picture as an image, and the largest chunks as a folded table; both survive saving."""
    chunks = _by_size(allocator)
    table = html.table(_COLUMNS, map(_row, chunks), limit=_MOST_CHUNKS)
    title = memory_title(allocator)
    folded = f"<details><summary>{counted(len(chunks), 'chunk')}</summary>{table}</details>" if chunks else ""
    picture = html.image(memory_svg(allocator), f"GPU memory. {title}", memory_svg(allocator, "dark"))
    return f"<p>{html.escape(title)}</p>{picture}{folded}"


def _row(chunk: Any) -> tuple[str, str, str, str]:
    requested = bytes_text(chunk.requested_size) if chunk.in_use else ""
    return (chunk.label if chunk.in_use else "", requested, bytes_text(chunk.size), _state(chunk))


def _state(chunk: Any) -> str:
    return "in use" if chunk.in_use else "free"


def memory_svg(allocator: Any, theme: str = "light") -> str:
    """Return a bar for the limit and one for each region, with widths proportional to sizes.

    Args:
        allocator: allocator to show.
        theme: ``"light"`` or ``"dark"``.

    Raises:
        ValueError: the theme is unknown.
    """
    look_around = theme_named(theme)
    stats, regions, chunks = allocator.stats(), allocator.regions(), allocator.chunks()
    taken = sum(region.size for region in regions)
    limit = max(stats.bytes_limit or 0, taken, 1)
    room = _WIDTH - _LEFT - _RIGHT
    parts: list[str] = []
    rows = 0

    def row(label: str) -> float:
        """Write a row's label and return the top of its bar."""
        nonlocal rows
        top = 30 + rows * _ROW
        rows += 1
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 15}" text-anchor="end">{html.escape(label)}</text>')
        return top

    def piece(x: float, top: float, width: float, look: str, title: str, label: str = "") -> None:
        parts.append(
            f'<rect class="{look}" x="{x:.2f}" y="{top}" width="{max(width, 1.0):.2f}" height="{_BAR}">'
            f"<title>{html.escape(title)}</title></rect>"
        )
        fits = int((width - 8) / _LETTER)
        if label and fits >= min(len(label), 6):
            kind = {"free": ' class="on-hatch"', "used": ' class="on-used"'}.get(look, "")
            shown = html.escape(shortened(label, fits))
            parts.append(f'<text{kind} x="{x + 4:.2f}" y="{top + 15}">{shown}</text>')

    top = row("limit")
    ends = (0, stats.bytes_in_use, taken, limit)
    names = ("in use", "taken, free", "not taken")
    for start, end, look, name in zip(ends, ends[1:], ("used", "free", "none"), names, strict=False):
        if end > start:
            label = f"{name} {bytes_text(end - start)}"
            piece(_LEFT + start / limit * room, top, (end - start) / limit * room, look, label, label)
    largest = max((region.size for region in regions), default=1)
    for number, region in enumerate(regions[:_MOST_REGIONS]):
        top = row(bytes_text(region.size))
        scale = max(region.size / largest * room, 12.0) / region.size
        for chunk in chunks:
            if chunk.region == number:
                label = chunk.label if chunk.in_use else ""
                title = f"{label or _state(chunk)}: {bytes_text(chunk.size)}"
                look = "used" if chunk.in_use else "free"
                x = _LEFT + (chunk.address - region.address) * scale
                piece(x, top, chunk.size * scale, look, title, label)
    if len(regions) > _MOST_REGIONS:
        top = row("")
        more = counted(len(regions) - _MOST_REGIONS, "more region")
        parts.append(f'<text x="{_LEFT}" y="{top + 15}">and {more}</text>')
    return _svg(30 + rows * _ROW, parts, look_around)


def _svg(height: int, parts: Sequence[str], theme: Theme) -> str:
    legend = []
    x = _LEFT
    for look, name in (
        ("used", "in use by tensors"),
        ("free", "taken from the GPU, free"),
        ("none", "not taken"),
    ):
        legend.append(f'<rect class="{look}" x="{x}" y="6" width="14" height="12"/>')
        legend.append(f'<text x="{x + 20}" y="16">{name}</text>')
        x += 40 + int(len(name) * _LETTER)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="Helvetica,Arial,DejaVu Sans,sans-serif" font-size="12">'
        f"<style>text{{fill:{theme.ink}}}.on-used{{fill:{INK}}}"
        f".on-hatch{{stroke:{theme.background};stroke-width:6;paint-order:stroke}}"
        f".used{{fill:{GPU_FILLS[0]};stroke:{theme.ink};stroke-width:.6}}"
        f".free{{fill:url(#hatch);stroke:{theme.ink};stroke-width:.6}}"
        f".none{{fill:none;stroke:{theme.ink};stroke-width:.8;stroke-dasharray:3 3}}</style>"
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="6" height="6" fill="{theme.background}"/>'
        f'<rect width="2" height="6" fill="{CPU_FILL if theme is LIGHT else theme.faint}"/></pattern></defs>'
        f'<rect width="{_WIDTH}" height="{height}" fill="{theme.background}"/>'
        f"{''.join(legend)}{''.join(parts)}</svg>"
    )
