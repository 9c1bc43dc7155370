"""Repeat elements or slices individually.

Source: tensorflow/python/ops/array_ops.py (repeat), release 1.15 (arguments, results).
"""

from __future__ import annotations

from gpuplace.dtypes import int32
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.gather import boolean_mask, gather
from gpuplace.ops.array.padding import broadcast_to, tile
from gpuplace.ops.array.reshaping import expand_dims, reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.sequence import sequence_mask
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_max
from gpuplace.ops.shape_rules import require_rank_at_most
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike

__all__ = ["repeat"]


def repeat(
    input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Repeat elements, or slices, each a given number of times.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.repeat([[1, 2], [3, 4]], [2, 1], axis=0)).tolist()
    [[1, 2], [1, 2], [3, 4]]

    Args:
        input: a tensor of any type and shape.
        repeats: number of repetitions: one integer for all, or one for each slice.
        axis: the dimension to repeat along; None: flatten first.
        name: name of the scope.

    Returns:
        A tensor of ``input``'s type and shape, except for the size of that dimension.

    Raises:
        ValueError: ``repeats`` is known to have more than one dimension.
    """
    with name_scope(name, "Repeat", [input, repeats]):
        data = convert_to_tensor(input, name="input")
        counts = cast(convert_to_tensor(repeats, name="repeats"), int32)
        require_rank_at_most(counts.shape, 1)
        if axis is None or data.shape.ndims == 0:
            data, axis = reshape(data, [-1]), 0
        rank = data.shape.ndims
        if rank is not None and not -rank <= axis < rank:
            raise ValueError(f"Dimension is {axis} but rank is {rank}: `axis` must be in [{-rank}, {rank})")
        static_length = None if data.shape.sizes is None else data.shape.sizes[axis]
        length = shape_of(data)[axis] if static_length is None else static_length
        if counts.shape.num_elements() == 1:
            times = constant_value(counts)
            often = reshape(counts, []) if times is None else int(times.reshape(()))
            index = new("Range", start=0, limit=length * often, delta=1)
            index = new("FloorDiv", x=index, y=often)
        else:
            each = broadcast_to(counts, [length])
            longest = new("Maximum", x=reduce_max(each), y=0)
            rows = tile(expand_dims(new("Range", start=0, limit=length, delta=1), 1), [1, longest])
            index = boolean_mask(rows, sequence_mask(each, longest))
        return gather(data, index, axis=axis)
