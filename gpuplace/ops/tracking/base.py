"""What is in a checkpoint by its place among objects: each has named dependencies, and a checkpoint has their graph.

    Checkpoint --model--> Net --kernel--> Variable          "model/kernel/.ATTRIBUTES/VARIABLE_VALUE" is its value

A checkpoint is restored along the names. What the program has not made yet is noted in the object that will depend on
it, and restored when that dependency is added. Each restore has a number; where several want to give a value to an
object, the one with the highest number does.

Reading files and adding operations is not done here: a `CheckpointPosition` hands that on to its checkpoint
(``gpuplace.tf1.saving.tracking``).

Source: tensorflow/python/training/tracking/base.py, release 1.15.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpuplace import tf_logging
from gpuplace.dtypes import float32
from gpuplace.graph.convert import get_default_graph
from gpuplace.typing import DTypeLike, ShapeLike

__all__ = [
    "OBJECT_CONFIG_JSON_KEY",
    "OBJECT_GRAPH_PROTO_KEY",
    "VARIABLE_VALUE_KEY",
    "CheckpointPosition",
    "Trackable",
    "TrackableReference",
    "no_automatic_dependency_tracking",
    "no_automatic_dependency_tracking_scope",
    "uid",
]

OBJECT_GRAPH_PROTO_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The tensor of a checkpoint that holds the graph of objects, a ``TrackableObjectGraph``."""

VARIABLE_VALUE_KEY = "VARIABLE_VALUE"
"""The name that a variable's value has within the variable."""

OBJECT_CONFIG_JSON_KEY = "OBJECT_CONFIG_JSON"
"""The name that the configuration of an object has within it."""

_uids = itertools.count()


def uid() -> int:
    """The next number; later restores have higher ones."""
    return next(_uids)


class TrackableReference(NamedTuple):
    """A dependency of an object."""

    name: str
    """The name that the object has for it."""
    ref: Any
    """What it depends on, a `Trackable`."""


class SlotRestoration(NamedTuple):
    """A variable that an optimizer keeps beside another one, as a checkpoint has it."""

    optimizer_id: int
    """Number of the optimizer among the checkpoint's objects."""
    slot_variable_id: int
    """Number of the slot."""
    slot_name: str
    """What the optimizer calls it."""


class DeferredSlotRestoration(NamedTuple):
    """A slot whose variable is there and whose optimizer is not."""

    original_variable: Any
    """The variable."""
    slot_variable_id: int
    """Number of the slot among the checkpoint's objects."""
    slot_name: str
    """What the optimizer calls it."""


class CheckpointPosition:
    """An object of a checkpoint.

    Args:
        checkpoint: the restore that it belongs to.
        proto_id: its number among the checkpoint's objects.
    """

    def __init__(self, checkpoint: Any, proto_id: int) -> None:
        self._checkpoint = checkpoint
        self._proto_id = proto_id

    @property
    def checkpoint(self) -> Any:
        """The restore that it belongs to."""
        return self._checkpoint

    @property
    def proto_id(self) -> int:
        """Its number among the checkpoint's objects."""
        return self._proto_id

    @property
    def trackable(self) -> Any:
        """The program's object that it was found to be."""
        return self._checkpoint.object_by_proto_id[self._proto_id]

    @property
    def object_proto(self) -> Any:
        """What the checkpoint says about it."""
        return self._checkpoint.object_graph_proto.nodes[self._proto_id]

    @property
    def restore_uid(self) -> int:
        """The number of the restore."""
        return int(self._checkpoint.restore_uid)

    def __repr__(self) -> str:
        return repr(self.object_proto)

    def restore(self, trackable: Trackable) -> None:
        """Gives an object, and what it depends on, the values.

        Args:
            trackable: the program's object for this one.
        """
        with get_default_graph().control_dependencies(None):
            if self.bind_object(trackable):
                operations = trackable._restore_from_checkpoint_position(self)
                if operations:
                    self._checkpoint.new_restore_ops(operations)

    def bind_object(self, trackable: Any) -> bool:
        """Notes which of the program's objects this is, and restores slots that waited for it.

        Args:
            trackable: the program's object.

        Returns:
            Whether that was not known before. Where it was another object, a warning is logged.
        """
        checkpoint, number = self._checkpoint, self._proto_id
        checkpoint.all_python_objects.add(trackable)
        checkpoint.matched_proto_ids.add(number)
        known = checkpoint.object_by_proto_id.get(number)
        if known is not None:
            if known is not trackable:
                tf_logging.warning(
                    "Inconsistent references when loading the checkpoint into this object graph. Either the Trackable "
                    "object references in the Python program have changed in an incompatible way, or the checkpoint "
                    "was generated in an incompatible program.\n\nTwo checkpoint references resolved to different "
                    "objects (%s and %s).",
                    known,
                    trackable,
                )
            return False
        checkpoint.object_by_proto_id[number] = trackable
        for waiting in checkpoint.deferred_slot_restorations.pop(number, ()):
            self._restore_slot(
                trackable, waiting.original_variable, waiting.slot_variable_id, waiting.slot_name
            )
        for slot in checkpoint.slot_restorations.pop(number, ()):
            optimizer = checkpoint.object_by_proto_id.get(slot.optimizer_id)
            if optimizer is None:
                checkpoint.deferred_slot_restorations.setdefault(slot.optimizer_id, []).append(
                    DeferredSlotRestoration(trackable, slot.slot_variable_id, slot.slot_name)
                )
            else:
                self._restore_slot(optimizer, trackable, slot.slot_variable_id, slot.slot_name)
        return True

    def _restore_slot(self, optimizer: Any, variable: Any, slot_id: int, slot_name: str) -> None:
        optimizer._create_or_restore_slot_variable(
            slot_variable_position=CheckpointPosition(self._checkpoint, slot_id),
            variable=variable,
            slot_name=slot_name,
        )

    def gather_ops_or_named_saveables(self) -> tuple[list[Any], dict[str, Any], list[Any]]:
        """What restores it: operations there are already, and what operations are to be made of.

        Returns:
            The operations; saveable objects of tensors by their keys in the checkpoint; those of Python's values.
        """
        found: tuple[list[Any], dict[str, Any], list[Any]] = self._checkpoint.gather(self)
        return found


