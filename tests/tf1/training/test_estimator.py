"""What an estimator, its configuration and its specification check; variables that begin with other words' rows."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.input.vocab_remapping import generate_vocab_remapping, load_and_remap_matrix

SPEC = tf.estimator.EstimatorSpec
TRAIN, EVAL, PREDICT = tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL, tf.estimator.ModeKeys.PREDICT


def linear(features, labels, mode):
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    predictions = features * weight
    if mode == PREDICT:
        return SPEC(mode, predictions)
    loss = tf.reduce_mean(tf.square(predictions - labels))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return SPEC(mode, predictions, loss, train_op)


def numbers():
    return tf.data.Dataset.from_tensor_slices((np.float32([1, 2, 3, 4]), np.float32([2, 4, 6, 8]))).batch(2)


def test_training_goes_on_from_the_last_checkpoint_up_to_a_step(tmp_path):
    model = tf.estimator.Estimator(linear, tmp_path)
    assert model.train(numbers) is model
    assert model.get_variable_value("global_step") == 2
    model.train(numbers, max_steps=3)
    assert model.get_variable_value("global_step") == 3
    weight = model.get_variable_value("weight")
    model.train(numbers, max_steps=3)
    assert model.get_variable_value("weight") == weight
    fed = tf.estimator.inputs.numpy_input_fn(np.float32([1, 2]), shuffle=False)
    assert np.allclose(list(model.predict(fed)), [weight, 2 * weight])
    assert model.evaluate(numbers, steps=1)["global_step"] == 3


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: SPEC(TRAIN, loss=tf.constant(1.0)), ValueError, "Missing train_op"),
        (lambda: SPEC(EVAL), ValueError, "Missing loss"),
        (lambda: SPEC(PREDICT), ValueError, "Missing predictions"),
        (lambda: SPEC(EVAL, loss=tf.ones([2])), ValueError, "Loss must be scalar"),
        (lambda: SPEC(EVAL, loss=1.0), TypeError, "loss must be Tensor"),
        (lambda: SPEC(EVAL, loss=tf.constant(1.0), eval_metric_ops={"a": 1}), TypeError, "update_op"),
        (lambda: SPEC(EVAL, loss=tf.constant(1.0), training_hooks=[1]), TypeError, "SessionRunHook"),
        (lambda: SPEC(PREDICT, tf.ones([1]), export_outputs=[]), TypeError, "export_outputs must be dict"),
        (
            lambda: tf.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1),
            ValueError,
            "both set",
        ),
        (lambda: tf.estimator.RunConfig(log_step_count_steps=0), ValueError, "should be > 0"),
        (lambda: tf.estimator.RunConfig().replace(seed=1), ValueError, "Replacing seed"),
        (lambda: tf.estimator.RunConfig(eval_distribute=1), tf.errors.UnimplementedError, "one process"),
        (lambda: tf.estimator.RunConfig(train_distribute=1), ValueError, "must be a tf.distribute.Strategy"),
        (lambda: tf.estimator.Estimator(lambda x: x), ValueError, "must include features argument"),
        (lambda: tf.estimator.Estimator(linear, params={}), ValueError, "does not include params"),
        (lambda: tf.estimator.Estimator(linear).train(numbers, steps=0), ValueError, "steps > 0"),
        (lambda: tf.estimator.inputs.numpy_input_fn({}), ValueError, "shuffle must be provided"),
        (lambda: tf.estimator.inputs.numpy_input_fn({}, shuffle=True)(), ValueError, "empty dict"),
        (lambda: tf.estimator.TrainSpec(1), TypeError, "must be callable"),
        (lambda: tf.estimator.EvalSpec(numbers, steps=0), ValueError, "steps > 0"),
    ],
)
def test_what_is_wrong_is_said(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.fixture
def vocabularies(tmp_path):
    (tmp_path / "old").write_text("apple\npear\nplum\n")
    (tmp_path / "new").write_text("plum\nkiwi\napple\nfig\n")
    return str(tmp_path / "new"), str(tmp_path / "old")


def test_words_are_found_in_the_old_vocabulary(vocabularies):
    with tf.Session() as session:
        found = generate_vocab_remapping(*vocabularies, new_vocab_offset=0, num_new_vocab=4)
        assert [one.tolist() for one in session.run(found)] == [[2, -1, 0, -1], 2]
        found = generate_vocab_remapping(*vocabularies, new_vocab_offset=1, num_new_vocab=2, old_vocab_size=1)
        assert [one.tolist() for one in session.run(found)] == [[-1, 0], 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="old_vocab_size is 0"):
            session.run(generate_vocab_remapping(*vocabularies, 1, num_new_vocab=2, old_vocab_size=0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="the file has 4"):
            session.run(generate_vocab_remapping(*vocabularies, new_vocab_offset=1, num_new_vocab=4))


@pytest.mark.parametrize(("axis", "shape"), [(0, [5, 2]), (1, [3, 5])])
def test_rows_and_columns_follow_the_words(vocabularies, tmp_path, axis, shape):
    old = np.arange(6 if axis == 0 else 9, dtype=np.float32).reshape(3, -1)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("table", initializer=old)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", shape)
        new, before = vocabularies
        info = tf.train.VocabInfo(new, 4, 1, before, -1, lambda shape: tf.fill(shape, -7.0), axis)
        tf.train.warm_start(path, "table", {"table": info})
        session.run(tf.global_variables_initializer())
        fill = np.full([1, old.shape[1]], -7) if axis == 0 else np.full([3, 1], -7)
        parts = (
            [old[2:], fill, old[:1], fill, fill] if axis == 0 else [old[:, 2:], fill, old[:, :1], fill, fill]
        )
        assert session.run(table).tolist() == np.concatenate(parts, axis).tolist()


def test_a_matrix_whose_new_values_do_not_fit_is_refused(tmp_path):
    with tf.Session() as session:
        tf.get_variable("table", initializer=np.ones([2, 2], np.float32))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        for values, text in ((1, "more missing values remain"), (3, "only 2 elements were used")):
            made = load_and_remap_matrix(path, "table", [1, -1], [], [0.0] * values, num_rows=2, num_cols=2)
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run(made)


def test_names_that_no_variable_has_are_refused(tmp_path):
    with tf.Session() as session:
        tf.get_variable("table", initializer=np.ones([2, 2], np.float32))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        with pytest.raises(ValueError, match="var_name_to_prev_var_name that were not used: {'tabel'}"):
            tf.train.warm_start(path, var_name_to_prev_var_name={"tabel": "table"})


def test_messages_of_a_level_that_is_asked_for_are_shown(capfd, monkeypatch):
    import logging

    log = logging.getLogger("tensorflow")
    monkeypatch.setattr(log, "handlers", [])
    monkeypatch.setattr(log, "propagate", False)
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.logging.info("step %d", 3)
    tf.logging.set_verbosity(before)
    assert capfd.readouterr().err == "INFO:tensorflow:step 3\n"
