"""``tf.py_function``: an op that calls a Python function of tensors and lets it read their values.

When the op runs, it calls the function with tensors of a graph made for this call. Operations that the function adds to
the graph run once each, when the function reads a value or returns::

    def f(x):              x ──> Square ──> y      y.numpy() runs the graph so far
        y = x * x                     └──> Add     returning runs the rest
        print(y.numpy())
        return y + 1

The graph of the last call is kept for the gradient.

Source: tensorflow/python/ops/script_ops.py, release 1.15 (names, arguments, the gradient's graph).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.callers import raise_of_signal_handler
from gpuplace.display import above
from gpuplace.dtypes import as_dtype
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor, context_of
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import on_host
from gpuplace.ops.array.constant import placeholder, zeros_like
from gpuplace.ops.flow.python_functions import find_function, keep_function, step_error
from gpuplace.ops.gradients.gradients import gradients
from gpuplace.ops.gradients.registry import gradient
from gpuplace.shapes import UNKNOWN_SHAPE
from gpuplace.typing import ArrayModule

__all__ = ["py_function"]


class _Call:
    """One call of a function: its graph, and the values computed so far.

    Args:
        values: the values of the arguments.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.graph = Graph()
        self._session = above("gpuplace.runtime.session.session", "Session")(graph=self.graph)
        self._known: dict[Tensor, Any] = {}
        self._done: set[Operation] = set()
        with self.graph.as_default():
            self.arguments = [placeholder(as_dtype(value.dtype), value.shape) for value in values]
        for argument, value in zip(self.arguments, values, strict=True):
            self._known[argument] = value
        self.results: list[Tensor] = []

    def value_of(self, tensor: Tensor) -> Any:
        """Return the value of a tensor of the graph."""
        new = [op for op in self.graph.get_operations() if op not in self._done and context_of(op) is None]
        self._done.update(new)
        fetches = [
            output
            for op in new
            for output in op.outputs
            if output not in self._known and not output.dtype.is_handle
        ]
        without = [op for op in new if not op.outputs]
        values, _ = self._session.run((fetches, without), feed_dict=dict(self._known))
        self._known.update(zip(fetches, map(np.asarray, values), strict=True))
        return self._known[tensor]

    def returned(self, values: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """Return the values of the function's results, or of tensors computed from them."""
        self.results = [convert_to_tensor(value, dtype) for value, dtype in zip(values, types, strict=True)]
        return [self.value_of(tensor) for tensor in self.results]

    def close(self) -> None:
        """Close the session."""
        self._session.close()


class _Function:
    """A function of tensors, and its last call.

    Args:
        function: the function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._last: _Call | None = None

    def __call__(self, values: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        call = _Call(values)
        with self._lock:
            last, self._last = self._last, call
        if last is not None:
            last.close()
        with call.graph.as_default():
            call.graph._evaluate = call.value_of
            result = self._function(*call.arguments)
            outs = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
            if len(outs) != len(types):
                raise ValueError(f"py_function returns {len(outs)} values, expects {len(types)}")
            return call.returned(outs, types)

    def gradients_of(self, values: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """Return the gradients with respect to the arguments of the last call, from the gradients of its results."""
        call = self._last
        if call is None:
            raise ValueError("cannot compute the gradient of a function that has not been called")
        with call.graph.as_default():
            dxs = gradients(call.results, call.arguments, [convert_to_tensor(value) for value in values])
            dense = [
                zeros_like(argument) if gradient is None else convert_to_tensor(gradient)
                for gradient, argument in zip(dxs, call.arguments, strict=True)
            ]
            return call.returned(dense, types)


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:  # noqa: N803
    """Call a differentiable Python function of tensors, whose values it can read while it runs.

    >>> import gpuplace as tf
    >>> def f(x):
    ...     return x * x if x > 2 else x.numpy() * 0.5
    >>> float(tf.Session().run(tf.py_function(f, [3.0], tf.float32)))
    9.0

    Args:
        func: takes one tensor for each tensor of ``inp`` and returns a tensor or convertible value, or a list. It
            reads a tensor's value with ``x.numpy()``, and can use a tensor where Python needs a truth value.
        inp: tensors, of any dtypes and shapes.
        Tout: dtype of the result, or a list of dtypes.
        name: name of the op.

    Returns:
        A tensor of unknown shape, or a list of them if ``Tout`` is a list.

    Raises:
        ValueError: ``func`` is not callable.
        OpError: at run time, the function raises an exception, as for ``tf.py_func``.
    """
    return _called(_Function(func) if callable(func) else func, inp, Tout, name)


def _called(function: Any, inp: Sequence[Any], types: Any, name: str | None = None) -> Any:
    several = isinstance(types, (list, tuple))
    token = keep_function(function, get_default_graph())
    dtypes = list(types) if several else [types]
    op = apply_op("EagerPyFunc", name, input=list(inp), token=token, is_async=False, Tout=dtypes)
    if not op.outputs:
        return op
    return list(op.outputs) if several else op.outputs[0]


@compute("EagerPyFunc", fresh=True, calls_program=True)
def _eager_py_func(xp: ArrayModule, input: list[Any], *, token: bytes, Tout: Any) -> Any:
    host = [on_host(value) for value in input]
    try:
        arrays = find_function(token.decode())(host, Tout)
    except Exception as error:
        raise_of_signal_handler(error)
        raise step_error(error) from error
    moved = [xp.array(array) if array.dtype != object else array for array in arrays]
    return moved if len(moved) != 1 else moved[0]


@shape_function("EagerPyFunc")
def _unknown_shapes(op: Operation) -> Any:
    return (UNKNOWN_SHAPE,) * len(op.attrs["Tout"])


@gradient("EagerPyFunc")
def _eager_py_func_gradient(op: Operation, *grads: Tensor) -> list[Tensor]:
    function = find_function(op.attrs["token"].decode())
    types = [tensor.dtype.base_dtype for tensor in op.inputs]
    with get_default_graph().control_dependencies(op.outputs):
        input_gradients: list[Tensor] = _called(function.gradients_of, grads, types)
    for tensor, argument in zip(input_gradients, op.inputs, strict=True):
        tensor.set_shape(argument.shape)
    return input_gradients
