"""What ``log_device_placement`` prints, line by line, as TensorFlow 1.15.5 prints it.

``tests/oracle/compare_logs.py`` records it.
"""

from __future__ import annotations

import gzip
import json

import pytest

import gpuplace as tf
from tests.oracle.compare_logs import TARGET, lines_of
from tests.runtime.session.logging_programs import PROGRAMS

RECORDED = json.loads(gzip.decompress(TARGET.read_bytes()))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_lines_and_their_order(program, capfd):
    tf.use_machine("cpu")
    try:
        with tf.Graph().as_default():
            program(tf, tf.ConfigProto(log_device_placement=True))
    finally:
        tf.use_machine(None)
    assert lines_of(capfd.readouterr().out) == RECORDED[program.__name__]
