"""File descriptors 1 and 2 of this process, led through a pump while somebody wants a copy of what is written to them.

There is one redirection for all captures of a process: the first capture begins it and the last one ends it. A capture
is a stretch of the files that the pump writes, so captures may be nested and may overlap in any order.

C++ writes to the descriptors and so do child processes, which may outlive the redirection: their output is passed on
for as long as they run. A child that was forked takes no part in its parent's captures; it may begin its own.
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
"""How long the end of a redirection waits for the pump's; it takes longer only if a child process still writes."""


class Output(NamedTuple):
    """What was written meanwhile."""

    stdout: bytes
    """To standard output, and to standard error where both go to the same place."""
    stderr: bytes
    """To standard error; `b""` where it goes where standard output goes."""


class Stretch(NamedTuple):
    """Where a capture began."""

    redirection: Redirection
    positions: tuple[int, ...]


class Redirection:
    """The descriptors, led through a pump.

    Args:
        is_quiet: whether lines about placement are kept but not passed on.

    Raises:
        OSError: a descriptor is closed, or there is no room for another descriptor or process.
    """

    def __init__(self, is_quiet: bool) -> None:
        with ExitStack() as undo:
            saved = [undo.enter_context(open(os.dup(number), "wb", 0)) for number in _DESCRIPTORS]
            # One pipe keeps the order of what goes to the same place, such as a terminal or a file after 2>&1.
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
            given = [read_control.fileno(), write_answers.fileno(), *streams]
            words = [*given[:2], int(is_quiet), *streams]
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", pump.__file__, *map(str, words)],
                stdin=subprocess.DEVNULL,
                pass_fds=given,
                start_new_session=True,  # a key that interrupts the program leaves the pump alone
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
        """Bytes of each pipe, all of which have been passed on, and number of texts of each stream of Python's.

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
                "The process that keeps the output was ended",
                facts={"its exit code": str(self.process.wait())},
                hint="keep the output in a file: python train.py > run.log 2>&1, then gpuplace.parse_log('run.log')",
            )
        bytes_ = [position for (position,) in pump.POSITION.iter_unpack(answer)]
        return (*bytes_, *(0 if stream is None else stream.position for stream in self.streams))

    def end(self) -> tuple[int, ...]:
        """Lead the descriptors back to where they went before, and return the last positions."""
        try:
            flush()
        finally:
            self._restore()
        return self._positions()

    def close(self) -> None:
        """Let the pump end, which it does as soon as nobody writes to it."""
        self._undo.close()
        try:
            self.process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            _lingering.append(self.process)

    def forget(self) -> None:
        """In a forked child: close what belongs to the parent's redirection."""
        self.control.close()
        self.answers.close()

    def output(self, begin: tuple[int, ...], end: tuple[int, ...]) -> Output:
        """What was written between two positions."""
        parts: tuple[list[bytes], ...] = ([], [])
        for part, copy, first, last in zip(parts, self.copies, begin, end, strict=False):
            copy.seek(first)
            part.append(copy.read(last - first))
        for part, stream, first, last in zip(parts, self.streams, begin[-2:], end[-2:], strict=True):
            if stream is not None:
                part.append(stream.text(first, last).encode(errors="replace"))
        return Output(*(b"\n".join(text.removesuffix(b"\n") for text in part if text) for part in parts))


_lock = threading.Lock()
_current: Redirection | None = None
_captures = 0
_lingering: list[subprocess.Popen[bytes]] = []
"""Pumps that children of earlier captures still write to."""


def begin(is_quiet: bool) -> Stretch:
    """Begin a capture.

    Args:
        is_quiet: as of `Redirection`; the first of several captures decides.

    Raises:
        UnimplementedError: this system has no pipes that can be waited for.
        OSError: as of `Redirection`.
    """
    global _current, _captures
    if os.name != "posix":
        raise UnimplementedError.of(
            "Output cannot be captured on this system",
            hint="keep it in a file: python train.py > run.log 2>&1, then gpuplace.parse_log('run.log')",
        )
    with _lock:
        _lingering[:] = [process for process in _lingering if process.poll() is None]
        if _current is None:
            _current = Redirection(is_quiet)
            stretch = Stretch(_current, (0,) * (len(_current.copies) + len(_current.streams)))
        else:
            stretch = Stretch(_current, _current.positions())
        _captures += 1
    return stretch


def end(stretch: Stretch) -> Output:
    """End a capture and return what was written meanwhile; nothing in a child that was forked within it.

    Args:
        stretch: what `begin` returned.

    Raises:
        InternalError: the pump was killed.
    """
    global _current, _captures
    redirection = stretch.redirection
    with _lock:
        if _current is not redirection:
            return Output(b"", b"")
        _captures -= 1
        if _captures:
            return redirection.output(stretch.positions, redirection.positions())
        _current = None
        try:
            return redirection.output(stretch.positions, redirection.end())
        finally:
            redirection.close()


def flush() -> None:
    """Write out what Python and C hold back of standard output and error."""
    for stream in {sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__}:
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
    libc = ctypes.CDLL(None)
    name = "__stdoutp" if sys.platform == "darwin" else "stdout"
    libc.fflush(ctypes.c_void_p.in_dll(libc, name))


def _pipe(undo: ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    source, end = os.pipe()
    return undo.enter_context(open(source, "rb", 0)), undo.enter_context(open(end, "wb", 0))


def _forget_in_child() -> None:
    global _lock, _current, _captures
    _lock = threading.Lock()  # another thread of the parent may hold the old one
    if _current is not None:
        _current.forget()
    _current, _captures = None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
