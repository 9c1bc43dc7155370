"""Apply an optimizer's formula to variables: to whole arrays piece by piece, or to some of their rows.

A formula maps arrays to new arrays, element by element::

    formula(np, var, accum, lr, grad, momentum)  ->  var, accum

A large variable is updated in pieces that fit in the cache, on the threads of ``kernels.threads``, in place if the
variable may be written to. Rows that occur several times are updated in turns, first all rows at their first
occurrence, then those that occur a second time, and so on::

    indices   3 0 3 5 3 0
    turn      0 0 1 0 2 1

Source: tensorflow/core/kernels/training_ops.cc, release 1.15 (the order of equal rows).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.numerics.compiled.dispatch import compiled
from gpuplace.numerics.pieces import WHOLE_BYTES, over
from gpuplace.ops.variables.scatter import check_indices
from gpuplace.typing import Array, ArrayModule

Formula = Callable[..., tuple[Any, ...]]
"""Function from ``(xp, *values of the variables, *other inputs, **attributes)`` to the variables' new values."""


class Loop(NamedTuple):
    """A compiled loop that implements a formula."""

    name: str
    """Name in ``numerics.compiled.loops``; its arguments are the gradient, the numbers, and the variables to update."""
    numbers: Callable[..., tuple[Any, ...] | None]
    """Function from the formula's other inputs and attributes to the numbers; None for unsupported attributes."""


def to_all(
    xp: ArrayModule,
    formula: Formula,
    values: Sequence[Any],
    are_own: Sequence[bool],
    inputs: Sequence[Any],
    grad_at: int,
    attrs: Mapping[str, Any],
    loop: Loop | None = None,
) -> Sequence[Any]:
    """Return the new values of variables.

    Args:
        xp: numpy or cupy.
        formula: the update formula.
        values: the variables' arrays, of one shape.
        are_own: whether each array may be written to.
        inputs: the gradient and numbers.
        grad_at: index of the gradient among them.
        attrs: the formula's keyword arguments.
        loop: the formula's compiled loop.
    """
    shape, nbytes, grad = values[0].shape, values[0].nbytes, inputs[grad_at]
    arrays = (*values, grad)
    if (
        xp is not np
        or nbytes <= WHOLE_BYTES
        or any(array.shape != shape or not array.flags.c_contiguous for array in arrays)
    ):
        return formula(xp, *values, *inputs, **attrs)
    new = [value if own else np.empty_like(value) for value, own in zip(values, are_own, strict=True)]
    flat = [value.reshape(-1) for value in values]
    results = [value.reshape(-1) for value in new]
    grads = grad.reshape(-1)
    before, after = inputs[:grad_at], inputs[grad_at + 1 :]

    numbers = None if loop is None else loop.numbers(*before, *after, **attrs)
    run = None if loop is None or numbers is None else compiled(loop.name, *arrays)

    def piece(part: slice) -> None:
        if run is not None and numbers is not None:
            for own, value, result in zip(are_own, flat, results, strict=True):
                if not own:
                    result[part] = value[part]
            run(grads[part], *numbers, *[result[part] for result in results])
            return
        parts = formula(np, *[value[part] for value in flat], *before, grads[part], *after, **attrs)
        for result, new_part in zip(results, parts, strict=True):
            result[part] = new_part

    over(np, grads.size, nbytes // grads.size * (2 * len(values) + 1), piece)
    return new


def to_rows(
    xp: ArrayModule,
    formula: Formula,
    values: Sequence[Any],
    are_own: Sequence[bool],
    inputs: Sequence[Any],
    grad_at: int,
    indices: Array,
    attrs: Mapping[str, Any],
) -> Sequence[Any]:
    """Return the new values of variables of which only the rows ``indices`` change.

    Args:
        xp: numpy or cupy.
        formula: the update formula.
        values: the variables' arrays, ``[rows, ...]`` or scalars, which do not change.
        are_own: whether each array may be written to.
        inputs: the gradient, ``indices.shape + values[0].shape[1:]``, and numbers.
        grad_at: index of the gradient among them.
        indices: integers of any shape.
        attrs: the formula's keyword arguments.

    Raises:
        InvalidArgumentError: an index is out of range.
    """
    indices = indices.reshape(-1)
    check_indices(xp, indices, values[0].shape[0])
    new = [value if own else value.copy() for value, own in zip(values, are_own, strict=True)]
    grads = inputs[grad_at].reshape(-1, *values[0].shape[1:])
    before, after = inputs[:grad_at], inputs[grad_at + 1 :]
    for turn in turns(xp, indices):
        rows = indices[turn]
        parts = [value[rows] if value.ndim else value for value in new]
        changed = formula(xp, *parts, *before, grads[turn], *after, **attrs)
        for value, part in zip(new, changed, strict=True):
            if value.ndim:
                value[rows] = part
    return new


def turns(xp: ArrayModule, indices: Array) -> list[Any]:
    """Return positions in ``indices``, in parts without repeated indices, keeping the order of equal ones.

    >>> [turn.tolist() for turn in turns(np, np.array([3, 0, 3, 5, 3, 0]))]
    [[1, 0, 3], [5, 2], [4]]
    """
    count = len(indices)
    if not count:
        return []
    order = xp.argsort(indices, kind="stable")
    ranked = indices[order]
    is_first = xp.concatenate([xp.ones(1, bool), ranked[1:] != ranked[:-1]])
    if bool(is_first.all()):
        return [slice(None)]
    positions = xp.arange(count)
    turn = positions - xp.maximum.accumulate(xp.where(is_first, positions, 0))
    by_turn = xp.argsort(turn, kind="stable")
    ends = xp.cumsum(xp.bincount(turn)).tolist()
    return [order[by_turn[start:end]] for start, end in zip([0, *ends], ends)]
