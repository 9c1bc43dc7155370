"""Slices of a tensor by index: gather, gather_nd, scatter_nd, masks; selecting between tensors by condition.

On the CPU an index out of range is an error. On a GPU, where a check would stall, the result there is 0.

Source: tensorflow/python/ops/array_ops.py, array_grad.py and tensorflow/core/kernels/gather_op.cc, gather_nd_op.cc,
scatter_nd_op.cc, cwise_op_select.cc, where_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32, int64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.masks import chosen
from gpuplace.ops.array.constant import ones, zeros, zeros_like
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import meshgrid, tile
from gpuplace.ops.array.reshaping import identity, reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.reshaping import size as size_of
from gpuplace.ops.gradients.indexed_slices import IndexedSlices, unsorted_segment_sum
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.shape_rules import (
    merge_shapes,
    require_axis,
    require_rank,
    require_rank_at_least,
    require_updates_at,
)
from gpuplace.ops.support import broadcast, new, new_list, shape_tensor
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, SizesLike, TensorLike

__all__ = [
    "gather", "gather_nd", "batch_gather", "scatter_nd", "tensor_scatter_update", "tensor_scatter_add", "boolean_mask",
    "tensor_scatter_nd_add", "tensor_scatter_nd_sub", "tensor_scatter_nd_update", "tensor_scatter_sub", "where",
    "where_v2",
]  # fmt: skip


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: Any = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int | None = 0,
) -> Tensor:
    """Return the slices of ``params`` at ``indices`` along ``axis``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.gather([[1, 2], [3, 4], [5, 6]], [2, 0])).tolist()
    [[5, 6], [1, 2]]

    Args:
        params: a tensor of any type, or a resource variable, of which only these slices are read.
        indices: int32 or int64 of any shape.
        validate_indices: ignored; deprecated.
        name: name of the op.
        axis: the dimension to index, a scalar integer. None: the first after the batch dimensions.
        batch_dims: the number of leading dimensions that ``params`` and ``indices`` share; None: 0.

    Returns:
        ``params``' type, ``[*params.shape[:axis], *indices.shape[batch_dims:], *params.shape[axis + 1:]]``.

    Raises:
        TypeError: indices are not integers.
        ValueError: ``axis`` is known to be out of range or less than ``batch_dims``.
        InvalidArgumentError: at run time on the CPU, an index is out of range; on a GPU the result there is 0.
    """
    if batch_dims is None:
        if axis is None:
            raise ValueError(
                "Tried to convert 'axis' to a tensor and failed. Error: None values not supported."
            )
        batch_dims = 0
    if batch_dims < 0 and (rank := convert_to_tensor(indices).shape.ndims) is not None:
        batch_dims += rank
    axis = batch_dims if axis is None else axis
    if not isinstance(axis, Tensor) and axis == 0 and batch_dims == 0 and hasattr(params, "sparse_read"):
        return params.sparse_read(indices, name=name)
    return new("GatherV2", name, params=params, indices=indices, axis=axis, batch_dims=batch_dims)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Return slices of ``params`` by separate indices for each batch. Deprecated; use ``gather``.

    Args:
        params: ``[*batch, n, ...]`` of any type.
        indices: ``[*batch, k]``, int32 or int64.
        name: name of the op.

    Returns:
        ``[*batch, k, ...]`` of ``params``' type.

    Raises:
        ValueError: the rank of ``indices`` is unknown.
        InvalidArgumentError: at run time on the CPU, an index is out of range; on a GPU the result there is 0.
    """
    with name_scope(name, "BatchGather", [params, indices]) as scope:
        indices = convert_to_tensor(indices, name="indices")
        if indices.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(
            params, indices, axis=indices.shape.ndims - 1, batch_dims=indices.shape.ndims - 1, name=scope
        )


def _checked(xp: Any, indices: Any, limit: int, ctx: Any) -> tuple[Any, Any]:
    """Return indices in range, and a mask of those that were not (None on the CPU, where that is an error)."""
    wrong = (indices < 0) | (indices >= limit)
    if ctx.device_type == "GPU":
        return xp.where(wrong, 0, indices), wrong
    if wrong.any():
        where = xp.unravel_index(int(xp.argmax(wrong)), indices.shape)
        at = ",".join(str(int(part)) for part in where)
        raise InvalidArgumentError.of(f"indices[{at}] = {int(indices[where])} is not in [0, {limit})")
    return indices, None


