"""``tensorflow.python.training.tensorboard_logging``: log messages that are also written to event files.

Source: tensorflow/python/training/tensorboard_logging.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import time
from typing import Any

from gpuplace import tf_logging
from gpuplace.graphdef.messages import Event

DEBUG = "DEBUG"
INFO = "INFO"
WARN = "WARN"
ERROR = "ERROR"
FATAL = "FATAL"
_NUMBERS = {DEBUG: 10, INFO: 20, WARN: 30, ERROR: 40, FATAL: 50}
_EVENT_LEVELS = {DEBUG: "DEBUGGING", INFO: "INFO", WARN: "WARN", ERROR: "ERROR", FATAL: "FATAL"}
_LOG = {
    DEBUG: tf_logging.DEBUG,
    INFO: tf_logging.INFO,
    WARN: tf_logging.WARN,
    ERROR: tf_logging.ERROR,
    FATAL: tf_logging.FATAL,
}

_NOT_SET = object()
_settings: dict[str, Any] = {"verbosity": WARN, "writer": _NOT_SET}


def _check(level: str) -> None:
    if level not in _NUMBERS:
        raise ValueError(f"Invalid log level: {level!r} is not one of {[*_NUMBERS]}")


def get_verbosity() -> str:
    """Return the lowest level that is written to event files."""
    verbosity: str = _settings["verbosity"]
    return verbosity


def set_verbosity(verbosity: str) -> None:
    """Set the lowest level that is written to event files.

    Args:
        verbosity: the level.

    Raises:
        ValueError: there is no such level.
    """
    _check(verbosity)
    _settings["verbosity"] = verbosity


def set_summary_writer(summary_writer: Any) -> None:
    """Set the writer of messages.

    Args:
        summary_writer: a ``FileWriter``; None: messages are not written.
    """
    _settings["writer"] = summary_writer


def _clear_summary_writer() -> None:
    """Unset the writer."""
    _settings["writer"] = _NOT_SET


def log(level: str, message: str, *args: Any) -> None:
    """Log a message, and write it if its level is high enough.

    Args:
        level: the level.
        message: the message, with placeholders for ``args``.
        *args: the values for the placeholders.

    Raises:
        ValueError: there is no such level.
        RuntimeError: ``set_summary_writer`` was not called.
    """
    writer = _settings["writer"]
    if writer is _NOT_SET:
        raise RuntimeError("set_summary_writer() must be called before logging")
    _check(level)
    if writer is not None and _NUMBERS[level] >= _NUMBERS[get_verbosity()]:
        event = Event(wall_time=time.time())
        event.log_message.level = event.log_message.Level.Value(_EVENT_LEVELS[level])
        event.log_message.message = message % args if args else message
        writer.add_event(event)
    tf_logging.log(_LOG[level], message, *args)


def debug(message: str, *args: Any) -> None:
    """Log a message at level ``DEBUG``.

    Args:
        message: as for ``log``.
        *args: as for ``log``.
    """
    log(DEBUG, message, *args)


def info(message: str, *args: Any) -> None:
    """Log a message at level ``INFO``.

    Args:
        message: as for ``log``.
        *args: as for ``log``.
    """
    log(INFO, message, *args)


def warn(message: str, *args: Any) -> None:
    """Log a message at level ``WARN``.

    Args:
        message: as for ``log``.
        *args: as for ``log``.
    """
    log(WARN, message, *args)


def error(message: str, *args: Any) -> None:
    """Log a message at level ``ERROR``.

    Args:
        message: as for ``log``.
        *args: as for ``log``.
    """
    log(ERROR, message, *args)


def fatal(message: str, *args: Any) -> None:
    """Log a message at level ``FATAL``.

    Args:
        message: as for ``log``.
        *args: as for ``log``.
    """
    log(FATAL, message, *args)
