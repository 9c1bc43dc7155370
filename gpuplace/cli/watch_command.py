"""`gpuplace watch`: run any program as it is, and say at its end where TensorFlow's log puts its ops."""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import signal
import subprocess
import sys
from importlib import import_module
from types import FrameType
from typing import Any

from gpuplace.cli.output import save
from gpuplace.cli.setup import UsageError
from gpuplace.display import safe_text
from gpuplace.views.logs import redirection

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_OF_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a terminal sends to the program as well, which decides what they mean."""
_ROWS = 30
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
"""Exit codes of shells."""


def watch(arguments: argparse.Namespace) -> int:
    """Run the program, then print the summary on standard error, or write the page; exit as the program did."""
    words = arguments.program[arguments.program[:1] == ["--"] :]
    if not words:
        raise UsageError("name the program to run: gpuplace watch -- python train.py")
    stretch = redirection.begin(is_quiet=False)
    try:
        code = _run(words)
    finally:
        output = redirection.end(stretch)
    _tell(output, arguments.output, arguments.title or shlex.join(words))
    if code < 0:
        _end_by(-code)
    return code


def _run(words: list[str]) -> int:
    """The exit code of the program, negative for a signal, as `subprocess` has it."""
    process: subprocess.Popen[bytes] | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        if process is not None:
            process.send_signal(number)

    def leave_alone(number: int, frame: FrameType | None) -> None:
        """Not SIG_IGN, which the program would inherit."""

    handlers: dict[signal.Signals, Any] = dict.fromkeys(_FORWARDED, forward)
    handlers |= dict.fromkeys(_OF_THE_KEYBOARD, leave_alone)
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) is not signal.SIG_IGN  # of a program that runs in the background
    }
    try:
        process = subprocess.Popen(words)
        for module in ("gpuplace.views.logs.capture", "gpuplace.views.logs.op_rows"):
            import_module(module)  # what `_tell` needs, while the program runs
        return process.wait()
    except OSError as error:
        print(safe_text(f"gpuplace watch: cannot run {words[0]}: {error.strerror}"), file=sys.stderr)
        return _NOT_EXECUTABLE if isinstance(error, PermissionError) else _NOT_FOUND
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(output: redirection.Output, page: str | None, title: str) -> None:
    """Write the page, or print the summary."""
    # Loaded after the program has begun, which does not wait for them.
    from gpuplace.views.logs.capture import NO_PLACEMENT
    from gpuplace.views.logs.op_rows import OP_COLUMNS, op_cells
    from gpuplace.views.logs.parser import parse_log
    from gpuplace.views.tables.text import table_text

    log = parse_log(output)
    if page is not None:
        from gpuplace.cli.pages import log_page

        save(log_page(log, title), page)
        return
    told = [NO_PLACEMENT]
    if log.rows or log.events:
        told = [f"{log!r}"[1:-1], table_text(OP_COLUMNS, op_cells(log), _ROWS)]
    print("\n".join(["", "gpuplace watch", *told]), file=sys.stderr)


def _end_by(number: int) -> None:
    """End by the signal that ended the program, so that who waits for this process sees it."""
    sys.stdout.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
