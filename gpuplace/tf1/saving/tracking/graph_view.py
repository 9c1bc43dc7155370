"""The object graph of a checkpoint: dependencies, and the key of each value.

    model/kernel/.ATTRIBUTES/VARIABLE_VALUE                            the path to an object, and its value's name
    model/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE   a slot: its variable, optimizer, name

Source: tensorflow/python/training/tracking/graph_view.py, release 1.15.
"""

from __future__ import annotations

import collections
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from gpuplace.dtypes import string
from gpuplace.graph.convert import get_default_graph
from gpuplace.graphdef.messages import TrackableObjectGraph
from gpuplace.ops.array.constant import constant
from gpuplace.ops.tracking.base import OBJECT_GRAPH_PROTO_KEY, TrackableReference
from gpuplace.ops.tracking.tracking import NotTrackable
from gpuplace.saving.saveables import SaveableObject, by_name, saveables_for
from gpuplace.tf1.saving.tracking.identity import ObjectIdentityDictionary
from gpuplace.tf1.saving.tracking.state import NoRestoreSaveable, PythonStateSaveable

__all__ = ["ObjectGraphView"]


def _escaped(name: str) -> str:
    """Return a name as it appears in keys, where slashes separate names."""
    return name.replace(".", "..").replace("/", ".S")


class _Saved(NamedTuple):
    """A value of an object, ready to be saved."""

    saveables: tuple[SaveableObject, ...]
    """Its saveable objects, one for each slice of a partitioned variable."""
    full_name: str
    """The name that a name-based saver would use, or an empty string."""


class _Listed(NamedTuple):
    """The objects of a graph, each once."""

    objects: list[Any]
    """In breadth-first order, followed by slots."""
    ids: ObjectIdentityDictionary
    """The number of each object."""
    keys: ObjectIdentityDictionary
    """The key prefix of each object's values."""
    slots: ObjectIdentityDictionary
    """For each optimizer, a checkpoint's entries for its slots."""


