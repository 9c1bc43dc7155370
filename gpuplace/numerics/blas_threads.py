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

import itertools
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

_lock = threading.Lock()
_libraries: list[_Library] | None = None
_limited_from: list[int] | None = None
"""Numbers of threads before ``limit``."""
_lent_from: list[int] | None = None
"""Numbers of threads to restore when ``ONE_THREAD`` ends."""
_borrowers = 0


def limit(threads: int) -> None:
    """Limit the library's threads, unless that was done before; 0 sets no limit."""
    global _limited_from
    with _lock:
        if threads > 0 and _limited_from is None:
            _limited_from = _usual()
            _set_usual([threads] * len(_limited_from))


def reset() -> None:
    """Restore the library's default number of threads."""
    global _limited_from
    with _lock:
        before, _limited_from = _limited_from, None
        if before is not None:
            _set_usual(before)


def counts() -> list[int]:
    """Return the number of threads of each loaded library; libraries that cannot be queried are left out."""
    return [library.get() for library in _found()]


class _OneThread:
    """A ``with`` block in which products stay on the calling thread; several threads can be in it at once."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _borrowers, _lent_from
        with _lock:
            if not _borrowers:
                _lent_from = counts()
                _put([1] * len(_lent_from))
            _borrowers += 1

    def __exit__(self, *_: object) -> None:
        global _borrowers, _lent_from
        with _lock:
            _borrowers -= 1
            if not _borrowers and _lent_from is not None:
                _put(_lent_from)
                _lent_from = None


ONE_THREAD = _OneThread()
"""The block."""


def _usual() -> list[int]:
    return counts() if _lent_from is None else _lent_from


def _set_usual(numbers: list[int]) -> None:
    global _lent_from
    if _lent_from is None:
        _put(numbers)
    else:
        _lent_from = numbers


def _put(numbers: list[int]) -> None:
    for library, number in zip(_found(), numbers, strict=True):
        library.put(number)


class _Library(NamedTuple):
    get: Callable[[], int]
    put: Callable[[int], Any]


def _found() -> list[_Library]:
    global _libraries
    if _libraries is None:
        from threadpoolctl import ThreadpoolController

        loaded = ThreadpoolController().select(user_api="blas").lib_controllers
        _libraries = [_functions(library) for library in loaded]
    return _libraries


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


def _forget_borrowers() -> None:
    """Reset the state in a forked child, which has none of its parent's threads."""
    global _lock, _borrowers, _lent_from
    _lock = threading.Lock()
    if _lent_from is not None:
        _put(_lent_from)
    _borrowers, _lent_from = 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_borrowers)
