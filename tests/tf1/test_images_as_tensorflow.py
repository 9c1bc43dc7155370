"""What the functions of ``tf.image`` build, node by node, and what it gives, against TensorFlow 1.15.5."""

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.tf1.image_programs import PROGRAMS

RECORDED = Path(__file__).parent / "data" / "images-1.15.json.gz"
ANSWERS = json.loads(gzip.decompress(RECORDED.read_bytes()))

NODE_BY_NODE = (
    *(
        "flips",
        "random_flips",
        "turns",
        "gradients_of_sizes",
        "adjustments",
        "random_adjustments",
        "types",
        "boxes",
    ),
)
"""Programs without the checks and windows that are known here when the graph is built."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_tensorflow(name):
    with tf.Session() as session:
        found = session.run(PROGRAMS[name](tf))
    for number, (value, (kind, shape, data)) in enumerate(zip(found, ANSWERS[name]["values"], strict=True)):
        expected = base64.b64decode(data)
        if kind == "bytes":
            assert value == expected
            continue
        array = np.frombuffer(expected, kind).reshape(shape)
        assert str(np.asarray(value).dtype) == kind
        np.testing.assert_allclose(value, array, rtol=3e-5, atol=3e-6, err_msg=f"{name} {number}")


@pytest.mark.parametrize("name", NODE_BY_NODE)
def test_nodes_are_those_of_tensorflow(name):
    PROGRAMS[name](tf)
    nodes = tf.get_default_graph().as_graph_def().node
    assert [[node.name, node.op, list(node.input)] for node in nodes] == ANSWERS[name]["nodes"]


def test_every_program_is_recorded():
    assert set(ANSWERS) == set(PROGRAMS)
