"""The rest of ``tf.nn``: biases, dropout, L2 loss, embeddings, top k.

Source: tensorflow/core/kernels/bias_op.cc, l2loss_op.h, topk_op.cc, in_topk_op.h and tensorflow/python/ops/nn_ops.py,
nn_impl.py, embedding_ops.py, nn_grad.py, release 1.15.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.arguments import int_of
from gpuplace.numerics.channels import channel_sums, is_one_line
from gpuplace.numerics.order import ordered_keys, positions
from gpuplace.numerics.pieces import by_element, is_whole, over
from gpuplace.ops.array import constant, gather, joining, padding, rearranging, reshaping
from gpuplace.ops.distribute.variables import DistributedVariable
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math import cast, elementwise, matrix, reduction
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.random import random_ops
from gpuplace.ops.shape_rules import merge_sizes, require_rank, require_rank_at_least, size_from
from gpuplace.ops.support import new, scalar_shape
from gpuplace.ops.variables.partitioned import PartitionedVariable
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, as_shape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "TopKV2",
    "bias_add",
    "dropout",
    "embedding_lookup",
    "in_top_k",
    "l2_loss",
    "relu_layer",
    "top_k",
    "xw_plus_b",
]


# BiasAdd


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add a vector along the channels.

    Args:
        value: numbers of any type, of at least two axes: ``[batch, ..., channels]``, or ``[batch, channels, ...]`` for
            ``NCHW``.
        bias: ``[channels]``, of the dtype of ``value``.
        data_format: ``"NHWC"`` or ``"NCHW"``, or a form of another length, such as ``"NC"`` or ``"NDHWC"``; None:
            ``"NHWC"``.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``value``.

    Raises:
        TypeError: ``value`` is not a tensor of numbers.
        ValueError: the data format is unknown, ``bias`` has another dtype, there are fewer than two axes, or the
            lengths differ.
    """
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            if data_format.startswith("NC"):
                data_format = "NCHW"
            elif data_format.startswith("N") and data_format.endswith("C"):
                data_format = "NHWC"
            else:
                raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype.base_dtype, name="bias")
        return new("BiasAdd", scope, value=value, bias=bias, data_format=data_format)


def _channel_axis(data_format: bytes, rank: int) -> int:
    return 1 if data_format == b"NCHW" else rank - 1


@shape_function("BiasAdd")
def _bias_add_shape(op: Operation) -> list[TensorShape]:
    value = require_rank_at_least(op.inputs[0].shape, 2)
    bias = require_rank(op.inputs[1].shape, 1)
    if value.sizes is None:
        return [value]
    assert bias.sizes is not None
    axis = _channel_axis(op.attrs["data_format"], len(value.sizes))
    size = merge_sizes(value.sizes[axis], bias.sizes[0])
    return [TensorShape.of((*value.sizes[:axis], size, *value.sizes[axis + 1 :]))]


@binder("BiasAdd", elementwise=True)
def _bias_add(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, data_format: bytes, out: Array | None = None
) -> Callable[..., Any]:
    if data_format == b"NCHW":
        return lambda value, bias, out=None: xp.add(
            value, bias.reshape(-1, *(1,) * (value.ndim - 2)), out=out
        )
    add: Callable[..., Any] = xp.add
    return add if is_whole(op.outputs[0]) else functools.partial(by_element, xp, add)


