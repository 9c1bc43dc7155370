"""``tensorflow.python.util.tf_contextlib``: context managers from generators, with inspectable arguments.

Source: tensorflow/python/util/tf_contextlib.py, release 1.15 (name).
"""

from __future__ import annotations

import contextlib
from typing import Any

from gpuplace.tf1.stand_in.util import tf_decorator


def contextmanager(target: Any) -> Any:
    """Return a function that creates context managers from a generator that yields once.

    Args:
        target: the generator function.
    """
    return tf_decorator.make_decorator(target, contextlib.contextmanager(target), "contextmanager")
