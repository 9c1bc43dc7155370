"""SavedModels, loaded into a session: nodes, variables, and initial operations.

Source: tensorflow/python/saved_model/loader_impl.py and main_op_impl.py, release 1.15.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from gpuplace import tf_logging
from gpuplace.errors import DataLossError, InvalidArgumentError
from gpuplace.files.file_system import read_bytes
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation
from gpuplace.graphdef.messages import AssetFileDef, DecodeError, MetaGraphDef, SavedModel, text_format
from gpuplace.ops.flow import control
from gpuplace.ops.variables.initialization import (
    global_variables_initializer,
    local_variables_initializer,
    saveable_objects,
)
from gpuplace.saving.import_meta_graph import import_with_elements
from gpuplace.saving.names import prepend_name_scope
from gpuplace.saving.saved_model_constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    INIT_OP_SIGNATURE_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    TRAIN_OP_KEY,
    TRAIN_OP_SIGNATURE_KEY,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from gpuplace.tf1.saving.signatures import load_op_from_signature_def

__all__ = [
    "SavedModelLoader", "get_train_op", "load", "main_op", "main_op_with_restore", "maybe_saved_model_directory",
    "parse_saved_model",
]  # fmt: skip


def parse_saved_model(export_dir: str | bytes | os.PathLike[str]) -> Any:
    """Return the ``SavedModel`` in a folder.

    Args:
        export_dir: the folder.

    Raises:
        OSError: there is no SavedModel, or its file is damaged.
    """
    folder = os.fsdecode(export_dir)
    model = SavedModel()
    path = os.path.join(folder, SAVED_MODEL_FILENAME_PB)
    try:
        if os.path.exists(path):
            model.ParseFromString(read_bytes(path))
            return model
        path = os.path.join(folder, SAVED_MODEL_FILENAME_PBTXT)
        if os.path.exists(path):
            return text_format.Parse(read_bytes(path).decode(), model)
    except (DecodeError, UnicodeDecodeError, text_format.ParseError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None
    raise OSError(
        f"SavedModel file does not exist at: {folder}/{{{SAVED_MODEL_FILENAME_PBTXT}|{SAVED_MODEL_FILENAME_PB}}}"
    )


def maybe_saved_model_directory(export_dir: str | bytes | os.PathLike[str]) -> bool:
    """Return whether a folder contains a SavedModel file; the file is not read.

    Args:
        export_dir: the folder.
    """
    folder = os.fsdecode(export_dir)
    return any(
        os.path.exists(os.path.join(folder, name))
        for name in (SAVED_MODEL_FILENAME_PBTXT, SAVED_MODEL_FILENAME_PB)
    )


def load(
    sess: Any,
    tags: Iterable[str],
    export_dir: str | bytes | os.PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Load a SavedModel: add its nodes to the session's graph, restore its variables, and run its initial operation.

    Args:
        sess: the session.
        tags: all tags of the graph to load.
        export_dir: the model's folder.
        import_scope: a scope for the names, or None.
        **saver_kwargs: other arguments of ``tf.train.import_meta_graph``: ``clear_devices=True``,
            ``input_map``.

    Returns:
        The ``MetaGraphDef``, with the names in the file.

    Raises:
        OSError: there is no model, or its file is damaged.
        RuntimeError: no graph has these tags.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """A SavedModel that is loaded in steps.

    Args:
        export_dir: its folder.

    Raises:
        OSError: there is no model, or its file is damaged.
    """

    def __init__(self, export_dir: str | bytes | os.PathLike[str]) -> None:
        self._folder = os.fsdecode(export_dir)
        self._saved_model = parse_saved_model(self._folder)

    @property
    def export_dir(self) -> str:
        """The folder."""
        return self._folder

    @property
    def variables_path(self) -> str:
        """Prefix of the names of the files with the variables."""
        return os.path.join(self._folder, VARIABLES_DIRECTORY, VARIABLES_FILENAME)

    @property
    def saved_model(self) -> Any:
        """The ``SavedModel`` message."""
        return self._saved_model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> Any:
        """Return the graph with exactly these tags.

        Args:
            tags: the tags.

        Raises:
            RuntimeError: no graph has these tags.
        """
        return _tagged(self._saved_model, tags)

    def load_graph(
        self, graph: Graph, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any
    ) -> tuple[Any, Any]:
        """Add the nodes to a graph.

        Args:
            graph: the graph.
            tags: as for ``load``.
            import_scope: as for ``load``.
            **saver_kwargs: as for ``load``.

        Returns:
            The saver of the variables, or None, and the ``return_elements`` if requested.
        """
        meta_graph = MetaGraphDef()
        meta_graph.CopyFrom(self.get_meta_graph_def_from_tags(tags))
        with graph.as_default():
            return import_with_elements(meta_graph, import_scope=import_scope, **saver_kwargs)

    def restore_variables(self, sess: Any, saver: Any, import_scope: str | None = None) -> None:
        """Restore the variables.

        Args:
            sess: the session.
            saver: the ``Saver`` of the variables, or None.
            import_scope: the scope of their names.

        Raises:
            ValueError: there are variables, but no saver.
        """
        with sess.graph.as_default():
            if saver is not None:
                saver.restore(sess, self.variables_path)
            elif saveable_objects(import_scope):
                raise ValueError(
                    "No tf.train.Saver object was passed to the function SavedModelLoader.restore_variables."
                )
            else:
                tf_logging.info("The specified SavedModel has no variables; no checkpoints were restored.")

    def run_init_ops(self, sess: Any, tags: Iterable[str], import_scope: str | None = None) -> None:
        """Run the model's initial operation.

        Args:
            sess: the session.
            tags: as for ``load``.
            import_scope: as for ``load``.
        """
        meta_graph = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            first = _init_op(meta_graph, import_scope)
            if first is not None:
                sess.run(first, _asset_paths(self._folder, meta_graph, import_scope))

    def load(
        self, sess: Any, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any
    ) -> Any:
        """Run all of these steps.

        Args:
            sess: the session.
            tags: as for the function ``load``.
            import_scope: as for ``load``.
            **saver_kwargs: as for ``load``.

        Returns:
            The ``MetaGraphDef``, with the names in the file.
        """
        tag_list = list(tags)
        saver, _ = self.load_graph(sess.graph, tag_list, import_scope, **saver_kwargs)
        self.restore_variables(sess, saver, import_scope)
        self.run_init_ops(sess, tag_list, import_scope)
        return self.get_meta_graph_def_from_tags(tag_list)


def get_train_op(meta_graph_def: Any, import_scope: str | None = None) -> Any:
    """Return the training operation of a model in the default graph, or None.

    Args:
        meta_graph_def: the model's graph.
        import_scope: the scope under which it was loaded.
    """
    if TRAIN_OP_SIGNATURE_KEY in meta_graph_def.signature_def:
        signature = meta_graph_def.signature_def[TRAIN_OP_SIGNATURE_KEY]
        return load_op_from_signature_def(signature, TRAIN_OP_SIGNATURE_KEY, import_scope)
    names = (
        get_default_graph().get_collection(TRAIN_OP_KEY)
        if TRAIN_OP_KEY in meta_graph_def.collection_def
        else []
    )
    return names[0] if names else None


def _tagged(model: Any, tags: Iterable[str]) -> Any:
    """Return the graph with exactly these tags."""
    tag_set = set(tags)
    for meta_graph in model.meta_graphs:
        if set(meta_graph.meta_info_def.tags) == tag_set:
            return meta_graph
    available = [set(meta_graph.meta_info_def.tags) for meta_graph in model.meta_graphs]
    raise RuntimeError(
        f"MetaGraphDef associated with tags {str(sorted(tag_set)).strip('[]')} could not be found in SavedModel. To"
        " inspect available tag-sets in the SavedModel, please use the SavedModel CLI: `saved_model_cli`\n"
        f"available_tags: {available}"
    )


def _init_op(meta_graph: Any, import_scope: str | None) -> Any:
    """Return the initial operation of a model, or None."""
    graph = get_default_graph()
    if INIT_OP_SIGNATURE_KEY in meta_graph.signature_def:
        signature = meta_graph.signature_def[INIT_OP_SIGNATURE_KEY]
        return load_op_from_signature_def(signature, INIT_OP_SIGNATURE_KEY, import_scope)
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            names = meta_graph.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {list(names)}")
            return graph.get_collection(key)[0]
    return None


def _asset_paths(folder: str, meta_graph: Any, import_scope: str | None) -> dict[str, str]:
    """Return the current paths of asset files, by the name of the tensor with the path.

    Raises:
        DataLossError: the description of an asset cannot be parsed.
        InvalidArgumentError: the name of a file leads out of the assets folder.
    """
    assets = list(meta_graph.asset_file_def)
    if not assets and ASSETS_KEY in meta_graph.collection_def:
        entries = meta_graph.collection_def[ASSETS_KEY].any_list.value
        try:
            assets = [AssetFileDef.FromString(entry.value) for entry in entries]
        except DecodeError as error:
            raise DataLossError.of(
                f"Cannot parse an asset of the SavedModel in {folder}: {error}",
                hint="check that the file is complete; export or copy the model again",
            ) from None
    paths = {}
    for asset in assets:
        name = os.path.normpath(asset.filename)
        if os.path.isabs(name) or name.split(os.sep)[0] in (os.curdir, os.pardir):
            raise InvalidArgumentError.of(
                f"The SavedModel in {folder} names a file outside of its assets: {asset.filename!r}",
                hint="load only models that you trust; an exported model has its assets in its own folder",
            )
        path = os.path.join(folder, ASSETS_DIRECTORY, name)
        paths[prepend_name_scope(asset.tensor_info.name, import_scope)] = path
    return paths


def main_op() -> Operation:
    """Return an operation that initializes all variables and tables, for models loaded without values."""
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    first, second = global_variables_initializer(), local_variables_initializer()
    name = "init_all_tables"
    tables = control.group(*initializers, name=name) if initializers else control.no_op(name=name)
    return control.group(first, second, tables)


def main_op_with_restore(restore_op_name: Any) -> Operation:
    """Return an operation that runs ``main_op`` and then another operation.

    Args:
        restore_op_name: the operation.
    """
    graph = get_default_graph()
    with graph.control_dependencies([main_op()]):
        return control.group(graph.as_graph_element(restore_op_name))
