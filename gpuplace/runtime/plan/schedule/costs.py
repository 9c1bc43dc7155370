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

from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import traits_of
from gpuplace.kernels.work.find import work_of_operation

FLOPS_PER_US = 60_000.0
"""Multiplications and additions of a core in a matrix product."""

BYTES_PER_US = 20_000.0
"""Bytes that a core reads and writes."""

SLOWNESS = 2.0
"""How much longer ops that are declared ``slow`` take for an element."""


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
    work = work_of_operation(op)
    if work is None:
        return None
    moving = work.nbytes / BYTES_PER_US
    return moving * (SLOWNESS if traits_of(op.type).slow else 1.0) + work.flops / FLOPS_PER_US
