"""Supervisors and session managers."""

import logging
import threading

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import gpuplace as tf


@pytest.fixture
def step():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def test_a_managed_session_saves_summarises_and_resumes(step, tmp_path, caplog):
    caplog.set_level(logging.INFO, "tensorflow")
    tf.summary.scalar("value", tf.train.get_global_step())
    wanted = 0
    for _ in range(2):
        wanted += 4
        tf.get_default_graph()._unsafe_unfinalize()
        supervisor = tf.train.Supervisor(logdir=tmp_path, save_model_secs=0.02, save_summaries_secs=0.02)
        assert tf.get_default_graph().finalized and supervisor.save_path == str(tmp_path / "model.ckpt")
        is_saved = threading.Event()
        save = supervisor.saver.save

        def saving(session, path, save=save, is_saved=is_saved, wanted=wanted, **arguments):
            found = save(session, path, **arguments)
            if found.endswith(f"-{wanted}"):
                is_saved.set()
            return found

        supervisor.saver.save = saving
        with supervisor.managed_session() as session:
            while not supervisor.should_stop():
                if session.run(step) == wanted:
                    assert is_saved.wait(20)
                    supervisor.request_stop()
        del supervisor.saver.save
    messages = [record.getMessage() for record in caplog.records]
    assert messages.count("Starting standard services.") == messages.count("Starting queue runners.") == 2
    path = tmp_path / "model.ckpt"
    assert (
        f"Saving checkpoint to path {path}" in messages and f"Restoring parameters from {path}-4" in messages
    )
    assert any(line.startswith("Recording summary at step") for line in messages)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Scalars("value") and events.Scalars("global_step/sec") and events.Graph().node
    assert (tmp_path / "graph.pbtxt").exists()


def test_what_the_block_raises_is_raised_again(step):
    supervisor = tf.train.Supervisor()
    with pytest.raises(ZeroDivisionError), supervisor.managed_session() as session:
        session.run(step)
        raise ZeroDivisionError
    with supervisor.managed_session() as session:
        raise tf.errors.OutOfRangeError(None, None, "the end of the input")
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(step)


def test_threads_of_a_supervisor(step):
    supervisor = tf.train.Supervisor()
    seen = []

    def look(session, least=2):
        seen.append(int(session.run(step)))
        if len(seen) > least:
            supervisor.request_stop()

    with supervisor.managed_session() as session:
        supervisor.loop(0.001, look, [session], {"least": 3})
        supervisor.wait_for_stop()
    assert seen == [1, 2, 3, 4]

    def fails():
        raise KeyError("in a thread")

    with pytest.raises(KeyError, match="in a thread"), supervisor.managed_session():
        supervisor.Loop(None, fails)
        supervisor.WaitForStop()


def test_summaries_of_the_program(step, tmp_path):
    summary = tf.summary.scalar("mine", step)
    supervisor = tf.train.Supervisor(logdir=tmp_path, summary_op=None, save_model_secs=0)
    with supervisor.managed_session() as session:
        supervisor.summary_computed(session, session.run(summary))
        supervisor.SummaryComputed(session, session.run(summary), 7)
    events = EventAccumulator(str(tmp_path)).Reload().Scalars("mine")
    assert [(event.step, event.value) for event in events] == [(1, 1.0), (7, 2.0)]
    tf.get_default_graph()._unsafe_unfinalize()
    without = tf.train.Supervisor()
    with without.managed_session() as session, pytest.raises(RuntimeError, match="requires a summary writer"):
        without.summary_computed(session, b"")


def test_what_is_given_is_taken(step):
    made = {name: tf.no_op(name=name) for name in ("ready_op", "init_op", "local_init_op", "summary_op")}
    supervisor = tf.train.Supervisor(saver=None, global_step=None, **made)
    assert all(getattr(supervisor, name) is op for name, op in made.items() if name != "local_init_op")
    assert supervisor.saver is None and supervisor.global_step is None and supervisor.is_chief
    assert tf.get_collection(tf.GraphKeys.INIT_OP) == [] and supervisor.summary_writer is None


def test_workers_need_devices(step):
    tf.Variable(1.0)
    with pytest.raises(ValueError, match="When using replicas, all Variables must have their device set"):
        tf.train.Supervisor(is_chief=False)
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            tf.Variable(1.0)
        worker = tf.train.Supervisor(is_chief=False, logdir="nowhere")
        assert worker.summary_writer is None and worker.save_path is None
        with pytest.raises(RuntimeError, match="Only chief supervisor can start standard services"):
            worker.start_standard_services(None)


def test_basic_train_loop(step):
    supervisor = tf.train.Supervisor()
    seen = []

    def train(session, last, extra=0):
        seen.append(int(session.run(step)) + extra)
        if len(seen) == 2:
            raise tf.errors.AbortedError(None, None, "a process went away")
        if seen[-1] - extra == last:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train, [3], {"extra": 10})
    assert seen == [11, 12, 11, 12, 13]


def test_session_managers(step, tmp_path, monkeypatch):
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    ready = tf.report_uninitialized_variables()
    init = tf.global_variables_initializer()
    manager = tf.train.SessionManager(ready_op=ready)
    with pytest.raises(
        RuntimeError, match="Model is not initialized and no init_op or init_fn or local_init_op"
    ):
        manager.prepare_session("")
    with pytest.raises(
        ValueError, match="Can not provide both checkpoint_dir and checkpoint_filename_with_path"
    ):
        manager.prepare_session("", init, saver, tmp_path, tmp_path / "x")
    with manager.prepare_session("", init, saver, tmp_path) as session:
        session.run(v.assign(5.0))
        path = saver.save(session, tmp_path / "model")
    session, is_ready = manager.recover_session("", saver, tmp_path)
    with session:
        assert is_ready and session.run(v) == 5.0
    with manager.prepare_session("", saver=saver, checkpoint_filename_with_path=path) as session:
        assert session.run(v) == 5.0
    session, is_ready = manager.recover_session("", saver, tmp_path / "empty")
    assert not is_ready
    session.close()
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    waiting = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=3)
    session, is_ready = waiting.recover_session(
        "", saver, tmp_path / "empty", wait_for_checkpoint=True, max_wait_secs=5
    )
    assert waits == [3, 3] and not is_ready
    with pytest.raises(
        ValueError, match="If you pass a ready_for_local_init_op you must also pass a local_init_op"
    ):
        tf.train.SessionManager(ready_for_local_init_op=ready)
