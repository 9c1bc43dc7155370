"""A ``FunctionDef`` as a graph with placeholders for its arguments, ``function_def_to_graph`` of TensorFlow.

Within a function a tensor is named by node, output argument and number, ``split:output:1``; in a graph by its position
among all outputs of the node, ``split:1``.

Source: tensorflow/python/framework/function_def_to_graph.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_def import OpDef, op_registry
from gpuplace.graphdef.attr_values import decode_attrs, encode_attr
from gpuplace.graphdef.export import version_def
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.messages import FunctionDef, GraphDef
from gpuplace.shapes import as_shape
from gpuplace.typing import ShapeLike


def function_def_to_graph_def(
    fdef: Any, input_shapes: Sequence[ShapeLike] | None = None, copy_functions: bool = True
) -> tuple[Any, dict[str, str]]:
    """A function as a graph whose first nodes are placeholders for its arguments.

    Args:
        fdef: the function.
        input_shapes: those of the arguments, None for one that is not known; None: as the function has them.
        copy_functions: put the functions of the default graph's library into that of the message.

    Returns:
        A ``GraphDef``, and the name of each tensor within the function with its name in the graph.

    Raises:
        ValueError: another number of shapes than of arguments.
    """
    outer, args = get_default_graph(), fdef.signature.input_arg
    if input_shapes is not None and len(input_shapes) != len(args):
        raise ValueError(
            f"Length of input_shapes must match the number of input_args. len(input_shapes): {len(input_shapes)}"
            f" len(input_arg): {len(args)}"
        )
    made = GraphDef(versions=version_def(outer))
    names: dict[str, str] = {}
    for number, arg in enumerate(args):
        node = made.node.add(name=arg.name, op="Placeholder")
        node.attr["dtype"].type = arg.type
        shape = None if input_shapes is None else input_shapes[number]
        if shape is not None:
            encode_attr(as_shape(shape), node.attr["shape"])
        for key, value in fdef.arg_attr[number].attr.items() if number in fdef.arg_attr else ():
            node.attr["shape" if key == "_output_shapes" else key].CopyFrom(
                _only_shape(value) if key == "_output_shapes" else value
            )
        names[arg.name], names[f"^{arg.name}"] = f"{arg.name}:0", f"^{arg.name}"
    for known in fdef.node_def:
        names[f"^{known.name}"] = f"^{known.name}"
        for arg_name, positions in _op_def(outer, known.op).output_ranges(decode_attrs(known.attr)).items():
            for number, position in enumerate(positions):
                names[f"{known.name}:{arg_name}:{number}"] = f"{known.name}:{position}"
    for known in fdef.node_def:
        node = made.node.add()
        node.CopyFrom(known)
        node.input[:] = [names[name] for name in known.input]
    if copy_functions:
        for serialised in outer.functions.values():
            made.library.function.append(FunctionDef.FromString(serialised))
    return made, names


def _only_shape(value: Any) -> Any:
    """The attribute with the one shape of a list."""
    made = type(value)()
    made.shape.CopyFrom(value.list.shape[0])
    return made


def _op_def(graph: Graph, op_type: str) -> OpDef:
    return graph.function_op_defs.get(op_type) or op_registry().lookup(op_type)


def fill_func_graph(graph: Any, fdef: Any, input_shapes: Sequence[ShapeLike] | None = None) -> None:
    """Puts the nodes of a function into an empty graph of one, with its arguments, results and what runs besides.

    Args:
        graph: the graph, a `FuncGraph`.
        fdef: the function, a message or its bytes.
        input_shapes: those of the arguments, None for one that is not known; None: as the function has them.

    Raises:
        ValueError: another number of shapes than of arguments.
    """
    if isinstance(fdef, bytes):
        fdef = FunctionDef.FromString(fdef)
    message, names = function_def_to_graph_def(fdef, input_shapes, copy_functions=False)
    with graph.as_default():
        import_graph_def(message, name="")
    graph.args = [graph.get_tensor_by_name(f"{arg.name}:0") for arg in fdef.signature.input_arg]
    graph.outputs = [graph.get_tensor_by_name(names[fdef.ret[arg.name]]) for arg in fdef.signature.output_arg]
    graph.control_outputs = [
        graph.get_operation_by_name(fdef.control_ret[name]) for name in fdef.signature.control_output
    ]
