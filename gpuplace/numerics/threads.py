"""The threads that share large kernels, one pool for the process.

NumPy releases Python's lock while it copies, adds and multiplies, so pieces of a kernel run in parallel. A kernel
divides its work by the sizes of its arrays alone, not by the number of threads, and each piece writes to its own part
of the result. Therefore the result is identical, bit by bit, for any number of threads and any order.

>>> squares = [0] * 4
>>> def piece(index: int) -> None:
...     squares[index] = index * index
>>> share(piece, 4)
>>> squares
[0, 1, 4, 9]

The number of threads is that of TensorFlow's intra-op pool, decided by the first session: its
``ConfigProto.intra_op_parallelism_threads``, otherwise the environment variable ``TF_NUM_INTRAOP_THREADS``, otherwise
the cores that the process may use. Matrix products within a piece stay on its thread (see ``blas_threads``); those of
other kernels use BLAS's own threads.

Source: tensorflow/core/common_runtime/local_device.cc and process_util.cc, release 1.15 (the number of threads).
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from gpuplace.numerics.blas_threads import ONE_THREAD
from gpuplace.numerics.float_state import enter
from gpuplace.process import PROCESS

ENVIRONMENT_VARIABLE = "TF_NUM_INTRAOP_THREADS"


class _Pool:
    """The threads beside the calling one, and the jobs that they take."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget the threads and the lock; a forked child has no threads of its parent."""
        self.lock = threading.Lock()
        self.started = 0
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.local = threading.local()


_pool = _Pool()


def size() -> int:
    """Number of threads that work on a kernel, including the calling thread."""
    return PROCESS.intra_op_threads or configure(0)


def configure(intra_op_parallelism_threads: int) -> int:
    """Set the number of threads, unless it is set already, and return it.

    Args:
        intra_op_parallelism_threads: requested number; 0: decided by the environment and the machine.
    """
    with _pool.lock:
        if not PROCESS.intra_op_threads:
            wanted = intra_op_parallelism_threads or _from_environment() or available_cores()
            PROCESS.intra_op_threads = max(1, wanted)
        return PROCESS.intra_op_threads


def reset() -> None:
    """Let the next session decide again. Threads that were started stay idle."""
    with _pool.lock:
        PROCESS.intra_op_threads = 0


def share(piece: Callable[[int], Any], count: int) -> None:
    """Call ``piece(0)`` to ``piece(count - 1)``, in any order, on this thread and idle ones, and wait for all.

    Everything within a piece runs on the piece's thread.

    Raises:
        Exception: the error of the failing piece with the lowest number.
    """
    if getattr(_pool.local, "inside", False):
        for index in range(count):
            piece(index)
        return
    with ONE_THREAD:
        _share(piece, count)


def _share(piece: Callable[[int], Any], count: int) -> None:
    helpers = min(size(), count) - 1
    if helpers < 1:
        for index in range(count):
            piece(index)
        return
    if _pool.started < helpers:
        _start(helpers)
    job = _Job(piece, count)
    for _ in range(helpers):
        _pool.jobs.put(job)
    local = _pool.local
    local.inside = True
    try:
        job.work()
    finally:
        local.inside = False
    job.wait()


def _nothing(index: int) -> None:
    """Replaces a finished job."""


class _Job:
    """Pieces that several threads work on."""

    __slots__ = ("_claims", "_count", "_errors", "_finished", "_left", "_lock", "_piece")

    def __init__(self, piece: Callable[[int], Any], count: int) -> None:
        self._piece, self._count = piece, count
        self._claims = itertools.count()
        self._left = count
        self._errors: dict[int, BaseException] = {}
        self._lock = threading.Lock()
        self._finished = threading.Lock()
        self._finished.acquire()

    def work(self) -> None:
        """Run pieces until none is left."""
        while True:
            with self._lock:
                index = next(self._claims)
            if index >= self._count:
                return
            try:
                self._piece(index)
            except BaseException as error:  # the waiting thread raises it again
                self._errors[index] = error
            with self._lock:
                self._left -= 1
                if not self._left:
                    self._finished.release()

    def wait(self) -> None:
        """Return when all pieces are done; raise the first failing one's error.

        A thread that comes later finds nothing to do, and nothing that keeps arrays alive.
        """
        self._finished.acquire()
        self._piece = _nothing
        if self._errors:
            raise self._errors.pop(min(self._errors))


def _from_environment() -> int:
    text = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return int(text) if text.isdecimal() else 0


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _start(count: int) -> None:
    with _pool.lock:
        while _pool.started < count:
            _pool.started += 1
            name = f"gpuplace-{_pool.started}"
            threading.Thread(target=_serve, args=(_pool.jobs,), name=name, daemon=True).start()


def _serve(jobs: SimpleQueue[_Job]) -> None:
    _pool.local.inside = True
    enter()  # like plans on their threads
    while True:
        job = jobs.get()
        job.work()
        del job  # nor its arrays, while waiting for the next job


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.restart)
