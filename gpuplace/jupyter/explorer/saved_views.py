"""What a notebook keeps of an explorer: a page that can be clicked without a kernel, over a still picture.

JupyterLab prefers the live widget, also where its kernel is gone. A mime type of our own makes it ask gpuplace's
extension instead (``gpuplace/jupyter/server/``), which shows the widget while there is one and the page otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.views.page.packed import framed_page
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import summary_text

MIME_TYPE = "application/vnd.gpuplace.explorer+json"
MOST_NODES = 5_000
"""Nodes up to which a notebook keeps the page beside the still picture: about 100 kB, and 40 bytes a node."""


def saved_views(
    placement: Any, still: str, settings: Sequence[tuple[str, str]], run_metadata: Any = None
) -> dict[str, Any]:
    """Return the parts of a mime bundle that are shown without a kernel.

    Args:
        placement: what the explorer shows.
        still: HTML without scripts.
        settings: ``(label, text)`` of what it was placed with.
        run_metadata: of a step, for colours by time; None without one.
    """
    if len(view_of(placement)) > MOST_NODES:
        return {"text/html": still}
    page = page_html(
        placement,
        title="Explorer",
        settings=settings,
        run_metadata=run_metadata,
        has_bodies=False,
    )
    label = f"Placement that can be clicked: {summary_text(placement)}"
    return {"text/html": framed_page(page, still, label=label), MIME_TYPE: {"version": 1}}
