"""What a run says when an op gets something it does not take: TensorFlow's class and sentence, and the node."""

from collections.abc import Callable

import pytest

import gpuplace as tf

CASES: list[tuple[Callable[[tf.Tensor, tf.Tensor], tf.Tensor], str]] = [
    (lambda x, y: x + y, "Incompatible shapes: [2] vs. [3]"),
    (lambda x, y: tf.less(x, y), "Incompatible shapes: [2] vs. [3]"),
    (lambda x, y: tf.gather(x, [1, 5]), "indices[1] = 5 is not in [0, 2)"),
    (
        lambda x, y: tf.reshape(x, [5]),
        "Input to reshape is a tensor with 2 values, but the requested shape has 5",
    ),
    (lambda x, y: tf.constant([1]) // tf.constant([0]), "Integer division by zero"),
    (lambda x, y: x[7], "slice index 7 of dimension 0 out of bounds."),
    (lambda x, y: tf.check_numerics(x / 0.0, "oops"), "oops : Tensor had Inf values"),
    (
        lambda x, y: tf.pow(tf.constant(2), tf.constant(-1)),
        "Integers to negative integer powers are not allowed",
    ),
    (lambda x, y: tf.string_to_number("one"), "StringToNumberOp could not correctly convert string: one"),
    (
        lambda x, y: tf.stack([x, y]),
        "Shapes of all inputs must match: values[0].shape = [2] != values[1].shape = [3]",
    ),
]


@pytest.mark.parametrize(("build", "sentence"), CASES, ids=range(len(CASES)))
def test_run_time_errors(build: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], sentence: str) -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    result = build(x, y)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(result, {x: [1, 2], y: [1, 2, 3]})
    assert caught.value.message.startswith(sentence)
    assert result.op.name in caught.value.message
    assert caught.value.op is result.op
