"""What one kernel computes with what follows it; TensorFlow 2.21's traces show ``_FusedMatMul`` and its like there."""

import pytest

import gpuplace as tf
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import step_time_by
from gpuplace.cost.samples import Sample, samples_of
from gpuplace.kernels.work.record import Product, Work

FEEDS = {"x": (32, 48)}


def absorbed(graph, fetches, feeds=None, release="2.21", machine="1 CPU", **options):
    """Names of the nodes that kernels before them compute."""
    step = tf.estimate(graph, fetches, feeds or FEEDS, machine=machine, release=release, **options)
    names = step.part.graph.names
    found = sorted(names[node] for node, first in enumerate(step.flow.computed_by.tolist()) if first >= 0)
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


@pytest.mark.parametrize(
    ("release", "fused"), [("2.21", ["act", "one_channel", "sum"]), ("1.15", ["act", "sum"]), ("1.4", [])]
)
def test_gpus_fuse_convolutions_that_cudnn_applies_relu_to(release, fused):
    """2.21's remapper was asked for all of these on a GPU; 1.15 looks at the channels where it means the height."""
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [4, 8, 8, 16], name="images")

        def layer(name, size, channels, function=tf.nn.relu):
            weights = tf.get_variable(f"{name}_w", [size, size, channels, 16])
            bias = tf.get_variable(f"{name}_b", [16])
            found = tf.nn.conv2d(images[..., :channels], weights, [1, 1, 1, 1], "SAME")
            return function(tf.nn.bias_add(found, bias, name="sum" if name == "act" else None), name=name)

        outs = [
            layer("act", 3, 16),
            layer("pointwise", 1, 16),
            layer("elu", 3, 16, tf.nn.elu),
            layer("bias", 3, 16, tf.negative),
            layer("one_channel", 3, 1),
        ]
        product = tf.matmul(tf.reshape(images, [-1, 16]), tf.get_variable("w", [16, 16]))
        outs.append(
            tf.reshape(tf.nn.relu(tf.nn.bias_add(product, tf.get_variable("b", [16]))), [4, 8, 8, 16])
        )
        tf.add_n(outs, name="out")
    found = absorbed(graph, "out", {"images": (4, 8, 8, 16)}, release, "1x V100")
    assert [name for name in found if not name.startswith("BiasAdd")] == fused


@pytest.mark.parametrize(
    ("release", "is_training", "fused"), [("2.21", False, 3), ("2.21", True, 0), ("1.15", False, 0)]
)
def test_gpus_normalise_apply_relu_and_add_where_nothing_is_trained(release, is_training, fused):
    """As 2.21's remapper on a GPU; in training it takes an environment variable."""
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [4, 8, 8, 16], name="images")
        numbers = [tf.get_variable(f"number_{at}", [16]) for at in range(4)]
        moments = {} if is_training else {"mean": numbers[2], "variance": numbers[3]}

        def normalised(top):
            return tf.nn.fused_batch_norm(top, *numbers[:2], **moments, is_training=is_training)[0]

        first = tf.nn.relu(normalised(images), name="relu")
        tf.add(tf.nn.relu(tf.add(normalised(first), first, name="sum"), name="later"), 1.0, name="out")
    found = absorbed(graph, "out", {"images": (4, 8, 8, 16)}, release, "1x V100")
    assert found == ["later", "relu", "sum"][:fused]


def test_what_is_on_another_device_is_computed_by_itself():
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [4, 8, 8, 16], name="images")
        with tf.device("/gpu:0"):
            found = tf.nn.conv2d(images, tf.get_variable("w", [3, 3, 16, 16]), [1, 1, 1, 1], "SAME")
            total = tf.nn.bias_add(found, tf.get_variable("b", [16]), name="sum")
        with tf.device("/gpu:1"):
            tf.nn.relu(total, name="out")
    step = tf.estimate(graph, "out", {"images": (4, 8, 8, 16)}, machine="2x V100", release="2.21")
    assert (step.flow.computed_by < 0).all()  # nor is the bias: a GPU's kernel has to apply a function


