"""Entry point of the command line: words to a command, errors to one message and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from gpuplace.cli import commands, log_command, pages, timeline_command
from gpuplace.cli.parser import RUN_OPTIONS, build_parser
from gpuplace.cli.run_script import split_arguments
from gpuplace.cli.setup import UsageError
from gpuplace.errors import OpError

_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": commands.run,
    "place": commands.place,
    "explain": commands.explain,
    "blame": commands.blame,
    "diff": commands.diff,
    "log": log_command.log,
    "devices": commands.devices,
    "timeline": timeline_command.timeline,
    "report": pages.report,
    "explore": pages.explore,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line, by default this process's own; returns the exit code.

    Raises:
        SystemExit: the command line is wrong (code 2), help was asked for (0), or a script exits.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser()
    script_arguments: list[str] = []
    if words[:1] == ["run"]:
        ours, script_arguments = split_arguments(words[1:], RUN_OPTIONS)
        words = ["run", *ours]
    arguments = parser.parse_args(words)
    arguments.script_arguments = script_arguments
    try:
        code = _COMMANDS[arguments.command](arguments)
        sys.stdout.flush()
        return code
    except UsageError as error:
        return _fail(arguments.command, str(error), 2)
    except OpError as error:
        return _fail(arguments.command, f"{type(error).__name__}: {error}", 1)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _fail(command: str, message: str, code: int) -> int:
    print(f"gpuplace {command}: {message}", file=sys.stderr)
    return code
