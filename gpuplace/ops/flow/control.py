"""Ops that order other ops, check, print, or call back into Python.

Source: tensorflow/python/ops/control_flow_ops.py, logging_ops.py, script_ops.py, release 1.15.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.dtypes import as_dtype, own_array
from gpuplace.errors import InvalidArgumentError, UnknownError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_n_to_tensor, convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.support import new
from gpuplace.shapes import UNKNOWN_SHAPE

__all__ = ["no_op", "group", "tuple", "with_dependencies", "Assert", "Print", "py_func"]

_TUPLE = (list, tuple)
"""What nests: this module has a function named ``tuple``."""


def no_op(name: str | None = None) -> Operation:
    """Returns an operation that does nothing: a place for control inputs."""
    return apply_op("NoOp", name)


@compute("NoOp")
def _no_op(xp: Any) -> Any:
    return ()


def _flat(inputs: Any) -> Iterator[Any]:
    for item in inputs:
        if isinstance(item, _TUPLE):
            yield from _flat(item)
        else:
            yield item


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """Returns an operation that is done when all of ``inputs`` are.

    With inputs on several devices there is one ``NoOp`` on each, and one that waits for those.

    Args:
        *inputs: operations and tensors, also nested lists of them.
        name: name of the operation.

    Raises:
        ValueError: an unknown keyword argument.
        TypeError: something that is neither operation nor tensor.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    items = list(_flat(inputs))
    with name_scope(name, "group_deps", items) as scope:
        if not items:
            return no_op(name=scope)
        by_device: dict[str, list[Operation]] = {}
        for item in items:
            if not isinstance(item, Operation) and not hasattr(item, "device"):
                raise TypeError(
                    f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'."
                )
            by_device.setdefault(item.device or "", []).append(item)
        if len(by_device) == 1:
            ((device, members),) = by_device.items()
            return _group_on(members, device, scope)
        groups = [_group_on(by_device[device], device, None) for device in sorted(by_device)]
        with get_default_graph().control_dependencies(groups):
            return no_op(name=scope)


def _group_on(members: Sequence[Any], device: str, name: str | None) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(members):
        if device:
            with graph.device(device):
                return no_op(name=name)
        return no_op(name=name)


def with_dependencies(dependencies: Sequence[Any], output_tensor: Tensor, name: str | None = None) -> Tensor:
    """Returns ``output_tensor`` once all ``dependencies`` are done."""
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope:
        graph = get_default_graph()
        with graph.colocate_with(output_tensor), graph.control_dependencies(dependencies):
            return new("Identity", scope, input=convert_to_tensor(output_tensor))


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Returns the tensors, each available only once all of them are; None stays None.

    Raises:
        ValueError: nothing but None is given.
        TypeError: a control input that is neither operation nor tensor.
    """
    with name_scope(name, "tuple", list(tensors)):
        gating = [t for t in tensors if isinstance(t, Operation)]
        gating += [t.op for t in tensors if t is not None and not isinstance(t, Operation)]
        for item in control_inputs or ():
            if not isinstance(item, (Operation, Tensor)):
                raise TypeError(f"Control input must be Operation or Tensor: {item}")
            gating.append(item.op if isinstance(item, Tensor) else item)
        gating = sorted(dict.fromkeys(gating), key=lambda op: op.index)
        if not gating:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*gating)
        result: list[Any] = []
        for item in tensors:
            if isinstance(item, Operation):
                with get_default_graph().control_dependencies([gate]):
                    result.append(no_op())
            elif item is None:
                result.append(None)
            else:
                result.append(with_dependencies([gate], item))
        return result


# Checks and prints


def Assert(  # noqa: N802 - TensorFlow's name
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """Returns an operation that fails with InvalidArgumentError, showing ``data``, if ``condition`` is False.

    Args:
        condition: a scalar bool.
        data: tensors and texts.
        summarize: how many elements of each are shown; 3 by default.
        name: name of the scope and of the op in it.

    Raises:
        InvalidArgumentError: ``condition`` is the Python value False.
    """
    if condition is False:
        raise InvalidArgumentError(
            None, None, f"Expected '{condition}' to be true. Summarized data: {list(data)}"
        )
    with name_scope(name, "Assert", [condition, data]):
        shown: list[Any] = convert_n_to_tensor(list(data))
        entries = 3 if summarize is None else summarize
        if all(tensor.dtype.base_dtype.name in ("string", "int32") for tensor in shown):
            condition = convert_to_tensor(condition, name="Condition")
            shown = list(data)  # converted once more, as in TensorFlow's graphs
            return apply_op("Assert", condition=condition, data=shown, summarize=entries)
        from gpuplace.ops.flow.conditionals import cond  # which needs this module

        def check() -> Operation:
            return apply_op("Assert", condition=condition, data=list(data), summarize=entries)

        condition = convert_to_tensor(condition, name="Condition")
        guarded: Operation = cond(condition, no_op, check, name="AssertGuard").op
        return guarded


@compute("Assert")
def _assert(xp: Any, condition: Any, data: list[Any], *, summarize: int) -> Any:
    if condition.ndim:
        raise InvalidArgumentError(None, None, f"In[0] should be a scalar: {list(condition.shape)}")
    if not condition:
        shown = "".join(f" [{summary(value, summarize)}]" for value in data)
        raise InvalidArgumentError(None, None, f"assertion failed:{shown}")
    return ()


def summary(array: Any, entries: int) -> str:
    """The first ``entries`` elements of an array as TensorFlow prints them in messages; all where negative."""
    flat = array.reshape(-1).tolist()
    shown = flat if entries < 0 else flat[:entries]
    if array.dtype == object:
        parts = [
            value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in shown
        ]
    elif array.dtype.kind == "b":
        parts = [str(int(value)) for value in shown]
    elif array.dtype.kind == "f":
        parts = [_shortest(value, array.dtype) for value in shown]
    else:
        parts = [str(value) for value in shown]
    more = "..." if len(shown) < len(flat) else ""
    if array.ndim <= 1:
        return " ".join(parts) + more
    pieces: list[str] = []
    _rows(parts, array.shape, 0, 0, pieces)
    return "".join(pieces) + more


def _shortest(value: float, dtype: Any) -> str:
    """The value in as few digits as say which it is, of the two lengths that TensorFlow tries."""
    short, long = ("%.15g", "%.17g") if dtype.itemsize == 8 else ("%.6g", "%.8g")
    text = short % value
    return text if dtype.type(float(text)) == dtype.type(value) or value != value else long % value


def _rows(parts: list[str], shape: Sequence[int], axis: int, taken: int, pieces: list[str]) -> int:
    """Appends rows in brackets, ``[1 2][3...]``, until ``parts`` are used up; returns how many are."""
    for index in range(shape[axis]):
        if axis == len(shape) - 1:
            if taken == len(parts):
                pieces.append("..." if index else "")
                return taken
            pieces.append((" " if index else "") + parts[taken])
            taken += 1
        elif taken < len(parts):
            pieces.append("[")
            taken = _rows(parts, shape, axis + 1, taken, pieces)
            pieces.append("]")
    return taken


def Print(  # noqa: N802 - TensorFlow's name
    input_: Any, data: Sequence[Any], message: str | None = None, first_n: int | None = None,
    summarize: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Returns ``input_``; running it prints ``message`` and ``data`` to standard error.

    Args:
        input_: what is passed on.
        data: tensors to print.
        message: printed before them.
        first_n: print only so many times; always by default.
        summarize: how many elements of each; 3 by default.
        name: name of the op.
    """
    return new(
        "Print", name, input=input_, data=list(data), message=message, first_n=first_n, summarize=summarize
    )


