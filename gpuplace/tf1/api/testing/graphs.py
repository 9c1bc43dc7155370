"""Comparison of graphs in tests.

Source: tensorflow/python/framework/test_util.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graphdef.attr_values import decode_attr, decode_attrs
from gpuplace.typing import GraphDef, NodeDef
from gpuplace.why.node_text import attr_text, summary

__all__ = ["assert_equal_graph_def"]


def assert_equal_graph_def(actual: GraphDef, expected: GraphDef, **options: Any) -> None:
    """Check that two graphs have the same nodes, in any order.

    Args:
        actual: a ``GraphDef``.
        expected: another graph.
        **options: ignored: nothing in the nodes is random.

    Raises:
        TypeError: an argument is not a ``GraphDef``.
        AssertionError: the graphs differ.
    """
    for name, graph in (("actual", actual), ("expected", expected)):
        if not hasattr(graph, "node"):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(graph).__name__}")
    remaining = {node.name: node for node in actual.node}
    for node in expected.node:
        if node.name not in remaining:
            raise AssertionError(f"Did not find expected node '{_text(node)}'")
        _require_equal(remaining.pop(node.name), node)
    if remaining:
        raise AssertionError(f"Found unexpected node '{_text(remaining.popitem()[1])}'")


def _require_equal(node: NodeDef, expected: NodeDef) -> None:
    """Raise AssertionError for the first difference of two nodes; attributes that begin with "_" are ignored."""
    named = f"Node named '{node.name}'"
    if node.op != expected.op:
        raise AssertionError(f"{named} has op '{node.op}' that is not expected '{expected.op}'")
    if node.device != expected.device:
        raise AssertionError(f"{named} has device '{node.device}' that is not expected '{expected.device}'")
    if len(node.input) != len(expected.input):
        texts = ", ".join(node.input), ", ".join(expected.input)
        raise AssertionError(f"{named} has inputs '{texts[0]}' that don't match expected '{texts[1]}'")
    for index, (one, other) in enumerate(zip(node.input, expected.input, strict=True)):
        if other.startswith("^"):
            if other not in node.input:
                raise AssertionError(f"{named} missing expected control input '{other}'")
        elif one != other:
            raise AssertionError(f"{named} has input {index} '{one}' that doesn't match expected '{other}'")
    attrs, expected_attrs = (
        {key: value for key, value in msg.attr.items() if not key.startswith("_")} for msg in (node, expected)
    )
    for key, value in expected_attrs.items():
        text = attr_text(decode_attr(value), "1.15")
        if key not in attrs:
            raise AssertionError(f"{named} missing expected attr '{key}' with value: {text}")
        if attrs[key] != value:
            actual = attr_text(decode_attr(attrs[key]), "1.15")
            raise AssertionError(
                f"{named} has attr '{key}' with value: {actual} that does not match expected: {text}"
            )
    for key in attrs.keys() - expected_attrs.keys():
        text = attr_text(decode_attr(attrs[key]), "1.15")
        raise AssertionError(f"{named} has unexpected attr '{key}' with value: {text}")


def _text(node: NodeDef) -> str:
    """Return a node as one line, as TensorFlow's messages print it."""
    attrs = decode_attrs(node.attr)
    return summary(f"{{{{node {node.name}}}}}", node.op, attrs, node.device, node.input, "1.15")
