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

import itertools
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

_lock = threading.Lock()
_libraries: list[_Library] | None = None
_limited_from: list[int] | None = None
"""The numbers of threads before ``limit``."""
_lent_from: list[int] | None = None
"""The numbers of threads to go back to when ``ONE_THREAD`` ends."""
_borrowers = 0


def limit(threads: int) -> None:
    """Limits the library, unless that was done before; 0 asks for nothing."""
    global _limited_from
    with _lock:
        if threads > 0 and _limited_from is None:
            _limited_from = _usual()
            _set_usual([threads] * len(_limited_from))


def reset() -> None:
    """Gives the library its own choice back."""
    global _limited_from
    with _lock:
        before, _limited_from = _limited_from, None
        if before is not None:
            _set_usual(before)


def counts() -> list[int]:
    """The number of threads of each library that NumPy has loaded; none for one that cannot be asked."""
    return [library.get() for library in _found()]


class _OneThread:
    """A ``with`` block in which products stay on the calling thread; several threads may be in it at once."""

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
    """Those of OpenBLAS itself where it has one number for the process: to ask threadpoolctl takes longer than a small
    product, and it lets only one thread decide.
    """
    if library.internal_api == "openblas" and getattr(library, "threading_layer", "") == "pthreads":
        for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
            names = [f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
            if all(hasattr(library.dynlib, name) for name in names):
                return _Library(*[getattr(library.dynlib, name) for name in names])
    return _Library(library.get_num_threads, library.set_num_threads)


def _forget_borrowers() -> None:
    """A forked child has none of its parent's threads."""
    global _lock, _borrowers, _lent_from
    _lock = threading.Lock()
    if _lent_from is not None:
        _put(_lent_from)
    _borrowers, _lent_from = 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_borrowers)
