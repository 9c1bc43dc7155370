"""Exceptions of the program's own signal handlers, at random instants: they arrive, and everything works as before.

    python -m tests.soak.interrupts --interrupts 2000            # SIGALRM
    python -m tests.soak.interrupts --interrupts 2000 --sigint   # SIGINT, from a timer in another thread

A task is interrupted while it runs a step, opens and closes a session, traces, estimates, advises, sweeps or builds a
graph. The handler's exception has to reach the program as it is. Then the same task gives the answer that it gave
before the first interrupt, and so does a step on two GPUs; nothing is left on the stacks of default graphs and
sessions, nor in the memory of the GPUs, garbage is collected, and NumPy warns as before.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from typing import Any

import numpy as np

import gpuplace as tf
from gpuplace.graph import stacks
from gpuplace.runtime.memory.process_state import process_state

TASKS = {
    "run": 50,
    "loop": 10,
    "open": 12,
    "trace": 10,
    "build": 10,
    "grow": 10,
    "estimate": 5,
    "advise": 1,
    "sweep": 2,
}
"""Task -> how often it is chosen."""
_AFTER = 1.2
"""The latest instant of an interrupt, in durations of the task."""


_GROWTHS = 30
"""How often a graph grows before there is another one."""


class Interrupt(Exception):
    """What the handler raises."""


class Interrupts:
    """Tasks that are interrupted.

    Args:
        number: the signal: SIGALRM from a timer of the system, or SIGINT from another thread.
        seed: decides about tasks and instants.
    """

    def __init__(self, number: signal.Signals, seed: int = 0) -> None:
        self.number = number
        self.random = random.Random(seed)
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        self.raised = 0
        self.interrupted_file = ""
        self.growths = 0
        self._is_armed = False
        tf.use_machine("2x Tesla K40c")
        self._build()
        self.expected: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}
        for name in TASKS:
            getattr(self, name)()
            started = time.perf_counter()
            self.expected[name] = getattr(self, name)()
            self.seconds[name] = time.perf_counter() - started
        gc.collect()
        self.resting = self._state()

    def _build(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.placeholder(tf.float32, [32, 32], name="x")
            with tf.device("/gpu:0"):
                self.weights = tf.get_variable("weights", [32, 32], initializer=tf.ones_initializer())
                left = tf.tanh(tf.matmul(self.x, self.weights)) * 2.0
                self.update = self.weights.assign(self.weights * 1.0)
            with tf.device("/gpu:1"):
                right = tf.reshape(tf.exp(-tf.square(self.x)), [16, 64])
            self.sum = tf.add(left, tf.reshape(right, [32, 32]), name="sum")
            with tf.device("/gpu:0"):
                _, self.looped = tf.while_loop(
                    lambda i, y: i < 8, lambda i, y: (i + 1, tf.tanh(y + self.weights)), [0, self.x]
                )
            self.start = tf.global_variables_initializer()
        self.value = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(32, 32)
        self.session = tf.Session(graph=self.graph)
        self.session.run(self.start)

    # The tasks

    def run(self) -> Any:
        found, _ = self.session.run([self.sum, self.update], {self.x: self.value})
        return found.tobytes()

    def loop(self) -> Any:
        return self.session.run(self.looped, {self.x: self.value}).tobytes()

    def open(self) -> Any:
        with self.graph.as_default(), tf.Session() as session:
            session.run(self.start)
            return session.run(self.sum, {self.x: self.value}).tobytes()

    def trace(self) -> Any:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
        found = self.session.run(self.sum, {self.x: self.value}, options, metadata)
        nodes = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
        return found.tobytes(), sorted(nodes)

    def build(self) -> Any:
        with tf.Graph().as_default() as graph, tf.device("/gpu:1"), tf.name_scope("net"):
            x = tf.placeholder(tf.float32, [None, 8])
            with tf.variable_scope("layer"):
                hidden = tf.layers.dense(x, 8, tf.nn.relu)
            loss = tf.reduce_mean(tf.cond(tf.reduce_sum(x) > 0, lambda: hidden * 2.0, lambda: hidden))
            tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        return graph.as_graph_def().SerializeToString(deterministic=True)

    def grow(self) -> Any:
        """Adds to the process's default graph, at its outermost scope, and runs what was added."""
        if not self.growths % _GROWTHS:
            tf.reset_default_graph()
        self.growths += 1
        with tf.device("/gpu:0"):
            y = tf.tanh(tf.reshape(tf.range(6.0), [2, 3]) * 0.25)
        with tf.name_scope("scope"):
            z = tf.reduce_sum(tf.matmul(y, y, transpose_b=True) + 1.0)
        assert tf.get_default_graph().scopes.of_thread.name_stack == ""
        with tf.Session() as session:
            return session.run(z).tobytes(), z.name.partition("/")[0].rpartition("_")[0] in ("", "scope")

    def estimate(self) -> Any:
        estimate = tf.estimate(self.graph, self.sum, {self.x: self.value}, "2x Tesla K40c")
        return str(estimate)

    def advise(self) -> Any:
        advice = tf.advise(self.graph, self.sum, {self.x: self.value}, "2x Tesla K40c", steps=20, seconds=60)
        return [(move.scope, str(move)) for move in advice.moves]

    def sweep(self) -> Any:
        frame = tf.sweep({"net": self.graph}, ["2x K80", "cpu"], workers=1)
        return frame.drop(columns=["seconds"]).to_csv()

    # The interrupts

    def _handler(self, number: int, frame: Any) -> None:
        if self._is_armed:
            self._is_armed = False
            self.raised += 1
            self.interrupted_file = frame.f_code.co_filename
            raise Interrupt

    def _state(self) -> Any:
        in_use = [allocator.stats().bytes_in_use for allocator in process_state.allocators().values()]
        return (
            len(stacks.graph_stack.stack),
            len(stacks.session_stack.stack),
            in_use,
            gc.isenabled(),
            sorted(np.geterr().items()),
            tf.get_default_graph().scopes.of_thread.name_stack,
            [scope.obj for scope in tf.get_default_graph().scopes.stacks().devices],
        )

    def _interrupt(self, name: str) -> str:
        """Interrupts a task once; says how it ended."""
        delay = self.random.random() * self.seconds[name] * _AFTER + 1e-6
        timer: Any = None
        if self.number != signal.SIGALRM:
            go = threading.Event()

            def later() -> None:
                go.wait()
                time.sleep(delay)
                os.kill(os.getpid(), self.number)

            timer = threading.Thread(target=later)
            timer.start()
        before = self.raised
        end = "was over"
        try:
            self._is_armed = True
            if timer is None:
                signal.setitimer(signal.ITIMER_REAL, delay)
            else:
                go.set()
            found = getattr(self, name)()
            self._is_armed = False
            if self.raised > before:
                # pandas compares types in functions of C that drop exceptions.
                end = "lost in pandas" if "/pandas/" in self.interrupted_file else "lost"
            elif found != self.expected[name]:
                end = "wrong"
        except Interrupt:
            end = "interrupted"
        except BaseException as error:
            end = f"became {type(error).__name__}: {error}"
        self._is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        if timer is not None:
            timer.join()
        return end

    def round(self) -> None:
        """Interrupts a task, and looks whether everything works."""
        (name,) = self.random.choices(list(TASKS), list(TASKS.values()))
        end = self._interrupt(name)
        self.counts[f"{name} {end}"[:60]] += 1
        if end not in ("interrupted", "was over", "lost in pandas"):
            self.faults.append(f"{name} {end}")
        for again in dict.fromkeys((name, "run")):
            try:
                if getattr(self, again)() != self.expected[again]:
                    self.faults.append(f"{again} gives another answer after an interrupt of {name}")
            except Exception as error:
                self.faults.append(
                    f"{again} after an interrupt of {name}: {type(error).__name__}: {str(error)[:200]}"
                )
        state = self._state()
        if state != self.resting:  # what cycles hold is in use until they are collected
            gc.collect()
            state = self._state()
        if state != self.resting:
            self.faults.append(f"after an interrupt of {name}: {state}, not {self.resting}")
            self.resting = state

    def interrupt(self, count: int, seconds: float = 0.0) -> list[str]:
        """Goes on until a handler has raised so many exceptions; returns what was wrong."""
        before = signal.signal(self.number, self._handler)
        unraisable, sys.unraisablehook = sys.unraisablehook, self._unraisable
        started = time.monotonic()
        try:
            while self.raised < count and len(self.faults) < 20:
                self.round()
                if seconds and time.monotonic() > started + seconds:
                    break
        finally:
            sys.unraisablehook = unraisable
            signal.signal(self.number, before)
            self.session.close()
        print(f"{self.raised:,} interrupts by {self.number.name}: {dict(sorted(self.counts.items()))}")
        return self.faults

    def _unraisable(self, problem: Any) -> None:
        self.faults.append(f"dropped: {problem.exc_value!r} in {problem.object!r}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--interrupts", type=int, default=2000)
    parser.add_argument("--sigint", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    number = signal.SIGINT if options.sigint else signal.SIGALRM
    faults = Interrupts(number, options.seed).interrupt(options.interrupts)
    for fault in faults:
        print("FAULT", fault)
    print("interrupts:", "failed" if faults else "passed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
