"""``tensorflow.python.ops.functional_ops``: conditionals and loops with ``Defun`` functions.

>>> import gpuplace as tf
>>> from gpuplace.tf1.stand_in.framework.function import Defun
>>> @Defun(tf.int32, tf.float32)
... def double(i, x):
...     return x + x
>>> float(tf.Session().run(For(0, 3, 1, [tf.constant(1.0)], double))[0])
8.0

Source: tensorflow/python/ops/functional_ops.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import as_dtype, float32, int32
from gpuplace.graph.operation import Operation, Tensor, set_attr
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.unary import abs as absolute
from gpuplace.ops.support import new_list
from gpuplace.tf1.stand_in.framework.function import Defun, get_extra_args
from gpuplace.typing import TensorLike


def _result_types(function: Any) -> list[Any]:
    return [as_dtype(arg.type) for arg in function.definition.signature.output_arg]


def If(  # noqa: N802
    cond: TensorLike, inputs: Sequence[Any], then_branch: Any, else_branch: Any, name: str | None = None
) -> list[Tensor]:
    """Return the results of one of two functions.

    Args:
        cond: the condition; a nonzero number, a nonempty string and a nonempty tensor are true.
        inputs: the arguments of the functions.
        then_branch: the function that is called if ``cond`` is true.
        else_branch: the function that is called otherwise, with results of the same types.
        name: name of the op.
    """
    return new_list(
        "If",
        name,
        cond=cond,
        input=list(inputs),
        Tout=_result_types(then_branch),
        then_branch=then_branch,
        else_branch=else_branch,
    )


def Gradient(inputs: Sequence[Any], f: Any, name: str | None = None) -> list[Tensor]:  # noqa: N802
    """Return the gradients of a function's arguments.

    Args:
        inputs: the arguments, followed by the gradients of the results.
        f: the function.
        name: name of the op.
    """
    types = [as_dtype(arg.type) for arg in f.definition.signature.input_arg]
    return new_list("SymbolicGradient", name, input=list(inputs), Tout=types, f=f)


def _with_captured_results(body: Any) -> Any:
    """Return a loop's body that also returns its captured tensors."""

    @Defun(*body.declared_input_types, func_name=f"{body.name}_Wrapper")
    def wrapper(*args: Any) -> Any:
        out = body(*args)
        results = () if isinstance(out, Operation) else out if isinstance(out, tuple) else (out,)
        return (*results, *get_extra_args())

    return wrapper


def _keep_on_host(results: list[Tensor], inputs: Sequence[int], outputs: Sequence[int]) -> None:
    op = results[0].op
    set_attr(op, "_input_hostmem", tuple(inputs))
    set_attr(op, "_output_hostmem", tuple(outputs))


def While(  # noqa: N802
    input_: Sequence[Any], cond: Any, body: Any, name: str | None = None, hostmem: Sequence[int] | None = None
) -> list[Tensor]:
    """Call a function repeatedly, with its previous results, while a condition holds.

    Args:
        input_: the first arguments.
        cond: returns whether to continue.
        body: returns the next arguments.
        name: name of the op.
        hostmem: positions of arguments that stay in host memory.

    Raises:
        ValueError: ``cond`` captures tensors of the outer graph, or the argument types of the functions
            differ.
    """
    if cond.captured_inputs:
        raise ValueError("While op 'cond' argument must be a function without implicitly captured inputs.")
    if cond.declared_input_types != body.declared_input_types:
        raise ValueError(
            f"While op 'cond' and 'body' signatures do not match. {cond.declared_input_types!r} vs"
            f" {body.declared_input_types!r}"
        )
    arguments, captured, count = list(input_), list(body.captured_inputs), len(body.declared_input_types)
    if captured:
        types = [*body.declared_input_types, *(tensor.dtype for tensor in captured)]
        inner = cond

        @Defun(*types, func_name=f"{cond.name}_Wrapper")
        def with_captured(*args: Any) -> Any:
            return inner(*args[:count])

        cond, body = with_captured, _with_captured_results(body)
    results = new_list("While", name, input=[*arguments, *captured], cond=cond, body=body)
    results = results[: len(arguments)]
    if hostmem:
        _keep_on_host(results, hostmem, hostmem)
    return results


def _for_with_while(
    start: Any,
    limit: Any,
    delta: TensorLike,
    inputs: Sequence[Any],
    body: Any,
    name: str | None,
    hostmem: Any,
) -> list[Tensor]:
    """Return the loop as a ``While`` whose variables are a counter, the number of steps, and the range."""
    step = absolute(delta)
    length = absolute(limit - start) + step - 1
    count = cast(cast(length, float32) / cast(step, float32), int32)
    types = [*[int32] * 4, *body.declared_input_types[1:]]

    @Defun(*types, func_name=f"{body.name}_Cond")
    def goes_on(i: Any, n: Any, *args: Any) -> Any:
        return i < n

    @Defun(*types, func_name=f"{body.name}_Body")
    def one_step(i: Any, n: Any, start: TensorLike, delta: TensorLike, *args: Any) -> Any:
        out = body(start + i * delta, *args)
        results = () if isinstance(out, Operation) else out if isinstance(out, tuple) else (out,)
        return (i + 1, n, start, delta, *results)

    kept = [0, 1, 2, 3, *(4 + one for one in hostmem or ())]
    return While([0, count, start, delta, *inputs], goes_on, one_step, name, kept)[4:]


def For(  # noqa: N802
    start: TensorLike,
    limit: TensorLike,
    delta: TensorLike,
    inputs: Sequence[Any],
    body: Any,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
    rewrite_with_while: bool | None = None,
) -> list[Tensor]:
    """Call a function with each number of a range and its previous results.

    Args:
        start: the first number.
        limit: the end of the range, exclusive.
        delta: the step.
        inputs: the initial arguments after the number.
        body: takes a number and the arguments; returns the next arguments.
        name: name of the op.
        hostmem: positions of arguments that stay in host memory.
        rewrite_with_while: whether to build it from a ``While``.
    """
    if rewrite_with_while:
        return _for_with_while(start, limit, delta, inputs, body, name, hostmem)
    captured = list(body.captured_inputs)
    called = _with_captured_results(body) if captured else body
    results = new_list(
        "For", name, start=start, limit=limit, delta=delta, input=[*inputs, *captured], body=called
    )
    results = results[: len(inputs)]
    if hostmem:
        _keep_on_host(results, [3 + one for one in hostmem], hostmem)
    return results


def remote_call(
    args: Sequence[Any], Tout: Sequence[Any], f: Any, target: TensorLike, name: str | None = None
) -> Any:  # noqa: N803
    """Return the results of a function on a device that is named at run time.

    Args:
        args: its arguments.
        Tout: the types of its results.
        f: the function.
        target: the name of the device.
        name: name of the op.
    """
    return new_list("RemoteCall", name, target=target, args=list(args), Tout=list(Tout), f=f)
