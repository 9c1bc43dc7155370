"""``tensorflow.python.saved_model.builder_impl``: the builder whose models keep what they run in signatures.

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
    """Writes a SavedModel; its files and operations are in its graphs' messages, not in collections.

    Args:
        export_dir: its folder, which is made where it is missing.
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
        """Adds the default graph, and writes the variables.

        Args:
            sess: the session whose variables are written.
            tags: by which the graph is found.
            signature_def_map: keys to ``SignatureDef``; None: none.
            assets_list: constants that are paths of files, which are copied; None: none.
            clear_devices: leave the devices out.
            init_op: what to run when the model is loaded; None: nothing.
            train_op: what trains the model; None: nothing.
            strip_default_attrs: leave attributes out that have their default values.
            saver: what writes the variables; None: a new one, for all of the graph.

        Raises:
            TypeError: what is to run is neither an operation nor a tensor.
        """
        super().add_meta_graph_and_variables(
            sess,
            tags,
            signature_def_map,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
            saver=saver,
        )
        self._note(assets_list, init_op, train_op)

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
        """Adds the default graph, which shares the variables that were written.

        Args:
            tags: as for ``add_meta_graph_and_variables``.
            signature_def_map: the same.
            assets_list: the same.
            clear_devices: the same.
            init_op: the same.
            train_op: the same.
            saver: what reads the variables; None: a new one, for all of the graph.

        Raises:
            TypeError: what is to run is neither an operation nor a tensor.
        """
        super().add_meta_graph(tags, signature_def_map, clear_devices=clear_devices, saver=saver)
        self._note(assets_list, init_op, train_op)

    def _note(self, assets: Sequence[Any] | None, init_op: Any, train_op: Any) -> None:
        """Puts files and operations into the graph's message."""
        made = self._saved_model.meta_graphs[-1]
        made.asset_file_def.extend(self._save_assets(assets or ()))
        for key, op in ((INIT_OP_SIGNATURE_KEY, init_op), (TRAIN_OP_SIGNATURE_KEY, train_op)):
            if op is None:
                continue
            if not isinstance(op, (Operation, Tensor)):
                raise TypeError(f"{key} needs to be a Tensor or Op: {op!r}")
            made.signature_def[key].CopyFrom(op_signature_def(op, key))
