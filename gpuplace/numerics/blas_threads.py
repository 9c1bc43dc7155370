"""How many threads NumPy's linear algebra library may use for one matrix product.

As it comes it has as many as the machine has cores, and products of several devices take turns there. With
``ConfigProto.intra_op_parallelism_threads`` it gets fewer, so that the devices share the cores. That is nothing to be
changed in passing: with another number of threads a product's last bits differ. So the first session that asks decides.
"""

from __future__ import annotations

import threading
from typing import Any

_lock = threading.Lock()
_limited: Any = None


def limit(threads: int) -> None:
    """Limits the library, unless that was done before; 0 asks for nothing."""
    global _limited
    with _lock:
        if threads > 0 and _limited is None:
            from threadpoolctl import threadpool_limits

            _limited = threadpool_limits(threads, user_api="blas")


def reset() -> None:
    """Gives the library its own choice back."""
    global _limited
    with _lock:
        limited, _limited = _limited, None
    if limited is not None:
        limited.restore_original_limits()
