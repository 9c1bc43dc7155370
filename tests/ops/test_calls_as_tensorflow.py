"""Graphs of optimizers, losses, metrics, layers and cells beside those that TensorFlow 1.15.5 builds.

``tests/oracle/compare_calls.py`` records them, and shows the first node that differs.
"""

from __future__ import annotations

import gzip
import json

import gpuplace as tf
from tests.ops.building_calls import CALLS
from tests.oracle.compare_calls import SHAPES, TARGET, built, digest


def test_graphs_are_those_of_tensorflow() -> None:
    recorded = json.loads(gzip.decompress(TARGET.read_bytes()))
    assert set(recorded) == {f"{call}/{shapes}" for call in CALLS for shapes in SHAPES}
    ours = {name: digest(graph) for name, graph in built(tf).items()}
    different = [name for name in recorded if ours[name] != recorded[name]]
    assert not different, (
        "python -m tests.oracle.compare_calls --python PYTHON shows the first different node"
    )
