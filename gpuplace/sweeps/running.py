"""Runs the cases of a sweep: in this process, on its cores, or on a dask cluster.

A case is about a millisecond's work and so is a task to dask's scheduler, so cases travel in batches of about half a
second, by what the first ones took for their bytes. All cases of a graph go together while they are less than that, and
the graph with them; a graph of more is put on the cluster once, and a worker that gets a batch of it fetches it once::

    graph      a   a   b   b   c   c   c   c   c   c   c   c
    batch     |1           |2             |3             |
    sent with  a, b        (c, which the cluster holds)

Each worker has a batch more than it works on. A batch whose worker dies is tried again case by case, and a case that
kills its workers, one after the other, gets a row that says so.

Source: docs.dask.org, "Best Practices" (tasks of more than 100 ms, large data scattered), and distributed's
"Efficiency": about a millisecond of the scheduler for every task.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuplace.errors import FailedPreconditionError, InternalError, OpError, UnavailableError
from gpuplace.sweeps.answers import COLUMNS, OUTCOME, Answers, Question, Row, answer_batch
from gpuplace.sweeps.cases import Setting
from gpuplace.sweeps.graphs import NamedGraph, SentGraph

if TYPE_CHECKING:
    import asyncio

    from distributed import Client, Future

Rows = Iterator[tuple[int, Row]]

MISSING = "sweeps need dask.distributed and pyarrow, and {} is not installed: pip install 'gpuplace[cluster]'"
"""What is said where the extra is not installed."""

BATCH_S = 0.5
"""Seconds of work in a batch, while there is enough for all workers."""
_LEAST_S = 0.05
_MOST = 2000
"""Cases of a batch."""
WORTH_S = 4.0
"""Seconds of work that are worth starting processes for."""
_LOOK_S = 1.0
"""Seconds in which this process finds out how much work there is."""
_CASE_BYTES = 10_000
"""What a case takes beside its graph's bytes, in bytes."""
_BYTE_S = {"place": 3e-7, "estimate": 3e-6}
"""Seconds for each byte, before anything has been measured."""
_SHARES = 4
"""Batches that each worker should have left to come, so that all end at the same time."""
_AHEAD = 2
"""Batches that a worker has, the one it works on included."""
_PATIENCE_S = 30.0
"""How long a cluster may have no worker."""
_LOOKS_S, _COUNTED_S = 5.0, 5.0
"""Seconds between looks whether there are workers, and how many."""
_ALONG = 1 << 20
"""Bytes of the largest graph that goes with its batch, through the scheduler."""
_LOCALLY = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
"""dask's configuration for processes of this machine: one more try of a batch; none of dask's own samples of what they
do, 100 stacks a second and a seventh of their time; fewer of their memory and of the system."""
KILLED = "KilledWorker"
"""The class of the error of a case that killed its workers; a sweep that goes on tries it again."""


class Work(NamedTuple):
    """The cases that are left of a sweep."""

    question: Question
    """What is asked."""
    graphs: Sequence[NamedGraph]
    """The graphs."""
    settings: Sequence[Setting]
    """What they are placed with."""
    cases: Sequence[int]
    """Numbers of the cases: ``graph * len(settings) + setting``."""

    def split(self, number: int) -> tuple[int, int]:
        """Graph and setting of a case."""
        return divmod(number, len(self.settings))


def check_installed() -> None:
    """Finds out whether the extra is installed.

    Raises:
        ImportError: it is not.
    """
    for name in ("distributed", "pyarrow"):
        if importlib.util.find_spec(name) is None:
            raise ImportError(MISSING.format(name), name=name)


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def run(work: Work, client: Any = None, workers: int | None = None) -> Rows:
    """The rows of the cases, with their numbers, as they come.

    Without a client this process begins, and hands over to processes of its own if there is more to do than they take
    to start.

    Args:
        work: the cases.
        client: a ``distributed.Client``, or the address of a scheduler.
        workers: processes on this machine; None: one for each core. No more than there are graphs and settings for.

    Raises:
        TypeError: `client` is none, or one for coroutines.
        UnavailableError: the cluster has no worker, or is lost.
    """
    if client is not None:
        with _client_of(client) as found:
            yield from _Cluster(work, found, _Pace(work.question)).rows()
        return
    pace = _Pace(work.question)
    count = min(workers or cores(), len(work.cases))
    left = deque(work.cases)
    yield from _here(work, left, pace, count)
    if left:
        rest = work._replace(cases=list(left))
        with local_client(count) as found:
            yield from _Cluster(rest, found, pace).rows()


