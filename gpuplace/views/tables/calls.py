"""The nodes that call functions of the graph's library: calls, functional control flow, ops with function attributes.

call (StatefulPartitionedCall)   f = add_7
loop (While)                     body = step_3, cond = test_3
sum  (add_7)                     an op type that is a function's name
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.errors import OpError
from gpuplace.graph.attr_value import FunctionRef

_FIRST = ("f", "body", "then_branch")
"""Attributes whose functions do a node's main work, listed first."""


class Call(NamedTuple):
    """A function that a node calls."""

    attr: str
    """The attribute that names it, with an index if it names several; `""` if the op type is the function's name."""
    function: str


def functions_of(placement: Any) -> frozenset[str]:
    """Return the names of a placed graph's functions; none for a log."""
    return frozenset(getattr(getattr(placement, "graph", None), "functions", ()))


def calls_of(placement: Any, node: int) -> list[Call]:
    """Return the library functions that a node calls, its body before its condition.

    Args:
        placement: a `Placement`; a log has no functions.
        node: the node's position.
    """
    functions = functions_of(placement)
    if not functions:
        return []
    graph = placement.graph
    calls = [Call("", graph.op_type(node))] if graph.op_type(node) in functions else []
    attrs = graph.attrs(node)
    for name in sorted(attrs, key=lambda name: (name not in _FIRST, name)):
        try:
            value = attrs[name]
        except OpError:  # a value that cannot be decoded; the attribute table shows the error
            continue
        if isinstance(value, FunctionRef):
            calls.append(Call(name, value.name))
        elif isinstance(value, tuple) and value and isinstance(value[0], FunctionRef):
            calls += [Call(f"{name} {i}", function.name) for i, function in enumerate(value)]
    return [call for call in calls if call.function in functions]


def all_calls(placement: Any) -> dict[int, list[Call]]:
    """Return the functions that each node calls, by node, for all nodes that call any."""
    functions = functions_of(placement)
    if not functions:
        return {}
    graph = placement.graph
    ops = placement.placer.catalogue.ops
    may_call = [
        signature.op_type in functions
        or (op_def := ops.get(signature.op_type)) is None
        or any(attr.element_type == "func" for attr in op_def.attrs)
        for signature in graph.signatures
    ]
    by_node = {
        node: calls_of(placement, node)
        for node, signature in enumerate(graph.signature.tolist())
        if may_call[signature]
    }
    return {node: calls for node, calls in by_node.items() if calls}
