"""A process that passes another process's output through and keeps a copy in files.

`gpuplace.views.logs.redirection` runs this file as a separate program, for two reasons. First, a thread of the captured
process could not run while an extension module writes and holds the interpreter lock: once the pipe is full, both would
wait forever. Second, text that TensorFlow prints before it aborts is still passed through::

    program --1--> pipe --> copy file --> original target of descriptor 1
            --2--> pipe --> copy file --> original target of descriptor 2

Reading never waits for the target, because the file lies between them. The program needs only the standard library.
"""

from __future__ import annotations

import array
import fcntl
import os
import re
import select
import struct
import sys
import termios
import threading

POSITION = struct.Struct("=q")
"""The format of a file position in the pump's answers."""
_CHUNK = 1 << 16
_PAUSE_S = 0.05
"""Seconds for which the beginning of a line waits for its end, if lines are filtered."""
_ABOUT_PLACEMENT = re.compile(rb"[^\n]*(?:/job:|Device mapping:)[^\n]*\n?")


class Stream:
    """A pipe, the file that keeps a copy of its content, and its target.

    Args:
        source: the read end of the pipe.
        target: the target descriptor.
        copy: the descriptor of the file.
        is_quiet: whether placement lines are kept but not passed through.
    """

    def __init__(self, source: int, target: int, copy: int, is_quiet: bool) -> None:
        self.source, self.target, self.copy, self.is_quiet = source, target, copy, is_quiet
        self.changed = threading.Condition()
        self.kept = self.passed = 0
        self.has_ended = self.is_broken = False

    def read(self) -> None:
        """Copy the pipe's content until all writers have closed it."""
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        data = b"-"
        while data:
            poll.poll()  # wait without the lock, so that the read inside it never blocks
            with self.changed:
                data = os.read(self.source, _CHUNK)
                try:
                    _write(self.copy, data)
                    self.kept += len(data)
                except OSError as error:
                    self._pass_uncopied(data, error)
                self.has_ended = not data
                self.changed.notify_all()

    def _pass_uncopied(self, data: bytes, error: OSError) -> None:
        """Pass through text that does not fit into the file: the program continues, and its log ends here."""
        os.ftruncate(self.copy, self.kept)
        self.changed.wait_for(lambda: self.passed >= self.kept or self.is_broken)
        _write(self.target, f"gpuplace: the captured log ends here: {error.strerror}\n".encode() + data)

    def pass_on(self) -> None:
        """Write the copied content to the target until the stream ends."""
        position, held = 0, b""
        while True:
            with self.changed:
                while self.kept == position and not self.has_ended:
                    if not self.changed.wait(_PAUSE_S if held else None):
                        break
                kept, has_ended = self.kept, self.has_ended
            data = os.pread(self.copy, min(_CHUNK, kept - position), position)
            position += len(data)
            shown, held = _shown(held + data, bool(data)) if self.is_quiet else (data, b"")
            try:
                _write(self.target, shown)
            except OSError:  # no reader: the program's next write fails, as it would without a pump
                os.dup2(os.open(os.devnull, os.O_RDONLY), self.source)
                self.is_broken = True
            with self.changed:
                self.passed = position - len(held)
                self.changed.notify_all()
            if self.is_broken or (has_ended and self.passed == kept):
                return

    def position(self) -> int:
        """Return the number of bytes that the program has written so far, after passing all of them through."""
        with self.changed:
            count = array.array("i", [0])
            if not (self.has_ended or self.is_broken):
                fcntl.ioctl(self.source, termios.FIONREAD, count)
            end = self.kept + count[0]
            self.changed.wait_for(lambda: self.passed >= end or self.is_broken or self.has_ended)
            return end


def _shown(text: bytes, is_more_likely: bool) -> tuple[bytes, bytes]:
    """Return the text without placement lines, and the beginning of a line that has to wait for its end."""
    end = text.rfind(b"\n") + 1 if is_more_likely else len(text)
    return _ABOUT_PLACEMENT.sub(b"", text[:end]), text[end:]


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


def main(words: list[str]) -> None:
    """Run until all streams have ended; answer each byte on the control pipe with the streams' positions.

    Args:
        words: descriptors of the control pipe and of the answer pipe; 1 for quiet streams or 0; then source, target and
            file descriptor of each stream.
    """
    control, answers, is_quiet, *rest = map(int, words)
    parts = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    streams = [Stream(source, target, copy, bool(is_quiet)) for source, target, copy in parts]
    threads = [threading.Thread(target=run) for stream in streams for run in (stream.read, stream.pass_on)]
    for thread in threads:
        thread.start()
    while os.read(control, 1):
        os.write(answers, b"".join(POSITION.pack(stream.position()) for stream in streams))
    os.close(answers)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
