"""``SparseTensorSpec``, and sparse tensors packed into three elements of a dense one.

A dataset stores a sparse tensor as a variant tensor of its indices, values and dense shape:

    SparseTensor [2, 3]  ──SerializeSparse──────>  [3]
                         ──SerializeManySparse──>  [2, 3]     three elements for each row
    [..., 3]             ──DeserializeSparse────>  SparseTensor [..., 2, 3]

As strings, the three are ``TensorProto`` messages.

Source: tensorflow/core/kernels/serialize_sparse_op.cc, deserialize_sparse_variant_op.cc,
deserialize_sparse_string_op.cc, tensorflow/python/ops/sparse_ops.py, framework/sparse_tensor.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.display import above
from gpuplace.dtypes import DType, as_dtype, float32, int64, string, variant
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.shape_rules import require_rank, require_rank_at_least
from gpuplace.ops.sparse.positions import check_positions
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, to_sparse
from gpuplace.ops.support import new, new_list
from gpuplace.ops.type_spec import TensorSpec, TypeSpec, register_type_spec_from_value_converter
from gpuplace.shapes import TensorShape, as_shape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, TensorLike

__all__ = [
    "SparseTensorSpec",
    "deserialize_many_sparse",
    "deserialize_sparse",
    "serialize_many_sparse",
    "serialize_sparse",
]


def _serialized(op_type: str, sparse: Any, out_type: DTypeLike, name: str | None) -> Tensor:
    sparse = to_sparse(sparse)
    return new(
        op_type,
        name,
        sparse_indices=sparse.indices,
        sparse_values=sparse.values,
        sparse_shape=sparse.dense_shape,
        out_type=as_dtype(out_type),
    )


def serialize_sparse(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None, out_type: DTypeLike = string
) -> Tensor:
    """Pack a sparse tensor into three elements.

    Args:
        sp_input: the sparse tensor.
        name: the operation's name; None: the op's type.
        out_type: ``string`` or ``variant``.

    Returns:
        A tensor ``[3]``.

    Raises:
        TypeError: ``sp_input`` is not a sparse tensor.
    """
    return _serialized("SerializeSparse", sp_input, out_type, name)


def serialize_many_sparse(
    sp_input: SparseTensor | SparseTensorValue, name: str | None = None, out_type: DTypeLike = string
) -> Tensor:
    """Pack each row of a sparse tensor into three elements.

    Args:
        sp_input: the sparse tensor, of rank 2 or more, its indices in row-major order.
        name: the operation's name; None: the op's type.
        out_type: ``string`` or ``variant``.

    Returns:
        A tensor ``[rows, 3]``.

    Raises:
        TypeError: ``sp_input`` is not a sparse tensor.
    """
    return _serialized("SerializeManySparse", sp_input, out_type, name)


def _deserialized(
    op_type: str, packed: TensorLike, dtype: DTypeLike, rank: int | None, name: str | None
) -> SparseTensor:
    outputs = new_list(op_type, name, serialized_sparse=convert_to_tensor(packed), dtype=as_dtype(dtype))
    outputs[0].set_shape([None, rank])
    outputs[2].set_shape([rank])
    return SparseTensor(*outputs)


def deserialize_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return the sparse tensor that was packed into three elements.

    Args:
        serialized_sparse: a tensor ``[..., 3]``; the axes before the last become the first ones of the result.
        dtype: the type of the values.
        rank: the rank of the result; None: unknown.
        name: the operation's name; None: the op's type.

    Returns:
        A ``SparseTensor``.

    Raises:
        InvalidArgumentError: at run time, the values have another type, or shapes do not match.
    """
    return _deserialized("DeserializeSparse", serialized_sparse, dtype, rank, name)


