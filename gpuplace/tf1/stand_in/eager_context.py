"""``tensorflow.python.eager.context``: in which mode a program is; here graphs are all there is.

>>> with graph_mode():
...     executing_eagerly()
False

Source: tensorflow/python/eager/context.py, release 1.15 (names).
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from gpuplace.api.behavior import executing_eagerly
from gpuplace.errors import UnimplementedError
from gpuplace.runtime.session.device_lib import list_local_devices

__all__ = [
    "ASYNC", "DEVICE_PLACEMENT_EXPLICIT", "DEVICE_PLACEMENT_SILENT", "DEVICE_PLACEMENT_SILENT_FOR_INT32",
    "DEVICE_PLACEMENT_WARN", "EAGER_MODE", "GRAPH_MODE", "SYNC", "eager_mode", "executing_eagerly", "graph_mode",
    "in_eager_mode", "in_graph_mode", "num_gpus",
]  # fmt: skip

SYNC = 0
ASYNC = 1
"""Ways of running ops at once, of which there is none here."""
(
    DEVICE_PLACEMENT_EXPLICIT,
    DEVICE_PLACEMENT_WARN,
    DEVICE_PLACEMENT_SILENT,
    DEVICE_PLACEMENT_SILENT_FOR_INT32,
) = range(4)
"""What is done with tensors on other devices where ops run at once."""

GRAPH_MODE = 0
EAGER_MODE = 1
in_eager_mode = executing_eagerly


def in_graph_mode() -> bool:
    """True: nothing runs as it is built."""
    return True


def graph_mode() -> AbstractContextManager[Any]:
    """Does nothing: ops are added to a graph, always."""
    return contextlib.nullcontext()


def eager_mode() -> NoReturn:
    """Says that there is no eager execution.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError.of(
        "Eager execution is not available: gpuplace has TensorFlow 1's graphs; build the ops in a tf.Graph and run "
        "them with a tf.Session"
    )


def num_gpus() -> int:
    """How many GPUs the machine has."""
    return sum(device.device_type == "GPU" for device in list_local_devices())