def _take(xp: ArrayModule, params: Array, indices: Array, axis: int, ctx: Array) -> Array:
    safe, wrong = _checked(xp, indices, params.shape[axis], ctx)
    if params.shape[axis] == 0:
        shape = (*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :])
        return xp.zeros(shape, params.dtype)
    result = xp.take(params, safe, axis=axis)
    if params.dtype == object:  # NumPy returns one string as a scalar
        result = xp.asarray(result, object)
    if wrong is not None:
        mask = wrong.reshape((1,) * axis + wrong.shape + (1,) * (params.ndim - axis - 1))
        result = xp.where(mask, params.dtype.type(0), result)
    return result


@compute("Gather", fresh=True)
def _gather(xp: ArrayModule, params: Array, indices: Array, *, ctx: Any) -> Array:
    if not params.ndim:
        raise InvalidArgumentError.of("params must be at least 1 dimensional")
    return _take(xp, params, indices, 0, ctx)


@compute("GatherV2", fresh=True)
def _gather_v2(
    xp: ArrayModule, params: Array, indices: Array, axis: Array, *, batch_dims: int, ctx: Any
) -> Array:
    if axis.ndim:
        raise InvalidArgumentError.of("axis must be scalar")
    at = int(axis)
    if not -params.ndim <= at < params.ndim:
        raise InvalidArgumentError.of(
            f"Expected axis in the range [{-params.ndim}, {params.ndim}), but got {at}"
        )
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    return gather_slices(xp, params, indices, at % params.ndim, batch, ctx)


def gather_slices(xp: ArrayModule, params: Array, indices: Array, at: int, batch: int, ctx: Array) -> Array:
    """Return slices along dimension ``at`` of arrays that share their first ``batch`` dimensions with ``indices``."""
    if not batch:
        return _take(xp, params, indices, at, ctx)
    shared = params.shape[:batch]
    if indices.shape[:batch] != shared:
        raise InvalidArgumentError.of(
            f"params.shape[:{batch}]: {list(shared)} should be equal to indices.shape[:{batch}]:"
            f" {list(indices.shape[:batch])}"
        )
    count = 1
    for length in shared:
        count *= length
    flat = params.reshape(count, *params.shape[batch:])
    flat_indices = indices.reshape(count, *indices.shape[batch:])
    parts = [_take(xp, flat[i], flat_indices[i], at - batch, ctx) for i in range(count)]
    if not parts:
        inner = (*params.shape[batch:at], *indices.shape[batch:], *params.shape[at + 1 :])
        return xp.zeros((*shared, *inner), params.dtype)
    return xp.stack(parts).reshape(*shared, *parts[0].shape)


@shape_function("Gather")
def _gather_shape(op: Operation) -> Any:
    params, indices = op.inputs[0].shape.sizes, op.inputs[1].shape.sizes
    if params is None or indices is None:
        return (UNKNOWN_SHAPE,)
    if not params:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    return (TensorShape.of((*indices, *params[1:])),)


@shape_function("GatherV2")
def _gather_v2_shape(op: Operation) -> Any:
    params, indices = op.inputs[0].shape.sizes, op.inputs[1].shape.sizes
    require_rank(op.inputs[2].shape, 0)
    axis, batch = constant_value(op.inputs[2]), op.attrs["batch_dims"]
    if params is None or indices is None:
        return (UNKNOWN_SHAPE,)
    batch += len(indices) if batch < 0 else 0
    if axis is None:
        rank = len(params) + len(indices) - 1 - batch
        return (TensorShape.of((None,) * rank),)
    require_axis(op.inputs[0].shape, int(axis))
    at = int(axis) % len(params)
    if batch > at:
        raise ValueError(f"batch_dims ({batch}) must be less than or equal to axis ({at})")
    return (TensorShape.of((*params[:at], *indices[batch:], *params[at + 1 :])),)


@gradient("Gather")
def _gather_grad(op: Operation, grad: Tensor) -> tuple[Any, None]:
    return _slices_grad(op, grad), None


