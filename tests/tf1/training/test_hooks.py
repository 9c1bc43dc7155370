"""Hooks: when they do what, what they log and write, and what they refuse."""

import json
import logging

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import gpuplace as tf
from gpuplace.graphdef.file_writer import FileWriterCache
from gpuplace.tf1.training import timers


@pytest.fixture(autouse=True)
def no_open_files():
    yield
    FileWriterCache.clear()


@pytest.fixture
def lines(caplog):
    """A function that gives the lines logged since it was called last."""
    caplog.set_level(logging.INFO, "tensorflow")

    def since():
        found = [record.getMessage() for record in caplog.records if record.name == "tensorflow"]
        caplog.clear()
        return found

    return since


@pytest.fixture
def step():
    """An operation that adds 1 to the global step and gives it."""
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


def run_with(hooks, fetches, feeds=(None,) * 5, **arguments):
    """The values of a session's runs until it should stop or the feeds end."""
    values = []
    with tf.train.MonitoredSession(hooks=hooks, **arguments) as session:
        for feed in feeds:
            if session.should_stop():
                break
            values.append(session.run(fetches, feed))
    return values


class Clock:
    """A clock that is set."""

    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(timers, "time", made)
    return made


def test_timer_by_seconds(clock):
    timer = tf.train.SecondOrStepTimer(every_secs=2.0)
    assert timer.should_trigger_for_step(1) and timer.last_triggered_step() is None
    assert timer.update_last_triggered_step(1) == (None, None)
    clock.now += 1
    assert not timer.should_trigger_for_step(5)
    clock.now += 1
    assert timer.should_trigger_for_step(5) and not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(5) == (2.0, 4)
    timer.reset()
    assert timer.should_trigger_for_step(5) and timer.last_triggered_step() is None


def test_timer_takes_one_of_both():
    with pytest.raises(ValueError, match="Can not provide both every_secs and every_steps"):
        tf.train.SecondOrStepTimer(1.0, 1)
    with pytest.raises(ValueError, match="Either every_secs or every_steps should be provided"):
        tf.train.SecondOrStepTimer()


def test_order_of_calls(step):
    calls = []

    class Hook(tf.train.SessionRunHook):
        def __getattribute__(self, name):
            if name in ("begin", "after_create_session", "before_run", "after_run", "end"):
                calls.append(name)
            return super().__getattribute__(name)

    run_with([Hook()], step, (None, None))
    runs = ["before_run", "after_run"]
    assert calls == ["begin", "after_create_session", *runs, *runs, "end"]
    calls.clear()
    with pytest.raises(ZeroDivisionError), tf.train.MonitoredSession(hooks=[Hook()]) as session:
        session.run(step)
        raise ZeroDivisionError
    assert calls == ["begin", "after_create_session", *runs]


def test_hooks_share_one_run_with_the_program():
    x, y = tf.placeholder(tf.float32, [], "x"), tf.placeholder(tf.float32, [], "y")
    seen = []

    double = 2.0 * x

    class Doubles(tf.train.SessionRunHook):
        def before_run(self, run_context):
            assert run_context.original_args.fetches == [x, y]
            return tf.train.SessionRunArgs({"twice": double}, {y: 3.0})

        def after_run(self, run_context, run_values):
            seen.append(run_values.results)

    values = run_with([Doubles()], [x, y], [{x: 1.0}, {x: 4.0}])
    assert [list(map(float, value)) for value in values] == [[1.0, 3.0], [4.0, 3.0]]
    assert seen == [{"twice": 2.0}, {"twice": 8.0}]
    assert not tf.get_default_graph().finalized


def test_feeds_may_not_clash():
    x = tf.placeholder(tf.float32, [], "x")
    feeds = tf.train.FeedFnHook(lambda: {x: 2.0})
    assert run_with([feeds], x, (None,)) == [2.0]
    with pytest.raises(RuntimeError, match="Same tensor is fed by a SessionRunHook and user"):
        run_with([feeds], x, ({x: 1.0},))
    with pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"):
        run_with([feeds, tf.train.FeedFnHook(lambda: {x: 3.0})], x, (None,))


def test_stop_at_step(step):
    assert run_with([tf.train.StopAtStepHook(last_step=3)], step) == [1, 2, 3]
    assert run_with([tf.train.StopAtStepHook(num_steps=2)], step) == [1, 2]
    with pytest.raises(ValueError, match="One of num_steps or last_step must be specified"):
        tf.train.StopAtStepHook()
    with pytest.raises(ValueError, match="Only one of num_steps or last_step"):
        tf.train.StopAtStepHook(1, 2)


