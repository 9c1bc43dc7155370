"""Slices that the gradient of a loop's body gives for what stays the same in all iterations: kept as slices.

    dw (a tensor)                  ──> body ──> slices of dw, one iteration's more
    values, indices, shape of dw   ──> body ──> values, indices, shape

The body takes one tensor for each gradient and gives three for slices. Those of a variable's handle become three
arguments, which begin without rows; others are made one tensor.

Source: tensorflow/python/ops/while_v2_indexed_slices_rewriter.py, release 1.15 (what is added to the graphs, names).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant, zeros
from gpuplace.ops.array.joining import concat
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.variables.resource_state import variable_shape
from gpuplace.shapes import TensorShape
from gpuplace.tf1.functions.func_graph import FuncGraph, flat_tensors


def keep_slices(graph: Any, forward: Sequence[Tensor], given: list[Any], first: int) -> list[Any]:
    """Makes arguments and results of the gradient of a body fit where it gives slices.

    Args:
        graph: that of the gradient.
        forward: the arguments of the loop that it gives gradients for.
        given: what the loop backwards begins with.
        first: the position of the first gradient.

    Returns:
        What it begins with then.
    """
    for tensor, output in zip(forward, list(graph.structured_outputs[first:]), strict=False):
        if not isinstance(output, IndexedSlices):
            continue
        if tensor.dtype.base_dtype.name == "resource":
            given = _as_arguments(graph, output, tensor, given)
        else:
            with graph.as_default():
                dense = convert_to_tensor(output)
            _replace(graph, output, dense)
    return given


def _replace(graph: FuncGraph, old: Any, new: Any) -> None:
    number = next(i for i, one in enumerate(graph.structured_outputs) if one is old)
    graph.structured_outputs[number] = new
    graph.outputs = flat_tensors(graph.structured_outputs)


def _as_arguments(graph: Any, slices: IndexedSlices, handle: Tensor, given: list[Any]) -> list[Any]:
    begin = _without_rows(slices, handle)
    with graph.as_default():
        arguments = [graph.capture(tensor, whitelisted=True) for tensor in flat_tensors(begin)]
        for tensor in flat_tensors(begin):
            del graph.captured[tensor]
        values = _with_rows_before(slices.values.op, arguments[0])
        indices = _with_rows_before(slices.indices.op, arguments[1])
        longer = IndexedSlices(values, indices, arguments[2])
    position = graph.outputs.index(slices.values)
    _replace(graph, slices, longer)
    graph.args = [*graph.args[:position], *arguments, *graph.args[position + 1 :]]
    return [*given[:position], *flat_tensors(begin), *given[position + 1 :]]


def _without_rows(slices: IndexedSlices, handle: Tensor) -> IndexedSlices:
    """Slices like others, of a variable, without rows."""
    values = slices.values
    sizes: Any
    if values.shape.is_fully_defined():
        sizes = TensorShape([0, *values.shape.as_list()[1:]])
    else:
        sizes = concat([[0], variable_shape(handle)[1:]], 0)
    rows = zeros(sizes, dtype=values.dtype, name="values_init")
    indices = constant([], dtype=slices.indices.dtype, name="indices_init")
    return IndexedSlices(rows, indices, variable_shape(handle, name="shape_init"))


def _with_rows_before(output: Operation, before: Tensor) -> Tensor:
    """What a ``ConcatV2`` and its copy give, whose first part is other rows."""
    parts = output.inputs[0].op.inputs[:-1]
    return concat([before, *parts[1:]], 0)
