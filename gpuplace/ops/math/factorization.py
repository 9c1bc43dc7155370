"""The QR decomposition, which orthogonal initial values are made from.

Source: tensorflow/core/kernels/qr_op_impl.h and core/ops/linalg_ops.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.flops import cubic_flops
from gpuplace.ops.shape_rules import require_rank_at_least
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape


class Qr(NamedTuple):
    """The result of ``qr``."""

    q: Tensor
    """Orthonormal columns."""
    r: Tensor
    """Upper triangular."""


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Returns the QR decomposition of matrices, ``input = q @ r``.

    Args:
        input: ``[..., rows, columns]``, float32, float64 or complex.
        full_matrices: give ``q`` all its ``rows`` columns, not only ``min(rows, columns)``.
        name: name of the op.

    Returns:
        ``q``, ``[..., rows, inner]`` with orthonormal columns, and ``r``, ``[..., inner, columns]``, upper triangular.

    Raises:
        ValueError: the rank is known to be below 2.
    """
    return Qr(*apply_op("Qr", name, input=input, full_matrices=full_matrices).outputs)


@shape_function("Qr")
def _qr_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    if sizes is None:
        return [UNKNOWN_SHAPE] * 2
    rows, columns = sizes[-2:]
    inner = rows if op.attrs["full_matrices"] else None
    if inner is None and rows is not None and columns is not None:
        inner = min(rows, columns)
    return [TensorShape.of((*sizes[:-2], rows, inner)), TensorShape.of((*sizes[:-2], inner, columns))]


@compute("Qr", fresh=True, flops=cubic_flops(4))
def _qr(xp: Any, matrices: Any, *, full_matrices: bool) -> tuple[Any, Any]:
    q, r = xp.linalg.qr(matrices, mode="complete" if full_matrices else "reduced")
    return q.astype(matrices.dtype, copy=False), r.astype(matrices.dtype, copy=False)
