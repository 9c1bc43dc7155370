"""``tf.scatter_nd_update`` and similar ops: updates at index vectors of a reference or resource variable.

Source: tensorflow/python/ops/state_ops.py and core/kernels/scatter_nd_op.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.ops.array.gather import scattered_nd
from gpuplace.ops.array.joining import stack
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.shape_rules import require_updates_at
from gpuplace.ops.support import new
from gpuplace.ops.variables.resource_state import handle_shape
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike, VariableLike

__all__ = ["batch_scatter_update", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update"]

_REFERENCES = tuple(f"ScatterNd{method}" for method in ("Update", "Add", "Sub"))
_RESOURCES = tuple(f"Resource{op_type}" for op_type in _REFERENCES)


def _scatter(
    ref: VariableLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
    *,
    method: str = "",
) -> Any:
    arguments = {"indices": indices, "updates": updates, "use_locking": use_locking}
    if not isinstance(ref, ResourceVariable):
        return apply_op(f"ScatterNd{method}", name, ref=ref, **arguments).outputs[0]
    with ref.graph.as_default():
        return ref._after(apply_op(f"ResourceScatterNd{method}", name, ref=ref.handle, **arguments), True)


@variant_of(_scatter, method="Update", use_locking=True)
def scatter_nd_update() -> None:
    """Assign updates at index vectors of a variable.

    >>> import gpuplace as tf
    >>> v = tf.Variable([[1, 2], [3, 4]])
    >>> with tf.Session() as session:
    ...     session.run(v.initializer)
    ...     session.run(tf.scatter_nd_update(v, [[0, 1], [1, 0]], [9, 8])).tolist()
    [[1, 9], [8, 4]]

    Args:
        ref: a variable of any type, or its reference tensor.
        indices: ``[..., depth]``, int32 or int64: an index for each of the first ``depth`` dimensions.
        updates: ``[*indices.shape[:-1], *ref.shape[depth:]]``, of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match, or an index is out of range.
    """


@variant_of(_scatter, method="Add")
def scatter_nd_add() -> None:
    """Add updates at index vectors of a variable; updates of equal vectors accumulate.

    Args:
        ref: a numeric variable or its reference tensor.
        indices: as for ``scatter_nd_update``.
        updates: as for ``scatter_nd_update``.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match, or an index is out of range.
    """


@variant_of(_scatter, method="Sub")
def scatter_nd_sub() -> None:
    """Subtract updates at index vectors of a variable; updates of equal vectors accumulate.

    Args:
        ref: a numeric variable or its reference tensor.
        indices: as for ``scatter_nd_update``.
        updates: as for ``scatter_nd_update``.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match, or an index is out of range.
    """


@shape_function(*_REFERENCES)
def _reference_shape(op: Operation) -> list[TensorShape]:
    ref, indices, updates = (tensor.shape for tensor in op.inputs)
    require_updates_at(indices, updates, ref, "input")
    return [ref]


@shape_function(*_RESOURCES)
def _no_outputs(op: Operation) -> list[TensorShape]:
    _, indices, updates = (tensor.shape for tensor in op.inputs)
    require_updates_at(indices, updates, handle_shape(op.inputs[0]), "input")
    return []


@compute(*_REFERENCES)
def _scatter_reference(
    xp: ArrayModule, ref: VariableStorage, indices: Array, updates: Array, *, ctx: Any
) -> VariableStorage:
    _change(xp, ref, indices, updates, ctx)
    return ref


@compute(*_RESOURCES)
def _scatter_resource(
    xp: ArrayModule, ref: ResourceHandle, indices: Array, updates: Array, *, ctx: Any
) -> Any:
    _change(xp, ref.variable, indices, updates, ctx)
    return ()


def _change(xp: ArrayModule, storage: VariableStorage, indices: Array, updates: Array, ctx: Any) -> None:
    values = -updates if ctx.op.type.endswith("Sub") else updates
    adds = not ctx.op.type.endswith("Update")
    indices = indices[:, None] if indices.ndim == 1 else indices  # as TensorFlow's variable kernels expect

    def changed(old: Array, is_own: bool) -> Any:
        return scattered_nd(xp, old if is_own else old.copy(), indices, values, ctx, add=adds)

    storage.update(changed)


not_differentiable(*_REFERENCES, *_RESOURCES)


def batch_scatter_update(
    ref: VariableLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Replace rows of a variable, with separate indices for each batch.

    >>> import gpuplace as tf
    >>> table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    >>> with tf.Session() as session:
    ...     session.run(table.initializer)
    ...     session.run(tf.batch_scatter_update(table, [[1], [0]], [[8.0], [9.0]])).tolist()
    [[1.0, 8.0], [9.0, 4.0]]

    Args:
        ref: a variable, ``[*batch, n, ...]``.
        indices: ``[*batch, k]``, int32 or int64, of static rank.
        updates: ``[*batch, k, ...]``, of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the scope.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        ValueError: the rank of ``indices`` is unknown.
        InvalidArgumentError: at run time, a row index is out of range.
    """
    with name_scope(name, "", [indices, updates]) if name else contextlib.nullcontext():
        places = convert_to_tensor(indices, name="indices")
        rank = places.shape.ndims
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        sizes = shape_of(places)
        columns = [_along(places, sizes, axis, rank) for axis in range(rank - 1)]
        return _scatter(ref, stack([*columns, places], axis=-1), updates, use_locking, method="Update")


def _along(places: Tensor, sizes: Tensor, axis: int, rank: int) -> Tensor:
    """Return the position along an axis of each element of ``places``."""
    numbers = cast(new("Range", start=0, limit=sizes[axis], delta=1), places.dtype)
    shape = [1] * axis + [-1] + [1] * (rank - axis - 1)
    return reshape(numbers, shape) * new("OnesLike", x=places)
