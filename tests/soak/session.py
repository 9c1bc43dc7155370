"""Many runs of one session: right answers, nothing left behind, nobody stuck.

    python -m tests.soak.session --runs 1000000
    python -m tests.soak.session --threads 8 --minutes 10

The first runs one small plan in one thread. In the second many threads share a session: they run plans of one and of
several devices, make new ones while the graph grows, fail, have a time limit, trace, and close sessions in each
other's hands. In both, what the process holds (memory, Python objects, bytes on GPUs) is compared between a time when
all is warm and the end. A thread that makes no progress for a minute ends the program with all stacks.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import functools
import gc
import os
import random
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import gpuplace as tf

STUCK_SECONDS = 60.0
MAX_GROWN_OBJECTS = 2_000
MAX_GROWN_RSS = 16 << 20
"""Bytes."""
ALLOCATION = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"}
"""One heap without pools, so that what is free can be given back to the system and what still grows is a leak."""
MAX_GROWN_TRACED = 64 << 10


class Usage(NamedTuple):
    """What the process holds."""

    rss: int
    """Resident memory in bytes; 0 where the system does not tell."""
    objects: int
    """Objects that Python's collector knows."""
    gpu_bytes: int
    """Bytes in use on simulated GPUs."""


def usage(session: Any) -> Usage:
    """What is held now, garbage collected."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what is free but kept for later is no leak
    held = sum(allocator.stats().bytes_in_use for allocator in session.allocators.values())
    return Usage(resident_bytes(), len(gc.get_objects()), held)


def resident_bytes() -> int:
    """Resident memory; 0 where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def complain(before: Usage, after: Usage) -> list[str]:
    """What has grown too much."""
    found = []
    if after.objects - before.objects > MAX_GROWN_OBJECTS:
        found.append(f"{after.objects - before.objects} more objects")
    if after.rss - before.rss > MAX_GROWN_RSS:
        found.append(f"{(after.rss - before.rss) >> 20} MiB more memory")
    if after.gpu_bytes != before.gpu_bytes:
        found.append(f"{after.gpu_bytes - before.gpu_bytes} more bytes on simulated GPUs")
    return found


def traced_growth(call: Callable[[], Any], runs: int) -> int:
    """Bytes that stay allocated after many calls."""
    call()
    tracemalloc.start()
    for _ in range(100):
        call()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(runs):
        call()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown


def soak_runs(runs: int) -> list[str]:
    """Runs one small plan; returns what was wrong."""
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2])
        with tf.device("/gpu:0"):
            weights = tf.Variable(np.ones([2, 2], np.float32))
            count = tf.Variable(np.zeros([], np.float32))
            product = tf.matmul(x, weights)
            with tf.control_dependencies([product]):
                counted = tf.assign_add(count, 1.0)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            value = np.array([[1, 2], [3, 4]], np.float32)
            expected = np.matmul(value, np.ones([2, 2], np.float32)).tobytes()
            fetches, feeds = [product, counted], {x: value}
            for _ in range(min(runs, 10_000)):
                session.run(fetches, feeds)
            before, started = usage(session), time.perf_counter()
            session.run(count.initializer)
            for number in range(runs):
                found, total = session.run(fetches, feeds)
                if found.tobytes() != expected or total != min(number + 1, 1 << 24):
                    return [f"run {number}: {found.tolist()}, {total}"]
            seconds = time.perf_counter() - started
            after = usage(session)
            grown = traced_growth(lambda: session.run(fetches, feeds), 10_000)
    print(f"{runs:,} runs in {seconds:.1f} s, {1e6 * seconds / runs:.2f} us each, all right")
    print(f"before {before}\nafter  {after}\ntracemalloc: {grown} bytes more after 10,000 runs")
    complaints = complain(before, after)
    return [*complaints, f"{grown} bytes stay"] if grown > MAX_GROWN_TRACED else complaints


