"""Operations that write and read object-based checkpoints: one file for each device, merged afterwards.

    file_prefix --> StringJoin (_temp_<random>/part) --> ShardedFilename, SaveV2 for each device ··> MergeV2Checkpoints
    file_prefix --> RestoreV2 for each device --> Assign of each variable

Source: tensorflow/python/training/saving/functional_saver.py, release 1.15.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import saving
from gpuplace.ops.array.constant import constant
from gpuplace.ops.text.strings import string_join
from gpuplace.saving.builder import BulkSaverBuilder
from gpuplace.saving.saveables import SaveableObject, set_cpu0

__all__ = ["MultiDeviceSaver"]


class _SingleDeviceSaver:
    """Saver of the objects of one device.

    Args:
        saveable_objects: the objects.

    Raises:
        ValueError: an element is not a ``SaveableObject``.
    """

    def __init__(self, saveable_objects: Iterable[SaveableObject]) -> None:
        self._saveable_objects = list(saveable_objects)
        for saveable in self._saveable_objects:
            if not isinstance(saveable, SaveableObject):
                raise ValueError(f"Expected a list of SaveableObjects, got {saveable}.")

    def save(self, file_prefix: Any) -> Operation:
        """Return the operation that writes the objects.

        Args:
            file_prefix: prefix of the file names.
        """
        specs = [spec for saveable in self._saveable_objects for spec in saveable.specs]
        tensors = [spec.tensor for spec in specs]
        with get_default_graph().device("cpu:0"):
            return saving.save_v2(
                file_prefix, [spec.name for spec in specs], [spec.slice_spec for spec in specs], tensors
            )

    def restore(self, file_prefix: Any) -> dict[str, Any]:
        """Return the operations that read the objects, by name.

        Args:
            file_prefix: prefix of the file names.
        """
        tensors = BulkSaverBuilder().bulk_restore(file_prefix, self._saveable_objects, -1, False)
        operations, at = {}, 0
        for saveable in self._saveable_objects:
            after = at + len(saveable.specs)
            operations[saveable.name] = saveable.restore(tensors[at:after], restored_shapes=None)
            at = after
        return operations


class MultiDeviceSaver:
    """Saver of objects on all devices.

    Args:
        saveable_objects: the objects.

    Raises:
        ValueError: an element is not a ``SaveableObject``.
    """

    def __init__(self, saveable_objects: Sequence[SaveableObject]) -> None:
        by_device: dict[str, list[SaveableObject]] = {}
        for saveable in saveable_objects:
            if not isinstance(saveable, SaveableObject):
                raise ValueError(f"Expected a dictionary of SaveableObjects, got {saveable}.")
            by_device.setdefault(saveable.device, []).append(saveable)
        self._savers = [(device, _SingleDeviceSaver(here)) for device, here in sorted(by_device.items())]

    def save(self, file_prefix: Any) -> Operation:
        """Return the operation that writes a checkpoint.

        Args:
            file_prefix: prefix of the file names, a string or string scalar.
        """
        graph = get_default_graph()
        with graph.device("cpu:0"):
            part = string_join([file_prefix, f"_temp_{uuid.uuid4().hex}/part"])
        count = constant(len(self._savers), name="num_shards")
        prefixes: list[Tensor] = []
        writes = []
        for shard, (device, saver) in enumerate(self._savers):
            with graph.device(set_cpu0(device)):
                prefixes.append(saving.sharded_filename(part, shard, count))
            with graph.device(device):
                writes.append(saver.save(prefixes[-1]))
        with graph.control_dependencies(writes), graph.device(set_cpu0(self._savers[-1][0])):
            return saving.merge_v2_checkpoints(prefixes, file_prefix, delete_old_dirs=True)

    def restore(self, file_prefix: Any) -> dict[str, Any]:
        """Return the operations that read a checkpoint, by the names of the restored values.

        Args:
            file_prefix: prefix of the file names, a string or string scalar.
        """
        operations: dict[str, Any] = {}
        for device, saver in self._savers:
            with get_default_graph().device(device):
                operations.update(saver.restore(file_prefix))
        return operations
