"""The cell magic ``%%watch_placement``: the devices on which TensorFlow in this kernel actually runs a cell's ops.

::

    %%watch_placement
    model.fit(images, labels)

TensorFlow logs devices from C++, which bypasses the notebook. The cell runs in the notebook's own namespace. Below its
output follow the table of ops by device, the picture and the rest of the output.
"""

from __future__ import annotations

import shlex
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from IPython.display import display

from gpuplace.jupyter.cell_run import run_body, with_traceback_of
from gpuplace.views.logs.capture import LogCapture


@magics_class
class WatchMagics(Magics):
    """The magic that watches TensorFlow."""

    shell: Any

    @cell_magic
    @magic_arguments()
    @argument("--log", action="store_true", help="also print TensorFlow's placement lines immediately")
    @argument("--into", metavar="NAME", help="the variable to store the log in: NAME.placement, NAME.stderr")
    def watch_placement(self, line: str, cell: str) -> None:
        """Show on which devices TensorFlow runs the ops of the cell.

        Examples::

            %%watch_placement
            %%watch_placement --into log
        """
        __tracebackhide__ = True
        magic: Any = WatchMagics.watch_placement
        try:
            options = magic.parser.parse_args(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"{error}: {line}") from None
        if options.into is not None and not options.into.isidentifier():
            raise UsageError(f"--into: {options.into!r} is not the name of a variable")
        log = LogCapture(quiet=not options.log)
        try:
            with log:
                failure = run_body(self.shell, cell, f"%%watch_placement {line}".rstrip())
        finally:  # also if the cell is interrupted
            if options.into:
                self.shell.user_ns[options.into] = log
            display(log)
        if failure is not None:
            raise with_traceback_of(self.shell, failure)
