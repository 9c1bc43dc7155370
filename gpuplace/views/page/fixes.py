"""Fixes for a graph that TensorFlow refuses to place, as the page of the graph shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from gpuplace.views.tables.html import Raw, escape, table
from gpuplace.why.placement import Placement


class Fix(NamedTuple):
    """A change of settings that was tried."""

    label: str
    """The change."""
    effect: str
    """Its result."""
    option: str
    """The command-line option for it; ``""`` for none."""
    code: str
    """The same change in a program."""
    placement: Placement | None = None
    """The placement with the change, if the page also shows it."""


def fixes_html(fixes: Sequence[Fix]) -> str:
    """Return a table of fixes, with a link to each placement in the page.

    Args:
        fixes: changes that were tried.
    """
    if not fixes:
        return ""
    rows = [
        (
            Raw(f"<b>{escape(fix.label)}</b>"),
            fix.effect,
            Raw(f"<code>{escape(fix.option)}</code>"),
            Raw(f'<code style="white-space:pre-wrap">{escape(fix.code)}</code>'),
            Raw(f'<a href="#/{quote(fix.label, safe="")}/">Show the placement</a>' if fix.placement else ""),
        )
        for fix in fixes
    ]
    return f"<h3>Fixes</h3>{table(('change', 'result', 'command line', 'program', 'picture'), rows)}"
