"""How kernels compute with floating point numbers: denormal ones are zeros, and errors are silent, as in TensorFlow.

Overflow, division by zero and invalid operations say nothing while a step runs. Numbers nearer to zero than the
smallest normal one (1.2e-38 of single precision) count as 0, in what is read and in what is written: a processor takes
ten to a hundred times as long for them, and what trains on until its gradients vanish is full of them. What only hands
numbers on keeps them.

``numpy.errstate`` costs as much as a small product, most of it for reading its arguments, so the state is made once and
only put in place; with a NumPy that keeps it elsewhere ``numpy.errstate`` does it. The processor's state is a thread's
own: a step ends in that in which this module was imported, or in that in which it began where denormal numbers were
zeros before. Where the C library offers no way to it, they stay.

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
"""Of 32 bits; more than any environment has."""
_FLUSHING = {"x86_64": (7, 0x8040), "aarch64": (0, 1 << 24)}
"""Processor -> which word of its environment, and the bits of it, make denormal numbers zeros."""


def _errors_with_errstate() -> _Pair:
    def silence() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def restore(state: Any) -> None:
        state.__exit__(None, None, None)

    return silence, restore


def _errors_with_prepared_state() -> _Pair:
    """The two functions, made of NumPy's context variable; AttributeError if there is no such thing."""
    umath = np._core.umath  # type: ignore[attr-defined]
    variable, quiet = umath._extobj_contextvar, umath._make_extobj(all="ignore")
    silence, restore = partial(variable.set, quiet), variable.reset
    before = np.geterr()
    token = silence()
    is_silent = set(np.geterr().values()) == {"ignore"}
    restore(token)
    if not is_silent or np.geterr() != before:
        raise AttributeError("the variable is not what decides")
    return silence, restore


def _errors() -> _Pair:
    try:
        return _errors_with_prepared_state()
    except (AttributeError, TypeError, ValueError):
        return _errors_with_errstate()


class _Denormals(NamedTuple):
    """What makes denormal numbers zeros on the calling thread, and what leaves them as they are."""

    flush: Callable[[], Any]
    keep: Callable[[], Any]


_SMALLEST = np.full(64, np.finfo(np.float32).tiny)


def _is_there(numbers: Any) -> bool:
    """Whether a part of these is more than nothing."""
    return bool((numbers * np.float32(0.25)).any())


def _denormals() -> _Denormals | None:
    """The two calls; None where the C library has none, or they change nothing."""
    where = _FLUSHING.get(platform.machine())
    if sys.platform != "linux" or where is None:
        return None
    try:
        library = ctypes.PyDLL("libm.so.6")  # the calls take less than letting go of Python's lock
        get, put = library.fegetenv, library.fesetenv
    except (OSError, AttributeError):
        return None
    usual, flushing = (ctypes.c_uint32 * _WORDS)(), (ctypes.c_uint32 * _WORDS)()
    if get(usual) or get(flushing):
        return None
    word, bits = where
    begun, usual[word], flushing[word] = usual[word], usual[word] & ~bits, usual[word] | bits
    put.argtypes, put.restype = (ctypes.c_void_p,), None
    found = _Denormals(partial(put, flushing), partial(put, usual))
    found.flush()
    is_zero = not _is_there(_SMALLEST)
    found.keep()
    is_number = _is_there(_SMALLEST)
    if begun & bits:
        found.flush()
    return found if is_zero and is_number else None


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
"""Begin and end of the state, on one thread; what the one returns the other takes."""


def _before_and_after() -> tuple[Callable[[], Any], Callable[[Any], Any], Callable[[], Any]]:
    try:
        variable = np._core.umath._extobj_contextvar  # type: ignore[attr-defined]
        errors, put = variable.get, variable.set
    except AttributeError:
        errors, put = np.geterr, lambda before: np.seterr(**before)
    found = _denormals()
    return errors, put, bool if found is None else found.keep


errors_now, put_errors, keep_denormals = _before_and_after()
"""How errors are told on this thread, what puts that in place, and what ends that denormal numbers are zeros.

An exception of a signal handler can come at any instruction of a Python function, also in `enter` and `leave`, but not
within a call of these. So who may be interrupted asks before, and puts in place at the end what there was::

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
    """Whether this thread computes with denormal numbers."""
    return sys.float_info.min * _PART != 0.0


_PART = 0.25


@contextlib.contextmanager
def as_kernels_do() -> Iterator[None]:
    """A ``with`` block that computes as kernels do; calls of the functions are quicker."""
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
    """Whether denormal numbers count as zeros on the calling thread, now."""
    return not _is_there(_SMALLEST)
