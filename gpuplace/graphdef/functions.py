"""Library functions of a graph, in the form that `gpuplace.placer.lowering` needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_def import OpRegistry
from gpuplace.graphdef.attr_values import decode_attrs, decode_op_def
from gpuplace.graphdef.messages import FunctionDef
from gpuplace.placer.lowering import BodyNode, FunctionBody


def functions_by_name(functions: Iterable[Any], ops: OpRegistry) -> dict[str, Any]:
    """Return the functions of a library by name; the library may repeat a function.

    Args:
        functions: `FunctionDef` messages.
        ops: registered ops.

    Returns:
        A dict from name to message.

    Raises:
        InvalidArgumentError: a function has the name of an op, or different functions share a name.

    Source: FunctionLibraryDefinition::AddFunctionDef in tensorflow/core/framework/function.cc, releases 1.15, 2.21.
    """
    by_name: dict[str, Any] = {}
    for function in functions:
        name = function.signature.name
        if name in ops:
            raise InvalidArgumentError.of(
                f"Cannot add function '{name}' because an op with the same name already exists.",
                hint="rename the function and update its callers",
            )
        earlier = by_name.setdefault(name, function)
        if earlier is not function and earlier != function:
            raise function_exists(name)
    return by_name


def function_exists(name: str) -> InvalidArgumentError:
    """Return the error of a library with two different functions of the same name."""
    return InvalidArgumentError.of(
        f"Cannot add function '{name}' because a different function with the same name already exists.",
        hint="rename one of the two and update its callers",
    )


def function_bodies(functions: Mapping[str, Any]) -> Callable[[str], FunctionBody | None]:
    """Return a lookup of function bodies by name (`FunctionDef` messages), decoded on request."""
    return _Decoded(functions.get)


def stored_function_bodies(functions: Mapping[str, bytes]) -> Callable[[str], FunctionBody | None]:
    """Return the same lookup for the serialized functions of a `Graph`."""
    return _Decoded(lambda name: FunctionDef.FromString(functions[name]) if name in functions else None)


class _Decoded:
    def __init__(self, proto: Callable[[str], Any]) -> None:
        self._proto = proto
        self._bodies: dict[str, FunctionBody] = {}

    def __call__(self, name: str) -> FunctionBody | None:
        if name not in self._bodies:
            proto = self._proto(name)
            if proto is None:
                return None
            self._bodies[name] = _body(proto)
        return self._bodies[name]


def _body(proto: Any) -> FunctionBody:
    nodes = tuple(
        BodyNode(node.name, node.op, decode_attrs(node.attr), tuple(node.input), node.device)
        for node in proto.node_def
    )
    signature = decode_op_def(proto.signature)
    controls = tuple(
        proto.control_ret[name] for name in signature.control_outputs if name in proto.control_ret
    )
    stays_called = "_noinline" in proto.attr and proto.attr["_noinline"].b
    return FunctionBody(signature, nodes, dict(proto.ret), controls, stays_called)
