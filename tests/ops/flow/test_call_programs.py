"""Lists of tensors, functions and functional control flow as TensorFlow 1.15.5 has them: nodes and values."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.stand_in.names import resolve
from tests.ops.flow.call_programs import PROGRAMS

RECORDED = json.loads(
    gzip.decompress((Path(__file__).parents[1] / "data" / "call-programs-1.15.json.gz").read_bytes())
)


IN_ANOTHER_ORDER = {"functions_that_make_variables"}
"""Programs whose nodes are made in another order: TensorFlow makes the initialiser of such a variable last."""


def module(name):
    return resolve(f"tensorflow.python.{name}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_nodes_and_values_are_those_of_tensorflow(name):
    expected = RECORDED[name]
    with tf.Graph().as_default() as graph:
        fetches = PROGRAMS[name](tf, module)
        nodes = [[node.name, node.op, list(node.input), node.device] for node in graph.as_graph_def().node]
        initialize = tf.global_variables_initializer()
        with tf.Session() as session:
            session.run(initialize)
            values = session.run(fetches)
    for value, recorded in zip(values, expected["values"], strict=True):
        if recorded is None:
            assert value is None
            continue
        dtype, wanted = recorded
        assert str(value.dtype) == dtype
        np.testing.assert_allclose(value, np.array(wanted, dtype), rtol=1e-6)
    recorded_nodes = expected["nodes"]
    if name in IN_ANOTHER_ORDER:
        nodes, recorded_nodes = sorted(nodes), sorted(recorded_nodes)
    for ours, theirs in zip(nodes, recorded_nodes, strict=False):
        assert ours == theirs
    assert [node[0] for node in nodes] == [node[0] for node in recorded_nodes]