def deserialize_many_sparse(
    serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return the sparse tensor whose rows were packed into three strings each.

    Args:
        serialized_sparse: a matrix ``[rows, 3]`` of strings.
        dtype: the type of the values.
        rank: the rank of a row; None: unknown.
        name: the operation's name; None: the op's type.

    Returns:
        A ``SparseTensor``, of rank ``rank + 1``.

    Raises:
        InvalidArgumentError: at run time, the values have another type, or ranks do not match.
    """
    whole = None if rank is None else rank + 1
    return _deserialized("DeserializeManySparse", serialized_sparse, dtype, whole, name)


class SparseTensorSpec(TypeSpec):
    """Static description of a sparse tensor: dense shape and type of the values.

    >>> SparseTensorSpec([None, 3], "int32")
    SparseTensorSpec(TensorShape([Dimension(None), Dimension(3)]), tf.int32)

    Args:
        shape: static dense shape, possibly partial; None: unknown.
        dtype: the type of its values.
    """

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = float32) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: SparseTensor | SparseTensorValue) -> SparseTensorSpec:
        """Return the spec of a sparse tensor.

        Args:
            value: the sparse tensor.

        Raises:
            TypeError: ``value`` is not a sparse tensor.
        """
        if isinstance(value, SparseTensorValue) and isinstance(value.values, np.ndarray):
            return cls(value.dense_shape, value.values.dtype)
        if not isinstance(value, SparseTensor | SparseTensorValue):
            raise TypeError("Expected SparseTensor or SparseTensorValue")
        sparse = to_sparse(value)
        return cls(sparse.shape, sparse.dtype)

    @property
    def value_type(self) -> type:
        """``SparseTensor``."""
        return SparseTensor

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor, possibly partial."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._dtype

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        rank = self._shape.ndims
        return [
            TensorSpec([None, rank], int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], int64),
        ]

    def _to_components(self, value: SparseTensor | SparseTensorValue) -> list[Tensor]:
        sparse = to_sparse(value)
        return [sparse.indices, sparse.values, sparse.dense_shape]

    def _from_components(self, components: Any) -> SparseTensor | SparseTensorValue:
        if all(isinstance(item, np.ndarray) for item in components):
            return SparseTensorValue(*components)
        return SparseTensor(*components)

    @property
    def _flat_tensor_specs(self) -> list[TensorSpec]:
        return [TensorSpec(None, variant)]

    def _to_tensor_list(self, value: SparseTensor | SparseTensorValue) -> list[Tensor]:
        return [serialize_sparse(SparseTensor.from_value(value), out_type=variant)]

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> type:
        return self.value_type

    def _to_batched_tensor_list(self, value: SparseTensor | SparseTensorValue) -> list[Tensor]:
        """Return the packed rows of a value; raise ValueError for a scalar."""
        sparse = to_sparse(value)
        if self._shape.merge_with(sparse.shape).ndims == 0:
            raise ValueError("Unbatching a sparse tensor is only supported for rank >= 1")
        return [serialize_many_sparse(sparse, out_type=variant)]

    def _from_compatible_tensor_list(self, tensor_list: list[Tensor]) -> SparseTensor:
        return deserialize_sparse(tensor_list[0], self._dtype, self._shape.ndims)

    def _batch(self, batch_size: int | None) -> SparseTensorSpec:
        """Return the spec of ``batch_size`` such tensors stacked along a new axis."""
        return SparseTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> SparseTensorSpec:
        """Return the spec of one row of a tensor; raise ValueError for a scalar."""
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(self._shape[1:], self._dtype)


def spec_of(value: SparseTensor) -> SparseTensorSpec:
    """Return the spec of a sparse tensor.

    Args:
        value: the sparse tensor.
    """
    return SparseTensorSpec.from_value(value)


register_type_spec_from_value_converter(SparseTensorValue, SparseTensorSpec.from_value)


# Kernels


def _check_ranks(indices: Any, values: Any, shape: Any) -> None:
    """Raise InvalidArgumentError if indices are not a matrix, or values or shape not a vector."""
    for label, array, rank in (("indices", indices, 2), ("values", values, 1), ("shape", shape, 1)):
        if array.ndim != rank:
            kind = "matrix" if rank == 2 else "vector"
            raise InvalidArgumentError.of(
                f"Input {label} should be a {kind} but received shape {brackets(array.shape)}"
            )


def _check_parts(indices: Any, values: Any, shape: Any) -> None:
    """Raise InvalidArgumentError if the three do not form a sparse tensor."""
    _check_ranks(indices, values, shape)
    if len(indices) != len(values):
        raise InvalidArgumentError.of(
            f"Number of values must match first dimension of indices. Got {len(values)} values, indices shape:"
            f" {brackets(indices.shape)}"
        )
    if indices.shape[1] != len(shape):
        raise InvalidArgumentError.of(
            f"Number of dimensions must match second dimension of indices. Got {len(shape)} dimensions, indices shape:"
            f" {brackets(indices.shape)}"
        )


def _packed(out_type: DType, dtype: DType, *parts: Any) -> Any:
    """Return three elements."""
    elements = np.empty(3, object)
    if out_type is not string:
        elements[:] = parts
        return elements
    write = above("gpuplace.graphdef.tensor_proto", "bytes_of_array")
    elements[:] = [write(part, kind) for part, kind in zip(parts, (int64, dtype, int64), strict=True)]
    return elements


@compute("SerializeSparse")
def _serialize_sparse(
    xp: ArrayModule,
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    T: DType,
    out_type: DType,
) -> Array:
    _check_ranks(sparse_indices, sparse_values, sparse_shape)
    return _packed(out_type, T, sparse_indices, sparse_values, sparse_shape)


@compute("SerializeManySparse")
def _serialize_many_sparse(
    xp: ArrayModule,
    sparse_indices: Array,
    sparse_values: Array,
    sparse_shape: Array,
    *,
    T: DType,
    out_type: DType,
) -> Array:
    _check_parts(sparse_indices, sparse_values, sparse_shape)
    if len(sparse_shape) < 2:
        raise InvalidArgumentError.of(
            f"Rank of input SparseTensor should be > 1, but saw rank: {len(sparse_shape)}"
        )
    check_positions(xp, sparse_indices, [int(size) for size in sparse_shape])
    rows, count = sparse_indices[:, 0], int(sparse_shape[0])
    bounds = np.searchsorted(rows, np.arange(count + 1))
    elements = np.empty((count, 3), object)
    for row in range(count):
        part = slice(bounds[row], bounds[row + 1])
        elements[row] = _packed(out_type, T, sparse_indices[part, 1:], sparse_values[part], sparse_shape[1:])
    return elements


def _unpacked(element: Any) -> Any:
    """Return one of the three elements, parsed if it is a message."""
    if not isinstance(element, bytes):
        return element
    read = above("gpuplace.graphdef.tensor_proto", "array_of_bytes")
    try:
        array, _ = read(element)
    except ValueError:
        raise InvalidArgumentError.of("Could not parse serialized proto") from None
    return array


def _put_together(serialized: Any, dtype: DType) -> tuple[Any, Any, Any]:
    outer = serialized.shape[:-1]
    parts: list[tuple[Any, Any, Any]] = []
    for packed in serialized.reshape(-1, 3):
        indices, values, shape = map(_unpacked, packed)
        _check_parts(indices, values, shape)
        if values.dtype != dtype.as_numpy_dtype:
            raise InvalidArgumentError.of(
                f"Requested SparseTensor of type {dtype.short_name} but SparseTensor[{len(parts)}].values.dtype() =="
                f" {as_dtype(values.dtype).short_name}"
            )
        if parts and len(shape) != len(parts[0][2]):
            raise InvalidArgumentError.of(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{len(parts)}] was:"
                f" {len(parts[0][2])} but rank of SparseTensor[{len(parts)}] is: {len(shape)}"
            )
        parts.append((indices, values, shape))
    if not outer:
        return parts[0]
    if not parts:
        raise InvalidArgumentError.of(
            "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension"
            f" {brackets(serialized.shape)}"
        )
    sizes = np.max([shape for _, _, shape in parts], axis=0)
    at = np.array(np.unravel_index(np.arange(math.prod(outer)), outer), np.int64).T
    indices = [
        np.concatenate([np.broadcast_to(place, (len(item), len(outer))), item], axis=1)
        for place, (item, _, _) in zip(at, parts, strict=True)
    ]
    values = np.concatenate([item for _, item, _ in parts])
    return np.concatenate(indices), values, np.array([*outer, *sizes], np.int64)


@compute("DeserializeSparse", "DeserializeManySparse")
def _deserialize_sparse(xp: ArrayModule, serialized_sparse: Any, *, dtype: DType) -> Any:
    if not serialized_sparse.ndim:
        raise InvalidArgumentError.of("Serialized sparse should have non-zero rank but has rank 0")
    if serialized_sparse.shape[-1] != 3:
        raise InvalidArgumentError.of(
            f"Serialized sparse should have 3 as the last dimension {brackets(serialized_sparse.shape)}"
        )
    return _put_together(serialized_sparse, dtype)


# Shapes


@shape_function("DeserializeSparse", "DeserializeManySparse")
def _shapes_of_parts(op: Operation) -> Any:
    packed = op.inputs[0].shape
    packed = (
        require_rank(packed, 2) if op.type == "DeserializeManySparse" else require_rank_at_least(packed, 1)
    )
    if packed.sizes and packed.sizes[-1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {packed.sizes[-1]}")
    return TensorShape.of((None, None)), TensorShape.of((None,)), TensorShape.of((None,))


@shape_function("SerializeSparse")
def _packed_shape(op: Operation) -> Any:
    return (TensorShape.of((3,)),)


@shape_function("SerializeManySparse")
def _packed_rows_shape(op: Operation) -> Any:
    return (TensorShape.of((None, 3)),)
