"""Ctrl-C while simulated memory is accounted: it waits until the books are in order.

Python raises KeyboardInterrupt between any two instructions of the main thread: in the middle of an allocator's work,
which would leave its chunks and bins at odds, or in a callback of a dead array, where Python drops it. So steps that
account for memory have a handler of SIGINT that looks at what it interrupts, and asks again shortly after where that
is accounting. Where the program has a handler of its own, or runs the step in another thread, nothing is changed.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, cast

from gpuplace.memory.bfc_allocator import BFCAllocator
from gpuplace.memory.simulated_memory import Reservation, SimulatedMemory

_ASK_AGAIN_S = 0.0005

_ACCOUNTING: frozenset[CodeType] = frozenset(
    function.__code__
    for function in (
        BFCAllocator.allocate,
        BFCAllocator.deallocate,
        Reservation.__init__,
        Reservation.__del__,
        SimulatedMemory.note,
        SimulatedMemory.reserve,
        SimulatedMemory.free,
        SimulatedMemory.collect,
        SimulatedMemory._dropped,
    )
)
_RETRYING = BFCAllocator._wait_and_retry.__code__
_WAIT = threading.Condition.wait.__code__


def _is_accounting(frame: FrameType | None) -> bool:
    """Whether an allocator is at work here; one that waits for another thread to free memory is not."""
    within = None
    while frame is not None:
        if frame.f_code is _RETRYING and within is _WAIT:
            return False
        if frame.f_code in _ACCOUNTING:
            return True
        within, frame = frame.f_code, frame.f_back
    return False


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _is_accounting(frame):
        _thread.start_new_thread(_ask_again, ())  # unlike a `Thread`, it is not waited for until it runs
    else:
        signal.default_int_handler(number, frame)


def _ask_again() -> None:
    time.sleep(_ASK_AGAIN_S)
    if hasattr(
        signal, "pthread_kill"
    ):  # a signal of the system also ends a wait, in which the main thread may be by now
        signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGINT)
    else:
        _thread.interrupt_main()


class _Accounting:
    """A context in which Ctrl-C waits for accounting."""

    def __enter__(self) -> None:
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            signal.signal(signal.SIGINT, _interrupt)

    def __exit__(self, *error: Any) -> None:
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is _interrupt
        ):
            signal.signal(signal.SIGINT, signal.default_int_handler)


ACCOUNTING = _Accounting()
"""``with ACCOUNTING:`` around what accounts for memory."""


def accounted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in such a context.

    Args:
        function: accounts for memory.

    Returns:
        A function of the same arguments.
    """

    def run(*arguments: Any) -> Any:
        with ACCOUNTING:
            return function(*arguments)

    return run
