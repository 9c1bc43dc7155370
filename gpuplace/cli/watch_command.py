"""`gpuplace watch`: run any program unchanged, then summarize the device placement in TensorFlow's log."""

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
"""Signals that the terminal also sends to the program, which handles them itself."""
_ROWS = 30
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
"""Exit codes of shells."""


def watch(arguments: argparse.Namespace) -> int:
    """Run the program, print the summary on standard error or write the page, and exit as the program did."""
    words = arguments.program[arguments.program[:1] == ["--"] :]
    if not words:
        raise UsageError("no program to run; for example: gpuplace watch -- python train.py")
    stretch = redirection.begin(is_quiet=False)
    try:
        code = _run(words)
    finally:
        output = redirection.end(stretch)
    _summarize(output, arguments.output, arguments.title or shlex.join(words))
    if code < 0:
        _end_by(-code)
    return code


def _run(words: list[str]) -> int:
    """Run the program and return its exit code; negative for a signal, as in `subprocess`."""
    process: subprocess.Popen[bytes] | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        if process is not None:
            process.send_signal(number)

    def leave_alone(number: int, frame: FrameType | None) -> None:
        """Do nothing. The program would inherit SIG_IGN, so a handler is needed."""

    handlers: dict[signal.Signals, Any] = dict.fromkeys(_FORWARDED, forward)
    handlers |= dict.fromkeys(_OF_THE_KEYBOARD, leave_alone)
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) is not signal.SIG_IGN  # ignored for background jobs
    }
    try:
        process = subprocess.Popen(words)
        for module in ("gpuplace.views.logs.capture", "gpuplace.views.logs.op_rows"):
            import_module(module)  # needed by `_summarize`; loaded while the program runs
        return process.wait()
    except OSError as error:
        print(safe_text(f"gpuplace watch: cannot run {words[0]}: {error.strerror}"), file=sys.stderr)
        return _NOT_EXECUTABLE if isinstance(error, PermissionError) else _NOT_FOUND
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _summarize(output: redirection.Output, page: str | None, title: str) -> None:
    """Write the page, or print the summary."""
    # Loaded after the program has started, so that its start is not delayed.
    from gpuplace.views.logs.capture import NO_PLACEMENT
    from gpuplace.views.logs.op_rows import OP_COLUMNS, op_cells
    from gpuplace.views.logs.parser import parse_log
    from gpuplace.views.tables.text import table_text

    log = parse_log(output)
    if page is not None:
        from gpuplace.cli.pages import log_page

        save(log_page(log, title), page)
        return
    lines = [NO_PLACEMENT]
    if log.rows or log.events:
        lines = [f"{log!r}"[1:-1], table_text(OP_COLUMNS, op_cells(log), _ROWS)]
    print("\n".join(["", "gpuplace watch", *lines]), file=sys.stderr)


def _end_by(number: int) -> None:
    """End this process by the signal that ended the program, so that the parent sees the same status."""
    sys.stdout.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
