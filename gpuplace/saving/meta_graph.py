"""Meta graphs: write and read a graph with its variables, loops, savers and collections.

    graph ──export_meta_graph──> MetaGraphDef: graph_def, saver_def, collection_def ──import_meta_graph──> graph, saver

The items of a collection are written as node names, numbers and texts, or as messages by functions that are registered
for the collection (``register_proto_functions``).

Source: tensorflow/python/framework/meta_graph.py and tensorflow/python/training/saver.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace import tf_logging
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_def import op_registry
from gpuplace.graph.op_sets import SAVE_AND_RESTORE_OPS
from gpuplace.graphdef.attr_values import encode_op_def
from gpuplace.graphdef.export import as_graph_def, write_graph
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.messages import (
    AnyProto,
    DecodeError,
    EncodeError,
    GraphDef,
    Message,
    MetaGraphDef,
    NodeDef,
    OpList,
    SaverDef,
    text_format,
)
from gpuplace.release import NUMBERS, TAGS, get_release
from gpuplace.saving.names import prepend_name_scope, strip_name_scope

__all__ = [
    "export_meta_graph",
    "import_scoped_meta_graph_with_return_elements",
    "read_meta_graph_file",
    "register_proto_functions",
    "strip_default_attrs_of",
]

_UNBOUND = "$unbound_inputs_"
"""Prefix of the names of inputs from outside an exported scope."""
_UNBOUND_COLLECTION = "unbound_inputs"
_FIRST_WITH_TRAINABLE = (1, 9)
"""The first release whose variables record whether they are trainable."""
_VARIABLE_COLLECTIONS = frozenset(
    {
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.METRIC_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        GraphKeys.CONCATENATED_VARIABLES,
    }
)


class _ProtoFunctions(NamedTuple):
    message: Any
    to_proto: Callable[..., Any]
    from_proto: Callable[..., Any]


_proto_functions: dict[str, _ProtoFunctions] = {}


def register_proto_functions(
    collection: str, message: Any, to_proto: Callable[..., Any], from_proto: Callable[..., Any]
) -> None:
    """Register the conversion of a collection's items to and from messages.

    Args:
        collection: name of the collection.
        message: class of the messages.
        to_proto: function of an item and ``export_scope``; it returns a message, or None for an item outside the scope.
        from_proto: function of a message and ``import_scope``; it returns the item.
    """
    _proto_functions[collection] = _ProtoFunctions(message, to_proto, from_proto)


def proto_class(collection: str) -> Any:
    """Return the message class of a collection; None if its items are not written as messages."""
    found = _proto_functions.get(collection)
    return None if found is None else found.message


# Export


def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    unbound_inputs_col_name: str | None = _UNBOUND_COLLECTION,
) -> Any:
    """Return a graph with its variables and collections as a ``MetaGraphDef``, and optionally write it to a file.

    Args:
        filename: path of the file; None: do not write a file.
        meta_info_def: metadata of the message; None: only the release.
        graph_def: nodes of the graph; None: those of ``graph``.
        saver_def: saver to include, or None.
        collection_list: names of the collections; None: all.
        as_text: write protobuf's text format.
        graph: graph to export; None: the default graph.
        export_scope: export only this scope, without its prefix in names; None: everything.
        clear_devices: remove device requests.
        clear_extraneous_savers: remove the operations of other savers.
        strip_default_attrs: omit attributes that have their default values.
        save_debug_info: ignored; stack traces are not written.
        unbound_inputs_col_name: collection for inputs from outside the scope, or None.

    Returns:
        The message.

    Raises:
        TypeError: an argument has the wrong message type.
        ValueError: the graph exceeds the size limit of messages.
        OSError: the file cannot be written.
    """
    for what, value, kind in (
        ("graph", graph, Graph),
        ("meta_info_def", meta_info_def, MetaGraphDef.MetaInfoDef),
        ("graph_def", graph_def, GraphDef),
        ("saver_def", saver_def, SaverDef),
    ):
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{what} must be of type {kind.__name__}, not {type(value)}")
    graph = graph or get_default_graph()
    whole = as_graph_def(graph, add_shapes=True) if graph_def is None else graph_def
    excluded: Collection[str] = ()
    if export_scope or clear_extraneous_savers or clear_devices:
        if clear_extraneous_savers:
            excluded = _nodes_of_other_savers(whole, saver_def)
        whole, unbound = _part(whole, export_scope, excluded, clear_devices)
        if unbound_inputs_col_name:
            graph.clear_collection(unbound_inputs_col_name)
            for name in unbound:
                graph.add_to_collection(unbound_inputs_col_name, name)
    meta_graph = MetaGraphDef()
    if meta_info_def is not None:
        meta_graph.meta_info_def.CopyFrom(meta_info_def)
    meta_graph.meta_info_def.tensorflow_version = NUMBERS[get_release()]
    meta_graph.meta_info_def.tensorflow_git_version = TAGS[get_release()]
    meta_graph.graph_def.CopyFrom(whole)
    if not meta_graph.meta_info_def.stripped_op_list.op:
        meta_graph.meta_info_def.stripped_op_list.CopyFrom(op_list(meta_graph.graph_def))
    if strip_default_attrs:
        strip_default_attrs_of(meta_graph)
    if saver_def is not None:
        meta_graph.saver_def.CopyFrom(saver_def)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        items = graph.get_collection(key)
        if clear_extraneous_savers and key == GraphKeys.SAVERS and saver_def is not None:
            items = [_proto_functions[key].from_proto(saver_def)]
        _add_collection(meta_graph, key, items, export_scope, excluded)
    if filename is not None:
        _check_size(meta_graph)
        folder, name = os.path.split(os.fspath(filename))
        write_graph(meta_graph, folder, name, as_text=as_text)
    return meta_graph


def _check_size(message: Any) -> None:
    try:
        message.SerializeToString()
    except (EncodeError, ValueError):
        raise ValueError("GraphDef cannot be larger than 2GB.") from None


def _part(
    graph_def: GraphDef, scope: str | None, excluded: Collection[str], clear_devices: bool
) -> tuple[Any, list[str]]:
    """Return the nodes of a scope as a ``GraphDef``, and the inputs from outside the scope."""
    made = GraphDef()
    made.versions.CopyFrom(graph_def.versions)
    made.library.CopyFrom(graph_def.library)
    unbound: list[str] = []
    for node in graph_def.node:
        if _is_included(node.name, scope, excluded):
            made.node.append(_scoped_node(node, scope, unbound, clear_devices))
    return made, unbound


def _scoped_node(node: Any, scope: str | None, unbound: list[str], clear_devices: bool) -> NodeDef:
    """Return a node without a scope in its names; record its inputs from outside the scope."""
    copy = NodeDef()
    copy.CopyFrom(node)
    copy.name = strip_name_scope(node.name, scope)
    for index, name in enumerate(node.input):
        if scope and not name.lstrip("^").startswith(scope):
            mark = "^" if name.startswith("^") else ""
            copy.input[index] = mark + _UNBOUND + name.lstrip("^")
            unbound.append(copy.input[index])
        else:
            copy.input[index] = strip_name_scope(name, scope)
    if "_class" in node.attr:
        groups = node.attr["_class"].list.s
        kept = [
            strip_name_scope(group, scope).encode()
            for group in groups
            if not scope or group.decode().partition("@")[2].startswith(scope)
        ]
        copy.attr["_class"].list.ClearField("s")
        copy.attr["_class"].list.s.extend(kept)
        copy.attr["_class"].list.SetInParent()
    if node.op in ("Enter", "RefEnter"):
        copy.attr["frame_name"].s = strip_name_scope(node.attr["frame_name"].s, scope).encode()
    if clear_devices:
        copy.device = ""
    return copy


def _is_included(name: str, scope: str | None, excluded: Collection[str]) -> bool:
    if name in excluded or name.partition(":")[0] in excluded:
        return False
    return name.startswith(_UNBOUND) or not scope or name.startswith(scope)


def _op_name(name: str) -> str:
    return name.lstrip("^").partition(":")[0]


def _nodes_of_other_savers(graph_def: Any, saver_def: Any) -> set[str]:
    """Return the nodes in the scopes of other savers."""
    scopes = {
        _scope_of(node.name)
        for node in graph_def.node
        if node.op in SAVE_AND_RESTORE_OPS and "/" in node.name
    }
    if saver_def is not None:
        scopes -= {_scope_of(_op_name(saver_def.save_tensor_name)), _scope_of(saver_def.restore_op_name)}
    return {node.name for node in graph_def.node if any(node.name.startswith(scope) for scope in scopes)}


def _scope_of(name: str) -> str:
    return name.rpartition("/")[0] + "/"


def op_list(graph_def: GraphDef) -> Any:
    """Return the signatures of the ops in a graph and its functions."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    used: set[str] = set()
    waiting = {node.op for node in graph_def.node}
    while waiting:
        used |= waiting
        waiting = {
            node.op for name in waiting if name in functions for node in functions[name].node_def
        } - used
    registry = op_registry()
    found = [registry.get(name) for name in sorted(used - functions.keys())]
    return OpList(op=[encode_op_def(op_def) for op_def in found if op_def is not None])


