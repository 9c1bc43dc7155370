"""Where the command line's output goes, and cannot go."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import MATMUL

FULL = Path("/dev/full")
"""A device on which there is no space."""


@pytest.fixture
def shell(tmp_path):
    """`shell(text)` runs a line in which `gpuplace` is the command."""

    def run(line):
        command = f'gpuplace() {{ {sys.executable} -m gpuplace "$@"; }}\nset -o pipefail\n{line}'
        return subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    return run


@pytest.mark.parametrize(
    "words",
    [
        "place graph.pbtxt --machine '2x Tesla K40c'",
        "devices --machine cpu",
        "report graph.pbtxt -o -",
    ],
)
def test_a_full_disk_is_one_message(shell, graph, words):
    done = shell(f"gpuplace {words} > {FULL}")
    command = words.split()[0]
    *summary, last = done.stderr.splitlines()  # place says in one line what it placed
    assert last == f"gpuplace {command}: cannot write the output: No space left on device"
    assert len(summary) == (command == "place")
    assert done.returncode == 1


@pytest.mark.parametrize("words", ["report graph.pbtxt -o -", "--help"])
def test_a_reader_that_has_seen_enough(shell, graph, words):
    done = shell(f"gpuplace {words} | true")
    assert done.stderr == ""


def test_closed_streams(shell, graph):
    assert shell("gpuplace devices --machine cpu >&-").returncode == 0
    assert shell("gpuplace devices --machine cpu >&- 2>&-").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        "report graph.pbtxt -o {}",
        "explore graph.pbtxt --with page --no-browser -o {}",
        "run script.py --trace {}",
    ],
)
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing/page.html", "No such file or directory"),
        (".", "Is a directory"),
        (str(FULL), "No space left on device"),
    ],
)
def test_a_file_that_cannot_be_written(gpuplace, graph, script, words, path, reason):
    script(MATMUL)
    words = words.format(path).split()
    done = gpuplace(*words)
    assert done.stderr.splitlines()[-1] == f"gpuplace {words[0]}: cannot write {path}: {reason}"
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_old_page_survives_a_limit_of_the_system(shell, graph, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("old")
    done = shell("ulimit -f 8; gpuplace report graph.pbtxt -o page.html")
    assert done.stderr == "gpuplace report: cannot write page.html: File too large\n"
    assert page.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["graph.pbtxt", "page.html"]


def test_a_trace_never_removes_what_it_did_not_make(gpuplace, script, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("empty", "pipe", "link", "/dev/null"):
        done = gpuplace("run", script("pass"), "--trace", name)
        assert "the script ran no step" in done.stderr
    assert not Path("/dev/null").is_file()
    assert sorted(os.listdir(tmp_path)) == ["empty", "link", "pipe", "script.py"]
    assert gpuplace("run", "missing.py", "--trace", "new").returncode == 2
    assert sorted(os.listdir(tmp_path)) == ["empty", "link", "pipe", "script.py"]


def test_a_trace_is_written_where_it_was_meant(gpuplace, script, tmp_path):
    source = f"import os\nos.mkdir('below')\nos.chdir('below')\n{MATMUL.replace('    ', '')}"
    done = gpuplace("run", script(source), "--trace", "step.json", "--machine", "cpu")
    assert done.returncode == 0, done.stderr
    assert "gpuplace run: step.json: step 1 of 1" in done.stderr
    assert (tmp_path / "step.json").exists() and not os.listdir(tmp_path / "below")
