"""Which nodes call functions of the graph's library: calls, functional control flow, ops that take functions.

call (StatefulPartitionedCall)   f = add_7
loop (While)                     body = step_3, cond = test_3
sum  (add_7)                     an op type that is a function's name
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.errors import OpError
from gpuplace.graph.attr_value import FunctionRef

_FIRST = ("f", "body", "then_branch")
"""The attributes whose functions do a node's work; the others come after them."""


class Call(NamedTuple):
    """A function that a node calls."""

    attr: str
    """The attribute that names it, `""` where the op type does; with a number where it is one of several."""
    function: str


def functions_of(placement: Any) -> frozenset[str]:
    """Names of the functions that a placed graph can look into; none for a log."""
    return frozenset(getattr(getattr(placement, "graph", None), "functions", ()))


def calls_of(placement: Any, node: int) -> list[Call]:
    """The functions of the library that a node calls, its body before its condition.

    Args:
        placement: a `Placement`; of a log nothing is known.
        node: position of the node.
    """
    known = functions_of(placement)
    if not known:
        return []
    graph = placement.graph
    found = [Call("", graph.op_type(node))] if graph.op_type(node) in known else []
    attrs = graph.attrs(node)
    for name in sorted(attrs, key=lambda name: (name not in _FIRST, name)):
        try:
            value = attrs[name]
        except OpError:  # what cannot be decoded names no function; the table of attributes says so
            continue
        if isinstance(value, FunctionRef):
            found.append(Call(name, value.name))
        elif isinstance(value, tuple) and value and isinstance(value[0], FunctionRef):
            found += [Call(f"{name} {i}", function.name) for i, function in enumerate(value)]
    return [call for call in found if call.function in known]


def all_calls(placement: Any) -> dict[int, list[Call]]:
    """Node -> the functions that it calls, for the nodes that call any."""
    known = functions_of(placement)
    if not known:
        return {}
    graph = placement.graph
    ops = placement.placer.catalogue.ops
    takes = [
        signature.op_type in known
        or (op_def := ops.get(signature.op_type)) is None
        or any(attr.element_type == "func" for attr in op_def.attrs)
        for signature in graph.signatures
    ]
    found = {
        node: calls_of(placement, node) for node, kind in enumerate(graph.signature.tolist()) if takes[kind]
    }
    return {node: calls for node, calls in found.items() if calls}
