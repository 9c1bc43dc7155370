"""Commands of `gpuplace` in processes that begin with the package imported.

A process that has imported the command line is forked for every command. The child is what `python -m gpuplace` is once
its imports are done, with streams, environment and folder of its own, and ends as a program does; only the imports are
not made again and again.
"""

import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

LARGEST = 1 << 17
"""Bytes of a message: words, folder and environment."""


class CommandServer:
    """The process that is forked, as seen from the tests."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def run(
        self, words: list[str], folder: Path, environ: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Runs one command without input and waits for it."""
        message = json.dumps([words, str(folder), environ]).encode()
        assert len(message) <= LARGEST
        with (
            open(os.devnull) as nothing,
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
        ):
            socket.send_fds(self._socket, [message], [stream.fileno() for stream in (nothing, out, err)])
            answer = self._socket.recv(LARGEST)
            assert answer, "the process that is forked has ended"
            out.seek(0), err.seek(0)
            return subprocess.CompletedProcess(words, int(answer), out.read(), err.read())

    def close(self) -> None:
        """Ends the process."""
        self._socket.close()
        self._process.wait()


def serve(connection: socket.socket) -> bool:
    """Forks for each message and answers with the exit code. True in each child, False when nobody asks any more."""
    while True:
        message, streams, _, _ = socket.recv_fds(connection, LARGEST, 3)
        if not message:
            return False
        child = os.fork()
        if child == 0:
            connection.close()
            _become(*json.loads(message), streams)
            return True
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(words: list[str], folder: str, environ: dict[str, str], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv[1:] = words


if __name__ == "__main__":
    del sys.path[0]  # this file's folder, which `python -m gpuplace` does not have
    importlib.import_module("gpuplace.cli")  # what every command begins with
    if serve(socket.socket(fileno=int(sys.argv.pop()))):
        runpy.run_module("gpuplace", run_name="__main__", alter_sys=True)
