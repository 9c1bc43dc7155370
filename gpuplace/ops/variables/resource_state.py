"""Resource variables: ``VarHandleOp`` and the ops on its handle.

Source: tensorflow/core/kernels/resource_variable_ops.cc and core/ops/resource_variable_ops.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, float32
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import make_constant
from gpuplace.graph.op_sets import SWITCHES, WHILE_OPS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.graph.traced_graph import TracedGraph
from gpuplace.kernels.compute import KernelContext, binder, compute
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.ops.array import joining, reshaping
from gpuplace.ops.array.gather import gather_nd_shape, gather_slices, gather_slices_nd
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.shape_rules import merge_shapes
from gpuplace.ops.support import new, scalar_shape
from gpuplace.ops.variables.scatter import METHODS, check_indices, scattered
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, TensorLike

# VarHandleOp


def var_handle_op(
    dtype: DTypeLike, shape: ShapeLike, container: str = "", shared_name: str = "", name: str | None = None
) -> Tensor:
    """Return a variable's handle."""
    arguments = {"dtype": dtype, "shape": shape, "container": container, "shared_name": shared_name}
    return apply_op("VarHandleOp", name, **arguments).outputs[0]


shape_function("VarHandleOp")(scalar_shape)


@binder("VarHandleOp")
def _var_handle(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[[], ResourceHandle]:
    storage = ctx.session.variable(
        attrs["shared_name"].decode() or op.name,
        attrs["dtype"],
        attrs["shape"],
        container=attrs["container"].decode(),
        device=ctx.device,
        is_resource=True,
    )
    handle: ResourceHandle = storage.handle
    return lambda: handle


_PASSING = SWITCHES | {"Identity", "Enter"}
"""Ops that pass handles on."""


def handle_shape(handle: Tensor) -> TensorShape:
    """Return the static shape of the variable that a handle refers to."""
    shape = _attrs_of_variable(handle).get("shape")
    return shape if isinstance(shape, TensorShape) else UNKNOWN_SHAPE


def _attrs_of_variable(handle: Tensor) -> Mapping[str, Any]:
    """Return the attributes of the op that makes the variable; an empty mapping if it is unknown."""
    op = _maker_of(handle)
    return op.attrs if op.type == "VarHandleOp" else {}


def _maker_of(handle: Tensor) -> Operation:
    """Return the operation that a handle comes from, also through loops and functions."""
    while True:
        op = handle.op
        if op.type in _PASSING:
            handle = op.inputs[0]
        elif op.type in WHILE_OPS:  # a loop returns a handle unchanged
            handle = op.inputs[handle.value_index]
        elif isinstance(op.graph, TracedGraph) and (outer := op.graph.origin_of(op)) is not None:
            handle = outer
        else:
            return op


def zeros_dtype(tensor: Tensor) -> DType:
    """Return the dtype of a tensor's gradient; for a handle, that of its variable.

    Args:
        tensor: the tensor.
    """
    dtype = tensor.dtype.base_dtype
    if dtype.name != "resource":
        return dtype
    kind: DType = _attrs_of_variable(tensor).get("dtype", float32)
    return kind


# ReadVariableOp, VariableShape, VarIsInitializedOp, DestroyResourceOp


def read_variable_op(resource: Tensor, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Return the value of a variable."""
    return apply_op("ReadVariableOp", name, resource=resource, dtype=dtype).outputs[0]


@shape_function("ReadVariableOp")
def _read_shape(op: Operation) -> list[TensorShape]:
    return [handle_shape(op.inputs[0])]


@compute("ReadVariableOp", reads_only=True)
def _read(xp: ArrayModule, resource: ResourceHandle) -> Array:
    return resource.variable.value


@gradient("ReadVariableOp")
def _read_gradient(op: Operation, grad: TensorLike) -> Any:
    return grad


def variable_shape(handle: Tensor, name: str | None = None, out_type: Any = None) -> Tensor:
    """Return the shape of a resource variable's value, a constant if it is static.

    Args:
        handle: the variable's handle, a resource tensor.
        name: name of the operation.
        out_type: int32 or int64; None: int32.

    Returns:
        A vector of that type.

    Raises:
        FailedPreconditionError: at run time, the shape is not static and the variable has no value.
    """
    shape = handle_shape(handle)
    if shape.is_fully_defined():
        return make_constant(shape.as_list(), out_type or "int32", name=name)
    return apply_op("VariableShape", name, input=handle, out_type=out_type).outputs[0]


@shape_function("VariableShape")
def _variable_shape_shape(op: Operation) -> list[TensorShape]:
    return [TensorShape.of((handle_shape(op.inputs[0]).ndims,))]


@compute("VariableShape", reads_only=True)
def _variable_shape(xp: ArrayModule, resource: ResourceHandle, *, out_type: Any) -> Array:
    return np.asarray(resource.variable.value.shape, out_type.as_numpy_dtype)


def var_is_initialized_op(resource: Tensor, name: str | None = None) -> Tensor:
    """Return whether the variable that a handle refers to has a value."""
    return apply_op("VarIsInitializedOp", name, resource=resource).outputs[0]


shape_function("VarIsInitializedOp")(scalar_shape)


@compute("VarIsInitializedOp", reads_only=True)
def _var_is_initialized(xp: ArrayModule, resource: ResourceHandle) -> Array:
    return np.asarray(resource.variable.is_initialized)


@compute("DestroyResourceOp")
def _destroy(
    xp: ArrayModule, resource: ResourceHandle, *, ignore_lookup_error: bool, ctx: KernelContext
) -> tuple[()]:
    if not isinstance(resource.resource, VariableStorage):
        try:
            ctx.session.delete(resource.container, resource.name, resource.device, resource.type_name)
        except NotFoundError:
            if not ignore_lookup_error:
                raise
        return ()
    variable = resource.variable
    if not variable.is_initialized and not ignore_lookup_error:
        raise NotFoundError.of(
            f"Resource {resource.container}/{resource.name}/{resource.type_name} does not exist."
        )
    variable.reset()
    return ()


# AssignVariableOp, AssignAddVariableOp, AssignSubVariableOp


def assign_variable_op(resource: Tensor, value: TensorLike, name: str | None = None) -> Operation:
    """Assign a value to the variable that a handle refers to."""
    return apply_op("AssignVariableOp", name, resource=resource, value=value)


def assign_add_variable_op(resource: Tensor, value: TensorLike, name: str | None = None) -> Operation:
    """Add to the variable that a handle refers to."""
    return apply_op("AssignAddVariableOp", name, resource=resource, value=value)


def assign_sub_variable_op(resource: Tensor, value: TensorLike, name: str | None = None) -> Operation:
    """Subtract from the variable that a handle refers to."""
    return apply_op("AssignSubVariableOp", name, resource=resource, value=value)


@shape_function("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
def _assign_shape(op: Operation) -> list[TensorShape]:
    handle, value = op.inputs
    dtype = _attrs_of_variable(handle).get("dtype")
    if dtype is not None and dtype.base_dtype is not value.dtype.base_dtype:
        raise ValueError(
            f"Trying to read variable with wrong dtype. Expected {dtype.short_name} got {value.dtype.short_name}"
        )
    merge_shapes(handle_shape(handle), value.shape)
    return []


@compute("AssignVariableOp")
def _assign(xp: ArrayModule, resource: ResourceHandle, value: Array) -> tuple[()]:
    resource.variable.assign(value)
    return ()


@compute("AssignAddVariableOp")
def _assign_add(xp: ArrayModule, resource: ResourceHandle, value: Array) -> tuple[()]:
    _check_update(resource, value)
    resource.variable.update(lambda old, is_own: xp.add(old, value, out=old if is_own else None))
    return ()


@compute("AssignSubVariableOp")
def _assign_sub(xp: ArrayModule, resource: ResourceHandle, value: Array) -> tuple[()]:
    _check_update(resource, value)
    resource.variable.update(lambda old, is_own: xp.subtract(old, value, out=old if is_own else None))
    return ()


def _check_update(resource: ResourceHandle, value: Any) -> None:
    shape = resource.variable.value.shape
    if shape != value.shape:
        raise InvalidArgumentError.of(
            f"Cannot update variable with shape {brackets(TensorShape.of(shape))} using a Tensor with shape "
            f"{brackets(TensorShape.of(value.shape))}, shapes must be equal."
        )


# ResourceGather, ResourceScatter*


def resource_gather(
    resource: Tensor,
    indices: TensorLike,
    dtype: DTypeLike,
    validate_indices: bool = True,
    name: str | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Gather rows of a resource variable, without reading the rest.

    Args:
        resource: the variable's handle, a resource tensor.
        indices: row indices, int32 or int64, of any shape.
        dtype: the variable's type.
        validate_indices: stored in the graph without effect; indices are always checked.
        name: name of the operation.
        batch_dims: the number of leading dimensions that the variable and ``indices`` share.

    Returns:
        A tensor of type ``dtype`` and the shape ``indices.shape + variable.shape[batch_dims + 1:]``.

    Raises:
        InvalidArgumentError: at run time, a row index is out of range.
    """
    arguments: dict[str, Any] = {"indices": indices, "dtype": dtype, "validate_indices": validate_indices}
    arguments["batch_dims"] = batch_dims
    return apply_op("ResourceGather", name, resource=resource, **arguments).outputs[0]


@shape_function("ResourceGather")
def _gather_shape(op: Operation) -> list[TensorShape]:
    params, indices, batch = handle_shape(op.inputs[0]), op.inputs[1].shape, op.attrs["batch_dims"]
    if not params.ndims or indices.ndims is None:
        return [UNKNOWN_SHAPE]
    return [params[:batch].concatenate(indices[batch:]).concatenate(params[batch + 1 :])]


@compute("ResourceGather", reads_only=True)
def _gather(xp: ArrayModule, resource: ResourceHandle, indices: Array, *, batch_dims: int, ctx: Any) -> Array:
    value = resource.variable.value
    if batch_dims:
        return gather_slices(xp, value, indices, batch_dims, batch_dims, ctx)
    check_indices(xp, indices, value.shape[0])
    return xp.take(value, indices, axis=0)


@gradient("ResourceGather")
def _gather_gradient(op: Operation, grad: TensorLike) -> tuple[IndexedSlices, None]:
    handle, indices = op.inputs
    shape: Any = variable_shape(handle)
    size = new("ExpandDims", input=reshaping.size(indices), dim=0)
    values = reshaping.reshape(grad, joining.concat([size, shape[1:]], 0))
    return IndexedSlices(values, reshaping.reshape(indices, size), shape), None


def resource_gather_nd(
    resource: Tensor, indices: TensorLike, dtype: DTypeLike, name: str | None = None
) -> Tensor:
    """Gather slices of a resource variable at index vectors, without reading the rest.

    Args:
        resource: the variable's handle, a resource tensor.
        indices: ``[..., depth]``, int32 or int64: an index for each of the first ``depth`` dimensions.
        dtype: the variable's type.
        name: name of the operation.

    Returns:
        A tensor of type ``dtype`` and the shape ``indices.shape[:-1] + variable.shape[depth:]``.

    Raises:
        InvalidArgumentError: at run time, an index is out of range.
    """
    return apply_op("ResourceGatherNd", name, resource=resource, indices=indices, dtype=dtype).outputs[0]


@shape_function("ResourceGatherNd")
def _gather_nd_shape(op: Operation) -> list[TensorShape]:
    return [gather_nd_shape(handle_shape(op.inputs[0]), op.inputs[1].shape)]


@compute("ResourceGatherNd", reads_only=True)
def _gather_nd(xp: ArrayModule, resource: ResourceHandle, indices: Array, *, ctx: Any) -> Array:
    return gather_slices_nd(xp, resource.variable.value, indices, ctx)


@gradient("ResourceGatherNd")
def _gather_nd_gradient(op: Operation, grad: Any) -> tuple[Any, None]:
    handle, indices = op.inputs
    shape: Any = variable_shape(handle, out_type=indices.dtype)
    if indices.shape.ndims == 2 and indices.shape[-1].value == 1:  # rows
        return IndexedSlices(grad, new("Squeeze", input=indices, squeeze_dims=[-1]), shape), None
    return new("ScatterNd", indices=indices, updates=grad, shape=shape), None


def resource_scatter(
    method: str, resource: Tensor, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Operation:
    """Apply ``updates`` to rows of the variable that a handle refers to; ``method`` as in ``scatter.scattered``."""
    op_type = f"ResourceScatter{method.capitalize()}"
    return apply_op(op_type, name, resource=resource, indices=indices, updates=updates)


_SCATTER_OPS = tuple(f"ResourceScatter{method.capitalize()}" for method in METHODS)


@shape_function(*_SCATTER_OPS)
def _scatter_shape(op: Operation) -> list[TensorShape]:
    shape, indices, updates = handle_shape(op.inputs[0]), op.inputs[1].shape, op.inputs[2].shape
    if updates.ndims != 0 and shape.ndims:
        merge_shapes(updates, indices.concatenate(shape[1:]))
    return []


@binder(*_SCATTER_OPS)
def _scatter_kernel(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., tuple[()]]:
    method = op.type.removeprefix("ResourceScatter").lower()

    def scatter(resource: ResourceHandle, indices: Any, updates: Any) -> tuple[()]:
        resource.variable.update(
            lambda old, is_own: scattered(xp, method, old, indices, updates, in_place=is_own)
        )
        return ()

    return scatter


not_differentiable("VarIsInitializedOp", "VariableShape")