class _Count:
    """How often a node has run in a session."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def next(self) -> int:
        return next(self._numbers)


@compute("Print")
def _print(
    xp: Any, input: Any, data: list[Any], *, message: bytes, first_n: int, summarize: int, ctx: Any
) -> Any:
    if first_n < 0 or ctx.session.kernel_state(ctx.op.name, _Count).next() < first_n:
        text = message.decode(errors="replace") + "".join(f"[{summary(value, summarize)}]" for value in data)
        print(text, file=sys.stderr)
    return input


@shape_function("Print")
def _print_shape(op: Operation) -> Any:
    return (op.inputs[0].shape,)


@gradient("Print")
def _print_grad(op: Operation, *grad: Tensor) -> list[Tensor | None]:
    return [grad[0], *[None] * (len(op.inputs) - 1)]


@shape_function("NoOp", "Assert")
def _no_outputs(op: Operation) -> Any:
    return ()


not_differentiable("Assert", "NoOp")


# Python functions


class _Functions:
    """Python functions by the token that the op carries; a function lives as long as a graph that calls it."""

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
            raise UnknownError(None, None, f"callback {token} is not found")
        return callback.function


class _Callback:
    """Holds a function that may itself not be weakly referenced."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


_KEPT = ("py_func",)
_functions = _Functions()


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Returns what a Python function makes of arrays, run in this process.

    Args:
        func: takes one array per tensor of ``inp``; returns an array or a list of them.
        inp: tensors.
        Tout: type of the result, or a list of types.
        stateful: whether equal inputs may give different results (op ``PyFunc`` instead of ``PyFuncStateless``).
        name: name of the op.
    """
    several = isinstance(Tout, _TUPLE)
    token = _functions.add(func, get_default_graph())
    op = apply_op(
        "PyFunc" if stateful else "PyFuncStateless",
        name,
        input=list(inp),
        token=token,
        Tout=list(Tout) if several else [Tout],
    )
    if not op.outputs:
        return op
    return list(op.outputs) if several else op.outputs[0]


@compute("PyFunc", "PyFuncStateless", fresh=True)
def _py_func(xp: Any, input: list[Any], *, token: bytes, Tout: Any) -> Any:
    """The function gets copies, scalars for rank 0, and what it returns is copied: it may keep both and write to them.

    Source: tensorflow/python/lib/core/py_func.cc, release 1.15 (``PyArray_Return``).
    """
    result = _functions.find(token.decode())(*[xp.array(value)[()] for value in input])
    values = [] if result is None else list(result) if isinstance(result, _TUPLE) else [result]
    if len(values) != len(Tout):
        raise InvalidArgumentError(
            None, None, f"pyfunc_{token.decode()} returns {len(values)} values, expects {len(Tout)}"
        )
    arrays = [own_array(value) for value in values]
    for index, (array, wanted) in enumerate(zip(arrays, Tout, strict=True)):
        if as_dtype(array.dtype) is not wanted:
            raise InvalidArgumentError(
                None,
                None,
                f"{index}-th value returned by {token.decode()} is {as_dtype(array.dtype).short_name}, but expects"
                f" {wanted.short_name}",
            )
    return arrays if len(arrays) != 1 else arrays[0]


@shape_function("PyFunc", "PyFuncStateless")
def _py_func_shape(op: Operation) -> Any:
    return (UNKNOWN_SHAPE,) * len(op.attrs["Tout"])


not_differentiable("PyFunc", "PyFuncStateless")
