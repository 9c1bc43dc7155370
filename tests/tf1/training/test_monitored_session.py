"""Monitored sessions: how they begin, recover, stop and close, and what Ctrl-C leaves."""

import logging
import os
import signal
import subprocess
import sys
import textwrap

import pytest

import gpuplace as tf
from gpuplace.graphdef.file_writer import FileWriterCache
from gpuplace.tf1.training import monitored_session


@pytest.fixture(autouse=True)
def no_open_files():
    yield
    FileWriterCache.clear()


@pytest.fixture
def step():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def test_initialises_and_gives_the_graph_back(step):
    v = tf.Variable(3.0, name="v")
    local = tf.Variable(2, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with tf.train.MonitoredSession() as session:
        assert session.graph is tf.get_default_graph() and session.graph.finalized
        assert session.run([v, local]) == [3.0, 2]
    assert session.graph is None and session.should_stop() and not tf.get_default_graph().finalized
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.run(v)
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()


def test_a_graph_that_was_finalised_stays_so(step):
    tf.train.Scaffold().finalize()
    with tf.train.MonitoredSession() as session:
        session.run(step)
    assert tf.get_default_graph().finalized


def test_scaffolds_say_what_is_run(step):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(0.0, name="v")
    called = []
    scaffold = tf.train.Scaffold(
        init_op=tf.assign(v, x).op,
        init_feed_dict={x: 7.0},
        init_fn=lambda made, session: (
            called.append((made, session.run(v))),
            session.run(tf_step.initializer),
        ),
        local_init_op=tf.no_op(),
    )
    tf_step = tf.train.get_global_step()
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as session:
        assert session.raw_session().run(v) == 7.0
    assert called == [(scaffold, 7.0)]
    copy = tf.train.Scaffold(summary_op="mine", copy_from_scaffold=scaffold)
    assert copy.init_op is scaffold.init_op and copy.summary_op == "mine" and copy.saver is scaffold.saver
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold instance"):
        tf.train.Scaffold(copy_from_scaffold=3)


def test_variables_without_values_are_named(step):
    tf.Variable(0.0, name="forgotten")
    scaffold = tf.train.Scaffold(init_op=tf.no_op(name="nothing"))
    with pytest.raises(
        RuntimeError, match="Init op: nothing, .* error: Variables not initialized: .*forgotten"
    ):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))


def test_several_init_ops_are_too_many(step):
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.no_op())
    with pytest.raises(RuntimeError, match='More than one item in the collection "init_op"'):
        tf.train.MonitoredSession()


def test_training_sessions_restore_what_they_saved(step, tmp_path, caplog):
    caplog.set_level(logging.INFO, "tensorflow")
    for last in (5, 8):
        hooks = [tf.train.StopAtStepHook(last_step=last)]
        steps = []
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=tmp_path, hooks=hooks, save_checkpoint_steps=2, log_step_count_steps=3
        ) as session:
            while not session.should_stop():
                steps.append(int(session.run(step)))
        assert steps == list(range(1, 6) if last == 5 else range(6, 9))
        FileWriterCache.clear()
    path = str(tmp_path / "model.ckpt")
    messages = [record.getMessage() for record in caplog.records]
    assert [line for line in messages if line.startswith("Saving")] == [
        f"Saving checkpoints for {number} into {path}." for number in (0, 2, 4, 5, 5, 7, 8)
    ]
    assert f"Restoring parameters from {path}-5" in messages
    assert sum(line.startswith("global_step/sec: ") for line in messages) == 1


def test_what_a_training_session_does_is_chosen(step, tmp_path):
    def hooks_of(**arguments):
        session = tf.train.MonitoredTrainingSession(**arguments)
        session.close()
        FileWriterCache.clear()
        return [type(hook).__name__ for hook in session._hooks]

    every = ["StepCounterHook", "SummarySaverHook", "CheckpointSaverHook"]
    mine = tf.train.FeedFnHook(dict)
    assert hooks_of() == [] and hooks_of(hooks=[mine]) == ["FeedFnHook"]
    assert hooks_of(checkpoint_dir=tmp_path / "a", hooks=[mine]) == [*every, "FeedFnHook"]
    assert hooks_of(checkpoint_dir=tmp_path / "b", chief_only_hooks=[mine]) == ["FeedFnHook", *every]
    assert hooks_of(summary_dir=tmp_path / "c") == every[:2]
    assert (
        hooks_of(checkpoint_dir=tmp_path / "d", save_summaries_steps=0, log_step_count_steps=None)
        == every[2:]
    )
    assert (
        hooks_of(checkpoint_dir=tmp_path / "e", save_checkpoint_secs=None, save_summaries_secs=3) == every[:2]
    )


