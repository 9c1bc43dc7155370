"""What tests check of graphs.

Source: tensorflow/python/framework/test_util.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graphdef.attr_values import decode_attr, decode_attrs
from gpuplace.typing import GraphDef, NodeDef
from gpuplace.why.node_text import attr_text, summary

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
    found = {node.name: node for node in actual.node}
    for node in expected.node:
        if node.name not in found:
            raise AssertionError(f"Did not find expected node '{_text(node)}'")
        _require_equal(found.pop(node.name), node)
    if found:
        raise AssertionError(f"Found unexpected node '{_text(found.popitem()[1])}'")


def _require_equal(node: NodeDef, expected: NodeDef) -> None:
    """AssertionError with the first thing in which a node is not as expected; attributes with "_" are nobody's."""
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
    attrs, wanted = (
        {key: value for key, value in one.attr.items() if not key.startswith("_")} for one in (node, expected)
    )
    for key, value in wanted.items():
        text = attr_text(decode_attr(value), "1.15")
        if key not in attrs:
            raise AssertionError(f"{named} missing expected attr '{key}' with value: {text}")
        if attrs[key] != value:
            found = attr_text(decode_attr(attrs[key]), "1.15")
            raise AssertionError(
                f"{named} has attr '{key}' with value: {found} that does not match expected: {text}"
            )
    for key in attrs.keys() - wanted.keys():
        text = attr_text(decode_attr(attrs[key]), "1.15")
        raise AssertionError(f"{named} has unexpected attr '{key}' with value: {text}")


def _text(node: NodeDef) -> str:
    """A node in one line, as TensorFlow's messages print it."""
    attrs = decode_attrs(node.attr)
    return summary(f"{{{{node {node.name}}}}}", node.op, attrs, node.device, node.input, "1.15")
