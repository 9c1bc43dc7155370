"""A progress bar on what takes over a second: in notebooks, and on a terminal's standard error; elsewhere nothing.

The bar is tqdm's, which is imported when there is something to show and not before. TQDM_DISABLE=1 switches it off.

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
"""Seconds until the bar appears."""
_LEAST = 1000
"""Items below which nothing takes that long."""


def track(
    items: Iterable[T], total: int, what: str, unit: str = " nodes", *, least: int = _LEAST
) -> Iterable[T]:
    """The items, with a bar where somebody sees it and it takes long.

    Args:
        items: what is gone through.
        total: how many there are.
        what: what is being done, in a word or two.
        unit: what an item is, with a blank before it.
        least: fewer items than these never take long enough to show a bar.
    """
    if total < least or not is_seen():
        return items
    from tqdm.auto import tqdm

    return tqdm(items, what, total, leave=False, delay=DELAY_S, unit=unit, unit_scale=True)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[Callable[[], None]]:
    """A line that says what is waited for, and for how long so far, where somebody sees it.

    Args:
        what: is waited for.

    Yields:
        A function to call from time to time.
    """
    if not is_seen():
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(None, what, leave=False, bar_format="{desc}: {elapsed}") as bar:
        yield lambda: bar.refresh() and None


def is_seen() -> bool:
    """Whether a person watches: a notebook's kernel, or a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if type(shell).__name__ == "ZMQInteractiveShell":
        return True
    return sys.stderr is not None and sys.stderr.isatty()
