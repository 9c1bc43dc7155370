"""Ctrl-C and ``Session.close()`` end a step before its next nodes, on one device and on several at once."""

import os
import signal
import threading

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.files import file_system
from gpuplace.numerics.threads import available_cores
from gpuplace.runtime.plan.parallel_plan import ParallelPlan

OPS = 4000
"""Products of 256 by 256 in a row: far more than anyone waits for."""


class Endless:
    """A step that says when it has begun, and on each device, in a variable, when it has come to its end.

    Args:
        devices: the devices.
        fails: whether the last one fails soon.
    """

    def __init__(self, devices, fails=False):
        self.begun = threading.Event()
        with tf.device("/cpu:0"):
            self.start = tf.py_func(self._begin, [], tf.float32)
            self.start.set_shape([256, 256])
        self.ends, assigns = [], []
        for device in devices:
            with tf.device(device):
                end = tf.Variable(0.0, name="end")
                value = self.start
                if fails and device == devices[-1]:
                    value = tf.check_numerics(value / 0.0, "no number")
                for _ in range(OPS):
                    value = tf.matmul(value, self.start)
                with tf.control_dependencies([value]):
                    assigns.append(end.assign(1.0).op)
                self.ends.append(end)
        self.op = tf.group(*assigns)
        self.short = tf.matmul(self.start, self.start)[0, 0]

    def _begin(self):
        self.begun.set()
        return np.eye(256, dtype=np.float32)


def plans(session):
    return [type(plan) for plan in session._plans.values()]


CASES = pytest.mark.parametrize(
    "devices",
    [
        ["/gpu:0"],
        ["/cpu:0"],
        pytest.param(
            ["/gpu:0", "/gpu:1"], marks=pytest.mark.skipif(available_cores() < 2, reason="one core: no lanes")
        ),
    ],
    ids="gpu cpu gpus".split(),
)


@CASES
def test_ctrl_c(devices, monkeypatch):
    tf.use_machine("2x Tesla K20m")
    step = Endless(devices)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    session = tf.Session()
    try:
        session.run(tf.global_variables_initializer())

        def interrupt(ends_waits):
            step.begun.wait()
            if ends_waits:
                os.kill(os.getpid(), signal.SIGINT)
            else:  # as a signal that comes just before the main thread begins to wait
                signal.pthread_kill(threading.get_ident(), signal.SIGINT)

        for ends_waits in (True, False):
            step.begun.clear()
            helper = threading.Thread(target=interrupt, args=[ends_waits])
            helper.start()
            with pytest.raises(KeyboardInterrupt):
                session.run(step.op)
            helper.join()
            assert (ParallelPlan in plans(session)) == (len(devices) > 1)
            assert session.run(step.ends) == [0.0] * len(devices)
            assert session.run(step.short) == 1
    finally:
        signal.signal(signal.SIGINT, before)
        session.close()


@CASES
@pytest.mark.parametrize("form", ["run", "callable", "traced"])
def test_close(devices, form):
    tf.use_machine("2x Tesla K20m")
    step = Endless(devices)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    runs = {
        "run": lambda: session.run(step.op),
        "callable": session.make_callable(step.op),
        "traced": lambda: session.run(
            step.op, options=tf.RunOptions(trace_level=3), run_metadata=tf.RunMetadata()
        ),
    }

    def close():
        step.begun.wait()
        session.close()

    helper = threading.Thread(target=close)
    helper.start()
    with pytest.raises(tf.errors.CancelledError, match="cancelled"):
        runs[form]()
    helper.join()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        session.run(step.op)


@pytest.mark.skipif(available_cores() < 2, reason="one core: no lanes")
def test_lanes_stop_before_their_next_node_when_one_fails():
    """Not only where they wait for each other."""
    tf.use_machine("2x Tesla K20m")
    step = Endless(["/gpu:0", "/gpu:1"], fails=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            session.run(step.op)
        assert ParallelPlan in plans(session)
        assert session.run(step.ends) == [0.0, 0.0]


class Alarm(TimeoutError):
    """What the program's own handler raises: for TensorFlow's file errors a system error like others."""


@pytest.mark.parametrize("place", ["function", "file"])
def test_the_exception_of_a_handler_arrives_as_it_is(place, tmp_path, monkeypatch):
    raised = []

    def handler(number, frame):
        raised.append(Alarm("time is up"))
        raise raised[-1]

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with tf.Session() as session:
            if place == "function":
                ring = tf.py_func(lambda: signal.raise_signal(signal.SIGALRM), [], [])
                run = lambda: session.run(ring)  # noqa: E731
            else:
                path = tmp_path / "text"
                path.write_text("text")
                plain = file_system.text_of
                monkeypatch.setattr(
                    file_system, "text_of", lambda name: signal.raise_signal(signal.SIGALRM) or plain(name)
                )
                run = lambda: session.run(tf.read_file(str(path)))  # noqa: E731
            with pytest.raises(Alarm) as caught:
                run()
            assert caught.value is raised[-1] and len(raised) == 1
    finally:
        signal.signal(signal.SIGALRM, before)