@gradient("GatherV2")
def _gather_v2_grad(op: Operation, grad: Tensor) -> tuple[Any, None, None]:
    """Gradient of ``gather``: ``IndexedSlices`` for the first axis; other axes are moved to the front and summed."""
    indices, axis, shared = op.inputs[1], op.inputs[2], op.attrs["batch_dims"]
    if shared and indices.shape.ndims is None:
        raise TypeError(
            "The gradient of a gather with batch_dims needs the rank of indices, which is unknown."
            " Set it: indices.set_shape([None, None])"
        )
    shared = shared % indices.shape.ndims if shared < 0 else shared
    static = constant_value(axis)
    if static is not None and int(static) == 0:
        return _slices_grad(op, grad), None, None
    sizes, _ = _shape_and_count(op)
    outer, inner = sizes[:axis], sizes[axis:][1:]
    whole = concat([outer, [-1], inner], 0)
    rank, at = size_of(whole), size_of(outer)
    batch, between, behind = range_of(shared), range_of(shared, at), range_of(at + 1, rank)
    values = reshape(grad, whole)
    values = transpose(values, concat([batch, [at], between, behind], 0))
    summed = _summed_rows(
        sizes, values, indices, shared, sizes[axis], static is not None and int(static) == shared
    )
    back = concat([batch, between + 1, [shared], behind], 0)
    return transpose(summed, back), None, None


def _summed_rows(
    params_shape: Tensor, values: TensorLike, indices: Tensor, shared: int, size: Tensor, is_next: bool
) -> Tensor:
    """Sum rows by their indices, which follow the dimensions that values and indices share.

    Args:
        params_shape: sizes of the gathered tensor.
        values: the rows.
        indices: the row that each value comes from.
        shared: number of shared dimensions.
        size: number of rows after the shared dimensions.
        is_next: whether the rows' dimension directly follows the shared ones. If not, release 1.15 counts the rows of
            another dimension and returns a wrong gradient; this one is correct.
    """
    count = new("ExpandDims", input=size_of(indices), dim=0)
    if not shared:
        return unsorted_segment_sum(values, reshape(indices, count), size)
    sizes = shape_of(values)
    outer, inner = sizes[:shared], sizes[shared:][1:]
    batches = new("Prod", input=outer, reduction_indices=[0])
    flat = concat([[-1], inner], 0)
    given_size, size = size, size * batches
    positions = _with_batch_offsets(params_shape, indices, shared, None if is_next else given_size)
    values = reshape(values, flat)
    summed = unsorted_segment_sum(values, reshape(positions, count), size)
    return reshape(summed, concat([outer, flat], 0))


def _with_batch_offsets(params_shape: Tensor, indices: Tensor, shared: int, size: Tensor | None) -> Tensor:
    """Offset row indices by batch, as if all batches were concatenated.

    ``size`` is the number of rows of a batch if it differs from ``params_shape[shared]``.
    """
    kind, rank = indices.dtype.base_dtype, indices.shape.ndims or 0
    sizes = cast(params_shape, kind)
    rows = ones((), kind)
    for axis in range(shared, 0, -1):
        count = sizes[axis - 1]
        rows = rows * (cast(size, kind) if size is not None and axis == shared else sizes[axis])
        offsets = range_of(zeros((), kind), count, ones((), kind)) * rows
        column = stack([*[1] * (axis - 1), count, *[1] * (rank - axis)])
        indices = indices + reshape(offsets, column)
    return indices


def _shape_and_count(op: Operation) -> tuple[Any, Tensor]:
    """Return the sizes of the gathered tensor, and the number of indices as a vector."""
    params, indices = op.inputs[0], op.inputs[1]
    with params.graph.colocate_with(params.op):
        params_shape = new("Cast", x=shape_of(params, out_type=int64), DstT=int32)
    return params_shape, new("ExpandDims", input=size_of(indices), dim=0)


def _slices_grad(op: Operation, grad: Tensor) -> Any:
    params_shape, count = _shape_and_count(op)
    values = reshape(grad, concat([count, params_shape[1:]], 0))
    return IndexedSlices(values, reshape(op.inputs[1], count), params_shape)


def gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """Return the slices of ``params`` at the index vectors in the last dimension of ``indices``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]])).tolist()
    [2, 3]

    Args:
        params: a tensor of any type.
        indices: ``[..., depth]``, int32 or int64: an index for each of the first ``depth`` dimensions of ``params``.
        name: name of the op.
        batch_dims: the number of leading dimensions that ``params`` and ``indices`` share; indices count from the next
            one.

    Returns:
        ``params``' type, ``[*indices.shape[:-1], *params.shape[batch_dims + depth:]]``.

    Raises:
        TypeError: ``batch_dims`` is not a number, or is unknown while the graph is built.
        ValueError: ``batch_dims`` is negative or not below the rank of ``indices`` or ``params``, or ``depth`` is known
            to exceed the rank of ``params``.
        InvalidArgumentError: at run time on the CPU, an index is out of range; on a GPU the result there is 0.
    """
    static = constant_value(batch_dims) if isinstance(batch_dims, Tensor) else batch_dims
    try:
        count = int(static.item() if hasattr(static, "item") else static)
    except TypeError:
        raise TypeError(f"batch_dims must be an int; got {batch_dims!r}") from None
    if count:
        return batch_gather_nd(params, indices, count, name)
    if hasattr(params, "gather_nd"):
        result: Tensor = params.gather_nd(indices, name=name)
        return result
    return new("GatherNd", name, params=params, indices=indices)


