"""Models from TensorFlow objects in this process: graphs, functions, Keras models, modules, and run metadata.

gpuplace does not import TensorFlow. It recognizes objects by their attributes and asks their TensorFlow to save them:

===================================  ==================================================================================
object                               model
===================================  ==================================================================================
``tf.Graph``, ``tf.Session``         the whole graph
Keras model                          the serving function, as ``model.export`` writes it
``tf.Module``, loaded SavedModel     the object's signatures, as ``tf.saved_model.save`` writes them
``tf.function``                      its only trace; otherwise the caller chooses one
``ConcreteFunction``                 its SavedModel, or a separate graph if no signature can have it
``FuncGraph``                        a separate graph: the body, captured variables, and arguments as feeds
``RunMetadata``                      the partition graphs: the nodes that ran, on their devices
===================================  ==================================================================================

Source: tensorflow/python/saved_model/save.py and python/eager/polymorphic_function/concrete_function.py, release 2.21.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graphdef.messages import GraphDef, MetaGraphDef
from gpuplace.graphdef.saved_model import SERVING

_TRACE = "pass one of its traces: fn.get_concrete_function(*arguments)"


def saved_object(value: object, load: Callable[[str], Any]) -> tuple[Any, str] | None:
    """Return the graph message of a TensorFlow object and the object's name; None for another object.

    Args:
        value: object to convert.
        load: function that opens a SavedModel folder.

    Raises:
        InvalidArgumentError: the object has no graph yet, or several, or TensorFlow cannot save it.
    """
    name = _name_of(value)
    if hasattr(value, "get_concrete_function"):
        value = _only_trace(value)
    if hasattr(value, "structured_outputs") and hasattr(value, "captured_inputs"):
        return _function(value, name, load), name
    if hasattr(value, "inputs") and hasattr(value, "captures") and hasattr(value, "as_graph_def"):
        return _function_graph(value), name
    graph = getattr(value, "graph", None)
    if hasattr(value, "run") and hasattr(graph, "as_graph_def"):
        value = graph
    if hasattr(value, "as_graph_def"):
        return value.as_graph_def(), ""
    if hasattr(value, "export") and hasattr(value, "trainable_variables"):
        quietly = {"verbose": False} if "verbose" in signature(value.export).parameters else {}
        return _exported(lambda folder: value.export(folder, **quietly), value, load), name
    if hasattr(value, "signatures") or hasattr(value, "trainable_variables"):
        signatures = dict(getattr(value, "signatures", None) or {}) or None
        message = _exported(lambda folder: _save(value, folder, signatures), value, load)
        return message, name
    if hasattr(value, "partition_graphs") and hasattr(value, "step_stats"):
        return _partitions(value), "RunMetadata"
    return None


def _name_of(value: object) -> str:
    """Return the name of an object for messages."""
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _tensorflow() -> Any:
    """Return the TensorFlow module that created an object; it is already loaded."""
    return sys.modules["tensorflow"]


def _only_trace(function: Any) -> Any:
    """Return the trace of a ``tf.function``, or the trace for its input signature."""
    if getattr(function, "input_signature", None) is not None:
        return function.get_concrete_function()
    list_all = getattr(function, "_list_all_concrete_functions", None)
    traces = [] if list_all is None else list_all()
    if len(traces) == 1:
        return traces[0]
    name = _name_of(function)
    if not traces:
        raise InvalidArgumentError.of(
            f"The tf.function '{name}' has no trace yet, so it has no graph",
            hint=f"call it first, or {_TRACE}",
        )
    raise InvalidArgumentError.of(
        f"The tf.function '{name}' has {len(traces)} traces, each with its own graph",
        facts={"traces": ", ".join(str(trace.name) for trace in traces)},
        hint=_TRACE,
    )


def _save(value: object, folder: str, signatures: Any) -> None:
    _tensorflow().saved_model.save(value, folder, signatures=signatures)


def _exported(save: Callable[[str], None], value: object, load: Callable[[str], Any]) -> Any:
    """Return TensorFlow's ``SavedModel`` message of an object."""
    with tempfile.TemporaryDirectory(prefix="gpuplace-") as folder:
        try:
            save(folder)
        except (
            ValueError,
            TypeError,
            AssertionError,
            RuntimeError,
            AttributeError,
            NotImplementedError,
        ) as error:
            raise InvalidArgumentError.of(
                f"TensorFlow cannot save the {type(value).__name__} '{_name_of(value)}'",
                facts={"because": str(error).strip().partition("\n")[0]},
                hint="call a Keras model once, or build it, so that its shapes are known; for a tf.Module, pass "
                "one of its functions: module.fn.get_concrete_function(*arguments)",
            ) from error
        message = load(folder).message
    if not any(
        key for graph in message.meta_graphs for key in graph.signature_def if not key.startswith("__")
    ):
        raise InvalidArgumentError.of(
            f"The {type(value).__name__} '{_name_of(value)}' has no signature that defines a step",
            hint="pass one of its functions: module.fn.get_concrete_function(*arguments)",
        )
    return message


