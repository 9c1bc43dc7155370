"""Which loops are compiled, and for what: the one place that decides between numba's loops and NumPy's passes.

A kernel asks for a loop over some arrays, and goes NumPy's way until the loop is there::

    loop = compiled("relu_gradient", grad, x, result)
    if loop is not None:
        loop(grad, x, result)

A function of small arrays, element by element, is one call instead of several, once it is there::

    quick = element_function("tanh_gradient", dtype)
    result = plain(dy, y) if quick.get() is None else quick.get()(dy, y)

To load numba takes half a second, and to compile a loop as long, once for a machine: numba keeps what it made in its
cache. So nothing of it happens before ``ENOUGH`` large kernels have run, or ``ENOUGH_SMALL`` small ones, and then on a
thread of its own, while the program goes on. Where both ways give the same bits, it makes no difference to the values
when that is done. Loops that round in another way are first used by the same call in every run of a program: the one
after ``ROUNDED_FROM`` others, which waits for the loop where it has to.
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
"""A program that asks for loops so many times has enough work for them."""

ENOUGH_SMALL = 10_000
"""Likewise for functions of small arrays."""

ROUNDED_FROM = 128
"""So many calls go NumPy's way before a loop is used that rounds in another way."""

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
"""What each loop takes: v, t, u, m and w are arrays of one, two, three, four and six axes, n a number of their type, i
an integer and b a bool; capitals are written to.
"""

_OF_WINDOWS = frozenset({"convolution", "filter_gradient", "largest", "largest_gradient", "scatter"})
"""Loops in ``window_loops``; the others are in ``loops``."""

_BY_ELEMENT = frozenset({"sigmoid_gradient", "tanh_gradient"})
"""Formulas of two elements."""

_ROUNDED = _OF_WINDOWS - {"largest_gradient", "scatter"}
"""Loops whose last bits, or signs of zero, are not those of NumPy's way."""

_ready: dict[tuple[str, np.dtype[Any]], Callable[..., Any] | None] = {}
_made: dict[tuple[str, np.dtype[Any]], threading.Event] = {}
"""Set when the compiler is through with a loop."""
_calls: dict[tuple[str, np.dtype[Any]], int] = {}
"""Of the loops that round in another way, up to the last that goes NumPy's way."""


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
    """The compiled loop; None where there is none, or none yet, or the arrays are not all of one type and contiguous.

    Args:
        name: of a function in ``loops`` or ``window_loops``.
        *arrays: NumPy's, that it would be for.
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
    """A function like NumPy's own, as soon as it has been compiled; it gives the bits of NumPy's way.

    Args:
        name: of a formula in ``loops``.
        dtype: of its elements.
    """

    __slots__ = ("_asked", "_key", "function")

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        self._key = (name, dtype)
        self._asked = 0
        self.function: Callable[..., Any] | None = None
        """What was compiled, as the last call of ``get`` found it."""

    def get(self) -> Callable[..., Any] | None:
        """What was compiled, or None. A small kernel asks for it each time that it runs without."""
        if self.function is None:
            self._asked += 1
            if self._asked >= ENOUGH_SMALL:
                if self._key not in _ready:
                    _want(self._key)
                self.function = _ready.get(self._key)
        return self.function


@functools.cache
def element_function(name: str, dtype: np.dtype[Any]) -> ElementFunction:
    """The only one of that name for elements of that type."""
    return ElementFunction(name, dtype)


def compile_now(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Compiles a loop, or takes it from numba's cache.

    Args:
        name: of a function in ``loops`` or ``window_loops``.
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
    made: Callable[..., None] = numba.njit(signature, cache=True, nogil=True, error_model="numpy")(function)
    return made


def _settled(key: tuple[str, np.dtype[Any]]) -> Callable[..., None] | None:
    """The loop, from the same call on in every run of a program."""
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
    """Has a loop compiled, unless that was done before."""
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
        except Exception as error:  # such as a numba that is older than NumPy
            warnings.warn(f"numba is installed and cannot be used: {error}", RuntimeWarning, stacklevel=1)
        finally:
            _made[key].set()


def _stop() -> None:
    """Waits for the loop that is being compiled: a compiler must not be cut off by the end of the process."""
    while not _compiler.queue.empty():
        _compiler.queue.get()
    _compiler.queue.put(None)
    if _compiler.worker is not None:
        _compiler.worker.join()


def _forget_worker() -> None:
    """A forked child has none of its parent's threads, and where one was compiling, numba's lock stays closed."""
    _compiler.lock, _compiler.queue, _compiler.worker = threading.Lock(), SimpleQueue(), None
    if not all(made.is_set() for made in _made.values()):
        _compiler.is_usable = False
    for key in [key for key, loop in _ready.items() if loop is None]:
        del _ready[key]
        _made.pop(key, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_worker)