def strip_default_attrs_of(meta_graph: Any) -> None:
    """Remove attributes with default values from a ``MetaGraphDef``.

    Args:
        meta_graph: message to change.
    """
    defaults = {
        op.name: {attr.name: attr.default_value for attr in op.attr if attr.HasField("default_value")}
        for op in op_list(meta_graph.graph_def).op
    }
    bodies = [function.node_def for function in meta_graph.graph_def.library.function]
    for nodes in (meta_graph.graph_def.node, *bodies):
        for node in nodes:
            for name, default in defaults.get(node.op, {}).items():
                if name in node.attr and node.attr[name] == default:
                    del node.attr[name]
    meta_graph.meta_info_def.stripped_default_attrs = True


def _add_collection(
    meta_graph: Any, key: str, items: Iterable[Any], scope: str | None, excluded: Collection[str]
) -> None:
    """Write a collection; if that is impossible, omit it and log a warning."""
    kept = [item for item in items if _belongs(item, scope, excluded)]
    if not kept:
        return
    try:
        _fill_collection(meta_graph.collection_def[key], key, kept, scope)
    except (AttributeError, TypeError, ValueError, NotImplementedError) as error:
        tf_logging.warning(
            "Issue encountered when serializing %s.\nType is unsupported, or the types of the items don't match field"
            " type in CollectionDef. Note this is a warning and probably safe to ignore.\n%s",
            key,
            error,
        )
        del meta_graph.collection_def[key]


