"""`gpuplace.capture_log`: nothing is lost, nothing hangs, nothing is left over, and the output is printed as well."""

import ctypes
import gc
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import pytest

import gpuplace
from gpuplace.views.logs import tensorflow_log
from gpuplace.views.logs.python_streams import PythonStream

LINE = "a: (Neg): /job:localhost/replica:0/task:0/device:CPU:0\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def run(program: str, **options) -> subprocess.CompletedProcess[bytes]:
    """A program in a process of its own; standard output and error apart."""
    source = f"import os, sys, time, gpuplace\nLINE = {LINE.encode()!r}\n{textwrap.dedent(program)}"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([sys.executable, "-c", source], timeout=120, **streams)


def descriptors() -> list[str]:
    """The open file descriptors of this process."""
    return sorted(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"))


def test_all_writers_are_kept_and_printed(capfd):
    with gpuplace.capture_log() as log:
        os.write(1, LINE.encode())
        ctypes.CDLL(None).printf(b"of C\n")
        print("of Python")
        subprocess.run(["sh", "-c", "echo of a child; echo error >&2"], check=True)
        sys.stderr.write("warning\n")
    printed = capfd.readouterr()
    for kept in (log.stdout, printed.out):
        assert sorted(kept.splitlines()) == sorted([LINE[:-1], "of C", "of Python", "of a child"])
    assert sorted(log.stderr.splitlines()) == ["error", "warning"] == sorted(printed.err.splitlines())
    assert dict(log.placement) == {"a": "/job:localhost/replica:0/task:0/device:CPU:0"}
    assert len(gpuplace.explore(log).placement) == 1
    assert repr(log).startswith("<LogCapture of ") and "1 node: 1 on CPU:0" in repr(log)


def test_text_of_c_from_before_is_not_kept(capfd):
    ctypes.CDLL(None).printf(b"before\n")
    with gpuplace.capture_log() as log:
        ctypes.CDLL(None).printf(b"within\n")
    assert log.stdout == "within\n" or log.stdout == "within"
    assert capfd.readouterr().out == "before\nwithin\n"


@pytest.mark.parametrize("library", [ctypes.CDLL, ctypes.PyDLL], ids=["free", "holding Python's lock"])
def test_ten_megabytes_in_one_write(library, capfd):
    text = LINE.encode() * 190_000
    with gpuplace.capture_log() as log:
        assert library(None).write(2, text, len(text)) == len(text) > 10_000_000
    assert capfd.readouterr().err.encode() == text
    assert len(log.stderr) >= len(text) - 1


def test_same_place_for_both_keeps_the_order():
    program = """
        with gpuplace.capture_log() as log:
            for number in range(200):
                os.write(1 + number % 2, b"%d\\n" % number)
        os.write(1, log.stdout.encode())
        """
    result = run(program, stderr=subprocess.STDOUT)
    expected = "".join(f"{number}\n" for number in range(200))
    assert result.stdout.decode().rstrip("\n") == (expected * 2).rstrip("\n")


def test_fifty_in_a_row_leave_nothing(capfd):
    with gpuplace.capture_log():
        print("first")
    gc.collect()
    before = descriptors(), threading.active_count()
    for number in range(50):
        with gpuplace.capture_log() as log:
            os.write(1, b"%d\n" % number)
        assert log.stdout.strip() == str(number)
    gc.collect()
    assert (descriptors(), threading.active_count()) == before


def test_nested_and_overlapping(capfd):
    with gpuplace.capture_log() as outer:
        os.write(1, b"1\n")
        with gpuplace.capture_log() as inner:
            os.write(1, b"2\n")
        os.write(1, b"3\n")
    assert (outer.stdout.split(), inner.stdout.split()) == (["1", "2", "3"], ["2"])
    first, second = gpuplace.capture_log(), gpuplace.capture_log()
    first.__enter__()
    os.write(1, b"4\n")
    second.__enter__()
    os.write(1, b"5\n")
    first.__exit__(None, None, None)
    os.write(1, b"6\n")
    second.__exit__(None, None, None)
    os.write(1, b"7\n")
    assert (first.stdout.split(), second.stdout.split()) == (["4", "5"], ["5", "6"])
    assert capfd.readouterr().out.split() == list("1234567")


def test_threads(capfd):
    texts = []

    def work(number: int) -> None:
        for turn in range(5):
            with gpuplace.capture_log() as log:
                os.write(1, f"<{number} {turn}>\n".encode())
            texts.append(f"<{number} {turn}>" in log.stdout)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [True] * 20
    assert len(capfd.readouterr().out.splitlines()) == 20


def test_an_exception_passes_and_restores(capfd):
    before = os.fstat(1).st_ino
    with pytest.raises(ZeroDivisionError), gpuplace.capture_log() as log:
        os.write(1, b"half\n")
        raise ZeroDivisionError
    assert log.stdout.strip() == "half" and os.fstat(1).st_ino == before


def test_an_interrupt_in_the_middle(capfd):
    log = gpuplace.capture_log()
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), log:
        timer.start()
        while True:
            os.write(1, LINE.encode() * 100)
            time.sleep(0.01)
    assert len(log.stdout) > len(LINE) * 99
    os.write(1, b"after\n")
    assert capfd.readouterr().out.endswith("after\n")


