"""Programs on clusters, each task a process of its own: what they print, their graphs, and where every node goes.

What is expected was recorded from the servers of TensorFlow 1.15.5 and 2.21, and from their placers: see
``tests/oracle/record/cluster_scenarios.py``.
"""

import gzip
import json
import os
import subprocess
import sys

import pytest

from tests.clusters.running import ROOT
from tests.placer.test_recorded_placements import comparable
from tests.scenarios.cluster_tasks import PROGRAMS, SCRIPTS
from tests.scenarios.test_scripts import agree, lines_of

pytest.importorskip("distributed")

RECORDED = json.loads(gzip.decompress((ROOT / "tests" / "data" / "cluster_scenarios.json.gz").read_bytes()))
LIMIT_S = 120
BUILT_OTHERWISE = {
    # the order of two constants, and a shape that is known when the graph is built
    "partitioned_variables": {
        "gradients/Mean_grad/Size",
        "gradients/Mean_grad/Cast_1/x",
        "gradients/embedding_lookup/Reshape_1_grad/Shape",
    },
}
"""Nodes that TensorFlow makes in another way; they go to the same devices."""


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_prints_and_places_what_tensorflow_does(name, tmp_path):
    from tests.scenarios.cluster_processes import running

    recorded = RECORDED["programs"][name]
    with running(name, PROGRAMS[name], tmp_path, LIMIT_S) as tasks:
        assert set(tasks) == set(recorded["graphs"])
        for task, found in tasks.items():
            assert_says(found["text"], recorded["texts"]["1.15"][task])
            known = BUILT_OTHERWISE.get(name, ())
            for ours, theirs in zip(found["graphs"], recorded["graphs"][task], strict=True):
                assert [row for row in ours if row[0] not in known] == [
                    row for row in theirs if row[0] not in known
                ]
            assert_placed(found, name, task)
        placed = {tuple(pair) for found in tasks.values() for pair in found["placed"]}
        theirs = {tuple(pair) for pair in recorded["placed"]["1.15"]}
        assert placed == theirs


def assert_says(text, expected):
    """Compares lines, and their numbers: losses to 1e-5."""
    ours, theirs = lines_of(text), lines_of(expected)
    for our_line, their_line in zip(ours, theirs):
        assert agree(our_line, their_line)
    assert len(ours) == len(theirs)


def assert_placed(found, name, task):
    """Compares every node's device with those of 2.21's placer and servers, or the error."""
    recorded = RECORDED["programs"][name]
    by_servers = {tuple(pair) for pair in recorded["placed"]["2.21"]}
    known = {node for node, _ in by_servers}
    devices = PROGRAMS[name].devices(task)
    for ours, theirs in zip(found["placements"], recorded["placements"][task], strict=True):
        for placed, expected, nodes in zip(ours, theirs, found["graphs"], strict=True):
            if isinstance(placed, list):
                assert comparable(placed) == comparable(expected)
                continue
            assert [devices.index(placed[row[0]]) for row in nodes] == expected
            if name != "local_server":  # whose job has another name
                assert {pair for pair in placed.items() if pair[0] in known} <= by_servers


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_both_releases_of_tensorflow_say_the_same(name):
    """So what ours are compared with does not depend on the release."""
    recorded = RECORDED["programs"][name]
    for task, text in recorded["texts"]["2.21"].items():
        assert_says(text.replace("SymbolicTensor", "Tensor"), recorded["texts"]["1.15"][task])


def test_programs_run_from_the_command_line(tmp_path):
    """The tasks of one program as a person starts them."""
    from tests.clusters.running import addresses

    hosts = json.dumps(addresses(**PROGRAMS["in_graph_towers"].jobs))
    command = [
        sys.executable,
        "-m",
        "gpuplace",
        "run",
        str(SCRIPTS / "in_graph_towers.py"),
        f"--hosts={hosts}",
    ]
    serving = [
        subprocess.Popen([*command, f"--job_name={job}", f"--task_index={index}"], cwd=tmp_path)
        for job, index in (("ps", 0), ("worker", 1))
    ]
    try:
        done = subprocess.run(
            [*command, "--job_name=worker", "--task_index=0"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    finally:
        for process in serving:
            process.kill()
            process.wait()
    assert done.returncode == 0, done.stderr
    assert_says(done.stdout, RECORDED["programs"]["in_graph_towers"]["texts"]["1.15"]["worker:0"])


def test_every_program_is_recorded():
    assert set(PROGRAMS) == set(RECORDED["programs"])
    assert {tasks.script or name for name, tasks in PROGRAMS.items()} == {
        path.stem for path in SCRIPTS.glob("*.py")
    }
    assert not os.path.exists(SCRIPTS / "__init__.py")