def batch_gather_nd(
    params: TensorLike, indices: TensorLike, batch_dims: int, name: str | None = None
) -> Tensor:
    """``gather_nd`` with ``batch_dims`` above 0: prepend the batch position to the index vectors.

    Args:
        params: as for ``gather_nd``.
        indices: the index vectors.
        batch_dims: the number of leading dimensions that both share.
        name: name of the scope.

    Raises:
        TypeError: ``batch_dims`` is not a number.
        ValueError: ``batch_dims`` is negative, or not below the rank of ``indices`` or ``params``.
    """
    if not hasattr(batch_dims, "__index__"):
        raise TypeError(f"batch_dims must be an int; got {batch_dims!r}")
    with name_scope(name, "BatchGatherND", [params, indices]):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        if batch_dims < 0:
            raise ValueError("tf.gather_nd does not allow negative batch_dims.")
        for label, tensor in (("indices", indices), ("params", params)):
            if tensor.shape.ndims is not None and batch_dims >= tensor.shape.ndims:
                raise ValueError(
                    f"batch_dims = {batch_dims} must be less than rank({label}) = {tensor.shape.ndims}"
                )
        if not batch_dims:
            return new("GatherNd", params=params, indices=indices)
        sizes = shape_of(indices)
        batch = shape_of(params)[:batch_dims]
        count = new("Prod", input=batch, reduction_indices=[0])
        ranges = [
            new("Cast", x=new("Range", start=0, limit=size, delta=1), DstT=indices.dtype)
            for size in new_list("Unpack", value=batch, num=batch_dims)
        ]
        grid = transpose(new("Pack", values=[reshape(x, [-1]) for x in meshgrid(*ranges, indexing="ij")]))
        inner = new("Rank", input=indices) - batch_dims - 1
        ones = new("Fill", dims=new("ExpandDims", input=inner, dim=0), value=1)
        grid_sizes = shape_of(grid)
        grid = reshape(grid, new("ConcatV2", values=[grid_sizes[:1], ones, grid_sizes[1:]], axis=0))
        grid = tile(grid, new("ConcatV2", values=[[1], sizes[batch_dims:-1], [1]], axis=0))
        rows = new("ConcatV2", values=[new("ExpandDims", input=count, dim=0), sizes[batch_dims:]], axis=0)
        whole = new("ConcatV2", values=[grid, reshape(indices, rows)], axis=-1)
        result = new("GatherNd", params=params, indices=whole)
        final = new("ConcatV2", values=[batch, shape_of(result)[1:]], axis=0)
        return reshape(result, final)


def _depth(indices: Any, rank: int, label: str) -> int:
    if not indices.ndim:
        raise InvalidArgumentError.of("indices must be at least a vector")
    depth: int = indices.shape[-1]
    if depth > rank:
        raise InvalidArgumentError.of(
            f"index innermost dimension length must be <= {label} rank; saw: {depth} vs. {rank}"
        )
    return depth


def _columns(
    xp: ArrayModule, indices: Array, sizes: tuple[int, ...], ctx: Any, sentence: str
) -> tuple[Any, Any]:
    """Return an index array per dimension, and a mask of indices out of range (None on the CPU: an error there)."""
    depth = len(sizes)
    wrong = ((indices < 0) | (indices >= xp.asarray(sizes, indices.dtype).reshape(depth))).any(axis=-1)
    if ctx.device_type == "GPU":
        return tuple(xp.where(wrong, 0, indices[..., d]) for d in range(depth)), wrong
    if wrong.any():
        at = xp.unravel_index(int(xp.argmax(wrong)), wrong.shape)
        place = ",".join(str(int(part)) for part in at)
        bad = ", ".join(str(int(part)) for part in indices[at])
        raise InvalidArgumentError.of(sentence.format(place=place, bad=bad))
    return tuple(indices[..., d] for d in range(depth)), None


