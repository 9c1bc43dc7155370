"""Who knows no secret gets nothing run, neither in a task nor in a session; and who does sends no code either."""

import asyncio
import contextlib
import logging
import os
import pickle
import random
import socket
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.clusters import event_loop, listener
from gpuplace.clusters.connections import connect, full_address
from gpuplace.clusters.frames import HEAD, encoded
from gpuplace.clusters.secret import ENVIRONMENT_VARIABLE, HELLO, prove_as_listener, token
from gpuplace.clusters.streams import Stream
from tests.clusters.running import servers

distributed = pytest.importorskip("distributed")

FAMILIES = ("dask", "pickle", "cuda", "msgpack", "error", "header", "array")
RUN_BY_DASK = {"dask", "pickle", "cuda", "header", "array"}
"""Of the payloads those that dask runs when it reads them; the other families know no code."""


class Mark:
    """Leaves a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def payload(family, path):
    """A message of dask whose reading runs code, by one of dask's families of serializers."""
    from distributed.protocol.serialize import Serialized, ToPickle, to_serialize

    code = pickle.dumps(Mark(path))
    if family == "header":
        hostile = ToPickle(Mark(path))
    elif family == "array":
        hostile = to_serialize(np.array([Mark(path)], object))
    else:
        header = {"serializer": family, "type-serialized": code, "sub-header": {}, "writeable": ()}
        hostile = Serialized(header, [code])
    return {"op": "x", "x": hostile}


def dask_bytes(message):
    """A message as dask's connections over TCP have it."""
    from distributed.comm.tcp import _add_frames_header

    frames = distributed.protocol.dumps(message, on_error="raise")
    return b"".join(map(bytes, _add_frames_header(frames)[0]))


@pytest.mark.parametrize("family", FAMILIES)
def test_payloads_are_what_they_should_be(family, tmp_path):
    path = tmp_path / "mark"
    frames = distributed.protocol.dumps(payload(family, path), on_error="raise")
    with contextlib.suppress(Exception):
        distributed.protocol.loads(list(map(bytearray, frames)))
    assert path.exists() == (family in RUN_BY_DASK)


@pytest.fixture
def task():
    with servers(worker=1) as started:
        yield started["worker", 0]


def works(task):
    """Whether a session of another process's kind still works."""
    with tf.Graph().as_default(), tf.Session(stranger(task)) as session:
        return session.run(tf.constant(1) + 1) == 2


def stranger(task):
    """A target that this process does not know as its own."""
    return task.target.replace("localhost", "127.0.0.1")


def place(task):
    return "127.0.0.1", int(task.target.rpartition(":")[2])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_task_runs_no_code_that_comes(family, tmp_path, task):
    path = tmp_path / "mark"
    message = payload(family, path)

    async def as_dask_does():
        with contextlib.suppress(OSError, MemoryError):  # dask takes the first bytes of the answer for a size
            comm = await distributed.comm.connect("tcp://{}:{}".format(*place(task)), timeout=2)
            await comm.write(message)
            with contextlib.suppress(Exception):
                await asyncio.wait_for(comm.read(), 2)
            comm.abort()

    asyncio.run(as_dask_does())
    with socket.create_connection(place(task)) as caller:
        caller.sendall(dask_bytes(message))
        caller.settimeout(60)
        with contextlib.suppress(ConnectionResetError):
            while caller.recv(1000):
                pass

    async def with_the_secret():
        stream = await connect(full_address(task.target))
        stream.send(dask_bytes(message))
        with pytest.raises(OSError):
            while True:
                await stream.read()

    event_loop.wait_for(with_the_secret())
    assert works(task) and not path.exists()


class Hostile:
    """A listener that answers a session's first message with something else.

    Args:
        answer: the bytes.
        key: the secret; None where it does not know it.
    """

    def __init__(self, answer, key=None):
        self._answer, self._key = answer, key
        self.heard = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error):
        self._server.close()

    async def _talk(self, reader, writer):
        class End:
            def send(self, data):
                writer.write(data)

            async def take(self, count):
                return await reader.readexactly(count)

        if self._key is not None:
            caller, own = (writer.get_extra_info(name) for name in ("peername", "sockname"))
            ends = b"".join(b"%s %d\n" % (host.encode(), port) for host, port in (caller, own))
            await prove_as_listener(End(), self._key, ends)
        self.heard.append(await reader.read(1000))
        writer.write(self._answer)


