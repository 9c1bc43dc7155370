"""Objects of a TensorFlow in this process as models: graphs, functions, Keras models, modules, and run metadata.

gpuplace imports no TensorFlow. It tells objects by what they have, and asks the TensorFlow that made them to save them:

===================================  ==================================================================================
object                               model
===================================  ==================================================================================
``tf.Graph``, ``tf.Session``         the graph, whole
Keras model                          what ``model.export`` writes: its serving function
``tf.Module``, loaded SavedModel     what ``tf.saved_model.save`` writes, with the object's signatures
``tf.function``                      its only trace; of several, or none, the caller names one
``ConcreteFunction``                 its SavedModel; one that no signature can have, as a graph of its own
``FuncGraph``                        a graph of its own: the body, its captured variables, arguments that are fed
``RunMetadata``                      the partition graphs: what ran, on the devices where it ran
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

_TRACE = "give one of its traces: fn.get_concrete_function(*arguments)"


def saved_object(value: Any, load: Callable[[str], Any]) -> tuple[Any, str] | None:
    """A message with the graph of an object of TensorFlow's and the object's name; None for another object.

    Args:
        value: the object.
        load: what opens the folder of a SavedModel.

    Raises:
        InvalidArgumentError: the object has no graph yet, or more than one, or TensorFlow cannot save it.
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


def _name_of(value: Any) -> str:
    """What texts call an object."""
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _tensorflow() -> Any:
    """The TensorFlow that made an object, which is loaded therefore."""
    return sys.modules["tensorflow"]


def _only_trace(function: Any) -> Any:
    """The trace of a ``tf.function``, or the one that its input signature gives."""
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
        f"The tf.function '{name}' has {len(traces)} traces, each a graph of its own",
        facts={"traces": ", ".join(str(trace.name) for trace in traces)},
        hint=_TRACE,
    )


def _save(value: Any, folder: str, signatures: Any) -> None:
    _tensorflow().saved_model.save(value, folder, signatures=signatures)


def _exported(save: Callable[[str], None], value: Any, load: Callable[[str], Any]) -> Any:
    """The ``SavedModel`` message of an object that TensorFlow saves."""
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
                hint="call a Keras model once, or build it, so that its shapes are known; of a tf.Module, give one of "
                "its functions: module.fn.get_concrete_function(*arguments)",
            ) from error
        message = load(folder).message
    if not any(
        key for graph in message.meta_graphs for key in graph.signature_def if not key.startswith("__")
    ):
        raise InvalidArgumentError.of(
            f"The {type(value).__name__} '{_name_of(value)}' has no signature, so it does not say what a step is",
            hint="give one of its functions: module.fn.get_concrete_function(*arguments)",
        )
    return message


def _function(function: Any, name: str, load: Callable[[str], Any]) -> Any:
    """A concrete function as the SavedModel that has it as its only signature; otherwise as a graph of its own."""
    keeper = _tensorflow().Module(name="saved")
    keeper.kept = list(function.graph.variables)

    def save(folder: str) -> None:
        _save(keeper, folder, {SERVING: function})

    try:
        return _exported(save, function, load)
    except InvalidArgumentError:  # nested results, tables it has captured: no signature can have them
        return _function_graph(function.graph)


def _function_graph(graph: Any) -> Any:
    """A ``MetaGraphDef`` with a function's body: arguments are placeholders, captured variables are variables."""
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
    """Put the variable in the place of the placeholder that stands for it."""
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
    """The graph that ran: the nodes of all partitions, which ask for the devices that they ran on."""
    graphs = list(metadata.partition_graphs) or [
        graph for function in getattr(metadata, "function_graphs", ()) for graph in function.partition_graphs
    ]
    if not graphs:
        raise InvalidArgumentError.of(
            "The RunMetadata holds no graph, only what was measured",
            hint="ask for it with RunOptions(output_partition_graphs=True), give the graph that ran, or "
            "gpuplace.timeline(run_metadata)",
        )
    return merged(graphs)


def merged(graphs: Iterable[Any]) -> Any:
    """One ``GraphDef`` of partitions; of nodes of one name the first.

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
