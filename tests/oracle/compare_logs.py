"""What ``log_device_placement`` prints, line by line, beside TensorFlow 1.15.5.

    python -m tests.oracle.compare_logs --python PYTHON3.7_WITH_TENSORFLOW_1.15.5 [--record] [--watch]

Each of `tests/runtime/session/logging_programs.py` runs in a process of its own, on a CPU. Of what goes to standard
output, the lines about devices are compared: text and order, without devices of XLA, which gpuplace does not have.
``--record`` writes TensorFlow's to `tests/data/placement_logs.json.gz`, which the test suite reads. ``--watch`` runs
each program in TensorFlow once more, by `gpuplace watch`: it has to print the same bytes, and the page has to name
every node that is placed. The exit code is the number of programs that differ.

Both sides run `one`, so this module imports only what Python 3.7 has.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

if __package__:
    from tests.runtime.session.logging_programs import PROGRAMS
else:  # run as a file
    sys.path[:0] = [str(Path(__file__).parent.parent / "runtime" / "session")]
    from logging_programs import PROGRAMS

TARGET = Path(__file__).parent.parent / "data" / "placement_logs.json.gz"
ROOT = Path(__file__).parent.parent.parent
LINE = re.compile(r"\S.*: \(\w+\): /\S+")


def lines_of(text: str) -> list[str]:
    """The lines about devices."""
    return [line for line in text.splitlines() if LINE.fullmatch(line)]


def one(module: str, name: str) -> None:
    """Run a program."""
    tf = __import__(module)
    program = next(program for program in PROGRAMS if program.__name__ == name)
    with tf.Graph().as_default():
        program(tf, tf.ConfigProto(log_device_placement=True))


def output(python: str, module: str, name: str, *before: str) -> str:
    """What a program prints in a process of its own, behind other words of a command."""
    environment = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "GPUPLACE_MACHINE": "cpu",
        "PYTHONPATH": str(ROOT),
    }
    words = [*before, python, "-u", __file__, "--one", module, name]
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=True).stdout


def is_watched(python: str, name: str, alone: str) -> bool:
    """Whether `gpuplace watch` leaves what a program prints as it is, and shows all that it logs."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        watch = (sys.executable, "-m", "gpuplace", "watch", "-o", str(page), "--")
        watched = output(python, "tensorflow", name, *watch)
        text = page.read_text(encoding="utf-8")
    return watched == alone and all(line.partition(": ")[0] in text for line in lines_of(alone))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--watch", action="store_true")
    options = parser.parse_args()
    wrong, recorded = 0, {}
    for program in PROGRAMS:
        name = program.__name__
        printed = output(options.python, "tensorflow", name)
        theirs = recorded[name] = lines_of(printed)
        ours = lines_of(output(sys.executable, "gpuplace", name))
        wrong += ours != theirs
        if options.watch and not is_watched(options.python, name, printed):
            wrong += 1
            print("DIFFERENT under gpuplace watch:", name)
        print("equal" if ours == theirs else "DIFFERENT", len(theirs), "lines", name)
        if ours != theirs:
            at = next(
                (n for n, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs))
            )
            print("   theirs", theirs[at : at + 3], "\n   ours  ", ours[at : at + 3], len(ours))
    if options.record:
        TARGET.write_bytes(gzip.compress(json.dumps(recorded).encode(), mtime=0))
    return wrong


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    else:
        sys.exit(main())
