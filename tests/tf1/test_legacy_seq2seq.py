"""``tf.contrib.legacy_seq2seq`` and ``tf.contrib.metrics``."""

import numpy as np
import pytest

import gpuplace as tf

legacy = tf.contrib.legacy_seq2seq
metrics = tf.contrib.metrics


def cell():
    return tf.contrib.rnn.BasicLSTMCell(4)


def classes(*steps):
    return [tf.constant(step) for step in steps]


READ, WRITTEN = ([1, 2], [3, 6]), ([1, 2], [3, 5], [0, 4])

NETS = {
    "embedding_rnn_seq2seq": lambda feed: legacy.embedding_rnn_seq2seq(
        classes(*READ), classes(*WRITTEN), cell(), 7, 6, 5, feed_previous=feed
    ),
    "embedding_tied_rnn_seq2seq": lambda feed: legacy.embedding_tied_rnn_seq2seq(
        classes(*READ), classes(*WRITTEN), cell(), 7, 5, num_decoder_symbols=6, feed_previous=feed
    ),
    "embedding_attention_seq2seq": lambda feed: legacy.embedding_attention_seq2seq(
        classes(*READ), classes(*WRITTEN), cell(), 7, 6, 5, num_heads=2, feed_previous=feed
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_what_is_fed_may_be_known_when_it_runs(name):
    """The way that a tensor chooses gives what the same net gives with that way built in."""
    found = {}
    for asked in (True, False, None):
        tf.reset_default_graph()
        feed = tf.placeholder(tf.bool, []) if asked is None else asked
        with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-0.8, 0.8, seed=3)):
            outputs, (c, h) = NETS[name](feed)
        assert len(outputs) == 3 and outputs[0].shape.as_list()[1] == 6
        with tf.Session() as session:
            for variable in tf.global_variables():
                scale = np.arange(np.prod(variable.shape.as_list())).reshape(variable.shape.as_list())
                variable.load(np.sin(scale * 1.7 + len(variable.name)), session)
            if asked is None:
                for way in (True, False):
                    for value, wanted in zip(
                        session.run([*outputs, c, h], {feed: way}), found[way], strict=True
                    ):
                        np.testing.assert_allclose(value, wanted, rtol=1e-6)
            else:
                found[asked] = session.run([*outputs, c, h])
    assert np.array_equal(found[True][0], found[False][0])
    assert not np.allclose(found[True][1], found[False][1])


def test_buckets_share_their_variables():
    losses = legacy.model_with_buckets(
        classes(*READ),
        classes(*WRITTEN),
        classes(*WRITTEN),
        [tf.ones([2])] * 3,
        [(1, 2), (2, 3)],
        lambda read, written: legacy.basic_rnn_seq2seq(
            [tf.one_hot(one, 7) for one in read],
            [tf.one_hot(one, 6) for one in written],
            tf.contrib.rnn.BasicRNNCell(6),
        ),
    )[1]
    assert len(losses) == 2
    names = [variable.op.name for variable in tf.trainable_variables()]
    assert names == [
        f"basic_rnn_seq2seq/{part}/basic_rnn_cell/{kind}"
        for part in ("rnn", "rnn_decoder")
        for kind in ("kernel", "bias")
    ]
    with pytest.raises(
        ValueError, match=r"Length of targets \(1\) must be at least that of last bucket \(3\)"
    ):
        legacy.model_with_buckets(classes(*READ), [], classes([1]), [], [(2, 3)], None)


def test_sequence_losses():
    logits = [tf.constant([[0.0, 0.0], [0.0, np.log(3.0)]])] * 2
    targets, weights = classes([0, 1], [1, 1]), [tf.constant([1.0, 1.0]), tf.constant([1.0, 0.0])]
    with tf.Session() as session:
        each = session.run(legacy.sequence_loss_by_example(logits, targets, weights))
        all_of_them = session.run(legacy.sequence_loss(logits, targets, weights))
        sums = session.run(legacy.sequence_loss(logits, targets, weights, False, False))
    np.testing.assert_allclose(each, [np.log(2), np.log(4 / 3)], rtol=1e-6)
    np.testing.assert_allclose(all_of_them, each.mean(), rtol=1e-6)
    np.testing.assert_allclose(sums, 2 * np.log(2) + np.log(4 / 3), rtol=1e-6)
    with pytest.raises(ValueError, match="Lengths of logits, weights, and targets must be the same 2, 2, 1"):
        legacy.sequence_loss(logits, targets[:1], weights)


def test_a_decoder_with_attention_needs_inputs_and_heads():
    states = tf.zeros([2, 3, 4])
    with pytest.raises(ValueError, match="at least 1 input"):
        legacy.attention_decoder([], None, states, cell())
    with pytest.raises(ValueError, match="less than 1 heads"):
        legacy.attention_decoder([tf.zeros([2, 3])], None, states, cell(), num_heads=0)
    with pytest.raises(ValueError, match="must be > 0: 0"):
        tf.contrib.rnn.OutputProjectionWrapper(cell(), 0)


def test_projected_inputs():
    wrapped = tf.contrib.rnn.InputProjectionWrapper(tf.contrib.rnn.BasicRNNCell(2), 3, activation=tf.nn.relu)
    outputs, _ = tf.nn.static_rnn(wrapped, [tf.ones([1, 5])] * 2, dtype=tf.float32)
    assert [(one.op.name, one.shape.as_list()) for one in tf.trainable_variables()] == [
        ("rnn/input_projection_wrapper/kernel", [5, 3]),
        ("rnn/input_projection_wrapper/bias", [3]),
        ("rnn/input_projection_wrapper/basic_rnn_cell/kernel", [5, 2]),
        ("rnn/input_projection_wrapper/basic_rnn_cell/bias", [2]),
    ]
    assert outputs[1].shape.as_list() == [1, 2]


def test_metrics_with_predictions_first():
    predictions, labels = tf.constant([1, 0, 1, 1]), tf.constant([1, 1, 1, 0])
    scores, truth = tf.constant([0.1, 0.9, 0.4, 0.8]), tf.constant([0.0, 1.0, 1.0, 0.0])
    values, updates = metrics.aggregate_metric_map(
        {
            "accuracy": metrics.streaming_accuracy(predictions, labels, weights=[1, 1, 1, 3]),
            "precision": metrics.streaming_precision(predictions, labels),
            "false_negatives": metrics.streaming_false_negatives(predictions, labels),
            "error": metrics.streaming_mean_squared_error(scores, truth),
            "overlap": metrics.streaming_mean_iou(predictions, labels, 2),
            "auc": metrics.streaming_auc(scores, truth, num_thresholds=5),
            "recalls": metrics.streaming_recall_at_thresholds(scores, truth, [0.3, 0.5]),
            "mean": metrics.streaming_mean(scores),
        }
    )
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(updates)
        found = session.run(values)
        assert session.run(metrics.accuracy(predictions, labels, weights=[1.0, 1.0, 1.0, 3.0])) == np.float32(
            1 / 3
        )
    assert found.pop("recalls").tolist() == [1.0, 0.5]
    wanted = {
        "accuracy": 1 / 3, "precision": 2 / 3, "false_negatives": 1, "error": 0.255, "overlap": 0.25, "auc": 0.625,
        "mean": 0.55,
    }  # fmt: skip
    assert found == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(ValueError, match="Labels should have bool, integer, or string dtype"):
        metrics.accuracy(scores, truth)
    with pytest.raises(ValueError, match="Expected at least one"):
        metrics.aggregate_metrics()
