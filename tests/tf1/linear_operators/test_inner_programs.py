"""What helps linear operators and their tests gives what it gives in TensorFlow 1.15.5, errors included."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.ops.short_answers import answer
from tests.ops.test_short_programs import module, same
from tests.tf1.linear_operators.inner_programs import PROGRAMS

RECORDED = json.loads(gzip.decompress((Path(__file__).parent / "inner-programs-1.15.json.gz").read_bytes()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_that_of_tensorflow(name):
    ours = json.loads(json.dumps(answer(tf, module, np, PROGRAMS[name])))
    assert same(ours, RECORDED[name]), (ours, RECORDED[name])


def test_every_answer_has_its_program():
    assert RECORDED.keys() == PROGRAMS.keys()
