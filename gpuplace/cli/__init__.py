"""The command line, from ``gpuplace run`` to ``gpuplace devices``; the commands are listed in ``gpuplace.cli.parser``.

Every command prints on standard output what it was asked for and nothing else; an error is one message on standard
error. Exit codes: 0, 1 when the thing asked for failed (a graph that cannot be placed, say), 2 when the command line
itself is wrong.
"""

from gpuplace.cli.main import main

__all__ = ["main"]
