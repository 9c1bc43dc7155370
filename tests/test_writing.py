"""Files that the package writes: all of a file or nothing of it."""

import ast
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpuplace import writing
from gpuplace.writing import check_writable, write_file, write_files

PACKAGE = Path(writing.__file__).parent


@pytest.fixture(params=["unnamed", "named", "cannot link"])
def system(request, monkeypatch):
    """A system with files without a name, one without, and one that cannot give them a name."""

    def cannot(*arguments, **options):
        raise OSError(18, "Invalid cross-device link", "a", None, "b")

    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif request.param == "cannot link":
        monkeypatch.setattr(os, "link", cannot)
    return request.param


def test_a_file_is_written_and_replaced(system, tmp_path):
    path = tmp_path / "file"
    assert write_file(path, "ä\n") == str(path)
    assert path.read_bytes() == "ä\n".encode()
    write_file(path, b"new")
    assert path.read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]


def test_permissions(system, tmp_path):
    umask = os.umask(0o027)
    try:
        write_file(tmp_path / "file", b"")
        assert stat.S_IMODE(os.stat(tmp_path / "file").st_mode) == 0o640
        os.chmod(tmp_path / "file", 0o604)
        write_file(tmp_path / "file", b"1")
        assert stat.S_IMODE(os.stat(tmp_path / "file").st_mode) == 0o604
    finally:
        os.umask(umask)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    for content in (b"1", b"2"):
        write_file(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink() and (tmp_path / "folder" / "file").read_bytes() == content


@pytest.mark.parametrize("raised", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_the_old_file_survives_what_goes_wrong(system, tmp_path, monkeypatch, raised, call):
    def fail(*arguments, **options):
        raise raised

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(type(raised)) as caught:
        write_file(path, b"new")
    assert os.listdir(tmp_path) == ["file"] and path.read_bytes() == b"old"
    if isinstance(raised, OSError):
        assert caught.value.filename == str(path) and caught.value.errno == 28


def test_a_process_that_is_killed_leaves_the_old_file_alone(tmp_path):
    program = (
        "import os, sys\nfrom gpuplace.writing import write_file\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), 9)\n"
        "write_file(sys.argv[1], b'new' * 1_000_000)"
    )
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", program, path], env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    )
    assert done.returncode == -9 and path.read_bytes() == b"old"
    if hasattr(os, "O_TMPFILE"):
        assert os.listdir(tmp_path) == ["file"]


def test_devices_and_pipes_are_written_to_and_stay(tmp_path):
    device = os.stat("/dev/null")
    write_file("/dev/null", b"x")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_file("/dev/full", b"x")
    assert os.stat("/dev/null").st_rdev == device.st_rdev
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"content")
    reader.join()
    assert read == [b"content"] and stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_what_standard_output_goes_to_is_not_replaced(tmp_path):
    program = "from gpuplace.writing import write_file\nprint(1)\nwrite_file('/dev/stdout', '2\\n')\nprint(3)"
    with open(tmp_path / "out", "ab") as out:
        out.write(b"0\n")
        out.flush()
        environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
        subprocess.run([sys.executable, "-c", program], stdout=out, env=environment, check=True)
    assert (tmp_path / "out").read_bytes() == b"0\n1\n2\n3\n"


@pytest.mark.parametrize(
    ("name", "error"),
    [("missing/file", FileNotFoundError), (".", IsADirectoryError), ("file/x", NotADirectoryError)],
)
def test_what_cannot_be_written(tmp_path, name, error):
    (tmp_path / "file").write_bytes(b"old")
    path = str(tmp_path / name)
    for function in (check_writable, lambda path: write_file(path, b"")):
        with pytest.raises(error) as caught:
            function(path)
        assert caught.value.filename == path
    assert os.listdir(tmp_path) == ["file"]


def test_whether_a_file_can_be_written_changes_nothing(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    os.utime(tmp_path / "old", (1, 1))
    for name in ("old", "new", "/dev/null"):
        check_writable(tmp_path / name)
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old" and os.stat(tmp_path / "old").st_mtime == 1


def test_files_that_belong_together(tmp_path, system, monkeypatch):
    """All are new, or all are as they were; nothing is left beside them."""
    paths = [str(tmp_path / name) for name in ("data", "index")]
    write_files({paths[0]: [b"one ", memoryview(b"piece")], paths[1]: [b""]})
    assert [Path(path).read_bytes() for path in paths] == [b"one piece", b""]
    synced = []

    def full(descriptor):
        synced.append(descriptor)
        if len(synced) > 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_files({paths[0]: [b"two"], paths[1]: [b"two"]})
    assert caught.value.filename in paths
    assert [Path(path).read_bytes() for path in paths] == [b"one piece", b""]
    assert sorted(os.listdir(tmp_path)) == ["data", "index"]


def writers(source):
    """Lines that write a file in a way of their own."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        modes = [
            given.value
            for given in [*node.args, *(one.value for one in node.keywords)]
            if isinstance(given, ast.Constant)
        ]
        is_mode = any(
            isinstance(mode, str) and set(mode) <= set("wxabrt+") and set(mode) & set("wxa+")
            for mode in modes
        )
        if name in ("write_text", "write_bytes", "savefig", "to_csv", "mkstemp") or (
            name == "open" and is_mode
        ):
            yield node.lineno


@pytest.mark.parametrize(
    "line",
    ["open(p, 'w')", "open(p, mode='ab')", "Path(p).open('x')", "p.write_text(t)", "gzip.open(p, 'wb')"],
)
def test_a_writer_is_found(line):
    assert list(writers(line)) == [1]
    assert not list(writers("open(p, 'rb'), open(p), p.open('r')"))


WRITERS = {
    "writing.py",
    "secret.py",  # makes the file that its user alone may ever read
    "redirection.py",  # opens descriptors, not files
    "handlers.py",  # a browser's upload, in a folder that goes with the request
}
"""Modules that write in ways of their own."""


def test_no_other_module_writes_files():
    found = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path.name not in WRITERS
        for line in writers(path.read_text(encoding="utf-8"))
    }
    assert not found
