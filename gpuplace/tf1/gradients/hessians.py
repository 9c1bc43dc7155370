"""``tf.hessians``: second derivatives, computed row by row.

Source: tensorflow/python/ops/gradients_impl.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.while_loops import while_loop
from gpuplace.ops.gradients.gradients import gradients
from gpuplace.ops.support import new

__all__ = ["hessians"]


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Tensor]:
    """Return the Hessian of the sum of ``ys`` with respect to each of ``xs`` separately.

    >>> import gpuplace as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(tf.hessians(tf.reduce_sum(x * x * x), x))[0].tolist()
    [[6.0, 0.0], [0.0, 12.0]]

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or variable, or a list of them.
        name: ignored; kept for compatibility.
        colocate_gradients_with_ops: place each gradient operation with the operation it belongs to.
        gate_gradients: whether the gradients of one operation wait for each other.
        aggregation_method: see ``AggregationMethod``. None: its default.

    Returns:
        One tensor for each ``x``, of its dtype and the shape ``x.shape + x.shape``.

    Raises:
        LookupError: an operation between ``ys`` and ``xs`` has no gradient.
    """
    options = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    many = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    return [
        _hessian(slope, x, options) for slope, x in zip(gradients(ys, many, **options), many, strict=True)
    ]


def hessian_vector_product(ys: Any, xs: Any, v: Any) -> list[Tensor | None]:
    """Return the Hessian of the sum of ``ys`` times a vector, without computing the Hessian.

    >>> import gpuplace as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> tf.Session().run(hessian_vector_product(tf.reduce_sum(x * x * x), [x], [[1.0, 10.0]]))[0].tolist()
    [6.0, 120.0]

    Args:
        ys: a tensor, or a list of them.
        xs: a list of tensors or variables.
        v: a list of tensors of the same shapes.

    Returns:
        One tensor for each ``x``, of its shape; None for an ``x`` that ``ys`` does not depend on.

    Raises:
        ValueError: ``xs`` and ``v`` have different lengths.
        LookupError: an operation between ``ys`` and ``xs`` has no gradient.
    """
    if len(xs) != len(v):
        raise ValueError("xs and v must have the same length.")
    products = [
        new("Mul", x=slope, y=new("StopGradient", input=vector))
        for slope, vector in zip(gradients(ys, xs), v, strict=True)
        if slope is not None
    ]
    return gradients(products, xs)


def _hessian(slope: Any, x: Any, options: dict[str, Any]) -> Tensor:
    flat = reshaping.reshape(slope, [-1])
    count = reshaping.size(x)

    def row(index: Tensor, rows: TensorArray) -> Any:
        return index + 1, rows.write(index, gradients(flat[index], x, **options)[0])

    start = [constant.constant(0, "int32"), TensorArray(x.dtype.base_dtype, count)]
    _, rows = while_loop(lambda index, _: index < count, row, start)
    shape = reshaping.shape(x)
    return reshaping.reshape(rows.stack(), joining.concat((shape, shape), 0))
