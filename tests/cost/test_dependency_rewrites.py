"""What is not computed as nobody takes it, and what is bypassed; TensorFlow's traces show the same nodes."""

import pytest

import gpuplace as tf
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.estimate import step_threads, step_time_by
from gpuplace.cost.samples import Sample
from gpuplace.kernels.work.record import Work

FEEDS = {"images": (4, 16, 16, 3)}


@pytest.fixture
def net():
    """A convolution of what is fed, and another, trained."""
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [4, 16, 16, 3], name="images")
        first = tf.nn.conv2d(images, tf.Variable(tf.ones([3, 3, 3, 8])), [1, 1, 1, 1], "SAME", name="first")
        second = tf.nn.conv2d(first, tf.Variable(tf.ones([3, 3, 8, 8])), [1, 1, 1, 1], "SAME", name="second")
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        optimizer.minimize(tf.reduce_sum(second, name="loss"), name="train")
    return graph


def times(step, op_type):
    """Seconds of each node of a type, by name."""
    return {row.name: row.time for row in step.rows("nodes") if row.op == op_type}


@pytest.mark.parametrize("machine", ["1 CPU", "1x V100"])
def test_gradients_of_what_is_fed_are_not_computed(net, machine):
    """TensorFlow 2.21 traces one Conv2DBackpropInput of this graph, and two Conv2DBackpropFilter."""
    step = tf.estimate(net, "train", FEEDS, machine=machine)
    inputs = times(step, "Conv2DBackpropInput")
    assert inputs["gradients/first_grad/Conv2DBackpropInput"] == 0
    assert inputs["gradients/second_grad/Conv2DBackpropInput"] > 0
    assert all(times(step, "Conv2DBackpropFilter").values())
    assert all(times(step, "ApplyGradientDescent").values())
    assert any("1 nodes with unused results are not computed" in said for said in step.assumptions)


def test_division_by_a_constant_multiplies():
    """TensorFlow 1.15 and 2.21 trace a Mul in the place of a RealDiv by a constant, folded or given, of float32."""
    with tf.Graph().as_default() as graph:
        x, y = (tf.placeholder(tf.float32, [1000, 1000], name=name) for name in "xy")
        whole = tf.placeholder(tf.int32, [1000, 1000], name="whole")
        fetches = [
            *(tf.divide(x, 3.0, name="given"), tf.divide(x, tf.constant(3.0) + 1.0, name="folded")),
            *(tf.divide(x, y, name="fed"), tf.div(whole, 3, name="of_integers")),
        ]
    feeds = dict.fromkeys(("x", "y", "whole"), (1000, 1000))
    model = CostModel.of_samples(
        [
            Sample(op_type, Work("float32", 1e6, 4e6, 4e6), None, seconds)
            for op_type, seconds in (("Mul", 0.001), ("RealDiv", 0.01), ("Div", 0.02))
        ],
        CostModel.uncalibrated(),
        "made up",
    )

    def multiplied(cost_model=model, **options):
        step = tf.estimate(graph, fetches, feeds, machine="1 CPU", cost_model=cost_model, **options)
        return {row.name for row in step.rows("nodes") if "Div" in row.op and row.time < 0.002}

    assert multiplied() == {"given", "folded"}
    assert not multiplied(release="1.4")
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.constant_folding = 2  # RewriterConfig.OFF
    assert not multiplied(config=config)
    assert not multiplied(
        model.without_host_times().corrected(1.0, 1.0, 0.0, in_a_line=True)
    )  # gpuplace's own runtime divides


def test_it_is_an_option_and_older_releases_do_not_have_it(net):
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = 2  # RewriterConfig.OFF
    usual = tf.estimate(net, "train", FEEDS, machine="1 CPU")
    for step in (
        tf.estimate(net, "train", FEEDS, machine="1 CPU", config=config),
        tf.estimate(net, "train", FEEDS, machine="1 CPU", release="1.4"),
    ):
        assert times(step, "Conv2DBackpropInput")["gradients/first_grad/Conv2DBackpropInput"] > 0
        assert step.step_time > usual.step_time


def test_what_is_fetched_or_has_effects_is_computed(net):
    name = "gradients/first_grad/Conv2DBackpropInput"
    step = tf.estimate(net, ["train", name], FEEDS, machine="1 CPU")
    assert times(step, "Conv2DBackpropInput")[name] > 0
    with net.as_default(), tf.control_dependencies([net.get_operation_by_name("train")]):
        noise = tf.random_normal([100, 100])
        with tf.control_dependencies([noise]):
            done = tf.no_op(name="done")
    step = tf.estimate(net, done, FEEDS, machine="1 CPU")
    assert times(step, "RandomStandardNormal")["random_normal/RandomStandardNormal"] > 0
    assert times(step, "Mul")["random_normal/mul"] == 0  # without effects, and only waited for


def test_what_hands_on_between_devices_stays():
    """An Identity is bypassed only where that makes no copy more: beside all that it takes and that takes it."""
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:0"):
            rows = tf.random_normal([64, 64])
            both = tf.identity(rows, name="together") * 2.0, tf.identity(rows, name="apart")
        with tf.device("/gpu:1"):
            tf.multiply(both[1], 3.0, name="there")
        tf.add(both[0], 1.0, name="here")
    step = tf.estimate(graph, ["here:0", "there:0"], machine="2x V100")
    hosts = {row.name: row.host for row in step.rows("nodes")}
    assert hosts["together"] == 0 < hosts["apart"]


def test_what_hands_on_takes_no_thread(net):
    with net.as_default():
        doubled = tf.identity(tf.identity(net.get_tensor_by_name("second:0")) * 2.0, name="doubled")
    step = tf.estimate(net, doubled, FEEDS, machine="1 CPU")
    hosts = {row.name: row.time for row in step.rows("nodes") if row.op == "Identity"}
    assert hosts["Identity"] == 0 and hosts["doubled"] > 0  # that is fetched stays
    reads = [seconds for name, seconds in hosts.items() if name.endswith("/read")]
    assert len(reads) == 2 and min(reads) > 0  # a variable may change meanwhile


def test_steps_in_a_line_and_other_models_of_one_flow(net):
    step = tf.estimate(net, "train", FEEDS, machine="1 CPU")
    base = CostModel.uncalibrated()
    numbers = {"starts": 1.0, "work": 1.0, "less": 0.0, "executor_seconds": 3e-6, "idle_seconds": 3e-6}
    numbers |= dict.fromkeys(("wake_up_seconds", "queue_seconds", "feeding_seconds", "feed_seconds"), 0.0)
    line = base.corrected(**numbers, call_seconds=0.0, in_a_line=True)
    later = base.corrected(**numbers, call_seconds=1.0, in_a_line=True)
    seconds = step_time_by(step)
    assert seconds(base) == pytest.approx(step.step_time) == pytest.approx(seconds_by(net, base))
    assert seconds(line) == pytest.approx(seconds_by(net, line)) and seconds(line) >= seconds(base)
    assert seconds(later) == pytest.approx(1.0 + seconds(line))
    in_line = tf.estimate(net, "train", FEEDS, machine="1 CPU", cost_model=line)
    assert step_threads(in_line) == 1 < step_threads(step)
    on_gpu = tf.estimate(net, "train", FEEDS, machine="1x Tesla K80", cost_model=line)
    assert step_threads(on_gpu) > 1  # GPUs are TensorFlow's executor's


def seconds_by(net, model):
    """The step by a model, from the beginning."""
    return tf.estimate(net, "train", FEEDS, machine="1 CPU", cost_model=model).step_time
