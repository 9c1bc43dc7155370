"""Runner of a sweep's cases: in this process, on its cores, or on a dask cluster.

A case takes about a millisecond, and so does the scheduling of a dask task. Cases are therefore sent in batches of
about half a second, predicted from the time per byte of earlier cases. A batch contains all cases of a graph, and the
graph, if they take less than that; otherwise the graph is scattered once, and each worker fetches it once::

    graph      a   a   b   b   c   c   c   c   c   c   c   c
    batch     |1           |2             |3             |
    sent with  a, b        (c is scattered)

Each worker has one batch in reserve. A batch whose worker dies is tried again case by case, and a case that repeatedly
kills its worker gets a row with that error.

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
from gpuplace.sweeps.cases import Setting
from gpuplace.sweeps.evaluation import COLUMNS, OUTCOME, CaseEvaluator, Query, Row, evaluate_batch
from gpuplace.sweeps.graphs import NamedGraph, SentGraph

if TYPE_CHECKING:
    import asyncio

    from distributed import Client, Future

Rows = Iterator[tuple[int, Row]]

MISSING = "sweeps need dask.distributed and pyarrow, and {} is not installed: pip install 'gpuplace[cluster]'"
"""Error message if the extra is not installed."""

BATCH_S = 0.5
"""Target duration of a batch in seconds, while there is enough work for all workers."""
_LEAST_BATCH_S = 0.05
"""Minimal target duration of a batch in seconds."""
_MOST_CASES = 2000
"""Maximal number of cases in a batch."""
WORTH_S = 4.0
"""Minimal remaining work in seconds for which worker processes are started."""
_TRIAL_S = 1.0
"""Time in seconds in which this process measures the cases before it starts worker processes."""
_CASE_BYTES = 10_000
"""Work of a case that does not depend on the graph, in bytes of graph."""
_BYTE_S = {"place": 3e-7, "estimate": 3e-6}
"""Seconds per byte, before any measurement."""
_SHARES = 4
"""Number of batches per worker into which the remaining work is divided, so that all workers end at the same time."""
_AHEAD = 2
"""Number of batches per worker, including the running one."""
_PATIENCE_S = 30.0
"""Maximal time in seconds without a worker."""
_POLL_S, _COUNT_S = 5.0, 5.0
"""Seconds between checks for workers, and between counts of workers."""
_MOST_SENT = 1 << 20
"""Maximal size in bytes of a graph that is sent with its batch, through the scheduler."""
_LOCAL_CONFIG = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
"""dask's configuration for local processes: one retry of a batch; no profiling, which takes a seventh of the time; less
frequent monitoring of memory and system."""
KILLED = "KilledWorker"
"""Error class of a case that killed its workers; a resumed sweep tries it again."""


class Work(NamedTuple):
    """Remaining cases of a sweep."""

    query: Query
    """Query for each case."""
    graphs: Sequence[NamedGraph]
    """Graphs of the sweep."""
    settings: Sequence[Setting]
    """Settings with which the graphs are placed."""
    cases: Sequence[int]
    """Case numbers: ``graph * len(settings) + setting``."""

    def split(self, number: int) -> tuple[int, int]:
        """Return the graph and setting numbers of a case."""
        return divmod(number, len(self.settings))


def check_installed() -> None:
    """Check that the extra is installed.

    Raises:
        ImportError: it is not.
    """
    for name in ("distributed", "pyarrow"):
        if importlib.util.find_spec(name) is None:
            raise ImportError(MISSING.format(name), name=name)


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def run(work: Work, client: object = None, workers: int | None = None) -> Rows:
    """Evaluate the cases and yield their numbers and rows as they complete.

    Without a client, this process evaluates the first cases, and starts worker processes if the remaining work takes
    longer than starting them.

    Args:
        work: the cases.
        client: a ``distributed.Client``, or the address of a scheduler.
        workers: maximal number of local processes; None: one per core.

    Raises:
        TypeError: `client` is not a ``Client``, or an asynchronous one.
        UnavailableError: the cluster has no worker, or the connection is lost.
    """
    if client is not None:
        with _client_of(client) as connected:
            yield from _Cluster(work, connected, _Pace(work.query)).rows()
        return
    pace = _Pace(work.query)
    count = min(workers or cores(), len(work.cases))
    remaining = deque(work.cases)
    yield from _run_locally(work, remaining, pace, count)
    if remaining:
        rest = work._replace(cases=list(remaining))
        with local_client(count) as connected:
            yield from _Cluster(rest, connected, pace).rows()


def _run_locally(work: Work, remaining: deque[int], pace: _Pace, workers: int) -> Rows:
    """Evaluate cases in this process until worker processes are worthwhile."""
    evaluator = CaseEvaluator(work.query)
    begin = time.perf_counter()
    current: tuple[int, SentGraph | OpError] = -1, InternalError.of("no graph")
    while remaining:
        spent = time.perf_counter() - begin
        if workers > 1 and spent > _TRIAL_S and pace.seconds(len(remaining) * pace.bytes_per_case) > WORTH_S:
            return
        number = remaining[0]
        graph, setting = work.split(number)
        if graph != current[0]:
            current = graph, _load(work.graphs[graph])
        row = evaluator.row(current[1], graph.to_bytes(8, "big"), work.settings[setting])
        pace.add(_size(current[1]) + _CASE_BYTES, row["seconds"])
        remaining.popleft()
        yield number, row


class _Pace:
    """Prediction of durations from the cases evaluated so far.

    Args:
        query: the query.
    """

    def __init__(self, query: Query) -> None:
        guess = _BYTE_S.get(query.what)
        if guess is None:  # a search uses all of its time limit
            guess = float(query.options.get("seconds", 10.0)) / _CASE_BYTES
        self._bytes, self._seconds, self._cases = 0.0, 0.0, 0
        self._guess = guess

    def add(self, size: float, seconds: float, cases: int = 1) -> None:
        """Record the duration of cases."""
        self._bytes += size
        self._seconds += seconds
        self._cases += cases

    def seconds(self, size: float) -> float:
        """Predict a duration."""
        return size * (self._seconds / self._bytes if self._bytes else self._guess)

    @property
    def bytes_per_case(self) -> float:
        return self._bytes / self._cases if self._cases else _CASE_BYTES


def _load(graph: NamedGraph) -> SentGraph | OpError:
    try:
        return graph.sent()
    except OpError as error:
        return error


def _size(graph: SentGraph | OpError) -> int:
    return len(graph.data) if isinstance(graph, SentGraph) else 0


def _no_workers() -> UnavailableError:
    return UnavailableError.of(
        f"The dask cluster has had no worker for {_PATIENCE_S:g} s", hint="run: dask worker ADDRESS"
    )


@contextmanager
def _client_of(client: object) -> Iterator[Client]:
    """Yield the client, or a client connected to a scheduler's address, which is closed afterwards."""
    from distributed import Client

    if isinstance(client, str):
        try:
            with Client(client, timeout=_PATIENCE_S) as connected:
                yield connected
        except (TimeoutError, ValueError) as error:
            raise UnavailableError.of(
                f"Cannot connect to a dask scheduler at {client!r}: {error}",
                hint="pass an address such as tcp://10.0.0.1:8786",
            ) from None
        return
    if not isinstance(client, Client):
        raise TypeError(
            f"client must be a distributed.Client or the address of its scheduler; got {client!r}"
        )
    if client.asynchronous:
        raise TypeError("client must be a distributed.Client created without asynchronous=True")
    if client.status != "running":
        raise FailedPreconditionError.of(
            f"The client is {client.status}", hint="create a new distributed.Client(...)"
        )
    yield client


