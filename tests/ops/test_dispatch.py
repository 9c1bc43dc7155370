"""Functions of tensors that other objects can be given too; sentences of TensorFlow 1.15.5."""

import pytest

import gpuplace as tf
from gpuplace.ops.dispatch import dispatch_for_types, dispatched


class Scored:
    def __init__(self, value, score):
        self.value, self.score = value, score


def scored(value):
    return Scored(value, 1.0)


@dispatched
def weighted(x, y, z=1):
    return tf.convert_to_tensor(x) + 2 * tf.convert_to_tensor(y) * z


def test_what_is_registered_for_a_type():
    @dispatch_for_types(weighted, Scored)
    def of_scored(x, y, z=1):
        return Scored(weighted(x.value, y.value, z), x.score + y.score)

    made = weighted(Scored([1, 2], 0.5), y=Scored([3, 4], 0.25))
    with tf.Session() as session:
        assert session.run(made.value).tolist() == [7, 10] and made.score == 0.75
        assert session.run(weighted([1], [1], 2)).tolist() == [5]
    with pytest.raises((TypeError, ValueError)):
        weighted([1], None)
    weighted._tf_dispatchers = []
    with pytest.raises((TypeError, ValueError)):
        weighted(Scored([1], 1.0), Scored([1], 1.0))


def test_what_is_refused():
    message = r"^The decorated function's signature must exactly match the signature of the overridden op\.$"
    with pytest.raises(AssertionError, match=message):
        dispatch_for_types(weighted, Scored)(lambda a, b: a)
    with pytest.raises(AssertionError, match="^Dispatching not enabled for <function"):
        dispatch_for_types(scored, Scored)(scored)
    with pytest.raises(AssertionError, match="already has a dispatch list$"):
        dispatched(weighted)
