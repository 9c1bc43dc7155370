"""``tf.train.import_meta_graph``: add a meta graph and its saver to the default graph.

Source: tensorflow/python/training/saver.py, release 1.15.
"""

from __future__ import annotations

import os
from typing import Any

from gpuplace import tf_logging
from gpuplace.graphdef.messages import Message, SaverDef
from gpuplace.ops.variables.initialization import saveable_objects
from gpuplace.saving import protos as _registered  # noqa: F401 - says how collections are written and read
from gpuplace.saving.meta_graph import (
    export_meta_graph,
    import_scoped_meta_graph_with_return_elements,
    read_meta_graph_file,
)
from gpuplace.saving.saver import Saver

__all__ = ["export_meta_graph", "import_meta_graph", "import_with_elements"]


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Add a meta graph to the default graph: its nodes, collections, and saver.

    Args:
        meta_graph_or_file: a ``MetaGraphDef``, or the path of one.
        clear_devices: remove device requests.
        import_scope: name scope to import into, or None.
        **kwargs: ``input_map`` (see ``import_graph_def``) and other arguments of
            `import_scoped_meta_graph_with_return_elements`.

    Returns:
        The saver; None if there are no variables.

    Raises:
        ValueError: unbound inputs are missing in ``input_map``, or the graph is invalid.
        InvalidArgumentError: a collection is invalid.
        OSError: the file does not exist, or contains no meta graph.
    """
    return import_with_elements(meta_graph_or_file, clear_devices, import_scope, **kwargs)[0]


def import_with_elements(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> tuple[Saver | None, list[Any] | None]:
    """Like `import_meta_graph`; also return the operations and tensors of ``return_elements``.

    Args:
        meta_graph_or_file: a ``MetaGraphDef``, or the path of one.
        clear_devices: remove device requests.
        import_scope: name scope to import into, or None.
        **kwargs: arguments of `import_scoped_meta_graph_with_return_elements`.
    """
    meta_graph = meta_graph_or_file
    if not isinstance(meta_graph, Message):
        meta_graph = read_meta_graph_file(os.fspath(meta_graph))
    variables, elements = import_scoped_meta_graph_with_return_elements(
        meta_graph, clear_devices=clear_devices, import_scope=import_scope, **kwargs
    )
    if meta_graph.HasField("saver_def"):
        scope = import_scope
        if variables:
            name, variable = next(iter(variables.items()))
            scope = variable.name[: -len(name)]
        saver_def = SaverDef.FromString(meta_graph.saver_def.SerializeToString())
        return Saver(saver_def=saver_def, name=scope), elements
    if saveable_objects(import_scope):
        return Saver(), elements
    tf_logging.info("Saver not created because there are no variables in the graph to restore")
    return None, elements
