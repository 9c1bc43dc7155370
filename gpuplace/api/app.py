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
    """Calls ``main`` with what the flags leave of the command line, and exits with what it returns.

    Args:
        main: a function of the command line; that of the script where None.
        argv: the command line; ``sys.argv`` where None.

    Raises:
        SystemExit: always: with the result of ``main``, or 1 where a flag is wrong.
    """
    function = main if main is not None else sys.modules["__main__"].main
    try:
        left = flags.FLAGS(sys.argv if argv is None else argv, known_only=True)
    except absl.flags.Error as error:
        sys.stderr.write(f"FATAL Flags parsing error: {error}\n{flags.FLAGS.get_help()}\n")
        sys.exit(1)
    sys.exit(function(left))
