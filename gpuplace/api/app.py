"""``tf.app``: the entry point of a script.

Source: tensorflow/python/platform/app.py, release 1.15.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Calls ``main(argv)``, that of the script where None, and exits with what it returns."""
    function = main if main is not None else sys.modules["__main__"].main
    sys.exit(function(argv if argv is not None else sys.argv))
