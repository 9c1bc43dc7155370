"""``tensorflow.python.training.saver_test_utils``: a table that a ``Saver`` keeps.

Source: tensorflow/python/training/saver_test_utils.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import float32, string
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.generated import op_function
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.saving.saveables import SaveableObject, SaveSpec


class CheckpointedOp:
    """A table from texts to numbers, among the objects that are saved.

    Args:
        name: its name.
        table_ref: a table that there is already; None: one is made.
    """

    def __init__(self, name: str, table_ref: Tensor | None = None) -> None:
        if table_ref is None:
            make = op_function("MutableHashTableV2")
            table_ref = make(key_dtype=string, value_dtype=float32, name=name)
        self.table_ref = table_ref
        self.name = name
        self._saveable = _Saveable(self, name)
        get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    @property
    def saveable(self) -> SaveableObject:
        """How it is saved."""
        return self._saveable

    def insert(self, keys: Any, values: Any) -> Operation:
        """Puts pairs into the table.

        Args:
            keys: texts.
            values: numbers.
        """
        added: Operation = op_function("LookupTableInsertV2")(self.table_ref, keys, values)
        return added

    def _export(self) -> Any:
        return op_function("LookupTableExportV2")(self.table_ref, string, float32)

    def keys(self) -> Tensor:
        """The texts."""
        found: Tensor = self._export().keys
        return found

    def values(self) -> Tensor:
        """The numbers."""
        found: Tensor = self._export().values
        return found


class _Saveable(SaveableObject):
    """How such a table is saved: its texts and its numbers."""

    def __init__(self, table: CheckpointedOp, name: str) -> None:
        exported = table._export()
        specs = [SaveSpec(exported.keys, "", f"{name}-keys"), SaveSpec(exported.values, "", f"{name}-values")]
        super().__init__(table.table_ref, specs, name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Puts what was read into the table.

        Args:
            restored_tensors: texts and numbers.
            restored_shapes: nothing that counts.
        """
        restored: Operation = op_function("LookupTableImportV2")(self.op, *restored_tensors)
        return restored