def _here(work: Work, left: deque[int], pace: _Pace, workers: int) -> Rows:
    """The rows of the first cases, worked out in this process: of all, where processes are not worth it."""
    answers = Answers(work.question)
    begin = time.perf_counter()
    loaded: tuple[int, SentGraph | OpError] = -1, InternalError.of("no graph")
    while left:
        spent = time.perf_counter() - begin
        if workers > 1 and spent > _LOOK_S and pace.seconds(len(left) * pace.bytes_per_case) > WORTH_S:
            return
        number = left[0]
        graph, setting = work.split(number)
        if graph != loaded[0]:
            loaded = graph, _read(work.graphs[graph])
        row = answers.row(loaded[1], graph.to_bytes(8, "big"), work.settings[setting])
        pace.add(_size(loaded[1]) + _CASE_BYTES, row["seconds"])
        left.popleft()
        yield number, row


class _Pace:
    """How long cases take, by what others of their sweep took.

    Args:
        question: what is asked.
    """

    def __init__(self, question: Question) -> None:
        guess = _BYTE_S.get(question.what)
        if guess is None:  # a search takes as long as it is given
            guess = float(question.options.get("seconds", 10.0)) / _CASE_BYTES
        self._bytes, self._seconds, self._cases = 0.0, 0.0, 0
        self._guess = guess

    def add(self, size: float, seconds: float, cases: int = 1) -> None:
        """What cases took."""
        self._bytes += size
        self._seconds += seconds
        self._cases += cases

    def seconds(self, size: float) -> float:
        """What cases will take."""
        return size * (self._seconds / self._bytes if self._bytes else self._guess)

    @property
    def bytes_per_case(self) -> float:
        return self._bytes / self._cases if self._cases else _CASE_BYTES


def _read(graph: NamedGraph) -> SentGraph | OpError:
    try:
        return graph.sent()
    except OpError as error:
        return error


def _size(graph: SentGraph | OpError) -> int:
    return len(graph.data) if isinstance(graph, SentGraph) else 0


def _no_workers() -> UnavailableError:
    return UnavailableError.of(
        f"The dask cluster has had no worker for {_PATIENCE_S:g} seconds", hint="start dask worker ADDRESS"
    )


@contextmanager
def _client_of(given: Any) -> Iterator[Client]:
    """The client, or one of a scheduler's address, which is closed again."""
    from distributed import Client

    if isinstance(given, str):
        try:
            with Client(given, timeout=_PATIENCE_S) as made:
                yield made
        except (TimeoutError, ValueError) as error:
            raise UnavailableError.of(
                f"There is no dask scheduler at {given!r}: {error}",
                hint="an address such as tcp://10.0.0.1:8786",
            ) from None
        return
    if not isinstance(given, Client):
        raise TypeError(f"client: a distributed.Client, or the address of its scheduler; got {given!r}")
    if given.asynchronous:
        raise TypeError("client: a distributed.Client for functions, made without asynchronous=True")
    if given.status != "running":
        raise FailedPreconditionError.of(
            f"The client is {given.status}", hint="a new distributed.Client(...)"
        )
    yield given


@contextmanager
def local_client(workers: int) -> Iterator[Client]:
    """A client of processes of this machine, which end with it.

    Args:
        workers: how many.
    """
    import dask
    from distributed import Client, LocalCluster

    with (
        _without_program(),
        dask.config.set(_LOCALLY),
        _deaf_to_interrupts() as hears_again,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # else another cluster's port is warned of
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        _quiet_when_it_ends(cluster.loop.asyncio_loop),
    ):
        hears_again()
        yield client


