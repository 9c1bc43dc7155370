"""Graphs of ``MirroredStrategy`` beside those that TensorFlow 1.15.5 builds, and what they compute.

``tests/oracle/compare_strategies.py`` records them, and shows the first node that differs.
"""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import gpuplace as tf
from tests.oracle.compare_strategies import STEPS, TARGET, built, rows
from tests.tf1.strategy_programs import PROGRAMS, embedding_with_adam

RECORDED = json.loads(gzip.decompress(TARGET.read_bytes()))


@pytest.fixture(scope="module")
def ours():
    tf.use_machine("cpu")
    yield json.loads(json.dumps(built(tf, np)))
    tf.use_machine(None)


@pytest.mark.parametrize("name", RECORDED)
def test_as_tensorflow_builds_it(ours, name):
    nodes, losses, *variables = ours[name]
    theirs, their_losses, *their_variables = RECORDED[name]
    assert nodes == theirs and variables == their_variables
    if their_losses is not None:
        np.testing.assert_allclose(losses, their_losses, atol=1e-5)


def test_all_programs_are_recorded():
    assert {name.partition(" ")[0] for name in RECORDED} == {program.__name__ for program in PROGRAMS}


@pytest.mark.parametrize("count", [2, 4])
def test_nccl_on_simulated_gpus_gives_the_sum_of_the_replicas(count):
    """All replicas compute the same, so the loss is `count` times that of one."""
    tf.use_machine("4x V100")
    try:
        losses = {}
        for gpus in (1, count):
            with tf.Graph().as_default():
                loss = embedding_with_adam(tf, np, [f"/gpu:{number}" for number in range(gpus)])
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    losses[gpus] = session.run([loss, loss])[0]
        assert losses[count] == pytest.approx(losses[1] * count) and STEPS
    finally:
        tf.use_machine(None)


def test_without_devices_all_gpus_of_the_machine_are_taken():
    tf.use_machine("2x V100")
    try:
        with tf.Graph().as_default() as graph, tf.distribute.MirroredStrategy().scope():
            tf.get_variable("v", [])
        handles = [row for row in rows(graph) if row[1] == "VarHandleOp"]
        assert [(row[0], row[2][-5:]) for row in handles] == [("v", "GPU:0"), ("v/replica_1", "GPU:1")]
    finally:
        tf.use_machine(None)
