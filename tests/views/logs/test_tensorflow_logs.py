"""Logs of twelve programs of TensorFlow 2.21, recorded by `tests/oracle/tensorflow_log.py`: every line is somewhere."""

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpuplace
from tests.oracle.tensorflow_log import counts, left_out

RECORDED = Path(__file__).resolve().parents[2] / "data" / "tensorflow_logs.json.xz"
LOGS = json.loads(lzma.decompress(RECORDED.read_bytes()))


def test_there_are_twelve():
    assert len(LOGS) == 12


@pytest.mark.parametrize("name", sorted(LOGS))
def test_every_line_is_in_a_table(name):
    stdout, stderr = LOGS[name]["stdout"], LOGS[name]["stderr"]
    log = gpuplace.parse_log(f"{stdout}\n{stderr}")
    assert left_out(log, stdout, stderr) == []
    assert counts(log) == LOGS[name]["ops"]
    assert sum(nodes for *_, nodes, _ in counts(log)) == len(log.rows)
    lines = [line for line in stderr.splitlines() if "placer.cc:" in line or "Executing op" in line]
    told = {row.name for row in log.rows} | {event.op for event in log.events}
    for line in lines:
        name = line.partition("Executing op ")[2].partition(" in device")[0]
        assert (name or line.partition("] ")[2].partition(": (")[0]) in told
    assert len([line for line in lines if "Executing op" in line]) == len(log.events)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
@pytest.mark.parametrize("name", ["session", "two_devices"])
def test_captured_they_say_the_same(name, capfd):
    program = (
        "import sys, json; log = json.load(sys.stdin); print(log['stdout']); sys.stderr.write(log['stderr'])"
    )
    with gpuplace.capture_log(quiet=True) as captured:
        text = json.dumps(LOGS[name])
        subprocess.run([sys.executable, "-c", program], input=text, text=True, check=True)
    assert counts(captured.placement) == LOGS[name]["ops"]
    assert "/job:" not in capfd.readouterr().err
