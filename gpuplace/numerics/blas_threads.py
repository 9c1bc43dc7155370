"""How many threads NumPy's linear algebra library may use for one matrix product.

As it comes it has as many as the machine has cores, and products of several devices take turns there. With
``ConfigProto.intra_op_parallelism_threads`` it gets fewer, so that the devices share the cores. That is nothing to be
changed in passing: with another number of threads a product's last bits differ. So the first session that asks decides.

While the threads of ``threads`` work on pieces of one kernel, every product stays on the thread that asks for it: the
library serves one caller at a time with its own threads, which wait for each other by spinning, at a great cost where
other programs want the cores too.

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
    """Limits the library, unless that was done before; 0 asks for nothing."""
    with ONE_THREAD.lock:
        if threads > 0 and PROCESS.blas_threads is None:
            PROCESS.blas_threads = before = ONE_THREAD.usual()
            ONE_THREAD.set_usual([threads] * len(before))


def reset() -> None:
    """Gives the library its own choice back."""
    with ONE_THREAD.lock:
        before, PROCESS.blas_threads = PROCESS.blas_threads, None
        if before is not None:
            ONE_THREAD.set_usual(before)


def counts() -> list[int]:
    """The number of threads of each library that NumPy has loaded; none for one that cannot be asked."""
    return [library.get() for library in _found()]


class _OneThread:
    """A ``with`` block in which products stay on the calling thread; several threads may be in it at once."""

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
    """Those of OpenBLAS itself where it has one number for the process: to ask threadpoolctl takes longer than a small
    product, and it lets only one thread decide.
    """
    if library.internal_api == "openblas" and getattr(library, "threading_layer", "") == "pthreads":
        for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            names = [f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
            if all(hasattr(library.dynlib, name) for name in names):
                return _Library(*[getattr(library.dynlib, name) for name in names])
    return _Library(library.get_num_threads, library.set_num_threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONE_THREAD.restart)
