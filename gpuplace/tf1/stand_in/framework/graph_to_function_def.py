"""``tensorflow.python.framework.graph_to_function_def``: a part of a graph as a ``FunctionDef``.

Source: tensorflow/python/framework/graph_to_function_def.py, release 1.15 (name, arguments).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.traced_graph import FunctionBody
from gpuplace.graphdef.function_def import function_def


def graph_to_function_def(
    graph: Graph,
    operations: Sequence[Operation],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    out_names: Sequence[str] | None = None,
) -> Any:
    """Return a function without a name.

    Args:
        graph: the graph.
        operations: the operations of the body; all operations of the graph are used.
        inputs: its arguments.
        outputs: its results.
        out_names: their names; None for those of the tensors.

    Raises:
        ValueError: the number of names differs from the number of results.
    """
    if out_names and len(out_names) != len(outputs):
        raise ValueError(
            f"len(out_names) must equal len(outputs), was {len(out_names)} vs {len(outputs)}, names {out_names},"
            f" outputs {outputs}"
        )
    body = FunctionBody(graph, tuple(inputs), tuple(outputs), ())
    return function_def("", body, output_names=out_names or _names_of(outputs))


def _names_of(tensors: Sequence[Tensor]) -> list[str]:
    """Return unique names for results, after their tensors."""
    names: list[str] = []
    for tensor in tensors:
        name = plain = tensor.name.removesuffix(":0").replace(":", "_o")
        numbers = itertools.count()
        while name in names:
            name = f"{plain}_U{next(numbers)}"
        names.append(name)
    return names
