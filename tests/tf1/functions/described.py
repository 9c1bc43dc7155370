"""A ``GraphDef`` in words that are the same from process to process: the numbers in names of functions are left out."""

import json
import re

LEFT_OUT = ("config_proto", "executor_type", "_gradient_op_type", "_user_specified_name")
"""Attributes that differ from process to process, or by release of the protocol."""


def plain(name):
    """The name of a function without numbers."""
    return re.sub(r"_\d+(?=_|$)", "", name)


def _value(value):
    kind = value.WhichOneof("value")
    if kind == "func":
        return plain(value.func.name)
    if kind == "list" and value.list.func:
        return [plain(one.name) for one in value.list.func]
    return "tensor" if kind == "tensor" else str(value).strip()


def _node(node):
    attrs = {key: _value(value) for key, value in sorted(node.attr.items()) if key not in LEFT_OUT}
    inputs = [name for name in node.input if not name.startswith("^")]
    controls = sorted(
        name for name in node.input if name.startswith("^")
    )  # TensorFlow writes them in this order
    return [node.name, node.op, inputs + controls, node.device, attrs]


def _function(function):
    results = [[arg.name, function.ret[arg.name]] for arg in function.signature.output_arg]
    return {
        "name": plain(function.signature.name),
        "args": [arg.name for arg in function.signature.input_arg],
        "results": results,
        "nodes": [_node(node) for node in function.node_def],
        "control": sorted(list(pair) for pair in function.control_ret.items()),
    }


def described(graph_def):
    """The nodes of a graph, and the functions of its library in an order that does not depend on their numbers.

    Args:
        graph_def: the graph.
    """
    functions = [_function(function) for function in graph_def.library.function]
    return {
        "nodes": [_node(node) for node in graph_def.node],
        "functions": sorted(functions, key=lambda one: json.dumps(one, sort_keys=True)),
    }
