"""``tensorflow.python.framework.smart_cond``: conditions that are decided while the graph is built, if possible.

Source: tensorflow/python/framework/smart_cond.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Tensor
from gpuplace.ops.flow import conditionals
from gpuplace.ops.flow.case import case
from gpuplace.tf1.stand_in.folding import folded_value

__all__ = ["smart_case", "smart_cond", "smart_constant_value"]


def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """Build ``tf.cond``, or only one branch if the condition is known while the graph is built.

    Args:
        pred: a bool, 0, 1, or a scalar bool tensor.
        true_fn: the function for a true condition.
        false_fn: the function for a false condition.
        name: the name scope of a ``tf.cond``.

    Raises:
        TypeError: a function is not callable, or ``pred`` has another type.
    """
    for function, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"`{what}` must be callable.")
    value = smart_constant_value(pred)
    if value is None:
        return conditionals.cond(pred, true_fn, false_fn, name=name)
    return true_fn() if value else false_fn()


def smart_constant_value(pred: Any) -> bool | None:
    """Return the value of a condition if it is known while the graph is built, otherwise None.

    Args:
        pred: as for ``smart_cond``.

    Raises:
        TypeError: ``pred`` is not a condition.
    """
    if isinstance(pred, Tensor):
        value = constant_value(pred)
        if value is None:
            value = folded_value(pred)
        return None if value is None else bool(value)
    if pred in (0, 1):
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")


def smart_case(
    pred_fn_pairs: Sequence[Any],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """Build ``tf.case``, or only one branch if the conditions up to the first true one are known.

    Args:
        pred_fn_pairs: pairs of a condition and a function, or a dict.
        default: the function if no condition is true.
        exclusive: whether at most one condition may be true.
        name: the name scope of a ``tf.case``.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    left: list[Any] = []
    for pred, function in pairs:
        value = smart_constant_value(pred)
        if value and not left:
            return function()
        if value is None or value:
            left.append((pred, function))
        if value:
            default = function
            left.pop()
            break
    if not left and default is not None:
        return default()
    return case(left, default=default, exclusive=exclusive, name=name)