def test_workers_wait_for_the_chief(step, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    creator = tf.train.WorkerSessionCreator(max_wait_secs=0)
    with pytest.raises(tf.errors.DeadlineExceededError, match="Session was not ready after waiting 0 secs"):
        tf.train.MonitoredSession(creator)
    with pytest.raises(tf.errors.DeadlineExceededError):
        tf.train.MonitoredTrainingSession(is_chief=False, max_wait_secs=0)


def test_recovers_from_preemption(step, tmp_path):
    failures = [tf.errors.AbortedError(None, None, "gone"), tf.errors.UnavailableError(None, None, "away")]
    made = []

    class Fails(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            made.append(session)

        def before_run(self, run_context):
            if run_context.session.run(tf_step) == 2 and failures:
                raise failures.pop()

    tf_step = tf.train.get_global_step()
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=tmp_path, hooks=[Fails()], save_checkpoint_steps=1, log_step_count_steps=0
    ) as session:
        assert [int(session.run(step)) for _ in range(4)] == [1, 2, 3, 4]
    assert len(made) == 3 and made[0] is not made[2]
    with pytest.raises(tf.errors.AbortedError), tf.train.SingularMonitoredSession() as session:
        session.run(step)
        raise tf.errors.AbortedError(None, None, "not recovered from")


def test_the_end_of_the_input_ends_the_block(step):
    queue = tf.FIFOQueue(10, tf.int32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(3)])
    tf.train.add_queue_runner(runner)
    value = queue.dequeue()
    with tf.train.MonitoredSession() as session:
        assert session.run(value) == 3
    for error in (tf.errors.OutOfRangeError(None, None, "end"), StopIteration()):
        with tf.train.MonitoredSession() as session:
            raise error
    with pytest.raises(ValueError), tf.train.MonitoredSession() as session:
        raise ValueError


def test_errors_of_threads_stop_the_training(step):
    queue = tf.FIFOQueue(2, tf.float32, [()])
    x = tf.placeholder_with_default(tf.constant([1.0, 2.0]), [None])
    tf.train.add_queue_runner(
        tf.train.QueueRunner(queue, [queue.enqueue(tf.check_numerics(1.0 / tf.reduce_sum(x * 0.0), "bad"))])
    )
    value = queue.dequeue()
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"), tf.train.MonitoredSession() as session:
        while not session.should_stop():
            session.run(value)


def test_step_functions(step):
    def two_steps(step_context):
        step_context.session.run(step)
        return step_context.run_with_hooks(step)

    def stops(step_context):
        step_context.request_stop()

    hooks = [tf.train.StopAtStepHook(last_step=4)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        assert session.run_step_fn(two_steps) == 2 and not session.should_stop()
        assert session.run_step_fn(two_steps) == 4 and session.should_stop()
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
            session.run(step)
        with pytest.raises(ValueError, match="`step_fn` may either have one `step_context` argument"):
            session.run_step_fn(lambda session: None)
        with pytest.raises(StopIteration):
            session.run_step_fn(stops)


PROGRAM = """
    import logging, signal, sys, time
    import gpuplace as tf

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    tf.summary.scalar("value", step)
    hooks = [tf.train.StopAtStepHook(last_step=int(sys.argv[2]))]
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=sys.argv[1], hooks=hooks, save_checkpoint_steps=5, save_summaries_steps=1
    ) as session:
        while not session.should_stop():
            print(int(session.run(step)), flush=True)
            time.sleep(0.005)
"""


def test_ctrl_c_and_resume_lose_at_most_the_steps_since_the_last_save(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)]
    environment = {**os.environ, "GPUPLACE_MACHINE": "cpu"}
    with subprocess.Popen(
        [*command, "1000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as first:
        for line in first.stdout:
            if int(line) == 12:
                first.send_signal(signal.SIGINT)
                break
        steps, errors = first.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and first.returncode != 0
    last = max([12, *map(int, steps.split())])
    saved = int(tf.train.latest_checkpoint(tmp_path).rpartition("-")[2])
    assert last - 5 <= saved <= last + 1
    again = subprocess.run(
        [*command, str(last + 3)], capture_output=True, text=True, env=environment, check=True
    )
    assert list(map(int, again.stdout.split())) == list(range(saved + 1, last + 4))
    assert f"Restoring parameters from {tmp_path}/model.ckpt-{saved}" in again.stderr
    written = [
        event.step
        for path in sorted(tmp_path.glob("events*"), key=os.path.getmtime)
        for event in tf.train.summary_iterator(path)
        if event.WhichOneof("what") == "summary"
    ]
    assert {*range(1, saved + 1), *range(saved + 1, last + 4)} <= set(written)


def test_a_preemption_seen_by_a_thread_makes_a_new_session():
    count = tf.assign_add(tf.train.get_or_create_global_step(), 1)

    class Preempted(tf.train.SessionRunHook):
        sessions = 0

        def after_create_session(self, session, coord):
            self.sessions += 1
            if self.sessions == 1:
                coord.request_stop(tf.errors.AbortedError(None, None, "the worker went away"))

    hook = Preempted()
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert not session.should_stop()
        assert session.run(count) == 1
    assert hook.sessions == 2


def test_sessions_around_sessions_close_once_and_then_stop():
    class Inner:
        graph, sess_str, closed = "graph", "engine", 0

        def close(self):
            self.closed += 1
            raise tf.errors.UnavailableError(None, None, "gone")

    inner = Inner()
    around = monitored_session._WrappedSession(monitored_session._HookedSession(inner, []))
    assert (around.graph, around.sess_str, around.should_stop()) == ("graph", "engine", False)
    around.close()
    around.close()
    assert inner.closed == 1
    assert around.should_stop()
