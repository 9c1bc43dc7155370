"""Ops that check a condition or print at run time.

Source: tensorflow/python/ops/control_flow_ops.py and logging_ops.py, release 1.15.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.array_text import summary
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_n_to_tensor, convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.support import new, no_outputs, same_shape, scalar_shape
from gpuplace.typing import Array, ArrayModule, TensorLike
from gpuplace.writing import append_to_file

__all__ = ["Assert", "Print"]


def Assert(  # noqa: N802 - TensorFlow's name
    condition: TensorLike, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """Return an operation that fails with InvalidArgumentError and prints ``data`` if ``condition`` is False.

    The operation must run: fetch it, or pass it to ``control_dependencies``.

    Args:
        condition: a scalar bool.
        data: tensors and strings for the message, of any dtypes and shapes.
        summarize: number of elements of each to print, all if negative; None: 3.
        name: name of the scope and of the op in it.

    Returns:
        The ``Assert`` operation. If ``data`` has dtypes other than int32 and string, the ``Merge`` of a ``cond`` around
        it, so that data is copied to the host only on failure.

    Raises:
        TypeError: ``condition`` is not bool.
        InvalidArgumentError: at run time, ``condition`` is False or not a scalar.
    """
    with name_scope(name, "Assert", [condition, data]):
        shown: list[Any] = convert_n_to_tensor(list(data))
        entries = 3 if summarize is None else summarize
        if all(tensor.dtype.base_dtype.name in ("string", "int32") for tensor in shown):
            shown = list(data)  # converted again, as in TensorFlow's graphs
            return apply_op("Assert", condition=condition, data=shown, summarize=entries)

        def check() -> Operation:
            return apply_op("Assert", condition=condition, data=list(data), summarize=entries)

        condition = convert_to_tensor(condition, name="Condition")
        guarded: Operation = cond(condition, no_op, check, name="AssertGuard").op
        return guarded


@compute("Assert")
def _assert(xp: ArrayModule, condition: Array, data: list[Any], *, summarize: int) -> Any:
    if condition.ndim:
        raise InvalidArgumentError.of(f"In[0] should be a scalar: {list(condition.shape)}")
    if not condition:
        shown = "".join(f" [{summary(value, summarize)}]" for value in data)
        raise InvalidArgumentError.of(f"assertion failed:{shown}")
    return ()


shape_function("Assert")(no_outputs)


not_differentiable("Assert")


def Print(  # noqa: N802 - TensorFlow's name
    input_: TensorLike, data: Sequence[Any], message: str | None = None, first_n: int | None = None,
    summarize: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return ``input_`` and print ``message`` and ``data`` to standard error at run time.

    Args:
        input_: the tensor to return, of any dtype and shape.
        data: tensors to print, of any dtypes and shapes.
        message: prefix of the output, or None.
        first_n: number of times to print in a session; None or negative: always.
        summarize: number of elements of each to print, all if negative; None: 3.
        name: name of the op.

    Returns:
        A tensor with the dtype and shape of ``input_``.
    """
    return new(
        "Print", name, input=input_, data=list(data), message=message, first_n=first_n, summarize=summarize
    )


class _Count:
    """The number of times that a node has run in a session."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def next(self) -> int:
        return next(self._numbers)


@compute("Print")
def _print(
    xp: ArrayModule, input: Array, data: list[Any], *, message: bytes, first_n: int, summarize: int, ctx: Any
) -> Array:
    if first_n < 0 or ctx.session.kernel_state(ctx.op.name, _Count).next() < first_n:
        text = message.decode(errors="replace") + "".join(f"[{summary(value, summarize)}]" for value in data)
        print(text, file=sys.stderr)
    return input


shape_function("Print")(same_shape)


@gradient("Print")
def _print_grad(op: Operation, *grad: Tensor) -> list[Tensor | None]:
    return [grad[0], *[None] * (len(op.inputs) - 1)]


def formatted(array: Any, entries: int) -> str:
    """Return an array in the format of ``tf.print``, with ``entries`` elements at each end of an axis, all if negative.

    >>> import numpy as np
    >>> formatted(np.arange(7), 2), formatted(np.array([[1.5], [2]]), 3)
    ('[0 1 ... 5 6]', '[[1.5]\\n [2]]')

    Args:
        array: the array.
        entries: number of elements at each end.
    """
    if array.dtype == object:
        show: Any = _quoted
    elif array.dtype.kind == "b":
        show = int
    elif array.dtype.kind == "f":
        show = functools.partial(_printed, dtype=array.dtype)
    else:
        show = str if array.dtype.kind in "iu" else lambda value: "?"  # other types as in release 1.15
    return _bracketed(array, show, array.size if entries < 0 else entries, array.ndim)


def _bracketed(array: Any, show: Callable[[Any], Any], entries: int, rank: int) -> str:
    if not array.ndim:
        return str(show(array.item()))
    outer = rank - array.ndim
    gap = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (outer + 1)
    count = len(array)
    first, last = (
        [str(show(item)) for item in part.tolist()]
        if array.ndim == 1
        else [_bracketed(row, show, entries, rank) for row in part]
        for part in (array[:entries], array[max(entries, count - entries) :])
    )
    middle = [("" if first else gap) + "..."] if count > 2 * entries else []
    return f"[{gap.join([*first, *middle, *last])}]"


def _quoted(value: Any) -> str:
    """Return a string in quotation marks, with C escapes."""
    data = value if isinstance(value, bytes) else str(value).encode()
    special = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}
    return '"' + "".join(special.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in data) + '"'


def _printed(value: float, dtype: Any) -> str:
    """Return the value with as few digits as identify it, of the two precisions that release 1.15 tries."""
    short, long, kind = (
        ("%.15g", "%.17g", np.float64) if dtype.itemsize == 8 else ("%.6g", "%.9g", np.float32)
    )
    text = short % value
    return text if kind(text) == kind(value) or value != value else long % value


@compute("StringFormat")
def _string_format(
    xp: ArrayModule, inputs: list[Any], *, template: bytes, placeholder: bytes, summarize: int
) -> Array:
    parts = template.split(placeholder)
    values = [formatted(value, summarize).encode() for value in inputs]
    text = b"".join(itertools.chain.from_iterable(zip(parts, [*values, b""], strict=True)))
    return np.array(text, object)


_LEVELS = {"log(info)": "I", "log(warning)": "W", "log(error)": "E"}


@compute("PrintV2")
def _print_v2(xp: ArrayModule, input: Array, *, output_stream: bytes, end: bytes) -> Any:
    text = input.item()
    shown = (text if isinstance(text, bytes) else text.encode()) + end
    stream = output_stream.decode()
    if stream.startswith("file://"):
        append_to_file(stream.removeprefix("file://"), shown)
        return ()
    level = _LEVELS.get(stream)
    out = sys.stdout if stream == "stdout" else sys.stderr
    print(f"{level}: " if level else "", shown.decode(errors="replace"), sep="", end="", file=out, flush=True)
    return ()


shape_function("StringFormat")(scalar_shape)


shape_function("PrintV2")(no_outputs)


not_differentiable("StringFormat", "PrintV2")