def test_hooks_need_a_global_step(tmp_path):
    for hook, name in (
        (tf.train.StopAtStepHook(1), "StopAtStepHook"),
        (tf.train.StepCounterHook(), "StepCounterHook"),
        (tf.train.SummarySaverHook(1, summary_op=[]), "SummarySaverHook"),
        (tf.train.CheckpointSaverHook(tmp_path, save_steps=1), "CheckpointSaverHook"),
        (tf.train.ProfilerHook(1, output_dir=tmp_path), "ProfilerHook"),
        (tf.train.GlobalStepWaiterHook(1), "_GlobalStepWaiterHook"),
    ):
        with pytest.raises(RuntimeError, match=f"Global step should be created to use {name}"):
            hook.begin()


def test_logging(step, lines):
    loss = tf.multiply(tf.cast(step, tf.float32), 0.1, name="loss")
    hook = tf.train.LoggingTensorHook({"loss": "loss", "step": step}, every_n_iter=2)
    run_with([hook], loss)
    found = [line for line in lines() if "=" in line]
    assert found[0] == "loss = 0.1, step = 1"
    assert [line.split(" (")[0] for line in found[1:]] == ["loss = 0.3, step = 3", "loss = 0.5, step = 5"]
    assert all(line.endswith(" sec)") for line in found[1:])
    run_with([tf.train.LoggingTensorHook(["loss:0"], at_end=True)], step)
    assert [line for line in lines() if "=" in line] == ["loss:0 = 0.6"]
    run_with(
        [tf.train.LoggingTensorHook([loss], 5, formatter=lambda values: f"<{values[loss]:.2f}>")],
        step,
        (None,),
    )
    assert "<0.10>" in lines()


def test_logging_refuses(step):
    for wrong in ({}, {"every_n_iter": 1, "every_n_secs": 1}):
        with pytest.raises(ValueError, match="exactly one of every_n_iter and every_n_secs"):
            tf.train.LoggingTensorHook([], **wrong)
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        tf.train.LoggingTensorHook([], every_n_iter=0)
    tf.split([1, 2], 2, name="halves")
    with pytest.raises(ValueError, match="Name halves is ambiguous"):
        tf.train.LoggingTensorHook(["halves"], every_n_iter=1).begin()
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="should have graph attribute that is equal to current graph"):
        tf.train.LoggingTensorHook([other], every_n_iter=1).begin()


def test_nan(lines):
    x = tf.placeholder(tf.float32, [])
    feeds = [{x: 1.0}, {x: np.nan}, {x: 2.0}]
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="^NaN loss during training.$"):
        run_with([tf.train.NanTensorHook(x)], x, feeds)
    assert lines()[-1] == "Model diverged with loss = NaN."
    assert len(run_with([tf.train.NanTensorHook(x, fail_on_nan_loss=False)], x, feeds)) == 2


def test_final_ops(step):
    hook = tf.train.FinalOpsHook([step])
    run_with([hook], step, (None, None))
    assert hook.final_ops_values == [3]

    def ends(_):
        raise tf.errors.OutOfRangeError(None, None, "the end")

    class Session:
        run = staticmethod(lambda *_, **__: ends(_))

    with pytest.raises(tf.errors.OutOfRangeError):
        tf.train.FinalOpsHook([step]).end(Session)


def test_waiting_for_a_step(step, lines, monkeypatch):
    slept = []
    hook = tf.train.GlobalStepWaiterHook(2)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        raw = session._tf_sess()
        monkeypatch.setattr("time.sleep", lambda seconds: slept.append(raw.run(step)))
        assert session.run(step) == 3
    assert slept == [1, 2] and "Waiting for global step 2 before starting training." in lines()


def test_step_counter(step, tmp_path, lines, clock):
    hook = tf.train.StepCounterHook(every_n_steps=2, output_dir=tmp_path)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(5):
            session.run(step)
            clock.now += 0.25
    FileWriterCache.clear()
    assert [line for line in lines() if "/sec" in line] == ["global_step/sec: 4"] * 2
    events = EventAccumulator(str(tmp_path)).Reload().Scalars("global_step/sec")
    assert [(event.step, event.value) for event in events] == [(3, 4.0), (5, 4.0)]
    with pytest.raises(ValueError, match="exactly one of every_n_steps and every_n_secs"):
        tf.train.StepCounterHook(every_n_steps=1, every_n_secs=1)


