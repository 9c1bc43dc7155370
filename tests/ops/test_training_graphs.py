"""The graphs of ``training_programs.py``, node by node, and where they go, against TensorFlow 1.15.5."""

import gzip
import json
from pathlib import Path

import pytest

import gpuplace as tf
from tests.ops.test_graphs_as_tensorflow import rows
from tests.ops.training_programs import PROGRAMS

RECORDED = json.loads(
    gzip.decompress((Path(__file__).parent / "data" / "training-graphs-1.15.json.gz").read_bytes())
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nodes_are_those_of_tensorflow(name):
    graph = tf.Graph()
    with graph.as_default():
        PROGRAMS[name](tf)
    found, expected = rows(graph), RECORDED[name]
    for ours, theirs in zip(found, expected, strict=False):
        assert ours == theirs
    assert [row[0] for row in found] == [row[0] for row in expected]


def test_every_program_is_recorded():
    assert set(RECORDED) == set(PROGRAMS)
