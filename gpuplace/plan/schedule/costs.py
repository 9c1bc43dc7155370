"""How long a node will take on one CPU core, judged by its shapes.

Rough figures, good enough to tell work for which threads pay (a matrix product of 1,000 rows: 30 milliseconds)
from work for which they do not (one of 10 rows: nothing). Where a shape is not known nothing is said.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.convert import convert_to_tensor
>>> with Graph().as_default():
...     x = convert_to_tensor([[1.0, 2.0]])
>>> operation_cost_us(x.op)
0.0
"""

from __future__ import annotations

import math

from gpuplace.graph.operation import Operation, Tensor

__all__ = ["copy_cost_us", "operation_cost_us", "tensor_nbytes"]

FLOPS_PER_US = 60_000.0
"""Multiplications and additions of a core in a matrix product."""
BYTES_PER_US = 20_000.0
"""Bytes that a core reads and writes."""

_PRODUCTS = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseMatMul"})
_CONVOLUTIONS = {"Conv2D": (0, 1), "Conv2DBackpropFilter": (2, None), "Conv2DBackpropInput": (2, 1)}
"""Op to the positions of the input that says how many windows there are and of the filter."""
_CUBIC = {
    "Cholesky": 1, "MatrixInverse": 2, "MatrixSolve": 1, "MatrixDeterminant": 1, "Qr": 4, "Svd": 20,
    "SelfAdjointEigV2": 10, "MatrixTriangularSolve": 1,
}  # fmt: skip
"""Op to multiples of the cube of its matrices' rows."""
_SLOW = frozenset(
    """
    Exp Expm1 Log Log1p Sigmoid Tanh Sin Cos Tan Pow Erf Erfc Softmax LogSoftmax Softplus RandomUniform
    RandomStandardNormal TruncatedNormal Rsqrt Sqrt Elu Selu Lgamma Digamma TopKV2 Unique
    """.split()
)
"""Ops that take longer for an element than an addition does."""
SLOWNESS = 2.0
"""How much longer."""


def tensor_nbytes(tensor: Tensor) -> int | None:
    """Size of a tensor in bytes, None if the shape is not fully known."""
    elements = tensor.shape.num_elements()
    return None if elements is None else elements * tensor.dtype.base_dtype.size


def copy_cost_us(tensor: Tensor) -> float | None:
    """Microseconds to copy a tensor, None if its shape is not fully known."""
    nbytes = tensor_nbytes(tensor)
    return None if nbytes is None else 2 * nbytes / BYTES_PER_US


def operation_cost_us(op: Operation) -> float | None:
    """Microseconds to compute a node, None if a shape is not fully known."""
    if not op.inputs:
        return 0.0
    sizes = [tensor_nbytes(tensor) for tensor in (*op.inputs, *op.outputs)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    cost = sum(known) / BYTES_PER_US
    if op.type in _SLOW:
        cost *= SLOWNESS
    return cost + _flops(op) / FLOPS_PER_US


def _flops(op: Operation) -> float:
    if op.type in _PRODUCTS:
        left, made = op.inputs[0].shape.known_sizes, op.outputs[0].shape.known_sizes
        if len(left) < 2:
            return 0.0
        inner = left[-2] if op.attrs.get("transpose_a") or op.attrs.get("adj_x") else left[-1]
        return 2.0 * math.prod(made) * inner
    if op.type in _CONVOLUTIONS:
        windows, weights = _CONVOLUTIONS[op.type]
        counted = op.outputs[0] if windows == 0 else op.inputs[windows]
        taken = op.outputs[0] if weights is None else op.inputs[weights]
        kernel = taken.shape.known_sizes
        return 2.0 * math.prod(counted.shape.known_sizes) * math.prod(kernel[:-1])
    if op.type in _CUBIC:
        sizes = op.inputs[0].shape.known_sizes
        return float(_CUBIC[op.type] * math.prod(sizes[:-1]) * sizes[-1] ** 2) if sizes else 0.0
    return 0.0
