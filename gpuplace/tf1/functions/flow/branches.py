"""Make branches compatible: the same arguments, and results of the same types.

    f (x, w) ──> Tensor            f (x, w, b) ──> values, indices, shape
    g (x, b) ──> IndexedSlices     g (x, w, b) ──> values, indices, shape

Source: tensorflow/python/ops/cond_v2.py, release 1.15 (nodes added, messages).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import int32, int64
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.gradients.dense_slices import as_indexed_slices
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.support import new
from gpuplace.tf1.functions.func_graph import FuncGraph, flat_tensors, packed_tensors


def check_captures(branches: Sequence[FuncGraph], names: Sequence[str]) -> None:
    """Raise ValueError if a branch uses a tensor of another branch.

    Args:
        branches: the graphs of the branches.
        names: the names of the branches.
    """
    for branch, name in zip(branches, names, strict=True):
        for tensor in branch.external_captures:
            for other_branch, other in zip(branches, names, strict=True):
                if tensor.graph is not other_branch:
                    continue
                raise ValueError(f"Tensor {tensor.name} in {other} is accessed from {name}.")


def make_inputs_match(branches: Sequence[FuncGraph], inputs: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """Give all branches the same arguments, as unused placeholders if necessary.

    Args:
        branches: the graphs of the branches.
        inputs: the inputs of each branch, in argument order.

    Returns:
        The common inputs, without duplicates.
    """
    counted = [_counted(given) for given in inputs]
    wanted = list(dict.fromkeys(key for given in counted for key in given))
    tensors = [tensor for tensor, _ in wanted]
    for branch, given in zip(branches, counted, strict=True):
        known = dict(zip(given, branch.inputs, strict=True))
        arguments = []
        for key in wanted:
            found = known.get(key)
            if found is None:
                with branch.as_default():
                    found = new("Placeholder", dtype=key[0].dtype.base_dtype, shape=key[0].shape)
            arguments.append(found)
        branch.args = arguments
        branch.captured = dict(zip(tensors, arguments, strict=True))
    return tensors


def _counted(tensors: Sequence[Tensor]) -> list[tuple[Tensor, int]]:
    """Pair each tensor with the number of its earlier occurrences."""
    seen: Counter[Tensor] = Counter()
    pairs = []
    for tensor in tensors:
        pairs.append((tensor, seen[tensor]))
        seen[tensor] += 1
    return pairs


def make_positions_match(branches: Sequence[FuncGraph], op_name: str) -> None:
    """Convert the indices of ``IndexedSlices`` results to int64 if the branches disagree.

    Args:
        branches: the graphs of the branches.
        op_name: ``"cond"`` or ``"switch_case"``, for messages.

    Raises:
        TypeError: only some branches return slices, or indices are not integers.
    """
    leaves = [nest.flatten(branch.structured_outputs) for branch in branches]
    if len({len(each) for each in leaves}) != 1:
        return  # `check_same_outputs` reports this
    indices, position = [], 0
    for number, outs in enumerate(zip(*leaves, strict=True)):
        if len({isinstance(output, IndexedSlices) for output in outs}) != 1:
            raise TypeError(
                f"Cannot reconcile tf.{op_name} {number}-th outputs:\n  branches returned: {outs}"
            )
        if isinstance(outs[0], IndexedSlices):
            indices.append(position + 1)
        position += len(flat_tensors(outs[0]))
    for index in indices:
        types = [branch.outputs[index].dtype for branch in branches]
        if not {int32, int64}.issuperset(types):
            raise TypeError(f"Type of IndexedSlices.indices must be int32 or int64. Found: {types}")
        for branch in branches:
            if len(set(types)) != 1 and branch.outputs[index].dtype is int32:
                with branch.as_default():
                    branch.outputs[index] = new("Cast", x=branch.outputs[index], DstT=int64)
    if indices:
        for branch in branches:
            branch.structured_outputs = packed_tensors(branch.structured_outputs, branch.outputs)


def make_slices_match(branches: Sequence[FuncGraph], op_name: str) -> None:
    """Convert tensor results to ``IndexedSlices`` if another branch returns slices.

    Args:
        branches: graphs whose results are lists.
        op_name: ``"tf.cond"`` or ``"tf.switch_case"``, for messages.

    Raises:
        TypeError: a result is neither a tensor nor slices.
    """
    outputs = [list(branch.structured_outputs) for branch in branches]
    for number, outs in enumerate(zip(*outputs, strict=True)):
        if not any(isinstance(output, IndexedSlices) for output in outs):
            continue
        for branch, results, branch_output in zip(branches, outputs, outs, strict=True):
            if not isinstance(branch_output, (Tensor, IndexedSlices)):
                raise TypeError(
                    f"Cannot reconcile {op_name} {number}-th outputs:\n  outputs from all branches: {outs}"
                )
            with branch.as_default():
                results[number] = as_indexed_slices(branch_output)
    for branch, results in zip(branches, outputs, strict=True):
        branch.structured_outputs = results
        branch.outputs = flat_tensors(results)


def check_same_outputs(branches: Sequence[FuncGraph], names: Sequence[str], op_name: str) -> None:
    """Raise TypeError if the results of branches differ, ValueError if their numbers differ.

    Args:
        branches: the graphs of the branches.
        names: the names of the branches.
        op_name: ``"tf.cond"`` or ``"tf.switch_case"``.
    """
    first = branches[0]
    for branch, name in zip(branches[1:], names[1:], strict=True):
        try:
            nest.assert_same_structure(first.structured_outputs, branch.structured_outputs, opens_slices=True)
        except (TypeError, ValueError) as error:
            raise _different(first, branch, (names[0], name), op_name, str(error)) from None
        if len(first.outputs) != len(branch.outputs):
            kind = "cond" if op_name == "tf.cond" else "case"
            number = list(branches).index(branch)
            raise ValueError(
                f"Lengths of branch outputs of {kind} must match.\nlen(graphs[0].outputs): {len(first.outputs)}\n"
                f"len(graphs[{number}].outputs): {len(branch.outputs)}\n"
            )
        for one, other in zip(first.outputs, branch.outputs, strict=True):
            if one.dtype is not other.dtype:
                detail = f"{one} and {other} have different types"
                raise _different(first, branch, (names[0], name), op_name, detail)


def _different(
    first: FuncGraph, other: FuncGraph, names: tuple[str, str], op_name: str, detail: str
) -> TypeError:
    return TypeError(
        f"{names[0]} and {names[1]} arguments to {op_name} must have the same number, type, and overall structure of"
        f" return values.\n\n{names[0]} output: {first.structured_outputs}\n{names[1]} output:"
        f" {other.structured_outputs}\n\nError details:\n{detail}"
    )


def output_shapes(branches: Sequence[FuncGraph]) -> list[Any]:
    """Return the result shapes that the branches have in common.

    Args:
        branches: the graphs of the branches.
    """
    shapes = []
    for outs in zip(*(branch.outputs for branch in branches), strict=True):
        shape = outs[0].shape
        for output in outs[1:]:
            shape = shape.most_specific_compatible_shape(output.shape)
        shapes.append(shape)
    return shapes
