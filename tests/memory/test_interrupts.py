"""Ctrl-C in the middle of an allocator's work: it is heard, and the books are in order."""

import signal
import time

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.memory import bfc_allocator


@pytest.fixture
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("where", ["insort", "bin_number", "bisect_left"])
def test_an_interrupt_waits_for_the_allocator(default_handler, monkeypatch, where):
    tf.use_machine("1x Tesla K20m")
    x = tf.placeholder(tf.float32, [16])
    with tf.device("/gpu:0"):
        y = x
        for _ in range(20):
            y = tf.tanh(y) * 2.0
    plain = getattr(bfc_allocator, where)
    calls = 0

    def interrupted(*arguments, **options):
        nonlocal calls
        calls += 1
        if calls == 5:
            signal.raise_signal(signal.SIGINT)
        return plain(*arguments, **options)

    with tf.Session() as session:
        feeds = {x: np.ones(16, np.float32)}
        session.run(y, feeds)
        (allocator,) = session.allocators.values()
        in_use = allocator.stats().bytes_in_use
        monkeypatch.setattr(bfc_allocator, where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.run(y, feeds)
            time.sleep(60)  # until it is heard
        assert calls >= 5
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        session.run(y, feeds)
        assert allocator.stats().bytes_in_use == in_use


def test_a_handler_of_the_programs_own_stays(default_handler):
    tf.use_machine("1x Tesla K20m")
    heard = []

    def handler(number, frame):
        heard.append(number)

    signal.signal(signal.SIGINT, handler)
    with tf.device("/cpu:0"):
        asked = tf.py_func(lambda: signal.raise_signal(signal.SIGINT) or np.float32(1), [], tf.float32)
    with tf.device("/gpu:0"):
        result = asked + 1.0
    with tf.Session() as session:
        assert session.run(result) == 2
    assert heard == [signal.SIGINT] and signal.getsignal(signal.SIGINT) is handler
