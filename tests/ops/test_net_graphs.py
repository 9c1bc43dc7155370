"""The graphs of metrics and of layers of nets, node by node, against those of TensorFlow 1.15.5."""

import gzip
import json
from pathlib import Path

import pytest

import gpuplace as tf
from tests.ops.net_programs import PROGRAMS
from tests.ops.test_graphs_as_tensorflow import rows

RECORDED = json.loads(
    gzip.decompress((Path(__file__).parent / "data" / "net-graphs-1.15.json.gz").read_bytes())
)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore:the trapezoidal rule")
def test_nodes_are_those_of_tensorflow(name):
    graph = tf.Graph()
    with graph.as_default():
        PROGRAMS[name](tf)
    found, expected = rows(graph), RECORDED[name]
    for ours, theirs in zip(found, expected, strict=False):
        assert [*ours[:2], sorted(ours[2]), *ours[3:]] == [*theirs[:2], sorted(theirs[2]), *theirs[3:]]
    assert [row[0] for row in found] == [row[0] for row in expected]


def test_every_program_is_recorded():
    assert set(RECORDED) == set(PROGRAMS)


def test_weights_of_another_size_are_found_when_they_are_used():
    values, weights = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
    loss = tf.losses.absolute_difference(values, values, weights)
    with tf.Session() as session:
        assert session.run(loss, {values: [[1, 2]] * 3, weights: [[1]] * 3}) == 0
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
            session.run(loss, {values: [[1, 2]] * 3, weights: [[1]] * 2})


def test_predictions_outside_of_0_and_1_are_refused():
    guesses = tf.placeholder(tf.float32, [2])
    _, update = tf.metrics.auc([0, 1], guesses)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            session.run(update, {guesses: [0.5, 1.5]})
