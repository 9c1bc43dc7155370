"""Meta graphs of scopes: a part of a graph with its variables, exported, imported into another scope, or copied.

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
    """A graph and what belongs to it as a ``MetaGraphDef``.

    Args:
        meta_info_def: what the message says about itself; None: the release alone.
        graph_def: the graph's nodes; None: those of ``graph``.
        saver_def: the saver that goes with it; None: none.
        collection_list: names of the collections; None: all.
        graph: the graph; None: the default one.
        export_scope: only what is in this scope, which its names then lack; None: everything.
        clear_extraneous_savers: leave out what other savers added.
        strip_default_attrs: leave attributes out that have their default values.

    Raises:
        TypeError: an argument is a message of another kind.
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
    """A part of a graph and what belongs to it as a ``MetaGraphDef``, also written to a file.

    Args:
        filename: the file; None: none is written.
        graph_def: the graph's nodes; None: those of ``graph``.
        graph: the graph; None: the default one.
        export_scope: only what is in this scope, which its names then lack; None: everything.
        as_text: write protobuf's text format.
        unbound_inputs_col_name: the collection of inputs from outside of the scope; None: none is made.
        clear_devices: leave the devices out.
        saver_def: the saver that goes with it; None: none.
        clear_extraneous_savers: leave out what other savers added.
        strip_default_attrs: leave attributes out that have their default values.
        save_debug_info: kept; where operations were made is not written.
        **kwargs: ``meta_info_def`` and ``collection_list``, as in ``tf.train.export_meta_graph``.

    Returns:
        The message, and the global variables of the scope by their names without it.

    Raises:
        TypeError: an argument is a message of another kind.
        ValueError: the graph is larger than a message can be.
    """
    graph = graph or get_default_graph()
    made = export_meta_graph(
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
    return made, {strip_name_scope(variable.name, export_scope): variable for variable in variables}


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Any]:
    """Adds a meta graph to a graph: its nodes, and what its collections hold.

    Args:
        meta_graph_or_file: a ``MetaGraphDef``, or its file.
        clear_devices: leave the devices out.
        graph: the graph; None: the default one.
        import_scope: a scope for the names; None: none.
        input_map: as in ``import_graph_def``; None: nothing is replaced.
        unbound_inputs_col_name: the collection of inputs that ``input_map`` has to replace.
        restore_collections_predicate: takes the name of a collection, and says whether it is wanted.

    Returns:
        The global variables by their names without the scope.

    Raises:
        ValueError: inputs have to be given, or the graph is invalid.
        OSError: the file does not exist, or holds no meta graph.
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
    """Copies what is in a scope into another one, or into another graph.

    Args:
        from_scope: the scope.
        to_scope: the other one.
        from_graph: the graph; None: the default one.
        to_graph: the graph of the copy; None: the default one.

    Returns:
        The copy's global variables by their names without the scope.

    Raises:
        ValueError: scope and graph are the same.
    """
    from_graph, to_graph = from_graph or get_default_graph(), to_graph or get_default_graph()
    if from_graph is to_graph and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same graph."
        )
    meta_graph, _ = export_scoped_meta_graph(export_scope=from_scope, graph=from_graph)
    return import_scoped_meta_graph(meta_graph, graph=to_graph, import_scope=to_scope)


def stripped_op_list_for_graph(graph_def: GraphDef) -> Any:
    """The signatures of the ops that a graph and its functions use, as an ``OpList``.

    Args:
        graph_def: the graph.
    """
    return op_list(graph_def)