@contextmanager
def local_client(workers: int) -> Iterator[Client]:
    """Yield a client of local worker processes, which end with it.

    Args:
        workers: number of processes.
    """
    import dask
    from distributed import Client, LocalCluster

    with (
        _without_program(),
        dask.config.set(_LOCAL_CONFIG),
        _interrupts_ignored() as restore_interrupts,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            scheduler_kwargs={
                "dashboard_address": "127.0.0.1:0"
            },  # avoids a warning about the port of another cluster
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        _errors_ignored_at_end(cluster.loop.asyncio_loop),
    ):
        restore_interrupts()
        yield client


@contextmanager
def _errors_ignored_at_end(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Ignore errors of the cluster's event loop after the block, which come from abandoned tasks."""
    has_ended = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not has_ended:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        has_ended = True


@contextmanager
def _interrupts_ignored() -> Iterator[Callable[[], None]]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all processes; this process ends them.

    Yields a function that restores the handler of this process.
    """
    # Only the main thread may set signal handlers.
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def restore() -> None:
        signal.signal(signal.SIGINT, before)

    try:
        yield restore
    finally:
        restore()


@contextmanager
def _without_program() -> Iterator[None]:
    """Prevent processes started in the block from importing the main program again; they do not need it.

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
    """Cases that are sent together."""

    cases: tuple[int, ...]
    """Case numbers."""
    size: float
    """Work in bytes."""


class _Cluster:
    """Evaluation of cases on a cluster.

    Args:
        work: the cases.
        client: client of the cluster.
        pace: predicts durations.
    """

    def __init__(self, work: Work, client: Client, pace: _Pace) -> None:
        from distributed.protocol.pickle import dumps

        self._work, self._client, self._pace = work, client, pace
        self._query: bytes = dumps(work.query)
        self._settings: dict[int, bytes] = {}
        self._remaining = deque(work.cases)
        self._suspects: deque[int] = deque()
        self._running: dict[Future, _Batch] = {}
        self._done: SimpleQueue[Future] = SimpleQueue()
        self._loaded: dict[int, SentGraph | OpError] = {}
        self._held: dict[int, Future] = {}
        self._to_come = Counter(work.split(number)[0] for number in work.cases)
        self._threads, self._counted = 0, -math.inf

    def rows(self) -> Rows:
        """Yield case numbers and rows as they complete.

        Raises:
            FailedPreconditionError: the workers cannot evaluate the cases.
            UnavailableError: the cluster has no worker, or the connection is lost.
        """
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE_S)
        except TimeoutError:
            raise _no_workers() from None
        try:
            while self._remaining or self._suspects or self._running:
                self._fill()
                future = self._next_done()
                yield from self._taken(future, self._running.pop(future))
        finally:
            self._client.cancel([*self._running, *self._held.values()])

    def _fill(self) -> None:
        while self._remaining and len(self._running) < _AHEAD * self._workers():
            self._send(self._next_batch())
        # One at a time, so that the case that kills a worker is known.
        if self._suspects and not self._running:
            self._send(_Batch((self._suspects.popleft(),), 0.0))

    def _workers(self) -> int:
        """Return the current number of threads of all workers."""
        now = time.monotonic()
        if now - self._counted > _COUNT_S:
            self._threads, self._counted = sum(self._client.nthreads().values()), now
        return max(self._threads, 1)

    def _graph(self, graph: int) -> SentGraph | OpError:
        content = self._loaded.get(graph)
        if content is None:
            content = self._loaded[graph] = _load(self._work.graphs[graph])
        return content

    def _next_batch(self) -> _Batch:
        pace, remaining = self._pace, self._remaining
        share = pace.seconds(len(remaining) * pace.bytes_per_case) / (self._workers() * _SHARES)
        target = min(max(share, _LEAST_BATCH_S), BATCH_S)
        cases: list[int] = []
        size, last = 0.0, -1
        while remaining and len(cases) < _MOST_CASES:
            graph, _ = self._work.split(remaining[0])
            case_size = _size(self._graph(graph)) + _CASE_BYTES
            is_enough = bool(cases) and pace.seconds(size) >= target
            if is_enough and (graph != last or pace.seconds(case_size * self._to_come[graph]) > target):
                break
            cases.append(remaining.popleft())
            size, last = size + case_size, graph
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
            if graph in self._held or self._to_come[graph] > count or _size(content) > _MOST_SENT:
                held.append(graph)
                if graph not in self._held:
                    self._held[graph] = self._client.scatter(content, hash=False)
            else:
                along[graph] = content
        future = self._client.submit(
            evaluate_batch,
            self._query,
            len(work.settings),
            dumps((batch.cases, settings, along)),
            held,
            *(self._held[graph] for graph in held),
            pure=False,
        )
        self._running[future] = batch
        future.add_done_callback(self._done.put)

    def _next_done(self) -> Future:
        """Wait for the next finished batch, as long as there are workers."""
        since = time.monotonic()
        while True:
            try:
                return self._done.get(timeout=_POLL_S)
            except Empty:
                pass
            if self._client.status != "running":
                raise UnavailableError.of(
                    "The dask scheduler cannot be reached", hint="pass resume=FILE to keep completed cases"
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
        """Handle a batch without rows: its worker died, or the cluster lost a graph with a worker."""
        if self._client.status != "running":
            raise UnavailableError.of(
                "The dask scheduler cannot be reached", hint="pass resume=FILE to keep completed cases"
            )
        error = future.exception() if future.status == "error" else None
        if isinstance(error, ImportError | AttributeError):
            raise FailedPreconditionError.of(
                "The cluster's workers cannot evaluate the cases of this sweep",
                facts={"because": f"{type(error).__name__}: {error}"},
                hint="install the same version of gpuplace on all workers",
            )
        for graph in {self._work.split(number)[0] for number in batch.cases}:
            self._held.pop(graph, None)
        if batch.size or error is None:
            self._suspects.extend(batch.cases)
            return
        (number,) = batch.cases
        row: Row = dict.fromkeys((*COLUMNS[self._work.query.what], *OUTCOME))
        row["error"], row["message"] = type(error).__name__, str(error)
        row["seconds"] = math.nan
        self._forget(batch)
        yield number, row

    def _forget(self, batch: _Batch) -> None:
        """Free the graphs that have no remaining cases."""
        for number in batch.cases:
            graph, _ = self._work.split(number)
            self._to_come[graph] -= 1
            if not self._to_come[graph]:
                self._loaded.pop(graph, None)
                self._held.pop(graph, None)
