"""``tensorflow.python.eager.context``: the execution mode of a program, which is always graph mode here.

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
"""Modes of eager execution, which is not available here."""
(
    DEVICE_PLACEMENT_EXPLICIT,
    DEVICE_PLACEMENT_WARN,
    DEVICE_PLACEMENT_SILENT,
    DEVICE_PLACEMENT_SILENT_FOR_INT32,
) = range(4)
"""Policies for tensors on other devices in eager execution."""

GRAPH_MODE = 0
EAGER_MODE = 1
in_eager_mode = executing_eagerly


def in_graph_mode() -> bool:
    """Return True, because operations never run while the graph is built."""
    return True


def graph_mode() -> AbstractContextManager[Any]:
    """Do nothing, because ops are always added to a graph."""
    return contextlib.nullcontext()


def eager_mode() -> NoReturn:
    """Raise an error, because there is no eager execution.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError.of(
        "Eager execution is not available: gpuplace supports only TensorFlow 1 graphs; build the ops in a tf.Graph and "
        "run them with a tf.Session"
    )


def num_gpus() -> int:
    """Return the number of GPUs of the machine."""
    return sum(device.device_type == "GPU" for device in list_local_devices())
