"""The names that programs for TensorFlow 1 use most: how many gpuplace has, and what it says of the others.

The counts are those of `tests/oracle/count_names.py`.
"""

import re

import pytest

from gpuplace.api.missing import RENAMED
from tests.oracle.count_names import public_name, status, used_names, uses

WHAT_TO_DO = re.compile(
    r"^module 'gpuplace[\w.]*' has no attribute '\w+': .*(gpuplace\.explore\(|gpuplace\.Machine|tf\.\w+)"
)


def test_most_uses_are_of_names_that_gpuplace_has():
    names = used_names()
    assert len(names) == 400 and sorted(names, key=lambda row: -row[1]) == names
    there = sum(uses for name, uses in names if status(name) == "present")
    assert there >= 0.95 * sum(uses for _, uses in names)


def test_the_error_for_each_other_name_says_what_to_do():
    found = {name: status(name) for name, _ in used_names()}
    silent = [
        text for text in found.values() if text != "present" and not WHAT_TO_DO.match(text.replace("\n", " "))
    ]
    assert silent == []


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_names_of_the_first_releases_lead_to_names_that_are_there(old, new):
    assert status(old).endswith(f": TensorFlow 1.0 renamed it to tf.{new}")
    assert status(new) == "present"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import tensorflow as tf\ntf.matmul(tf.nn.relu(a), b).shape", ["matmul", "nn.relu"]),
        ("import tensorflow.contrib.slim as slim\nslim.conv2d(x)", ["contrib.slim", "contrib.slim.conv2d"]),
        (
            "from tensorflow.contrib import rnn, layers as l\nrnn.Cell; l.f",
            "contrib.rnn contrib.layers".split(),
        ),
        ("import tensorflow\nprint tensorflow.float32  # tf.int32", ["float32"]),
        ("import numpy as tf\ntf.zeros(3)", []),
        ("import tensorflow as tf\nself.tf.zeros(3); 'tf.ones'", []),
        (
            "import tensorflow.compat.v1 as tf\nx = {\n 'a': tf.\\\n  zeros(3)",
            ["compat.v1", "compat.v1.zeros"],
        ),
    ],
)
def test_uses_of_a_program(text, found):
    seen = [".".join(path) for path in uses(text)]
    assert [name for name in seen if not name.startswith("contrib.") or name in found] == found


def test_a_name_ends_at_the_first_thing_that_is_no_module_and_no_class():
    import gpuplace as tf

    assert public_name(tf, ["train", "AdamOptimizer", "minimize"]) == "train.AdamOptimizer.minimize"
    assert public_name(tf, ["float32", "name"]) == "float32"
    assert public_name(tf, ["compat", "v1", "zeros"]) == "zeros"
    assert public_name(tf, ["python", "ops"]) == public_name(tf, ["matmull"]) == ""
