"""Reference variables: ``VariableV2`` and the ops with a reference input.

A reference edge carries the variable's ``VariableStorage``. An op with a reference input gets the storage and may
replace its value; any other consumer gets the current value, which does not change.

Source: tensorflow/core/kernels/variable_ops.cc, assign_op.h, dense_update_ops.cc, scatter_op.cc and
tensorflow/python/ops/state_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, binder, compute
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import merge_shapes
from gpuplace.ops.support import same_shape, scalar_shape
from gpuplace.ops.variables.scatter import METHODS, scattered
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, TensorLike, VariableLike

__all__ = [
    "assign",
    "assign_add",
    "assign_sub",
    "count_up_to",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "scatter_update",
]

_OF_A_STEP = "__per_step_0"
"""Container of the variables of one step."""


# VariableV2


def variable_op_v2(
    shape: ShapeLike, dtype: DTypeLike, name: str = "Variable", container: str = "", shared_name: str = ""
) -> Tensor:
    """Make a variable and return its reference."""
    op = apply_op("VariableV2", name, shape=shape, dtype=dtype, container=container, shared_name=shared_name)
    return op.outputs[0]


@shape_function("VariableV2", "TemporaryVariable")
def _variable_shape(op: Operation) -> list[TensorShape]:
    return [op.attrs["shape"]]


@shape_function("Variable")
def _old_variable_shape(op: Operation) -> list[TensorShape]:
    """Return the shape; in old graphs, a scalar shape means an unknown one."""
    shape: TensorShape = op.attrs["shape"]
    return [shape if shape.ndims else TensorShape(None)]


@binder("VariableV2", "Variable", shares=True)
def _variable(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[[], VariableStorage]:
    storage: VariableStorage = ctx.session.variable(
        attrs["shared_name"].decode() or op.name,
        attrs["dtype"],
        attrs["shape"],
        container=attrs["container"].decode(),
        device=ctx.device,
    )
    return lambda: storage


# TemporaryVariable


@compute("TemporaryVariable")
def _temporary_variable(
    xp: ArrayModule, *, shape: TensorShape, dtype: DType, var_name: bytes, ctx: KernelContext
) -> VariableStorage:
    """Return a variable of one step. TensorFlow leaves its memory uninitialized; here it is all zeros."""
    storage = VariableStorage(
        var_name.decode() or ctx.op.name, dtype.base_dtype, shape, device=ctx.device, container=_OF_A_STEP
    )
    sizes = (
        shape.known_sizes if shape.is_fully_defined() else ()
    )  # unknown: the first assignment determines the shape
    storage.assign(xp.zeros(sizes, dtype.base_dtype.as_numpy_dtype))
    return storage


@compute("DestroyTemporaryVariable")
def _destroy_temporary_variable(xp: ArrayModule, ref: VariableStorage, *, var_name: bytes) -> Array:
    name = var_name.decode()
    if ref.container != _OF_A_STEP or ref.name != name:
        raise NotFoundError.of(
            f"Resource {_OF_A_STEP}/{name}/N10tensorflow19TemporaryVariableOp6TmpVarE does not exist.",
            hint="var_name must be that of the TemporaryVariable, or the name of its op if it has none",
        )
    return ref.value


shape_function("DestroyTemporaryVariable")(same_shape)


# Assign, AssignAdd, AssignSub


def assign(
    ref: Any,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Assign a new value to a variable.

    Args:
        ref: a variable or its reference tensor.
        value: a tensor of the variable's type and shape.
        validate_shape: whether the value must have the variable's shape; None: True. Otherwise a reference variable
            adopts the new shape.
        use_locking: stored in the graph without effect; assignments are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: ``value`` has an unsupported dtype (ValueError for a resource variable).
        ValueError: ``value`` has another shape.
        InvalidArgumentError: at run time, a dynamic shape of ``value`` differs.
    """
    if not _is_reference(ref):
        return ref.assign(value, name=name)
    arguments = {"validate_shape": validate_shape, "use_locking": use_locking}
    return apply_op("Assign", name, ref=ref, value=value, **arguments).outputs[0]


