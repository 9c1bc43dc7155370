"""Calls of a line give what they give in TensorFlow 1.15.5, errors and their sentences included."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.stand_in.names import resolve
from tests.ops.short_answers import answer
from tests.ops.short_programs import PROGRAMS

RECORDED = json.loads(
    gzip.decompress((Path(__file__).parent / "data" / "short-programs-1.15.json.gz").read_bytes())
)


def module(name):
    return resolve(f"tensorflow.python.{name}")


def same(ours, theirs):
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in theirs)
    if isinstance(theirs, float):
        return ours == pytest.approx(theirs, rel=1e-5, abs=1e-6, nan_ok=True)
    return ours == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_that_of_tensorflow(name):
    ours = json.loads(json.dumps(answer(tf, module, np, PROGRAMS[name])))
    assert same(ours, RECORDED[name]), (ours, RECORDED[name])


def test_every_answer_has_its_program():
    assert RECORDED.keys() == PROGRAMS.keys()
