"""The graphs that programs build, node by node, against those of TensorFlow 1.15.5."""

import gzip
import json
from pathlib import Path

import pytest

import gpuplace as tf
from tests.ops.programs import PROGRAMS

RECORDED = Path(__file__).parent / "data" / "graphs-1.15.json.gz"


@pytest.fixture(scope="module")
def recorded() -> dict:
    return json.loads(gzip.decompress(RECORDED.read_bytes()))


def rows(graph: tf.Graph) -> list:
    """Name, op type, inputs, device and colocation of each node, inputs as a GraphDef writes them."""
    found = []
    for op in graph.get_operations():
        inputs = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
        controls = sorted(f"^{control.name}" for control in op.control_inputs)
        groups = [group.decode() for group in op.attrs.get("_class", ())]
        found.append([op.name, op.type, inputs + controls, op.device, groups])
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_nodes_are_those_of_tensorflow(name, recorded):
    graph = tf.Graph()
    with graph.as_default():
        PROGRAMS[name](tf)
    found, expected = rows(graph), recorded[name]
    for ours, theirs in zip(found, expected, strict=False):
        assert ours == theirs
    assert [row[0] for row in found] == [row[0] for row in expected]


def test_every_program_is_recorded(recorded):
    assert set(recorded) == set(PROGRAMS)