@dataclasses.dataclass
class _Tracking:
    """What is known of an object's dependencies."""

    references: list[TrackableReference] = dataclasses.field(default_factory=list)
    """In the order in which they were added."""
    by_name: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The same, by name."""
    deferred: dict[str, list[CheckpointPosition]] = dataclasses.field(default_factory=dict)
    """By name, what is to be restored into dependencies that are not there yet."""
    update_uid: int = -1
    """The number of the last restore that gave the object its values."""
    follows_attributes: bool = True
    """Whether an attribute that is set is a dependency."""


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of methods: attributes that they set are no dependencies.

    Args:
        method: a method of a `Trackable`.
    """

    @functools.wraps(method)
    def without(self: Any, *args: Any, **kwargs: Any) -> Any:
        with no_automatic_dependency_tracking_scope(self):
            return method(self, *args, **kwargs)

    return without


@contextlib.contextmanager
def no_automatic_dependency_tracking_scope(obj: Any) -> Iterator[None]:
    """Attributes of an object that are set in this context are no dependencies.

    Args:
        obj: a `Trackable`.
    """
    before = obj._setattr_tracking
    obj._setattr_tracking = False
    try:
        yield
    finally:
        obj._setattr_tracking = before


class Trackable:
    """Something that checkpoints of objects have; its dependencies are added one by one.

    `AutoTrackable` adds what is set as an attribute. A subclass says in ``_gather_saveables_for_checkpoint`` which
    values are its own.
    """

    def _maybe_initialize_trackable(self) -> None:
        """Makes sure that it can have dependencies, whether or not its class calls another one's ``__init__``."""
        _tracking_of(self)

    # What it depends on

    @property
    def _setattr_tracking(self) -> bool:
        return _tracking_of(self).follows_attributes

    @_setattr_tracking.setter
    def _setattr_tracking(self, value: bool) -> None:
        _tracking_of(self).follows_attributes = value

    @property
    def _update_uid(self) -> int:
        return _tracking_of(self).update_uid

    @_update_uid.setter
    def _update_uid(self, value: int) -> None:
        _tracking_of(self).update_uid = value

    @property
    def _unconditional_checkpoint_dependencies(self) -> list[TrackableReference]:
        return _tracking_of(self).references

    @property
    def _unconditional_dependency_names(self) -> dict[str, Any]:
        return _tracking_of(self).by_name

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """All dependencies; subclasses add those that are not always there."""
        return _tracking_of(self).references

    @property
    def _deferred_dependencies(self) -> dict[str, list[CheckpointPosition]]:
        return _tracking_of(self).deferred

    def _lookup_dependency(self, name: str) -> Any:
        """The dependency of a name; None where there is none."""
        return _tracking_of(self).by_name.get(name)

    def _no_dependency(self, value: Any) -> Any:
        """A value as an attribute is to be set to it that is no dependency."""
        return value

    @property
    def _object_identifier(self) -> str:
        return "_generic_user_object"

    @property
    def _tracking_metadata(self) -> str:
        return ""

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Adds a dependency; what waits for it in a checkpoint is restored into it.

        Args:
            trackable: what the object depends on.
            name: its name here.
            overwrite: allow another object to have had the name.

        Returns:
            ``trackable``.

        Raises:
            TypeError: it is no `Trackable`.
            ValueError: another object has the name.
        """
        if not isinstance(trackable, Trackable):
            raise TypeError(f"Trackable._track_trackable() passed type {type(trackable)}, not a Trackable.")
        tracking = _tracking_of(self)
        known = self._lookup_dependency(name)
        if known is None:
            tracking.references.append(TrackableReference(name, trackable))
            self._handle_deferred_dependencies(name=name, trackable=trackable)
        elif known is not trackable:
            if not overwrite:
                raise ValueError(
                    f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is "
                    "already declared as a dependency. Names must be unique (or overwrite=True)."
                )
            tracking.references[:] = [
                TrackableReference(name, trackable) if one.name == name else one
                for one in tracking.references
            ]
        tracking.by_name[name] = trackable
        return trackable

    def _add_variable_with_custom_getter(
        self,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        initializer: Any = None,
        getter: Any = None,
        overwrite: bool = False,
        **kwargs_for_getter: Any,
    ) -> Any:
        """A variable that it depends on, made by a function.

        Args:
            name: its name here.
            shape: handed on, as are the next two.
            dtype: its element type.
            initializer: its initial value.
            getter: the function, which takes all these by name.
            overwrite: allow another object to have had the name, and something that is no `Trackable`.
            **kwargs_for_getter: handed on.

        Returns:
            What the function gave.

        Raises:
            ValueError: another object has the name.
        """
        made = getter(name=name, shape=shape, dtype=dtype, initializer=initializer, **kwargs_for_getter)
        if overwrite and not isinstance(made, Trackable):
            return made
        return self._track_trackable(made, name=name, overwrite=overwrite)

    # Restoring

    def _handle_deferred_dependencies(self, name: str, trackable: Trackable) -> None:
        """Restores what waits for a dependency, the last restore first."""
        waiting = self._deferred_dependencies.pop(name, [])
        for position in sorted(waiting, key=lambda one: one.restore_uid, reverse=True):
            position.restore(trackable)

    def _restore_from_checkpoint_position(self, checkpoint_position: CheckpointPosition) -> list[Any]:
        """Restores the object and what it depends on, those nearest first.

        Args:
            checkpoint_position: where it is in a checkpoint.

        Returns:
            The operations that do it.
        """
        queue = collections.deque([checkpoint_position])
        operations: list[Any] = []
        tensors: dict[str, Any] = {}
        pythons: list[Any] = []
        while queue:
            position = queue.popleft()
            found = position.trackable._single_restoration_from_checkpoint_position(
                checkpoint_position=position, visit_queue=queue
            )
            operations.extend(found[0])
            tensors.update(found[1])
            pythons.extend(found[2])
        operations.extend(checkpoint_position.checkpoint.restore_saveables(tensors, pythons))
        return operations

    def _single_restoration_from_checkpoint_position(
        self, checkpoint_position: CheckpointPosition, visit_queue: collections.deque[CheckpointPosition]
    ) -> tuple[Any, dict[str, Any], Any]:
        """What restores this object alone; dependencies are queued, or noted where they are not there."""
        checkpoint = checkpoint_position.checkpoint
        found: tuple[Any, dict[str, Any], Any] = ([], {}, [])
        if checkpoint.restore_uid > self._update_uid:
            found = checkpoint_position.gather_ops_or_named_saveables()
            self._update_uid = checkpoint.restore_uid
        for child in checkpoint_position.object_proto.children:
            position = CheckpointPosition(checkpoint, child.node_id)
            dependency = self._lookup_dependency(child.local_name)
            if dependency is None:
                self._deferred_dependencies.setdefault(child.local_name, []).append(position)
            elif position.bind_object(trackable=dependency):
                visit_queue.append(position)
        return found

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """The values of its own by name: variables, or functions from a name to a saveable object."""
        return {}


def _tracking_of(obj: Any) -> _Tracking:
    attributes: dict[str, Any] = obj.__dict__
    found: _Tracking | None = attributes.get("_self_tracking")
    if found is None:
        found = attributes["_self_tracking"] = _Tracking()
    return found
