"""Making very many objects at a time, none of which is garbage.

Python looks for cycles that nobody holds any more whenever some hundred objects have come into being, and through all
objects whenever these have grown by a quarter. While a graph is read or a plan compiled there is nothing to find, and
the search takes longer than the work itself.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """A block during which cycles are not looked for; counted references are given up as always."""
    was_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_enabled:
            gc.enable()
