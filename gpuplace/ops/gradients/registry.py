"""Gradient functions by op type.

    @gradient("Mul")
    def _(op, grad):
        return grad * op.inputs[1], grad * op.inputs[0]

A gradient function gets the operation and the gradients of its outputs, one argument each. It returns a sequence with
one gradient per input tensor, or None for no gradient. It only adds operations to the graph.

Source: tensorflow/python/framework/ops.py (RegisterGradient, NotDifferentiable), release 1.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gpuplace.graph.op_sets import CALL_OPS
from gpuplace.lazy import import_waiting, meet_waiting
from gpuplace.release import rules

if TYPE_CHECKING:
    from gpuplace.graph.operation import Operation

GradientFunction = Callable[..., Sequence[Any] | Any]
"""Function from ``(op, *output gradients)`` to one gradient per input; a single one need not be in a sequence."""

_Function = TypeVar("_Function", bound=GradientFunction)

_functions: dict[str, GradientFunction | None] = {}


_newer: dict[str, bool] = {}
"""Op types without a gradient in release 1.15 -> whether that release declares them not differentiable."""


def gradient(
    *op_types: str, since: str = "1.15", is_none_before: bool = False, without_zeros: Collection[int] = ()
) -> Callable[[_Function], _Function]:
    """Register the decorated function as the gradient of op types.

    Args:
        *op_types: their names.
        since: ``"1.15"``, or ``"2.21"`` for a gradient that TensorFlow 1.15 does not have.
        is_none_before: whether earlier releases declare the op types not differentiable; otherwise they raise
            LookupError.
        without_zeros: outputs for which a tape passes None instead of zeros.

    Raises:
        ValueError: an op type already has another gradient function.
    """

    def register(function: _Function) -> _Function:
        meet_waiting(function)
        for op_type in op_types:
            if op_type in _functions and _place(_functions[op_type]) != _place(function):
                raise ValueError(f"Registering two gradient with name '{op_type}'!")
            _functions[op_type] = function
            if since != "1.15":
                _newer[op_type] = is_none_before
            if without_zeros:
                _without_zeros[op_type] = without_zeros
        return function

    return register


def _place(function: GradientFunction | None) -> tuple[str, int] | None:
    """Return a function's source location; the same location again means that a module or cell was rerun."""
    return None if function is None else (function.__code__.co_filename, function.__code__.co_firstlineno)


def not_differentiable(*op_types: str) -> None:
    """Declare op types not differentiable: their inputs get no gradient.

    Args:
        *op_types: their names.

    Raises:
        ValueError: an op type has a gradient function.
    """
    for op_type in op_types:
        if _functions.setdefault(op_type, None) is not None:
            raise ValueError(
                f"Op {op_type} has a gradient function and cannot be declared not differentiable"
            )


def find_gradient(op: Operation) -> GradientFunction | None:
    """Return the gradient function of an operation, following ``gradient_override_map``; None if not differentiable.

    Raises:
        LookupError: the op has no gradient function and is not declared not differentiable.
    """
    name = op.attrs.get("_gradient_op_type", op.type)
    name = name.decode() if isinstance(name, bytes) else name
    if name not in _functions:
        import_waiting()
    if name not in _functions and (op.type in CALL_OPS or op.type in op.graph.functions):
        name = "PartitionedCall"
    is_too_new = name in _newer and rules() == "1.15"
    if is_too_new and _newer[name]:
        return None
    if is_too_new or name not in _functions:
        text = (
            f"No gradient defined for operation '{op.name}' (op type: {op.type}): gradient registry has no entry for:"
            f" {name}"
        )
        hint = ' in release 1.15; TensorFlow 2 has it: tf.set_release("2.21")' if is_too_new else ""
        raise LookupError(text + hint)
    return _functions[name]


_without_zeros: dict[str, Collection[int]] = {}
"""Op types -> outputs for which their gradient functions accept None."""


def outputs_without_zeros(op_type: str) -> Collection[int]:
    """Return the outputs for which a tape passes None instead of zeros to the op type's gradient function."""
    return _without_zeros.get(op_type, ())


_skipped: list[tuple[Operation, Collection[int]]] = []
"""Operations being differentiated, with the inputs whose gradients are not needed."""


@contextlib.contextmanager
def skipping(op: Operation, inputs: Collection[int]) -> Iterator[None]:
    """Tell an operation's gradient function, in a ``with`` block, which gradients are not needed.

    Args:
        op: the operation to differentiate.
        inputs: indices of its inputs. Only a few of TensorFlow's own functions use them.
    """
    _skipped.append((op, inputs))
    try:
        yield
    finally:
        _skipped.pop()


def skipped_inputs(op: Operation) -> Collection[int]:
    """Return the indices of an operation's inputs whose gradients are not needed."""
    return _skipped[-1][1] if _skipped and _skipped[-1][0] is op else ()


def gradient_op_types() -> tuple[str, ...]:
    """Return the op types with a gradient function, sorted."""
    import_waiting()
    return tuple(sorted(name for name, function in _functions.items() if function is not None))


class RegisterGradient:
    """Decorator with TensorFlow's name: ``@RegisterGradient("Op")``.

    Args:
        op_type: name of the op type.

    Raises:
        TypeError: the op type is not a string.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, function: _Function) -> _Function:
        """Register ``function``; raise KeyError if the op type already has a gradient."""
        meet_waiting(function)
        if self._op_type in _functions:
            raise KeyError(f"Registering two gradient with name '{self._op_type}'!")
        _functions[self._op_type] = function
        return function


def NotDifferentiable(op_type: str) -> None:  # noqa: N802 - TensorFlow's name
    """``not_differentiable`` under TensorFlow's name.

    Args:
        op_type: name of the op type.

    Raises:
        TypeError: the op type is not a string.
        ValueError: the op type has a gradient function.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    import_waiting()
    not_differentiable(op_type)


NoGradient = NotDifferentiable
no_gradient = NotDifferentiable