def gather_slices_nd(xp: ArrayModule, params: Array, indices: Array, ctx: Array) -> Array:
    """Return the slices of an array at index vectors."""
    depth = _depth(indices, params.ndim, "params")
    text = brackets(TensorShape(params.shape))
    sentence = "indices[{place}] = [{bad}] does not index into param shape " + text
    if params.size == 0 and indices.size and depth:
        raise InvalidArgumentError.of(
            "Requested more than 0 entries, but params is empty.  Params shape: " + text
        )
    columns, wrong = _columns(xp, indices, params.shape[:depth], ctx, sentence)
    if not depth:
        return xp.array(xp.broadcast_to(params, indices.shape[:-1] + params.shape))
    result = params[columns]
    if wrong is None:
        return result if params.dtype != object else xp.asarray(result, object)
    return xp.where(wrong.reshape(wrong.shape + (1,) * (params.ndim - depth)), params.dtype.type(0), result)


@compute("GatherNd", fresh=True)
def _gather_nd(xp: ArrayModule, params: Array, indices: Array, *, ctx: Any) -> Array:
    return gather_slices_nd(xp, params, indices, ctx)


@shape_function("GatherNd")
def _gather_nd_shape(op: Operation) -> Any:
    return (gather_nd_shape(op.inputs[0].shape, op.inputs[1].shape),)


def gather_nd_shape(params: TensorShape, indices: TensorShape) -> TensorShape:
    """Return the shape of slices of ``params`` at index vectors; raise ValueError if the vectors are too long."""
    sizes, places = params.sizes, require_rank_at_least(indices, 1).sizes
    if sizes is None or places is None or places[-1] is None:
        return UNKNOWN_SHAPE
    if places[-1] > len(sizes):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: {brackets(indices)} and params shape:"
            f" {brackets(params)}"
        )
    return TensorShape.of((*places[:-1], *sizes[places[-1] :]))


@gradient("GatherNd")
def _gather_nd_grad(op: Operation, grad: Tensor) -> tuple[Tensor | IndexedSlices, None]:
    params, indices = op.inputs
    params_shape = shape_of(params, out_type=indices.dtype.base_dtype)
    if indices.shape.ndims == 2 and indices.shape[-1].value == 1:  # rows
        return IndexedSlices(grad, new("Squeeze", input=indices, squeeze_dims=[-1]), params_shape), None
    return new("ScatterNd", indices=indices, updates=grad, shape=params_shape), None


def scatter_nd(indices: TensorLike, updates: TensorLike, shape: SizesLike, name: str | None = None) -> Tensor:
    """Return zeros of ``shape`` with ``updates`` added at the index vectors of ``indices``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.scatter_nd([[1], [3], [1]], [9, 8, 1], [5])).tolist()
    [0, 10, 0, 8, 0]

    Args:
        indices: ``[..., depth]``, int32 or int64: an index for each of the first ``depth`` dimensions.
        updates: ``[*indices.shape[:-1], *shape[depth:]]``, numbers.
        shape: sizes of the result, a vector of ``indices``' type.
        name: name of the op.

    Returns:
        A tensor of ``updates``' type, of shape ``shape``.

    Raises:
        TypeError: ``indices`` and ``shape`` differ in type.
        InvalidArgumentError: at run time, shapes do not match or, on the CPU, an index is out of range; a GPU ignores
            such updates.
    """
    return new("ScatterNd", name, indices=indices, updates=updates, shape=shape)


def scattered_nd(
    xp: ArrayModule, result: Array, indices: Array, updates: Array, ctx: Array, add: bool
) -> Array:
    """Apply updates to an array at index vectors, in place if there are any; return the result."""
    if not result.ndim:
        raise InvalidArgumentError.of("Output must be at least 1-D, got shape: []")
    if not result.size:
        if not indices.size and not updates.size:
            return result
        raise InvalidArgumentError.of(
            "Indices and updates specified for empty output.  indices shape:"
            f" {brackets(TensorShape(indices.shape))}"
        )
    if indices.ndim == 1 or (indices.ndim and not updates.ndim):
        raise InvalidArgumentError.of(
            "The outermost dimension of updates and indices must match. Got indices.shape "
            f"{brackets(TensorShape(indices.shape))}, updates.shape {brackets(TensorShape(updates.shape))}",
            hint="pass one index vector per update: shape [updates, depth]",
        )
    depth = _depth(indices, result.ndim, "output")
    text = brackets(TensorShape(result.shape))
    sentence = "indices[{place}] = [{bad}] does not index into shape " + text
    expected = indices.shape[:-1] + result.shape[depth:]
    if updates.shape != expected:
        raise InvalidArgumentError.of(
            f"Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got updates.shape:"
            f" {brackets(TensorShape(updates.shape))}, indices.shape: {brackets(TensorShape(indices.shape))},"
            f" params_shape: {text}"
        )
    columns, wrong = _columns(xp, indices, result.shape[:depth], ctx, sentence)
    if wrong is not None:
        in_range = ~wrong.reshape(-1)
        columns = tuple(column.reshape(-1)[in_range] for column in columns)
        updates = updates.reshape(-1, *result.shape[depth:])[in_range]
    if not depth:
        return (
            result + updates.reshape(-1, *result.shape).sum(axis=0)
            if add
            else updates.reshape(-1, *result.shape)[-1]
        )
    if add:
        apply_at(xp, "add", result, columns, updates)
    else:
        result[columns] = updates
    return result


