"""Partitioned variables: one variable stored as several slices along one dimension.

    get_variable("w", [5, 2], partitioner=fixed_size_partitioner(2))

        w/part_0 [3, 2] --+
                          +--> w/ConcatPartitions/concat --> w (Identity): the input of other ops
        w/part_1 [2, 2] --+

A partitioner returns the number of parts in each dimension. The parts are equal, or the first ones are one larger.

Source: tensorflow/python/ops/partitioned_variables.py, variables.py (PartitionedVariable) and variable_scope.py,
release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.graph.convert import get_default_graph, register_tensor_conversion_function
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import joining, reshaping
from gpuplace.ops.variables.variables import slice_info_of
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, ShapeLike, TensorLike

__all__ = ["fixed_size_partitioner", "min_max_variable_partitioner", "variable_axis_size_partitioner"]

Partitioner = Callable[..., Sequence[int]]
"""Function from ``shape=TensorShape`` and ``dtype=DType`` to the number of parts in each dimension."""


class PartitionedVariable:
    """A variable stored as several slices; ops that accept tensors get the joined slices.

    >>> import gpuplace as tf
    >>> w = tf.get_variable("w", [5, 2], partitioner=tf.fixed_size_partitioner(2))
    >>> [part.name for part in w], w.shape.as_list()
    (['w/part_0:0', 'w/part_1:0'], [5, 2])

    Args:
        name: name of the whole variable.
        shape: its shape.
        dtype: its dtype.
        variable_list: the slices, variables with ``SaveSliceInfo``.
        partitions: number of parts in each dimension.

    Raises:
        TypeError: ``variable_list`` or ``partitions`` is not a list.
        ValueError: there are no slices, a slice has no ``SaveSliceInfo`` or another shape, a number of parts is not
            positive, or there is not one number per dimension.
    """

    def __init__(
        self, name: str, shape: Any, dtype: DType, variable_list: Sequence[Any], partitions: Sequence[int]
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(number >= 1 for number in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        slices = [info for one in variable_list if (info := slice_info_of(one)) is not None]
        if len(slices) < len(variable_list):
            names = [variable.name for variable in variable_list]
            raise ValueError(f"All variables must have a save_slice_info available: {names}")
        if len(shape) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
        wrong = [info.full_shape for info in slices if as_shape(info.full_shape) != as_shape(shape)]
        if wrong:
            raise ValueError(
                f"All variables' full shapes must match shape: {shape}; but full shapes were: {wrong}"
            )
        self._name = name
        self._shape = as_shape(shape)
        self._dtype = dtype
        self._partitions = list(partitions)
        in_order = sorted(zip(slices, variable_list, strict=True), key=lambda pair: pair[0].var_offset)
        self._variable_list = [variable for _, variable in in_order]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    def __repr__(self) -> str:
        return (
            f"<tf.PartitionedVariable '{self._name}' shape={self._shape} dtype={self._dtype.base_dtype.name}"
            f" parts={self._partitions}>"
        )

    @property
    def name(self) -> str:
        """The name of the whole variable, without an output index."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole variable."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole variable."""
        return self._shape

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _partition_axes(self) -> list[int]:
        """Return the partitioned dimensions; the first dimension if there is none."""
        return [axis for axis, number in enumerate(self._partitions) if number > 1] or [0]

    def as_tensor(self) -> Tensor:
        """Return the whole variable: the joined slices.

        Raises:
            NotImplementedError: several dimensions are partitioned.
        """
        with get_default_graph().control_dependencies(None):
            return self._concat()

    def _concat(self) -> Tensor:
        """Return ``as_tensor`` under the current control dependencies."""
        graph = get_default_graph()
        if len(self._variable_list) == 1:
            with graph.name_scope(None):
                return reshaping.identity(self._variable_list[0], name=self._name)
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot concatenate along more than one dimension: {axes}.  Multi-axis partition concat is not"
                " supported"
            )
        with graph.name_scope(f"{self._name}/ConcatPartitions/"):
            whole = joining.concat(self._variable_list, axes[0])
        with graph.name_scope(None):
            return reshaping.identity(whole, name=self._name)

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Assign a new value, slice by slice.

        Args:
            value: a tensor of the whole shape, a list of one tensor per slice, or a partitioned variable with the same
                slices.
            use_locking: stored in the graph without effect; assignments are always atomic.
            name: name of the operations.
            read_value: whether to return references instead of operations.

        Returns:
            The result of ``assign`` for each slice.

        Raises:
            NotImplementedError: several dimensions are partitioned.
            ValueError: ``value`` does not match.
        """
        return self._changed("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Add ``value``, slice by slice.

        Args:
            value: as for ``assign``.
            use_locking: stored in the graph without effect; assignments are always atomic.
            name: name of the operations.
            read_value: whether to return references instead of operations.

        Returns:
            The result of ``assign_add`` for each slice.

        Raises:
            NotImplementedError: several dimensions are partitioned.
            ValueError: ``value`` does not match.
        """
        return self._changed("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> list[Any]:
        """Subtract ``value``, slice by slice.

        Args:
            value: as for ``assign``.
            use_locking: stored in the graph without effect; assignments are always atomic.
            name: name of the operations.
            read_value: whether to return references instead of operations.

        Returns:
            The result of ``assign_sub`` for each slice.

        Raises:
            NotImplementedError: several dimensions are partitioned.
            ValueError: ``value`` does not match.
        """
        return self._changed("assign_sub", value, use_locking, name, read_value)

    def _changed(
        self, method: str, value: TensorLike, use_locking: bool, name: str | None, read_value: bool
    ) -> list[Any]:
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot do assign action along more than one dimension: {axes}.  Multi-axis partition assign action is"
                " not supported"
            )
        values: Sequence[Any]
        if isinstance(value, (list, PartitionedVariable)):
            values = list(value)
            if len(values) != len(self._variable_list):
                raise ValueError(
                    f"{self._name} has {len(self._variable_list)} parts, but got {len(values)} values"
                )
        else:
            sizes = [variable.shape[axes[0]].value for variable in self._variable_list]
            values = joining.split(value, sizes, axis=axes[0])
        return [
            getattr(variable, method)(part, use_locking=use_locking, name=name, read_value=read_value)
            for variable, part in zip(self._variable_list, values, strict=True)
        ]


def _to_tensor(
    variable: PartitionedVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return variable.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _to_tensor)


class PartitionInfo:
    """The slice of a whole variable that an initializer makes.

    >>> PartitionInfo([5, 2], [3, 0]).single_slice_dim([2, 2])
    0

    Args:
        full_shape: the sizes of the whole variable.
        var_offset: the start of the slice.

    Raises:
        TypeError: an argument is not a list.
        ValueError: they differ in length, or the slice starts outside the variable.
    """

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        for label, value in (("full_shape", full_shape), ("var_offset", var_offset)):
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise TypeError(
                    f"`{label}` must be a sequence (like tuple or list) instead of {type(value).__name__}"
                )
        if len(var_offset) != len(full_shape):
            raise ValueError(
                f"Expected equal length, but `var_offset` is of length {len(var_offset)} while full_shape is of length"
                f" {len(full_shape)}."
            )
        for offset, size in zip(var_offset, full_shape):
            if not 0 <= offset < size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for var_offset={var_offset},"
                    f" full_shape={full_shape}"
                )
        self.full_shape = full_shape
        self.var_offset = var_offset

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return the start of the slice along the partitioned dimension; 0 without one.

        Args:
            shape: the sizes of the slice.

        Raises:
            TypeError: ``shape`` is not a list.
            ValueError: as for ``single_slice_dim``.
        """
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the partitioned dimension; None if there is none.

        Args:
            shape: the sizes of the slice.

        Raises:
            TypeError: ``shape`` is not a list.
            ValueError: the number of dimensions differs, the slice exceeds the variable, or it is smaller along several
                dimensions.
        """
        if not isinstance(shape, (tuple, list)):
            raise TypeError(
                f"`shape` must be a sequence (like tuple or list) instead of {type(shape).__name__}"
            )
        if len(shape) != len(self.full_shape):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while"
                f" self.full_shape={self.full_shape} of length {len(self.full_shape)}."
            )
        for axis, (offset, size, whole) in enumerate(zip(self.var_offset, shape, self.full_shape)):
            if offset + size > whole:
                raise ValueError(
                    f"With self.var_offset={self.var_offset}, a partition of shape={shape} would exceed"
                    f" self.full_shape={self.full_shape} in dimension {axis}."
                )
        smaller = [axis for axis, size in enumerate(shape) if size != self.full_shape[axis]]
        if len(smaller) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={self.full_shape} since slice"
                f" dim could be either dimension {smaller[0]} or {smaller[1]}."
            )
        return smaller[0] if smaller else None


def partitions_of(partitioner: Any, shape: TensorShape, dtype: DType) -> list[int]:
    """Return the number of parts in each dimension, as a partitioner determines it.

    Args:
        partitioner: a function of ``shape`` and ``dtype``.
        shape: the shape of the whole variable.
        dtype: its dtype.

    Raises:
        ValueError: the shape is unknown or has no dimensions, or the result is not a list of one positive number per
            dimension, at most one of which is above 1.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if not shape.ndims:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    slicing = partitioner(shape=shape, dtype=dtype)
    if not isinstance(slicing, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {slicing}")
    if len(slicing) != shape.ndims:
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: {slicing} vs. {shape}"
        )
    if any(number < 1 for number in slicing):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {slicing}")
    if sum(number > 1 for number in slicing) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {slicing}"
        )
    return list(slicing)


