"""Conditionals and loops that are calls of functions, as TensorFlow 1.15.5 has them: graphs, values and devices."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.runtime.session.place import place
from tests.tf1.functions.described import described
from tests.tf1.functions.flow_programs import PROGRAMS

RECORDED = json.loads(
    gzip.decompress((Path(__file__).parents[1] / "data" / "flow-programs-1.15.json.gz").read_bytes())
)
LOCAL = "/job:localhost/replica:0/task:0/device:"
MASTER = "/job:master/replica:0/task:0/device:CPU:0"


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_values_and_devices_are_those_of_tensorflow(name):
    expected = RECORDED[name]
    with tf.Graph().as_default() as graph:
        fetches = PROGRAMS[name](tf)
        graph_def = graph.as_graph_def()
        initialize = tf.global_variables_initializer()
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(initialize)
            values = session.run(fetches)
    ours = described(graph_def)
    assert ours["nodes"] == expected["graph"]["nodes"]
    assert ours["functions"] == expected["graph"]["functions"]
    for value, recorded in zip(values, expected["values"], strict=True):
        if recorded is None:
            assert value is None
            continue
        assert str(value.dtype) == recorded[0]
        np.testing.assert_allclose(value, np.array(recorded[1], recorded[0]), rtol=1e-5)
    for gpus, nodes in expected["placed"].items():
        devices = [f"{LOCAL}CPU:0", *(f"{LOCAL}GPU:{i}" for i in range(int(gpus)))]
        machine = DeviceSet([DeviceAttributes(device) for device in (MASTER, *devices)])
        softly = SimpleNamespace(allow_soft_placement=True)
        placed = place(graph_def.SerializeToString(), machine, softly, release="1.15")
        assert dict(placed) == {node: devices[index] for node, index in nodes.items()}