def _belongs(item: object, scope: str | None, excluded: Collection[str]) -> bool:
    name = item if isinstance(item, str) else getattr(item, "name", None)
    return not isinstance(name, str) or _is_included(name, scope, excluded)


def _fill_collection(made: Any, key: str, items: Sequence[Any], scope: str | None) -> None:
    functions = _proto_functions.get(key)
    first = items[0]
    if functions is not None:
        for item in items:
            message = functions.to_proto(item, export_scope=scope)
            if message is not None:
                if not isinstance(message, functions.message):
                    raise TypeError(f"{type(message).__name__} in the collection {key}")
                made.bytes_list.value.append(message.SerializeToString())
    elif isinstance(first, str | bytes):
        made.bytes_list.value.extend(item.encode() if isinstance(item, str) else item for item in items)
    elif isinstance(first, int):
        made.int64_list.value.extend(items)
    elif isinstance(first, float):
        made.float_list.value.extend(items)
    elif isinstance(first, AnyProto):
        made.any_list.value.extend(items)
    else:
        made.node_list.value.extend(
            strip_name_scope(item.name, scope) for item in items if not scope or item.name.startswith(scope)
        )


# Import


def read_meta_graph_file(filename: str | os.PathLike[str]) -> Any:
    """Return the ``MetaGraphDef`` in a file, binary or text.

    Args:
        filename: path of the file.

    Raises:
        OSError: the file does not exist, or contains no meta graph.
    """
    path = os.fspath(filename)
    if not os.path.exists(path):
        raise OSError(f"File {path} does not exist.")
    with open(path, "rb") as file:
        content = file.read()
    meta_graph = MetaGraphDef()
    try:
        meta_graph.ParseFromString(content)
        return meta_graph
    except DecodeError:
        meta_graph.Clear()
    try:
        return text_format.Parse(content.decode(), meta_graph)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str | None = _UNBOUND_COLLECTION,
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
    return_elements: Sequence[str] | None = None,
) -> tuple[dict[str, Any], list[Any] | None]:
    """Add a meta graph to a graph: its nodes and collections.

    Args:
        meta_graph_or_file: a ``MetaGraphDef``, or the path of one.
        clear_devices: remove device requests.
        graph: graph to extend; None: the default graph.
        import_scope: name scope to import into, or None.
        input_map: see ``import_graph_def``; None: no replacements.
        unbound_inputs_col_name: collection of the inputs that ``input_map`` must replace.
        restore_collections_predicate: function of a collection name that returns whether to import it.
        return_elements: names of nodes and tensors to return, or None.

    Returns:
        Name without the scope -> global variable, and the operations and tensors.

    Raises:
        ValueError: unbound inputs are missing in ``input_map``, or the graph is invalid.
        InvalidArgumentError: a collection is invalid.
        OSError: the file does not exist, or contains no meta graph.
    """
    meta_graph = meta_graph_or_file
    if not isinstance(meta_graph, Message):
        meta_graph = read_meta_graph_file(meta_graph)
    elif not isinstance(meta_graph, MetaGraphDef):  # TensorFlow's message
        meta_graph = MetaGraphDef.FromString(meta_graph.SerializeToString())
    if unbound_inputs_col_name:
        _check_bound(meta_graph, unbound_inputs_col_name, input_map or {})
    graph = graph or get_default_graph()
    with graph.as_default():
        nodes = meta_graph.graph_def
        if clear_devices:
            for node in nodes.node:
                node.device = ""
        scope = graph.unique_name(import_scope or "", mark_as_used=False)
        returned = import_graph_def(
            nodes, input_map=input_map, return_elements=return_elements, name=import_scope or scope
        )
        restored: dict[bytes, Any] = {}
        for key in _in_order(meta_graph.collection_def):
            if key != unbound_inputs_col_name and restore_collections_predicate(key):
                _restore_collection(graph, meta_graph, key, scope, restored)
        variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope or None)
    return {strip_name_scope(variable.name, scope): variable for variable in variables}, returned