@contextmanager
def _quiet_when_it_ends(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """What the cluster's loop has under way when the block ends may fail in silence: nobody waits for it any more."""
    has_ended = False

    def heard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not has_ended:
            loop.default_exception_handler(context)

    loop.set_exception_handler(heard)
    try:
        yield
    finally:
        has_ended = True


@contextmanager
def _deaf_to_interrupts() -> Iterator[Callable[[], None]]:
    """Processes that start meanwhile ignore Ctrl-C, which a terminal sends to all: this one hears it, and ends them.

    Gives a function that has this one hear it again.
    """
    if threading.current_thread() is not threading.main_thread():  # where Python lets nobody choose
        yield lambda: None
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def hear_again() -> None:
        signal.signal(signal.SIGINT, before)

    try:
        yield hear_again
    finally:
        hear_again()


@contextmanager
def _without_program() -> Iterator[None]:
    """Processes that start meanwhile do not read the program again that started them: they need nothing of it.

    Without this, a script would have to put its sweep under ``if __name__ == "__main__"``.
    """
    program = sys.modules["__main__"]
    hidden: dict[str, Any] = {
        name: vars(program).pop(name) for name in ("__spec__", "__file__") if name in vars(program)
    }
    program.__spec__ = None
    try:
        yield
    finally:
        vars(program).update(hidden)


class _Batch(NamedTuple):
    """Cases that travel together."""

    cases: tuple[int, ...]
    """Their numbers."""
    size: float
    """Bytes that they count as."""


class _Cluster:
    """A sweep on a cluster.

    Args:
        work: the cases.
        client: of the cluster.
        pace: how long cases take.
    """

    def __init__(self, work: Work, client: Client, pace: _Pace) -> None:
        from distributed.protocol.pickle import dumps

        self._work, self._client, self._pace = work, client, pace
        self._question: bytes = dumps(work.question)
        self._settings: dict[int, bytes] = {}
        self._left = deque(work.cases)
        self._suspects: deque[int] = deque()
        self._running: dict[Future, _Batch] = {}
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._read: dict[int, SentGraph | OpError] = {}
        self._held: dict[int, Future] = {}
        self._to_come = Counter(work.split(number)[0] for number in work.cases)
        self._threads, self._counted = 0, -math.inf

    def rows(self) -> Rows:
        """The rows with their numbers, as they come.

        Raises:
            FailedPreconditionError: the workers cannot take the cases.
            UnavailableError: the cluster has no worker, or is lost.
        """
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE_S)
        except TimeoutError:
            raise _no_workers() from None
        try:
            while self._left or self._suspects or self._running:
                self._fill()
                future = self._next_done()
                yield from self._taken(future, self._running.pop(future))
        finally:
            self._client.cancel([*self._running, *self._held.values()])

    def _fill(self) -> None:
        while self._left and len(self._running) < _AHEAD * self._workers():
            self._send(self._next_batch())
        if self._suspects and not self._running:  # one at a time, so that a worker's death has one cause
            self._send(_Batch((self._suspects.popleft(),), 0.0))

    def _workers(self) -> int:
        """Threads of all workers, of which there may be more or fewer than before."""
        now = time.monotonic()
        if now - self._counted > _COUNTED_S:
            self._threads, self._counted = sum(self._client.nthreads().values()), now
        return max(self._threads, 1)

    def _graph(self, graph: int) -> SentGraph | OpError:
        found = self._read.get(graph)
        if found is None:
            found = self._read[graph] = _read(self._work.graphs[graph])
        return found

    def _next_batch(self) -> _Batch:
        pace, left = self._pace, self._left
        share = pace.seconds(len(left) * pace.bytes_per_case) / (self._workers() * _SHARES)
        target = min(max(share, _LEAST_S), BATCH_S)
        cases: list[int] = []
        size, last = 0.0, -1
        while left and len(cases) < _MOST:
            graph, _ = self._work.split(left[0])
            one = _size(self._graph(graph)) + _CASE_BYTES
            is_enough = bool(cases) and pace.seconds(size) >= target
            if is_enough and (graph != last or pace.seconds(one * self._to_come[graph]) > target):
                break
            cases.append(left.popleft())
            size, last = size + one, graph
        return _Batch(tuple(cases), size)

    def _send(self, batch: _Batch) -> None:
        from distributed.protocol.pickle import dumps

        work = self._work
        along: dict[int, SentGraph | OpError] = {}
        held: list[int] = []
        settings: dict[int, bytes] = {}
        counts: Counter[int] = Counter()
        for number in batch.cases:
            graph, setting = work.split(number)
            counts[graph] += 1
            if setting not in self._settings:
                self._settings[setting] = dumps(work.settings[setting])
            settings[setting] = self._settings[setting]
        for graph, count in counts.items():
            content = self._graph(graph)
            if graph in self._held or self._to_come[graph] > count or _size(content) > _ALONG:
                held.append(graph)
                if graph not in self._held:
                    self._held[graph] = self._client.scatter(content, hash=False)
            else:
                along[graph] = content
        future = self._client.submit(
            answer_batch,
            self._question,
            len(work.settings),
            dumps((batch.cases, settings, along)),
            held,
            *(self._held[graph] for graph in held),
            pure=False,
        )
        self._running[future] = batch
        future.add_done_callback(self._done.put)

    def _next_done(self) -> Future:
        """A batch that has ended; waits for it as long as there are workers."""
        since = time.monotonic()
        while True:
            try:
                return self._done.get(timeout=_LOOKS_S)
            except Empty:
                pass
            if self._client.status != "running":
                raise UnavailableError.of(
                    "The dask scheduler is lost", hint="resume=FILE.parquet keeps what is done"
                )
            if self._client.nthreads():
                since = time.monotonic()
            elif time.monotonic() - since > _PATIENCE_S:
                raise _no_workers()

    def _taken(self, future: Future, batch: _Batch) -> Rows:
        if future.status != "finished":
            yield from self._failed(future, batch)
            return
        from distributed.protocol.pickle import loads

        rows: list[Row] = loads(future.result())
        self._pace.add(batch.size, sum(row["seconds"] for row in rows), len(rows))
        self._forget(batch)
        yield from zip(batch.cases, rows, strict=True)

    def _failed(self, future: Future, batch: _Batch) -> Rows:
        """What became of a batch without rows: its worker died, or the cluster has lost a graph with a worker."""
        if self._client.status != "running":
            raise UnavailableError.of(
                "The dask scheduler is lost", hint="resume=FILE.parquet keeps what is done"
            )
        error = future.exception() if future.status == "error" else None
        if isinstance(error, ImportError | AttributeError):
            raise FailedPreconditionError.of(
                "The cluster's workers cannot take the cases of this sweep",
                facts={"because": f"{type(error).__name__}: {error}"},
                hint="the same version of gpuplace on all workers",
            )
        for graph in {self._work.split(number)[0] for number in batch.cases}:
            self._held.pop(graph, None)
        if batch.size or error is None:
            self._suspects.extend(batch.cases)
            return
        (number,) = batch.cases
        row: Row = dict.fromkeys((*COLUMNS[self._work.question.what], *OUTCOME))
        row["error"], row["message"] = type(error).__name__, str(error)
        row["seconds"] = math.nan
        self._forget(batch)
        yield number, row

    def _forget(self, batch: _Batch) -> None:
        """Lets go of graphs of which nothing is to come."""
        for number in batch.cases:
            graph, _ = self._work.split(number)
            self._to_come[graph] -= 1
            if not self._to_come[graph]:
                self._read.pop(graph, None)
                self._held.pop(graph, None)
