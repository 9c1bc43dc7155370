"""``tf.switch_case``: the function of an index."""

import pytest

import gpuplace as tf


def constants(*values):
    return [lambda value=value: tf.constant(value) for value in values]


@pytest.mark.parametrize(("index", "answer"), [(0, 10), (1, 20), (2, 30), (3, 30), (-1, 30)])
def test_without_a_default_the_last_one_is_it(index, answer):
    result = tf.switch_case(tf.placeholder_with_default(index, []), constants(10, 20, 30))
    with tf.Session() as session:
        assert session.run(result) == answer


@pytest.mark.parametrize(("index", "answer"), [(0, 10), (1, 20), (-1, 99), (7, 99)])
def test_indices_in_any_order_and_a_default(index, answer):
    ten, twenty, default = constants(10, 20, 99)
    for branches in ({1: twenty, 0: ten}, [(1, twenty), (0, ten)]):
        result = tf.switch_case(tf.constant(index), branches, default=default)
        with tf.Session() as session:
            assert session.run(result) == answer


def test_what_is_no_branch():
    (one,) = constants(1)
    index = tf.constant(0)
    with pytest.raises(TypeError, match="branch_index"):
        tf.switch_case("a", [one])
    with pytest.raises(TypeError, match="branch_index must an integer Tensor, got <dtype: .float32.>"):
        tf.switch_case(tf.constant(0.0), [one])
    with pytest.raises(TypeError, match="list, tuple, or dict"):
        tf.switch_case(index, one)
    with pytest.raises(TypeError, match="must be a Python `int`"):
        tf.switch_case(index, {"a": one})
    with pytest.raises(TypeError, match="must be callable"):
        tf.switch_case(index, {0: 1})
    with pytest.raises(TypeError, match="2-tuple"):
        tf.switch_case(index, [(0, one, 2)])
    with pytest.raises(ValueError, match="at least one"):
        tf.switch_case(index, [])
    for branches in ([(0, one), (0, one)], {0: one, 2: one}, {-1: one, 0: one}):
        with pytest.raises(ValueError, match="must form contiguous range"):
            tf.switch_case(index, branches)
    with pytest.raises(TypeError, match="branch_index must a Tensor, got <class 'int'>"):
        tf.switch_case(0, [one])