def test_a_step_that_does_not_count_is_said_a_few_times(lines):
    tf.train.get_or_create_global_step()
    run_with([tf.train.StepCounterHook()], tf.constant(1), (None,) * 20)
    warnings = [line for line in lines() if line.startswith("It seems that global step")]
    assert len(warnings) == 5 and "Current value (could be stable): 0 vs previous value: 0." in warnings[0]


def test_summaries(step, tmp_path):
    tf.summary.scalar("value", step)
    hook = tf.train.SummarySaverHook(2, output_dir=tmp_path, summary_op=tf.summary.merge_all())
    run_with([hook], step)
    FileWriterCache.clear()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in events.Scalars("value")] == [(1, 1.0), (3, 3.0), (5, 5.0)]
    with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op"):
        tf.train.SummarySaverHook(1)


def test_checkpoints(step, tmp_path, lines):
    heard = []

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self):
            heard.append("begin")

        def before_save(self, session, global_step_value):
            heard.append(("before", global_step_value))

        def after_save(self, session, global_step_value):
            heard.append(("after", global_step_value))
            return global_step_value >= 4

        def end(self, session, global_step_value):
            heard.append(("end", global_step_value))

    scaffold = tf.train.Scaffold()
    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=2, scaffold=scaffold, listeners=[Listener()])
    creator = tf.train.ChiefSessionCreator(scaffold)
    assert run_with([hook], step, session_creator=creator, feeds=(None,) * 9) == [1, 2, 3, 4]
    saves = [event for number in (0, 2, 4) for event in (("before", number), ("after", number))]
    assert heard == ["begin", *saves, ("end", 4)]
    found = lines()
    path = tmp_path / "model.ckpt"
    assert found[0] == "Create CheckpointSaverHook." and "Graph was finalized." in found
    assert [line for line in found if line.startswith("Saving")] == [
        f"Saving checkpoints for {number} into {path}." for number in (0, 2, 4)
    ]
    assert found[-1].startswith("A CheckpointSaverListener requested that training be stopped.")
    assert tf.train.latest_checkpoint(tmp_path) == f"{path}-4"
    assert (tmp_path / "graph.pbtxt").read_text().startswith("node {")
    FileWriterCache.clear()
    logs = [
        (event.step, event.session_log.checkpoint_path)
        for file in tmp_path.glob("events*")
        for event in tf.train.summary_iterator(file)
        if event.WhichOneof("what") == "session_log"
    ]
    assert logs == [(number, str(path)) for number in (0, 2, 4)]


def test_checkpoints_need_one_saver(step, tmp_path):
    with pytest.raises(ValueError, match="You cannot provide both saver and scaffold"):
        tf.train.CheckpointSaverHook(tmp_path, 1, saver=object(), scaffold=tf.train.Scaffold())
    hook = tf.train.CheckpointSaverHook(tmp_path, 1)
    with pytest.raises(RuntimeError, match="No items in collection savers"):
        hook._saver_to_use()
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item in collection savers"):
        hook._saver_to_use()


def test_profiles(step, tmp_path, lines):
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=tmp_path)
    run_with([hook], step)
    FileWriterCache.clear()
    files = sorted(tmp_path.glob("timeline-*.json"))
    assert files and [line for line in lines() if line.startswith("Saving timeline")] == [
        f"Saving timeline for {file.stem.split('-')[1]} into '{file}'." for file in files
    ]
    names = {event.get("name") for event in json.loads(files[0].read_text())["traceEvents"]}
    assert "AssignAdd" in names
    tags = EventAccumulator(str(tmp_path)).Reload().Tags()["run_metadata"]
    assert tags == [f"step_{file.stem.split('-')[1]}" for file in files]


def test_hooks_of_runs_of_several_steps(step, tmp_path, lines):
    scaffold = tf.train.Scaffold()
    hook = tf.train.CheckpointSaverHook(tmp_path, save_steps=4, scaffold=scaffold)
    hook._set_steps_per_run(2)
    with tf.control_dependencies([hook_step := tf.identity(tf.train.get_global_step())]):
        add = tf.assign_add(tf.train.get_global_step(), 2)
    tf.add_to_collection("global_step_read_op_cache", hook_step)  # what hooks see is the step before
    run_with([hook], add, session_creator=tf.train.ChiefSessionCreator(scaffold))
    saved = [line.split()[3] for line in lines() if line.startswith("Saving")]
    assert saved == ["0", "4", "8", "10"]  # with one step a run, 4 would be seen at 6