@compute("ScatterNd")
def _scatter_nd(xp: ArrayModule, indices: Array, updates: Array, shape: Array, *, ctx: Any) -> Array:
    for name, array in (("Indices", indices), ("Updates", updates)):
        if not array.ndim:
            raise InvalidArgumentError.of(f"{name} shape must have rank at least one. Found:[]")
    if shape.ndim != 1:
        raise InvalidArgumentError.of("Shape must be a vector")
    result = xp.zeros(tuple(shape.tolist()), updates.dtype)
    if result.dtype == object:
        result[...] = b""
    if not len(shape):
        raise InvalidArgumentError.of("Indices and updates specified for empty output shape")
    return scattered_nd(xp, result, indices, updates, ctx, add=True)


@shape_function("ScatterNd")
def _scatter_nd_shape(op: Operation) -> Any:
    shape = constant_value_as_shape(op.inputs[2])
    require_updates_at(op.inputs[0].shape, op.inputs[1].shape, shape, "output")
    return (shape,)


@gradient("ScatterNd")
def _scatter_nd_grad(op: Operation, grad: Tensor) -> tuple[None, Tensor, None]:
    return None, gather_nd(grad, op.inputs[0]), None


def tensor_scatter_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy of ``tensor`` with ``updates`` assigned at the index vectors of ``indices``.

    Args:
        tensor: numbers, bools or strings of rank 1 or more (on a GPU float32 or float64).
        indices: ``[..., depth]``, int32 or int64: an index for each of the first ``depth`` dimensions.
        updates: ``[*indices.shape[:-1], *tensor.shape[depth:]]``, of ``tensor``'s type.
        name: name of the op.

    Returns:
        A tensor like ``tensor``.

    Raises:
        TypeError: the types differ.
        InvalidArgumentError: at run time, shapes do not match or, on the CPU, an index is out of range; a GPU ignores
            such updates.
    """
    return new("TensorScatterUpdate", name, tensor=tensor, indices=indices, updates=updates)


def tensor_scatter_add(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy of ``tensor`` with ``updates`` added at the index vectors of ``indices``.

    Args:
        tensor: numbers of rank 1 or more (on a GPU float32 or float64).
        indices: ``[..., depth]``, int32 or int64: an index for each of the first ``depth`` dimensions.
        updates: ``[*indices.shape[:-1], *tensor.shape[depth:]]``, of ``tensor``'s type.
        name: name of the op.

    Returns:
        A tensor like ``tensor``.

    Raises:
        TypeError: the types differ.
        InvalidArgumentError: at run time, shapes do not match or, on the CPU, an index is out of range; a GPU ignores
            such updates.
    """
    return new("TensorScatterAdd", name, tensor=tensor, indices=indices, updates=updates)