def assign_add(
    ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Add ``value`` to a variable.

    Args:
        ref: a numeric variable or its reference tensor.
        value: a tensor of the variable's type and shape.
        use_locking: stored in the graph without effect; assignments are always atomic.
        name: name of the operation; ignored for a resource variable.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: ``value`` has an unsupported dtype (ValueError for a resource variable) or is not numeric.
        ValueError: ``value`` has another shape.
        InvalidArgumentError: at run time, a dynamic shape of ``value`` differs.
    """
    if not _is_reference(ref):
        return ref.assign_add(value)
    return apply_op("AssignAdd", name, ref=ref, value=value, use_locking=use_locking).outputs[0]


def assign_sub(ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtract ``value`` from a variable.

    Args:
        ref: a numeric variable or its reference tensor.
        value: a tensor of the variable's type and shape.
        use_locking: stored in the graph without effect; assignments are always atomic.
        name: name of the operation; ignored for a resource variable.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: ``value`` has an unsupported dtype (ValueError for a resource variable) or is not numeric.
        ValueError: ``value`` has another shape.
        InvalidArgumentError: at run time, a dynamic shape of ``value`` differs.
    """
    if not _is_reference(ref):
        return ref.assign_sub(value)
    return apply_op("AssignSub", name, ref=ref, value=value, use_locking=use_locking).outputs[0]


def _is_reference(ref: VariableLike) -> bool:
    """Return whether ``ref`` is a reference variable or tensor; otherwise it must be a resource variable."""
    return bool(ref.dtype.is_ref_dtype)


@shape_function("Assign")
def _assign_shape(op: Operation) -> list[TensorShape]:
    ref, value = op.inputs
    return [merge_shapes(ref.shape, value.shape) if op.attrs["validate_shape"] else value.shape]


@shape_function("AssignAdd", "AssignSub")
def _assign_add_shape(op: Operation) -> list[TensorShape]:
    return [merge_shapes(op.inputs[0].shape, op.inputs[1].shape)]


@compute("Assign")
def _assign(xp: ArrayModule, ref: VariableStorage, value: Array, *, validate_shape: bool) -> VariableStorage:
    if validate_shape:
        if ref.is_initialized:
            same = ref.value.shape == value.shape
            shape = TensorShape.of(ref.value.shape)
        else:
            shape = ref.shape
            same = shape.is_compatible_with(value.shape)
        if not same:
            raise _mismatch("Assign", shape, value.shape)
    ref.assign(value)
    return ref


@compute("AssignAdd")
def _assign_add(xp: ArrayModule, ref: VariableStorage, value: Array) -> VariableStorage:
    _check_update("AssignAdd", ref, value)
    ref.update(lambda old, is_own: xp.add(old, value, out=old if is_own else None))
    return ref


@compute("AssignSub")
def _assign_sub(xp: ArrayModule, ref: VariableStorage, value: Array) -> VariableStorage:
    _check_update("AssignSub", ref, value)
    ref.update(lambda old, is_own: xp.subtract(old, value, out=old if is_own else None))
    return ref


def _check_update(op_type: str, ref: VariableStorage, value: Any) -> None:
    if ref.value.shape != value.shape:
        raise _mismatch(op_type, TensorShape.of(ref.value.shape), value.shape)


def _mismatch(op_type: str, shape: TensorShape, value_shape: tuple[int, ...]) -> InvalidArgumentError:
    sentence = "requires shapes of both tensors to match" if op_type == "Assign" else "shapes do not match"
    return InvalidArgumentError.of(
        f"{op_type} {sentence}. lhs shape= {brackets(shape)} rhs shape= {brackets(TensorShape.of(value_shape))}"
        if op_type == "Assign"
        else "Parameters to AssignOp have different shapes: "
        f"{brackets(shape)} and {brackets(TensorShape.of(value_shape))}"
    )


# IsVariableInitialized


def is_variable_initialized(ref: VariableLike, name: str | None = None) -> Tensor:
    """Return whether a variable, given itself or as a reference tensor, has a value."""
    if _is_reference(ref):
        return apply_op("IsVariableInitialized", name, ref=ref).outputs[0]
    return ref.is_initialized(name=name)


shape_function("IsVariableInitialized")(scalar_shape)


@compute("IsVariableInitialized", reads_only=True)
def _is_variable_initialized(xp: ArrayModule, ref: VariableStorage) -> Array:
    return np.asarray(ref.is_initialized)


# Scatter ops


def _scatter(
    ref: VariableLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = False,
    name: str | None = None,
    *,
    method: str = "",
) -> Tensor:
    holder: Any = ref
    if not _is_reference(holder):
        return holder._scatter(method, indices, updates, name)
    op_type = f"Scatter{method.capitalize()}"
    arguments = {"ref": ref, "indices": indices, "updates": updates, "use_locking": use_locking}
    return apply_op(op_type, name, **arguments).outputs[0]


@variant_of(_scatter, method="update", use_locking=True)
def scatter_update() -> None:
    """Replace rows of a variable.

    For equal indices, the last update wins.

    Args:
        ref: a variable of any type, or its reference tensor.
        indices: row indices, int32 or int64, of any shape.
        updates: ``indices.shape + ref.shape[1:]``, or a scalar for all of them; of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """


@variant_of(_scatter, method="add")
def scatter_add() -> None:
    """Add to rows of a variable.

    Updates with equal indices are applied in turn.

    >>> import gpuplace as tf
    >>> table = tf.Variable([1.0, 2.0, 3.0])
    >>> with tf.Session() as session:
    ...     session.run(table.initializer)
    ...     session.run(tf.scatter_add(table, [0, 2], [10.0, 20.0]))
    array([11.,  2., 23.], dtype=float32)

    Args:
        ref: a numeric variable or its reference tensor.
        indices: row indices, int32 or int64, of any shape.
        updates: ``indices.shape + ref.shape[1:]``, or a scalar for all of them; of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """


@variant_of(_scatter, method="sub")
def scatter_sub() -> None:
    """Subtract from rows of a variable.

    Updates with equal indices are applied in turn.

    Args:
        ref: a numeric variable or its reference tensor.
        indices: row indices, int32 or int64, of any shape.
        updates: ``indices.shape + ref.shape[1:]``, or a scalar for all of them; of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """


@variant_of(_scatter, method="mul")
def scatter_mul() -> None:
    """Multiply rows of a variable.

    Updates with equal indices are applied in turn.

    Args:
        ref: a numeric variable or its reference tensor.
        indices: row indices, int32 or int64, of any shape.
        updates: ``indices.shape + ref.shape[1:]``, or a scalar for all of them; of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """


@variant_of(_scatter, method="div")
def scatter_div() -> None:
    """Divide rows of a variable.

    Updates with equal indices are applied in turn.

    Args:
        ref: a numeric variable or its reference tensor.
        indices: row indices, int32 or int64, of any shape.
        updates: ``indices.shape + ref.shape[1:]``, or a scalar for all of them; of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """


@variant_of(_scatter, method="min")
def scatter_min() -> None:
    """Take the elementwise minimum of rows of a variable and updates.

    Updates with equal indices are applied in turn.

    Args:
        ref: a variable of float16, bfloat16, float32, float64, int32 or int64, or its reference tensor.
        indices: row indices, int32 or int64, of any shape.
        updates: ``indices.shape + ref.shape[1:]``, or a scalar for all of them; of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """


@variant_of(_scatter, method="max")
def scatter_max() -> None:
    """Take the elementwise maximum of rows of a variable and updates.

    Updates with equal indices are applied in turn.

    Args:
        ref: a variable of float16, bfloat16, float32, float64, int32 or int64, or its reference tensor.
        indices: row indices, int32 or int64, of any shape.
        updates: ``indices.shape + ref.shape[1:]``, or a scalar for all of them; of the variable's type.
        use_locking: stored in the graph without effect; updates are always atomic.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the update.

    Raises:
        TypeError: the dtype is not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a row index is out of range.
    """


_SCATTER_OPS = tuple(f"Scatter{method.capitalize()}" for method in METHODS)


@shape_function(*_SCATTER_OPS)
def _scatter_shape(op: Operation) -> list[TensorShape]:
    ref, indices, updates = (tensor.shape for tensor in op.inputs)
    if updates.ndims != 0 and ref.sizes is not None and ref.ndims:
        merge_shapes(updates, indices.concatenate(ref[1:]))
    return [ref]


@binder(*_SCATTER_OPS)
def _scatter_kernel(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation
) -> Callable[..., VariableStorage]:
    method = op.type.removeprefix("Scatter").lower()

    def scatter(ref: VariableStorage, indices: Array, updates: Array) -> VariableStorage:
        ref.update(lambda old, is_own: scattered(xp, method, old, indices, updates, in_place=is_own))
        return ref

    return scatter


# CountUpTo


def count_up_to(ref: VariableLike, limit: int, name: str | None = None) -> Tensor:
    """Add one to a variable, unless it has reached ``limit``.

    Args:
        ref: a scalar variable of int32 or int64, or its reference tensor.
        limit: the largest value, a Python integer.
        name: name of the operation.

    Returns:
        The previous value, a scalar of the variable's type.

    Raises:
        TypeError: ``ref`` has another dtype or is not a variable.
        OutOfRangeError: at run time, the value has reached ``limit``.
    """
    handle = getattr(ref, "handle", None)
    if handle is not None:
        dtype = ref.dtype.base_dtype
        return apply_op("ResourceCountUpTo", name, resource=handle, limit=limit, T=dtype).outputs[0]
    return apply_op("CountUpTo", name, ref=ref, limit=limit).outputs[0]


shape_function("CountUpTo", "ResourceCountUpTo")(scalar_shape)


@compute("CountUpTo")
def _count_up_to(xp: ArrayModule, ref: VariableStorage, *, limit: int) -> Array:
    return _counted(ref, limit)


@compute("ResourceCountUpTo")
def _count_resource_up_to(xp: ArrayModule, resource: ResourceHandle, *, limit: int) -> Array:
    return _counted(resource.variable, limit)


def _counted(ref: VariableStorage, limit: int) -> Any:
    with ref.lock:
        before = ref.value
        if int(before) >= limit:
            raise OutOfRangeError.of(f"Reached limit of {limit}")
        ref.assign(before + before.dtype.type(1))
    return before


not_differentiable("Assign", "AssignAdd", "AssignSub", "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv")
not_differentiable("TemporaryVariable", "DestroyTemporaryVariable")
