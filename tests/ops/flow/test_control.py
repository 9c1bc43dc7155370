"""Grouping, in graphs and in sessions."""

import pytest

import gpuplace as tf


def test_group_waits_for_all_and_has_one_node_a_device() -> None:
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    grouped = tf.group(a, [b.op], name="both")
    assert grouped.name == "both" and grouped.type == "NoOp"
    assert {op.name for op in grouped.control_inputs} == {"a", "b"}
    with tf.device("/gpu:1"):
        c = tf.constant(3.0, name="c")
    spread = tf.group(a, c, name="spread")
    assert [(op.name, op.device) for op in spread.control_inputs] == [
        ("spread/NoOp", ""),
        ("spread/NoOp_1", "/device:GPU:1"),
    ]
    assert tf.group().control_inputs == []


def test_group_runs() -> None:
    grouped = tf.group(tf.constant(1.0), tf.constant(2.0))
    with tf.Session() as session:
        assert session.run(grouped) is None


def test_group_refuses_what_is_no_operation() -> None:
    with pytest.raises(TypeError, match="should be zero or more"):
        tf.group(3)
    with pytest.raises(ValueError, match="Unknown keyword arguments: nmae"):
        tf.group(nmae="x")


def test_tuple_gates_all_of_its_tensors() -> None:
    x, y = tf.tuple([tf.constant(1.0), tf.constant(2.0)])
    assert [op.type for op in x.op.control_inputs] == ["NoOp"]
    assert x.op.control_inputs == y.op.control_inputs
    assert tf.tuple([None, tf.constant(1)])[0] is None
    with pytest.raises(ValueError, match="Must have at least one Tensor"):
        tf.tuple([None])
