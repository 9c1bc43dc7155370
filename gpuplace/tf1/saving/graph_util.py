"""``tf.graph_util``: subgraphs of GraphDefs, and variables frozen into constants.

Source: tensorflow/python/framework/graph_util_impl.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.dtypes import dtype_of_number
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import CONTROL_FLOW_PASSING, REFERENCE_VARIABLES, VARIABLE_CHANGES
from gpuplace.graph.operation import Operation
from gpuplace.graphdef.messages import GraphDef, Message, NodeDef
from gpuplace.graphdef.tensor_proto import make_tensor_proto
from gpuplace.shapes import TensorShape

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

_STITCHES = ("DynamicStitch", "ParallelDynamicStitch")


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Return whether TensorFlow's device functions keep a node off GPUs.

    Args:
        node: an operation or ``NodeDef``.
        pin_variables_on_cpu: whether variables and ops that change them count too.

    Raises:
        AssertionError: ``node`` is neither.
    """
    node_def: Any = node.node_def if isinstance(node, Operation) else node
    if getattr(getattr(node_def, "DESCRIPTOR", None), "name", "") != "NodeDef":
        raise AssertionError(f"node must be an Operation or a NodeDef, not {type(node).__name__}")
    if pin_variables_on_cpu and node_def.op in VARIABLE_CHANGES:
        return True
    attr, types = {
        "Const": ("dtype", ("string", "int32")),
        **dict.fromkeys(_STITCHES, ("T", ("int32",))),
        "Cast": ("SrcT", ("int32",)),
    }.get(node_def.op, ("", ()))
    return bool(attr) and dtype_of_number(node_def.attr[attr].type).name in types


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """Return the subgraph that some nodes need.

    Args:
        graph_def: a ``GraphDef``.
        dest_nodes: list of the nodes' names.

    Returns:
        A ``GraphDef``, with all functions.

    Raises:
        TypeError: ``graph_def`` is not such a message, or ``dest_nodes`` is a string.
        AssertionError: there is no such node.
    """
    graph_def = _as_graph_def(graph_def)
    if isinstance(dest_nodes, str | bytes):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    kept: set[str] = set()
    waiting = list(dest_nodes)
    while waiting:
        name = waiting.pop()
        if name in kept or name not in nodes:
            continue
        kept.add(name)
        node = nodes[name]
        waiting += [_node_name(text) for text in node.input]
        groups = [group.decode() for group in node.attr["_class"].list.s] if "_class" in node.attr else []
        waiting += [group.removeprefix("loc:@") for group in groups if group.startswith("loc:@")]
    subgraph = GraphDef()
    subgraph.node.extend(node for node in graph_def.node if node.name in kept)
    subgraph.library.CopyFrom(graph_def.library)
    subgraph.versions.CopyFrom(graph_def.versions)
    return subgraph


def _as_graph_def(graph_def: Any) -> Any:
    if isinstance(graph_def, GraphDef):
        return graph_def
    if isinstance(graph_def, Message) and graph_def.DESCRIPTOR.name == "GraphDef":  # TensorFlow's own
        return GraphDef.FromString(graph_def.SerializeToString())
    raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")


