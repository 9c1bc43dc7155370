"""Steps of graphs with functional control flow: what is logged, what runs and what is answered, as TensorFlow does."""

import base64
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf

RECORDED = json.loads(
    gzip.decompress((Path(__file__).parent / "data" / "lowered-steps.json.gz").read_bytes())
)
CASES = [(name, release) for name in RECORDED for release in ("1.15", "2.21")]


def imported(name):
    graph_def = tf.GraphDef.FromString(base64.b64decode(RECORDED[name]["graph"]))
    tf.import_graph_def(graph_def, name="")


def plain_config(mode):
    config = tf.ConfigProto(log_device_placement=True, allow_soft_placement=mode == "soft")
    config.graph_options.place_pruned_graph = mode == "pruned"
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def without_others(message):
    """A message without what only some machines have, and without the program's lines."""
    return message.replace(", /job:localhost/replica:0/task:0/device:XLA_CPU:0", "").partition(
        " (defined at"
    )[0]


def log_of(text):
    found = []
    for line in text.splitlines():
        name, colon, rest = line.partition(": (")
        if colon:
            op_type, _, device = rest.partition("): ")
            found.append([name, op_type, device])
    return found


def ran(metadata, name):
    """Device -> node -> how often it ran; without what stands for feeds and fetches.

    TensorFlow lists what an ``If`` does that is run by its kernel: of that, only the node itself is compared.
    """
    found = metadata
    if not isinstance(metadata, dict):
        found = {
            one.device: Counter(node.node_name for node in one.node_stats)
            for one in metadata.step_stats.dev_stats
        }
    inner = ("mul/y", "mul_0", "mul_RetVal", "mul_x", "mul_0:Mul", "IfOp ") if name == "not_lowered" else ()
    nodes = {
        device: {node: count for node, count in counted.items() if node[0] != "_" and node not in inner}
        for device, counted in found.items()
    }
    return {device: counted for device, counted in nodes.items() if counted}


class Steps:
    """The steps of a program, in sessions of its graph."""

    def __init__(self):
        self.sessions = {}

    def run(self, fetches, feeds, mode, metadata):
        if mode not in self.sessions:
            self.sessions[mode] = tf.Session(config=plain_config(mode))
        return self.sessions[mode].run(fetches, feeds, tf.RunOptions(trace_level=3), metadata)


@pytest.mark.parametrize(("name", "release"), CASES)
def test_steps_log_run_and_answer_as_in_tensorflow(name, release, capsys):
    tf.use_machine("cpu")
    tf.set_release(release)
    imported(name)
    steps = Steps()
    for (_, *step), expected in zip(RECORDED[name]["steps"], RECORDED[name]["answers"][release], strict=True):
        metadata = tf.RunMetadata()
        if "error" in expected:
            kind, message = expected["error"]
            with pytest.raises(getattr(tf.errors, kind)) as caught:
                steps.run(*step, metadata)
            assert without_others(caught.value.message) == without_others(message)
            assert getattr(caught.value.op, "name", None) == expected["op"]
            continue
        for value, wanted in zip(steps.run(*step, metadata), expected["values"], strict=True):
            if wanted is None:
                assert value is None
            else:
                np.testing.assert_allclose(value, wanted)
        assert ran(metadata, name) == ran(expected["ran"], name)
        if expected["log"]:  # once a session, or once for what is pruned
            assert log_of(capsys.readouterr().out) == expected["log"]
