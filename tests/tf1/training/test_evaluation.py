"""``tf.contrib.slim.evaluation``."""

import pytest

import gpuplace as tf

slim = tf.contrib.slim


@pytest.fixture
def checkpoint(tmp_path):
    variable = tf.get_variable("w", initializer=3.0)
    tf.train.create_global_step()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model.ckpt"), global_step=7)
    return path, variable


def metric(variable):
    rows = tf.data.Dataset.range(100).make_one_shot_iterator().get_next()
    value, update = slim.metrics.streaming_mean(variable * tf.to_float(rows))
    tf.summary.scalar("metric", value)
    return value, update


def test_a_checkpoint_is_evaluated_and_its_summaries_are_written(checkpoint, tmp_path, caplog):
    path, variable = checkpoint
    value, update = metric(variable)
    with caplog.at_level("INFO", "tensorflow"):
        found = slim.evaluation.evaluate_once(
            "",
            path,
            str(tmp_path / "eval"),
            num_evals=4,
            eval_op=[update],
            final_op=value,
            variables_to_restore=[variable, tf.train.get_global_step()],
        )
    assert found == 3.0 * (0 + 1 + 2 + 3) / 4
    assert "Evaluation [4/4]" in caplog.text
    (file,) = (tmp_path / "eval").glob("events*")
    written = [
        one.summary.value[0] for one in tf.train.summary_iterator(str(file)) if one.HasField("summary")
    ]
    assert [(one.tag, one.simple_value) for one in written] == [("metric", 4.5)]


def test_a_folder_is_watched_for_checkpoints(checkpoint, tmp_path):
    value, update = metric(checkpoint[1])
    found = slim.evaluation.evaluation_loop(
        "",
        str(tmp_path),
        str(tmp_path / "eval"),
        num_evals=2,
        eval_op={"mean": update},
        final_op={"mean": value},
        eval_interval_secs=0,
        timeout=0,
        max_number_of_evaluations=3,
    )
    assert found == {"mean": 1.5}


def test_summaries_need_a_place():
    with pytest.raises(ValueError, match="One of log_dir or summary_writer should be used"):
        tf.contrib.training.SummaryAtEndHook()


def test_metrics_at_each_checkpoint(checkpoint, tmp_path):
    path, variable = checkpoint
    value, update = metric(variable)
    training = tf.contrib.training
    found = training.evaluate_repeatedly(
        str(tmp_path),
        eval_ops=update,
        final_ops=value,
        hooks=[training.StopAfterNEvalsHook(2)],
        max_number_of_evaluations=1,
    )
    assert found == 3.0 * (0 + 1) / 2
    assert training.wait_for_new_checkpoint(str(tmp_path), timeout=0) == path
    assert training.wait_for_new_checkpoint(str(tmp_path), path, seconds_to_sleep=0.01, timeout=0.02) is None
