"""`gpuplace advise --problem`: a workload in, a split out."""

import json

import pytest

from gpuplace.cli import main
from tests.advisor.workload_examples import JUDGES, fits, random_workload

WORKLOAD = random_workload(10)


@pytest.fixture
def workload(tmp_path):
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(WORKLOAD))
    return str(path)


@pytest.mark.parametrize(("objective", "name"), [("throughput", "maxLoad"), ("latency", "totalLatency")])
def test_the_split_is_printed_as_the_workloads_have_it(workload, capsys, objective, name):
    assert (
        main(["advise", "--problem", workload, "--objective", objective, "--steps", "50", "--format", "json"])
        == 0
    )
    split = json.loads(capsys.readouterr().out)
    assert fits(WORKLOAD, split)
    assert split[name] == pytest.approx(JUDGES[objective](WORKLOAD, split))
    assert split["bound"] <= split[name]


def test_the_split_is_written_to_a_file(workload, tmp_path, capsys):
    words = [
        "advise",
        "--problem",
        workload,
        "--steps",
        "50",
        "--format",
        "json",
        "-o",
        str(tmp_path / "split.json"),
    ]
    assert main(words) == 0
    assert capsys.readouterr().out.strip() == words[-1]
    assert fits(WORKLOAD, json.loads((tmp_path / "split.json").read_text()))


def test_people_read_a_table_and_how_good_it_is(workload, capsys):
    assert main(["advise", "--problem", workload, "--steps", "100000"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["device", "nodes", "work", "bytes", "capacity"]
    assert printed[-1].startswith("largest load ") and printed[-1].endswith(": the best possible")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--problem", "nowhere.json"], 2, "gpuplace advise: cannot read nowhere.json: No such file"),
        (
            ["--problem", "WORKLOAD", "--seconds", "-1"],
            1,
            "InvalidArgumentError: seconds must be a positive number; got -1.0",
        ),
        (
            ["--problem", "WORKLOAD", "--seed", "-1"],
            1,
            "InvalidArgumentError: seed must be a non-negative integer; got -1",
        ),
    ],
)
def test_what_is_wrong_is_said(workload, capsys, words, code, sentence):
    assert main(["advise", *(workload if word == "WORKLOAD" else word for word in words)]) == code
    assert sentence in capsys.readouterr().err


def test_a_broken_file_is_refused(tmp_path, capsys):
    (tmp_path / "broken.json").write_text('{"nodes": [')
    assert main(["advise", "--problem", str(tmp_path / "broken.json")]) == 1
    assert "InvalidArgumentError: The workload is not JSON" in capsys.readouterr().err
