"""The parts of an explorer that a notebook saves: a page that is interactive without a kernel, over a static picture.

JupyterLab prefers the live widget, even if its kernel is gone. For gpuplace's own MIME type it uses gpuplace's
extension instead (``gpuplace/jupyter/server/``), which shows the widget while there is one, and otherwise the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.typing import RunMetadata
from gpuplace.views.page.packed import framed_page
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import summary_text

MIME_TYPE = "application/vnd.gpuplace.explorer+json"
MOST_NODES = 5_000
"""Maximum number of nodes for which a notebook saves the page: about 100 kB plus 40 bytes per node."""


def saved_views(
    placement: Any, still: str, settings: Sequence[tuple[str, str]], run_metadata: RunMetadata | None = None
) -> dict[str, Any]:
    """Return the parts of a MIME bundle that are shown without a kernel.

    Args:
        placement: the shown placement.
        still: HTML without scripts.
        settings: ``(label, text)`` of the settings.
        run_metadata: the metadata of a step, for colours by time; None without one.
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
    label = f"Interactive placement: {summary_text(placement)}"
    return {"text/html": framed_page(page, still, label=label), MIME_TYPE: {"version": 1}}
