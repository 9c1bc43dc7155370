"""``tf.app``: the entry point of a script, and its flags.

Source: tensorflow/python/platform/app.py, release 1.15.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import absl.flags

from gpuplace.api import flags

__all__ = ["flags", "run"]


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Call ``main`` with the rest of the command line after the flags, and exit with its result.

    Args:
        main: function of the command line; None: that of the script.
        argv: command line; None: ``sys.argv``.

    Raises:
        SystemExit: always: with the result of ``main``, or 1 for an invalid flag.
    """
    function = main if main is not None else sys.modules["__main__"].main
    try:
        left = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    except absl.flags.Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\n{flags.FLAGS.get_help()}\n")
        sys.exit(1)
    sys.exit(function(left))
