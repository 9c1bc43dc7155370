"""Conversion of functions built by Python to ``FunctionDef`` messages, and of messages to callable graphs.

Inside a function, an input is named by node, output argument and position in it: ``mul:z:0``. Results, then arguments,
get their lower-case names before nodes do::

    args_0 ──> mul (Mul) ──> Identity        (args_0: float, mul_const: float) -> (identity: float)
    mul/Const ──┘                            mul = Mul(args_0, mul_const); ret identity = Identity:output:0

Source: tensorflow/c/c_api_function.cc, release 1.15 (names).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gpuplace.errors import NotFoundError
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.traced_graph import FunctionBody
from gpuplace.graphdef.attr_values import decode_op_def, encode_attr
from gpuplace.graphdef.export import version_def
from gpuplace.graphdef.function_graph import function_graph
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.messages import FunctionDef, GraphDef
from gpuplace.kernels.registry import session_catalogue

_OTHER = re.compile("[^a-z0-9]")


class _Names:
    """Unique names of arguments and results."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def normalized(self, name: str) -> str:
        """Return the name in lower case with only letters, digits and underscores, starting with a letter."""
        plain = _OTHER.sub("_", name.lower()).lstrip("_0123456789") or "unknown"
        return self.unique(plain)

    def unique(self, name: str) -> str:
        """Return the name, with a number if it is taken."""
        number = self._used.get(name)
        if number is None:
            self._used[name] = 0
            return name
        while f"{name}_{number}" in self._used:
            number += 1
        self._used[name] = number + 1
        self._used[f"{name}_{number}"] = 0
        return f"{name}_{number}"


def function_def(
    name: str,
    body: FunctionBody,
    description: str = "",
    attrs: dict[str, Any] | None = None,
    output_names: Sequence[str] | None = None,
) -> Any:
    """Return a function as a message.

    Args:
        name: name of the function.
        body: graph of the function.
        description: description of the function.
        attrs: attributes in their Python form, or None.
        output_names: names of the results; None: the names of the operations that produce them.

    Raises:
        ValueError: an operation has an input from another graph.
    """
    message = FunctionDef()
    message.signature.name = name
    message.signature.description = description
    for key, value in (attrs or {}).items():
        encode_attr(value, message.attr[key])
    args = {tensor.op for tensor in body.args}
    operations = [op for op in body.graph.get_operations() if op not in args]
    names = _Names()
    results = list(output_names or (names.normalized(tensor.op.name) for tensor in body.results))
    where: dict[Tensor, str] = {}
    for tensor in body.args:
        where[tensor] = names.normalized(tensor.op.name)
        message.signature.input_arg.add(name=where[tensor], type=tensor.dtype.base_dtype.as_datatype_enum)
    called = {op: names.unique(op.name) for op in operations}
    for op in operations:
        _name_outputs(op, called[op], where)
    for op in operations:
        _add_node(message, op, called, where)
    for result, tensor in zip(results, body.results, strict=True):
        message.signature.output_arg.add(name=result, type=tensor.dtype.base_dtype.as_datatype_enum)
        message.ret[result] = where[tensor]
    for op in body.targets:
        message.signature.control_output.append(op.name)
        message.control_ret[op.name] = called[op]
    message.signature.is_stateful = any(op.op_def is not None and op.op_def.is_stateful for op in operations)
    return message


def _name_outputs(op: Operation, name: str, where: dict[Tensor, str]) -> None:
    """Record the names of a node's outputs; in loops, earlier nodes may use them."""
    if op.op_def is None:
        return
    for arg, positions in op.op_def.output_ranges(op.attrs).items():
        for number, position in enumerate(positions):
            where[op.outputs[position]] = f"{name}:{arg}:{number}"


def _add_node(message: Any, op: Operation, called: dict[Operation, str], where: dict[Tensor, str]) -> None:
    """Add a node to the message."""
    node = message.node_def.add(name=called[op], op=op.type, device=op.device)
    node.input.extend(where[tensor] for tensor in op.inputs)
    waited = sorted(
        (control_input for control_input in op.control_inputs if control_input in called),
        key=lambda control_input: control_input.name,
    )
    node.input.extend(f"^{called[control_input]}" for control_input in waited)
    for key, value in op.attrs.items():
        encode_attr(value, node.attr[key])


def add_function(
    graph: Graph, name: str, body: FunctionBody, description: str = "", attrs: dict[str, Any] | None = None
) -> None:
    """Add a function to a graph's library.

    Args:
        graph: graph to extend.
        name: name of the function.
        body: graph of the function.
        description: description of the function.
        attrs: attributes, or None.
    """
    message = function_def(name, body, description, attrs)
    graph.functions[name] = message.SerializeToString(deterministic=True)
    graph.function_op_defs[name] = decode_op_def(message.signature)
    graph.function_bodies[name] = body


def body_of(graph: Graph, name: str) -> FunctionBody:
    """Return the executable graph of a library function.

    Args:
        graph: graph with the library.
        name: name of the function.

    Raises:
        NotFoundError: the function does not exist.
        InvalidArgumentError: the function is invalid.
    """
    existing = graph.function_bodies.get(name)
    if existing is not None:
        return existing
    if name not in graph.functions:
        raise NotFoundError.of(f"Function {name} is not defined.")
    library = GraphDef(versions=version_def(graph))
    for serialized in graph.functions.values():
        library.library.function.append(FunctionDef.FromString(serialized))
    message = function_graph(library, name, session_catalogue())
    message.ClearField("library")
    inner = Graph()
    inner.functions, inner.function_bodies = graph.functions, graph.function_bodies
    inner.function_op_defs = graph.function_op_defs
    with inner.as_default():
        import_graph_def(message, name="")
    body = FunctionBody(
        inner,
        _in_order(inner, "_Arg", lambda op: op.outputs[0]),
        _in_order(inner, "_Retval", lambda op: op.inputs[0]),
        _targets(inner, FunctionDef.FromString(graph.functions[name])),
    )
    graph.function_bodies[name] = body
    return body


def _in_order(graph: Graph, op_type: str, tensor: Any) -> tuple[Tensor, ...]:
    """Return the tensors of a function's arguments or results, ordered by position."""
    ends: Sequence[Operation] = [op for op in graph.get_operations() if op.type == op_type]
    return tuple(tensor(op) for op in sorted(ends, key=lambda op: op.attrs["index"]))


def _targets(graph: Graph, message: Any) -> tuple[Operation, ...]:
    return tuple(graph.get_operation_by_name(name) for name in message.control_ret.values())
