"""``nextafter``, bit counts and ``Bucketize``.

Source: tensorflow/core/kernels/cwise_ops.h (``next_after_op``), population_count_op.cc, bucketize_op.cc and
tensorflow/python/ops/math_grad.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import ones, zeros
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.support import after, broadcast_of, new, sum_to
from gpuplace.typing import Array, ArrayModule, TensorLike


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Return the next representable number after ``x1`` towards ``x2``.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.math.nextafter(tf.constant(1.0, tf.float64), 2.0)) - 1)
    2.220446049250313e-16

    Args:
        x1: float32 or float64.
        x2: of the same dtype; both are broadcast.
        name: name of the op.

    Returns:
        A tensor of that dtype.
    """
    return new("NextAfter", name, x1=x1, x2=x2)


@compute("NextAfter", fresh=True)
def _next_after(xp: ArrayModule, x1: Array, x2: Array) -> Array:
    try:
        return xp.nextafter(x1, x2)
    except ValueError:
        shapes = "[{}] vs. [{}]".format(*(",".join(map(str, array.shape)) for array in (x1, x2)))
        raise InvalidArgumentError.of(f"Incompatible shapes: {shapes}") from None


@gradient("NextAfter")
def _next_after_grad(op: Operation, grad: Tensor) -> Any:
    """Pass the whole gradient to the first input."""
    backs = broadcast_of(*op.inputs)
    with after(grad):
        slopes = ones(backs[0][1], grad.dtype), zeros(backs[1][1], grad.dtype)
        of_first = sum_to(slopes[0] * grad, *backs[0])
        return of_first, sum_to(slopes[1] * grad, *backs[1])


@compute("PopulationCount", fresh=True)
def _population_count(xp: ArrayModule, x: Array) -> Array:
    bits = x.view(f"uint{8 * x.dtype.itemsize}").astype("uint64")
    result = xp.zeros(x.shape, "uint8")
    for shift in range(8 * x.dtype.itemsize):
        result += (bits >> xp.asarray(shift, "uint64") & xp.asarray(1, "uint64")).astype("uint8")
    return result


@compute("Bucketize", fresh=True)
def _bucketize(xp: ArrayModule, input: Array, *, boundaries: Any) -> Array:
    limits = xp.asarray([float(boundary) for boundary in boundaries], "float32")
    if (limits[1:] < limits[:-1]).any():
        raise InvalidArgumentError.of("Expected sorted boundaries")
    wide = input.astype("float64")
    return xp.searchsorted(limits.astype("float64"), wide, side="right").astype("int32").reshape(input.shape)


not_differentiable("PopulationCount", "Bucketize")
