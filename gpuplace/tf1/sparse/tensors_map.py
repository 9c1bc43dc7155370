"""Sparse tensors stored under handles in a map of the session, so that queues can hold the handles.

Source: tensorflow/python/ops/sparse_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, parts_of, to_sparse
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike

_NAMES = ("sparse_indices", "sparse_values", "sparse_shape")


def add_sparse_to_tensors_map(
    sp_input: SparseTensor | SparseTensorValue,
    container: str | None = None,
    shared_name: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Store a sparse tensor, and return its handle.

    Args:
        sp_input: the sparse tensor.
        container: container of the map.
        shared_name: the name by which other operations find the map; None for that of the operation.
        name: name of the op.

    Raises:
        TypeError: ``sp_input`` is not sparse.
    """
    parts = dict(zip(_NAMES, parts_of(to_sparse(sp_input)), strict=True))
    return new("AddSparseToTensorsMap", name, shared_name=shared_name, container=container, **parts)


def add_many_sparse_to_tensors_map(
    sp_input: SparseTensor | SparseTensorValue,
    container: str | None = None,
    shared_name: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Store each row of a sparse tensor, and return the vector of their handles.

    Args:
        sp_input: a sparse tensor of rank 2 or more.
        container: container of the map.
        shared_name: the name by which other operations find the map; None for that of the operation.
        name: name of the op.

    Raises:
        TypeError: ``sp_input`` is not sparse.
        InvalidArgumentError: at run time, the rank is 1.
    """
    parts = dict(zip(_NAMES, parts_of(to_sparse(sp_input)), strict=True))
    return new("AddManySparseToTensorsMap", name, shared_name=shared_name, container=container, **parts)


def take_many_sparse_from_tensors_map(
    sparse_map_op: Operation, sparse_handles: TensorLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Remove sparse tensors from a map and stack them along a new first axis, in the largest of their shapes.

    Args:
        sparse_map_op: the operation that stored them.
        sparse_handles: a vector of their handles.
        rank: rank of the result, one more than theirs; None if unknown.
        name: name of the op.

    Raises:
        TypeError: ``sparse_map_op`` is not such an operation.
        InvalidArgumentError: at run time, there is no such handle, or ranks or dtypes differ.
    """
    if not isinstance(sparse_map_op, Operation):
        raise TypeError("sparse_map_op be an Operation")
    if sparse_map_op.type not in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap"):
        raise TypeError(
            "sparse_map_op must be one of AddSparseToTensorsMap or AddSparseToTensorsMap. Instead, found"
            f" `{sparse_map_op.type}`."
        )
    with get_default_graph().colocate_with(sparse_map_op):
        outputs: Any = apply_op(
            "TakeManySparseFromTensorsMap", name, sparse_handles=sparse_handles,
            dtype=sparse_map_op.get_attr("T"), shared_name=shared_name_of(sparse_map_op),
            container=sparse_map_op.get_attr("container"),
        )  # fmt: skip
    indices, values, shape = outputs.outputs
    if rank is not None:
        indices.set_shape([None, rank])
        shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def shared_name_of(sparse_map_op: Operation) -> str:
    """Return the name by which other operations find a map.

    Args:
        sparse_map_op: the operation that stores tensors there.
    """
    name: bytes = sparse_map_op.get_attr("shared_name")
    return name.decode() or sparse_map_op.name