class ObjectGraphView:
    """An object and its dependencies.

    Args:
        root: the object, or a weak reference to it.
        saveables_cache: stores the saveable objects, so that operations are created once; None: nothing is
            stored, and Python state has its current value.
    """

    def __init__(self, root: Any, saveables_cache: Any = None) -> None:
        self._root_ref = root
        self._saveables_cache = saveables_cache

    @property
    def root(self) -> Any:
        """The object."""
        if isinstance(self._root_ref, weakref.ref):
            root = self._root_ref()
            assert root is not None
            return root
        return self._root_ref

    @property
    def saveables_cache(self) -> Any:
        """The stored saveable objects, or None."""
        return self._saveables_cache

    def list_dependencies(self, obj: Any) -> Sequence[TrackableReference]:
        """Return the dependencies of an object.

        Args:
            obj: the object.
        """
        obj._maybe_initialize_trackable()
        dependencies: Sequence[TrackableReference] = obj._checkpoint_dependencies
        return dependencies

    def list_objects(self) -> list[Any]:
        """Return all objects of the graph, each once, in breadth-first order; slots come last.

        Raises:
            NotImplementedError: an object cannot be saved.
        """
        return self._listed().objects

    def serialize_object_graph(self) -> tuple[list[SaveableObject], Any, dict[Any, Any] | None]:
        """Return the values to save.

        Returns:
            The saveable objects; the ``TrackableObjectGraph``; the feeds, or None without a cache.

        Raises:
            NotImplementedError: an object cannot be saved.
            AssertionError: the name of an object's saveable does not fit the key.
        """
        listed = self._listed()
        proto = self._described(listed)
        saveables: list[SaveableObject] = []
        feeds: dict[Any, Any] | None = None if self._saveables_cache is None else {}
        for obj, described in zip(listed.objects, proto.nodes):
            for name, factory in obj._gather_saveables_for_checkpoint().items():
                attribute = described.attributes.add(name=name)
                attribute.checkpoint_key = f"{listed.keys[obj]}/.ATTRIBUTES/{_escaped(name)}"
                saved = self._saved(obj, name, factory, attribute.checkpoint_key)
                attribute.full_name = saved.full_name
                attribute.optional_restore = all(one.optional_restore for one in saved.saveables)
                saveables += [self._current(obj, saveable, feeds) for saveable in saved.saveables]
        return saveables, proto, feeds

    def frozen_saveable_objects(self, object_map: Any = None, to_graph: Any = None) -> list[SaveableObject]:
        """Return the saveable objects, and the current object graph as a constant.

        Args:
            object_map: not used: objects are never replaced here.
            to_graph: the graph in which to create operations; None for the default one.

        Raises:
            NotImplementedError: an object cannot be saved.
        """
        with (to_graph or get_default_graph()).as_default():
            saveables, proto, _ = self.serialize_object_graph()
            with get_default_graph().device("/cpu:0"):
                tensor = constant(proto.SerializeToString(), dtype=string)
            return [*saveables, NoRestoreSaveable(tensor=tensor, name=OBJECT_GRAPH_PROTO_KEY)]

    # Objects

    def _listed(self) -> _Listed:
        root = self.root
        waiting = collections.deque([root])
        keys, ids, slots = (ObjectIdentityDictionary() for _ in range(3))
        keys[root] = ""
        objects: list[Any] = []
        while waiting:
            obj = waiting.popleft()
            if isinstance(obj, NotTrackable):
                raise NotImplementedError(
                    f"The object {obj} does not support object-based saving. File a feature request if this "
                    "limitation bothers you. In the meantime, you can remove the dependency on this object and save "
                    "everything else."
                )
            ids[obj] = len(objects)
            objects.append(obj)
            for name, dependency in self.list_dependencies(obj):
                if dependency not in keys:
                    keys[dependency] = f"{keys[obj]}/{_escaped(name)}" if obj is not root else _escaped(name)
                    waiting.append(dependency)
        listed = _Listed(objects, ids, keys, slots)
        variables = list(objects)
        for optimizer in variables:
            if hasattr(optimizer, "_create_or_restore_slot_variable"):
                _add_slots(listed, optimizer, variables)
        return listed

    def _described(self, listed: _Listed) -> Any:
        proto = TrackableObjectGraph()
        for obj in listed.objects:
            described = proto.nodes.add()
            described.slot_variables.extend(listed.slots.get(obj, ()))
            for name, dependency in self.list_dependencies(obj):
                described.children.add(node_id=listed.ids[dependency], local_name=name)
        return proto

    # Values

    def _saved(self, obj: Any, name: str, factory: Any, key: str) -> _Saved:
        """Return the saveable objects of a value; stored ones if they still have this key."""
        kept = None if self._saveables_cache is None else self._saveables_cache.setdefault(obj, {})
        saved: _Saved | None = None if kept is None else kept.get(name)
        if saved is None or any(key not in saveable.name for saveable in saved.saveables):
            created = factory(name=key) if callable(factory) else factory
            if isinstance(created, SaveableObject):
                saved = _Saved((created,), "")
            else:
                (full_name,) = by_name([created])
                saved = _Saved(tuple(saveables_for(created, key)), full_name)
            for saveable in saved.saveables:
                if key not in saveable.name:
                    raise AssertionError(
                        f"The object {obj} produced a SaveableObject with name '{name}' for attribute "
                        f"'{saveable.name}'. Expected a name containing '{key}'."
                    )
            if kept is not None:
                kept[name] = saved
        return saved

    def cached_saveable(self, obj: Any, name: str, key: str) -> SaveableObject | None:
        """Return the stored saveable object of a value, if there is exactly one and it still has this key.

        Args:
            obj: the object.
            name: the value's name in it.
            key: the value's key.
        """
        cached = None if self._saveables_cache is None else self._saveables_cache.get(obj, {}).get(name)
        if cached is None or len(cached.saveables) != 1 or key not in cached.saveables[0].name:
            return None
        saveable: SaveableObject = cached.saveables[0]
        return saveable

    def keep_saveable(self, obj: Any, name: str, saveable: Any) -> None:
        """Store the saveable object of a value.

        Args:
            obj: the object.
            name: the value's name in it.
            saveable: the saveable object; those of variables are not stored.
        """
        if self._saveables_cache is not None and isinstance(saveable, SaveableObject):
            self._saveables_cache.setdefault(obj, {})[name] = _Saved((saveable,), "")

    @staticmethod
    def _current(obj: Any, saveable: SaveableObject, feeds: dict[Any, Any] | None) -> SaveableObject:
        """Return a saveable object and record its feeds; without feeds, return it with its current value."""
        if not isinstance(saveable, PythonStateSaveable):
            return saveable
        if feeds is None:
            return saveable.freeze()
        for tensor, value in saveable.feed_dict_additions().items():
            if tensor in feeds:
                raise AssertionError(
                    f"The object {obj} tried to feed a value for the Tensor {tensor} when saving, but another object "
                    "is already feeding a value."
                )
            feeds[tensor] = value
        return saveable


def _add_slots(listed: _Listed, optimizer: Any, variables: Sequence[Any]) -> None:
    """Add the slots that an optimizer has for objects of the graph."""
    for slot_name in optimizer.get_slot_names():
        for number, variable in enumerate(variables):
            try:
                slot = optimizer.get_slot(variable, slot_name)
            except (AttributeError, KeyError):
                continue
            if slot is None:
                continue
            slot._maybe_initialize_trackable()
            if slot._checkpoint_dependencies:
                raise NotImplementedError(
                    "Currently only variables with no dependencies can be saved as slot variables. File a feature "
                    "request if this limitation bothers you."
                )
            if slot in listed.ids:
                raise NotImplementedError(
                    "A slot variable was re-used as a dependency of a Trackable object. This is not currently "
                    "allowed. File a feature request if this limitation bothers you."
                )
            where = f"{listed.keys[variable]}/.OPTIMIZER_SLOT/{listed.keys[optimizer]}"
            listed.keys[slot] = f"{where}/{_escaped(slot_name)}"
            listed.ids[slot] = len(listed.objects)
            listed.objects.append(slot)
            listed.slots.setdefault(optimizer, []).append(
                TrackableObjectGraph.TrackableObject.SlotVariableReference(
                    slot_name=slot_name,
                    original_variable_node_id=number,
                    slot_variable_node_id=listed.ids[slot],
                )
            )
