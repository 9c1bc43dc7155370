"""Approximate time of a node on one CPU core, estimated from its shapes.

The figures only need to distinguish work that is worth a thread (a matrix product of 1,000 rows: 30 milliseconds) from
work that is not (one of 10 rows: nothing). Unknown shapes give no estimate.

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
"""Floating-point operations of a core per microsecond in a matrix product."""

BYTES_PER_US = 20_000.0
"""Bytes that a core reads and writes per microsecond."""

SLOWNESS = 2.0
"""Factor of the time per element for ops that are declared ``slow``."""


def tensor_nbytes(tensor: Tensor) -> int | None:
    """Return the bytes of a tensor; None if the shape is not fully known."""
    elements = tensor.shape.num_elements()
    return None if elements is None else elements * tensor.dtype.base_dtype.size


def copy_cost_us(tensor: Tensor) -> float | None:
    """Return the microseconds to copy a tensor; None if its shape is not fully known."""
    nbytes = tensor_nbytes(tensor)
    return None if nbytes is None else 2 * nbytes / BYTES_PER_US


def operation_cost_us(op: Operation) -> float | None:
    """Return the microseconds to compute a node; None if a shape is not fully known."""
    if not op.inputs:
        return 0.0
    work = work_of_operation(op)
    if work is None:
        return None
    moving = work.nbytes / BYTES_PER_US
    return moving * (SLOWNESS if traits_of(op.type).slow else 1.0) + work.flops / FLOPS_PER_US
