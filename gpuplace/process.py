"""The state that TensorFlow keeps for a whole process, apart from its devices.

``PROCESS`` is the only record of it. The devices, their memory and the machine are in
``gpuplace.runtime.memory.process_state``, which needs layers above this one. The stacks of each thread are in
``gpuplace.graph.stacks``.

>>> PROCESS.resource_variables
False
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Process:
    """The settings that hold for all graphs and sessions of a process."""

    release: str | None = None
    """The TensorFlow release of ``set_release``; None: that of the environment, or the default."""
    default_graph: Any = None
    """The default graph outside all ``with graph.as_default()`` blocks; None: the next use creates one."""
    resource_variables: bool = False
    """Whether ``enable_resource_variables`` makes variables resource variables."""
    intra_op_threads: int = 0
    """The number of threads that work on one kernel; 0: the next session decides."""
    blas_threads: list[int] | None = None
    """The numbers of threads of NumPy's linear algebra libraries before a session limited them; None: no limit."""
    forward_compatibility: datetime.date = datetime.date(2019, 8, 21)
    """The date of ``tf.compat.forward_compatible``: readers of graphs have what TensorFlow had before it."""
    warns_of_deprecation: bool = True
    """Whether calls of deprecated functions are logged."""
    optional_memory_warnings: int = 0
    """The number of warnings about memory that a kernel can do without."""


PROCESS = Process()
