"""Entry point of the command line: run one command, and turn errors into one message and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from gpuplace.cli.parser import RUN_OPTIONS, build_parser
from gpuplace.cli.setup import UsageError
from gpuplace.display import safe_text
from gpuplace.errors import OpError

_MODULES = {
    "advise": "advise_command",
    "calibrate": "calibrate_command",
    "estimate": "estimate_command",
    "explore": "pages",
    "log": "log_command",
    "report": "pages",
    "run": "run_command",
    "sweep": "sweep_command",
    "timeline": "timeline_command",
    "watch": "watch_command",
}
"""Command -> the module of its function if it is not ``commands``. Each module is loaded for its command only."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default this process's own, and return the exit code.

    Raises:
        SystemExit: the command line is wrong (code 2), help was requested (0), or a script exits.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(words)
        finally:
            if sys.stdout is not None:  # the parent process may have closed it
                sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed the pipe
        _close_output()
        return 1
    except OSError as error:
        if error.filename is None:  # not about a file, so about standard output
            _close_output()
            return _fail(words, f"cannot write the output: {error.strerror}", 1)
        return _fail(words, f"{error.filename}: {error.strerror}", 1)


def _run(words: list[str]) -> int:
    parser = build_parser()
    script_arguments: list[str] = []
    if words[:1] == ["run"]:
        from gpuplace.cli.run_script import split_arguments

        ours, script_arguments = split_arguments(words[1:], RUN_OPTIONS)
        words = ["run", *ours]
    arguments = parser.parse_args(words)
    arguments.script_arguments = script_arguments
    try:
        module = import_module(f"gpuplace.cli.{_MODULES.get(arguments.command, 'commands')}")
        command: Callable[[argparse.Namespace], int] = getattr(module, arguments.command)
        return command(arguments)
    except UsageError as error:
        return _fail(words, str(error), 2)
    except OpError as error:
        return _fail(words, f"{type(error).__name__}: {error}", 1)
    except KeyboardInterrupt:
        if arguments.command == "run":  # it interrupts the script, so Python shows its traceback
            raise
        return _fail(words, "interrupted", 130)


def _close_output() -> None:
    """Discard all further output, including the buffered output that Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(words: Sequence[str], message: str, code: int) -> int:
    print(safe_text(f"gpuplace {words[0]}: {message}"), file=sys.stderr)
    return code
