"""The user's part of a call stack: the caller of this package, and tracebacks without the package's own frames.

An error shows the lines of the program and the message, but not the frames of the package in between.
``GPUPLACE_FULL_TRACEBACKS=1`` keeps these frames, for work on the package itself.

>>> is_own("train.py"), is_own(__file__), is_own("<plan>")
(False, True, True)
"""

from __future__ import annotations

import inspect
import os
import sys
import warnings
from pathlib import Path
from types import TracebackType

PACKAGE = str(Path(__file__).parent) + os.sep
"""Common prefix of the paths of this package's files."""

RUNNER = os.path.join(PACKAGE, "cli", "run_script.py")
"""Module that runs a script in the place of Python; the program's frames are below its frame."""

PLAN_FILE = "<plan>"
"""File name of the code generated for a step."""

ENVIRONMENT_VARIABLE = "GPUPLACE_FULL_TRACEBACKS"


def is_own(filename: str) -> bool:
    """Return whether a file name belongs to this package's code."""
    return filename.startswith(PACKAGE) or filename == PLAN_FILE


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the program's line that called into this package.

    Args:
        message: text of the warning.
        category: class of the warning.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def is_of_signal_handler(error: BaseException) -> bool:
    """Return whether a signal handler of the program raised an exception.

    Python calls a handler with the interrupted frame, which is therefore the caller of the handler's frame.
    """
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        code = frame.f_code
        if frame.f_back is not None and (code.co_argcount > 1 or code.co_flags & inspect.CO_VARARGS):
            names = code.co_varnames[: code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)]
            for name in names:
                value = frame.f_locals.get(name)
                if any(one is frame.f_back for one in (value if isinstance(value, tuple) else (value,))):
                    return True
        trace = trace.tb_next
    return False


def raise_of_signal_handler(error: BaseException) -> None:
    """Raise an exception again if a signal handler of the program raised it."""
    if is_of_signal_handler(error):
        raise error


def outer_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package."""
    kept = []
    while trace is not None:
        if not is_own(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    outer = None
    for entry in reversed(kept):
        outer = TracebackType(outer, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return outer


def hide_own_frames(error: BaseException) -> None:
    """Remove this package's frames from the traceback of an error that is about to be raised again by ``raise``.

    The cause keeps the program's frames, such as those of a function passed to ``tf.py_func``; a cause without such
    frames is replaced by its own cause.

    Args:
        error: caught exception.
    """
    if os.environ.get(ENVIRONMENT_VARIABLE, "") not in ("", "0"):
        return
    error.__traceback__ = outer_frames(error.__traceback__)
    cause = error.__cause__
    trace = None
    while cause is not None and (trace := outer_frames(cause.__traceback__)) is None:
        cause = cause.__cause__
    error.__cause__ = cause
    if cause is not None:
        cause.__traceback__ = trace
        cause.__suppress_context__ = True
    error.__suppress_context__ = True


class OwnFramesHidden:
    """A context manager that removes this package's frames from errors of some classes.

    Args:
        kinds: exception classes.
    """

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, self._kinds):
            hide_own_frames(error)
