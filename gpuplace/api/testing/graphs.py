"""What tests check of graphs.

Source: tensorflow/python/framework/test_util.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

from typing import Any

from gpuplace.typing import GraphDef

__all__ = ["assert_equal_graph_def"]


def assert_equal_graph_def(actual: GraphDef, expected: GraphDef, **options: Any) -> None:
    """Checks that two graphs have the same nodes, in any order.

    Args:
        actual: a ``GraphDef``.
        expected: another one.
        **options: ignored, as nothing in the nodes is left to chance.

    Raises:
        TypeError: it is not two ``GraphDef`` messages.
        AssertionError: they differ.
    """
    for name, graph in (("actual", actual), ("expected", expected)):
        if not hasattr(graph, "node"):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph).__name__}")
    nodes = [{node.name: node for node in graph.node} for graph in (actual, expected)]
    for name in {**nodes[0], **nodes[1]}:
        one, other = (found.get(name) for found in nodes)
        if one != other:
            raise AssertionError(f"Found unexpected node '{other}' expected '{one}'")