@gradient("BiasAdd")
def _bias_add_gradient(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    return grad, new("BiasAddGrad", out_backprop=grad, data_format=op.attrs["data_format"])


@shape_function("BiasAddGrad")
def _bias_add_grad_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    if sizes is None:
        return [TensorShape.of((None,))]
    return [TensorShape.of((sizes[_channel_axis(op.attrs["data_format"], len(sizes))],))]


@binder("BiasAddGrad", fresh=True)
def _bias_add_grad(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, data_format: bytes
) -> Callable[[Any], Any]:
    if data_format == b"NCHW":
        return lambda grad: grad.sum(
            axis=tuple(axis for axis in range(grad.ndim) if axis != 1), dtype=grad.dtype
        )
    sizes = op.inputs[0].shape.sizes
    if xp is np and sizes is not None and len(sizes) == 2 and is_one_line(*sizes):
        return lambda grad: np.add.reduce(grad, 0, grad.dtype)
    return functools.partial(channel_sums, xp)


@gradient("BiasAddGrad")
def _bias_add_grad_gradient(op: Operation, grad: Tensor) -> Tensor:
    shape: Any = reshaping.shape(op.inputs[0])
    bias_shape = reshaping.shape(grad)
    if op.attrs["data_format"] == b"NCHW":
        expanded = joining.concat(
            [constant.ones_like(shape[:1]), bias_shape, constant.ones_like(shape[2:])], 0
        )
        multiples = joining.concat([shape[:1], [1], shape[2:]], 0)
    else:
        expanded = joining.concat([constant.ones_like(shape[:-1]), bias_shape], 0)
        multiples = joining.concat([shape[:-1], [1]], 0)
    return padding.tile(reshaping.reshape(grad, expanded), multiples)


# L2Loss


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Return half the sum of squares.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.nn.l2_loss([3.0, 4.0])))
    12.5

    Args:
        t: float16, bfloat16, float32 or float64, of any shape.
        name: name of the operation.

    Returns:
        A scalar of the dtype of ``t``.

    Raises:
        TypeError: ``t`` has an unsupported dtype.
    """
    return new("L2Loss", name, t=t)


shape_function("L2Loss")(scalar_shape)


@compute("L2Loss", fresh=True)
def _l2_loss(xp: ArrayModule, t: Array) -> Array:
    return xp.sum(t * t, dtype=t.dtype) * t.dtype.type(0.5)


@gradient("L2Loss")
def _l2_loss_gradient(op: Operation, grad: Tensor) -> Tensor:
    return op.inputs[0] * grad


# TopKV2, InTopK

_LARGE = 256
"""Number of elements below which they are fully sorted."""


class TopKV2(NamedTuple):
    """Result of ``top_k``."""

    values: Tensor
    """The k largest elements of each row, in descending order."""
    indices: Tensor
    """Their indices in the row."""


def top_k(input: TensorLike, k: TensorLike = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """Return the ``k`` largest elements along the last axis and their indices; of equal elements, the first.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.nn.top_k([1, 5, 3], k=2).indices)
    array([1, 2], dtype=int32)

    Args:
        input: real numbers (any integer or floating type), of at least one axis.
        k: the number of elements, an int32 scalar of at most the size of the last axis.
        sorted: stored in the graph; the elements are always sorted in descending order.
        name: name of the operation.

    Returns:
        Two tensors of the shape of ``input`` with ``k`` elements along the last axis: ``values``, of its dtype, and
        ``indices``, of int32.

    Raises:
        TypeError: ``input`` or ``k`` has another dtype.
        ValueError: ``input`` is a scalar, or ``k`` is static and larger than the last axis.
        InvalidArgumentError: at run time, ``k`` is larger than the last axis.
    """
    return TopKV2(*apply_op("TopKV2", name, input=input, k=k, sorted=sorted).outputs)


@shape_function("TopKV2")
def _top_k_shape(op: Operation) -> list[TensorShape]:
    shape = require_rank_at_least(op.inputs[0].shape, 1)
    k = size_from(op, 1)
    if shape.sizes is None:
        return [UNKNOWN_SHAPE] * 2
    last = shape.sizes[-1]
    if k is not None and last is not None and last < k:
        raise ValueError(f"input must have last dimension >= k = {k} but is {last}")
    return [TensorShape.of((*shape.sizes[:-1], k))] * 2


@compute("TopKV2", fresh=True, slow=True)
def _top_k(xp: ArrayModule, x: Array, k: Array) -> tuple[Any, Any]:
    count = int_of(k, "k must be scalar, got shape")
    if count < 0:
        raise InvalidArgumentError.of(f"Need k >= 0, got {count}")
    if count > x.shape[-1]:
        raise InvalidArgumentError.of(
            f"input must have at least k columns. Had {x.shape[-1]}, needed {count}"
        )
    keys = ordered_keys(x, descending=True) if x.size >= _LARGE else None
    if keys is not None:
        rows = keys.reshape(-1, x.shape[-1])
        order = xp.empty((len(rows), count), "int32")

        def piece(part: slice) -> None:
            some = rows[part]
            if count < some.shape[1]:
                some = xp.partition(some, count, axis=1)[:, :count]
            order[part] = positions(xp.sort(some, axis=1))

        over(xp, len(rows), 4 * rows[0].nbytes, piece)
        order = order.reshape(*x.shape[:-1], count)
        return xp.take_along_axis(x, order, axis=-1), order
    backwards = x[..., ::-1]
    order = (x.shape[-1] - 1 - xp.argsort(backwards, axis=-1, kind="stable"))[..., ::-1][..., :count]
    return xp.take_along_axis(x, order, axis=-1), order.astype("int32")


@gradient("TopKV2")
def _top_k_gradient(op: Operation, grad: Tensor, _: object) -> list[Any]:
    shape, indices_shape = reshaping.shape(op.inputs[0]), reshaping.shape(op.outputs[1])
    rows = reshaping.reshape(op.outputs[1], joining.stack([-1, _last(indices_shape)]))
    taken_sizes = op.outputs[1].shape
    if taken_sizes.is_fully_defined() and taken_sizes.ndims:
        rows.set_shape([taken_sizes[:-1].num_elements(), taken_sizes[-1]])
    size: Any = _last(shape)
    count: Any = reshaping.shape(rows)
    first = constant.range(0, cast.cast(count[0], "int64") * size, size)
    starts = cast.cast(reshaping.expand_dims(first, -1), "int32")
    positions = reshaping.reshape(rows + starts, [-1])
    places, values = reshaping.expand_dims(positions, -1), reshaping.reshape(grad, [-1])
    scattered = gather.scatter_nd(places, values, [reduction.reduce_prod(shape)])
    return [reshaping.reshape(scattered, shape), constant.zeros([], "int32")]


def _last(shape: Tensor) -> Tensor:
    """Return the last element of a shape tensor, as int64."""
    wide = cast.cast(shape, "int64")
    return gather.gather(wide, reshaping.size(shape) - 1)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None) -> Tensor:
    """Return whether the class ``targets[i]`` is among the ``k`` largest predictions ``predictions[i]``.

    Tied classes are all in or all out. A class that does not exist, or whose prediction is not finite, is never
    in the top k.

    Args:
        predictions: ``[batch, classes]``, float32.
        targets: ``[batch]``, class indices, int32 or int64.
        k: the number of predictions, a scalar of the dtype of ``targets``.
        name: name scope; the operation in it is named after its type.

    Returns:
        A bool tensor, ``[batch]``.

    Raises:
        TypeError: a dtype is not supported, or ``k`` and ``targets`` have different dtypes.
        ValueError: the shapes do not match.
    """
    with name_scope(name, "in_top_k"):
        return new("InTopKV2", name, predictions=predictions, targets=targets, k=k)


@shape_function("InTopK", "InTopKV2")
def _in_top_k_shape(op: Operation) -> list[TensorShape]:
    predictions, targets = require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 1)
    assert predictions.sizes is not None and targets.sizes is not None
    return [TensorShape.of((merge_sizes(predictions.sizes[0], targets.sizes[0]),))]


def _in_top(xp: ArrayModule, predictions: Array, targets: Array, k: int) -> Array:
    valid = (targets >= 0) & (targets < predictions.shape[1])
    rows = xp.arange(len(targets))
    of_target = predictions[rows, xp.where(valid, targets, 0)]
    better = (predictions > of_target[:, None]).view("uint8").sum(axis=1, dtype="int32")
    return valid & xp.isfinite(predictions).all(axis=1) & (better < k)


@compute("InTopK")
def _in_top_k(xp: ArrayModule, predictions: Array, targets: Array, *, k: int) -> Array:
    return _in_top(xp, predictions, targets, k)


@compute("InTopKV2")
def _in_top_k_v2(xp: ArrayModule, predictions: Array, targets: Array, k: Array) -> Array:
    return _in_top(xp, predictions, targets, int(k))


not_differentiable("InTopK", "InTopKV2")


# Dropout


def dropout(
    x: TensorLike,
    keep_prob: Any = None,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Set elements to zero at random, and scale the others to preserve the expected sum.

    Args:
        x: float16, bfloat16, float32 or float64, of any shape.
        keep_prob: deprecated: one minus ``rate``; used if ``rate`` is None.
        noise_shape: shape of the random mask, which broadcasts to that of ``x``; None: the shape of ``x``. ``[batch, 1,
            1, channels]`` drops whole channels of images.
        seed: seed of the random op, an integer; None: see ``set_random_seed``.
        name: name scope.
        rate: the fraction of elements set to zero, from 0 to below 1: a number or a scalar tensor. 0 returns ``x``
            itself.

    Returns:
        A tensor with the dtype and shape of ``x``.

    Raises:
        ValueError: the rate is missing, out of range or not a scalar, or ``x`` is not floating-point.
    """
    try:
        rate = 1.0 - keep_prob if keep_prob is not None and rate is None else rate
    except TypeError:
        raise ValueError(f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})") from None
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. "
                f"Got a {x.dtype} tensor instead."
            )
        if isinstance(rate, numbers.Real):
            if not 0 <= float(rate) < 1:
                raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}")
            if rate == 0:
                return x
        rate = convert_to_tensor(rate, dtype=x.dtype.base_dtype, name="rate")
        rate.shape.with_rank(0)
        value = constant_value(rate)
        if value is not None and value == 0:
            return x
        noise = random_ops.random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype.base_dtype)
        scale = 1 / (1 - rate)
        keep_mask = noise >= rate
        result: Tensor = x * scale * cast.cast(keep_mask, x.dtype.base_dtype)
        result.set_shape(x.shape)
        return result


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        return reshaping.shape(x)
    try:
        sizes = as_shape(noise_shape).sizes
    except (TypeError, ValueError):
        return noise_shape
    static_sizes = x.shape.sizes
    if sizes is None or static_sizes is None or len(sizes) != len(static_sizes):
        return noise_shape
    return [static if size is None else size for size, static in zip(sizes, static_sizes, strict=True)]


