"""Expressions make the nodes that they make in TensorFlow 1.15.5, or fail with its error and its whole sentence."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.ops.refused_expressions import EXPRESSIONS, outcome

RECORDED = json.loads(gzip.decompress((Path(__file__).parent / "data" / "refused-1.15.json.gz").read_bytes()))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_outcome_is_that_of_tensorflow(expression):
    assert outcome(tf, np, expression) == RECORDED[expression]


def test_every_outcome_has_its_expression():
    assert RECORDED.keys() == set(EXPRESSIONS)
