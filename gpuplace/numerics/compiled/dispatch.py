"""Choose between numba's loops and NumPy's passes; only this module decides.

A kernel requests a loop for some arrays, and uses NumPy until the loop is compiled::

    loop = compiled("relu_gradient", grad, x, result)
    if loop is not None:
        loop(grad, x, result)

A function of small arrays, element by element, is then a single call instead of several::

    quick = element_function("tanh_gradient", dtype)
    result = plain(dy, y) if quick.get() is None else quick.get()(dy, y)

Loading numba takes half a second, and compiling a loop as long, once for each machine: numba caches the result.
Therefore nothing is compiled before ``ENOUGH`` large kernels or ``ENOUGH_SMALL`` small ones have run. Compilation runs
on a separate thread while the program continues. If both ways give the same bits, the time of the switch does not
affect values. A loop that rounds differently is first used by the same call in every run of a program: the one after
``ROUNDED_FROM`` others, which waits for the loop if necessary.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from gpuplace.numerics.compiled import loops

ENOUGH = 32
"""Number of requested loops after which a program has enough work for compilation."""

ENOUGH_SMALL = 10_000
"""The same number for functions of small arrays."""

ROUNDED_FROM = 128
"""Number of calls that use NumPy before a loop that rounds differently is used."""

_TYPES = {np.dtype(np.float32): "float32", np.dtype(np.float64): "float64"}

_ARGUMENTS = {
    "descent": "vnV",
    "momentum": "vnnVV",
    "adam": "vnnnnVVV",
    "relu_gradient": "vvV",
    "scatter": "wMiiiiii",
    "largest": "mMniiiiii",
    "largest_gradient": "mmmMniiiiii",
    "convolution": "mtvMVViiiiiiiibb",
    "filter_gradient": "mmUVViiiiiiii",
}
"""Arguments of each loop: v, t, u, m and w are arrays with one, two, three, four and six axes, n is a number of their
type, i an integer and b a bool; the loop writes to arrays in capitals.
"""

_OF_WINDOWS = frozenset({"convolution", "filter_gradient", "largest", "largest_gradient", "scatter"})
"""Loops in ``window_loops``; the other loops are in ``loops``."""

_BY_ELEMENT = frozenset({"sigmoid_gradient", "tanh_gradient"})
"""Formulas of two elements."""

_ROUNDED = _OF_WINDOWS - {"largest_gradient", "scatter"}
"""Loops whose last bits, or signs of zero, differ from NumPy's."""

_ready: dict[tuple[str, np.dtype[Any]], Callable[..., Any] | None] = {}
_made: dict[tuple[str, np.dtype[Any]], threading.Event] = {}
"""Set when the compiler has finished a loop."""
_calls: dict[tuple[str, np.dtype[Any]], int] = {}
"""Calls so far of each loop that rounds differently, up to the last that uses NumPy."""


