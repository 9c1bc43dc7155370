"""Graphs with conditionals and loops that TensorFlow 1.15.5 made: what they compute here is what it computed."""

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf

RECORDED = Path(__file__).parents[2] / "ops" / "data" / "loops-1.15.json.gz"
ANSWERS = json.loads(gzip.decompress(RECORDED.read_bytes()))


def check(name: str, fetched: list, expected: list) -> None:
    for value, (dtype, wanted) in zip(fetched, expected, strict=True):
        assert str(np.asarray(value).dtype) == dtype
        np.testing.assert_allclose(value, np.array(wanted, dtype), rtol=2e-6, err_msg=name)


@pytest.mark.parametrize("kind", ["plain", "traced", "timed"])
@pytest.mark.parametrize("machine", ["cpu", "2x Tesla K40c"])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_imported_graph_computes_what_tensorflow_computed(name, machine, kind):
    tf.use_machine(machine)
    recorded = ANSWERS[name]
    message = tf.GraphDef.FromString(base64.b64decode(recorded["graph"]))
    tf.import_graph_def(message, name="")
    options = {
        "plain": {},
        "traced": {"options": tf.RunOptions(trace_level=3), "run_metadata": tf.RunMetadata()},
        "timed": {"options": tf.RunOptions(timeout_in_ms=60_000)},
    }[kind]
    for feed, expected in recorded["runs"]:
        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(config=config) as session:
            session.run(recorded["initialize"])
            check(name, session.run(recorded["fetches"], feed, **options), expected)
