"""TensorFlow's floating-point operation counts for op types: ``RegisterStatistics(op, "flops")``.

>>> from types import SimpleNamespace as Node
>>> get_stats_for_node_def(None, Node(op="AddN", input=[]), "flops").value
0

TensorFlow's profiler uses these numbers; predicted times use ``gpuplace.kernels.work`` instead. For convolutions and
matrix products, both agree, although the formula here does not check the right matrix. Elsewhere they differ: the
profiler counts a logarithm, a quotient and a power as one operation, while ``Work`` counts the operations of a
processor. A sum of n numbers is n - 1 operations here and n there. Pooling and the gradients of convolutions are
counted here by closed formulas that ignore windows at the border. Some op types, such as ``Relu`` and ``AddV2``, have
no formula.

Source: tensorflow/python/profiler/internal/flops_registry.py, python/ops/math_ops.py and nn_ops.py, release 1.15
(which op types have one, which shapes are read, the numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpuplace.graph.op_statistics import OpStats, RegisterStatistics, get_stats_for_node_def
from gpuplace.kernels.work.find import work_of_operation
from gpuplace.shapes import TensorShape

__all__ = ["OpStats", "RegisterStatistics", "get_stats_for_node_def"]

_STATISTIC = "flops"

_Counter = Callable[[Any, Any], float]

COUNTED: dict[str, _Counter] = {}
"""Op type -> the function that counts."""


def _known(graph: Any, name: str) -> tuple[int, ...]:
    """Return the sizes of a tensor that is named as in the inputs of a ``NodeDef``.

    Raises:
        ValueError: a size is unknown.
    """
    shape: TensorShape = graph.get_tensor_by_name(name if ":" in name else f"{name}:0").shape
    return shape.known_sizes


def _of_input(times: int) -> _Counter:
    """Return the given number of operations for each element of the first input."""
    return lambda graph, node: times * math.prod(_known(graph, node.input[0]))


def _of_output(times: int) -> _Counter:
    """Return the given number of operations for each element of the output."""
    return lambda graph, node: times * math.prod(_known(graph, node.name))


def _of_reduction(finally_: int) -> _Counter:
    """Return one operation for each combined number, and a number of final operations for each output element."""

    def count(graph: Any, node: Any) -> int:
        taken, made = math.prod(_known(graph, node.input[0])), math.prod(_known(graph, node.name))
        return taken + made * (finally_ - 1)

    return count


def _as_work(graph: Any, node: Any) -> int:
    for name in (*node.input, node.name):
        _known(graph, name)
    work = work_of_operation(graph.get_operation_by_name(node.name))
    assert work is not None, "all shapes are known"
    return int(work.flops)


def _product(graph: Any, node: Any) -> int:
    """Count a matrix product or a batch; the transpose attributes of a batch have other names and are ignored."""
    left, made = _known(graph, node.input[0]), _known(graph, node.name)
    return 2 * math.prod(made) * left[-2 if node.attr["transpose_a"].b else -1]


def _half_of_squares(graph: Any, node: Any) -> int:
    return 3 * math.prod(_known(graph, node.input[0])) - 1


def _sum_of_all(graph: Any, node: Any) -> int:
    return math.prod(_known(graph, node.input[0])) * (len(node.input) - 1) if node.input else 0


def _images_first(node: Any) -> None:
    """Raise ValueError for images in NCHW format."""
    if node.attr["data_format"].s != b"NHWC":
        raise ValueError("Only NHWC format is supported in flops computations")


def _window(node: Any) -> int:
    return math.prod(node.attr["ksize"].list.i)


def _pooling(graph: Any, node: Any) -> int:
    _images_first(node)
    return _window(node) * math.prod(_known(graph, node.name))


def _pooling_gradient(of_window: int, besides: int) -> _Counter:
    def count(graph: Any, node: Any) -> int:
        _images_first(node)
        return (of_window * _window(node) + besides) * math.prod(_known(graph, node.input[1]))

    return count


def _convolution_gradient(images: str, filters: str) -> _Counter:
    """Count the gradient with respect to the input or the filter; the output of the node is that gradient."""

    def count(graph: Any, node: Any) -> float:
        _images_first(node)
        names = {"output": node.name, "first": node.input[0], "second": node.input[1]}
        image, filter_count = _known(graph, names[images]), math.prod(_known(graph, names[filters]))
        _, rows, columns, _ = node.attr["strides"].list.i
        return 2 * math.prod(image) * filter_count / (image[-1] * rows * columns)

    return count


def _register(op_type: str, counter: _Counter) -> None:
    @RegisterStatistics(op_type, _STATISTIC)
    def statistic(graph: Any, node: Any) -> OpStats:
        return OpStats(_STATISTIC, counter(graph, node))

    COUNTED[op_type] = counter


def _registered(counter: _Counter, *op_types: str) -> None:
    for op_type in op_types:
        _register(op_type, counter)


_registered(_of_input(1), "AssignAdd", "AssignSub", "BiasAdd", "Log", "Neg", "Reciprocal", "Square")
_registered(_of_input(2), "Rsqrt")
_registered(_of_input(5), "Softmax")
_registered(_of_output(1), "Add", "Maximum", "Minimum", "Mul", "Pow", "RealDiv", "Sub")
_registered(_of_output(1), "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual")
_registered(_of_output(2), "SquaredDifference")
_registered(_of_output(4), "RsqrtGrad")
_registered(_of_reduction(0), "ArgMax", "ArgMin", "BiasAddGrad", "Sum")
_registered(_of_reduction(1), "Mean")
_registered(_as_work, "Conv2D", "Conv3D", "DepthwiseConv2dNative", "Dilation2D")
_registered(_product, "BatchMatMul", "MatMul")
_registered(_half_of_squares, "L2Loss")
_registered(_sum_of_all, "AddN")
_registered(_pooling, "AvgPool", "MaxPool")
_registered(_pooling_gradient(of_window=2, besides=0), "AvgPoolGrad")
_registered(_pooling_gradient(of_window=1, besides=1), "MaxPoolGrad")
_registered(_convolution_gradient(images="first", filters="output"), "Conv2DBackpropFilter")
_registered(_convolution_gradient(images="output", filters="second"), "Conv2DBackpropInput")
