"""Turn on placement logging of a TensorFlow in this process; gpuplace itself never imports TensorFlow.

TensorFlow 2 has one switch per process, `tf.debugging.set_log_device_placement`. Up to 2.21, that function has a bug
once an op has run: it does not reach the context of eager ops, and changes soft placement instead. Therefore soft
placement is set back to the program's choice, and the context is changed by TensorFlow's C function.

In TensorFlow 1 the switch is in a session's `ConfigProto`, under the program's control.

Source: tensorflow/python/tfe_wrapper.cc (the bug) and tensorflow/c/eager/c_api_experimental.h, release 2.21.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

_CONTEXT, _LIBRARY = "tensorflow.python.eager.context", "tensorflow.python._pywrap_tfe"
"""Modules of TensorFlow 2 that hold the eager context and the C functions."""


def imported_tensorflow() -> Any:
    """Return the TensorFlow 2 that this process has imported; None without one."""
    module = sys.modules.get("tensorflow")
    debugging = getattr(module, "debugging", None)
    is_second = str(getattr(module, "__version__", "")).partition(".")[0] not in ("", "0", "1")
    return module if is_second and hasattr(debugging, "get_log_device_placement") else None


class LogSwitch:
    """Turns the log on while captures run, and restores it afterwards."""

    def __init__(self) -> None:
        self._before: bool | None = None
        """The previous setting; None while nothing is changed."""

    def switch_on(self) -> None:
        """Turn the log on, if TensorFlow 2 is imported."""
        tensorflow = imported_tensorflow()
        if self._before is None and tensorflow is not None:
            before = bool(tensorflow.debugging.get_log_device_placement())
            _switch(tensorflow, is_on=True)
            self._before = before

    def switch_back(self) -> None:
        """Restore the setting from before `switch_on`."""
        before, self._before = self._before, None
        if before is not None:
            _switch(imported_tensorflow(), is_on=before)


def _switch(tensorflow: Any, *, is_on: bool) -> None:
    soft = tensorflow.config.get_soft_device_placement()
    tensorflow.debugging.set_log_device_placement(is_on)
    if (handle := _context_handle()) is not None:
        tensorflow.config.set_soft_device_placement(soft)
        _switch_context(handle, is_on)


def _context_handle() -> Any:
    """Return the capsule of the eager context; None before the first op, when the context still takes the setting."""
    if _CONTEXT not in sys.modules or _LIBRARY not in sys.modules:
        return None
    return getattr(sys.modules[_CONTEXT].context(), "_context_handle", None)


def _switch_context(handle: Any, is_on: bool) -> None:
    """Change the context itself: ``TFE_ContextSetLogDevicePlacement(context, is_on, status)``."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    library = ctypes.CDLL(sys.modules[_LIBRARY].__file__)
    library.TF_NewStatus.restype = ctypes.c_void_p
    status = ctypes.c_void_p(library.TF_NewStatus())
    context = ctypes.c_void_p(pointer(handle, None))
    library.TFE_ContextSetLogDevicePlacement(context, ctypes.c_ubyte(is_on), status)
    library.TF_DeleteStatus(status)
