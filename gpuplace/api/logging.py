"""``tf.logging``: TensorFlow 1's names for the standard library's logging.

Source: tensorflow/python/platform/tf_logging.py, release 1.15.
"""

import logging as _logging

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "get_verbosity",
    "info",
    "log",
    "set_verbosity",
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
log = _logger.log


def set_verbosity(v: int) -> None:
    """Shows messages of this level and above.

    Args:
        v: ``DEBUG``, ``INFO``, ``WARN``, ``ERROR`` or ``FATAL``: the numbers of Python's ``logging``.
    """
    _logger.setLevel(v)


def get_verbosity() -> int:
    """Returns the level from which on messages are shown, as ``set_verbosity`` takes it."""
    return _logger.getEffectiveLevel()
