"""TensorFlow's ``function_def_to_graph``: a ``FunctionDef`` as a graph with placeholders for its arguments.

Within a function, a tensor is named by node, output argument and number, ``split:output:1``; in a graph by its position
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
    """Convert a function to a graph that starts with placeholders for its arguments.

    Args:
        fdef: function message.
        input_shapes: shapes of the arguments, each None if unknown; None: those of the function.
        copy_functions: whether to copy the functions of the default graph's library to the message.

    Returns:
        A ``GraphDef``, and a dict from tensor names within the function to names in the graph.

    Raises:
        ValueError: the numbers of shapes and arguments differ.
    """
    outer, args = get_default_graph(), fdef.signature.input_arg
    if input_shapes is not None and len(input_shapes) != len(args):
        raise ValueError(
            f"Length of input_shapes must match the number of input_args. len(input_shapes): {len(input_shapes)}"
            f" len(input_arg): {len(args)}"
        )
    graph_def = GraphDef(versions=version_def(outer))
    names: dict[str, str] = {}
    for number, arg in enumerate(args):
        node = graph_def.node.add(name=arg.name, op="Placeholder")
        node.attr["dtype"].type = arg.type
        shape = None if input_shapes is None else input_shapes[number]
        if shape is not None:
            encode_attr(as_shape(shape), node.attr["shape"])
        for key, value in fdef.arg_attr[number].attr.items() if number in fdef.arg_attr else ():
            node.attr["shape" if key == "_output_shapes" else key].CopyFrom(
                _only_shape(value) if key == "_output_shapes" else value
            )
        names[arg.name], names[f"^{arg.name}"] = f"{arg.name}:0", f"^{arg.name}"
    for function_node in fdef.node_def:
        names[f"^{function_node.name}"] = f"^{function_node.name}"
        for arg_name, positions in (
            _op_def(outer, function_node.op).output_ranges(decode_attrs(function_node.attr)).items()
        ):
            for number, position in enumerate(positions):
                names[f"{function_node.name}:{arg_name}:{number}"] = f"{function_node.name}:{position}"
    for function_node in fdef.node_def:
        node = graph_def.node.add()
        node.CopyFrom(function_node)
        node.input[:] = [names[name] for name in function_node.input]
    if copy_functions:
        for serialized in outer.functions.values():
            graph_def.library.function.append(FunctionDef.FromString(serialized))
    return graph_def, names


def _only_shape(value: Any) -> Any:
    """Return the attribute with the only shape of a list."""
    attr = type(value)()
    attr.shape.CopyFrom(value.list.shape[0])
    return attr


def _op_def(graph: Graph, op_type: str) -> OpDef:
    return graph.function_op_defs.get(op_type) or op_registry().lookup(op_type)


def fill_func_graph(graph: Any, fdef: Any, input_shapes: Sequence[ShapeLike] | None = None) -> None:
    """Add the nodes of a function to an empty function graph, with its arguments, results and control outputs.

    Args:
        graph: empty `FuncGraph`.
        fdef: function message, or its bytes.
        input_shapes: shapes of the arguments, each None if unknown; None: those of the function.

    Raises:
        ValueError: the numbers of shapes and arguments differ.
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
