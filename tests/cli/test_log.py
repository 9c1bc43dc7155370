"""`gpuplace log`: tables of a log, and the comparison with a graph."""

import csv
import io
import json
import subprocess
import sys

import pytest

L = "/job:localhost/replica:0/task:0"
LOG = f"""Device mapping:
{L}/device:GPU:0 -> device: 0, name: Tesla K20m, pci bus id: 0000:02:00.0
{L}/device:GPU:1 -> device: 1, name: Tesla K20m, pci bus id: 0000:03:00.0
product: (MatMul): {L}/device:GPU:0
a: (Const): {L}/device:GPU:0
b: (Const): {L}/device:GPU:0
[[4. 4.]]
"""


@pytest.fixture
def log(tmp_path):
    (tmp_path / "run.log").write_text(LOG, encoding="utf-8")
    return "run.log"


def test_as_a_table(gpuplace, log):
    result = gpuplace("log", log)
    assert result.returncode == 0, result.stderr
    first, header, *rows = result.stdout.splitlines()
    assert first == "LoggedPlacement of 3 nodes: 3 on GPU:0; 1 piece of text not understood"
    assert header.split() == ["name", "type", "device", "session", "line"]
    assert rows[0].split() == ["product", "MatMul", f"{L}/device:GPU:0", "0", "4"]


def test_as_json_and_csv(gpuplace, log):
    rows = json.loads(gpuplace("log", log, "--format", "json").stdout)
    assert [row["name"] for row in rows] == ["product", "a", "b"]
    table = list(csv.DictReader(io.StringIO(gpuplace("log", log, "--format", "csv").stdout)))
    assert [{key: str(value) for key, value in row.items()} for row in rows] == table


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("devices", "name", ["Tesla K20m", "Tesla K20m"]),
        ("unparsed", "text", ["[[4. 4.]]"]),
        ("sessions", "devices", ["3 on GPU:0"]),
        ("events", "op", []),
        ("gpus", "told", []),
    ],
)
def test_tables(gpuplace, log, table, column, values):
    rows = json.loads(gpuplace("log", log, "--show", table, "--format", "json").stdout)
    assert [row[column] for row in rows] == values


def test_from_standard_input(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "gpuplace", "log", "-", "--format", "json"],
        input=LOG,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert len(json.loads(result.stdout)) == 3, result.stderr


def test_against_a_graph(gpuplace, log, graph):
    """`a` is asked onto the second GPU; the log has it on the first."""
    result = gpuplace("log", log, "--against", graph)
    assert result.returncode == 3, result.stderr
    assert f"a: logged {L}/device:GPU:0, compared with {L}/device:GPU:1 (request)" in result.stdout
    rows = json.loads(gpuplace("log", log, "--against", graph, "--format", "json").stdout)
    assert rows == [
        {
            "node": "a",
            "type": "Const",
            "logged": f"{L}/device:GPU:0",
            "other": f"{L}/device:GPU:1",
            "rule": "request",
        }
    ]


def test_against_a_graph_on_another_machine(gpuplace, log, graph):
    result = gpuplace("log", log, "--against", graph, "--machine", "1x V100", "--soft")
    assert result.returncode == 0 and result.stdout.startswith("3 nodes on the same device"), result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.log",), "cannot read none.log"),
        (("run.log", "--session", "3"), "its sessions are 0 to 0"),
        (("run.log", "--against", "none.pb"), "cannot read none.pb"),
    ],
)
def test_wrong_words(gpuplace, log, words, message):
    result = gpuplace("log", *words)
    assert result.returncode == 2 and message in result.stderr and "Traceback" not in result.stderr
