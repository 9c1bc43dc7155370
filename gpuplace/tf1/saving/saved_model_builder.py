"""SavedModels, written: graphs with tags and signatures, their shared variables, and asset files.

    folder/saved_model.pb          SavedModel: a MetaGraphDef for each add_meta_graph
    folder/variables/variables.*   a checkpoint
    folder/assets/...              copies of files

Source: tensorflow/python/saved_model/builder_impl.py and simple_save.py, release 1.15.
"""

from __future__ import annotations

import filecmp
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.files.file_system import read_bytes, with_op_errors
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graphdef.messages import AnyProto, AssetFileDef, SavedModel, SaverDef, text_format
from gpuplace.saving.saved_model_constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    INIT_OP_SIGNATURE_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
    TRAIN_OP_SIGNATURE_KEY,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from gpuplace.saving.saver import Saver
from gpuplace.saving.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from gpuplace.saving.tag_constants import SERVING
from gpuplace.tf1.saving.signatures import predict_signature_def
from gpuplace.typing import TensorLike
from gpuplace.writing import write_file

__all__ = ["SavedModelBuilder", "simple_save"]

_ASSET_TYPE = "type.googleapis.com/tensorflow.AssetFileDef"
_RESERVED = (INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY)
"""Reserved signature keys."""


