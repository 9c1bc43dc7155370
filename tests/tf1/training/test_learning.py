"""``tf.contrib.slim.learning``, ``tf.contrib.layers.optimize_loss`` and what goes with them."""

import numpy as np
import pytest

import gpuplace as tf

slim = tf.contrib.slim
layers = tf.contrib.layers


def width(start=3.0):
    return tf.get_variable("width", [], initializer=tf.constant_initializer(start))


def test_slim_trains_to_the_last_step_and_saves(tmp_path, caplog):
    w = width()
    train_op = slim.learning.create_train_op(w * w, tf.train.GradientDescentOptimizer(0.25))
    with caplog.at_level("INFO", "tensorflow"):
        loss = slim.learning.train(train_op, str(tmp_path), number_of_steps=3, trace_every_n_steps=2)
    assert loss == 0.5625  # 3, 1.5, 0.75
    assert "global step 3: loss = 0.5625" in caplog.text
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")
    assert {one.name for one in tmp_path.glob("tf_trace-*")} == {"tf_trace-1.json", "tf_trace-3.json"}


def test_slim_goes_on_where_it_ended(tmp_path):
    for steps, loss in ((2, 2.25), (3, 0.5625)):
        tf.reset_default_graph()
        w = width()
        train_op = slim.learning.create_train_op(w * w, tf.train.GradientDescentOptimizer(0.25))
        assert slim.learning.train(train_op, str(tmp_path), number_of_steps=steps) == loss


def test_slim_trains_without_a_folder_until_the_input_ends():
    rows = tf.data.Dataset.range(4).make_one_shot_iterator().get_next()
    w = width()
    train_op = slim.learning.create_train_op(w * tf.to_float(rows), tf.train.GradientDescentOptimizer(1.0))
    assert slim.learning.train(train_op, None) == 3.0 * (3.0 - 0 - 1 - 2)


def test_updates_of_layers_run_before_the_loss():
    count = tf.get_variable("count", [], initializer=tf.zeros_initializer(), trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, count.assign_add(1.0).op)
    train_op = slim.learning.create_train_op(width() * 1.0, tf.train.GradientDescentOptimizer(0.25))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        assert session.run(count) == 1.0