class _Compiler:
    """The thread that compiles, and how often kernels asked for loops."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests = 0
        self.queue: SimpleQueue[tuple[str, np.dtype[Any]] | None] = SimpleQueue()
        self.worker: threading.Thread | None = None
        self.is_usable: bool | None = None
        """Whether numba is installed and its lock is not held by a thread of the parent process; None: unknown."""


_compiler = _Compiler()


def compiled(name: str, *arrays: Any) -> Callable[..., None] | None:
    """Return the compiled loop; None if it is not available, or the arrays differ in type or are not contiguous.

    Args:
        name: name of a function in ``loops`` or ``window_loops``.
        *arrays: NumPy arrays for the loop.
    """
    dtype = arrays[0].dtype
    key = (name, dtype)
    if key not in _ready:
        _ask(key)
    loop = _settled(key) if name in _ROUNDED else _ready.get(key)
    if loop is not None:
        for array in arrays:
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned and array.dtype == dtype):
                return None
    return loop


class ElementFunction:
    """A function like NumPy's own, available once compiled; its results have the same bits as NumPy's.

    Args:
        name: name of a formula in ``loops``.
        dtype: type of the elements.
    """

    __slots__ = ("_asked", "_key", "function")

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        self._key = (name, dtype)
        self._asked = 0
        self.function: Callable[..., Any] | None = None
        """The compiled function at the last call of ``get``."""

    def get(self) -> Callable[..., Any] | None:
        """Return the compiled function, or None. A small kernel calls this each time that it runs without it."""
        if self.function is None:
            self._asked += 1
            if self._asked >= ENOUGH_SMALL:
                if self._key not in _ready:
                    _want(self._key)
                self.function = _ready.get(self._key)
        return self.function


@functools.cache
def element_function(name: str, dtype: np.dtype[Any]) -> ElementFunction:
    """Return the single function with that name for elements of that type."""
    return ElementFunction(name, dtype)


def compile_now(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Compile a loop, or load it from numba's cache.

    Args:
        name: name of a function in ``loops`` or ``window_loops``.
        dtype: float32 or float64.

    Raises:
        ImportError: numba is not installed.
    """
    import numba

    if name in _BY_ELEMENT:
        number = getattr(numba, _TYPES[dtype])
        vectorize: Any = numba.vectorize
        made_of = vectorize([number(number, number)], cache=True)(getattr(loops, name)(dtype.type(1)))
        return getattr(made_of, "ufunc", made_of)
    if name in _OF_WINDOWS:
        from gpuplace.numerics.compiled import window_loops

        function = getattr(window_loops, name)
    else:
        function = getattr(loops, name)
    number = getattr(numba, _TYPES[dtype])
    kinds: dict[str, Any] = {"n": number, "i": numba.int64, "b": numba.boolean}
    for kind, element, axes in (
        ("v", number, 1),
        ("t", number, 2),
        ("u", number, 3),
        ("m", number, 4),
        ("w", number, 6),
    ):
        kinds[kind] = numba.types.Array(element, axes, "C", readonly=True)
        kinds[kind.upper()] = numba.types.Array(element, axes, "C")
    signature = numba.void(*[kinds[kind] for kind in _ARGUMENTS[name]])
    loop: Callable[..., None] = numba.njit(signature, cache=True, nogil=True, error_model="numpy")(function)
    return loop


def _settled(key: tuple[str, np.dtype[Any]]) -> Callable[..., None] | None:
    """Return the compiled loop, or None for the first calls: their number is the same in each run of a program."""
    if _calls.get(key, 0) < ROUNDED_FROM:
        with _compiler.lock:
            _calls[key] = _calls.get(key, 0) + 1
            if _calls[key] <= ROUNDED_FROM:
                return None
    made = _made.get(key)
    if made is not None:
        made.wait()
    return _ready.get(key)


def _ask(key: tuple[str, np.dtype[Any]]) -> None:
    with _compiler.lock:
        _compiler.requests += 1
        if _compiler.requests < ENOUGH:
            return
    _want(key)


def _want(key: tuple[str, np.dtype[Any]]) -> None:
    """Start compiling a loop, unless that was done before."""
    with _compiler.lock:
        if key in _ready:
            return
        if _compiler.is_usable is None:
            _compiler.is_usable = importlib.util.find_spec("numba") is not None
        _ready[key] = None
        if not _compiler.is_usable or key[1] not in _TYPES:
            return
        _made[key] = threading.Event()
        _compiler.queue.put(key)
        if _compiler.worker is None:
            _compiler.worker = threading.Thread(target=_serve, name="gpuplace-numba", daemon=True)
            _compiler.worker.start()
            atexit.register(_stop)


def _serve() -> None:
    while (key := _compiler.queue.get()) is not None:
        try:
            _ready[key] = compile_now(*key)
        except Exception as error:  # for example a numba that is older than NumPy
            warnings.warn(f"numba is installed but cannot be used: {error}", RuntimeWarning, stacklevel=1)
        finally:
            _made[key].set()


def _stop() -> None:
    """Wait for the loop under compilation: the end of the process must not interrupt a compiler."""
    while not _compiler.queue.empty():
        _compiler.queue.get()
    _compiler.queue.put(None)
    if _compiler.worker is not None:
        _compiler.worker.join()


def _forget_worker() -> None:
    """Reset the state in a forked child: it has no threads of its parent, and numba's lock may stay locked."""
    _compiler.lock, _compiler.queue, _compiler.worker = threading.Lock(), SimpleQueue(), None
    if not all(made.is_set() for made in _made.values()):
        _compiler.is_usable = False
    for key in [key for key, loop in _ready.items() if loop is None]:
        del _ready[key]
        _made.pop(key, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_worker)
