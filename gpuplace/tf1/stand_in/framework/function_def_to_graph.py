"""``tensorflow.python.framework.function_def_to_graph``: a ``FunctionDef`` as a graph with placeholders.

Source: tensorflow/python/framework/function_def_to_graph.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graphdef.function_def_to_graph import fill_func_graph, function_def_to_graph_def
from gpuplace.tf1.functions.func_graph import FuncGraph
from gpuplace.typing import ShapeLike

__all__ = ["function_def_to_graph", "function_def_to_graph_def"]


def function_def_to_graph(
    fdef: Any, input_shapes: Sequence[ShapeLike] | None = None, copy_functions: bool = True
) -> FuncGraph:
    """Return a function as a ``FuncGraph``, whose inputs can be fed.

    Args:
        fdef: the function.
        input_shapes: shapes of the arguments, with None for an unknown shape; None for the function's own
            shapes.
        copy_functions: not used: the graph shares the library of the default graph.

    Raises:
        ValueError: the number of shapes differs from the number of arguments.
    """
    graph = FuncGraph(fdef.signature.name, collections={})
    fill_func_graph(graph, fdef, input_shapes)
    return graph
