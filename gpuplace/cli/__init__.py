"""The command line, from ``gpuplace run`` to ``gpuplace devices``; the commands are listed in ``gpuplace.cli.parser``.

Every command prints only its answer on standard output; an error is one message on standard error. Exit codes: 0; 1 if
the command failed (for example, a graph that cannot be placed); 2 if the command line itself is wrong.
"""

from gpuplace.cli.main import main

__all__ = ["main"]
