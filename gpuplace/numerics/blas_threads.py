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

import os
import threading
from typing import Any

_lock = threading.Lock()
_libraries: list[Any] | None = None
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
    return [library.get_num_threads() for library in _found()]


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
        library.set_num_threads(number)
        release = getattr(library, "clear_controlling_thread", None)
        if (
            release is not None
        ):  # newer versions of threadpoolctl listen to one thread alone, until that lets go
            release()


def _found() -> list[Any]:
    global _libraries
    if _libraries is None:
        from threadpoolctl import ThreadpoolController

        _libraries = list(ThreadpoolController().select(user_api="blas").lib_controllers)
    return _libraries


def _forget_borrowers() -> None:
    """A forked child has none of its parent's threads."""
    global _lock, _borrowers, _lent_from
    _lock = threading.Lock()
    if _lent_from is not None:
        _put(_lent_from)
    _borrowers, _lent_from = 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_borrowers)
