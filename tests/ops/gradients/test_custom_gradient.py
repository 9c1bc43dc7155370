"""Gradients that programs bring along: ``custom_gradient``, ``RegisterGradient``; and second derivatives."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.gradients.custom_gradient import get_dependent_variables


def test_a_function_with_its_own_gradient():
    @tf.custom_gradient
    def product(x, y):
        return x * y, lambda dz: (dz * 2, dz * 3)

    x, y = tf.constant(1.0), tf.constant(2.0)
    result = product(x, y)
    identity = result.op
    assert identity.type == "IdentityN"
    assert [tensor.name for tensor in identity.inputs] == ["mul:0", "Const:0", "Const_1:0"]
    with tf.Session() as session:
        assert session.run([result, *tf.gradients(result, [x, y])]) == [2.0, 2.0, 3.0]


def test_several_results_in_a_structure():
    @tf.custom_gradient
    def both(x):
        def grad(da, db):
            return da + 10 * db

        return {"a": x + 1, "b": [x * 2]}, grad

    x = tf.constant(3.0)
    result = both(x)
    slope = tf.gradients([result["a"], result["b"][0]], x)[0]
    with tf.Session() as session:
        assert session.run([result, slope]) == [{"a": 4.0, "b": [6.0]}, 11.0]


def test_variables_that_the_function_uses():
    @tf.custom_gradient
    def scaled(x):
        v = tf.get_variable("v", initializer=2.0, use_resource=True)

        def grad(dz, variables=None):
            return dz * 2, [dz * 5 for _ in variables]

        return x * v, grad

    x = tf.constant(1.0)
    result = scaled(x)
    slopes = tf.gradients(result, [x, *tf.trainable_variables()])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([result, *slopes]) == [2.0, 2.0, 5.0]


def test_what_cannot_have_a_gradient_of_its_own():
    @tf.custom_gradient
    def makes_a_reference_variable(x):
        return x * tf.Variable(1.0), lambda dz: dz

    @tf.custom_gradient
    def does_not_know_of_it(x):
        return x * tf.Variable(1.0, use_resource=True), lambda dz: dz

    @tf.custom_gradient
    def uses_none(x):
        return x, lambda dz, variables: (dz, [])

    with pytest.raises(TypeError, match="must be `ResourceVariable`s"):
        makes_a_reference_variable(1.0)
    with pytest.raises(TypeError, match="accept a keyword argument 'variables'"):
        does_not_know_of_it(1.0)
    with pytest.raises(TypeError, match="must have use_resource=True"):
        uses_none(1.0)
    with pytest.raises(ValueError, match="keywords arguments"):
        uses_none(x=1.0)


def test_a_gradient_passes_through():
    with tf.variable_scope("s", use_resource=True):
        x = tf.constant(1.3)
        result = tf.grad_pass_through(tf.round)(x * 2)
    with tf.Session() as session:
        assert session.run([result, tf.gradients(result, x)[0]]) == [3.0, 2.0]


def test_registered_gradients_and_overrides():
    @tf.RegisterGradient("TestDoubled")
    def _doubled(op, grad):
        return 2 * grad

    x = tf.constant(1.0)
    with tf.get_default_graph().gradient_override_map({"Identity": "TestDoubled"}):
        y = tf.identity(x)
    with tf.Session() as session:
        assert session.run(tf.gradients(y, x)) == [2.0]
    with pytest.raises(KeyError, match="TestDoubled"):
        tf.RegisterGradient("TestDoubled")(_doubled)
    for declare in (tf.NotDifferentiable, tf.NoGradient, tf.no_gradient):
        with pytest.raises(TypeError):
            declare(1)


HESSIANS = [
    (lambda x: tf.reduce_sum(x * x * x), [1.0, 2.0], [[6, 0], [0, 12]]),
    (lambda x: x[0] * x[0] * x[1], [3.0, 5.0], [[10, 6], [6, 0]]),
    (lambda x: tf.reduce_sum(tf.matmul(x, x)), [[1.0, 0.0], [0.0, 1.0]], None),
]


@pytest.mark.parametrize("number", range(len(HESSIANS)))
def test_hessians(number):
    function, at, expected = HESSIANS[number]
    x = tf.constant(at, tf.float64)
    (found,) = tf.hessians(function(x), x)
    with tf.Session() as session:
        value = session.run(found)
    size = x.shape.num_elements()
    assert value.shape == (*x.shape.as_list(), *x.shape.as_list())
    flat = value.reshape(size, size)
    np.testing.assert_allclose(flat, flat.T)
    if expected is not None:
        np.testing.assert_allclose(value, expected)


def test_a_function_that_is_computed_again_has_the_same_gradient():
    with tf.variable_scope("f", use_resource=True):
        weight = tf.get_variable("weight", initializer=3.0)
    again = tf.recompute_grad(lambda x, y: tf.sin(x * weight) * y)
    x, y = tf.constant(0.5), tf.constant(2.0)
    with tf.variable_scope("", use_resource=True):
        found = tf.gradients(again(x, y), [x, y, weight])
    expected = tf.gradients(tf.sin(x * weight) * y, [x, y, weight])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert np.allclose(*session.run([found, expected]))
    assert len([op for op in tf.get_default_graph().get_operations() if op.type == "Sin"]) == 3


def test_the_variables_that_results_depend_on():
    one, fixed, other = tf.Variable(1.0), tf.Variable(1.0, trainable=False), tf.Variable(1.0)
    x = tf.identity(other) * 5.0
    results = {"y": tf.identity(x) + one + fixed + tf.zeros_like(other)}
    assert get_dependent_variables({"x": x}, results) == [one]
    assert get_dependent_variables([], results) == [one, other]
