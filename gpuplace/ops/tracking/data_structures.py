"""Lists and dicts for object-based checkpoints: trackable containers, and wrappers of a program's plain ones.

A list or dict that is assigned to an attribute of an `AutoTrackable` is replaced by a wrapper, also a list or dict,
which depends on its items: elements of a list by index, values of a dict by key. Some changes make it impossible to
restore a checkpoint into a new object, for example a replaced element, or a change to the program's own list outside
the wrapper. The change itself is allowed; a later save fails.

>>> weights = List()
>>> weights.append(Mapping())
>>> [name for name, _ in weights._checkpoint_dependencies]
['0']

Source: tensorflow/python/training/tracking/data_structures.py, release 1.15.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingInterface
from typing import Any

from gpuplace.ops.tracking import layer_containers
from gpuplace.ops.tracking.base import Trackable
from gpuplace.ops.variables.variables import Variable
from gpuplace.typing import TensorLike

__all__ = [
    "List",
    "Mapping",
    "NoDependency",
    "TrackableDataStructure",
    "sticky_attribute_assignment",
]

WRAPPERS: dict[type, Callable[[Any], Any]] = {}
"""Wrappers for values of types that are not `Trackable`; see ``wrappers``."""


class NoDependency:
    """Marks a value assigned to an attribute as not being a dependency.

    Args:
        value: the attribute's value.
    """

    def __init__(self, value: Any) -> None:
        self.value = value


def wrap_or_unwrap(value: object) -> Any:
    """Return a value in the form in which it is stored: lists and dicts wrapped, `NoDependency` unwrapped.

    Args:
        value: any object.
    """
    if isinstance(value, NoDependency):
        return value.value
    if isinstance(value, Trackable):
        return value
    wrapper = WRAPPERS.get(type(value))
    return value if wrapper is None else wrapper(value)


def sticky_attribute_assignment(trackable: Any, name: str, value: TensorLike) -> Any:
    """Add an assigned value to an object's dependencies, if possible.

    Args:
        trackable: the object.
        name: the attribute's name, which may have had another value.
        value: any object.

    Returns:
        The value to store.
    """
    wrapped = wrap_or_unwrap(value)
    if not isinstance(value, NoDependency) and isinstance(wrapped, Trackable):
        trackable._track_trackable(wrapped, name=name, overwrite=True)
    return wrapped


class UntrackableError(ValueError):
    """An item of a container that cannot be in an object-based checkpoint."""

    def __init__(self, value: Any) -> None:
        super().__init__(
            "Only trackable objects (such as Layers or Optimizers) may be stored in a List object. Got "
            f"{value}, which does not inherit from Trackable."
        )


class TrackableDataStructure(Trackable):
    """A container of trackable objects, including layers, whose variables it lists."""

    def __init__(self) -> None:
        self._trainable = True
        self._extra_variables: list[Any] = []

    @property
    def trainable(self) -> bool:
        """Whether its layers' variables are listed as trainable."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value

    def _track_value(self, value: Any, name: str) -> Any:
        """Add a dependency, and return the value to store."""
        value = sticky_attribute_assignment(trackable=self, value=value, name=name)
        if isinstance(value, Variable):
            self._extra_variables.append(value)
        if not isinstance(value, Trackable):
            raise UntrackableError(value)
        return value

    @property
    def _values(self) -> Iterable[Any]:
        """The container's values."""
        raise NotImplementedError("Abstract method")

    @property
    def _layers(self) -> list[Any]:
        return [
            value
            for value in self._values
            if isinstance(value, TrackableDataStructure)
            or layer_containers.is_layer(value)
            or layer_containers.has_weights(value)
        ]

    @property
    def layers(self) -> list[Any]:
        """The layers in the container and in nested containers."""
        return layer_containers.filter_empty_layer_containers(self._layers)

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables."""
        return layer_containers.gather_trainable_weights(self.trainable, self._layers, self._extra_variables)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable variables."""
        return layer_containers.gather_non_trainable_weights(
            self.trainable, self._layers, self._extra_variables
        )

    @property
    def weights(self) -> list[Any]:
        """All variables, trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The non-trainable variables."""
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """All variables, trainable ones first."""
        return self.weights

    @property
    def updates(self) -> list[Any]:
        """The updates of its layers."""
        return [update for layer in self.layers for update in getattr(layer, "updates", ())]

    @property
    def losses(self) -> list[Any]:
        """The losses of its layers."""
        return [loss for layer in self.layers for loss in getattr(layer, "losses", ())]

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


