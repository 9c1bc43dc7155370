"""Meta graphs of name scopes: export a part of a graph, import it into another scope, or copy it.

Source: tensorflow/python/framework/meta_graph.py, release 1.15 (names, arguments, sentences).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.saving import protos as _registered  # noqa: F401 - says how collections are written and read
from gpuplace.saving.meta_graph import (
    export_meta_graph,
    import_scoped_meta_graph_with_return_elements,
    op_list,
    read_meta_graph_file,
    strip_default_attrs_of,
)
from gpuplace.saving.names import strip_name_scope
from gpuplace.typing import GraphDef

__all__ = [
    "copy_scoped_meta_graph",
    "create_meta_graph_def",
    "export_scoped_meta_graph",
    "import_scoped_meta_graph",
    "import_scoped_meta_graph_with_return_elements",
    "read_meta_graph_file",
    "strip_default_attrs_of",
    "stripped_op_list_for_graph",
]


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: GraphDef | None = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """Return a graph with its variables and collections as a ``MetaGraphDef``.

    Args:
        meta_info_def: metadata of the message; None: only the release.
        graph_def: nodes of the graph; None: those of ``graph``.
        saver_def: saver to include, or None.
        collection_list: names of the collections; None: all.
        graph: graph to export; None: the default graph.
        export_scope: export only this scope, without its prefix in names; None: everything.
        clear_extraneous_savers: remove the operations of other savers.
        strip_default_attrs: omit attributes that have their default values.

    Raises:
        TypeError: an argument has the wrong message type.
    """
    return export_meta_graph(
        None,
        meta_info_def,
        graph_def,
        saver_def,
        collection_list,
        graph=graph,
        export_scope=export_scope,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        unbound_inputs_col_name=None,
    )


def export_scoped_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    graph_def: GraphDef | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:
    """Return a part of a graph with its variables as a ``MetaGraphDef``, and optionally write it to a file.

    Args:
        filename: path of the file; None: do not write a file.
        graph_def: nodes of the graph; None: those of ``graph``.
        graph: graph to export; None: the default graph.
        export_scope: export only this scope, without its prefix in names; None: everything.
        as_text: write protobuf's text format.
        unbound_inputs_col_name: collection for inputs from outside the scope, or None.
        clear_devices: remove device requests.
        saver_def: saver to include, or None.
        clear_extraneous_savers: remove the operations of other savers.
        strip_default_attrs: omit attributes that have their default values.
        save_debug_info: ignored; stack traces are not written.
        **kwargs: ``meta_info_def`` and ``collection_list``; see ``tf.train.export_meta_graph``.

    Returns:
        The message, and a dict from name without the scope to global variable.

    Raises:
        TypeError: an argument has the wrong message type.
        ValueError: the graph exceeds the size limit of messages.
    """
    graph = graph or get_default_graph()
    meta_graph = export_meta_graph(
        filename,
        graph_def=graph_def,
        graph=graph,
        export_scope=export_scope,
        as_text=as_text,
        unbound_inputs_col_name=unbound_inputs_col_name,
        clear_devices=clear_devices,
        saver_def=saver_def,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
        save_debug_info=save_debug_info,
        **kwargs,
    )
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=export_scope)
    return meta_graph, {strip_name_scope(variable.name, export_scope): variable for variable in variables}


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Any]:
    """Add a meta graph to a graph: its nodes and collections.

    Args:
        meta_graph_or_file: a ``MetaGraphDef``, or the path of one.
        clear_devices: remove device requests.
        graph: graph to extend; None: the default graph.
        import_scope: name scope to import into, or None.
        input_map: see ``import_graph_def``; None: no replacements.
        unbound_inputs_col_name: collection of the inputs that ``input_map`` must replace.
        restore_collections_predicate: function of a collection name that returns whether to import it.

    Returns:
        Name without the scope -> global variable.

    Raises:
        ValueError: unbound inputs are missing in ``input_map``, or the graph is invalid.
        OSError: the file does not exist, or contains no meta graph.
    """
    return import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file,
        clear_devices,
        graph,
        import_scope,
        input_map,
        unbound_inputs_col_name,
        restore_collections_predicate,
    )[0]


def copy_scoped_meta_graph(
    from_scope: str, to_scope: str, from_graph: Graph | None = None, to_graph: Graph | None = None
) -> dict[str, Any]:
    """Copy a scope to another scope or another graph.

    Args:
        from_scope: scope to copy.
        to_scope: new scope.
        from_graph: graph with the scope; None: the default graph.
        to_graph: graph of the copy; None: the default graph.

    Returns:
        Name without the scope -> global variable of the copy.

    Raises:
        ValueError: scope and graph are equal.
    """
    from_graph, to_graph = from_graph or get_default_graph(), to_graph or get_default_graph()
    if from_graph is to_graph and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same graph."
        )
    meta_graph, _ = export_scoped_meta_graph(export_scope=from_scope, graph=from_graph)
    return import_scoped_meta_graph(meta_graph, graph=to_graph, import_scope=to_scope)


def stripped_op_list_for_graph(graph_def: GraphDef) -> Any:
    """Return the signatures of the ops that a graph and its functions use, as an ``OpList``.

    Args:
        graph_def: graph to inspect.
    """
    return op_list(graph_def)
