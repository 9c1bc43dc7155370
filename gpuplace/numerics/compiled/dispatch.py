"""Which loops are compiled, and for what: the one place that decides between numba's loops and NumPy's passes.

A kernel asks for a loop over some arrays, and goes NumPy's way until the loop is there::

    loop = compiled("relu_gradient", grad, x, result)
    if loop is not None:
        loop(grad, x, result)

To load numba takes half a second, and to compile a loop as long, once for a machine: numba keeps what it made in its
cache. So nothing of it happens before ``ENOUGH`` large kernels have run, and then on a thread of its own, while the
program goes on. As both ways give the same bits, it makes no difference to the values when that is done.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable
from queue import SimpleQueue
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from gpuplace.numerics.compiled import loops

ENOUGH = 32
"""A program that asks for loops so many times has enough work for them."""

_TYPES = {np.dtype(np.float32): "float32", np.dtype(np.float64): "float64"}

_ARGUMENTS = {
    "descent": "vnV",
    "momentum": "vnnVV",
    "adam": "vnnnnVVV",
    "relu_gradient": "vvV",
    "scatter": "wMiiiiii",
    "largest_gradient": "mmmMFniiiiiib",
}
"""What each loop takes: v, m and w are arrays of one, four and six axes, n a number of their type, i an integer, b a
bool and f an array of them; capitals are written to.
"""

_lock = threading.Lock()
_ready: dict[tuple[str, np.dtype[Any]], Callable[..., None] | None] = {}
_wanted: SimpleQueue[tuple[str, np.dtype[Any]] | None] = SimpleQueue()
_asked = 0
_worker: threading.Thread | None = None
_is_there: bool | None = None


def compiled(name: str, *arrays: Any) -> Callable[..., None] | None:
    """The compiled loop; None where there is none, or none yet, or the arrays are not all of one type and contiguous.

    Args:
        name: of a function in ``loops``.
        *arrays: NumPy's, that it would be for.
    """
    dtype = arrays[0].dtype
    key = (name, dtype)
    if key not in _ready:
        _ask(key)
    loop = _ready.get(key)
    if loop is not None:
        for array in arrays:
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned and array.dtype == dtype):
                return None
    return loop


def compile_now(name: str, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compiles a loop, or takes it from numba's cache.

    Args:
        name: of a function in ``loops``.
        dtype: float32 or float64.

    Raises:
        ImportError: numba is not installed.
    """
    import numba

    number = getattr(numba, _TYPES[dtype])
    kinds: dict[str, Any] = {"n": number, "i": numba.int64, "b": numba.boolean}
    for kind, element, axes in (
        ("f", numba.boolean, 1),
        ("v", number, 1),
        ("m", number, 4),
        ("w", number, 6),
    ):
        kinds[kind] = numba.types.Array(element, axes, "C", readonly=True)
        kinds[kind.upper()] = numba.types.Array(element, axes, "C")
    signature = numba.void(*[kinds[kind] for kind in _ARGUMENTS[name]])
    made: Callable[..., None] = numba.njit(signature, cache=True, nogil=True, error_model="numpy")(
        getattr(loops, name)
    )
    return made


def compiled_module(module: ModuleType) -> Any:
    """The functions of a module, which may call each other, compiled; the module itself where numba is not installed.

    Each is compiled for the types of its arguments when it is first called, or taken from numba's cache.

    Args:
        module: one with nothing in it but functions and constants.
    """
    if importlib.util.find_spec("numba") is None:
        return module
    import numba

    names = dict(vars(module))
    for name, function in vars(module).items():
        if isinstance(function, FunctionType) and function.__module__ == module.__name__:
            own = FunctionType(
                function.__code__, names, name, function.__defaults__
            )  # sees the others compiled
            own.__module__, own.__qualname__ = module.__name__, name
            names[name] = numba.njit(cache=True, nogil=True, error_model="numpy")(own)
    return SimpleNamespace(**names)


def _ask(key: tuple[str, np.dtype[Any]]) -> None:
    global _asked, _worker, _is_there
    with _lock:
        _asked += 1
        if _asked < ENOUGH or key in _ready:
            return
        if _is_there is None:
            _is_there = importlib.util.find_spec("numba") is not None
        _ready[key] = None
        if not _is_there or key[1] not in _TYPES:
            return
        _wanted.put(key)
        if _worker is None:
            _worker = threading.Thread(target=_serve, name="gpuplace-numba", daemon=True)
            _worker.start()
            atexit.register(_stop)


def _serve() -> None:
    while (key := _wanted.get()) is not None:
        try:
            _ready[key] = compile_now(*key)
        except Exception as error:  # such as a numba that is older than NumPy
            warnings.warn(f"numba is installed and cannot be used: {error}", RuntimeWarning, stacklevel=1)
            return


def _stop() -> None:
    """Waits for the loop that is being compiled: a compiler must not be cut off by the end of the process."""
    while not _wanted.empty():
        _wanted.get()
    _wanted.put(None)
    if _worker is not None:
        _worker.join()


def _forget_worker() -> None:
    """A forked child has none of its parent's threads."""
    global _lock, _wanted, _worker
    _lock, _wanted, _worker = threading.Lock(), SimpleQueue(), None
    for key in [key for key, loop in _ready.items() if loop is None]:
        del _ready[key]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_worker)
