"""Restoring a checkpoint: matching its objects with the program's, and finding unused ones.

Source: tensorflow/python/training/tracking/util.py, release 1.15.
"""

from __future__ import annotations

import collections
import weakref
from collections.abc import Iterator
from typing import Any

from gpuplace import tf_logging
from gpuplace.files.checkpoints.reader import NewCheckpointReader
from gpuplace.graph.operation import Tensor
from gpuplace.ops.tracking.base import CheckpointPosition, SlotRestoration, uid
from gpuplace.saving.saveables import SaveableObject, by_name, saveables_for, saveables_of
from gpuplace.tf1.saving.tracking.device_saver import MultiDeviceSaver
from gpuplace.tf1.saving.tracking.graph_view import ObjectGraphView
from gpuplace.tf1.saving.tracking.identity import ObjectIdentityWeakKeyDictionary, ObjectIdentityWeakSet
from gpuplace.tf1.saving.tracking.state import PythonStateSaveable

__all__ = ["CheckpointRestoreCoordinator", "NameBasedRestoreCoordinator", "object_names"]


def object_names(object_graph_proto: Any) -> dict[int, str]:
    """Return the names of a checkpoint's objects for messages: ``(root).model.kernel``.

    Args:
        object_graph_proto: a ``TrackableObjectGraph``.

    Returns:
        The names, by object number.
    """
    names = {0: "(root)"}
    waiting = collections.deque([0])
    nodes = object_graph_proto.nodes
    while waiting:
        number = waiting.popleft()
        for child in nodes[number].children:
            if child.node_id not in names:
                names[child.node_id] = f"{names[number]}.{child.local_name}"
                waiting.append(child.node_id)
    for number, node in enumerate(nodes):
        for slot in node.slot_variables:
            names[slot.slot_variable_node_id] = (
                f"{names[number]}'s state '{slot.slot_name}' for {names[slot.original_variable_node_id]}"
            )
    return names


class CheckpointRestoreCoordinator:
    """The restore of an object-based checkpoint.

    Warnings report unused values when it is deleted, unless ``expect_partial`` is set.

    Args:
        object_graph_proto: the checkpoint's ``TrackableObjectGraph``.
        save_path: the checkpoint.
        save_path_tensor: a string scalar to which the path is fed.
        restore_op_cache: the restore operations, by key; new ones are added.
        graph_view: the program's objects.
    """

    def __init__(
        self,
        object_graph_proto: Any,
        save_path: str,
        save_path_tensor: Tensor,
        restore_op_cache: dict[str, Any],
        graph_view: ObjectGraphView,
    ) -> None:
        self.object_graph_proto = object_graph_proto
        self.restore_uid = uid()
        self.save_path_string = save_path
        self.save_path_tensor = save_path_tensor
        self.restore_ops: list[Any] = []
        self.restore_ops_by_name = restore_op_cache
        self.new_restore_ops_callback: Any = None
        self.graph_view = graph_view
        self.object_by_proto_id: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.all_python_objects = ObjectIdentityWeakSet()
        self.matched_proto_ids: set[int] = set()
        self.unused_attributes: dict[int, list[str]] = {}
        self.deferred_slot_restorations: dict[int, list[Any]] = {}
        self.slot_restorations: dict[int, list[SlotRestoration]] = {}
        for number, node in enumerate(object_graph_proto.nodes):
            for slot in node.slot_variables:
                self.slot_restorations.setdefault(slot.original_variable_node_id, []).append(
                    SlotRestoration(number, slot.slot_variable_node_id, slot.slot_name)
                )
        self._warns = weakref.finalize(
            self, _warn_of_unused, object_graph_proto, self.matched_proto_ids, self.unused_attributes
        )
        self._warns.atexit = False

    @property
    def expect_partial(self) -> bool:
        """Whether to omit the warnings about unused values."""
        return not self._warns.alive

    @expect_partial.setter
    def expect_partial(self, expect_partial: bool) -> None:
        if expect_partial:
            self._warns.detach()

    def new_restore_ops(self, new_ops: list[Any]) -> None:
        """Add operations that restore.

        Args:
            new_ops: the operations.
        """
        self.restore_ops.extend(new_ops)
        if self.new_restore_ops_callback is not None:
            self.new_restore_ops_callback(new_ops)

    def gather(self, position: CheckpointPosition) -> tuple[list[Any], dict[str, Any], list[Any]]:
        """Return the operations and values that restore one object.

        Args:
            position: the checkpoint's object, already matched with one of the program's.

        Returns:
            Existing operations; saveable objects for new operations, by key; Python state.
        """
        operations: list[Any] = []
        tensors: dict[str, Any] = {}
        pythons: list[Any] = []
        trackable = position.trackable
        values = trackable._gather_saveables_for_checkpoint()
        for attribute in position.object_proto.attributes:
            key, name = attribute.checkpoint_key, attribute.name
            restore_op = self.restore_ops_by_name.get(key)
            if restore_op is not None:
                operations.append(restore_op)
                continue
            saveable: Any = self.graph_view.cached_saveable(trackable, name, key)
            if saveable is None:
                if name not in values:
                    if not attribute.optional_restore:
                        self.unused_attributes.setdefault(position.proto_id, []).append(name)
                    continue
                saveable = values[name](name=key) if callable(values[name]) else values[name]
                self.graph_view.keep_saveable(trackable, name, saveable)
            if isinstance(saveable, PythonStateSaveable):
                pythons.append(saveable)
            else:
                tensors[key] = saveable
        return operations, tensors, pythons

    def restore_saveables(self, tensor_saveables: dict[str, Any], python_saveables: list[Any]) -> list[Any]:
        """Create the restore operations, and restore Python state immediately.

        Args:
            tensor_saveables: saveable objects for the operations, by key.
            python_saveables: the Python state.

        Returns:
            The operations.
        """
        if python_saveables:
            reader = NewCheckpointReader(self.save_path_string)
            for saveable in python_saveables:
                saveable.python_restore([reader.get_tensor(spec.name) for spec in saveable.specs])
        if not tensor_saveables:
            return []
        restore_ops = MultiDeviceSaver(saveables_of(tensor_saveables)).restore(self.save_path_tensor)
        self.restore_ops_by_name.update(restore_ops)
        return [restore_ops[name] for name in sorted(restore_ops)]