class Soak:
    """Threads on one session.

    Args:
        threads: how many.
        seconds: for how long.
    """

    def __init__(self, threads: int, seconds: float) -> None:
        self.threads = threads
        self.seconds = seconds
        self.faults: list[str] = []
        self.progress = [0] * threads
        self.beats = [time.monotonic()] * threads
        self.counts: dict[str, int] = {}
        self._ends = threading.Event()
        self._may_grow = threading.Event()
        self._gate = threading.Condition()
        self._may_work, self._at_rest = True, 0
        self._lock = threading.Lock()
        self._build()

    def _build(self) -> None:
        tf.use_machine("2 CPU, 2x Tesla K40c")
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.placeholder(tf.float32, [2, 2], name="x")
            self.n = tf.placeholder(tf.int32, [1], name="n")
            with tf.device("/gpu:0"):
                self.counter = tf.Variable(np.zeros([], np.float32), name="counter", use_resource=False)
                self.count = tf.assign_add(self.counter, 1.0)
                left = tf.matmul(self.x, self.x)
            with tf.device("/gpu:1"):
                right = tf.add(self.x, 1.0)
            with tf.device("/cpu:0"):
                self.sum = tf.add(left, right, name="sum")
                self.bad = tf.gather(self.x, self.n, name="bad")
            self.large = tf.placeholder(tf.float32, [256, 256], name="large")
            ends = []
            for index in range(2):
                with tf.device(f"/gpu:{index}"):
                    y = tf.tanh(tf.tanh(tf.tanh(tf.matmul(self.large, self.large))))
                    ends.append(tf.tanh(tf.tanh(tf.tanh(y))))
            with tf.device("/cpu:0"):
                self.towers = tf.add_n(ends, name="towers")
            self.start = tf.global_variables_initializer()
        self.large_value = np.random.default_rng(0).standard_normal([256, 256], np.float32)
        self.session = tf.Session(graph=self.graph, config=tf.ConfigProto(device_count={"CPU": 2}))
        self.session.run(self.start)
        serial = tf.ConfigProto(inter_op_parallelism_threads=1, device_count={"CPU": 2})
        with tf.Session(graph=self.graph, config=serial) as session:
            self.towers_value = session.run(self.towers, {self.large: self.large_value})

    # What a thread does

    def small(self, dice: random.Random) -> None:
        value = np.array([[dice.random() for _ in range(2)] for _ in range(2)], np.float32)
        found = self.session.run(self.sum, {self.x: value})
        self.expect(np.array_equal(found, np.matmul(value, value) + (value + np.float32(1))), "sum")

    def counting(self, dice: random.Random) -> None:
        first, second = self.session.run(self.count), self.session.run(self.count)
        self.expect(second > first, "count")

    def lanes(self, dice: random.Random) -> None:
        found = self.session.run(self.towers, {self.large: self.large_value})
        self.expect(np.array_equal(found, self.towers_value), "towers")

    def traced(self, dice: random.Random) -> None:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        self.session.run(self.sum, {self.x: np.eye(2)}, options, metadata)
        self.expect(len(metadata.step_stats.dev_stats) >= 3, "trace")

    def failing(self, dice: random.Random) -> None:
        try:
            self.session.run(self.bad, {self.x: np.eye(2), self.n: [2]})
        except tf.errors.InvalidArgumentError as error:
            self.expect(error.op is self.bad.op, "error")
        else:
            self.expect(False, "no error")

    def timed(self, dice: random.Random) -> None:
        options = tf.RunOptions(timeout_in_ms=60_000)
        found = self.session.run(self.sum, {self.x: np.eye(2)}, options)
        self.expect(np.array_equal(found, [[3, 1], [1, 3]]), "timed")

    def growing(self, dice: random.Random) -> None:
        if not self._may_grow.is_set():
            return self.small(dice)
        factor = dice.randrange(1, 100)
        device = dice.choice(["/cpu:0", "/cpu:1", "/gpu:0", "/gpu:1"])
        with self.graph.as_default(), tf.device(device):
            fresh = tf.add(tf.multiply(self.sum, float(factor)), 1.0)
        found = self.session.run(fresh, {self.x: np.eye(2)})
        self.expect(np.array_equal(found, np.array([[3, 1], [1, 3]]) * factor + 1.0), "fresh")

    def closing(self, dice: random.Random) -> None:
        session = tf.Session(graph=self.graph, config=tf.ConfigProto(device_count={"CPU": 2}))
        session.run(self.start)

        def use() -> None:
            try:
                for _ in range(1000):
                    session.run([self.count, self.sum], {self.x: np.eye(2)})
            except tf.errors.CancelledError as error:
                self.expect("Run call was cancelled" in error.message, f"cancelled: {error.message}")
            except RuntimeError as error:
                self.expect("closed Session" in str(error), f"closed: {error}")

        user = threading.Thread(target=self.guarded, args=(use,))
        user.start()
        time.sleep(dice.random() * 0.01)
        session.close()
        user.join()

    # The machinery

    def expect(self, is_right: bool, what: str) -> None:
        if not is_right:
            self.faults.append(f"wrong: {what}")

    def guarded(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            self.faults.append(f"{type(error).__name__}: {error}")

    def work(self, number: int) -> None:
        dice = random.Random(number)
        tasks = {
            self.small: 60, self.counting: 60, self.lanes: 2, self.traced: 4, self.failing: 8, self.timed: 10,
            self.growing: 2, self.closing: 1,
        }  # fmt: skip
        while not self._ends.is_set():
            self.rest(number)
            (task,) = dice.choices(list(tasks), list(tasks.values()))
            self.guarded(functools.partial(task, dice))
            self.progress[number] += 1
            self.beats[number] = time.monotonic()
            with self._lock:
                self.counts[task.__name__] = self.counts.get(task.__name__, 0) + 1
            if self.faults:
                self._ends.set()

    def rest(self, number: int) -> None:
        """Waits while the work is paused."""
        with self._gate:
            if self._may_work:
                return
            self._at_rest += 1
            self._gate.notify_all()
            while not self._may_work:
                self._gate.wait(0.5)
                self.beats[number] = time.monotonic()
            self._at_rest -= 1

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """A block in which no thread works."""
        with self._gate:
            self._may_work = False
            # A thread that has not yet noticed the end of an earlier pause is at rest too.
            while self._at_rest < self.threads and not self._ends.is_set():
                self._gate.wait(1.0)
                self.watch()
        try:
            yield
        finally:
            with self._gate:
                self._may_work = True
                self._gate.notify_all()

    def watch(self) -> None:
        """Ends the program if a thread is stuck."""
        if time.monotonic() - min(self.beats) > STUCK_SECONDS:
            faulthandler.dump_traceback(all_threads=True)
            print("a thread is stuck", file=sys.stderr)
            os._exit(3)

    def until(self, end: float) -> None:
        while time.monotonic() < end and not self._ends.is_set():
            self.watch()
            time.sleep(0.1)

    def run(self) -> list[str]:
        """Works for the given time; the graph grows in the first third of it."""
        started = time.monotonic()
        threads = [
            threading.Thread(
                target=self.guarded, args=(lambda number=number: self.work(number),), daemon=True
            )
            for number in range(self.threads)
        ]
        self._may_grow.set()
        for thread in threads:
            thread.start()
        self.until(started + self.seconds / 3)
        self._may_grow.clear()
        self.until(started + self.seconds / 2)
        complaints = []
        if not self._ends.is_set():
            with self.paused():
                before = usage(self.session)
            self.until(started + self.seconds)
            if not self._ends.is_set():
                with self.paused():
                    after = usage(self.session)
                    self._ends.set()
                complaints = complain(before, after)
                print(f"half way {before}\nat the end {after}")
        for thread in threads:
            thread.join(STUCK_SECONDS)
        if any(thread.is_alive() for thread in threads):
            faulthandler.dump_traceback(all_threads=True)
            complaints.append("a thread did not end")
        print(f"{sum(self.progress):,} tasks in {time.monotonic() - started:.0f} s: {self.counts}")
        print(f"graph: {len(self.graph.get_operations())} operations, plans: {len(self.session._plans)}")
        return [*self.faults[:10], *complaints]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=0.0)
    options = parser.parse_args(arguments)
    if arguments is None and any(os.environ.get(name) != value for name, value in ALLOCATION.items()):
        command = [sys.executable, "-m", "tests.soak.session", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **ALLOCATION})
    complaints = soak_runs(options.runs) if options.runs else []
    if options.minutes:
        complaints += Soak(options.threads, 60 * options.minutes).run()
    for complaint in complaints:
        print("FAULT", complaint)
    print("soak:", "failed" if complaints else "passed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
