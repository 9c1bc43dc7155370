"""The gradients of every op, node by node, beside those that TensorFlow 1.15.5 builds.

``tests/oracle/compare_gradients.py`` describes the graphs and records them.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.oracle.compare_gradients import SHAPES, TARGET, difference, of_gpuplace

OTHERS = {
    "reduction/MatrixDiagPartV2": "release 1.15 forgets which diagonals were asked for; the gradient would be wrong",
    "reduction/MatrixDiagV2": "release 1.15 forgets which diagonals were asked for; the gradient would be wrong",
    "reduction/MatrixSetDiagV2": "release 1.15 forgets which diagonals were asked for; the gradient would be wrong",
    "reduction/MatrixInverse-adjoint": "release 1.15 differentiates as if the result were no adjoint, which is wrong",
}
"""Beginnings of the names of graphs that differ -> why."""


def is_other(graph: str) -> bool:
    return any(graph.startswith(beginning) for beginning in OTHERS)


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    return json.loads(gzip.decompress(TARGET.read_bytes()))


@pytest.fixture(scope="module")
def differences(recorded: dict[str, Any]) -> dict[str, str]:
    """Per graph the first difference in words, "" where there is none."""
    ours = of_gpuplace(recorded["cases"])
    return {graph: difference(ours[graph], theirs) for graph, theirs in recorded["graphs"].items()}


def test_nodes_are_those_of_tensorflow(differences: dict[str, str]) -> None:
    wrong = {graph: told for graph, told in differences.items() if told and not is_other(graph)}
    assert not wrong, next(iter(wrong.items()))


def test_every_exception_is_one(differences: dict[str, str]) -> None:
    for beginning in OTHERS:
        assert any(told for graph, told in differences.items() if graph.startswith(beginning)), beginning


def test_nearly_all_are_equal(recorded: dict[str, Any], differences: dict[str, str]) -> None:
    cases = recorded["cases"]
    assert len(differences) == len(cases) * len(SHAPES)
    ops = {case["op"] for case in cases.values()}
    different = {cases[graph.rpartition("/")[0]]["op"] for graph, told in differences.items() if told}
    assert len(different) <= 0.02 * len(ops), different