def test_gradients_are_multiplied_then_clipped():
    w = width()
    train_op = slim.learning.create_train_op(
        w * w,
        tf.train.GradientDescentOptimizer(1.0),
        gradient_multipliers={"width": 0.25},
        clip_gradient_norm=1.0,
        summarize_gradients=True,
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train_op)
        assert session.run(w) == 2.0  # 6 -> 1.5 -> 1
    names = {tensor.op.name for tensor in tf.get_collection(tf.GraphKeys.SUMMARIES)}
    assert names == {"summarize_grads/width_gradient", "summarize_grads/width_gradient_norm"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"train_op": None, "logdir": "x"}, "train_op cannot be None."),
        ({"train_op": "x", "logdir": "x", "number_of_steps": 0}, "must be either None or a positive number"),
        (
            {"train_op": "x", "logdir": None, "trace_every_n_steps": 1},
            "Cannot provide trace_every_n_steps because",
        ),
        ({"train_op": "x", "logdir": None, "saver": "x"}, "Cannot provide saver because logdir=None"),
        ({"train_op": "x", "logdir": "x", "sync_optimizer": "x"}, "sync_optimizer is not supported"),
    ],
)
def test_training_loops_that_cannot_be(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        slim.learning.train(**arguments)


def test_nothing_to_train():
    with pytest.raises(ValueError, match="no variables to train"):
        slim.learning.create_train_op(tf.constant(1.0), tf.train.GradientDescentOptimizer(1.0))


@pytest.mark.parametrize(
    ("optimizer", "after"),
    [
        ("SGD", 1.5),
        (tf.train.GradientDescentOptimizer, 1.5),
        (tf.train.GradientDescentOptimizer(0.5), 0.0),
        (lambda rate: tf.train.GradientDescentOptimizer(rate * 0.5), 2.25),
        ("Momentum", 1.5),
    ],
)
def test_optimizers_of_optimize_loss(optimizer, after):
    w, step = width(), tf.train.get_or_create_global_step()
    train = layers.optimize_loss(w * w, step, 0.25, optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(train) == 9.0
        assert (session.run(w), session.run(step)) == (after, 1)
    names = [tensor.op.name for tensor in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert names == ["OptimizeLoss/global_norm/gradient_norm", "OptimizeLoss/loss"]


def test_optimize_loss_decays_clips_and_multiplies():
    w, step = width(), tf.train.get_or_create_global_step()
    train = layers.optimize_loss(
        w * w,
        step,
        1.0,
        "SGD",
        gradient_multipliers={"width:0": 0.5},
        clip_gradients=2.0,
        learning_rate_decay_fn=lambda rate, at: tf.train.exponential_decay(rate, at, 1, 0.5),
        increment_global_step=False,
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert (session.run(w), session.run(step)) == (1.0, 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"learning_rate": 1, "optimizer": "SGD"}, "Learning rate should be 0d Tensor or float"),
        ({"learning_rate": -1.0, "optimizer": "SGD"}, "Invalid learning_rate -1.0"),
        ({"learning_rate": None, "optimizer": "SGD"}, "optimizer is string"),
        ({"learning_rate": 1.0, "optimizer": "Best"}, "Optimizer name should be one of"),
        ({"learning_rate": 1.0, "optimizer": 3}, "Unrecognized optimizer"),
        ({"learning_rate": 1.0, "optimizer": "SGD", "clip_gradients": "x"}, "Unknown type"),
        ({"learning_rate": 1.0, "optimizer": "SGD", "summaries": ["x"]}, "Summaries should be one of"),
    ],
)
def test_optimize_loss_says_what_it_takes(arguments, sentence):
    w = width()
    with pytest.raises(ValueError, match=sentence):
        layers.optimize_loss(w * w, tf.train.get_or_create_global_step(), **arguments)


def test_variables_from_a_checkpoint(tmp_path):
    w = width()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        other = tf.get_variable("other", [2], initializer=tf.zeros_initializer())
        session.run([w.assign(5.0), other.initializer])
        slim.assign_from_checkpoint_fn(path, [w, other], ignore_missing_vars=True)(session)
        assert session.run(w) == 3.0
        op, feeds = slim.assign_from_checkpoint(path, {"width": [w]})
        session.run(w.assign(5.0))
        session.run(op, feeds)
        assert session.run(w) == 3.0
        slim.assign_from_values_fn({"other": np.array([[1.0], [2.0]])})(session)
        assert session.run(other).tolist() == [1.0, 2.0]
        assert slim.assign_from_checkpoint_fn(path, [other], ignore_missing_vars=True) is None
        with pytest.raises(ValueError, match=r"Checkpoint is missing variable \[other\]"):
            slim.assign_from_checkpoint(path, [other])
        with pytest.raises(ValueError, match="must be unchanged for width"):
            slim.assign_from_checkpoint(path, {"width": other})
        with pytest.raises(ValueError, match="Variable third wasn't found"):
            slim.assign_from_values({"third": np.zeros(1)})


def test_batches_in_advance():
    counted = tf.Variable(0.0, trainable=False)
    queue = slim.prefetch_queue.prefetch_queue({"b": tf.ones([2]), "a": counted.assign_add(1.0)}, capacity=3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with slim.queues.QueueRunners(session):
            taken = [session.run(queue.dequeue()) for _ in range(4)]
            with pytest.raises(slim.queues.NestedQueueRunnerError), slim.queues.QueueRunners(session):
                pass
    assert [one["a"] for one in taken] == [1.0, 2.0, 3.0, 4.0]


def test_summaries_of_activations():
    x = tf.placeholder(tf.float32, [4])
    layers.summarize_activation(tf.nn.relu6(x))
    with tf.Session() as session:
        found = tf.Summary.FromString(session.run(tf.summary.merge_all(), {x: [-1, 1, 7, 8]}))
    shares = {value.tag: value.simple_value for value in found.value if value.HasField("simple_value")}
    assert shares == {"Relu6/zeros": 0.25, "Relu6/sixes": 0.5}
    assert layers.summarize_tensor(tf.constant("a")) is None


def test_hyperparameters():
    params = tf.contrib.training.HParams(rate=0.1, sizes=[1, 2, 3], name="a", bias=False)
    params.parse("rate=2,sizes[1]=7,bias=true, name = b c")
    assert params.values() == {"rate": 2.0, "sizes": [1, 7, 3], "name": "b c", "bias": True}
    assert params.parse("sizes=[4]").sizes == [4]
    assert params.parse_json(params.to_json()).get("rate") == 2.0
    assert "rate" in params and params.get("other", 5) == 5
    for given, sentence in (
        ("rate=x", "Could not parse hparam 'rate' of type 'float' with value 'x'"),
        ("other=1", "Unknown hyperparameter type for other"),
        ("rate=1,rate=2", "Multiple assignments to variable 'rate'"),
        ("rate=[1]", "Must not pass a list for single-valued parameter: rate"),
        ("sizes=1", "Must pass a list for multi-valued parameter: sizes"),
        ("rate", "Malformed hyperparameter value: rate"),
    ):
        with pytest.raises(ValueError, match=sentence.replace("[", r"\[")):
            params.parse(given)
    with pytest.raises(ValueError, match="Could not cast hparam 'rate'"):
        params.set_hparam("rate", "fast")
    with pytest.raises(ValueError, match="reserved"):
        params.add_hparam("parse", 1)


def test_names_that_a_producer_takes_from_a_variable(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(name)
    files = tf.train.match_filenames_once(str(tmp_path / "*"))
    queue = tf.train.string_input_producer(files, shuffle=False, num_epochs=1)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        with slim.queues.QueueRunners(session):
            assert session.run([queue.dequeue(), queue.size()])[0].endswith(b"a")


def test_batches_of_full_size():
    data = tf.data.Dataset.range(7)
    batches = data.apply(tf.contrib.data.batch_and_drop_remainder(3))
    padded = data.map(lambda x: tf.fill([x], x)).apply(
        tf.contrib.data.padded_batch_and_drop_remainder(4, [None])
    )
    assert batches.output_shapes.as_list() == [3]
    with tf.Session() as session:
        for dataset, first in ((batches, [0, 1, 2]), (padded, [[0, 0, 0], [1, 0, 0], [2, 2, 0], [3, 3, 3]])):
            row = dataset.make_one_shot_iterator().get_next()
            assert session.run(row).tolist() == first
