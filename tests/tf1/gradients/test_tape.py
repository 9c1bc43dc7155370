"""``tf.GradientTape`` in graphs; the answers are those of TensorFlow 1.15.5."""

import logging

import pytest

import gpuplace as tf


def value(tensor):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensor)


def test_what_is_watched_has_gradients():
    x, z = tf.constant(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, z])
        y, w = x * x, z * 3.0
    assert value(tape.gradient([y, {"a": w}], {"x": x, "z": [z]})) == {"x": 6.0, "z": [3.0]}


def test_what_is_not_watched_has_none():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        z = y * y
    assert tape.gradient(z, x) is None
    assert tape.gradient(z, y) is None
    assert value(tape.gradient(z, x, unconnected_gradients="zero")) == 0.0


def test_what_was_there_before_is_constant():
    x = tf.constant(3.0)
    y = x * x
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = y * x
    assert value(tape.gradient(z, x)) == 9.0


def test_sources_between():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert value(tape.gradient(z, y)) == 18.0


def test_an_operation_added_before_the_watch_is_constant():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    assert value(tape.gradient(z, x)) == 9.0


def test_given_gradients():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert value(tape.gradient(y, x, output_gradients=tf.constant(2.0))) == 12.0


def test_second_derivatives():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        slope = inner.gradient(y, x)
    assert value(outer.gradient(slope, x)) == 18.0


@pytest.mark.parametrize(
    ("options", "trainable", "watched"),
    [({}, True, True), ({}, False, False), ({"watch_accessed_variables": False}, True, False)],
)
def test_variables_that_are_read(options, trainable, watched):
    v = tf.Variable(2.0, use_resource=True, trainable=trainable)
    with tf.GradientTape(persistent=True, **options) as tape:
        y = v * v
    assert tape.watched_variables() == ((v,) if watched else ())
    gradient = tape.gradient(y, v)
    assert value(gradient) == 4.0 if watched else gradient is None


def test_a_variable_watched_and_as_target():
    v = tf.Variable(2.0, use_resource=True, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(v)
    assert tape.watched_variables() == (v,)
    assert value(tape.gradient(v, v)) == 1.0


def test_rows_of_a_variable():
    v = tf.Variable([2.0, 3.0], use_resource=True)
    with tf.GradientTape() as tape:
        y = tf.gather(v, [1])
    gradient = tape.gradient(y, v)
    assert isinstance(gradient, tf.IndexedSlices)
    assert value(tf.convert_to_tensor(gradient)).tolist() == [0.0, 1.0]


def test_stops_and_resets():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            unseen = y * y
        again = y * 2.0
    assert tape.gradient(unseen, x) is None
    assert value(tape.gradient(again, x)) == 12.0
    with tape:
        tape.reset()
        tape.watch(x)
        z = y * x
    assert value(tape.gradient(z, x)) == 9.0


def test_misuse():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(ValueError, match=r"^Tape is already recording\.$"), tape:
            pass
        with pytest.raises(ValueError, match=r"Passed in object of type <class 'float'>, not tf\.Tensor"):
            tape.watch(3.0)
    for call in (tape.reset, tape.stop_recording().__enter__):
        with pytest.raises(ValueError, match=r"^Tape is not recording\.$"):
            call()
    with pytest.raises(ValueError, match="RefVariable"):
        tf.GradientTape().gradient(y, tf.Variable(1.0))
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="can only be called once on non-persistent tapes"):
        tape.gradient(y, x)


def test_conditionals_are_not_supported():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(x > 1.0, lambda: x * x, lambda: x)
    with pytest.raises(NotImplementedError, match=r"like tf\.cond or tf\.while"):
        tape.gradient(y, x)


def test_types_that_have_no_gradients(caplog):
    x = tf.constant(3)
    with caplog.at_level(logging.WARNING, "tensorflow"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert tape.gradient(y, x) is None
    assert [record.getMessage().split(" tensor ")[0] for record in caplog.records] == [
        "The dtype of the watched",
        "The dtype of the target",
        "The dtype of the source",
    ]
    assert caplog.records[0].getMessage().endswith("must be floating (e.g. tf.float32), got tf.int32")
