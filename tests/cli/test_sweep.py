"""`gpuplace sweep`: rows of many cases as a table, JSON, CSV or lines, and how it ends."""

import json

import pytest

from gpuplace.cli import main, sweep_command
from tests.cli.conftest import GRAPH

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


@pytest.fixture
def graphs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.pbtxt").write_text(GRAPH)
    (tmp_path / "two.pbtxt").write_text(GRAPH.replace("GPU:1", "GPU:0"))
    return ["sweep", "*.pbtxt", "--workers", "1", "--machine", "2x K80", "--machine", "1x K80"]


def test_rows_are_printed_in_order_in_every_format(graphs, capsys):
    assert main([*graphs, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["graph"], row["machine"], row["errors"]) for row in rows] == [
        ("one.pbtxt", "2x K80", 0),
        ("one.pbtxt", "1x K80", 1),
        ("two.pbtxt", "2x K80", 0),
        ("two.pbtxt", "1x K80", 0),
    ]
    assert rows[0]["devices"] == {"GPU:0": 2, "GPU:1": 1} and rows[1]["error"] == "InvalidArgumentError"
    assert main([*graphs, "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for row, line in zip(rows, lines, strict=True):
        assert {**row, "seconds": 0} == {**line, "seconds": 0}
    assert main([*graphs, "--format", "csv"]) == 0
    assert '"{""GPU:0"": 2, ""GPU:1"": 1}"' in capsys.readouterr().out
    assert main([*graphs, "--soft"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert (
        "message" not in table[0]
        and "allow_soft_placement: true" in table[1]
        and "2 on GPU:0, 1 on GPU:1" in table[1]
    )


def test_an_estimate_is_asked_with_its_options(graphs, capsys):
    words = [*graphs, "--what", "estimate", "--fetch", "product", "--soft", "--format", "json"]
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(row["step_time"] > 0 and row["peak_memory"] and row["rate"] is None for row in rows)
    assert main([*graphs, "--fetch", "product"]) == 2
    assert "--fetch requires --what estimate or advise" in capsys.readouterr().err


def test_all_failed_is_a_code_of_its_own_and_so_is_a_sweep_that_was_ended(graphs, capsys, monkeypatch):
    assert main(["sweep", "one.pbtxt", "lost.pb", "--workers", "1", "--machine", "cpu"]) == 1
    assert "NotFoundError" in capsys.readouterr().out
    assert main(["sweep", "no/*.pb"]) == 1 and "No file matches no/*.pb" in capsys.readouterr().err
    assert main(["sweep", "one.pbtxt", "--machine", "2x nonsense"]) == 2
    capsys.readouterr()

    def ended(*given, on_row, **options):
        def ends(row):
            on_row(row)
            raise KeyboardInterrupt

        return swept(*given, on_row=ends, **options)

    swept = sweep_command.swept
    monkeypatch.setattr(sweep_command, "swept", ended)
    assert main([*graphs, "--resume", "rows.parquet"]) == 130
    captured = capsys.readouterr()
    assert "one.pbtxt" in captured.out
    assert (
        captured.err == "gpuplace sweep: stopped after 1 of 4 cases; run the same command again to continue\n"
    )