def _check_bound(meta_graph: Any, key: str, input_map: Mapping[str, Any]) -> None:
    """Raise ValueError unless exactly the inputs from outside are replaced."""
    if key not in meta_graph.collection_def:
        return
    unbound = [value.decode() for value in meta_graph.collection_def[key].bytes_list.value]
    if unbound and sorted(unbound) != sorted(input_map):
        missing = ",".join(name for name in unbound if name not in input_map)
        raise ValueError(
            f"Graph contains unbound inputs: {missing}. Must provide these inputs through input_map."
        )


def _in_order(keys: Iterable[str]) -> list[str]:
    """Return sorted names of collections; trainable variables come first, as a part of other collections."""
    return sorted(keys, key=lambda key: (key != GraphKeys.TRAINABLE_VARIABLES, key))


def _restore_collection(graph: Graph, meta_graph: Any, key: str, scope: str, made: dict[bytes, Any]) -> None:
    definition = meta_graph.collection_def[key]
    kind = definition.WhichOneof("kind")
    if kind is None:
        tf_logging.error("Cannot identify data type for collection %s. Skipping.", key)
        return
    values = getattr(definition, kind).value
    functions = _proto_functions.get(key)
    try:
        if key in _VARIABLE_COLLECTIONS and kind != "bytes_list":
            raise ValueError(f"it contains {kind}, not variables")
        if functions is None or kind != "bytes_list":
            for value in values:
                graph.add_to_collection(key, _collected(graph, value, kind, scope))
            return
        is_variable = key in _VARIABLE_COLLECTIONS
        for value in values:
            if not is_variable or value not in made:
                message = functions.message.FromString(value)
                if is_variable and not _says_trainable(meta_graph):
                    message.trainable = key == GraphKeys.TRAINABLE_VARIABLES
                made[value] = functions.from_proto(message, import_scope=scope)
            graph.add_to_collection(key, made[value])
    except (DecodeError, KeyError, ValueError) as error:
        because = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise InvalidArgumentError.of(
            f"Cannot import the collection {key} of a meta graph: {because}",
            hint="check that the file is complete; export the meta graph again, or leave the collection out with "
            "restore_collections_predicate",
        ) from None


def _collected(graph: Graph, value: Any, kind: str, scope: str) -> Any:
    """Return an item of a collection without messages."""
    if kind == "node_list":
        return graph.as_graph_element(prepend_name_scope(value, scope))
    if kind == "int64_list":
        return int(value)
    if kind == "bytes_list" and scope:
        with contextlib.suppress(UnicodeDecodeError):  # not a node name
            return prepend_name_scope(value, scope)
    return value


def _says_trainable(meta_graph: Any) -> bool:
    """Return whether a meta graph's release records whether variables are trainable."""
    parts = meta_graph.meta_info_def.tensorflow_version.split(".")[:2]
    if len(parts) < 2 or not all(part.isdecimal() for part in parts):
        return True
    return tuple(map(int, parts)) >= _FIRST_WITH_TRAINABLE
