"""Functions that share their variables between calls."""

import pytest

import gpuplace as tf


def scaled(x, size):
    return x * tf.get_variable("factor", [size], initializer=tf.ones_initializer())


def test_variables_are_made_once():
    template = tf.make_template("scale", scaled, size=2)
    assert template.variables == [] and template.variable_scope is None
    first, second = template(1.0), template(x=tf.constant([2.0, 3.0]))
    assert [v.name for v in tf.global_variables()] == ["scale/factor:0"]
    assert template.trainable_variables == template.variables == tf.global_variables()
    assert template.var_scope.name == "scale" and (first.op.name, second.op.name) == (
        "scale/mul",
        "scale_1/mul",
    )


def test_each_template_has_its_own_scope():
    for _ in range(2):
        tf.make_template("scale", scaled)(1.0, 3)
    tf.make_template("scale", scaled, create_scope_now_=True)(1.0, 3)
    names = [v.name for v in tf.global_variables()]
    assert names == ["scale/factor:0", "scale_1/factor:0", "scale_2/factor:0"]


def test_a_variable_in_a_later_call_is_an_error():
    template = tf.make_template("t", lambda: tf.Variable(1.0))
    template()
    with pytest.raises(
        ValueError, match="Trainable variable created when calling a template after the first time"
    ):
        template()
    with pytest.raises(ValueError, match="name cannot be None"):
        tf.make_template(None, scaled)


def test_errors_say_where_the_template_was_made():
    def fail(x):
        raise ValueError("too large", x)

    def make():
        return tf.make_template("scale", fail)

    template = make()
    with pytest.raises(ValueError) as caught:
        template(3)
    text, number = caught.value.args
    lines = text.splitlines()
    assert lines[:3] == ["too large", "", "originally defined at:"] and number == 3
    assert lines[-1].strip() == 'return tf.make_template("scale", fail)' and lines[-2].endswith(", in make")
    assert lines[-3].strip() == "template = make()" and len(lines) == 7  # what the call shares is left out
