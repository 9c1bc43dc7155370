"""`tf.train.init_from_checkpoint`: initializers that read a checkpoint, and its errors."""

import os
import re

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.variables.variables import SaveSliceInfo

VALUES = {
    "first": np.arange(4, dtype=np.float32).reshape(2, 2),
    "inner/w": np.full([2, 2], 7, np.float32),
    "inner/b": np.array([1.5, 2.5], np.float32),
    "rows": np.arange(8, dtype=np.float32).reshape(4, 2),
}


@pytest.fixture
def folder(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in VALUES.items():
            tf.get_variable(name, initializer=value)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
    return tmp_path


def initial_values(*variables):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(variables)


@pytest.mark.parametrize("is_resource", [False, True])
@pytest.mark.parametrize("path", ["", "model"], ids=["folder", "prefix"])
def test_names_variables_and_scopes_are_assigned(folder, is_resource, path):
    with tf.variable_scope("net", use_resource=is_resource):
        first = tf.get_variable("first", [2, 2])
        other = tf.get_variable("other", [2, 2])
    with tf.variable_scope("head", use_resource=is_resource):
        w, b = tf.get_variable("w", [2, 2]), tf.get_variable("b", [2])
    free = tf.Variable(tf.zeros([2]), use_resource=is_resource)
    place = folder / path if path else str(folder)
    tf.train.init_from_checkpoint(place, {"first": "net/first", "inner/": "head/", "inner/b": free})
    found = initial_values(first, w, b, free)
    expected = [VALUES[name] for name in ("first", "inner/w", "inner/b", "inner/b")]
    assert all(np.array_equal(*pair) for pair in zip(found, expected))
    assert "checkpoint" not in other.initializer.name
    with tf.Session() as session:
        assert np.array_equal(session.run(first.initialized_value()), VALUES["first"])


def test_all_of_a_checkpoint_and_slices_of_a_variable(folder):
    with tf.variable_scope("copy"):
        copies = [tf.get_variable(name, VALUES[name].shape) for name in ("first", "rows")]
    halves = [tf.Variable(tf.zeros([2, 2])) for _ in range(2)]
    for row, half in zip((0, 2), halves):
        half._save_slice_info = SaveSliceInfo("rows", [4, 2], [row, 0], [2, 2])
    tf.train.init_from_checkpoint(folder, {"/": "copy/"})
    tf.train.init_from_checkpoint(folder, {"rows": halves})
    found = initial_values(*copies, *halves)
    expected = [VALUES["first"], VALUES["rows"], VALUES["rows"][:2], VALUES["rows"][2:]]
    assert all(np.array_equal(*pair) for pair in zip(found, expected))


def test_the_operations_are_those_of_tensorflow(folder):
    with tf.device("/gpu:0"):
        variable = tf.get_variable("v", [2, 2])
    known = len(tf.get_default_graph().get_operations())
    tf.train.init_from_checkpoint(folder, {"first": variable})
    made = [(op.name, op.type, op.device) for op in tf.get_default_graph().get_operations()[known:]]
    prefix, cpu = "checkpoint_initializer", "/device:CPU:0"
    assert made == [
        *((f"{prefix}/{part}", "Const", cpu) for part in ("prefix", "tensor_names", "shape_and_slices")),
        (prefix, "RestoreV2", cpu),
        ("Assign", "Assign", "/device:GPU:0"),
    ]
    assert variable.initializer.name == "Assign" and variable.initial_value.name == "checkpoint_initializer:0"


@pytest.mark.parametrize(
    ("assignments", "error", "text"),
    [
        (lambda v: {"absent": v}, ValueError, "Tensor absent is not found in PLACE checkpoint {"),
        (lambda v: {"rows": v}, ValueError, "Shape of variable v:0 ((2, 2)) doesn't match with"),
        (lambda v: {"first": "nowhere"}, ValueError, "Assignment map with scope only name nowhere should"),
        (lambda v: {"rows/": "/"}, ValueError, "Tensor rows/v (v in rows/) is not found in PLACE checkpoint"),
        (lambda v: {"first": 3}, TypeError, "it is neither a variable, a variable's name, nor a list"),
        (lambda v: {"first": [v]}, TypeError, "it is neither a variable"),
        (lambda v: "first", TypeError, "assignment_map must be a dict"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error(folder, assignments, error, text):
    variable = tf.get_variable("v", [2, 2])
    with pytest.raises(error, match=re.escape(text.replace("PLACE", str(folder)))):
        tf.train.init_from_checkpoint(folder, assignments(variable))


def test_a_checkpoint_that_is_not_there(tmp_path):
    variable = tf.get_variable("v", [2, 2])
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        tf.train.init_from_checkpoint(os.path.join(tmp_path, "none"), {"first": variable})
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        tf.train.init_from_checkpoint(tmp_path, {"first": variable})
