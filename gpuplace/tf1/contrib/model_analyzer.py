"""Sizes of a graph's outputs and variables.

Source: tensorflow/contrib/slim/python/slim/model_analyzer.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuplace.graph.graph import Graph

__all__ = ["analyze_ops", "analyze_vars", "tensor_description"]


def tensor_description(var: Any) -> str:
    """Return the dtype and shape of a tensor or variable as text, such as ``(float32 1x8x8x1024)``.

    Args:
        var: the tensor or variable.
    """
    return f"({var.dtype.name} {'x'.join(str(size) for size in var.get_shape())})"


def _elements(tensor: Any) -> int:
    return tensor.get_shape().num_elements() or 0


def _heading(text: str) -> None:
    print("---------", text, "---------", sep="\n")


def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """Return the number of elements in the outputs of all ops with known shapes.

    Args:
        graph: the graph.
        print_info: whether to print the size of each op.
    """
    if print_info:
        _heading("Operations: name -> (type shapes) [size]")
    total = 0
    for op in graph.get_operations():
        count = sum(map(_elements, op.outputs))
        if print_info:
            shapes = ", ".join(tensor_description(output) for output in op.outputs if output.get_shape())
            print(op.name, "\t->", shapes, f"[{count}]")
        total += count
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Return the total size of variables.

    Args:
        variables: the variables.
        print_info: whether to print the size of each.

    Returns:
        The number of elements and of bytes.
    """
    if print_info:
        _heading("Variables: name (type shape) [size]")
    elements = nbytes = 0
    for variable in variables:
        count = _elements(variable)
        size = count * variable.dtype.size
        elements += count
        nbytes += size
        if print_info:
            print(variable.name, tensor_description(variable), f"[{count}, bytes: {size}]")
    if print_info:
        print(f"Total size of variables: {elements}")
        print(f"Total bytes of variables: {nbytes}")
    return elements, nbytes
