"""``tf.logging``: TensorFlow 1's names for the standard library's logging.

Hooks and trainers of the package log through the functions of this module, which they look up when they log: a program
that replaces one of them sees what they say.

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
"""How often each line of a program has called `log_every_n` or `log_first_n`."""


def _earlier_calls() -> int:
    caller = _sys._getframe(2)
    place = (caller.f_code.co_filename, caller.f_lineno)
    _calls[place] += 1
    return _calls[place] - 1


def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs the first of every ``n`` calls from the same line of the program.

    Args:
        level: the message's level, ``INFO`` for example.
        msg: the message, with a ``%`` form for each of ``args``.
        n: log one of so many calls.
        *args: what ``msg`` shows.
    """
    if _earlier_calls() % n == 0:
        _logger.log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs the first ``n`` calls from the same line of the program.

    Args:
        level: the message's level, ``INFO`` for example.
        msg: the message, with a ``%`` form for each of ``args``.
        n: log so many calls.
        *args: what ``msg`` shows.
    """
    if _earlier_calls() < n:
        _logger.log(level, msg, *args, stacklevel=2)


def log_if(level: int, msg: str, condition: object, *args: object) -> None:
    """Logs a message where a condition holds.

    Args:
        level: the message's level, ``INFO`` for example.
        msg: the message, with a ``%`` form for each of ``args``.
        condition: log if this is true.
        *args: what ``msg`` shows.
    """
    if condition:
        _logger.log(level, msg, *args, stacklevel=2)


def flush() -> None:
    """Flushes all that shows the messages."""
    for handler in (*_logger.handlers, *_logging.getLogger().handlers):
        handler.flush()


def set_verbosity(v: int) -> None:
    """Shows messages of this level and above, on stderr unless the program has a handler of ``logging`` for them.

    Args:
        v: ``DEBUG``, ``INFO``, ``WARN``, ``ERROR`` or ``FATAL``: the numbers of Python's ``logging``.
    """
    _logger.setLevel(v)
    if not _logger.hasHandlers():  # else Python shows warnings only
        shown = _logging.StreamHandler()
        shown.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
        _logger.addHandler(shown)


def get_verbosity() -> int:
    """Returns the level from which on messages are shown, as ``set_verbosity`` takes it."""
    return _logger.getEffectiveLevel()


def get_logger() -> _logging.Logger:
    """Returns the logger of Python's ``logging`` that the messages go to."""
    return _logger