class SavedModelBuilder:
    """Writer of a SavedModel.

    Args:
        export_dir: its folder, which is created if needed.

    Raises:
        AssertionError: the folder is not empty.
    """

    def __init__(self, export_dir: str | bytes | os.PathLike[str]) -> None:
        self._export_dir = os.fsdecode(export_dir)
        self._saved_model = SavedModel(saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)
        self._has_saved_variables = False
        with with_op_errors(self._export_dir):
            if os.path.exists(self._export_dir):
                if os.listdir(self._export_dir):
                    raise AssertionError(
                        "Export directory already exists, and isn't empty. Please choose a different export directory,"
                        f" or delete all the contents of the specified directory: {self._export_dir}"
                    )
            else:
                os.makedirs(self._export_dir)

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph, and write the variables.

        Args:
            sess: the session whose variables are written.
            tags: tags that identify the graph.
            signature_def_map: dict from key to ``SignatureDef``, or None.
            assets_collection: constants with the paths of asset files, which are copied, or None.
            legacy_init_op: deprecated name of ``main_op``.
            clear_devices: whether to leave out the devices.
            main_op: an operation to run when the model is loaded, or None.
            strip_default_attrs: whether to leave out attributes that have their default values.
            saver: the ``Saver`` that writes the variables; None for a new one, for all variables of the
                graph.

        Raises:
            AssertionError: the variables were already written, or a signature lacks a tensor's name or dtype.
            KeyError: the key of a signature is reserved.
            TypeError: ``main_op`` is not an operation, or an asset is not a string constant.
            ValueError: the graph already has an operation to run when it is loaded.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()`"
                " instead."
            )
        self._add_to_graph(
            signature_def_map, assets_collection, legacy_init_op if main_op is None else main_op
        )
        folder = os.path.join(self._export_dir, VARIABLES_DIRECTORY)
        with with_op_errors(folder):
            os.makedirs(folder, exist_ok=True)
        saver = saver or _new_saver()
        saver.save(sess, os.path.join(folder, VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)
        self._has_saved_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Add the default graph, which shares the variables already written.

        Args:
            tags: tags that identify the graph.
            signature_def_map: dict from key to ``SignatureDef``, or None.
            assets_collection: constants with the paths of asset files, which are copied, or None.
            legacy_init_op: deprecated name of ``main_op``.
            clear_devices: whether to leave out the devices.
            main_op: an operation to run when the model is loaded, or None.
            strip_default_attrs: whether to leave out attributes that have their default values.
            saver: the ``Saver`` that reads the variables; None for a new one, for all variables of the graph.

        Raises:
            AssertionError: no variables were written yet, or a signature lacks a tensor's name or dtype.
            KeyError: the key of a signature is reserved.
            TypeError: ``main_op`` is not an operation, or an asset is not a string constant.
            ValueError: the graph already has an operation to run when it is loaded.
        """
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke"
                " `add_meta_graph_and_variables()` first."
            )
        self._add_to_graph(
            signature_def_map, assets_collection, legacy_init_op if main_op is None else main_op
        )
        self._add(saver or _new_saver(), tags, signature_def_map, clear_devices, strip_default_attrs)

    def save(self, as_text: bool = False) -> bytes:
        """Write the file with the graphs.

        Args:
            as_text: whether to write protobuf's text format.

        Returns:
            The path of the file, as bytes.
        """
        name = SAVED_MODEL_FILENAME_PBTXT if as_text else SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._export_dir, name)
        content: str | bytes = (
            text_format.MessageToString(self._saved_model)
            if as_text
            else self._saved_model.SerializeToString(deterministic=True)
        )
        with with_op_errors(path):
            write_file(path, content)
        tf_logging.info("SavedModel written to: %s", path)
        return os.fsencode(path)

    def _add_to_graph(
        self, signatures: Mapping[str, Any] | None, assets: Sequence[Any] | None, main_op: Any
    ) -> None:
        """Check the signatures, copy assets, and add collections for assets and the operation to the graph."""
        _check_signatures(signatures or {})
        for asset in self._save_assets(assets or ()):
            entry = AnyProto(type_url=_ASSET_TYPE, value=asset.SerializeToString())
            get_default_graph().add_to_collection(ASSETS_KEY, entry)
        if main_op is None:
            return
        if not isinstance(main_op, Operation):
            raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
        graph = get_default_graph()
        for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
            if graph.get_collection(key):
                raise ValueError(f"Graph already contains one or more main ops under the collection {key}.")
        graph.add_to_collection(MAIN_OP_KEY, main_op)

    def _save_assets(self, assets: Sequence[Any]) -> list[Any]:
        """Copy files and return an ``AssetFileDef`` for each."""
        sources: dict[str, str] = {}
        definitions = []
        for tensor in assets:
            source = _asset_path(tensor)
            name = os.path.basename(source)
            earlier = sources.get(name)
            if earlier is not None and earlier != source and not filecmp.cmp(earlier, source, shallow=False):
                count = 1
                while f"{name}_{count}" in sources:
                    count += 1
                name = f"{name}_{count}"
            sources[name] = source
            asset = AssetFileDef(filename=name)
            asset.tensor_info.name = tensor.name
            definitions.append(asset)
        if not sources:
            return definitions
        folder = os.path.join(self._export_dir, ASSETS_DIRECTORY)
        with with_op_errors(folder):
            os.makedirs(folder, exist_ok=True)
            for name, source in sources.items():
                target = os.path.join(folder, name)
                if not os.path.exists(target):
                    write_file(target, read_bytes(source))
        return definitions

    def _add(
        self,
        saver: Saver,
        tags: Iterable[str],
        signatures: Mapping[str, Any] | None,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        meta_graph = self._saved_model.meta_graphs.add()
        meta_graph.CopyFrom(
            saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        )
        meta_graph.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            meta_graph.signature_def[key].CopyFrom(signature)


def _new_saver() -> Saver:
    return Saver(sharded=True, write_version=SaverDef.V2, allow_empty=True)


def _asset_path(tensor: TensorLike) -> str:
    """Return the path in a constant with one string."""
    if not isinstance(tensor, Tensor):
        raise TypeError("Asset path tensor must be a Tensor.")
    if tensor.op.type != "Const":
        raise TypeError("Asset path tensor must be of type constant.")
    if tensor.dtype.name != "string":
        raise TypeError("Asset path tensor must be of dtype string.")
    value = tensor.op.attrs["value"].array
    if value.size != 1:
        raise TypeError("Asset path tensor must be a scalar.")
    path = os.fsdecode(value.reshape(-1)[0])
    if not path:
        raise ValueError(f"Invalid asset filepath tensor {tensor}")
    return path


def _check_signatures(signatures: Mapping[str, Any]) -> None:
    for key, signature in signatures.items():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            _check_info(info)
        if key in _RESERVED:
            raise KeyError(
                f'SignatureDef map key "{key}" is reserved for initialization. Please use a different key.'
            )


def _check_info(info: Any) -> None:
    kind = info.WhichOneof("encoding")
    if kind is None:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields (e.g., name or"
            f" coo_sparse) set: {info}"
        )
    if kind == "composite_tensor":
        for component in info.composite_tensor.components:
            _check_info(component)
    elif not info.dtype:
        raise AssertionError(
            f"All TensorInfo protos used in the SignatureDefs must have the dtype field set: {info}"
        )


def simple_save(
    session: Any,
    export_dir: str | bytes | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Write the default graph as a SavedModel for serving, with one signature.

    Args:
        session: the session whose variables are written.
        export_dir: the folder, which is created if needed.
        inputs: dict from name to a tensor to feed.
        outputs: dict from name to a tensor to fetch.
        legacy_init_op: an operation to run when the model is loaded, or None.

    Raises:
        AssertionError: the folder is not empty.
        ValueError: there are no inputs or no outputs.
    """
    signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)}
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session, [SERVING], signatures, main_op=legacy_init_op, clear_devices=True
    )
    builder.save()
