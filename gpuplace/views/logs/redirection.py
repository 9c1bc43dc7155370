"""Redirect file descriptors 1 and 2 of this process through a pump, as long as any capture is running.

A process has one redirection for all captures: the first capture starts it and the last one ends it. A capture is a
range of the files that the pump writes, so captures may be nested and may overlap in any order.

C++ code writes to the descriptors, and so do child processes, which may outlive the redirection: their output is passed
through as long as they run. A forked child does not take part in its parent's captures, but may start its own.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from typing import IO, NamedTuple

from gpuplace.errors import InternalError, UnimplementedError
from gpuplace.views.logs import pump
from gpuplace.views.logs.python_streams import PythonStream, python_streams

_DESCRIPTORS = (1, 2)
_EXIT_S = 0.25
"""Time in seconds to wait for the pump's exit; it runs longer only if a child process still writes."""


class Output(NamedTuple):
    """The captured output."""

    stdout: bytes
    """Standard output, and standard error if both go to the same place."""
    stderr: bytes
    """Standard error; `b""` if it goes to the same place as standard output."""


class Stretch(NamedTuple):
    """The start of a capture."""

    redirection: Redirection
    positions: tuple[int, ...]


class Redirection:
    """The redirection of the descriptors through a pump.

    Args:
        is_quiet: whether placement lines are kept but not passed through.

    Raises:
        OSError: a descriptor is closed, or no further descriptor or process can be created.
    """

    def __init__(self, is_quiet: bool) -> None:
        with ExitStack() as undo:
            saved = [undo.enter_context(open(os.dup(number), "wb", 0)) for number in _DESCRIPTORS]
            # If both go to the same place, such as a terminal, one pipe preserves their order.
            is_one = os.path.samestat(*(os.fstat(file.fileno()) for file in saved))
            self.copies = [undo.enter_context(tempfile.TemporaryFile()) for _ in saved[is_one:]]
            pipes = [_pipe(undo) for _ in self.copies]
            read_control, self.control = _pipe(undo)
            self.answers, write_answers = _pipe(undo)
            streams = [
                file.fileno()
                for stream in zip((source for source, _ in pipes), saved, self.copies, strict=False)
                for file in stream
            ]
            descriptors = [read_control.fileno(), write_answers.fileno(), *streams]
            words = [*descriptors[:2], int(is_quiet), *streams]
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", pump.__file__, *map(str, words)],
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,  # Ctrl-C must not interrupt the pump
            )
            self.saved = saved
            self.streams: list[PythonStream | None] = [None, None]
            undo.callback(self._restore)
            flush()
            self.streams = python_streams(is_quiet)
            for number, (_, end) in zip(_DESCRIPTORS, pipes * 2, strict=False):
                os.dup2(end.fileno(), number)
            for file in (*(file for pipe in pipes for file in pipe), read_control, write_answers):
                file.close()
            self._undo = undo.pop_all()

    def _restore(self) -> None:
        for number, file in zip(_DESCRIPTORS, self.saved, strict=True):
            os.dup2(file.fileno(), number)
        for stream in self.streams:
            if stream is not None:
                stream.restore()

    def positions(self) -> tuple[int, ...]:
        """Return the number of bytes of each pipe, all passed through, and of texts of each Python stream.

        Raises:
            InternalError: the pump was killed.
        """
        flush()
        return self._positions()

    def _positions(self) -> tuple[int, ...]:
        size = pump.POSITION.size * len(self.copies)
        try:
            self.control.write(b"-")
            answer = self.answers.read(size)
        except BrokenPipeError:
            answer = b""
        if len(answer) != size:
            raise InternalError.of(
                "The process that captures the output was killed",
                facts={"exit code": str(self.process.wait())},
                hint="write the output to a file: python train.py > run.log 2>&1, then gpuplace.parse_log('run.log')",
            )
        bytes_ = [position for (position,) in pump.POSITION.iter_unpack(answer)]
        return (*bytes_, *(0 if stream is None else stream.position for stream in self.streams))

    def end(self) -> tuple[int, ...]:
        """Restore the descriptors and return the final positions."""
        try:
            flush()
        finally:
            self._restore()
        return self._positions()

    def close(self) -> None:
        """Let the pump exit, which it does when all writers have closed its pipes."""
        self._undo.close()
        try:
            self.process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            _lingering.append(self.process)

    def forget(self) -> None:
        """Close the parent's pipes in a forked child."""
        self.control.close()
        self.answers.close()

    def output(self, begin: tuple[int, ...], end: tuple[int, ...]) -> Output:
        """Return the output between two positions."""
        parts: tuple[list[bytes], ...] = ([], [])
        for part, copy, first, last in zip(parts, self.copies, begin, end, strict=False):
            copy.seek(first)
            part.append(copy.read(last - first))
        for part, stream, first, last in zip(parts, self.streams, begin[-2:], end[-2:], strict=True):
            if stream is not None:
                part.append(stream.text(first, last).encode(errors="replace"))
        return Output(*(b"\n".join(text.removesuffix(b"\n") for text in part if text) for part in parts))


class _Shared:
    """The redirection of all running captures."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.redirection: Redirection | None = None
        self.captures = 0

    def forget(self) -> None:
        """Forget the captures of the parent in a forked child, and its lock, which another thread may hold."""
        self.lock = threading.Lock()
        if self.redirection is not None:
            self.redirection.forget()
        self.redirection, self.captures = None, 0


_shared = _Shared()
_lingering: list[subprocess.Popen[bytes]] = []
"""Pumps to which children of earlier captures still write."""


def begin(is_quiet: bool) -> Stretch:
    """Start a capture.

    Args:
        is_quiet: as for `Redirection`; the first of several captures decides.

    Raises:
        UnimplementedError: the system is not a POSIX system.
        OSError: as for `Redirection`.
    """
    if os.name != "posix":
        raise UnimplementedError.of(
            "Output cannot be captured on this system",
            hint="write it to a file: python train.py > run.log 2>&1, then gpuplace.parse_log('run.log')",
        )
    with _shared.lock:
        _lingering[:] = [process for process in _lingering if process.poll() is None]
        current = _shared.redirection
        if current is None:
            current = _shared.redirection = Redirection(is_quiet)
            stretch = Stretch(current, (0,) * (len(current.copies) + len(current.streams)))
        else:
            stretch = Stretch(current, current.positions())
        _shared.captures += 1
    return stretch


def end(stretch: Stretch) -> Output:
    """End a capture and return its output; empty in a child that was forked during the capture.

    Args:
        stretch: the result of `begin`.

    Raises:
        InternalError: the pump was killed.
    """
    redirection = stretch.redirection
    with _shared.lock:
        if _shared.redirection is not redirection:
            return Output(b"", b"")
        _shared.captures -= 1
        if _shared.captures:
            return redirection.output(stretch.positions, redirection.positions())
        _shared.redirection = None
        try:
            return redirection.output(stretch.positions, redirection.end())
        finally:
            redirection.close()


def flush() -> None:
    """Flush the buffers of Python and C for standard output and error."""
    for stream in {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}:
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
    libc = ctypes.CDLL(None)
    name = "__stdoutp" if sys.platform == "darwin" else "stdout"
    libc.fflush(ctypes.c_void_p.in_dll(libc, name))


def _pipe(undo: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    source, end = os.pipe()
    return undo.enter_context(open(source, "rb", 0)), undo.enter_context(open(end, "wb", 0))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.forget)