def _function(function: Any, name: str, load: Callable[[str], Any]) -> Any:
    """Return a concrete function as a SavedModel with one signature, or as a separate graph."""
    keeper = _tensorflow().Module(name="saved")
    keeper.kept = list(function.graph.variables)

    def save(folder: str) -> None:
        _save(keeper, folder, {SERVING: function})

    try:
        return _exported(save, function, load)
    except InvalidArgumentError:  # no signature can have nested results or captured tables
        return _function_graph(function.graph)


def _function_graph(graph: Any) -> Any:
    """Return a function body as a ``MetaGraphDef``, with placeholders for arguments and variables for captures."""
    made = MetaGraphDef()
    made.meta_info_def.tensorflow_version = str(_tensorflow().__version__)
    made.graph_def.MergeFrom(GraphDef.FromString(graph.as_graph_def(add_shapes=True).SerializeToString()))
    nodes = {node.name: node for node in made.graph_def.node}
    handles = {id(variable.handle): variable for variable in graph.variables}
    captured = set()
    for outside, inside in graph.captures:
        captured.add(id(inside))
        variable = handles.get(id(outside))
        if variable is not None:
            _as_variable(nodes[inside.op.name], variable)
    chosen = made.signature_def[SERVING]
    for tensor in graph.inputs:
        if id(tensor) not in captured:
            _describe(chosen.inputs[tensor.op.name], tensor)
    for number, tensor in enumerate(graph.outputs):
        _describe(chosen.outputs[f"output_{number}"], tensor)
    return made


def _as_variable(node: Any, variable: Any) -> None:
    """Replace a placeholder with the variable that it stands for."""
    shape = node.attr["_output_shapes"].list.shape[:]
    node.op = "VarHandleOp"
    node.attr.clear()
    node.attr["dtype"].type = variable.dtype.as_datatype_enum
    node.attr["shape"].shape.MergeFromString(variable.shape.as_proto().SerializeToString())
    node.attr["shared_name"].s = variable.name.partition(":")[0].encode()
    node.attr["_output_shapes"].list.shape.extend(shape)


def _describe(info: Any, tensor: Any) -> None:
    info.name = tensor.name
    info.dtype = tensor.dtype.as_datatype_enum
    info.tensor_shape.MergeFromString(tensor.shape.as_proto().SerializeToString())


def _partitions(metadata: Any) -> Any:
    """Return the graph that ran: the nodes of all partitions, which request the devices that they ran on."""
    graphs = list(metadata.partition_graphs) or [
        graph for function in getattr(metadata, "function_graphs", ()) for graph in function.partition_graphs
    ]
    if not graphs:
        raise InvalidArgumentError.of(
            "The RunMetadata contains measurements but no graph",
            hint="run with RunOptions(output_partition_graphs=True), pass the graph that ran, or use "
            "gpuplace.timeline(run_metadata)",
        )
    return merged(graphs)


def merged(graphs: Iterable[Any]) -> Any:
    """Merge the ``GraphDef`` messages of partitions; the first node of each name is kept.

    Args:
        graphs: ``GraphDef`` messages.
    """
    made = GraphDef()
    names: set[str] = set()
    for graph in graphs:
        own = GraphDef.FromString(graph.SerializeToString())
        made.versions.MergeFrom(own.versions)
        known = {function.signature.name for function in made.library.function}
        made.library.function.extend(
            function for function in own.library.function if function.signature.name not in known
        )
        made.node.extend(node for node in own.node if node.name not in names)
        names.update(node.name for node in own.node)
    return made
