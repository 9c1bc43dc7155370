"""A process that passes the output of another one on, and keeps a copy of it in files.

`gpuplace.views.logs.redirection` starts it with this file as a program of its own, for two reasons. A thread of the
process that is read could not run while an extension module writes and holds the interpreter's lock: a full pipe would
stop both for ever. And what TensorFlow prints before it aborts is passed on although its process is gone::

    program --1--> pipe --> file that keeps it --> where descriptor 1 went before
            --2--> pipe --> file that keeps it --> where descriptor 2 went before

Reading never waits for the way out, since the file lies between them. The program needs the standard library alone.
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
"""How the pump tells a position in a file."""
_CHUNK = 1 << 16
_PAUSE_S = 0.05
"""How long the beginning of a line waits for its end, if lines are held back."""
_ABOUT_PLACEMENT = re.compile(rb"[^\n]*(?:/job:|Device mapping:)[^\n]*\n?")


class Stream:
    """A pipe, the file that keeps what comes, and where it goes.

    Args:
        source: the pipe's end to read from.
        target: where it goes.
        copy: the file that keeps it.
        is_quiet: whether lines about placement are kept but not passed on.
    """

    def __init__(self, source: int, target: int, copy: int, is_quiet: bool) -> None:
        self.source, self.target, self.copy, self.is_quiet = source, target, copy, is_quiet
        self.changed = threading.Condition()
        self.kept = self.passed = 0
        self.has_ended = self.is_broken = False

    def read(self) -> None:
        """Keep what comes until nobody can write any more."""
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        data = b"-"
        while data:
            poll.poll()  # outside of the lock; what is read inside of it is there already
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
        """Pass on what the file has no room for: the program runs on, and its log ends here."""
        os.ftruncate(self.copy, self.kept)
        self.changed.wait_for(lambda: self.passed >= self.kept or self.is_broken)
        _write(self.target, f"gpuplace: the log is cut here: {error.strerror}\n".encode() + data)

    def pass_on(self) -> None:
        """Write what was kept to where it goes, until nothing more comes."""
        at, held = 0, b""
        while True:
            with self.changed:
                while self.kept == at and not self.has_ended:
                    if not self.changed.wait(_PAUSE_S if held else None):
                        break
                kept, has_ended = self.kept, self.has_ended
            data = os.pread(self.copy, min(_CHUNK, kept - at), at)
            at += len(data)
            shown, held = _shown(held + data, bool(data)) if self.is_quiet else (data, b"")
            try:
                _write(self.target, shown)
            except OSError:  # nobody reads it: the program learns so from its next write, as without a pump
                os.dup2(os.open(os.devnull, os.O_RDONLY), self.source)
                self.is_broken = True
            with self.changed:
                self.passed = at - len(held)
                self.changed.notify_all()
            if self.is_broken or (has_ended and self.passed == kept):
                return

    def position(self) -> int:
        """Bytes that the program has written until now, once all of them are passed on."""
        with self.changed:
            count = array.array("i", [0])
            if not (self.has_ended or self.is_broken):
                fcntl.ioctl(self.source, termios.FIONREAD, count)
            end = self.kept + count[0]
            self.changed.wait_for(lambda: self.passed >= end or self.is_broken or self.has_ended)
            return end


def _shown(text: bytes, is_more_likely: bool) -> tuple[bytes, bytes]:
    """What is passed on of a text without lines about placement, and the beginning of a line that has to wait."""
    end = text.rfind(b"\n") + 1 if is_more_likely else len(text)
    return _ABOUT_PLACEMENT.sub(b"", text[:end]), text[end:]


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


def main(words: list[str]) -> None:
    """Pump until no stream can have more, and answer each byte of the control pipe with the streams' positions.

    Args:
        words: descriptors of the control pipe and of the pipe for answers, 1 for quiet streams or 0, then the source,
            the target and the file's descriptor of each stream.
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
