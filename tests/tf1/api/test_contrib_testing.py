"""``tf.contrib.testing``, and what hooks and savers take of programs that test them."""

import unittest

import pytest

import gpuplace as tf
from gpuplace import tf_logging
from gpuplace.tf1.api.contrib import testing


def _summary(tag: str, value: float) -> tf.Summary:
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def test_a_hook_logs_through_the_function_that_a_program_put_there(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    monkeypatch.setattr(tf_logging, "info", lambda message, *args: lines.append(message % args))
    with tf.Graph().as_default():
        tf.constant(42.0, name="answer")
        tf.train.get_or_create_global_step()
        hook = tf.train.LoggingTensorHook(["answer:0"], every_n_iter=1)
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run("answer:0")
    assert tf.logging is tf_logging
    assert "answer:0 = 42.0" in lines
    assert "Graph was finalized." in lines


def test_every_line_of_a_program_counts_its_own_messages(caplog: pytest.LogCaptureFixture) -> None:
    for step in range(5):
        tf.logging.log_first_n(tf.logging.WARN, "first %d", 2, step)
        tf.logging.log_every_n(tf.logging.WARN, "every %d", 2, step)
        tf.logging.log_if(tf.logging.WARN, "odd %d", step % 2, step)
    assert [record.getMessage() for record in caplog.records] == [
        *("first 0", "every 0", "first 1", "odd 1", "every 2", "odd 3", "every 4")
    ]
    assert {record.filename for record in caplog.records} == {"test_contrib_testing.py"}


def test_a_fake_writer_keeps_what_the_cache_would_write(tmp_path) -> None:
    folder, case = str(tmp_path / "logs"), unittest.TestCase()
    testing.FakeSummaryWriter.install()
    try:
        with tf.Graph().as_default() as graph:
            writer = tf.summary.FileWriterCache.get(folder)
            tf.train.get_or_create_global_step()
            merged = tf.summary.scalar("loss", 0.5)
            hook = tf.train.SummarySaverHook(save_steps=1, output_dir=folder, summary_op=merged)
            with tf.train.MonitoredSession(hooks=[hook]) as session:
                session.run(tf.no_op() if graph.finalized is False else merged)
        with pytest.raises(ValueError, match="already installed"):
            testing.FakeSummaryWriter.install()
    finally:
        testing.FakeSummaryWriter.uninstall()
        tf.summary.FileWriterCache.clear()
    assert not (tmp_path / "logs").exists()
    writer.assert_summaries(case, folder, graph, expected_summaries={0: {"loss": 0.5}})
    with pytest.raises(AssertionError):
        writer.assert_summaries(case, expected_summaries={0: {"loss": 0.25}})
    with pytest.raises(AssertionError, match="Missing step 7"):
        writer.assert_summaries(case, expected_summaries={7: {}})
    with pytest.raises(ValueError, match="Invalid global_step -1"):
        writer.add_graph(graph, -1)
    with pytest.raises(ValueError, match="not installed"):
        testing.FakeSummaryWriter.uninstall()


def test_the_newest_event_file_gives_the_last_value_of_each_tag(tmp_path) -> None:
    folder = str(tmp_path)
    assert testing.latest_event_file(folder) is None
    assert testing.latest_events(folder) == []
    with tf.summary.FileWriter(folder) as writer:
        for step, loss in ((1, 3.0), (2, 1.5)):
            writer.add_summary(_summary("loss", loss), step)
    found = testing.latest_summaries(folder)
    assert testing.simple_values_from_events(found, ["loss", "other"]) == {"loss": 1.5}
    testing.assert_summary(["loss"], {"loss": 1.501}, found[-1].summary)
    with pytest.raises(AssertionError, match=r"1\.5 is not 2"):
        testing.assert_summary(["loss"], {"loss": 2.0}, found[-1].summary)
    with pytest.raises(ValueError, match="Expected tags"):
        testing.assert_summary(["loss", "rate"], {}, found[-1].summary)


def test_a_saver_takes_the_uri_of_a_file(tmp_path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(3.0)
        session.run(variable.initializer)
        saver = tf.train.Saver()
        saver.save(session, f"file://{tmp_path}/model", global_step=1)
        session.run(variable.assign(0.0))
        saver.restore(session, f"file://{tmp_path}/model-1")
        assert session.run(variable) == 3.0
        assert tf.train.latest_checkpoint(f"file://{tmp_path}") == f"{tmp_path}/model-1"
        assert tf.gfile.Exists(f"file://{tmp_path}/model-1.index")
