"""Tables of the command line: what fits a terminal, what goes into a pipe, and how long lines get."""

import csv
import io
import os

import pytest

import gpuplace as tf
from gpuplace.cli import main

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
LONG = "x" * 4000


@pytest.fixture
def graph(tmp_path):
    made = tf.Graph()
    with made.as_default():
        with made.name_scope("tower_0/a/rather/long/name/scope/around/the/weights"):
            a = tf.constant([1.0], name="weights")
        with made.name_scope("tower_1/a/rather/long/name/scope/around/the/biases"):
            tf.add(a, a, name="sum")
        tf.constant(1.0, name=LONG)
        for number in range(40):
            tf.constant(1.0, name=f"c{number}")
    path = tmp_path / "graph.pb"
    path.write_bytes(made.as_graph_def().SerializeToString())
    return str(path)


@pytest.fixture
def terminal(monkeypatch):
    """Makes standard output a terminal of so many columns."""

    def make(columns):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((columns, 24)))

    return make


def printed(capsys, *words):
    assert main([*words, "--machine", "2x Tesla K40c"]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_long_name_widens_no_other_line_of_a_pipe(graph, capsys):
    lines = printed(capsys, "place", graph)
    assert lines[0].split()[:2] == ["node", "type"]
    longest = [line for line in lines if line.startswith(LONG)]
    assert len(longest) == 1 and longest[0].split()[:3] == [LONG, "Const", "-"]
    others = [line for line in lines if LONG not in line]
    assert len(others) == 43 and max(map(len, others)) < 300
    assert all(GPU in line for line in others[1:])


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_table_fits_the_terminal(graph, capsys, terminal, columns):
    terminal(columns)
    lines = printed(capsys, "place", graph)
    assert lines[0] == (
        "43 nodes: 43 on GPU:0; nothing is copied between devices; 41 nodes are outside the step"
    )
    assert lines[1].split()[0] == "node" and len(lines) == 45
    assert max(map(len, lines)) <= max(columns, len(lines[0]))
    weights, total = lines[2], lines[3]
    assert "…" in lines[4] and GPU not in weights and " GPU:0 " in weights
    if columns >= 80:
        assert weights.startswith("tower_0") and total.startswith("tower_1")


def test_full_names_on_a_terminal(graph, capsys, terminal):
    terminal(80)
    lines = printed(capsys, "place", graph, "--full-names")
    assert (
        lines[2].split()[0] == "tower_0/a/rather/long/name/scope/around/the/weights/weights"
        and GPU in lines[2]
    )
    assert "…" not in "".join(lines)


def test_a_number_of_rows(graph, capsys, terminal):
    assert printed(capsys, "place", graph, "--limit", "2")[-1] == "... and 41 more rows"
    assert len(printed(capsys, "place", graph, "--limit", "2", "--format", "csv")) == 3
    terminal(80)
    lines = printed(capsys, "place", graph, "--limit", "0")
    assert len(lines) == 3 and lines[-1] == "... and 43 more rows"


@pytest.mark.parametrize("wrong", ["-1", "many", "1.5", "²"])
def test_what_is_no_number_of_rows(graph, capsys, wrong):
    with pytest.raises(SystemExit) as caught:
        main(["place", graph, "--limit", wrong])
    assert caught.value.code == 2 and "a number of rows, such as 20" in capsys.readouterr().err


def test_a_log_as_tensorflow_prints_it_is_whole(graph, capsys):
    assert main(["place", graph, "--machine", "cpu", "--format", "log", "--limit", "3"]) == 2
    assert "--limit does not apply to --format log" in capsys.readouterr().err


def test_what_moves(graph, capsys, terminal):
    words = ("diff", graph, "--against", "cpu", "--soft")
    assert printed(capsys, *words, "--limit", "1")[-1] == "... and 42 more rows"
    terminal(100)
    lines = printed(capsys, *words, "--limit", "1")
    assert lines[0] == "43 nodes of 43 move" and max(map(len, lines)) <= 100


def test_a_log(tmp_path, capsys, terminal):
    path = tmp_path / "run.log"
    path.write_text("".join(f"scope/of/{'n' * 90}/{number}: (Add): {GPU}\n" for number in range(30)))
    assert main(["log", str(path), "--limit", "4"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "... and 26 more rows"
    assert main(["log", str(path), "--format", "csv"]) == 0
    assert len(list(csv.reader(io.StringIO(capsys.readouterr().out)))) == 31
    terminal(70)
    assert main(["log", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("LoggedPlacement of 30 nodes") and max(map(len, lines)) <= 70