def slices_of(sizes: list[int], partitions: list[int]) -> list[tuple[list[int], list[int]]]:
    """Return the start and sizes of each slice.

    >>> slices_of([5, 2], [2, 1])
    [([0, 0], [3, 2]), ([3, 0], [2, 2])]

    Args:
        sizes: the sizes of the whole variable.
        partitions: number of parts in each dimension, at most one of them above 1.
    """
    axis = next((axis for axis, number in enumerate(partitions) if number > 1), 0)
    least, larger = divmod(sizes[axis], partitions[axis])
    result = []
    offset = [0] * len(sizes)
    for index in range(partitions[axis]):
        shape = [*sizes]
        shape[axis] = least + (index < larger)
        result.append(([*offset], shape))
        offset[axis] += shape[axis]
    return result


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Return a partitioner whose parts have at most ``max_shard_bytes``, unless one row is larger.

    Args:
        max_shard_bytes: the maximum size of a part, in bytes.
        axis: the dimension to partition.
        bytes_per_string_element: assumed size of a string, in bytes.
        max_shards: the maximum number of parts; None: any.

    Returns:
        A function from ``shape`` and ``dtype`` to a list with the number of parts in each dimension.

    Raises:
        ValueError: a number is not positive; at the call, the shape is unknown or ``dtype`` is not a dtype.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: ShapeLike, dtype: DTypeLike) -> list[int]:
        if not isinstance(shape, TensorShape):
            raise ValueError(f"shape is not a TensorShape: {shape}")
        if not shape.is_fully_defined():
            raise ValueError(f"shape is not fully defined: {shape}")
        if not isinstance(dtype, DType):
            raise ValueError(f"dtype is not a DType: {dtype}")
        sizes = [int(size) for size in shape]
        element = bytes_per_string_element if dtype.base_dtype.name == "string" else dtype.size
        row_bytes = math.prod(sizes) / sizes[axis] * element
        rows = max(1, math.floor(max_shard_bytes / row_bytes))
        partitions = [1] * len(sizes)
        partitions[axis] = math.ceil(sizes[axis] / rows)
        if max_shards:
            partitions[axis] = min(max_shards, partitions[axis])
        return partitions

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Return a partitioner whose parts have at least ``min_slice_size`` bytes.

    Args:
        max_partitions: the maximum number of parts.
        axis: the dimension to partition.
        min_slice_size: the minimum size of a part, in bytes; a smaller variable becomes a single part.
        bytes_per_string_element: assumed size of a string, in bytes.

    Returns:
        A function from ``shape`` and ``dtype`` to a list with the number of parts in each dimension; it raises
        ValueError if the shape lacks the dimension ``axis``.
    """

    def partitioner(shape: TensorShape, dtype: DType) -> list[int]:
        if axis >= len(shape):
            raise ValueError(f"Can not partition variable along axis {axis} when shape is only {shape}")
        sizes = [int(size) for size in shape]
        element = bytes_per_string_element if dtype.base_dtype.name == "string" else dtype.size
        parts = math.ceil(math.prod(sizes) * element / min_slice_size)
        partitions = [1] * len(sizes)
        partitions[axis] = max(1, min(sizes[axis], max_partitions, parts))
        return partitions

    return partitioner


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Return a partitioner that always makes ``num_shards`` parts, or one per row if there are fewer rows.

    >>> fixed_size_partitioner(2)(shape=TensorShape([10, 3]))
    [2, 1]

    Args:
        num_shards: the number of parts.
        axis: the dimension to partition.

    Returns:
        A function from ``shape`` to a list with the number of parts in each dimension.
    """

    def partitioner(shape: TensorShape, **_: object) -> list[int]:
        partitions = [1] * len(shape)
        partitions[axis] = min(num_shards, int(shape[axis]))
        return partitions

    return partitioner
