"""Pause Python's cycle collector while very many objects are created.

Python searches for unreachable cycles after every few hundred new objects, and searches all objects when their number
has grown by a quarter. Reading a graph or compiling a plan creates no such cycles, and the search would take longer
than the work itself.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause the cycle collector within a ``with`` block; reference counts free objects as always."""
    was_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_enabled:
            gc.enable()
