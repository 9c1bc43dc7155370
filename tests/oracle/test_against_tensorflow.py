"""Random graphs placed here and by TensorFlow 2.21, if it is installed; `fuzz.py` runs as many as wanted."""

import random

import pytest

from tests.oracle.fuzz import comparable, ours
from tests.support.node_specs import graph_def
from tests.support.random_graphs import RandomGraph, usable_ops


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs(seed):
    pytest.importorskip("tensorflow")
    from tests.oracle.tensorflow_placer import ask, local_devices

    ops = usable_ops("2.21")
    for number in range(100):
        rng = random.Random(f"test {seed}:{number}")
        specs = RandomGraph(rng, ops).grow(rng.randint(2, 20))
        devices = local_devices(rng.choice([1, 2]), rng.choice([0, 1, 2, 4, 11]))
        soft = rng.random() < 0.5
        theirs = comparable(ask(graph_def(specs), devices, soft))
        assert comparable(ours(specs, devices, soft)) == theirs, specs
