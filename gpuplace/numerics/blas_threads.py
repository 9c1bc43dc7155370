"""Limit the number of threads of NumPy's linear algebra library for a matrix product.

By default, the library uses a thread for each core, and products of several devices take turns. With
``ConfigProto.intra_op_parallelism_threads``, it gets fewer threads, so that the devices share the cores. The last bits
of a product depend on the number of threads, so the first session that sets the number decides for the process.

While the threads of ``threads`` work on pieces of a kernel, each product stays on its calling thread. The library
serves one caller at a time with its own threads. They wait for each other by spinning, which is costly if other
programs need the cores too.

>>> with ONE_THREAD:
...     counts()
[1]
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from gpuplace.process import PROCESS


def limit(threads: int) -> None:
    """Limit the library's threads, unless that was done before; 0 sets no limit."""
    with ONE_THREAD.lock:
        if threads > 0 and PROCESS.blas_threads is None:
            PROCESS.blas_threads = before = ONE_THREAD.usual()
            ONE_THREAD.set_usual([threads] * len(before))


def reset() -> None:
    """Restore the library's default number of threads."""
    with ONE_THREAD.lock:
        before, PROCESS.blas_threads = PROCESS.blas_threads, None
        if before is not None:
            ONE_THREAD.set_usual(before)


def counts() -> list[int]:
    """Return the number of threads of each loaded library; libraries that cannot be queried are left out."""
    return [library.get() for library in _found()]


class _OneThread:
    """A ``with`` block in which products stay on the calling thread; several threads can be in it at once."""

    __slots__ = ("borrowers", "lent_from", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.borrowers = 0
        self.lent_from: list[int] | None = None
        """The numbers of threads that the end of the block restores."""

    def __enter__(self) -> None:
        with self.lock:
            if not self.borrowers:
                self.lent_from = counts()
                _put([1] * len(self.lent_from))
            self.borrowers += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.borrowers -= 1
            if not self.borrowers:
                self.end()

    def end(self) -> None:
        """Give the libraries their threads back."""
        if self.lent_from is not None:
            _put(self.lent_from)
            self.lent_from = None

    def usual(self) -> list[int]:
        """Return the numbers of threads outside the block."""
        return counts() if self.lent_from is None else self.lent_from

    def set_usual(self, numbers: list[int]) -> None:
        """Set the numbers of threads outside the block."""
        if self.lent_from is None:
            _put(numbers)
        else:
            self.lent_from = numbers

    def restart(self) -> None:
        """End the block of a forked child, which has no threads of its parent."""
        self.lock, self.borrowers = threading.Lock(), 0
        self.end()


ONE_THREAD = _OneThread()
"""The block."""


def _put(numbers: list[int]) -> None:
    for library, number in zip(_found(), numbers, strict=True):
        library.put(number)


class _Library(NamedTuple):
    get: Callable[[], int]
    put: Callable[[int], Any]


@functools.cache
def _found() -> list[_Library]:
    from threadpoolctl import ThreadpoolController

    loaded = ThreadpoolController().select(user_api="blas").lib_controllers
    return [_functions(library) for library in loaded]


def _functions(library: Any) -> _Library:
    """Return OpenBLAS's own functions if it has a process-wide number of threads; threadpoolctl is slower than a small
    product, and lets only one thread decide.
    """
    if library.internal_api == "openblas" and getattr(library, "threading_layer", "") == "pthreads":
        for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            names = [f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
            if all(hasattr(library.dynlib, name) for name in names):
                return _Library(*[getattr(library.dynlib, name) for name in names])
    return _Library(library.get_num_threads, library.set_num_threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONE_THREAD.restart)