def tensor_scatter_sub(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Return a copy of ``tensor`` with ``updates`` subtracted at the index vectors of ``indices``.

    Args:
        tensor: numbers.
        indices: ``[..., depth]``, int32 or int64.
        updates: ``tensor``'s type, ``[*indices.shape[:-1], *tensor.shape[depth:]]``; repeated positions accumulate.
        name: name of the op.

    Returns:
        A tensor like ``tensor``.

    Raises:
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time on the CPU, an index is out of range.
    """
    return new("TensorScatterSub", name, tensor=tensor, indices=indices, updates=updates)


tensor_scatter_nd_add = tensor_scatter_add
tensor_scatter_nd_sub = tensor_scatter_sub
tensor_scatter_nd_update = tensor_scatter_update


@compute("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub")
def _tensor_scatter(xp: ArrayModule, tensor: Array, indices: Array, updates: Array, *, ctx: Any) -> Array:
    op_type = ctx.op.type
    values = -updates if op_type == "TensorScatterSub" else updates
    return scattered_nd(xp, xp.array(tensor), indices, values, ctx, add=op_type != "TensorScatterUpdate")


@compute("ScatterNdNonAliasingAdd")
def _scatter_nd_non_aliasing_add(
    xp: ArrayModule, input: Array, indices: Array, updates: Array, *, ctx: Any
) -> Array:
    if input.dtype == bool:
        raised = scattered_nd(xp, input.astype("int64"), indices, updates.astype("int64"), ctx, add=True)
        return raised != 0
    return scattered_nd(xp, xp.array(input), indices, updates, ctx, add=True)


@shape_function("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd")
def _tensor_scatter_shape(op: Operation) -> Any:
    name = "input" if op.type == "ScatterNdNonAliasingAdd" else "output"
    require_updates_at(op.inputs[1].shape, op.inputs[2].shape, op.inputs[0].shape, name)
    return (op.inputs[0].shape,)


@gradient("TensorScatterUpdate")
def _tensor_scatter_update_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, Tensor]:
    _, indices, updates = op.inputs
    gathered = gather_nd(grad, indices)
    return tensor_scatter_update(identity(grad), indices, zeros_like(updates)), None, gathered


@gradient("ScatterNdNonAliasingAdd")
def _scatter_nd_add_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, Tensor]:
    return grad, None, gather_nd(grad, op.inputs[1])


@gradient("TensorScatterAdd")
def _tensor_scatter_add_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, Tensor]:
    gathered = gather_nd(grad, op.inputs[1])
    return identity(grad), None, gathered


@gradient("TensorScatterSub")
def _tensor_scatter_sub_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, Tensor]:
    gathered = gather_nd(grad, op.inputs[1])
    return identity(grad), None, -gathered


# Masks and selection


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """Return the slices of ``tensor`` where ``mask`` is True.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.boolean_mask([1, 2, 3], [True, False, True])).tolist()
    [1, 3]

    Args:
        tensor: a tensor of any type.
        mask: bool, of static rank 1 or more, with the sizes of ``tensor``'s dimensions from ``axis`` on.
        name: name of the scope.
        axis: the first dimension of ``tensor`` that the mask covers. None: 0.

    Returns:
        A tensor of ``tensor``'s type; one dimension, with one entry per True element, replaces the mask's.

    Raises:
        ValueError: the mask is a scalar, has an unknown rank, or does not match the tensor.
    """
    with name_scope(name, "boolean_mask", [tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        at, rank = axis or 0, mask.shape.ndims
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if rank is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  E.g. shape=[None] is"
                " ok, but shape=None is not."
            )
        tensor.shape[at : at + rank].assert_is_compatible_with(mask.shape)
        leading = new("Prod", input=_slice_of_shape(tensor, slice(at, at + rank)), reduction_indices=[0])
        before = _slice_of_shape(tensor, slice(at))
        after = _slice_of_shape(tensor, slice(at + rank, None))
        flat_shape = new("ConcatV2", "concat", values=[before, [leading], after], axis=0)
        rows = new("Reshape", tensor=tensor, shape=flat_shape)
        first = tensor.shape[at : at + rank].num_elements()
        rows.set_shape(tensor.shape[:at].concatenate([first]).concatenate(tensor.shape[at + rank :]))
        flat = new("Reshape", tensor=mask, shape=[-1])
        chosen = new("Squeeze", input=new("Where", input=flat), squeeze_dims=[1])
        return new("GatherV2", params=rows, indices=chosen, axis=at)


def _slice_of_shape(tensor: Tensor, part: slice) -> Tensor:
    sizes: Any = shape_of(tensor)
    return sizes[part]


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the coordinates of True elements, or ``x`` where ``condition`` is True and ``y`` elsewhere.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.where([True, False], [1, 2], [3, 4])).tolist()
    [1, 4]
    >>> tf.Session().run(tf.where([False, True, True])).tolist()
    [[1], [2]]

    Args:
        condition: bool, in ``x``'s shape; or a scalar, or a vector that selects rows of ``x``.
        x: a tensor of any type. None, together with ``y``: return coordinates.
        y: of the same type and shape.
        name: name of the op.

    Returns:
        ``x``'s type and shape; or int64 ``[count, rank]``, in row-major order.

    Raises:
        ValueError: only one of ``x`` and ``y`` is given, or static shapes do not match.
        TypeError: ``condition`` is not bool, or the types differ.
    """
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            return new("Where", scope, input=convert_to_tensor(condition, "bool", name="condition"))
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return new("Select", name, condition=condition, t=x, e=y)


