"""Plans whose devices work concurrently: a thread for each lane, and an exchange of values between them.

::

    def step(give, take, stopped, f0):   the calling thread: CPU:0
     t0 = take(0)
     t1 = take(1)
     if stopped: take(-1)
     t0 = k7(t0, t1)
     return [t0]
                                         another thread: GPU:0
    def step(give, take, stopped, f0):
     if stopped: take(-1)
     t0 = k2(f0, c1)
     give(0, t0)
     del t0

When a lane fails, or the caller is interrupted (Ctrl-C), the other lanes stop before their next node. The step fails
with the error of the first failed node in the order of the graph, and the session remains usable.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpuplace.callers import is_of_signal_handler
from gpuplace.errors import CancelledError
from gpuplace.kernels.cancellation import Cancellation, acquire, limited, step_limits
from gpuplace.numerics.float_state import enter, errors_now, has_denormals, keep_denormals, put_errors
from gpuplace.runtime.backends.workers import Workers
from gpuplace.runtime.plan.codegen.functions import PlanCode
from gpuplace.runtime.plan.executor import Plan
from gpuplace.runtime.plan.schedule.lanes import Arrangement
from gpuplace.runtime.plan.schedule.partition import Schedule


class _Stopped(Exception):
    """Another lane has failed."""


class Exchange:
    """The handoffs of one step.

    Args:
        count: number of handoffs.
        cancellation: cancellation of the step's waiting kernels; None if only handoffs wait.
    """

    __slots__ = ("_cancellation", "_locks", "_values", "stopped")

    def __init__(self, count: int, cancellation: Cancellation | None = None) -> None:
        self._cancellation = cancellation
        self._values: list[Any] = [None] * count
        self._locks = [threading.Lock() for _ in range(count)]
        for lock in self._locks:
            lock.acquire()
        self.stopped: list[bool] = []
        """Not empty if all lanes must stop, which the next ``take`` of each does."""

    def give(self, number: int, value: object = None) -> None:
        """Hand over a value."""
        self._values[number] = value
        self._open(number)

    def take(self, number: int) -> Any:
        """Wait for a value, which can be taken once."""
        if not self.stopped:
            acquire(self._locks[number])
        if self.stopped:
            raise _Stopped
        values = self._values
        value, values[number] = values[number], None
        return value

    def fail(self) -> None:
        """Stop all lanes: waiting ones at once, computing ones before their next node."""
        self.stopped.append(True)
        for number in range(len(self._locks)):
            self._open(number)
        if self._cancellation is not None:
            self._cancellation.cancel()

    def clear(self) -> None:
        """Drop values that were given and never taken."""
        self._values.clear()

    def _open(self, number: int) -> None:
        try:
            self._locks[number].release()
        except RuntimeError:  # already open: given before the failure, or opened by it
            if not self.stopped:
                raise


class ParallelPlan(Plan):
    """A plan whose lanes run concurrently.

    Args:
        schedule: the schedule.
        codes: function of each lane, the calling thread's first.
        release: release whose error texts are used.
        first_transfer: first number in the names of its transfer nodes in traces.
        arrangement: the lanes.
        lane_feeds: for each lane, the positions of its feeds.
        workers: the threads.
    """

    def __init__(
        self,
        schedule: Schedule,
        codes: Sequence[PlanCode],
        release: str,
        first_transfer: int,
        *,
        arrangement: Arrangement,
        lane_feeds: Sequence[Sequence[int]],
        workers: Workers,
    ) -> None:
        super().__init__(schedule, codes[0], release, first_transfer)
        self.arrangement = arrangement
        self.codes = tuple(codes)
        self._lane_feeds = tuple(map(tuple, lane_feeds))
        self._workers = workers

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run the plan; see ``Plan.run``."""
        cancellation = Cancellation()
        limits = step_limits()
        step, limits = limits.cancellation, replace(limits, cancellation=cancellation)
        exchange = Exchange(self.arrangement.handoffs, cancellation)
        extra = len(feeds) - len(self.schedule.feeds)  # additional arguments of traced plans
        extra_arguments, feeds = feeds[:extra], feeds[extra:]
        failures: list[tuple[int, Exception]] = []

        def run_lane(lane: int) -> Any:
            code = self.codes[lane]
            errors, had_denormals = errors_now(), has_denormals()
            try:
                enter()
                lane_feeds = [feeds[position] for position in self._lane_feeds[lane]]
                with limited(limits):
                    return code.function(
                        *extra_arguments, exchange.give, exchange.take, exchange.stopped, *lane_feeds
                    )
            except _Stopped:
                return None
            except Exception as error:
                if is_of_signal_handler(error):
                    exchange.fail()
                    raise
                if exchange.stopped and isinstance(error, CancelledError):
                    return None
                failures.append(self._failure_in(lane, error))
                exchange.fail()
                return None
            except BaseException:
                exchange.fail()
                raise
            finally:
                try:
                    put_errors(errors)
                finally:
                    if had_denormals:
                        keep_denormals()

        pending: list[Any] = []
        ended: list[threading.Lock] = []
        try:
            if step is not None and not step.register(cancellation, cancellation.cancel):
                cancellation.cancel()  # other tasks have cancelled the step
            for lane in range(1, len(self.codes)):
                pending.append(self._workers.start(run_lane, lane))
                ended.append(threading.Lock())
                ended[-1].acquire()
                pending[-1].add_done_callback(lambda _, lock=ended[-1]: lock.release())
            fetched = run_lane(0)
            for number, future in enumerate(pending):
                acquire(ended[number])
                future.result()
        except BaseException:  # the caller was interrupted, or no thread could be started
            exchange.fail()
            for future in pending:  # wait until each lane has finished its current node
                future.exception()
            raise
        finally:
            if step is not None:
                step.deregister(cancellation)
            exchange.clear()
        if failures:
            raise min(failures, key=lambda failure: failure[0])[1]
        return fetched

    def _failure_in(self, lane: int, error: Exception) -> tuple[int, Exception]:
        """Return the position of the failed node, and its error."""
        code = self.codes[lane]
        frame = self.frame_of(error.__traceback__, code)
        step = None if frame is None else code.owners[frame.tb_lineno]
        position = len(self.schedule.steps)
        if step is not None:
            position = self.arrangement.lanes[lane].numbers[self.arrangement.lanes[lane].steps.index(step)]
        failure = self.failure(error, code)
        if failure is not error:
            failure.__cause__ = error
        return position, failure
