"""The body of a library's function as a graph of its own: `_Arg` nodes, the nodes of the function, `_Retval` nodes.

TensorFlow places such a graph for every function that it calls and does not copy into its caller::

    def add(x, y) -> sum        x (_Arg 0) ─┬─> plus (AddV2) ─> sum_RetVal (_Retval 0)
      plus = AddV2(x, y)        y (_Arg 1) ─┘
      return plus:z:0

A caller pins arguments and results to the devices where it has them. Here there is no caller, and nothing is pinned.

Source: InstantiateFunction in tensorflow/core/framework/function.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from gpuplace.errors import NotFoundError
from gpuplace.graphdef.attr_values import decode_op_def
from gpuplace.graphdef.functions import function_bodies, functions_by_name
from gpuplace.graphdef.messages import GraphDef
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.lowering.bodies import Bodies

_NEAREST = 5


def check_function(library: Collection[str], name: str) -> None:
    """NotFoundError, with the nearest names that there are, if a library has no function of this name."""
    if name not in library:
        near = difflib.get_close_matches(name, library, _NEAREST) or sorted(library)[:_NEAREST]
        raise NotFoundError.of(
            f"Function {name} is not defined.",
            facts={"functions in the library": f"{len(library)}", "nearest": ", ".join(near) or "none"},
        )


def function_graph(graph_def: Any, name: str, catalogue: Catalogue) -> Any:
    """A function's body as a `GraphDef`, with the whole library.

    Args:
        graph_def: a `GraphDef` whose library has the function.
        name: the function.
        catalogue: the ops, which say what the outputs of nodes are called.

    Raises:
        NotFoundError: no such function; or it has attributes that only a call gives it.
        InvalidArgumentError: the function is not sound.
    """
    library = functions_by_name(graph_def.library.function, catalogue.ops)
    check_function(library, name)
    op_defs = {key: decode_op_def(function.signature) for key, function in library.items()}
    bodies = Bodies(function_bodies(library), op_defs, catalogue)
    body = bodies.instance(name, {})
    wanted, given = bodies.types(name, {})
    function = library[name]
    made = GraphDef()
    made.versions.CopyFrom(graph_def.versions)
    made.library.CopyFrom(graph_def.library)
    names = [*body.args, *(node.name for node in body.nodes)]
    for index, (arg, dtype) in enumerate(zip(body.args, wanted, strict=True)):
        node = made.node.add(name=arg, op="_Arg")
        for key, value in function.arg_attr[index].attr.items() if index in function.arg_attr else ():
            node.attr[key].CopyFrom(value)
        node.attr["T"].type = dtype.as_datatype_enum
        node.attr["index"].i = index
    defaults = {attr.name: attr.default_value for attr in function.signature.attr}
    written = {node.name: node for node in function.node_def}
    for known, inputs, controls in zip(body.nodes, body.inputs, body.controls, strict=True):
        node = made.node.add()
        node.CopyFrom(written[known.name])
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
        zip(body.results, given, _result_names(bodies, name), strict=True)
    ):
        while result in taken:
            result += "_"
        taken.add(result)
        node = made.node.add(name=result, op="_Retval")
        node.input.append(f"{names[source]}:{output}" if output else names[source])
        node.attr["T"].type = dtype.as_datatype_enum
        node.attr["index"].i = index
    return made


def _result_names(bodies: Bodies, name: str) -> list[str]:
    """Names of the `_Retval` nodes: after the result argument, numbered in a list of several."""
    found = []
    for arg, count in bodies.result_counts(name, {}):
        found += [f"{arg}_RetVal"] if count == 1 else [f"{arg}_RetVal_{i}" for i in range(count)]
    return found
