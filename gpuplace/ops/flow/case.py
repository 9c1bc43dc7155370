"""``tf.case``: select one of several functions by the values of several tensors.

Source: tensorflow/python/ops/control_flow_ops.py, release 1.15.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import constant, joining
from gpuplace.ops.flow import control_flow_util
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math import cast, comparison, reduction
from gpuplace.typing import TensorLike

__all__ = ["case", "switch_case"]


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function of the first true predicate.

    >>> import gpuplace as tf
    >>> x, two, one, zero = tf.constant(5), lambda: tf.constant(2), lambda: tf.constant(1), lambda: tf.constant(0)
    >>> size = tf.case([(x > 9, two), (x > 4, one)], default=zero)
    >>> int(tf.Session().run(size))
    1

    Args:
        pred_fn_pairs: pairs of a scalar bool tensor and a function without arguments, or a dict of them, in the order
            of the tensors' names (an ``OrderedDict`` keeps its own order).
        default: the function to call if no predicate is true; None: fail at run time.
        exclusive: whether to fail at run time if several predicates are true.
        strict: as in ``cond``.
        name: name of the scope.

    Returns:
        The structure that the functions return, as for ``cond``.

    Raises:
        TypeError: there are no pairs, a predicate is not a bool tensor, or a function is not callable.
        ValueError: the functions return different structures or dtypes.
        InvalidArgumentError: at run time, no predicate is true and there is no ``default``, or several are true despite
            ``exclusive``.
    """
    predicates, actions = _checked_pairs(pred_fn_pairs)
    with name_scope(name, "case", [predicates]):
        if default is None:
            predicates, actions, default = _with_checked_default(predicates, actions)
        function = default
        for predicate, action in zip(reversed(predicates), reversed(actions), strict=True):
            function = functools.partial(cond, predicate, true_fn=action, false_fn=function, strict=strict)
        if not exclusive:
            return function()
        check = _assert_at_most(predicates, 1, "Input error: exclusive=True")
        with get_default_graph().control_dependencies([check]):
            return function()


def _checked_pairs(pairs: Any) -> tuple[list[Tensor], list[Callable[[], Any]]]:
    if not isinstance(pairs, (list, tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(pairs, collections.OrderedDict):
        pairs = list(pairs.items())
    elif isinstance(pairs, dict):
        pairs = sorted(pairs.items(), key=lambda item: item[0].name)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        predicate, function = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype.name != "bool":
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(function):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    return [predicate for predicate, _ in pairs], [function for _, function in pairs]


def _with_checked_default(
    predicates: list[Tensor], actions: list[Callable[[], Any]]
) -> tuple[list[Tensor], list[Callable[[], Any]], Callable[[], Any]]:
    """Return the last pair as the default, with a check that its predicate is the true one."""
    last = len(predicates) - 1
    others, predicate, action = predicates[:last], predicates[last], actions[last]

    def default() -> Any:
        message = (
            f"Implementation error: selected default action #{last} was called, but some of other"
            " predicates are True: "
        )
        data = (
            "Input error: None of conditions evaluated as True:",
            joining.stack(predicates, name="preds_c"),
        )
        checks = [_assert_at_most(others, 0, message), Assert(predicate, data=data)]
        with get_default_graph().control_dependencies(checks):
            return action()

    return others, actions[:last], default


def _assert_at_most(predicates: Sequence[Tensor], count: int, message: str) -> Operation:
    """Return an operation that fails if more than ``count`` predicates are true."""
    stacked = joining.stack(list(predicates), name="preds_c")
    true = reduction.reduce_sum(cast.cast(stacked, "int32"), name="num_true_conds")
    condition = comparison.less_equal(true, constant.constant(count, name="n_true_conds"))
    names = ", ".join(predicate.name for predicate in predicates)
    data = [f"{message}: more than {count} conditions ({names}) evaluated as True:", stacked]
    return Assert(condition, data=data, summarize=len(predicates))


def switch_case(
    branch_index: TensorLike,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return the result of the function with an index.

    >>> import gpuplace as tf
    >>> branches = [lambda: tf.constant(10), lambda: tf.constant(20)]
    >>> int(tf.Session().run(tf.switch_case(tf.constant(1), branches)))
    20

    Args:
        branch_index: the index, an int32 scalar.
        branch_fns: functions without arguments, in the order of their indices from 0, or a dict from index to function,
            or a list of such pairs, without gaps.
        default: the function for all other indices; None: that of the largest index.
        name: name of the scope.

    Returns:
        The structure that the functions return, from one ``Case`` node whose branches are functions.

    Raises:
        TypeError: there are no functions, the index is not an integer tensor, a function is not callable, or the
            functions return different structures or dtypes.
        ValueError: an index is repeated, missing or negative.
    """
    functions = _checked_branches(branch_index, branch_fns)
    actions = [functions[number] for number in sorted(functions)]
    if default is not None:
        if not callable(default):
            raise TypeError(f"default must be callable, got: {default}")
        actions.append(default)
    with name_scope(name, "case", [branch_index]):
        return control_flow_util.functional("switch_case")(branch_index, actions)


def _checked_branches(index: Any, branches: Any) -> dict[int, Callable[[], Any]]:
    if not isinstance(index, Tensor) and not hasattr(index, "_as_graph_element"):
        raise TypeError(f"branch_index must a Tensor, got {type(index)}")
    if isinstance(index, Tensor) and not index.dtype.is_integer:
        raise TypeError(f"branch_index must an integer Tensor, got {index.dtype}")
    if not branches:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(branches, (list, tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    if isinstance(branches, dict):
        pairs = list(branches.items())
    elif all(callable(item) for item in branches):
        pairs = list(enumerate(branches))
    else:
        pairs = list(branches)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        number, function = pair
        if not isinstance(number, int):
            raise TypeError(f"key must be a Python `int`, got {type(number)}")
        if not callable(function):
            raise TypeError(f"fn for key {number} must be callable.")
    numbers = sorted(number for number, _ in pairs)
    if numbers != list(range(len(numbers))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(numbers)}) but found"
            f" {{{','.join(map(str, numbers))}}}"
        )
    return dict(pairs)