def test_forked_children_belong_to_the_parents_log(capfd):
    with gpuplace.capture_log() as log:
        child = os.fork()
        if child == 0:
            with gpuplace.capture_log() as own:
                os.write(1, b"of the child\n")
            os._exit(own.stdout.strip() != "of the child")
        assert os.waitpid(child, 0)[1] == 0
        child = os.fork()
        if child == 0:
            log.__exit__(None, None, None)
            os._exit(log.stdout != "")
        assert os.waitpid(child, 0)[1] == 0
    assert log.stdout.split("\n")[0] == "of the child"


def test_a_child_that_outlives_the_block_goes_on_printing():
    result = run(
        """
        import subprocess
        ready, end = os.pipe()
        words = ["sh", "-c", f"echo early; echo ready >&{end}; read line; echo late"]
        with gpuplace.capture_log() as log:
            child = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=[end])
            os.read(ready, 1)
        assert log.stdout.split() == ["early"]
        child.communicate(b"go")
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, b"early\nlate\n", b"")


def test_a_process_that_aborts_has_printed_all():
    result = run("gpuplace.capture_log().__enter__()\nos.write(2, b'Check failed\\n')\nos.abort()")
    assert (result.returncode, result.stderr) == (-signal.SIGABRT, b"Check failed\n")


def test_nobody_reads_the_output():
    program = "with gpuplace.capture_log():\n    while True: os.write(1, LINE)"
    source = f"import os, gpuplace\nLINE = {LINE.encode()!r}\n{program}"
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert b"BrokenPipeError" in process.stderr.read()
        assert process.wait(60) == 1


def test_quiet_holds_lines_about_placement_back(capfd):
    with gpuplace.capture_log(quiet=True) as log:
        os.write(1, b"one " + LINE.encode()[:20])
        time.sleep(0.2)  # the beginning of a line waits for its end, but not for ever
        os.write(1, LINE.encode()[20:] + LINE.encode() + b"10%\r")
        os.write(2, b"Device mapping:\n" + LINE.encode() + b"error\n")
    printed = capfd.readouterr()
    assert LINE not in printed.out and printed.out.endswith("10%\r") and printed.err == "error\n"
    assert log.stdout.count("/job:") == 2 and "Device mapping" in log.stderr


def test_streams_without_a_descriptor(monkeypatch):
    """As in a notebook's kernel."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    with gpuplace.capture_log(quiet=True) as log:
        print("Executing op Neg in device /job:localhost/replica:0/task:0/device:CPU:0")
        print("result")
        print("error", file=sys.stderr)
    print("after")
    assert stream.getvalue() == "result\nerror\nafter\n"
    assert [event.op for event in log.placement.events] == ["Neg"]
    assert "write" not in vars(stream)


def test_the_line_break_of_a_held_line_is_held_too():
    stream = io.StringIO()
    copy = PythonStream(stream, is_quiet=True)
    for text in ("x\nat /job:a", "\n", "\n", "y\n"):
        stream.write(text)
    copy.restore()
    assert stream.getvalue() == "x\n\ny\n" and copy.text(0, copy.position) == "x\nat /job:a\n\ny\n"


def test_the_pump_is_killed(capfd):
    log = gpuplace.capture_log()
    with pytest.raises(gpuplace.errors.InternalError, match="was killed"), log:
        log._stretch.redirection.process.kill()
        log._stretch.redirection.process.wait()
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "after\n"


def test_begun_twice_and_read_too_early(capfd):
    with gpuplace.capture_log() as log:
        with pytest.raises(gpuplace.errors.FailedPreconditionError, match="already used"):
            log.__enter__()
        with pytest.raises(gpuplace.errors.FailedPreconditionError, match="has not ended"):
            _ = log.stdout
        assert repr(log) == "<LogCapture, still running>"


def fake_tensorflow(monkeypatch, version: str = "2.21.0") -> list[bool]:
    """A module with TensorFlow's switch; the values that it is set to."""
    values = [False]
    debugging = SimpleNamespace(
        get_log_device_placement=lambda: values[-1], set_log_device_placement=values.append
    )
    config = SimpleNamespace(get_soft_device_placement=lambda: True)
    module = SimpleNamespace(__version__=version, debugging=debugging, config=config)
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    return values


def test_tensorflows_log_is_switched_on_and_back(monkeypatch, capfd):
    values = fake_tensorflow(monkeypatch)
    with gpuplace.capture_log() as log, gpuplace.capture_log():
        assert values == [False, True]
    assert values == [False, True, False]
    assert "No op ran" in log.missing and log.missing in log._repr_mimebundle_()["text/plain"]
    values[:] = [True]
    with gpuplace.capture_log():
        pass
    assert values == [True, True, True]


def test_a_context_that_has_run_ops_is_told_too(monkeypatch, capfd):
    """TensorFlow's own function does not reach it, and sets soft placement in it by mistake."""
    fake_tensorflow(monkeypatch)
    told = []
    config = sys.modules["tensorflow"].config
    config.set_soft_device_placement = lambda value: told.append(("soft", value))
    context = SimpleNamespace(context=lambda: SimpleNamespace(_context_handle="capsule"))
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", context)
    monkeypatch.setitem(sys.modules, "tensorflow.python._pywrap_tfe", SimpleNamespace())
    monkeypatch.setattr(tensorflow_log, "_switch_context", lambda handle, is_on: told.append((handle, is_on)))
    with gpuplace.capture_log():
        assert told == [("soft", True), ("capsule", True)]
    assert told[2:] == [("soft", True), ("capsule", False)]


def test_the_switch_of_tensorflow_1_is_the_programs(monkeypatch, capfd):
    values = fake_tensorflow(monkeypatch, "1.15.5")
    with gpuplace.capture_log() as log:
        pass
    assert values == [False] and "tf.ConfigProto(log_device_placement=True)" in log.missing


def test_tensorflow_imported_within_the_block(monkeypatch, capfd):
    with gpuplace.capture_log() as log:
        fake_tensorflow(monkeypatch)
    assert "imported inside the block" in log.missing


def test_an_error_of_the_switch_undoes_the_capture(monkeypatch, capfd):
    fake_tensorflow(monkeypatch)
    before = os.fstat(1).st_ino
    monkeypatch.setattr(sys.modules["tensorflow"].debugging, "get_log_device_placement", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError), gpuplace.capture_log():
        pytest.fail("the block does not run")
    assert os.fstat(1).st_ino == before
    monkeypatch.delitem(sys.modules, "tensorflow")
    with gpuplace.capture_log() as log:
        os.write(1, b"again\n")
    assert log.stdout.strip() == "again"
