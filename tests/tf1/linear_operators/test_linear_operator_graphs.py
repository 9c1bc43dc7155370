"""The graphs of ``tf.linalg.LinearOperator`` and its kinds, node by node, against those of TensorFlow 1.15.5."""

import gzip
import json
from pathlib import Path

import pytest

import gpuplace as tf
from tests.ops.test_graphs_as_tensorflow import rows
from tests.tf1.linear_operator_programs import PROGRAMS


@pytest.fixture(scope="module")
def recorded() -> dict:
    path = Path(__file__).parents[1] / "data" / "linear-operator-graphs-1.15.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_nodes_are_those_of_tensorflow(name, recorded):
    graph = tf.Graph()
    with graph.as_default():
        PROGRAMS[name](tf)
    found, expected = rows(graph), recorded[name]
    for ours, theirs in zip(found, expected, strict=False):
        assert [*ours[:2], sorted(ours[2]), *ours[3:]] == [*theirs[:2], sorted(theirs[2]), *theirs[3:]]
    assert [row[0] for row in found] == [row[0] for row in expected]


def test_every_program_is_recorded(recorded):
    assert set(recorded) == set(PROGRAMS)
