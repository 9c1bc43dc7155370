"""``tf.py_func``: an op that calls a Python function.

Source: tensorflow/python/ops/script_ops.py, release 1.15.
"""

from __future__ import annotations

import itertools
import threading
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.callers import raise_of_signal_handler
from gpuplace.dtypes import as_dtype, own_array
from gpuplace.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.shapes import UNKNOWN_SHAPE
from gpuplace.typing import ArrayModule

__all__ = ["numpy_function", "py_func"]


class _Functions:
    """Python functions by the token in their op; a function lives as long as a graph that calls it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._by_token: weakref.WeakValueDictionary[str, _Callback] = weakref.WeakValueDictionary()

    def add(self, function: Callable[..., Any], graph: Any) -> str:
        callback = _Callback(function)
        with self._lock:
            token = f"pyfunc_{next(self._numbers)}"
            self._by_token[token] = callback
        graph.get_collection_ref(_KEPT).append(callback)
        return token

    def find(self, token: str) -> Callable[..., Any]:
        callback = self._by_token.get(token)
        if callback is None:
            raise UnknownError.of(f"callback {token} is not found")
        return callback.function


class _Callback:
    """Holder of a function that does not support weak references."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


_KEPT = ("py_func",)
_functions = _Functions()


def keep_function(function: Callable[..., Any], graph: Any) -> str:
    """Return the token by which an op finds a function; the function lives as long as the outermost graph.

    Raises:
        ValueError: the function is not callable.
    """
    if not callable(function):
        raise ValueError(f"Expected func to be callable, got func of type {type(function)}")
    while graph.is_traced:
        graph = graph.outer
    return _functions.add(function, graph)


def find_function(token: str) -> Any:
    """Return the function of a token; raise UnknownError if it no longer exists."""
    return _functions.find(token)


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Apply a Python function to arrays, in this process.

    The function lives as long as the graph. It has no gradient, and the graph cannot run in another process.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.py_func(lambda x: x + x, [1.5], tf.float32)))
    3.0

    Args:
        func: a function of one NumPy array per tensor of ``inp``, a scalar for rank 0, that returns an array or a list
            of arrays. It may keep and modify its arguments and results.
        inp: tensors, of any dtypes and shapes.
        Tout: dtype of the result, or a list of dtypes.
        stateful: whether equal inputs may have different results (op ``PyFunc`` instead of ``PyFuncStateless``).
        name: name of the op.

    Returns:
        A tensor of unknown shape, or a list of them if ``Tout`` is a list; the operation if the list is empty and the
        function stateful.

    Raises:
        InvalidArgumentError: at run time, the function returns another number of values, or other dtypes.
        OpError: at run time, the function raises an exception: InvalidArgumentError for TypeError and ValueError,
            OutOfRangeError for StopIteration, ResourceExhaustedError for MemoryError, UnimplementedError for
            NotImplementedError, UnknownError for any other.
        ValueError: ``func`` is not callable.
    """
    several = isinstance(Tout, (list, tuple))
    token = keep_function(func, get_default_graph())
    op = apply_op(
        "PyFunc" if stateful else "PyFuncStateless",
        name,
        input=list(inp),
        token=token,
        Tout=list(Tout) if several else [Tout],
    )
    if not op.outputs:
        return op if stateful else []
    return list(op.outputs) if several else op.outputs[0]


def numpy_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:  # noqa: N803
    """``py_func`` for a stateful function.

    Args:
        func: as for ``py_func``.
        inp: tensors, of any dtypes and shapes.
        Tout: dtype of the result, or a list of dtypes.
        name: name of the op.

    Returns:
        As for ``py_func``.

    Raises:
        ValueError: ``func`` is not callable.
        OpError: at run time, as for ``py_func``.
    """
    return py_func(func, inp, Tout, True, name)


@compute("PyFunc", "PyFuncStateless", fresh=True, calls_program=True)
def _py_func(xp: ArrayModule, input: list[Any], *, token: bytes, Tout: Any) -> Any:
    """Call the function with copies, scalars for rank 0, and copy its results, so that it may keep and modify both.

    Source: tensorflow/python/lib/core/py_func.cc, release 1.15 (``PyArray_Return``).
    """
    arguments = [xp.array(value)[()] for value in input]
    try:
        result = _functions.find(token.decode())(*arguments)
    except Exception as error:
        raise_of_signal_handler(error)
        raise step_error(error) from error
    values = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
    if len(values) != len(Tout):
        raise InvalidArgumentError.of(
            f"pyfunc_{token.decode()} returns {len(values)} values, expects {len(Tout)}"
        )
    arrays = [_result(value) for value in values]
    for index, (array, expected) in enumerate(zip(arrays, Tout, strict=True)):
        if as_dtype(array.dtype) is not expected:
            raise InvalidArgumentError.of(
                f"{index}-th value returned by {token.decode()} is {as_dtype(array.dtype).short_name}, but expects"
                f" {expected.short_name}"
            )
    return arrays if len(arrays) != 1 else arrays[0]


def _result(value: Any) -> np.ndarray[Any, Any]:
    """Return a function's result as a new array; Python numbers become float64 and int64.

    Raises:
        InternalError: the type is not supported.
    """
    array = np.asarray(value)
    if array.dtype == object:
        for item in array.flat:
            if not isinstance(item, str | bytes):
                raise InternalError.of(f"Unsupported object type {type(item).__name__}")
    elif array.dtype.kind == "V" and array.dtype.names is not None:
        raise InternalError.of("Unsupported numpy data type")
    elif array.dtype.kind in _DATES:
        raise InternalError.of(f"Unsupported numpy type: {_DATES[array.dtype.kind]}")
    return own_array(array)


_DATES = {"M": "NPY_DATETIME", "m": "NPY_TIMEDELTA"}


_ERRORS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Any], ...] = (
    ((ValueError, TypeError), InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
)
"""Python exception -> the step's error; any other exception becomes an ``UnknownError``."""


def step_error(error: Exception) -> OpError:
    """Return the error of a step whose function raised an exception, with the function's traceback."""
    kind = next((step_failure for raised, step_failure in _ERRORS if isinstance(error, raised)), UnknownError)
    own = error.__traceback__
    lines = "".join(traceback.format_tb(own.tb_next if own is not None else None))
    last = traceback.format_exception_only(error)[-1].strip()
    step_failure: OpError = kind.of(f"{last}\nTraceback (most recent call last):\n\n{lines}\n{last}\n")
    return step_failure


@shape_function("PyFunc", "PyFuncStateless")
def _py_func_shape(op: Operation) -> Any:
    return (UNKNOWN_SHAPE,) * len(op.attrs["Tout"])


not_differentiable("PyFunc", "PyFuncStateless")
