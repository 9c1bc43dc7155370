"""``get_variable`` and variable scopes: sharing, defaults and error texts."""

from pathlib import Path

import pytest

import gpuplace as tf


def test_a_name_is_made_once():
    with tf.variable_scope("layer"):
        tf.get_variable("w", [1])
        with pytest.raises(ValueError) as caught:
            tf.get_variable("w", [1])
    message = str(caught.value)
    assert message.startswith(
        "Variable layer/w already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in"
        " VarScope? Originally defined at:"
    )
    first, *others = message.partition("\n\n")[2].splitlines()
    assert first.startswith(f'  File "{__file__}", line ') and first.endswith(", in test_a_name_is_made_once")
    assert not any(str(Path(tf.__file__).parent) in line for line in others)


def test_a_shared_variable_has_to_exist():
    with tf.variable_scope("layer", reuse=True), pytest.raises(ValueError) as caught:
        tf.get_variable("w", [1])
    assert str(caught.value) == (
        "Variable layer/w does not exist, or was not created with tf.get_variable(). "
        "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2],), r"Trying to share variable w, but specified shape \(2,\) and found shape \(1,\)."),
        (
            ([1], tf.int32),
            "Trying to share variable w, but specified dtype int32 and found dtype float32_ref.",
        ),
    ],
)
def test_a_shared_variable_has_to_fit(arguments, message):
    tf.get_variable("w", [1])
    with tf.variable_scope(tf.get_variable_scope(), reuse=True), pytest.raises(ValueError, match=message):
        tf.get_variable("w", *arguments)


def test_sharing():
    with tf.variable_scope("a") as scope:
        first = tf.get_variable("w", [1])
        scope.reuse_variables()
        assert tf.get_variable("w", [1]) is first
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("w", [1]) is first
        assert tf.get_variable("v", [1]).name == "a/v:0"
    with tf.variable_scope("a", reuse=True), tf.variable_scope("b", reuse=False):
        with pytest.raises(ValueError, match="Variable a/b/w does not exist"):
            tf.get_variable("w", [1])


def test_names_of_variables_and_of_operations():
    with tf.variable_scope("a"):
        pass
    with tf.variable_scope("a"):
        assert tf.get_variable("w", [1]).name == "a/w:0"
        assert tf.constant(1, name="c").name == "a_1/c:0"
    with tf.variable_scope("a", auxiliary_name_scope=False):
        assert tf.constant(1, name="c").name == "c:0"
    with tf.name_scope("outer"), tf.variable_scope("b"):
        assert tf.get_variable("w", [1]).name == "b/w:0"
        assert tf.Variable(1.0, name="x").name == "outer/b/x:0"


def test_default_names_are_unique():
    names = []
    for _ in range(3):
        with tf.variable_scope(None, default_name="block"):
            names.append(tf.get_variable("w", [1]).name)
    assert names == ["block/w:0", "block_1/w:0", "block_2/w:0"]


def test_defaults_of_a_scope_are_inherited():
    with tf.variable_scope(
        "a", initializer=tf.constant_initializer(3.0), dtype=tf.float64, use_resource=True
    ):
        with tf.variable_scope("b"):
            w = tf.get_variable("w", [2])
            tf.get_variable("v", [2], initializer=tf.zeros_initializer(), use_resource=False)
    assert w.dtype == tf.float64 and w.op.type == "VarHandleOp"
    assert tf.global_variables()[1].op.type == "VariableV2"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert list(session.run(w)) == [3, 3]


def test_regularizers_add_losses_once():
    regularizer = lambda v: tf.nn.l2_loss(v, name="loss")  # noqa: E731
    with tf.variable_scope("a", regularizer=regularizer, reuse=tf.AUTO_REUSE):
        tf.get_variable("w", [1])
        tf.get_variable("w", [1])
        tf.get_variable("free", [1], regularizer=tf.no_regularizer)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.name for loss in losses] == ["a/w/Regularizer/loss:0"]


def test_custom_getters_nest():
    seen = []

    def getter(label):
        def get(getter, name, *args, **kwargs):
            seen.append((label, name))
            return getter(name, *args, **kwargs)

        return get

    with tf.variable_scope("a", custom_getter=getter("outer")):
        with tf.variable_scope("b", custom_getter=getter("inner")):
            tf.get_variable("w", [1])
    assert seen == [("inner", "a/b/w"), ("outer", "a/b/w")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": [1], "initializer": [1.0]}, "If initializer is a constant, do not specify shape."),
        ({}, "The initializer passed is not valid."),
        ({"shape": [1], "dtype": tf.complex64}, "An initializer for variable w of .* is required"),
        (
            {"initializer": [1.0], "dtype": tf.int32},
            "Initializer type '.*float32.*' and explicit dtype '.*int32.*'",
        ),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.get_variable("w", **arguments)


def test_a_scope_needs_a_name():
    with pytest.raises(TypeError, match="If default_name is None then name_or_scope is required"):
        tf.variable_scope(None)
    with pytest.raises(TypeError, match="VariableScope: name_or_scope must be a string or VariableScope."):
        tf.variable_scope(3)


def test_local_variables():
    v = tf.get_local_variable("count", [], initializer=tf.zeros_initializer())
    assert tf.local_variables() == [v] and tf.global_variables() == [] == tf.trainable_variables()
