"""``tf.logging``: TensorFlow 1's names for the standard library's logging.

Hooks and trainers of the package look up the functions of this module at each call, so a program that replaces one of
them receives their messages.

Source: tensorflow/python/platform/tf_logging.py, release 1.15.
"""

import logging as _logging
import sys as _sys
from collections import Counter as _Counter

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "TaskLevelStatusMessage",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_logger",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]

DEBUG = _logging.DEBUG
INFO = _logging.INFO
WARN = _logging.WARNING
ERROR = _logging.ERROR
FATAL = _logging.FATAL

_logger = _logging.getLogger("tensorflow")

debug = _logger.debug
info = _logger.info
warn = warning = _logger.warning
error = _logger.error
fatal = _logger.critical
log = vlog = _logger.log
TaskLevelStatusMessage = _logger.error

_calls: "_Counter[tuple[str, int]]" = _Counter()
"""Number of calls of `log_every_n` and `log_first_n` per line of the program."""


def _earlier_calls() -> int:
    caller = _sys._getframe(2)
    place = (caller.f_code.co_filename, caller.f_lineno)
    _calls[place] += 1
    return _calls[place] - 1


def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log the first of every ``n`` calls from the same line of the program.

    Args:
        level: level of the message, for example ``INFO``.
        msg: message with a ``%`` placeholder for each of ``args``.
        n: number of calls per logged message.
        *args: values of the placeholders.
    """
    if _earlier_calls() % n == 0:
        _logger.log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log the first ``n`` calls from the same line of the program.

    Args:
        level: level of the message, for example ``INFO``.
        msg: message with a ``%`` placeholder for each of ``args``.
        n: number of calls to log.
        *args: values of the placeholders.
    """
    if _earlier_calls() < n:
        _logger.log(level, msg, *args, stacklevel=2)


def log_if(level: int, msg: str, condition: object, *args: object) -> None:
    """Log a message if a condition is true.

    Args:
        level: level of the message, for example ``INFO``.
        msg: message with a ``%`` placeholder for each of ``args``.
        condition: condition.
        *args: values of the placeholders.
    """
    if condition:
        _logger.log(level, msg, *args, stacklevel=2)


def flush() -> None:
    """Flush all handlers of the messages."""
    for handler in (*_logger.handlers, *_logging.getLogger().handlers):
        handler.flush()


def set_verbosity(v: int) -> None:
    """Show messages of this level and above, on stderr unless the program has its own ``logging`` handler.

    Args:
        v: ``DEBUG``, ``INFO``, ``WARN``, ``ERROR`` or ``FATAL``: the numbers of Python's ``logging``.
    """
    _logger.setLevel(v)
    if not _logger.hasHandlers():  # without a handler, Python shows only warnings
        shown = _logging.StreamHandler()
        shown.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
        _logger.addHandler(shown)


def get_verbosity() -> int:
    """Return the minimum level of shown messages, as for ``set_verbosity``."""
    return _logger.getEffectiveLevel()


def get_logger() -> _logging.Logger:
    """Return the ``logging`` logger of the messages."""
    return _logger