@pytest.mark.parametrize("knows_the_secret", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_session_runs_no_code_that_comes(family, knows_the_secret, tmp_path):
    path = tmp_path / "mark"
    found = (tf.errors.UnavailableError, "Socket closed")
    if not knows_the_secret:
        found = (tf.errors.UnauthenticatedError, "could not prove that it knows the secret")

    async def attack():
        key = token() if knows_the_secret else None
        async with Hostile(dask_bytes(payload(family, path)), key) as hostile:
            with pytest.raises(found[0], match=found[1]) as raised:
                await asyncio.to_thread(
                    tf.Session,
                    f"grpc://{hostile.address}",
                    config=tf.ConfigProto(operation_timeout_in_ms=20_000),
                )
            return raised.value, hostile.heard

    error, heard = asyncio.run(attack())
    assert not path.exists()
    if not knows_the_secret:
        assert heard and all(
            one.startswith(HELLO) and len(one) == len(HELLO) + 32 for one in heard
        )  # nothing else
        assert ENVIRONMENT_VARIABLE in error.hint


def test_a_listener_with_another_secret_hears_nothing(tmp_path):
    async def attack():
        async with Hostile(b"", b"another secret, and a long one") as hostile:
            with pytest.raises(tf.errors.UnauthenticatedError, match="could not prove"):
                await asyncio.to_thread(tf.Session, f"grpc://{hostile.address}")
            return hostile.heard

    assert b"".join(asyncio.run(attack())) == b""


def test_a_session_with_another_secret_is_told_so(task, tmp_path, monkeypatch):
    own = token()
    other = tmp_path / "other"
    code = f"""
import os, sys
import gpuplace as tf
os.environ["{ENVIRONMENT_VARIABLE}"] = sys.argv[1]
try:
    tf.Session("{stranger(task)}")
except tf.errors.UnauthenticatedError as error:
    print(error)
"""
    said = subprocess.run(
        [sys.executable, "-c", code, str(other)], check=True, capture_output=True, text=True
    )
    assert "could not prove that it knows the secret of this user's clusters" in said.stdout
    assert f"give each a copy of one token file in {ENVIRONMENT_VARIABLE}" in said.stdout
    other.write_bytes(own)
    said = subprocess.run(
        [sys.executable, "-c", code, str(other)], check=True, capture_output=True, text=True
    )
    assert said.stdout == ""


OTHER_USER = """
import os, sys
import gpuplace as tf
server = tf.train.Server.create_local_server()
with tf.Session(server.target.replace("localhost", "127.0.0.1")) as session:  # all modules are loaded
    session.run(tf.constant(1) + 1)
server.stop()
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
for keep in (True, False):
    if not keep:
        del os.environ["GPUPLACE_CLUSTER_TOKEN_FILE"]
    try:
        tf.Session(sys.argv[1])
    except tf.errors.OpError as error:
        print(type(error).__name__, error.message)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_another_user_is_turned_away(task):
    with tempfile.TemporaryDirectory() as folder:  # where a user without a home has a token
        os.chmod(folder, 0o777)
        command = [sys.executable, "-c", OTHER_USER, stranger(task)]
        environment = {**os.environ, "TMPDIR": folder}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("PermissionDeniedError The secret of this user's clusters is not safe")
    assert second.startswith("UnauthenticatedError") and "could not prove" in second
    assert works(task)


# Garbage, and a lot of it


def lines_of(caplog):
    return [one.getMessage() for one in caplog.records if one.name.startswith(("gpuplace", "asyncio"))]


def test_a_thousand_random_frames_end_their_connections_alone(task, caplog):
    chance = random.Random(5)
    good = b"".join(
        encoded({"op": "run", "session": "x", "number": 1, "step": 1, "feeds": [], "reply": True})
    )
    with caplog.at_level(logging.INFO):
        for _ in range(500):
            with socket.create_connection(place(task)) as caller:
                caller.sendall(
                    chance.choice((b"", HELLO)) + chance.randbytes(chance.choice((1, 48, 300, 5000)))
                )

        async def with_the_secret():
            for number in range(500):
                stream = await connect(full_address(task.target))
                frame = chance.choice(
                    (chance.randbytes(200), good[:8] + chance.randbytes(90), good[: number % 90])
                )
                stream.send(frame)
                stream.close()

        event_loop.wait_for(with_the_secret())
        assert works(task)
    assert 1 <= len(lines_of(caplog)) <= 20


@pytest.mark.parametrize(
    "message",
    [
        {"op": "no such operation"},
        {"op": ["run"]},
        {"op": "run"},
        {
            "op": "run",
            "session": {},
            "number": 1,
            "step": 1,
            "feeds": [{"dtype": "object", "shape": [], "data": b""}],
        },
        {"op": "register", "session": "x", "number": 1, "graph_def": "no bytes", "feeds": {}, "fetches": []},
        {
            "op": "open_session",
            "session": "x",
            "config": b"\xff\xff",
            "tasks": {},
            "isolated": False,
            "name": "",
        },
        {"op": "open_session", "comm": 1, "stream": 2},
        {"op": "tensors", "tensors": [["x"]]},
        {"op": "abort", "session": "x", "step": 1, "error": {"code": 77}},
        {},
    ],
)
def test_messages_of_undeclared_types_end_their_connection(message, task, caplog):
    async def send():
        stream = await connect(full_address(task.target))
        await stream.write(message)
        with pytest.raises(OSError):
            await stream.read()

    with caplog.at_level(logging.WARNING):
        event_loop.wait_for(send())
        assert works(task)
    assert (
        len(lines_of(caplog)) == 1
        and "Connections to this task were closed: 1 (1 sent" in lines_of(caplog)[0]
    )


def test_a_log_says_how_many_connections_were_closed(task, caplog, monkeypatch):
    monkeypatch.setattr(listener, "LOG_S", 0.5)
    with caplog.at_level(logging.WARNING):
        for _ in range(410):
            with socket.create_connection(place(task)) as caller:
                caller.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                with contextlib.suppress(OSError):
                    caller.recv(100)
        assert works(task)
        counts = waited_for(lambda: [int(line.split(": ")[1].split()[0]) for line in lines_of(caplog)], 410)
    assert counts[0] == 1 and len(counts) < 60


def waited_for(counts, total):
    """The counts, once they make the total."""
    pause = threading.Event()
    for _ in range(1200):
        if sum(counts()) >= total:
            break
        pause.wait(0.05)
    assert sum(counts()) == total
    return counts()


SERVE = """
import resource, sys
import gpuplace as tf
from gpuplace.clusters import listener
listener.MOST_UNPROVEN = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
server = tf.train.Server.create_local_server()
print(server.target, flush=True)
sys.stdin.readline()
usage = resource.getrusage(resource.RUSAGE_SELF)
before = usage.ru_utime + usage.ru_stime
sys.stdin.readline()
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_utime + usage.ru_stime - before, flush=True)
server.stop()
"""


@pytest.mark.parametrize("most", [64, 10_000])
def test_idle_connections_and_no_file_descriptors_left(most):
    """With the bound on connections, and with none, so that file descriptors run out."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", SERVE, str(most)], text=True, **pipes) as process:
        target = process.stdout.readline().strip().replace("localhost", "127.0.0.1")
        address = "127.0.0.1", int(target.rpartition(":")[2])
        process.stdin.write("\n")
        process.stdin.flush()
        with contextlib.ExitStack() as idle:
            for _ in range(200):
                caller = idle.enter_context(socket.socket())
                caller.setblocking(False)
                caller.connect_ex(address)
            threading.Event().wait(3)
            with tf.Graph().as_default(), tf.Session(target) as session:  # in its turn
                assert session.run(tf.constant(1) + 1) == 2
        process.stdin.write("\n")
        said, log = process.communicate()
        assert float(said) < 1.5  # seconds of processor time; it was all there is, for as long as they stay
        assert log.count("\n") < 20 and len(log) < 5000, log


