"""A placement as notebook output: settings, errors, picture, table and log, all of it also as text.

The output is HTML without scripts, so saved, untrusted and converted notebooks display it too.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from gpuplace.jupyter.pictures import placement_picture
from gpuplace.views.tables import html
from gpuplace.views.tables.text import counted, placement_text
from gpuplace.why.placement import Placement

_LOG_LINES = 400
_PRE = "max-height:24em;overflow:auto;margin:0;font-size:12px;line-height:1.45"


class PlacementPage:
    """The output of ``%%placement``.

    Args:
        placement: a complete or partial placement.
        heading: a description of the settings.
        rows: maximum number of rows in the table.
        picture: whether to show the picture.
        table: whether to show the table.
        log: whether to show the output of ``log_device_placement``.
        **options: for `placement_picture`: ``open``, ``theme``, ...
    """

    def __init__(
        self,
        placement: Placement,
        heading: str = "",
        *,
        rows: int = 30,
        picture: bool = True,
        table: bool = True,
        log: bool = True,
        **options: Any,
    ) -> None:
        self.placement = placement
        self.heading = heading
        self._rows = rows if table else 0
        self._picture = placement_picture(placement, table=False, **options) if picture else None
        self._log = log

    def __repr__(self) -> str:
        return repr(self.placement)

    def log_text(self) -> str:
        """The first few hundred lines of the output of ``log_device_placement``."""
        lines = self.placement.log().splitlines()
        kept = list(islice(lines, _LOG_LINES))
        more = len(lines) - len(kept)
        return "\n".join([*kept, *([f"... and {counted(more, 'more line')}"] if more else [])])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = [f"<p><b>{html.escape(self.heading)}</b></p>"] if self.heading else []
        plain = [self.heading] if self.heading else []
        shown.append(html.summary(self.placement))
        plain.append(placement_text(self.placement, limit=self._rows))
        if self._picture is not None:
            shown.append(self._picture._repr_mimebundle_()["text/html"])
        if self._rows:
            nodes = html.node_table(self.placement, limit=self._rows)
            shown.append(f"<details open><summary>Table</summary>{nodes}</details>")
        if self._log:
            log = self.log_text()
            shown.append(
                f'<details><summary>Log</summary><pre style="{_PRE}">{html.escape_lines(log)}</pre></details>'
            )
            plain.append(log)
        return {"text/html": "".join(shown), "text/plain": "\n\n".join(plain)}