# Layers


def xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """Return ``matmul(x, weights) + biases``.

    Args:
        x: ``[batch, in_units]``, of float16, bfloat16, float32, float64, int32, int64, complex64 or complex128.
        weights: ``[in_units, out_units]``, of the same dtype.
        biases: ``[out_units]``, of the same dtype.
        name: name of the operation that adds ``biases``.

    Returns:
        A tensor of the dtype of ``x``, ``[batch, out_units]``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match.
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return bias_add(matrix.matmul(x, weights), biases, name=scope)


def relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Tensor:
    """Return ``relu(matmul(x, weights) + biases)``.

    Args:
        x: ``[batch, in_units]``, of float16, bfloat16, float32, float64, int32 or int64.
        weights: ``[in_units, out_units]``, of the same dtype.
        biases: ``[out_units]``, of the same dtype.
        name: name of the relu.

    Returns:
        A tensor of the dtype of ``x``, ``[batch, out_units]``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match.
    """
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return relu(bias_add(matrix.matmul(x, weights), biases), name=scope)


def embedding_lookup(
    params: Any,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Return the rows ``ids`` of ``params``, gathered on the device of ``params``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.nn.embedding_lookup(tf.constant([[1, 2], [3, 4], [5, 6]]), [2, 0]))
    array([[5, 6],
           [1, 2]], dtype=int32)

    Args:
        params: a table ``[rows, ...]`` of any dtype, or the rows spread over a list of tables or a partitioned
            variable. Of a resource variable, only these rows are read.
        ids: row indices, int32 or int64, of any shape.
        partition_strategy: distribution of rows over several tables: ``"mod"`` round-robin, ``"div"`` in blocks.
        name: name of the operation.
        validate_indices: ignored, as in TensorFlow.
        max_norm: the maximum Euclidean norm of a row; longer rows are scaled down. None: no maximum.

    Returns:
        A tensor of the dtype of ``params`` and the shape ``ids.shape + params.shape[1:]``.

    Raises:
        TypeError: ``ids`` has an unsupported dtype.
        ValueError: there is no table, the rows of two tables differ in shape, or the strategy is unknown.
        InvalidArgumentError: at run time, a row index is out of range.
    """
    tables = list(params) if isinstance(params, (list, tuple, PartitionedVariable)) else [params]
    if not tables:
        raise ValueError("Need at least one param")
    with name_scope(name, "embedding_lookup", [*tables, ids]) as scope:
        tables = [table if _is_single(table) else convert_to_tensor(table, name="params") for table in tables]
        ids = convert_to_tensor(ids, name="ids")
        if len(tables) == 1:
            return reshaping.identity(_rows_of(tables[0], ids, scope, max_norm))
        flat = reshaping.reshape(ids, [-1])
        order = constant.range(reshaping.size(flat))
        part, row = _spread(tables, flat, partition_strategy)
        part = cast.cast(part, "int32")
        ids_of = rearranging.dynamic_partition(row, part, len(tables))
        places = rearranging.dynamic_partition(order, part, len(tables))
        gathered = [_rows_of(table, at, None, None) for table, at in zip(tables, ids_of, strict=True)]
        arguments: dict[str, Any] = {"indices": places, "data": gathered}
        rows = new("ParallelDynamicStitch", scope, **arguments)
        inner = tables[0].get_shape()[1:]
        for table in tables[1:]:
            inner = inner.merge_with(table.get_shape()[1:])
        sizes: Any = reshaping.shape(tables[0])[1:] if not inner.is_fully_defined() else inner.as_list()
        rows = reshaping.reshape(rows, joining.concat([reshaping.shape(ids), sizes], 0))
        rows.set_shape(ids.shape.concatenate(inner))
        return _clipped(rows, ids, max_norm)