def test_connections_that_prove_nothing_end_after_a_while(task, monkeypatch):
    monkeypatch.setattr(listener, "PROOF_S", 0.2)
    with socket.create_connection(place(task)) as caller:
        caller.sendall(HELLO + bytes(32))
        caller.settimeout(60)
        assert len(caller.recv(1000)) == len(HELLO) + 64
        assert caller.recv(1) == b""


def test_an_end_that_stops_in_a_message_takes_no_memory(task):
    """A message that is said to be large takes memory as it comes."""
    import psutil

    async def promise():
        stream = await connect(full_address(task.target))
        stream.send(HEAD.pack(2, 1) + (1 << 31).to_bytes(8, "big") + b"{}")
        await asyncio.sleep(0.3)
        found = psutil.Process().memory_info().rss
        stream.abort()
        return found

    before = psutil.Process().memory_info().rss
    assert event_loop.wait_for(promise()) - before < 1 << 28


def test_streams_know_both_ends(task):
    async def ends():
        stream = await connect(full_address(task.target))
        found = stream.ends
        stream.abort()
        return found

    own, other = event_loop.wait_for(ends())
    assert other == b"127.0.0.1 %d\n" % place(task)[1] and own.startswith(b"127.0.0.1 ") and own != other
    assert issubclass(Stream, asyncio.BufferedProtocol)
