"""``tf.scatter_nd_update`` and its like: updates at index vectors of a variable, by reference or handle.

Source: tensorflow/python/ops/state_ops.py and core/kernels/scatter_nd_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.ops.array.gather import scattered_nd
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_updates_at
from gpuplace.ops.variables.resource_state import handle_shape
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape
from gpuplace.typing import TensorLike, VariableLike

__all__ = ["scatter_nd_add", "scatter_nd_sub", "scatter_nd_update"]

_REFERENCES = tuple(f"ScatterNd{how}" for how in ("Update", "Add", "Sub"))
_RESOURCES = tuple(f"Resource{op_type}" for op_type in _REFERENCES)


def _scatter(
    ref: VariableLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
    *,
    how: str = "",
) -> Any:
    arguments = {"indices": indices, "updates": updates, "use_locking": use_locking}
    if not isinstance(ref, ResourceVariable):
        return apply_op(f"ScatterNd{how}", name, ref=ref, **arguments).outputs[0]
    with ref.graph.as_default():
        return ref._after(apply_op(f"ResourceScatterNd{how}", name, ref=ref.handle, **arguments), True)


@variant_of(_scatter, how="Update", use_locking=True)
def scatter_nd_update() -> None:
    """Puts updates at index vectors of a variable.

    >>> import gpuplace as tf
    >>> v = tf.Variable([[1, 2], [3, 4]])
    >>> with tf.Session() as session:
    ...     session.run(v.initializer)
    ...     session.run(tf.scatter_nd_update(v, [[0, 1], [1, 0]], [9, 8])).tolist()
    [[1, 9], [8, 4]]

    Args:
        ref: a variable of any type, or the reference tensor of one.
        indices: ``[..., depth]``, int32 or int64: one number for each of the first ``depth`` dimensions.
        updates: ``[*indices.shape[:-1], *ref.shape[depth:]]``, of the variable's type.
        use_locking: kept in the graph; updates are always atomic here.
        name: name of the operation.

    Returns:
        A reference to the variable afterwards; of a resource variable, a variable to read then.

    Raises:
        TypeError: another dtype.
        ValueError: the shapes are known not to fit.
        InvalidArgumentError: at run time, shapes do not fit, or an index is out of range.
    """


@variant_of(_scatter, how="Add")
def scatter_nd_add() -> None:
    """Adds updates at index vectors of a variable; equal ones count one after the other.

    Args:
        ref: a variable of numbers, or the reference tensor of one.
        indices: as for ``scatter_nd_update``.
        updates: as there.
        use_locking: kept in the graph; updates are always atomic here.
        name: name of the operation.

    Returns:
        A reference to the variable afterwards; of a resource variable, a variable to read then.

    Raises:
        TypeError: another dtype.
        ValueError: the shapes are known not to fit.
        InvalidArgumentError: at run time, shapes do not fit, or an index is out of range.
    """


@variant_of(_scatter, how="Sub")
def scatter_nd_sub() -> None:
    """Subtracts updates at index vectors of a variable; equal ones count one after the other.

    Args:
        ref: a variable of numbers, or the reference tensor of one.
        indices: as for ``scatter_nd_update``.
        updates: as there.
        use_locking: kept in the graph; updates are always atomic here.
        name: name of the operation.

    Returns:
        A reference to the variable afterwards; of a resource variable, a variable to read then.

    Raises:
        TypeError: another dtype.
        ValueError: the shapes are known not to fit.
        InvalidArgumentError: at run time, shapes do not fit, or an index is out of range.
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
    xp: Any, ref: VariableStorage, indices: Any, updates: Any, *, ctx: Any
) -> VariableStorage:
    _change(xp, ref, indices, updates, ctx)
    return ref


@compute(*_RESOURCES)
def _scatter_resource(xp: Any, ref: ResourceHandle, indices: Any, updates: Any, *, ctx: Any) -> Any:
    _change(xp, ref.variable, indices, updates, ctx)
    return ()


def _change(xp: Any, storage: VariableStorage, indices: Any, updates: Any, ctx: Any) -> None:
    given = -updates if ctx.op.type.endswith("Sub") else updates
    adds = not ctx.op.type.endswith("Update")
    indices = (
        indices[:, None] if indices.ndim == 1 else indices
    )  # as TensorFlow's kernels for variables take it

    def changed(old: Any, is_own: bool) -> Any:
        return scattered_nd(xp, old if is_own else old.copy(), indices, given, ctx, add=adds)

    storage.update(changed)


not_differentiable(*_REFERENCES, *_RESOURCES)
