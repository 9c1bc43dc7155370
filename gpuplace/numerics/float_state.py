"""Floating-point state of kernels: denormal numbers are flushed to zero and errors are silent, as in TensorFlow.

While a step runs, overflow, division by zero and invalid operations give no warnings. Inputs and results below the
smallest normal number (1.2e-38 in single precision) count as 0. Denormal arithmetic is ten to a hundred times as slow,
and a model that trains until its gradients vanish is full of such numbers. Ops that only copy numbers keep them.

``numpy.errstate`` costs as much as a small product, mostly for parsing its arguments, so the state is created once and
then only set. If a NumPy version stores the state elsewhere, ``numpy.errstate`` is used. The processor's state belongs
to a thread: a step restores the state of the importing thread, or the state at its start if that thread flushed
denormals before. If the C library has no function for this, denormals are not flushed.

>>> tiny = np.float32(1e-38)
>>> token = enter()
>>> np.geterr()["divide"], flushes_denormals() and bool(tiny * np.float32(0.1))
('ignore', False)
>>> leave(token)
>>> np.geterr()["divide"], bool(tiny * np.float32(0.1))
('warn', True)

Source: tensorflow/core/platform/denormal.cc and its use in threadpool.cc, releases 1.15 and 2.21; the floating point
environments of x86-64 and AArch64 in the GNU C library, bits/fenv.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

__all__ = ["as_kernels_do", "enter", "flushes_denormals", "leave"]

_Pair = tuple[Callable[[], Any], Callable[[Any], None]]

_WORDS = 16
"""Size in bytes (words of 32 bits), more than any environment needs."""
_FLUSHING = {"x86_64": (7, 0x8040), "aarch64": (0, 1 << 24)}
"""Processor -> the word of its environment, and the bits in it, that flush denormals."""


def _errors_with_errstate() -> _Pair:
    def silence() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def restore(state: Any) -> None:
        state.__exit__(None, None, None)

    return silence, restore


def _errors_with_prepared_state() -> _Pair:
    """Return the two functions for NumPy's context variable; AttributeError if it does not exist."""
    umath = np._core.umath  # type: ignore[attr-defined]
    variable, quiet = umath._extobj_contextvar, umath._make_extobj(all="ignore")
    silence, restore = partial(variable.set, quiet), variable.reset
    before = np.geterr()
    token = silence()
    is_silent = set(np.geterr().values()) == {"ignore"}
    restore(token)
    if not is_silent or np.geterr() != before:
        raise AttributeError("the context variable does not control the error state")
    return silence, restore


def _errors() -> _Pair:
    try:
        return _errors_with_prepared_state()
    except (AttributeError, TypeError, ValueError):
        return _errors_with_errstate()


class _Denormals(NamedTuple):
    """Return the functions that flush and keep denormals on the calling thread."""

    flush: Callable[[], Any]
    keep: Callable[[], Any]


_SMALLEST = np.full(64, np.finfo(np.float32).tiny)


def _is_there(numbers: Any) -> bool:
    """Return whether a fraction of a denormal number is not zero."""
    return bool((numbers * np.float32(0.25)).any())


def _denormals() -> _Denormals | None:
    """Return the two calls; None if the C library lacks them, or they have no effect."""
    where = _FLUSHING.get(platform.machine())
    if sys.platform != "linux" or where is None:
        return None
    try:
        library = ctypes.PyDLL("libm.so.6")  # the calls are faster than releasing Python's lock
        get, put = library.fegetenv, library.fesetenv
    except (OSError, AttributeError):
        return None
    usual, flushing = (ctypes.c_uint32 * _WORDS)(), (ctypes.c_uint32 * _WORDS)()
    if get(usual) or get(flushing):
        return None
    word, bits = where
    begun, usual[word], flushing[word] = usual[word], usual[word] & ~bits, usual[word] | bits
    put.argtypes, put.restype = (ctypes.c_void_p,), None
    switch = _Denormals(partial(put, flushing), partial(put, usual))
    switch.flush()
    is_zero = not _is_there(_SMALLEST)
    switch.keep()
    is_number = _is_there(_SMALLEST)
    if begun & bits:
        switch.flush()
    return switch if is_zero and is_number else None


def _chosen() -> _Pair:
    silence, restore = _errors()
    found = _denormals()
    if found is None:
        return silence, restore
    (flush, keep), tiny, part = found, sys.float_info.min, 0.25

    def begin() -> Any:
        if tiny * part:
            flush()
            return silence(), True
        return silence(), False

    def end(token: Any) -> None:
        errors, has_flushed = token
        if has_flushed:
            keep()
        restore(errors)

    return begin, end


enter, leave = _chosen()
"""Enter and leave the state on one thread; the result of the first is the argument of the second."""


def _before_and_after() -> tuple[Callable[[], Any], Callable[[Any], Any], Callable[[], Any]]:
    try:
        variable = np._core.umath._extobj_contextvar  # type: ignore[attr-defined]
        errors, put = variable.get, variable.set
    except AttributeError:
        errors, put = np.geterr, lambda before: np.seterr(**before)
    found = _denormals()
    return errors, put, bool if found is None else found.keep


errors_now, put_errors, keep_denormals = _before_and_after()
"""Return the thread's error state, the function that sets it, and the one that stops flushing denormals.

A signal handler's exception can come at any instruction of a Python function, also in `enter` and `leave`, but not
within these calls. Code that may be interrupted therefore saves the state first and restores it at the end::

    errors, had_denormals = errors_now(), has_denormals()
    try:
        enter()
        ...
    finally:
        try:
            put_errors(errors)
        finally:
            if had_denormals:
                keep_denormals()
"""


def has_denormals() -> bool:
    """Return whether this thread keeps denormal numbers."""
    return sys.float_info.min * _PART != 0.0


_PART = 0.25


@contextlib.contextmanager
def as_kernels_do() -> Iterator[None]:
    """A ``with`` block that computes as kernels do; calling the functions is faster."""
    errors, had_denormals = errors_now(), has_denormals()
    try:
        enter()
        yield
    finally:
        try:
            put_errors(errors)
        finally:
            if had_denormals:
                keep_denormals()


def flushes_denormals() -> bool:
    """Return whether the calling thread flushes denormal numbers now."""
    return not _is_there(_SMALLEST)
