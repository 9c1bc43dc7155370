"""Lists and dicts that checkpoints of objects can have: those that a program makes, and those that stand for its own.

A list or dict that is set as an attribute of an `AutoTrackable` is replaced by a wrapper, a list or dict too, which
depends on what is in it: the elements of a list by their numbers, those of a dict by their keys. A change after which a
checkpoint could not be restored into a new object (an element replaced, or the program's own list changed behind the
wrapper's back) is no error; saving then is.

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

__all__ = [
    "List",
    "Mapping",
    "NoDependency",
    "TrackableDataStructure",
    "sticky_attribute_assignment",
]

WRAPPERS: dict[type, Callable[[Any], Any]] = {}
"""What wraps values of a type that is no `Trackable`; see ``wrappers``."""


class NoDependency:
    """Around a value that is set as an attribute and is to be no dependency.

    Args:
        value: what the attribute will be.
    """

    def __init__(self, value: Any) -> None:
        self.value = value


def wrap_or_unwrap(value: Any) -> Any:
    """A value as it is kept: lists and dicts in wrappers, and what is in a `NoDependency`.

    Args:
        value: anything.
    """
    if isinstance(value, NoDependency):
        return value.value
    if isinstance(value, Trackable):
        return value
    wrapper = WRAPPERS.get(type(value))
    return value if wrapper is None else wrapper(value)


def sticky_attribute_assignment(trackable: Any, name: str, value: Any) -> Any:
    """Adds a value that an object is to keep under a name to its dependencies, where it can be one.

    Args:
        trackable: the object.
        name: the attribute's name, which may have been another value's.
        value: anything.

    Returns:
        What is to be kept.
    """
    kept = wrap_or_unwrap(value)
    if not isinstance(value, NoDependency) and isinstance(kept, Trackable):
        trackable._track_trackable(kept, name=name, overwrite=True)
    return kept


class UntrackableError(ValueError):
    """Something in a container that cannot be in a checkpoint of objects."""

    def __init__(self, value: Any) -> None:
        super().__init__(
            "Only trackable objects (such as Layers or Optimizers) may be stored in a List object. Got "
            f"{value}, which does not inherit from Trackable."
        )


class TrackableDataStructure(Trackable):
    """A container of what checkpoints have, also of layers, whose variables it lists."""

    def __init__(self) -> None:
        self._trainable = True
        self._extra_variables: list[Any] = []

    @property
    def trainable(self) -> bool:
        """Whether its layers' variables are listed among those that are trained."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value

    def _track_value(self, value: Any, name: str) -> Any:
        """Adds a dependency, and returns the value as it is kept."""
        value = sticky_attribute_assignment(trackable=self, value=value, name=name)
        if isinstance(value, Variable):
            self._extra_variables.append(value)
        if not isinstance(value, Trackable):
            raise UntrackableError(value)
        return value

    @property
    def _values(self) -> Iterable[Any]:
        """What is in it."""
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
        """The layers in it and in containers in it."""
        return layer_containers.filter_empty_layer_containers(self._layers)

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        return layer_containers.gather_trainable_weights(self.trainable, self._layers, self._extra_variables)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""
        return layer_containers.gather_non_trainable_weights(
            self.trainable, self._layers, self._extra_variables
        )

    @property
    def weights(self) -> list[Any]:
        """All variables, those that are trained first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that are trained."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables that are not trained."""
        return self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """All variables, those that are trained first."""
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
    """A list of what checkpoints have, to which things are added only.

    Args:
        *args: as those of ``list``.
        **kwargs: none.

    Raises:
        ValueError: something in it cannot be in a checkpoint of objects.
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
        """Another one with the same elements."""
        return type(self)(copy.copy(self._storage))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(copy.deepcopy(self._storage, memo))

    def append(self, value: Any) -> None:
        """Adds an element at the end.

        Args:
            value: the element.

        Raises:
            ValueError: it cannot be in a checkpoint of objects.
        """
        self._storage.append(self._track_value(value, self._name_element(len(self._storage))))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds elements at the end.

        Args:
            values: the elements.

        Raises:
            ValueError: one cannot be in a checkpoint of objects.
        """
        for value in values:
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(values)
        return self

    def __add__(self, other: Any) -> Any:
        return type(self)(self._storage + getattr(other, "_storage", other))

    def __radd__(self, other: Any) -> Any:
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
    """Values sorted by their keys."""
    return [value for _, value in sorted(items, key=lambda item: item[0])]


class Mapping(TrackableDataStructure, MappingInterface[str, Any]):
    """A dict of what checkpoints have, to which things are added only.

    Args:
        *args: as those of ``dict``; keys are texts.
        **kwargs: the same.

    Raises:
        ValueError: something in it cannot be in a checkpoint of objects.
        TypeError: a key is no text.
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

    def __setitem__(self, key: str, value: Any) -> None:
        value = self._track_value(value, name=self._name_element(key))
        known = self._storage.setdefault(key, value)
        if known is not value:
            raise ValueError(
                f"Mappings are an append-only data structure. Tried to overwrite the key '{key}' with value {value}, "
                f"but it already contains {known}"
            )

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Adds items.

        Args:
            *args: as those of ``dict.update``.
            **kwargs: the same.

        Raises:
            ValueError: a key is there with another value, or a value cannot be in a checkpoint of objects.
            TypeError: a key is no text.
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
