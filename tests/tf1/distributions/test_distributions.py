"""Draws, probabilities, statistics and gradients of distributions, against those of TensorFlow 1.15.5."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.tf1.distributions.cases import CASES


@pytest.fixture(scope="module")
def recorded() -> dict:
    path = Path(__file__).parent / "answers-1.15.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_tensorflow(name, recorded):
    with tf.Session() as session:
        found = session.run(CASES[name](tf))
    assert len(found) == len(recorded[name])
    for array, (dtype, shape, elements) in zip(found, recorded[name], strict=True):
        assert str(array.dtype) == dtype and list(array.shape) == shape
        tolerance = 1e-12 if dtype == "float64" else 5e-6
        expected = np.array(elements, dtype).reshape(shape)
        np.testing.assert_allclose(array, expected, rtol=tolerance, atol=tolerance)


def test_divergences_are_found_by_the_nearest_bases():
    class Wide(tf.distributions.Normal):
        pass

    class Wider(Wide):
        pass

    @tf.distributions.RegisterKL(Wide, tf.distributions.Normal)
    def _of_wide(a, b, name=None):
        return tf.constant(7.0)

    plain, wider = tf.distributions.Normal(0.0, 1.0), Wider(0.0, 1.0)
    with tf.Session() as session:
        assert session.run([wider.kl_divergence(plain), plain.kl_divergence(wider)]) == [7.0, 0.0]
    with pytest.raises(ValueError, match=r"KL\(Wide \|\| Normal\) has already been registered to: <function"):
        tf.distributions.RegisterKL(Wide, tf.distributions.Normal)(lambda a, b: None)
    with pytest.raises(
        NotImplementedError, match="distribution_a type Normal and distribution_b type Uniform"
    ):
        plain.kl_divergence(tf.distributions.Uniform())
    with pytest.raises(TypeError, match="kl_fn must be callable, received: 3"):
        tf.distributions.RegisterKL(Wide, Wide)(3)


def test_a_class_defines_what_it_can_and_the_rest_follows_or_says_so():
    class Coin(tf.distributions.Distribution):
        def __init__(self):
            super().__init__(
                tf.float32, tf.distributions.NOT_REPARAMETERIZED, False, True, parameters=dict(locals())
            )

        def _prob(self, value):
            return 0.5 * tf.ones_like(value)

        def _stddev(self):
            return tf.constant(3.0)

    coin = Coin()
    assert coin.name == "Coin/" and coin.parameters == {} and coin.batch_shape.ndims is None
    assert str(coin) == 'tfp.distributions.Coin("Coin/", dtype=float32)'
    with tf.Session() as session:
        assert (
            session.run(coin.log_prob([1.0])) == np.log(np.float32(0.5)) and session.run(coin.variance()) == 9
        )
    for question, words in (
        (coin.mean, "mean"),
        (coin.entropy, "entropy"),
        (lambda: coin.cdf(1.0), "cdf"),
        (lambda: coin.survival_function(1.0), "survival_function"),
        (coin.sample, "sample_n"),
        (coin.batch_shape_tensor, "batch_shape_tensor"),
    ):
        with pytest.raises(NotImplementedError, match=f"^{words} is not implemented: Coin$"):
            question()
    with pytest.raises(ValueError, match="Graph parent item 0 is not a Tensor; 3."):
        tf.distributions.Distribution(tf.float32, None, False, True, graph_parents=[3])


def test_parameters_and_values_are_checked():
    bad = tf.placeholder_with_default(-1.0, [])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="x > 0 did not hold"):
            session.run(tf.distributions.Normal(0.0, bad, validate_args=True).mean())
        with pytest.raises(tf.errors.InvalidArgumentError, match="uniform not defined when low >= high"):
            session.run(tf.distributions.Uniform(0.0, bad, validate_args=True).mean())
        undefined = tf.distributions.Gamma(0.5, 1.0, allow_nan_stats=False)
        assert np.isnan(session.run(tf.distributions.Gamma(0.5, 1.0).mode()))
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="mode not defined when any concentration <= 1"
        ):
            session.run(undefined.mode())
    with pytest.raises(ValueError, match="must be of the same type"):
        tf.distributions.Normal(tf.constant(0.0, tf.float64), 1.0)
    with pytest.raises(ValueError, match="Expected floating point type, got <dtype: 'int32'>"):
        tf.distributions.Normal(1, 2)
    for given in ({}, {"logits": [0.0], "probs": [0.5]}):
        with pytest.raises(ValueError, match="Must pass probs or logits, but not both."):
            tf.distributions.Bernoulli(**given)
    with pytest.raises(ValueError, match="at least 2 events"):
        tf.distributions.Categorical(logits=[1.0], validate_args=True)


def test_shapes_that_samples_need_of_parameters():
    assert tf.distributions.Normal.param_static_shapes([2, 3]) == {
        "loc": tf.TensorShape([2, 3]),
        "scale": tf.TensorShape([2, 3]),
    }
    with pytest.raises(ValueError, match="TensorShape sample_shape must be fully defined"):
        tf.distributions.Normal.param_static_shapes(tf.TensorShape([None]))
    with pytest.raises(ValueError, match="sample_shape must be a fully-defined TensorShape or list/tuple"):
        tf.distributions.Normal.param_static_shapes(tf.placeholder(tf.int32, [1]))
    with pytest.raises(ValueError, match="Input is neither scalar nor vector."):
        tf.distributions.Normal(0.0, 1.0).sample([[1]])
    wide = tf.distributions.Normal(tf.placeholder(tf.float32, [None, 2]), 1.0)
    assert wide.sample([4, 5]).shape.as_list() == [4, 5, None, 2]
    assert wide.sample(tf.placeholder(tf.int32, [3])).shape.as_list() == [None, None, None, None, 2]


def test_a_bijector_remembers_what_it_computed():
    class Double(tf.contrib.distributions.bijectors.Bijector):
        def __init__(self):
            super().__init__(forward_min_event_ndims=0)

        def _forward(self, x):
            return 2.0 * x

        def _inverse(self, y):
            return y / 2.0

        def _forward_log_det_jacobian(self, x):
            return tf.log(2.0) * tf.ones_like(x)

    double, x = Double(), tf.constant([1.0, 2.0])
    y = double.forward(x)
    assert double.name == "double" and double.inverse(y) is x and double.forward(x) is y
    ildj = double.inverse_log_det_jacobian(y, event_ndims=1)
    assert double.inverse_log_det_jacobian(y, event_ndims=1) is ildj
    doubled = tf.contrib.distributions.TransformedDistribution(tf.distributions.Normal(0.0, 1.0), double)
    wide = tf.distributions.Normal(0.0, 2.0)
    with tf.Session() as session:
        assert np.allclose(session.run(ildj), -2 * np.log(2))
        found, expected = session.run([doubled.log_prob([0.3, 5.0]), wide.log_prob([0.3, 5.0])])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"event_ndims \(0\) must be larger than min_event_ndims \(1\)"):
        tf.contrib.distributions.bijectors.Identity()._event_checks(1, 0)
    with pytest.raises(TypeError, match="abstract"):
        tf.contrib.distributions.bijectors.Bijector()


def test_types_are_checked_without_operations():
    x = tf.constant(1.0)
    before = len(tf.get_default_graph().get_operations())
    assert tf.debugging.assert_same_float_dtype([x, None]) == tf.float32
    assert tf.assert_same_float_dtype() == tf.float32
    assert len(tf.get_default_graph().get_operations()) == before
    with pytest.raises(
        ValueError, match=r"type=<dtype: 'float64'>, must be of the same type \(<dtype: 'float32'>\) as"
    ):
        tf.assert_same_float_dtype([x, tf.constant(1.0, tf.float64)])
