"""Object-based checkpoints: objects have named dependencies, and a checkpoint stores the graph of objects.

    Checkpoint --model--> Model --kernel--> Variable          "model/kernel/.ATTRIBUTES/VARIABLE_VALUE" is its key

A checkpoint is restored along these names. A value for an object that does not exist yet is recorded in the object that
will depend on it, and restored when that dependency is added. Restores are numbered; if several have a value for an
object, the one with the highest number applies.

Files are read and operations are added elsewhere: a `CheckpointPosition` delegates both to its checkpoint
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
"""Key of a checkpoint's object graph, a ``TrackableObjectGraph``."""

VARIABLE_VALUE_KEY = "VARIABLE_VALUE"
"""Name of a variable's value within the variable."""

OBJECT_CONFIG_JSON_KEY = "OBJECT_CONFIG_JSON"
"""Name of an object's configuration within the object."""

_uids = itertools.count()


def uid() -> int:
    """Return the next restore number, which increases."""
    return next(_uids)


class TrackableReference(NamedTuple):
    """A dependency of an object."""

    name: str
    """The dependency's name in the object."""
    ref: Any
    """The dependency, a `Trackable`."""


class SlotRestoration(NamedTuple):
    """An optimizer's slot for a variable in a checkpoint."""

    optimizer_id: int
    """Index of the optimizer among the checkpoint's objects."""
    slot_variable_id: int
    """Index of the slot."""
    slot_name: str
    """The optimizer's name for the slot."""


class DeferredSlotRestoration(NamedTuple):
    """A slot whose variable exists and whose optimizer does not exist yet."""

    original_variable: Any
    """The variable."""
    slot_variable_id: int
    """Index of the slot among the checkpoint's objects."""
    slot_name: str
    """The optimizer's name for the slot."""


