"""The user's part of a stack: who called this package, and tracebacks without the package's own frames.

What goes wrong is the program's business, so an error shows the lines of the program and the sentence; what the package
did in between is left out. ``GPUPLACE_FULL_TRACEBACKS=1`` keeps it, for work on the package itself.

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
"""How the names of this package's files begin."""

RUNNER = os.path.join(PACKAGE, "cli", "run_script.py")
"""The module that runs a script in the place of Python: a program begins below its frame."""

PLAN_FILE = "<plan>"
"""File name of the code that is generated for a step."""

ENVIRONMENT_VARIABLE = "GPUPLACE_FULL_TRACEBACKS"


def is_own(filename: str) -> bool:
    """Whether code of this name is this package's."""
    return filename.startswith(PACKAGE) or filename == PLAN_FILE


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns with the line of the program that called into this package.

    Args:
        message: the warning.
        category: its class.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def is_of_signal_handler(error: BaseException) -> bool:
    """Whether a signal handler of the program raised an exception: it is not about what the handler interrupted.

    Python calls a handler with the frame that it interrupts, which is thus the caller's own frame.
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
    """Raises an exception again if a signal handler of the program raised it."""
    if is_of_signal_handler(error):
        raise error


def outer_frames(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package."""
    kept = []
    while trace is not None:
        if not is_own(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    found = None
    for one in reversed(kept):
        found = TracebackType(found, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return found


def hide_own_frames(error: BaseException) -> None:
    """Takes this package's frames out of the traceback of an error that is about to be raised again by ``raise``.

    Its cause keeps the program's frames, such as those of a function given to ``tf.py_func``; one without any gives way
    to its own.

    Args:
        error: what was caught.
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
    """A block out of which errors of some classes come without this package's frames.

    Args:
        kinds: the classes.
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