def test_it_is_an_option_and_not_what_gpuplace_does(layers):
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.remapping = 2  # RewriterConfig.OFF
    assert absorbed(layers, "out", config=config) == []
    assert absorbed(layers, "out", config=tf.ConfigProto()) != []
    fused = tf.estimate(layers, "out", FEEDS, machine="1 CPU", release="2.21")
    apart = tf.estimate(layers, "out", FEEDS, machine="1 CPU", release="2.21", config=config)
    assert fused.step_time < apart.step_time
    own = CostModel.uncalibrated().without_host_times().corrected(1.0, 1.0, 0.0, in_a_line=True)
    assert step_time_by(fused)(own) == pytest.approx(step_time_by(apart)(own))
    step = tf.estimate(layers, "out", FEEDS, machine="1 CPU", release="2.21", cost_model=own)
    assert not [said for said in step.assumptions if said.startswith("Remapping")]


def ran(*nodes):
    """A step's statistics, of (name, type of the op that ran, microseconds) on a CPU."""
    metadata = tf.RunMetadata()
    device = metadata.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    for name, op_type, micros in nodes:
        device.node_stats.add(
            node_name=name,
            timeline_label=f"{name} = {op_type}(x, w/read)" if op_type else "",
            all_start_micros=1,
            op_end_rel_micros=micros,
            all_end_rel_micros=micros,
        )
    return metadata


@pytest.mark.parametrize("op_type", ["_MklNativeFusedMatMul", "_FusedMatMul"])
def test_traces_name_the_last_and_it_counts_for_the_first(layers, op_type):
    """As TensorFlow 2.21 traces it, with oneDNN and without."""
    step = tf.estimate(layers, "out", FEEDS, machine="1 CPU", release="2.21")
    compared = step.compare(ran(("act", op_type, 40), ("out", op_type, 30)))
    measured = {row.node: row.measured for row in compared.nodes}
    assert measured == {"product": pytest.approx(40e-6), "other": pytest.approx(30e-6)}
    assert not {"product", "sum", "act", "other", "added", "out"} & set(compared.only_predicted)
    apart = step.compare(ran(("product", "MatMul", 40), ("act", "Relu", 5)))
    assert {row.node for row in apart.nodes} == {"product", "act"}


def test_measured_fused_kernels_are_samples_of_their_own():
    work = Work("float32", 2.0 * 32**3, 8.0 * 32**2, 4.0 * 32**2, kernel=Product(32, 32, 32))
    step = ran(("act", "_MklNativeFusedMatMul", 40), ("plain", "", 3), ("sum", "BiasAdd", 2))
    fused = dict.fromkeys(("act", "plain", "sum"), ("_FusedMatMul", work))
    assert [(one.op_type, one.seconds) for one in samples_of([step], fused, {})] == [
        ("_FusedMatMul", pytest.approx(40e-6))
    ]
    before = CostModel.uncalibrated()
    fitted = [
        CostModel.of_samples([Sample(op_type, work, None, seconds) for op_type, seconds in known], before, "")
        for known in ([("MatMul", 1e-5)], [("MatMul", 1e-5), ("_FusedMatMul", 4e-5)])
    ]
    alone, both = (
        [model.kernel_seconds(work, None, one) for one in ("MatMul", "_FusedMatMul")] for model in fitted
    )
    assert alone == pytest.approx([1e-5, 1e-5]) and both == pytest.approx([1e-5, 4e-5])


def test_products_are_timed_by_measured_fused_kernels(layers):
    """The kernel of a product that adds its bias takes what such kernels took; other products do not."""
    step = tf.estimate(layers, ["out", "product:0"], FEEDS, machine="1 CPU", release="2.21")
    works = {step.part.graph.names[node]: work for node, work in enumerate(step.works)}
    model = CostModel.of_samples(
        [Sample("MatMul", works["product"], None, 1e-5), Sample("_FusedMatMul", works["other"], None, 9e-5)],
        CostModel.uncalibrated(),
        "two kernels",
    )
    step = tf.estimate(layers, ["out", "product:0"], FEEDS, machine="1 CPU", release="2.21", cost_model=model)
    times = {row.name: row.time for row in step.rows("nodes")}
    assert times["other"] - times["product"] == pytest.approx(8e-5) and 1e-5 <= times["product"] < 2e-5