def _warn_of_unused(object_graph_proto: Any, matched: set[int], unused: dict[int, list[str]]) -> None:
    """Warn about values in a checkpoint that the program does not have."""
    missing = [number for number in range(len(object_graph_proto.nodes)) if number not in matched]
    if not missing and not unused:
        return
    names = object_names(object_graph_proto)
    for number in missing:
        tf_logging.warning("Unresolved object in checkpoint: %s", names[number])
    for number, attributes in unused.items():
        tf_logging.warning("Unused attribute in object %s: %s", names[number], attributes)
    tf_logging.warning(
        "A checkpoint was restored (e.g. tf.train.Checkpoint.restore or tf.keras.Model.load_weights) but not all "
        "checkpointed values were used. See above for specific issues. Use expect_partial() on the load status object, "
        "e.g. tf.train.Checkpoint.restore(...).expect_partial(), to silence these warnings, or use assert_consumed() "
        "to make the check explicit. See https://www.tensorflow.org/alpha/guide/checkpoints#loading_mechanics for "
        "details."
    )


class NameBasedRestoreCoordinator:
    """The restore of a checkpoint of ``tf.train.Saver``, in which variables have their own names.

    Args:
        save_path: the checkpoint.
    """

    def __init__(self, save_path: str) -> None:
        self.save_path = save_path
        self.unused_attributes = ObjectIdentityWeakKeyDictionary()
        self.restore_uid = uid()

    def globally_named_object_attributes(self, trackable: Any) -> Iterator[SaveableObject]:
        """Return the saveable objects of an object under their own names.

        Required values without such a name are recorded as unused.

        Args:
            trackable: the object.
        """
        for name, value in trackable._gather_saveables_for_checkpoint().items():
            if callable(value):
                try:
                    value = value()
                except TypeError:  # it needs a name, which only an object-based checkpoint could give it
                    if not value("").optional_restore:
                        self.unused_attributes.setdefault(trackable, []).append(name)
                    continue
            for full_name, saved in by_name([value]).items():
                yield from saveables_for(saved, full_name)
