"""Keep ``IndexedSlices`` gradients of loop invariants as slices.

    dw (a tensor)                  ──> body ──> slices of dw, one more for each iteration
    values, indices, shape of dw   ──> body ──> values, indices, shape

The body takes one tensor for each gradient and returns three for slices. For a variable's handle, these become three
arguments, which start without rows; other slices are converted to a tensor.

Source: tensorflow/python/ops/while_v2_indexed_slices_rewriter.py, release 1.15 (nodes added, names).
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


def keep_slices(graph: Any, forward: Sequence[Tensor], initial_values: list[Any], first: int) -> list[Any]:
    """Make arguments and results of a body's gradient match where it returns slices.

    Args:
        graph: the graph of the gradient.
        forward: the arguments of the loop whose gradients it returns.
        initial_values: the initial values of the backward loop.
        first: the position of the first gradient.

    Returns:
        The new initial values.
    """
    for tensor, output in zip(forward, list(graph.structured_outputs[first:]), strict=False):
        if not isinstance(output, IndexedSlices):
            continue
        if tensor.dtype.base_dtype.name == "resource":
            initial_values = _as_arguments(graph, output, tensor, initial_values)
        else:
            with graph.as_default():
                dense = convert_to_tensor(output)
            _replace(graph, output, dense)
    return initial_values


def _replace(graph: FuncGraph, old: Any, new: Any) -> None:
    number = next(i for i, output in enumerate(graph.structured_outputs) if output is old)
    graph.structured_outputs[number] = new
    graph.outputs = flat_tensors(graph.structured_outputs)


def _as_arguments(graph: Any, slices: IndexedSlices, handle: Tensor, initial_values: list[Any]) -> list[Any]:
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
    return [*initial_values[:position], *flat_tensors(begin), *initial_values[position + 1 :]]


def _without_rows(slices: IndexedSlices, handle: Tensor) -> IndexedSlices:
    """Return slices without rows, like the given slices of a variable."""
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
    """Prepend rows to the results of a ``ConcatV2`` and its copy."""
    parts = output.inputs[0].op.inputs[:-1]
    return concat([before, *parts[1:]], 0)
