"""Entry point of the command line: words to a command, errors to one message and an exit code."""

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
"""Command -> the module of its function, where that is not ``commands``. A module is loaded for its command alone."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line, by default this process's own; returns the exit code.

    Raises:
        SystemExit: the command line is wrong (code 2), help was asked for (0), or a script exits.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        try:
            return _run(words)
        finally:
            if sys.stdout is not None:  # it may have been closed before we were started
                sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has seen enough
        _close_output()
        return 1
    except OSError as error:
        if error.filename is None:  # not of a file, so of the stream that we print on
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
        if arguments.command == "run":  # the script's, and shown as Python shows it
            raise
        return _fail(words, "interrupted", 130)


def _close_output() -> None:
    """Nothing more is printed, also when Python ends: what waits in the buffer cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(words: Sequence[str], message: str, code: int) -> int:
    print(safe_text(f"gpuplace {words[0]}: {message}"), file=sys.stderr)
    return code
