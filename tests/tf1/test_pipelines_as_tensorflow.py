"""The graphs that input pipelines build, node by node, and what comes out of them, against TensorFlow 1.15.5."""

import base64
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.tf1.pipeline_programs import PIPELINES, run, write_files

RECORDED = Path(__file__).parent / "data" / "pipelines-1.15.json.gz"
ANSWERS = json.loads(gzip.decompress(RECORDED.read_bytes()))
ATTRS = ("output_types", "output_shapes", "reshuffle_each_iteration", "optimization_configs", "Targuments")


def rows(message) -> list:
    """Name, op type, inputs, device, colocation and some attributes of each node."""
    found = []
    for node in message.node:
        attrs = [(name, node.attr[name].SerializeToString()) for name in ATTRS if name in node.attr]
        groups = [group.decode() for group in node.attr["_class"].list.s] if "_class" in node.attr else []
        found.append([node.name, node.op, sorted(node.input), node.device, groups, attrs])
    return found


def same(ours, theirs) -> None:
    """Equal elements; floats to six digits."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            same(ours[key], theirs[key])
    elif theirs and isinstance(theirs[0], str):
        assert ours[0] == theirs[0]
        if theirs[0].startswith("float"):
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
        else:
            assert ours[1] == theirs[1]
    else:
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)


def _plain(sentence: str) -> str:
    """Without the marks of a factory that failed, and of the function that did."""
    return re.sub(r"^\[_Derived_\]|\{\{function_node [^}]*\}\} ", "", sentence)


@pytest.mark.parametrize("name", PIPELINES)
def test_nodes_and_elements_are_those_of_tensorflow(name, tmp_path):
    write_files(tmp_path)
    expected = ANSWERS[name]
    found = run(tf, name, str(tmp_path))
    assert found["form"] == expected["form"]
    same(found["elements"], expected["elements"])
    assert found["error"] == (expected["error"] and [_plain(part) for part in expected["error"]])
    theirs = rows(tf.GraphDef.FromString(base64.b64decode(expected["graph"])))
    for mine, other in zip(rows(tf.get_default_graph().as_graph_def()), theirs, strict=True):
        assert mine == other


def test_every_pipeline_is_recorded():
    assert set(ANSWERS) == set(PIPELINES)