class List(TrackableDataStructure, Sequence[Any]):
    """An append-only list of trackable objects.

    Args:
        *args: arguments of ``list``.
        **kwargs: unused.

    Raises:
        ValueError: an item cannot be in an object-based checkpoint.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._storage: list[Any] = self._make_storage(*args, **kwargs)
        for index, element in enumerate(self._storage):
            self._storage[index] = self._track_value(element, name=self._name_element(index))

    def _make_storage(self, *args: Any, **kwargs: Any) -> list[Any]:
        return list(*args, **kwargs)

    def _name_element(self, index: int) -> str:
        return str(index)

    @property
    def _values(self) -> Iterable[Any]:
        return self

    def copy(self) -> Any:
        """Return a copy with the same elements."""
        return type(self)(copy.copy(self._storage))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._storage, memo))

    def append(self, value: Any) -> None:
        """Add an element at the end.

        Args:
            value: the element.

        Raises:
            ValueError: the element cannot be in an object-based checkpoint.
        """
        self._storage.append(self._track_value(value, self._name_element(len(self._storage))))

    def extend(self, values: Iterable[Any]) -> None:
        """Add elements at the end.

        Args:
            values: the elements.

        Raises:
            ValueError: an element cannot be in an object-based checkpoint.
        """
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def __add__(self, other: Any) -> Any:
        return type(self)(self._storage + getattr(other, "_storage", other))

    def __radd__(self, other: object) -> Any:
        return type(self)(other) + self

    def __imul__(self, y: int) -> Any:
        if y <= 0:
            raise ValueError(f"List only supports append, multiplying in place by {y} removes elements.")
        for element in self._storage * (y - 1):
            self.append(element)
        return self

    def __mul__(self, n: int) -> Any:
        return type(self)(self._storage * n)

    def __rmul__(self, n: int) -> Any:
        return self * n

    def __getitem__(self, key: Any) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"List({self._storage!r})"

    def __sizeof__(self) -> int:
        return super().__sizeof__() + sys.getsizeof(self._storage)


def by_key(items: Iterable[tuple[Any, Any]]) -> list[Any]:
    """Return values sorted by their keys."""
    return [value for _, value in sorted(items, key=lambda item: item[0])]


class Mapping(TrackableDataStructure, MappingInterface[str, Any]):
    """An append-only dict of trackable objects.

    Args:
        *args: arguments of ``dict``; keys are strings.
        **kwargs: arguments of ``dict``.

    Raises:
        ValueError: a value cannot be in an object-based checkpoint.
        TypeError: a key is not a string.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._storage: dict[str, Any] = self._make_storage(*args, **kwargs)
        for key, value in self._storage.items():
            self._storage[key] = self._track_value(value, name=self._name_element(key))

    def _make_storage(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return dict(*args, **kwargs)

    def __copy__(self) -> Any:
        return type(self)(copy.copy(self._storage))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._storage, memo))

    @property
    def _values(self) -> Iterable[Any]:
        return by_key(self.items())

    def _name_element(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"Mapping accepts only string keys, but got a key {key!r}.")
        return key

    def __setitem__(self, key: str, value: object) -> None:
        value = self._track_value(value, name=self._name_element(key))
        existing = self._storage.setdefault(key, value)
        if existing is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value {value}, "
                f"but it already contains {existing}"
            )

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add items.

        Args:
            *args: arguments of ``dict.update``.
            **kwargs: arguments of ``dict.update``.

        Raises:
            ValueError: a key already has another value, or a value cannot be in an object-based checkpoint.
            TypeError: a key is not a string.
        """
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._storage[key]

    def __len__(self) -> int:
        return len(self._storage)

    def __repr__(self) -> str:
        return f"Mapping({self._storage!r})"

    def __iter__(self) -> Iterator[str]:
        return iter(self._storage)
