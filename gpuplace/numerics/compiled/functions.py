"""Compile Python functions that call each other, unchanged: numba's types come from their annotations.

``compiled_functions(module)`` is like the module, except that its functions are compiled, with all that they call, on
first use. numba caches the machine code, so this happens once for each machine. It takes seconds, in which other
processes compile; see ``Compilation``.

A package's function is cached beside it, or in numba's cache folder of the user if its folder is not writable. Without
a writable folder, it is compiled in each process. The cache key covers everything that was compiled, including called
functions; numba alone would check only the file of the function.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_HEAPS = "gpuplace.numerics.compiled.event_heap"
"""Defines how the functions of ``heapq`` are compiled."""
_COMMAND = "from gpuplace.numerics.compiled.functions import compile_named; compile_named({names!r})"
"""Program of a compiling process."""

_made: dict[FunctionType, Any] = {}


@functools.cache
def can_compile() -> bool:
    """Return whether numba is installed and works, and ``NUMBA_DISABLE_JIT`` does not disable it."""
    if importlib.util.find_spec("numba") is None:
        return False
    try:
        import numba
    except ImportError as error:  # for example a numba that is older than NumPy
        warnings.warn(f"numba is installed but cannot be used: {error}", RuntimeWarning, stacklevel=1)
        return False
    settings: Any = numba.config
    return not settings.DISABLE_JIT


class CompiledFunctions:
    """The functions of a module, compiled on first use.

    Args:
        module: module with annotated functions; they may only use functions and constants of modules.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = compiled_function(getattr(self._module, name))
        setattr(self, name, found)
        return found


@functools.cache
def compiled_functions(module: ModuleType) -> Any:
    """Return the compiled functions of a module, or the module itself if they cannot be compiled.

    Args:
        module: see ``CompiledFunctions``.
    """
    return CompiledFunctions(module) if can_compile() else module


def compiled_function(function: FunctionType) -> Any:
    """Return a function, compiled with all that it calls, or loaded from numba's cache.

    Args:
        function: function with annotations that ``record_types.type_of`` supports.
    """
    if function not in _made:
        import numba

        importlib.import_module(_HEAPS)
        names = dict(function.__globals__)
        for name, callee in _callees(function):
            names[name] = compiled_function(callee)
        is_kept = _cache_folder(function) is not None
        own, signature = _renamed(function, names), _signature(function)
        njit: Any = numba.njit
        _made[function] = njit(signature, cache=is_kept, **_OPTIONS)(own)
    return _made[function]


class Compilation:
    """Compiles functions into numba's cache in other processes, while this process continues.

    Args:
        parts: lists of functions, best grouped by common callees: each list has its own process. Cached functions need
            none, and neither do functions that cannot be cached, which ``finish`` compiles.
    """

    def __init__(self, parts: Iterable[Iterable[FunctionType]]) -> None:
        self._functions = [function for part in parts for function in part]
        missing = [[one for one in part if not is_ready(one)] for part in parts]
        self.is_needed = any(missing)
        """Whether anything is not compiled yet."""
        self._processes = []
        if sys.executable and all(_cache_folder(one) is not None for part in missing for one in part):
            self._processes = [_started(part) for part in missing if part]

    def is_over(self) -> bool:
        """Return whether the other processes have finished."""
        return all(process.poll() is not None for process in self._processes)

    def finish(self) -> None:
        """Wait, load the compiled functions, and compile the others here."""
        try:
            for process in self._processes:
                process.wait()
        except KeyboardInterrupt:
            for process in self._processes:
                process.terminate()
            raise
        for function in self._functions:
            compiled_function(function)


def compile_named(names: Iterable[tuple[str, str]]) -> None:
    """Compile functions.

    Args:
        names: module and name of each function.
    """
    for module, name in names:
        compiled_function(getattr(importlib.import_module(module), name))


def _started(functions: list[FunctionType]) -> subprocess.Popen[bytes]:
    names = [(one.__module__, one.__name__) for one in functions]
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND.format(names=names)],
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def is_ready(function: FunctionType) -> bool:
    """Return whether a function was compiled, on this machine or in this process, and is available at once.

    Args:
        function: see ``compiled_function``.
    """
    if function in _made:
        return True
    folder, code = _cache_folder(function), function.__code__
    if folder is None:
        return False
    made = folder.glob(f"*.{_own_name(function)}-{code.co_firstlineno}.py*.nbi")
    written = Path(code.co_filename).stat().st_mtime
    return any(one.stat().st_mtime >= written for one in made)


@functools.cache
def _cache_folder(function: FunctionType) -> Path | None:
    """Return numba's cache folder of a function; None if no folder is writable."""
    import numba

    njit: Any = numba.njit
    made = njit(**_OPTIONS)(_renamed(function, function.__globals__))
    try:
        made.enable_caching()
    except RuntimeError:
        return None
    return Path(made.stats.cache_path)


def _callees(function: FunctionType) -> Iterator[tuple[str, FunctionType]]:
    for name in function.__code__.co_names:
        found = function.__globals__.get(name)
        if isinstance(found, FunctionType):
            yield name, found


def _renamed(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    own = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    own.__module__, own.__qualname__ = function.__module__, _own_name(function)
    return own


def _own_name(function: FunctionType) -> str:
    return f"{function.__name__}_{_digest(function)}"


@functools.cache
def _digest(function: FunctionType) -> str:
    """Return a hash of the compiled code, the compiler and the target."""
    import llvmlite.binding
    import numba

    made = hashlib.sha256(f"{numba.__version__} {llvmlite.binding.get_host_cpu_name()} {_OPTIONS}".encode())
    made.update(_own_parts())
    code = function.__code__
    made.update(code.co_code)
    made.update(repr((code.co_consts, code.co_names, str(_signature(function)))).encode())
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            made.update(_digest(value).encode())
        elif isinstance(value, int | float):
            made.update(repr(value).encode())
    return made.hexdigest()[:16]


@functools.cache
def _own_parts() -> bytes:
    """Return the sources that all compiled functions depend on: records and heaps."""
    folder = Path(__file__).parent
    return b"".join((folder / f"{name}.py").read_bytes() for name in ("record_types", "event_heap"))


def _signature(function: FunctionType) -> Any:
    from gpuplace.numerics.compiled.record_types import type_of

    hints = get_type_hints(function, include_extras=True)
    result = type_of(hints.pop("return"))
    return result(*[type_of(hint) for hint in hints.values()])
