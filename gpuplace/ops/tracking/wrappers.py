"""Wrappers of a program's lists and dicts for object-based checkpoints.

Source: tensorflow/python/training/tracking/data_structures.py, release 1.15.
"""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuplace.ops.tracking.base import Trackable, TrackableReference
from gpuplace.ops.tracking.data_structures import (
    WRAPPERS,
    List,
    NoDependency,
    TrackableDataStructure,
    UntrackableError,
    by_key,
    wrap_or_unwrap,
)

__all__ = ["ListWrapper"]

_UNWRAP = (
    "wrap it in a tf.contrib.checkpoint.NoDependency object; it will be automatically un-wrapped and subsequently "
    "ignored."
)


if TYPE_CHECKING:
    _ListBase: TypeAlias = list[Any]
    _DictBase: TypeAlias = dict[Any, Any]
else:

    class _ListBase(MutableSequence, list):
        """A list for `isinstance`; a class with trackable elements implements the methods."""

    class _DictBase(MutableMapping, dict):
        """A dict for `isinstance`; a class with trackable items implements the methods."""


class ListWrapper(List, _ListBase):  # type: ignore[misc]
    """Wrapper of a program's list, which may contain any values.

    Args:
        wrapped_list: the list to operate on. Change it only through the wrapper.
    """

    def __init__(self, wrapped_list: list[Any]) -> None:
        self._non_append_mutation = False
        self._external_modification = False
        super().__init__(wrapped_list)
        self._last_wrapped_list_snapshot: list[Any] | None = list(self._storage)

    def _make_storage(self, *args: Any, **kwargs: Any) -> list[Any]:
        storage: list[Any] = args[0]
        return storage

    def _with_marks(self, copied: Any) -> Any:
        copied._non_append_mutation = self._non_append_mutation
        copied._external_modification = self._external_modification
        return copied

    def __copy__(self) -> Any:
        return self._with_marks(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._with_marks(super().__deepcopy__(memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self._storage,)

    def _check_external_modification(self) -> None:
        if self._external_modification or self._non_append_mutation:
            return
        if self._storage != self._last_wrapped_list_snapshot:
            self._external_modification = True
            self._last_wrapped_list_snapshot = None

    def _update_snapshot(self) -> None:
        if not (self._external_modification or self._non_append_mutation):
            self._last_wrapped_list_snapshot = list(self._storage)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        self._check_external_modification()
        about = f"Unable to save the object {self} (a list wrapper constructed to track trackable TensorFlow objects)."
        if self._non_append_mutation:
            raise ValueError(
                f"{about} A list element was replaced (__setitem__, __setslice__), deleted (__delitem__, "
                "__delslice__), or moved (sort). In order to support restoration on object creation, tracking is "
                "exclusively for append-only data structures.\n\nIf you don't need this list checkpointed, "
                f"{_UNWRAP}"
            )
        if self._external_modification:
            raise ValueError(
                f"{about} The wrapped list was modified outside the wrapper (its final value was {self._storage}, its "
                f"value when a checkpoint dependency was added was {self._last_wrapped_list_snapshot}), which breaks "
                "restoration on object creation.\n\nIf you don't need this list checkpointed, "
                f"{_UNWRAP}"
            )
        return super()._checkpoint_dependencies

    def _track_value(self, value: Any, name: str) -> Any:
        try:
            return super()._track_value(value=value, name=name)
        except UntrackableError:
            return wrap_or_unwrap(value)

    def __delitem__(self, key: Any) -> None:
        self._non_append_mutation = True
        del self._storage[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._check_external_modification()
        before = list(self._storage)
        if isinstance(key, slice):
            self._storage[key] = value
            for index in range(max(len(before), len(self._storage))):
                existing = before[index] if index < len(before) else None
                now = self._storage[index] if index < len(self._storage) else None
                if isinstance(existing, Trackable):
                    self._non_append_mutation = True
                if now is not None and now is not existing:
                    self._storage[index] = self._track_value(now, self._name_element(index))
        else:
            if isinstance(self._storage[key], Trackable):
                self._non_append_mutation = True
            self._storage[key] = self._track_value(value, self._name_element(key))
        self._update_snapshot()

    def append(self, value: Any) -> None:
        """Add an element at the end.

        Args:
            value: any object.
        """
        self._check_external_modification()
        super().append(value)
        self._update_snapshot()

    def extend(self, values: Iterable[Any]) -> None:
        """Add elements at the end.

        Args:
            values: any object.
        """
        self._check_external_modification()
        super().extend(values)
        self._update_snapshot()

    def insert(self, index: Any, obj: Any) -> None:
        """Insert an element; the list can no longer be saved.

        Args:
            index: its position.
            obj: any object.
        """
        self._non_append_mutation = True
        self._storage.insert(index, obj)

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sort the elements; the list can no longer be saved.

        Args:
            key: a function from an element to its sort key; None: the element itself.
            reverse: whether to sort in descending order.
        """
        self._non_append_mutation = True
        self._storage.sort(key=key, reverse=reverse)

    def __imul__(self, y: int) -> Any:  # type: ignore[override]
        if y > 0:
            return super().__imul__(y)
        self._non_append_mutation = True
        self._storage *= y
        return self

    def __eq__(self, other: object) -> bool:
        return bool(self._storage == getattr(other, "_storage", other))

    def __ne__(self, other: object) -> bool:
        return bool(self._storage != getattr(other, "_storage", other))

    def __lt__(self, other: Any) -> bool:
        return bool(self._storage < getattr(other, "_storage", other))

    def __le__(self, other: Any) -> bool:
        return bool(self._storage <= getattr(other, "_storage", other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._storage > getattr(other, "_storage", other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._storage >= getattr(other, "_storage", other))

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError("unhashable type: 'ListWrapper'")

    def __repr__(self) -> str:
        return f"ListWrapper({self._storage!r})"


class _DictWrapper(TrackableDataStructure, _DictBase):
    """Wrapper of a program's dict, which may contain any keys and values.

    Args:
        wrapped_dict: the dict to operate on. Change it only through the wrapper. None: a new one.
    """

    def __init__(self, wrapped_dict: Any = None) -> None:
        super().__init__()
        if not isinstance(wrapped_dict, dict):
            wrapped_dict = dict(() if wrapped_dict is None else wrapped_dict)
        self._storage: dict[Any, Any] = wrapped_dict
        self._non_string_key = False
        self._external_modification = False
        for key, value in self._storage.items():
            self._storage[key] = self._wrapped(key, value)
        self._last_wrapped_dict_snapshot: dict[Any, Any] | None = dict(self._storage)

    def _with_marks(self, copied: Any) -> Any:
        copied._external_modification = self._external_modification
        copied._non_string_key = self._non_string_key
        return copied

    def copy(self) -> Any:
        """Return a copy with the same items."""
        return copy.copy(self)

    def __copy__(self) -> Any:
        return self._with_marks(_DictWrapper(copy.copy(self._storage)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._with_marks(_DictWrapper(copy.deepcopy(self._storage, memo)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self._storage,)

    @property
    def _values(self) -> Iterable[Any]:
        return by_key(self.items())

    @property
    def _dirty(self) -> bool:
        return self._external_modification or self._non_string_key

    def _check_external_modification(self) -> None:
        if not self._dirty and self._storage != self._last_wrapped_dict_snapshot:
            self._external_modification = True
            self._last_wrapped_dict_snapshot = None

    def _update_snapshot(self) -> None:
        if not self._dirty:
            self._last_wrapped_dict_snapshot = dict(self._storage)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        self._check_external_modification()
        about = (
            f"Unable to save the object {self} (a dictionary wrapper constructed automatically on attribute "
            "assignment)."
        )
        if self._non_string_key:
            raise ValueError(
                f"{about} The wrapped dictionary contains a non-string key which maps to a trackable object or "
                f"mutable data structure.\n\nIf you don't need this dictionary checkpointed, {_UNWRAP}"
            )
        if self._external_modification:
            raise ValueError(
                f"{about} The wrapped dictionary was modified outside the wrapper (its final value was {self}, its "
                f"value when a checkpoint dependency was added was {self._last_wrapped_dict_snapshot}), which breaks "
                f"restoration on object creation.\n\nIf you don't need this dictionary checkpointed, {_UNWRAP}"
            )
        return super()._checkpoint_dependencies

    def _wrapped(self, key: Any, value: Any) -> Any:
        """Return the value to store under a key; record a trackable value whose key is not a string."""
        if isinstance(key, str):
            try:
                return self._track_value(value, name=key)
            except UntrackableError:
                return wrap_or_unwrap(value)
        wrapped = wrap_or_unwrap(value)
        if isinstance(wrapped, Trackable) and not isinstance(value, NoDependency):
            self._non_string_key = True
        return wrapped

    def __getitem__(self, key: object) -> Any:
        return self._storage[key]

    def __setitem__(self, key: object, value: object) -> None:
        self._check_external_modification()
        self._storage[key] = self._wrapped(key, value)
        self._update_snapshot()

    def __delitem__(self, key: Any) -> None:
        self._check_external_modification()
        del self._storage[key]
        self._update_snapshot()

    def __contains__(self, key: object) -> bool:
        return key in self._storage

    def __iter__(self) -> Iterator[Any]:
        return iter(self._storage)

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"DictWrapper({self._storage!r})"

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError("unhashable type: 'DictWrapper'")

    def __eq__(self, other: object) -> bool:
        return bool(self._storage == getattr(other, "_storage", other))

    def __ne__(self, other: object) -> bool:
        return not self == other


WRAPPERS.update({list: ListWrapper, dict: _DictWrapper, collections.OrderedDict: _DictWrapper})
