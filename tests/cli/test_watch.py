"""`gpuplace watch`: output and exit status are the program's, and the summary or the page comes last."""

import os
import signal
import subprocess
import sys
import time

import pytest

L = "/job:localhost/replica:0/task:0/device:CPU:0"
PROGRAM = f"""
import os, sys
os.write(1, bytes(range(256)) + b"\\r\\n")
os.write(2, b"E0000 problem\\n" + b"a: (Neg): {L}\\n" * 2000)
print("b: (MatMul): {L}", flush=True)
sys.exit(int(sys.argv[1]))
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def watch(*words: str, cwd, **options) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "gpuplace", "watch", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, timeout=120, **options)


def test_output_and_exit_code_are_the_programs(tmp_path):
    words = [sys.executable, "-c", PROGRAM, "3"]
    alone = subprocess.run(words, capture_output=True)
    watched = watch("-o", "page.html", "--", *words, cwd=tmp_path)
    assert (watched.returncode, watched.stdout, watched.stderr) == (3, alone.stdout, alone.stderr)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "but not for int32, int64" in page and "MatMul" in page


def test_the_summary_comes_after_standard_error(tmp_path):
    words = [sys.executable, "-c", PROGRAM, "0"]
    alone = subprocess.run(words, capture_output=True)
    watched = watch(*words, cwd=tmp_path)
    assert (watched.returncode, watched.stdout) == (0, alone.stdout)
    assert watched.stderr.startswith(alone.stderr)
    told = watched.stderr[len(alone.stderr) :].decode().splitlines()
    assert told[:2] == ["", "gpuplace watch"]
    assert told[2].startswith("LoggedPlacement of 2 nodes: 2 on CPU:0")
    assert told[3].split() == ["device", "op", "nodes", "ran", "eagerly", "about", "GPUs"]


def test_a_program_without_a_log(tmp_path):
    result = watch("true", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout == b""
    assert b"tf.debugging.set_log_device_placement(True)" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_a_signal_that_ended_the_program_ends_it(number, tmp_path):
    result = watch("sh", "-c", f"echo here; kill -{int(number)} $$", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (-number, b"here\n")
    assert b"gpuplace watch" in result.stderr


def test_signals_go_to_the_program(tmp_path):
    program = "trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    command = [sys.executable, "-m", "gpuplace", "watch", "sh", "-c", program]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.stdout.read() == b"got it\n"
        assert process.wait(60) == 5


def test_the_interrupt_key_is_for_the_program(tmp_path):
    """A terminal sends it to both; the program decides, and the summary is printed all the same."""
    program = "trap 'echo interrupted; exit 6' INT; echo ready; while :; do sleep 0.05; done"
    command = [sys.executable, "-m", "gpuplace", "watch", "sh", "-c", program]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (6, b"interrupted\n")
    assert b"gpuplace watch" in err and b"Traceback" not in err


def test_standard_input_is_the_programs(tmp_path):
    assert watch("cat", cwd=tmp_path, input=b"line\0").stdout == b"line\0"


def test_programs_that_cannot_run(gpuplace, tmp_path):
    result = watch("no-such-program", cwd=tmp_path)
    assert result.returncode == 127 and b"cannot run no-such-program: No such file" in result.stderr
    (tmp_path / "text").write_text("no program")
    result = watch("./text", cwd=tmp_path)
    assert result.returncode == 126 and b"cannot run ./text: Permission denied" in result.stderr
    result = gpuplace("watch", "--")
    assert result.returncode == 2 and "gpuplace watch -- python train.py" in result.stderr


def test_output_comes_as_it_is_written(tmp_path):
    program = "echo first; read line; echo second"
    command = [sys.executable, "-m", "gpuplace", "watch", "sh", "-c", program]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout.readline() == b"first\n"
        process.stdin.write(b"go\n")
        process.stdin.close()
        assert process.stdout.readline() == b"second\n"
        begin = time.monotonic()
        assert process.wait(60) == 0 and time.monotonic() - begin < 60
