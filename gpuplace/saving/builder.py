"""A saver's part of the graph: the operations that write and read checkpoints.

    save/filename --> save/Const --+--> save/SaveV2 ··> save/control_dependency      fetched to save
                                   +--> save/RestoreV2 --> save/Assign ··> save/restore_all    run to restore

With ``sharded``, there is a ``SaveV2`` with its own files for each device, and a ``MergeV2Checkpoints``.

Source: tensorflow/python/training/saver.py, release 1.15.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from gpuplace.device.spec import canonical_name
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graphdef.messages import SaverDef
from gpuplace.ops import saving
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.flow import control
from gpuplace.ops.text import strings
from gpuplace.saving.saveables import (
    ReferenceVariableSaveable,
    ResourceVariableSaveable,
    SaveableObject,
    SaveSpec,
    saveables_of,
    set_cpu0,
)

__all__ = ["BaseSaverBuilder", "BulkSaverBuilder"]


class BaseSaverBuilder:
    """Adds the operations of a saver to the graph; subclasses may add more.

    Args:
        write_version: format to write, ``SaverDef.V2`` or ``SaverDef.V1``.
    """

    def __init__(self, write_version: int = SaverDef.V2) -> None:
        self._write_version = write_version

    def save_op(self, filename_tensor: Tensor, saveables: Sequence[SaveableObject]) -> Operation:
        """Return the operation that writes a checkpoint.

        Args:
            filename_tensor: file name, a string scalar.
            saveables: objects to save.

        Raises:
            RuntimeError: the format does not exist.
        """
        names, tensors, slices = [], [], []
        for saveable in saveables:
            for spec in saveable.specs:
                names.append(spec.name)
                tensors.append(spec.tensor)
                slices.append(spec.slice_spec)
        if self._write_version == SaverDef.V1:
            return saving.save_slices(filename_tensor, names, tensors, slices)
        if self._write_version == SaverDef.V2:
            return saving.save_v2(filename_tensor, names, slices, tensors)
        raise RuntimeError(f"Unexpected write_version: {self._write_version}")

    def restore_op(
        self, filename_tensor: Tensor, saveable: SaveableObject, preferred_shard: int
    ) -> list[Tensor]:
        """Return the tensors that restore an object.

        Args:
            filename_tensor: file name, a string scalar.
            saveable: object to restore.
            preferred_shard: ignored: the index locates all values.
        """
        return [
            saving.restore_v2(filename_tensor, [spec.name], [spec.slice_spec], [spec.dtype.base_dtype])[0]
            for spec in saveable.specs
        ]

    def bulk_restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[SaveableObject],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """Return the tensors that restore all objects, with an operation for each object.

        Args:
            filename_tensor: file name, a string scalar.
            saveables: objects to restore.
            preferred_shard: the shard that contains them, if known.
            restore_sequentially: ignored.
        """
        tensors: list[Tensor] = []
        for saveable in saveables:
            with get_default_graph().device(set_cpu0(saveable.device) if saveable.device else None):
                tensors += self.restore_op(filename_tensor, saveable, preferred_shard)
        return tensors

    def sharded_filename(self, filename_tensor: Tensor, shard: int, num_shards: Any) -> Tensor:
        """Return the file name of a shard.

        Args:
            filename_tensor: prefix of the name, a string scalar.
            shard: number of the shard.
            num_shards: number of shards, an int32 tensor.
        """
        return saving.sharded_filename(filename_tensor, shard, num_shards)

    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
    ) -> Any:
        """Add the operations; for the arguments see `Saver`.

        Args:
            names_to_saveables: dict from name to variable, or list of variables.
            reshape: allow other shapes in the checkpoint.
            sharded: write one shard for each device.
            max_to_keep: number of checkpoints to keep; None or 0: all.
            keep_checkpoint_every_n_hours: interval of checkpoints that are never removed, in hours.
            name: name of the name scope; None: ``save``.
            restore_sequentially: ignored.
            filename: name of a checkpoint if no name is fed.

        Returns:
            A ``SaverDef``.

        Raises:
            TypeError: an object cannot be saved.
            ValueError: a name occurs twice, or an object has two names.
        """
        saveables = saveables_of(names_to_saveables)
        with name_scope(name, "save", [saveable.op for saveable in saveables]):
            filename_tensor = constant.placeholder_with_default(filename or "model", (), name="filename")
            filename_tensor = constant.placeholder_with_default(filename_tensor, (), name="Const")
            if sharded:
                per_device = _by_device(saveables)
                save_tensor = self._add_sharded_save(filename_tensor, per_device)
                restore = self._add_sharded_restore(
                    filename_tensor, per_device, restore_sequentially, reshape
                )
            else:
                save_tensor = self._add_save(filename_tensor, saveables)
                restore = self._add_restore(filename_tensor, saveables, restore_sequentially, reshape)
        return SaverDef(
            filename_tensor_name=filename_tensor.name,
            save_tensor_name=save_tensor.name,
            restore_op_name=restore.name,
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )

    def _add_save(self, filename_tensor: Tensor, saveables: Sequence[SaveableObject]) -> Tensor:
        return control.with_dependencies([self.save_op(filename_tensor, saveables)], filename_tensor)

    def _add_sharded_save(
        self, filename_tensor: Tensor, per_device: Sequence[tuple[str, list[SaveableObject]]]
    ) -> Tensor:
        graph = get_default_graph()
        is_v2 = self._write_version == SaverDef.V2
        prefix = filename_tensor
        if is_v2:
            prefix = strings.string_join([filename_tensor, f"_temp_{uuid.uuid4().hex}/part"])
        count = constant.constant(len(per_device), name="num_shards")
        names, saves, last = [], [], ""
        for shard, (device, saveables) in enumerate(per_device):
            last = set_cpu0(device) if is_v2 else device
            with graph.device(last):
                names.append(self.sharded_filename(prefix, shard, count))
                saves.append(self._add_save(names[-1], saveables))
        with graph.control_dependencies([tensor.op for tensor in saves]):
            if not is_v2:
                return saving.sharded_filespec(filename_tensor, count)
            with graph.device(last):
                merge = saving.merge_v2_checkpoints(names, filename_tensor, delete_old_dirs=True)
                with graph.control_dependencies([merge]):
                    return reshaping.identity(filename_tensor)

    def _add_restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[SaveableObject],
        restore_sequentially: bool,
        reshape: bool,
        preferred_shard: int = -1,
        name: str = "restore_all",
    ) -> Operation:
        tensors = self.bulk_restore(filename_tensor, saveables, preferred_shard, restore_sequentially)
        assignments = []
        at = 0
        for saveable in saveables:
            shapes: list[Any] | None = None
            if reshape:
                shapes = []
                for spec in saveable.specs:
                    tensor = spec.tensor
                    shape = tensor.get_shape()
                    shapes.append(shape if shape.is_fully_defined() else reshaping.shape(tensor))
            assignments.append(saveable.restore(tensors[at : at + len(saveable.specs)], shapes))
            at += len(saveable.specs)
        return control.group(*assignments, name=name)

    def _add_sharded_restore(
        self,
        filename_tensor: Tensor,
        per_device: Sequence[tuple[str, list[SaveableObject]]],
        restore_sequentially: bool,
        reshape: bool,
    ) -> Operation:
        restores = []
        for shard, (device, saveables) in enumerate(per_device):
            with get_default_graph().device(device):
                restores.append(
                    self._add_restore(
                        filename_tensor, saveables, restore_sequentially, reshape, shard, "restore_shard"
                    )
                )
        return control.group(*restores, name="restore_all")


for _class in (SaveSpec, SaveableObject, ResourceVariableSaveable):
    setattr(BaseSaverBuilder, _class.__name__, _class)
BaseSaverBuilder.VariableSaveable = ReferenceVariableSaveable  # type: ignore[attr-defined]


class BulkSaverBuilder(BaseSaverBuilder):
    """Restores all variables of a shard in one operation; the default builder of `Saver`.

    Args:
        write_version: format to write, ``SaverDef.V2`` or ``SaverDef.V1``.
    """

    def bulk_restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[SaveableObject],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """Return the tensors that restore all objects, in one operation on the first CPU.

        Args:
            filename_tensor: file name, a string scalar.
            saveables: objects to restore.
            preferred_shard: ignored.
            restore_sequentially: ignored.
        """
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with get_default_graph().device("cpu:0"):
            return saving.restore_v2(
                filename_tensor,
                [spec.name for spec in specs],
                [spec.slice_spec for spec in specs],
                [spec.dtype.base_dtype for spec in specs],
            )


def _by_device(saveables: Sequence[SaveableObject]) -> list[tuple[str, list[SaveableObject]]]:
    """Return the objects to save by device, sorted by device name."""
    per_device: dict[str, list[SaveableObject]] = {}
    for saveable in saveables:
        devices = {canonical_name(spec.tensor.device) for spec in saveable.specs}
        if len(devices) != 1:
            raise ValueError(f"All tensors of a saveable object must be on the same device: {saveable.name}")
        per_device.setdefault(devices.pop(), []).append(saveable)
    return sorted(per_device.items())
