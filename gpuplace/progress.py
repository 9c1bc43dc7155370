"""Progress bars for work that takes more than a second, in notebooks and on a terminal's standard error.

The bars are tqdm's, which is imported only when a bar is shown. TQDM_DISABLE=1 disables them.

>>> sum(track(range(10), 10, "adding"))
45
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

DELAY_S = 1.0
"""Delay before the bar appears, in seconds."""
_LEAST = 1000
"""Minimum number of items for which a bar may be shown."""


def track(
    items: Iterable[T], total: int, what: str, unit: str = " nodes", *, least: int = _LEAST
) -> Iterable[T]:
    """Iterate over items with a progress bar.

    Args:
        items: items to iterate over.
        total: number of items.
        what: short description of the work.
        unit: unit of the items, with a leading space.
        least: minimum number of items for which a bar may be shown.
    """
    if total < least or not is_seen():
        return items
    from tqdm.auto import tqdm

    return tqdm(items, what, total, leave=False, delay=DELAY_S, unit=unit, unit_scale=True)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[Callable[[], None]]:
    """Show a label for the current work and the elapsed time.

    Args:
        what: label of the current work.

    Yields:
        A function to call regularly.
    """
    if not is_seen():
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(None, what, leave=False, bar_format="{desc}: {elapsed}") as bar:
        yield lambda: bar.refresh() and None


def is_seen() -> bool:
    """Return whether output is visible to a person: in a notebook's kernel or on a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    return sys.stderr is not None and sys.stderr.isatty()