def where_v2(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """``where`` with NumPy broadcasting of ``condition``, ``x`` and ``y`` (op ``SelectV2``).

    Args:
        condition: bool, of any shape.
        x: a tensor of any type. None, together with ``y``: return coordinates.
        y: of the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        ``x``'s type, in the broadcast shape; or int64 ``[count, rank]``, in row-major order.

    Raises:
        ValueError: only one of ``x`` and ``y`` is given, or static shapes do not match.
        TypeError: ``condition`` is not bool, or the types differ.
    """
    if x is None and y is None:
        return where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return new("SelectV2", name, condition=condition, t=x, e=y)


@compute("Select", elementwise=True)
def _select(xp: ArrayModule, condition: Array, t: Array, e: Array) -> Array:
    if t.shape != e.shape:
        raise InvalidArgumentError.of(
            f"'then' and 'else' must have the same size.  but received:"
            f" {brackets(TensorShape(t.shape))} vs. {brackets(TensorShape(e.shape))}"
        )
    if condition.shape != t.shape:
        rows = condition.ndim == 1 and t.ndim >= 1 and t.shape[0] == condition.shape[0]
        if condition.ndim and not rows:
            raise InvalidArgumentError.of(
                f"Inputs to operation Select of type Select must have the same size and shape.  Input 0:"
                f" {brackets(TensorShape(condition.shape))} != input 1: {brackets(TensorShape(t.shape))}"
            )
        condition = condition.reshape(condition.shape + (1,) * (t.ndim - condition.ndim))
    return chosen(xp, condition, t, e)


@compute("SelectV2", elementwise=True)
def _select_v2(xp: ArrayModule, condition: Array, t: Array, e: Array) -> Array:
    return chosen(xp, condition, t, e)


@shape_function("Select")
def _select_shape(op: Operation) -> Any:
    try:
        data = merge_shapes(op.inputs[1].shape, op.inputs[2].shape)
    except ValueError as error:
        raise ValueError(f"{error}\n\tFrom merging shape 1 with other shapes.") from None
    sizes = op.inputs[0].shape.sizes
    if sizes is not None and data.sizes is not None and sizes:
        if len(sizes) == 1 and data.sizes:
            merge_shapes(op.inputs[0].shape, TensorShape.of(data.sizes[:1]))
        else:
            data = merge_shapes(data, op.inputs[0].shape)
    return (data,)


@shape_function("SelectV2")
def _select_v2_shape(op: Operation) -> Any:
    return (broadcast(op.inputs[0].shape, broadcast(op.inputs[1].shape, op.inputs[2].shape)),)


@gradient("Select")
def _select_grad(op: Operation, grad: Tensor) -> tuple[None, Tensor, Tensor]:
    condition, x = op.inputs[0], op.inputs[1]
    zeros = zeros_like(x)
    return None, where(condition, grad, zeros), where(condition, zeros, grad)


@gradient("SelectV2")
def _select_v2_grad(op: Operation, grad: Tensor) -> tuple[None, Tensor, Tensor]:
    condition, x, y = op.inputs
    zero = zeros([], grad.dtype)
    whole: Tensor | None = None
    results = []
    for source, shares in ((x, (grad, zero)), (y, (zero, grad))):
        share = where_v2(condition, *shares)
        source_shape = shape_tensor(source)
        whole = shape_tensor(op.outputs[0]) if whole is None else whole
        axes = apply_op("BroadcastGradientArgs", s0=source_shape, s1=whole).outputs[0]
        share = new("Sum", input=share, reduction_indices=axes, keep_dims=True)
        results.append(new("Reshape", tensor=share, shape=source_shape))
    return None, results[0], results[1]


@compute("Where")
def _where(xp: ArrayModule, input: Array) -> Array:
    if not input.ndim:
        return xp.zeros((int(bool(input)), 0), xp.int64)
    return xp.stack(xp.nonzero(input), axis=1).astype(xp.int64)


@shape_function("Where")
def _where_shape(op: Operation) -> Any:
    return (TensorShape.of((None, op.inputs[0].shape.ndims)),)


not_differentiable("Where")
