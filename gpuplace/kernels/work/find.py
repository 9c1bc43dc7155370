"""Find the work of one execution of an op: by its own model, by its traits, or by its bytes.

>>> from gpuplace.dtypes import float32
>>> work = work_of(Task("MatMul", {}, ((64, 784), (784, 10)), (float32, float32), ((64, 10),), (float32,)))
>>> work.flops, work.kernel
(1003520.0, Product(m=64, n=10, k=784, batch=1, transpose_a=False, transpose_b=False))
"""

from __future__ import annotations

import math
from dataclasses import replace

import gpuplace.kernels.work.algebra
import gpuplace.kernels.work.convolutions
import gpuplace.kernels.work.elementwise
import gpuplace.kernels.work.moving
import gpuplace.kernels.work.nets
import gpuplace.kernels.work.products
import gpuplace.kernels.work.reductions
import gpuplace.kernels.work.staying
import gpuplace.kernels.work.updates  # noqa: F401
from gpuplace.graph.operation import Operation
from gpuplace.kernels.compute import traits_of
from gpuplace.kernels.work.models import Task, elementwise, is_elementwise, registered_model
from gpuplace.kernels.work.record import Work


def work_of(task: Task) -> Work:
    """Return the work of one execution of an op.

    Args:
        task: op with the sizes of its inputs and outputs.

    Returns:
        The work. If neither the op nor its traits give a model, ``model`` is ``"guess"`` and only bytes count.
    """
    model = registered_model(task.op_type)
    if task.out_sizes and not any(map(math.prod, task.out_sizes)) and task.out_types[0].size:
        return task.work("none", read=0, written=0, launches=0)
    if model is not None:
        try:
            return model(task)
        except (
            IndexError,
            ValueError,
            ZeroDivisionError,
        ):  # the ranks do not match the op, so the node is invalid
            return replace(task.work("guess"), assumed=(_MISFIT,))
    if is_elementwise(task.op_type):
        return elementwise(task)
    if traits_of(task.op_type).shares or _makes_handles(task):
        return task.work("none", read=0, written=0, launches=0)
    return task.work("guess")


def _makes_handles(task: Task) -> bool:
    """Return whether an op only returns handles; other ops read the contents (a dataset, by its iterator)."""
    return bool(task.out_types) and all(dtype.is_handle for dtype in task.out_types)


_MISFIT = "The sizes do not match the op: only its bytes are counted"


def has_model(op_type: str) -> bool:
    """Return whether the work of an op is computed by a rule. Otherwise it is derived from the op's bytes.

    Args:
        op_type: op type, such as ``"MatMul"``.
    """
    return registered_model(op_type) is not None or is_elementwise(op_type) or traits_of(op_type).shares


def work_of_operation(op: Operation) -> Work | None:
    """Return the work of an operation in a graph; None if a shape is not fully known.

    Args:
        op: operation.
    """
    sizes = [tensor.shape.sizes for tensor in (*op.inputs, *op.outputs)]
    if any(one is None or None in one for one in sizes):
        return None
    count = len(op.inputs)
    return work_of(
        Task(
            op.type,
            op.attrs,
            tuple(sizes[:count]),  # type: ignore[arg-type]
            tuple(tensor.dtype.base_dtype for tensor in op.inputs),
            tuple(sizes[count:]),  # type: ignore[arg-type]
            tuple(tensor.dtype.base_dtype for tensor in op.outputs),
        )
    )
