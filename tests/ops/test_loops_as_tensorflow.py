"""The graphs that conditionals and loops build, node by node, against those of TensorFlow 1.15.5."""

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.ops.loop_programs import ARRAY_PROGRAMS, GRADIENT_PROGRAMS, PROGRAMS

RECORDED = Path(__file__).parent / "data" / "loops-1.15.json.gz"
ANSWERS = json.loads(gzip.decompress(RECORDED.read_bytes()))
ALL = {**PROGRAMS, **GRADIENT_PROGRAMS, **ARRAY_PROGRAMS}
LOOP_ATTRS = ("frame_name", "is_constant", "parallel_iterations")


def rows(message) -> list:
    """Name, op type, inputs, device, colocation and attributes of loops, of each node."""
    found = []
    for node in message.node:
        inputs = [name for name in node.input if name[0] != "^"]
        controls = sorted(name for name in node.input if name[0] == "^")
        groups = [group.decode() for group in node.attr["_class"].list.s] if "_class" in node.attr else []
        attrs = [(name, node.attr[name].SerializeToString()) for name in LOOP_ATTRS if name in node.attr]
        found.append([node.name, node.op, inputs + controls, node.device, groups, attrs])
    return found


def check_nodes(name: str, message) -> None:
    expected = rows(tf.GraphDef.FromString(base64.b64decode(ANSWERS[name]["graph"])))
    found = rows(message)
    for ours, theirs in zip(found, expected, strict=False):
        assert ours == theirs
    assert [row[0] for row in found] == [row[0] for row in expected]


def check_values(name: str, fetches, kind=()) -> None:
    recorded = ANSWERS[name]
    for feed, expected in recorded["runs"]:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for value, (dtype, wanted) in zip(session.run(fetches, feed), expected, strict=True):
                assert str(np.asarray(value).dtype) == dtype
                np.testing.assert_allclose(value, np.array(wanted, dtype), rtol=2e-6)


@pytest.mark.parametrize("name", ALL)
def test_nodes_and_values_are_those_of_tensorflow(name):
    fetches, _ = ALL[name](tf)
    check_nodes(name, tf.get_default_graph().as_graph_def())
    check_values(name, fetches)


def test_every_program_is_recorded():
    assert set(ANSWERS) == set(ALL)
