"""The switch with which a TensorFlow of this process logs placement; gpuplace itself imports none.

TensorFlow 2 has one for the process, `tf.debugging.set_log_device_placement`. In TensorFlow 1 a session's `ConfigProto`
says it, which is the program's.
"""

from __future__ import annotations

import sys
from typing import Any


def imported_tensorflow() -> Any:
    """The TensorFlow 2 that this process has imported; None without one."""
    module = sys.modules.get("tensorflow")
    debugging = getattr(module, "debugging", None)
    is_second = str(getattr(module, "__version__", "")).partition(".")[0] not in ("", "0", "1")
    return module if is_second and hasattr(debugging, "get_log_device_placement") else None


class LogSwitch:
    """Switches the log on for as long as captures run, and back afterwards."""

    def __init__(self) -> None:
        self._before: bool | None = None
        """How it was; None while nothing is switched."""

    def switch_on(self) -> None:
        """Switch the log on, if a TensorFlow 2 is imported."""
        tensorflow = imported_tensorflow()
        if self._before is None and tensorflow is not None:
            self._before = bool(tensorflow.debugging.get_log_device_placement())
            tensorflow.debugging.set_log_device_placement(True)

    def switch_back(self) -> None:
        """Switch the log back to what it was before `switch_on`."""
        before, self._before = self._before, None
        if before is not None:
            imported_tensorflow().debugging.set_log_device_placement(before)
