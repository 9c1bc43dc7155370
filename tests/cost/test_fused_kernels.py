"""What one kernel computes with what follows it; TensorFlow 2.21's traces show ``_FusedMatMul`` and its like there."""

import pytest

import gpuplace as tf
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import step_time_by

FEEDS = {"x": (32, 48)}


def absorbed(graph, fetches, feeds=None, release="2.21", **options):
    """Names of the nodes that kernels before them compute."""
    step = tf.estimate(graph, fetches, feeds or FEEDS, machine="1 CPU", release=release, **options)
    names = step.part.graph.names
    found = sorted(
        names[node] for one in step.flow.times.alike if one.rewritten is None for node in one.nodes
    )
    times = {row.name: row.time for row in step.rows("nodes")}
    assert all(times[name] == 0 for name in found)
    said = [one for one in step.assumptions if one.startswith("Remapping")]
    assert bool(said) == bool(found) and all(f" {len(found)} nodes " in one for one in said)
    return found


@pytest.fixture
def layers():
    """A layer with a bias and a function, and one with a bias that is added."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [32, 48], name="x")
        weights, bias = (tf.get_variable(name, size) for name, size in (("w", [48, 48]), ("b", [48])))
        first = tf.nn.relu(
            tf.nn.bias_add(tf.matmul(x, weights, name="product"), bias, name="sum"), name="act"
        )
        tf.nn.tanh(tf.add(bias, tf.matmul(first, weights, name="other"), name="added"), name="out")
    return graph


def test_products_add_their_biases_and_apply_functions(layers):
    """As in remapper.cc; 1.15 knows ``BiasAdd`` alone, and fewer functions."""
    assert absorbed(layers, "out") == ["act", "added", "out", "sum"]
    assert absorbed(layers, "out", release="1.15") == ["act", "sum"]
    assert absorbed(layers, "out", release="1.4") == []


def test_what_is_needed_elsewhere_is_computed_by_itself(layers):
    assert absorbed(layers, ["out", "sum:0"]) == ["added", "out", "sum"]
    assert absorbed(layers, ["out", "product:0"]) == ["added", "out"]
    with layers.as_default():
        product = layers.get_tensor_by_name("product:0")
        tf.add(tf.reduce_sum(product), tf.reduce_sum(layers.get_tensor_by_name("out:0")), name="both")
        with tf.control_dependencies([layers.get_tensor_by_name("other:0")]):
            tf.reduce_sum(layers.get_tensor_by_name("out:0"), name="after")
    assert absorbed(layers, "both") == ["added", "out"]
    assert absorbed(layers, "after") == ["act", "sum"]


def test_only_a_number_for_each_column_is_a_bias():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [32, 48], name="x")
        terms = {
            "row": tf.get_variable("row_term", [1, 48]),
            "one": tf.get_variable("one_term", [1]),
            "all": tf.get_variable("all_term", [32, 48]),
        }
        sums = [
            tf.add(tf.matmul(x, tf.ones([48, 48]) * 2.0), term, name=name) for name, term in terms.items()
        ]
        doubles = tf.matmul(tf.cast(x, tf.float64), tf.ones([48, 48], tf.float64))
        sums.append(tf.cast(tf.nn.bias_add(doubles, tf.ones([48], tf.float64), name="doubles"), tf.float32))
        tf.add_n(sums, name="total")
    assert absorbed(graph, "total") == ["row"]


def test_normalisation_applies_relu():
    """TensorFlow 2.21 traces one ``_FusedBatchNormEx`` and one ``FusedBatchNormV3``; 1.15 has the former on GPUs."""
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [4, 8, 8, 16], name="images")
        ones, zeros = tf.ones([16]), tf.zeros([16])
        first = tf.nn.relu(tf.nn.fused_batch_norm(images, ones, zeros)[0], name="relu")
        second = tf.nn.fused_batch_norm(first, ones, zeros)[0]
        tf.add(tf.nn.relu(second + first, name="later"), 1.0, name="out")
    feeds = {"images": (4, 8, 8, 16)}
    assert absorbed(graph, "out", feeds) == ["relu"]
    assert absorbed(graph, "out", feeds, release="1.15") == []


def test_it_is_an_option_and_not_what_gpuplace_does(layers):
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = 2  # RewriterConfig.OFF
    assert absorbed(layers, "out", config=config) == []
    assert absorbed(layers, "out", config=tf.ConfigProto()) != []
    fused = tf.estimate(layers, "out", FEEDS, machine="1 CPU", release="2.21")
    apart = tf.estimate(layers, "out", FEEDS, machine="1 CPU", release="2.21", config=config)
    assert fused.step_time < apart.step_time
    own = CostModel.uncalibrated().corrected(1.0, 1.0, *[0.0] * 8, in_a_line=True)
    assert step_time_by(fused)(own) == pytest.approx(step_time_by(apart)(own))
    step = tf.estimate(layers, "out", FEEDS, machine="1 CPU", release="2.21", cost_model=own)
    assert not [said for said in step.assumptions if said.startswith("Remapping")]