class CheckpointPosition:
    """An object of a checkpoint.

    Args:
        checkpoint: the restore that the object belongs to.
        proto_id: index of the object in the checkpoint.
    """

    def __init__(self, checkpoint: Any, proto_id: int) -> None:
        self._checkpoint = checkpoint
        self._proto_id = proto_id

    @property
    def checkpoint(self) -> Any:
        """The restore that the object belongs to."""
        return self._checkpoint

    @property
    def proto_id(self) -> int:
        """The object's index in the checkpoint."""
        return self._proto_id

    @property
    def trackable(self) -> Any:
        """The program's object that corresponds to it."""
        return self._checkpoint.object_by_proto_id[self._proto_id]

    @property
    def object_proto(self) -> Any:
        """The object's message in the checkpoint."""
        return self._checkpoint.object_graph_proto.nodes[self._proto_id]

    @property
    def restore_uid(self) -> int:
        """The number of the restore."""
        return int(self._checkpoint.restore_uid)

    def __repr__(self) -> str:
        return repr(self.object_proto)

    def restore(self, trackable: Trackable) -> None:
        """Restore the values of an object and its dependencies.

        Args:
            trackable: the corresponding object of the program.
        """
        with get_default_graph().control_dependencies(None):
            if self.bind_object(trackable):
                operations = trackable._restore_from_checkpoint_position(self)
                if operations:
                    self._checkpoint.new_restore_ops(operations)

    def bind_object(self, trackable: Any) -> bool:
        """Bind the position to an object of the program, and restore slots that waited for it.

        Args:
            trackable: the program's object.

        Returns:
            Whether the position was unbound. If it was bound to another object, a warning is logged.
        """
        checkpoint, number = self._checkpoint, self._proto_id
        checkpoint.all_python_objects.add(trackable)
        checkpoint.matched_proto_ids.add(number)
        bound = checkpoint.object_by_proto_id.get(number)
        if bound is not None:
            if bound is not trackable:
                tf_logging.warning(
                    "Inconsistent references when loading the checkpoint into this object graph. Either the Trackable "
                    "object references in the Python program have changed in an incompatible way, or the checkpoint "
                    "was generated in an incompatible program.\n\nTwo checkpoint references resolved to different "
                    "objects (%s and %s).",
                    bound,
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
        """Return what restores the object: existing operations, and saveable objects for new ones.

        Returns:
            Existing operations; saveable objects of tensors by their checkpoint keys; those of Python values.
        """
        gathered: tuple[list[Any], dict[str, Any], list[Any]] = self._checkpoint.gather(self)
        return gathered


@dataclasses.dataclass
class _Tracking:
    """The tracking state of an object's dependencies."""

    references: list[TrackableReference] = dataclasses.field(default_factory=list)
    """The dependencies in the order in which they were added."""
    by_name: dict[str, Any] = dataclasses.field(default_factory=dict)
    """The dependencies by name."""
    deferred: dict[str, list[CheckpointPosition]] = dataclasses.field(default_factory=dict)
    """Values to restore into dependencies that do not exist yet, by name."""
    update_uid: int = -1
    """The number of the last restore that set the object's values."""
    follows_attributes: bool = True
    """Whether assigned attributes become dependencies."""


def no_automatic_dependency_tracking(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method so that attributes that it sets are not dependencies.

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
    """Set attributes of an object in this context without making them dependencies.

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
    """Base class of objects in object-based checkpoints; their dependencies are added one by one.

    `AutoTrackable` adds assigned attributes. A subclass returns its own values from
    ``_gather_saveables_for_checkpoint``.
    """

    def _maybe_initialize_trackable(self) -> None:
        """Set up dependency tracking, even if a class does not call its base class's ``__init__``."""
        _tracking_of(self)

    # Dependencies

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
        """All dependencies; subclasses add optional ones."""
        return _tracking_of(self).references

    @property
    def _deferred_dependencies(self) -> dict[str, list[CheckpointPosition]]:
        return _tracking_of(self).deferred

    def _lookup_dependency(self, name: str) -> Any:
        """Return the dependency of a name, or None."""
        return _tracking_of(self).by_name.get(name)

    def _no_dependency(self, value: Any) -> Any:
        """Return a value to assign to an attribute without making it a dependency."""
        return value

    @property
    def _object_identifier(self) -> str:
        return "_generic_user_object"

    @property
    def _tracking_metadata(self) -> str:
        return ""

    def _track_trackable(self, trackable: Any, name: str, overwrite: bool = False) -> Any:
        """Add a dependency, and restore values from checkpoints that wait for it.

        Args:
            trackable: the dependency.
            name: its name in this object.
            overwrite: whether to replace another dependency of that name.

        Returns:
            ``trackable``.

        Raises:
            TypeError: ``trackable`` is not a `Trackable`.
            ValueError: another dependency has the name.
        """
        if not isinstance(trackable, Trackable):
            raise TypeError(f"Trackable._track_trackable() passed type {type(trackable)}, not a Trackable.")
        tracking = _tracking_of(self)
        existing = self._lookup_dependency(name)
        if existing is None:
            tracking.references.append(TrackableReference(name, trackable))
            self._handle_deferred_dependencies(name=name, trackable=trackable)
        elif existing is not trackable:
            if not overwrite:
                raise ValueError(
                    f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this name is "
                    "already declared as a dependency. Names must be unique (or overwrite=True)."
                )
            tracking.references[:] = [
                TrackableReference(name, trackable) if item.name == name else item
                for item in tracking.references
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
        """Make a variable with a function and add it as a dependency.

        Args:
            name: its name in this object.
            shape: its shape; passed to ``getter``.
            dtype: its dtype; passed to ``getter``.
            initializer: its initial value; passed to ``getter``.
            getter: the function, called with these arguments by keyword.
            overwrite: whether to replace another dependency of that name, and to allow a result that is not a
                `Trackable`.
            **kwargs_for_getter: further arguments of ``getter``.

        Returns:
            The result of ``getter``.

        Raises:
            ValueError: another dependency has the name.
        """
        variable = getter(name=name, shape=shape, dtype=dtype, initializer=initializer, **kwargs_for_getter)
        if overwrite and not isinstance(variable, Trackable):
            return variable
        return self._track_trackable(variable, name=name, overwrite=overwrite)

    # Restoring

    def _handle_deferred_dependencies(self, name: str, trackable: Trackable) -> None:
        """Restore values that wait for a dependency, the latest restore first."""
        waiting = self._deferred_dependencies.pop(name, [])
        for position in sorted(waiting, key=lambda item: item.restore_uid, reverse=True):
            position.restore(trackable)

    def _restore_from_checkpoint_position(self, checkpoint_position: CheckpointPosition) -> list[Any]:
        """Restore the object and its dependencies, nearest first.

        Args:
            checkpoint_position: the object's position in a checkpoint.

        Returns:
            The restore operations.
        """
        queue = collections.deque([checkpoint_position])
        operations: list[Any] = []
        tensors: dict[str, Any] = {}
        pythons: list[Any] = []
        while queue:
            position = queue.popleft()
            restored = position.trackable._single_restoration_from_checkpoint_position(
                checkpoint_position=position, visit_queue=queue
            )
            operations.extend(restored[0])
            tensors.update(restored[1])
            pythons.extend(restored[2])
        operations.extend(checkpoint_position.checkpoint.restore_saveables(tensors, pythons))
        return operations

    def _single_restoration_from_checkpoint_position(
        self, checkpoint_position: CheckpointPosition, visit_queue: collections.deque[CheckpointPosition]
    ) -> tuple[Any, dict[str, Any], Any]:
        """Return what restores this object alone; queue existing dependencies, and record missing ones."""
        checkpoint = checkpoint_position.checkpoint
        restored: tuple[Any, dict[str, Any], Any] = ([], {}, [])
        if checkpoint.restore_uid > self._update_uid:
            restored = checkpoint_position.gather_ops_or_named_saveables()
            self._update_uid = checkpoint.restore_uid
        for child in checkpoint_position.object_proto.children:
            position = CheckpointPosition(checkpoint, child.node_id)
            dependency = self._lookup_dependency(child.local_name)
            if dependency is None:
                self._deferred_dependencies.setdefault(child.local_name, []).append(position)
            elif position.bind_object(trackable=dependency):
                visit_queue.append(position)
        return restored

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Return the object's own values by name: variables, or functions from a name to a saveable object."""
        return {}


def _tracking_of(obj: Any) -> _Tracking:
    attributes: dict[str, Any] = obj.__dict__
    tracking: _Tracking | None = attributes.get("_self_tracking")
    if tracking is None:
        tracking = attributes["_self_tracking"] = _Tracking()
    return tracking
