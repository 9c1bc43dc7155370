"""How many values are zero.

Source: tensorflow/python/ops/nn_impl.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.dtypes import float32, int32, int64
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.array.reshaping import identity, size
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import not_equal
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.typing import DTypeLike, TensorLike

__all__ = ["zero_fraction"]


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Returns which part of the values is zero.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.nn.zero_fraction([0.0, 1.0, 2.0, 0.0])))
    0.5

    Args:
        value: numbers of any type and shape.
        name: name of the scope.

    Returns:
        A float32 scalar from 0 to 1; NaN where there are no values.
    """
    with name_scope(name, "zero_fraction", [value]):
        tensor = convert_to_tensor(value, name="value")
        count = size(tensor, out_type=int64)

        def non_zero(dtype: DTypeLike) -> Tensor:
            with name_scope("count_nonzero", values=[tensor]):
                zero = zeros([], dtype=tensor.dtype)
                return reduce_sum(cast(not_equal(tensor, zero), dtype), name="nonzero_count")

        found = cond(count <= int32.max, lambda: cast(non_zero(int32), int64), lambda: non_zero(int64))
        with name_scope("counts_to_fraction"):
            part = cast(count - found, float32) / cast(count, float32)
        return identity(part, "fraction")
