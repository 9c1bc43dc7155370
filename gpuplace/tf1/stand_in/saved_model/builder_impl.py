"""``tensorflow.python.saved_model.builder_impl``: the builder whose models record operations in signatures.

Source: tensorflow/python/saved_model/builder_impl.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuplace.graph.operation import Operation, Tensor
from gpuplace.saving.saved_model_constants import INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY
from gpuplace.tf1.saving.saved_model_builder import SavedModelBuilder
from gpuplace.tf1.saving.signatures import op_signature_def


class _SavedModelBuilder(SavedModelBuilder):
    """Writer of a SavedModel that stores assets and operations in its graphs' messages, not in collections.

    Args:
        export_dir: its folder, which is created if needed.
    """

    def add_meta_graph_and_variables(  # type: ignore[override]
        self,
        sess: Any,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_list: Sequence[Any] | None = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, and write the variables.

        Args:
            sess: the session whose variables are written.
            tags: tags that identify the graph.
            signature_def_map: dict from key to ``SignatureDef``, or None.
            assets_list: constants with the paths of asset files, which are copied, or None.
            clear_devices: whether to leave out the devices.
            init_op: operation to run when the model is loaded, or None.
            train_op: the training operation, or None.
            strip_default_attrs: whether to leave out attributes that have their default values.
            saver: the ``Saver`` that writes the variables; None for a new one, for all variables of the
                graph.

        Raises:
            TypeError: ``init_op`` or ``train_op`` is neither an operation nor a tensor.
        """
        super().add_meta_graph_and_variables(
            sess,
            tags,
            signature_def_map,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
            saver=saver,
        )
        self._add_to_message(assets_list, init_op, train_op)

    def add_meta_graph(  # type: ignore[override]
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_list: Sequence[Any] | None = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        saver: Any = None,
    ) -> None:
        """Add the default graph, which shares the variables already written.

        Args:
            tags: as for ``add_meta_graph_and_variables``.
            signature_def_map: as for ``add_meta_graph_and_variables``.
            assets_list: as for ``add_meta_graph_and_variables``.
            clear_devices: as for ``add_meta_graph_and_variables``.
            init_op: as for ``add_meta_graph_and_variables``.
            train_op: as for ``add_meta_graph_and_variables``.
            saver: the ``Saver`` that reads the variables; None for a new one, for all variables of the graph.

        Raises:
            TypeError: ``init_op`` or ``train_op`` is neither an operation nor a tensor.
        """
        super().add_meta_graph(tags, signature_def_map, clear_devices=clear_devices, saver=saver)
        self._add_to_message(assets_list, init_op, train_op)

    def _add_to_message(self, assets: Sequence[Any] | None, init_op: Any, train_op: Any) -> None:
        """Add assets and operations to the graph's message."""
        meta_graph = self._saved_model.meta_graphs[-1]
        meta_graph.asset_file_def.extend(self._save_assets(assets or ()))
        for key, op in ((INIT_OP_SIGNATURE_KEY, init_op), (TRAIN_OP_SIGNATURE_KEY, train_op)):
            if op is None:
                continue
            if not isinstance(op, (Operation, Tensor)):
                raise TypeError(f"{key} needs to be a Tensor or Op: {op!r}")
            meta_graph.signature_def[key].CopyFrom(op_signature_def(op, key))
