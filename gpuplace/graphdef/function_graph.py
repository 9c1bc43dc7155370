"""The body of a library function as a separate graph: `_Arg` nodes, the nodes of the function, `_Retval` nodes.

TensorFlow places such a graph for every function that it calls without inlining it::

    def add(x, y) -> sum        x (_Arg 0) ─┬─> plus (AddV2) ─> sum_RetVal (_Retval 0)
      plus = AddV2(x, y)        y (_Arg 1) ─┘
      return plus:z:0

A caller pins arguments and results to its devices. Here there is no caller, so nothing is pinned.

Source: InstantiateFunction in tensorflow/core/framework/function.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

from gpuplace.errors import NotFoundError
from gpuplace.graphdef.attr_values import decode_op_def
from gpuplace.graphdef.functions import function_bodies, functions_by_name
from gpuplace.graphdef.messages import GraphDef
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.lowering.bodies import Bodies

_NEAREST = 5


def check_function(library: Collection[str], name: str) -> None:
    """Raise NotFoundError with the nearest names if a library does not contain a function."""
    if name not in library:
        near = difflib.get_close_matches(name, library, _NEAREST) or sorted(library)[:_NEAREST]
        raise NotFoundError.of(
            f"Function {name} is not defined.",
            facts={"functions in the library": f"{len(library)}", "nearest": ", ".join(near) or "none"},
        )


def function_graph(graph_def: GraphDef, name: str, catalogue: Catalogue) -> GraphDef:
    """Return a function's body as a `GraphDef` with the whole library.

    Args:
        graph_def: a `GraphDef` whose library contains the function.
        name: name of the function.
        catalogue: op catalogue, which defines the names of node outputs.

    Raises:
        NotFoundError: the function does not exist, or has attributes that only a call defines.
        InvalidArgumentError: the function is invalid.
    """
    library = functions_by_name(graph_def.library.function, catalogue.ops)
    check_function(library, name)
    op_defs = {key: decode_op_def(function.signature) for key, function in library.items()}
    bodies = Bodies(function_bodies(library), op_defs, catalogue)
    body = bodies.instance(name, {})
    arg_types, result_types = bodies.types(name, {})
    function = library[name]
    graph = GraphDef()
    graph.versions.CopyFrom(graph_def.versions)
    graph.library.CopyFrom(graph_def.library)
    names = [*body.args, *(node.name for node in body.nodes)]
    for index, (arg, dtype) in enumerate(zip(body.args, arg_types, strict=True)):
        node = graph.node.add(name=arg, op="_Arg")
        for key, value in function.arg_attr[index].attr.items() if index in function.arg_attr else ():
            node.attr[key].CopyFrom(value)
        node.attr["T"].type = dtype.as_datatype_enum
        node.attr["index"].i = index
    defaults = {attr.name: attr.default_value for attr in function.signature.attr}
    written = {node.name: node for node in function.node_def}
    for body_node, inputs, controls in zip(body.nodes, body.inputs, body.controls, strict=True):
        node = graph.node.add()
        node.CopyFrom(written[body_node.name])
        for key in [key for key, value in node.attr.items() if value.placeholder]:
            given_value = defaults.get(node.attr[key].placeholder)
            if given_value is None:
                del node.attr[key]
            else:
                node.attr[key].CopyFrom(given_value)
        node.input[:] = [
            *(f"{names[source]}:{output}" if output else names[source] for source, output in inputs),
            *(f"^{names[source]}" for source in controls),
        ]
    taken = set(names)
    for index, ((source, output), dtype, result) in enumerate(
        zip(body.results, result_types, _result_names(bodies, name), strict=True)
    ):
        while result in taken:
            result += "_"
        taken.add(result)
        node = graph.node.add(name=result, op="_Retval")
        node.input.append(f"{names[source]}:{output}" if output else names[source])
        node.attr["T"].type = dtype.as_datatype_enum
        node.attr["index"].i = index
    return graph


def _result_names(bodies: Bodies, name: str) -> list[str]:
    """Return the names of the `_Retval` nodes: the result argument's name, numbered for lists."""
    names = []
    for arg, count in bodies.result_counts(name, {}):
        names += [f"{arg}_RetVal"] if count == 1 else [f"{arg}_RetVal_{i}" for i in range(count)]
    return names