def _node_name(text: str) -> str:
    return text[1:] if text.startswith("^") else text.partition(":")[0]


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Return the shape of a tensor, given its name as a node input.

    Args:
        graph: its graph.
        input_name: ``"node"`` or ``"node:output"``.

    Raises:
        KeyError: there is no such tensor.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).get_shape()


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """Return the subgraph that some nodes need, with the variables' values as constants.

    Args:
        sess: the session with the variables' values.
        input_graph_def: a ``GraphDef``.
        output_node_names: list of the nodes' names.
        variable_names_whitelist: the variables to convert; None for all.
        variable_names_blacklist: variables not to convert, or None.

    Returns:
        A ``GraphDef``. Converted nodes no longer request a device.

    Raises:
        ValueError: a variable is read through an unsupported op.
        AssertionError: there is no such node.
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {node.name: node for node in part.node}
    reads: dict[str, str] = {}
    passing: dict[str, Any] = {}
    for node in part.node:
        if node.op in REFERENCE_VARIABLES or node.op == "VarHandleOp":
            if variable_names_whitelist is not None and node.name not in variable_names_whitelist:
                continue
            if variable_names_blacklist is not None and node.name in variable_names_blacklist:
                continue
            is_resource = node.op == "VarHandleOp"
            reads[node.name] = f"{node.name}/Read/ReadVariableOp:0" if is_resource else f"{node.name}:0"
        elif node.op in ("ReadVariableOp", "ResourceGather"):
            _record_passing_nodes(node, nodes, passing)
    values = dict(zip(reads, sess.run(list(reads.values())))) if reads else {}
    tf_logging.info("Froze %d variables.", len(values))
    frozen = GraphDef()
    for node in part.node:
        if node.name in values:
            frozen.node.append(_constant(node.name, node.attr["dtype"], values[node.name]))
        elif node.name in passing:
            changed = frozen.node.add(op=node.op, name=node.name, input=node.input)
            for name, value in node.attr.items():
                if name != "_output_shapes":
                    changed.attr[name].CopyFrom(value)
            changed.attr["T"].CopyFrom(passing[node.name])
        elif node.op == "ReadVariableOp":
            changed = frozen.node.add(op="Identity", name=node.name, input=node.input[:1])
            _copy_attrs(node, changed, {"T": "dtype"})
        elif node.op == "ResourceGather":
            if node.attr["batch_dims"].i != 0:
                raise ValueError("batch_dims != 0 is not supported by freeze_graph.")
            axis = f"{node.name}/axis"
            frozen.node.append(_constant(axis, node.attr["Tindices"], 0))
            changed = frozen.node.add(op="GatherV2", name=node.name, input=[*node.input[:2], axis])
            _copy_attrs(node, changed, {"Tparams": "dtype", "Tindices": "Tindices", "Taxis": "Tindices"})
        else:
            frozen.node.append(node)
    frozen.library.CopyFrom(part.library)
    tf_logging.info("Converted %d variables to const ops.", len(values))
    return frozen


def _record_passing_nodes(node: Any, nodes: Mapping[str, Any], passing: dict[str, Any]) -> None:
    """Record the nodes that pass a variable's handle to its read, with the variable's dtype."""
    waiting = [_node_name(node.input[0])]
    while waiting:
        name = waiting.pop()
        source = nodes[name]
        if source.op in CONTROL_FLOW_PASSING:
            if name not in passing:
                passing[name] = node.attr["dtype"]
                waiting += [_node_name(text) for text in source.input[: 2 if source.op == "Merge" else 1]]
        elif source.op != "VarHandleOp":
            raise ValueError("Cannot find the variable that is an input to the ReadVariableOp.")


def _constant(name: str, dtype: Any, value: Any) -> Any:
    constant = NodeDef(op="Const", name=name)
    constant.attr["dtype"].CopyFrom(dtype)
    constant.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtype_of_number(dtype.type)))
    return constant


def _copy_attrs(node: Any, changed: Any, attrs: Mapping[str, str]) -> None:
    for name, source in attrs.items():
        changed.attr[name].CopyFrom(node.attr[source])
    if "_class" in node.attr:
        changed.attr["_class"].CopyFrom(node.attr["_class"])


def remove_training_nodes(input_graph: Any, protected_nodes: Collection[str] | None = None) -> Any:
    """Return a graph without nodes that only training needs: numeric checks and identities.

    Args:
        input_graph: a ``GraphDef``.
        protected_nodes: names of nodes to keep, or None.

    Returns:
        A ``GraphDef``. Identities with control inputs or outputs are kept too.

    Raises:
        TypeError: ``input_graph`` is not such a message.
    """
    graph_def = _as_graph_def(input_graph)
    protected = set(protected_nodes or ())
    checks = {
        node.name: node.input[0]
        for node in graph_def.node
        if node.op == "CheckNumerics" and node.name not in protected
    }
    without = [_bypass_removed(node, checks) for node in graph_def.node if node.name not in checks]
    waited_for = {text[1:] for node in without for text in node.input if text.startswith("^")}
    identities = {
        node.name: node.input[0]
        for node in without
        if node.op == "Identity"
        and node.name not in protected
        and node.name not in waited_for
        and not any(text.startswith("^") for text in node.input)
    }
    pruned = GraphDef()
    pruned.node.extend(_bypass_removed(node, identities) for node in without if node.name not in identities)
    return pruned


def _bypass_removed(node: Any, removed: Mapping[str, str]) -> Any:
    """Return a node whose inputs bypass removed nodes; control inputs from removed nodes are dropped."""
    copied = NodeDef()
    copied.CopyFrom(node)
    del copied.input[:]
    for text in node.input:
        if text.startswith("^") and text[1:] in removed:
            continue
        while _node_name(text) in removed:
            text = removed[_node_name(text)]
        copied.input.append(text)
    return copied
