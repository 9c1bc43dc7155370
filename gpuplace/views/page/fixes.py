"""What would let TensorFlow place a graph that it refuses, as the page of the graph shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from gpuplace.views.tables.html import Raw, escape, table
from gpuplace.why.placement import Placement


class Fix(NamedTuple):
    """A change of settings that was tried."""

    label: str
    """What it changes."""
    effect: str
    """What it leads to."""
    option: str
    """The option of the command line for it; ``""`` for none."""
    code: str
    """The same in a program."""
    placement: Placement | None = None
    """The placement with it, where the page shows that as well."""


def fixes_html(fixes: Sequence[Fix]) -> str:
    """Return a table of fixes, with a link to each placement that the page holds.

    Args:
        fixes: the fixes.
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
    return f"<h3>What fixes it</h3>{table(('change', 'result', 'command line', 'program', 'picture'), rows)}"
