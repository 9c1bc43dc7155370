"""The token file, and the proofs that two ends know it."""

import asyncio
import os
import pwd
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

import gpuplace as tf
from gpuplace.clusters.secret import (
    ENVIRONMENT_VARIABLE,
    HELLO,
    UnprovenError,
    prove_as_caller,
    prove_as_listener,
    token,
)

ENDS = b"127.0.0.1 1\n127.0.0.1 2\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder without a token, and the user's."""
    monkeypatch.delenv(ENVIRONMENT_VARIABLE)
    monkeypatch.setattr(pwd, "getpwuid", lambda user: SimpleNamespace(pw_dir=str(tmp_path / "home")))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_token_is_made_for_the_user_alone(home, monkeypatch):
    with ThreadPoolExecutor(8) as threads:  # several tasks begin at the same time
        found = {future.result() for future in [threads.submit(token) for _ in range(64)]}
    (value,) = found
    assert len(value) == 64 and token() == value
    path = home / ".cache" / "gpuplace" / "cluster-token"
    assert path.read_bytes() == value
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["cluster-token"]
    monkeypatch.setenv("HOME", "/elsewhere")  # as for a task that another program starts
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert token() == value


def test_a_user_without_a_home_has_one_beside_other_temporary_files(tmp_path, monkeypatch):
    monkeypatch.delenv(ENVIRONMENT_VARIABLE)
    monkeypatch.setattr(pwd, "getpwuid", lambda user: SimpleNamespace(pw_dir="/proc/none"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    value = token()
    assert (tmp_path / f"gpuplace-{os.geteuid()}" / "cluster-token").read_bytes() == value

    def nobody(user):
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert token() == value

    def nowhere():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(
        tf.errors.PermissionDeniedError, match="cannot be created, nor can a temporary folder"
    ):
        token()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path.chmod(0o640), "can be read by other users"),
        (lambda path: path.chmod(0o604), "can be read by other users"),
        (lambda path: path.parent.chmod(0o777), "can be written to by other users"),
        (lambda path: path.write_text("short"), "has fewer than 16 bytes"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/passwd")), "cannot be read or created"),
        (lambda path: (path.unlink(), os.mkfifo(path, 0o600)), "is not a file"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read or created"),
        (lambda path: os.chown(path, 65534, -1), "belongs to another user"),
        (lambda path: os.chown(path.parent, 65534, -1), "can be written to by other users"),
    ],
)
def test_a_token_that_others_can_read_or_replace_is_not_used(home, change, why):
    token()
    path = home / ".cache" / "gpuplace" / "cluster-token"
    try:
        change(path)
    except PermissionError:
        pytest.skip("only root may give files away")
    with pytest.raises(tf.errors.PermissionDeniedError, match=why) as raised:
        tf.train.Server.create_local_server()
    assert ENVIRONMENT_VARIABLE in raised.value.hint and str(path.parent) in raised.value.message
    path.parent.chmod(0o700)


def test_a_file_that_is_named(tmp_path, monkeypatch):
    path = tmp_path / "secrets" / "own"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(path))
    value = token()
    assert path.read_bytes() == value and stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("of two machines' tasks\n")
    assert token() == b"of two machines' tasks"


class End:
    """One end of a connection in memory.

    Args:
        coming, going: what is read, and what is written.
    """

    def __init__(self, coming, going):
        self.coming, self.going = coming, going

    def send(self, data):
        self.going.feed_data(data)

    async def take(self, count):
        return await self.coming.readexactly(count)


def proved(caller, listener, caller_ends=ENDS, listener_ends=ENDS):
    """How both ends fare that have these secrets, and all that was said."""

    async def run():
        there, back = Recorder(), Recorder()
        calls = prove_as_caller(End(back, there), caller, caller_ends)
        listens = prove_as_listener(End(there, back), listener, listener_ends)
        tasks = [asyncio.create_task(calls), asyncio.create_task(listens)]
        for task, other in zip(tasks, (there, back), strict=True):
            task.add_done_callback(lambda _, other=other: other.feed_eof())
        async with asyncio.timeout(60):
            found = await asyncio.gather(*tasks, return_exceptions=True)
        return found, bytes(there.said + back.said)

    return asyncio.run(run())


class Recorder(asyncio.StreamReader):
    """Keeps all that goes through it."""

    def __init__(self):
        super().__init__()
        self.said = bytearray()

    def feed_data(self, data):
        self.said += data
        super().feed_data(data)


def test_ends_with_one_secret_prove_it_to_each_other():
    first, second = (proved(b"secret of all tasks", b"secret of all tasks") for _ in range(2))
    for results, said in (first, second):
        assert results == [None, None]
        assert b"secret" not in said and said.count(HELLO) == 2
    assert first[1] != second[1]  # what was heard proves nothing a second time


def test_ends_with_two_secrets_prove_nothing():
    (caller, listener), said = proved(b"secret of all tasks", b"another one's secret")
    assert isinstance(caller, UnprovenError) and isinstance(listener, asyncio.IncompleteReadError)
    assert b"secret" not in said
    assert len(said) == 2 * len(HELLO) + 32 + 64  # the caller said nothing about its own


def test_a_program_in_between_proves_nothing():
    (caller, listener), _ = proved(b"one secret", b"one secret", caller_ends=b"127.0.0.1 1\n127.0.0.1 3\n")
    assert isinstance(caller, UnprovenError) and isinstance(listener, asyncio.IncompleteReadError)


def test_who_says_something_else_is_no_task():
    async def greet(role):
        coming, going = Recorder(), Recorder()
        coming.feed_data(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        with pytest.raises(UnprovenError, match="not a task or session of gpuplace"):
            await role(End(coming, going), b"one secret", ENDS)
        return bytes(going.said)

    assert asyncio.run(greet(prove_as_caller)).startswith(HELLO)
    assert asyncio.run(greet(prove_as_listener)) == HELLO
