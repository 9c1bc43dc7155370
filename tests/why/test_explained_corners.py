"""The text of the explanation of every corner graph's interesting nodes.

`explained_corners.txt` has a block for each: a graph of `tests/support/corner_graphs.py`, one of its nodes, the release
and whether soft placement is on, the node's device on a machine with two GPUs, which is TensorFlow's, and below it what
the explanation says: every rule that acted, in order, and what would move the node. A phrase that ends in `...` is only
the beginning of a longer sentence of TensorFlow.

`REFUSED` has the graphs that are refused before anything is placed.
"""

import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement
from gpuplace.why.rules import Rule
from tests.placer.test_recorded_placements import RECORDED, device_names
from tests.support.corner_graphs import GRAPHS
from tests.support.node_specs import placement_graph

PREFIX = "/job:localhost/replica:0/task:0/device:"
LABELS = sorted((rule.value for rule in Rule), key=len, reverse=True)
REFUSED = {
    "unknown op": "Op type not registered 'NoSuchOp'",
    "cycle": "2 nodes in a cycle",
    "unknown input": "Node 'a': Unknown input node 'zz'",
    "wrong type": "Input 0 of node n was passed int32 from a:0 incompatible with expected float.",
    "output that does not exist": "Node 'n': Connecting to invalid output 3 of source node a which has 1 outputs.",
    "two of one name": "Node 'a' is not unique",
    "missing attribute": "No attr named 'T' in NodeDef:",
}


class Case(NamedTuple):
    """One block of the file."""

    graph: str
    node: str
    rules: str
    soft: bool
    device: str
    """`GPU:0`, or `no device`."""
    lines: tuple[str, ...]
    """`rule: note` for each step, `for TYPE: remedy`, `tied by: ...`, `refused: ...`."""


def read_cases() -> list[Case]:
    cases = []
    for block in (Path(__file__).parent / "explained_corners.txt").read_text().strip().split("\n\n"):
        head, *lines = block.split("\n")
        found = re.fullmatch(r"\[(.+)\] (\S+), (1\.15|2\.21) (hard|soft) -> (.+)", head)
        assert found is not None, head
        graph, node, rules, soft, device = found.groups()
        cases.append(Case(graph, node, rules, soft == "soft", device, tuple(line.strip() for line in lines)))
    return cases


CASES = read_cases()
IDS = [f"{case.graph}-{case.node}-{case.rules}-{'soft' if case.soft else 'hard'}" for case in CASES]


def placed(name: str, rules: str = "2.21", soft: bool = False) -> Placement:
    catalogue = default_catalogue(rules)
    placer = Placer(placement_graph(GRAPHS[name], catalogue), catalogue, rules=rules)
    return place_again(
        placer, Machine.parse("2x Tesla K40c").device_set(environ={}), soft=soft, on_error="keep"
    )


def parts(line: str) -> tuple[str, str]:
    """Label and phrase of a line of the file."""
    label = next((label for label in LABELS if line.startswith(f"{label}: ")), line.partition(":")[0])
    return label, line[len(label) + 2 :]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_text_says_why(case):
    placement = placed(case.graph, case.rules, case.soft)
    explanation = placement.explain(case.node)
    text = str(explanation)
    op_type = placement.graph.op_type(placement.graph.index[case.node])
    where = case.device if case.device == "no device" else PREFIX + case.device
    assert text.splitlines()[0] == f"{case.node} ({op_type}) -> {where}"
    end = 0
    for label, phrase in map(parts, case.lines):
        start = phrase.removesuffix(" ...") if phrase.endswith(" ...") else f"{phrase}\n"
        found = re.compile(rf"\b{re.escape(label)}\b.*? {re.escape(start)}").search(f"{text}\n", end)
        assert found, (label, phrase, text)
        end = found.end() - start.endswith("\n")
    steps = [parts(line) for line in case.lines if parts(line)[0] in LABELS]
    assert [label for label, _ in steps] == [step.rule.value for step in explanation.steps]
    assert explanation.steps[-1].after == (() if case.device == "no device" else (case.device,))
    assert all(first.after == second.before for first, second in pairwise(explanation.steps))
    remedies = [label for label, _ in map(parts, case.lines) if label.startswith("for ")]
    assert remedies == [f"for {remedy.device_type}" for remedy in explanation.remedies]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_device_is_tensorflows(case):
    answer = RECORDED["rules"][case.rules]["answers"][case.graph]["2 GPU"][case.soft]
    if isinstance(answer, dict):
        assert device_names(case.rules, "2 GPU")[answer[case.node]] == PREFIX + case.device
        assert not any(line.startswith("refused") for line in case.lines)
    else:
        placement = placed(case.graph, case.rules, case.soft)
        assert type(placement.errors[0]).__name__ == answer[0]
        assert case.device == "no device" or case.lines[0].startswith("refused: TensorFlow rejects the graph")


@pytest.mark.parametrize("name", REFUSED)
def test_a_graph_that_is_none_is_refused_in_words(name):
    with pytest.raises(OpError) as error:
        placed(name)
    assert REFUSED[name] in str(error.value)


def test_every_corner_graph_is_here():
    read = {case.graph for case in CASES}
    assert not read & set(REFUSED)
    assert read | set(REFUSED) == set(GRAPHS)
    assert len(IDS) == len(set(IDS))
