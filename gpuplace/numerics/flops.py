"""How many multiplications and additions an operation takes, by the shapes that the graph knows.

What these give is declared beside the functions that compute the ops (``OpTraits.flops``), for estimates of time.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.convert import convert_to_tensor
>>> from gpuplace.graph.apply_op import apply_op
>>> with Graph().as_default():
...     x = convert_to_tensor([[1.0, 2.0]])
...     product = apply_op("MatMul", a=x, b=x, transpose_b=True)
>>> product_flops(product)
4.0
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gpuplace.graph.operation import Operation


def product_flops(op: Operation) -> float:
    """Those of a product of matrices, or of batches of them."""
    left, made = op.inputs[0].shape.known_sizes, op.outputs[0].shape.known_sizes
    if len(left) < 2:
        return 0.0
    inner = left[-2] if op.attrs.get("transpose_a") or op.attrs.get("adj_x") else left[-1]
    return 2.0 * math.prod(made) * inner


def convolution_flops(windows: int | None = None, kernel: int | None = None) -> Callable[[Operation], float]:
    """Those of a convolution, or of one of its gradients.

    Args:
        windows: position of the input with an image point for every window; None: the output is that.
        kernel: position of the input that is the filter; None: the output is that.
    """

    def flops(op: Operation) -> float:
        counted = op.outputs[0] if windows is None else op.inputs[windows]
        taken = op.outputs[0] if kernel is None else op.inputs[kernel]
        return 2.0 * math.prod(counted.shape.known_sizes) * math.prod(taken.shape.known_sizes[:-1])

    return flops


def windows_flops(windows: int | None, kernel: int | None) -> Callable[[Operation], float]:
    """Those of windows that look at one channel each: depthwise convolutions, dilations and their gradients.

    Args:
        windows: position of the input with an element for every window; None: the output is that.
        kernel: position of the input that is the filter; None: the output is that.
    """

    def flops(op: Operation) -> float:
        counted = op.outputs[0] if windows is None else op.inputs[windows]
        taken = op.outputs[0] if kernel is None else op.inputs[kernel]
        return 2.0 * math.prod(counted.shape.known_sizes) * math.prod(taken.shape.known_sizes[:2])

    return flops


def weights_flops(rows: int, *weights: int) -> Callable[[Operation], float]:
    """Those of products of the rows of an input with matrices, all of which are inputs at these positions."""

    def flops(op: Operation) -> float:
        sizes = op.inputs[rows].shape.known_sizes
        count = sum(math.prod(op.inputs[at].shape.known_sizes) for at in weights)
        return 2.0 * sizes[0] * count if sizes else 0.0

    return flops


def cubic_flops(multiple: int) -> Callable[[Operation], float]:
    """Those of an algorithm that takes ``multiple`` times the cube of a matrix's rows, for each matrix of a batch."""

    def flops(op: Operation) -> float:
        sizes = op.inputs[0].shape.known_sizes
        return float(multiple * math.prod(sizes[:-1]) * sizes[-1] ** 2) if sizes else 0.0

    return flops


def transform_flops(rank: int) -> Callable[[Operation], float]:
    """Those of a fast Fourier transform over the last ``rank`` dimensions: 5 n log2(n) for each ``n`` numbers."""

    def flops(op: Operation) -> float:
        sizes = max(op.inputs[0].shape.known_sizes, op.outputs[0].shape.known_sizes, key=math.prod)
        return 5.0 * math.prod(sizes) * math.log2(max(2, math.prod(sizes[-rank:])))

    return flops