def _is_single(table: Any) -> bool:
    """Return whether rows are read individually; of a variable with copies, TensorFlow reads all."""
    return isinstance(table, ResourceVariable) and not isinstance(table, DistributedVariable)


def _rows_of(table: Any, ids: Tensor, name: str | None, max_norm: float | None) -> Tensor:
    with get_default_graph().colocate_with(table.op):
        if _is_single(table):
            rows = table.sparse_read(ids, name=name)
        else:
            rows = gather.gather(table, ids, name=name)
        return _clipped(rows, ids, max_norm)


def _clipped(rows: Tensor, ids: Tensor, max_norm: float | None) -> Tensor:
    """Return the rows looked up for ``ids``, scaled to a norm of at most ``max_norm``."""
    if max_norm is None:
        return rows
    first, last = ids.shape.ndims, rows.shape.ndims
    if first and last:
        return reduction.clip_by_norm(rows, max_norm, axes=list(range(first, last)))
    axes = constant.range(first or reshaping.rank(ids), last or reshaping.rank(rows))
    return reduction.clip_by_norm(rows, max_norm, axes=axes)


def _total_rows(tables: list[Any], dtype: DType) -> Tensor:
    """Return the total number of rows in several tables."""
    counts = [table.get_shape()[0].value for table in tables]
    if None not in counts:
        return constant.constant(sum(counts), dtype)
    sizes = []
    for table, size in zip(tables, counts, strict=True):
        if size is None:
            with get_default_graph().colocate_with(table.op):
                size = reshaping.shape(table)[0]
        sizes.append(size)
    return reduction.reduce_sum(cast.cast(joining.stack(sizes), dtype))


def _spread(tables: list[Any], ids: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """Return the table of each row, and its index there."""
    count = len(tables)
    if strategy == "mod":
        return ids % count, ids // count
    if strategy != "div":
        raise ValueError("Unrecognized partition strategy: " + strategy)
    total = _total_rows(tables, ids.dtype)
    each, extras = total // count, total % count
    part = elementwise.maximum(ids // (each + 1), (ids - extras) // each)
    row = new("Select", condition=part < extras, t=ids % (each + 1), e=(ids - extras) % each)
    return part, row
