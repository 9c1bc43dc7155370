"""Sets and dicts that compare their keys by identity.

Lists and dicts of variables have no hash and are compared by their contents; use these where object identity matters.

>>> keys = ObjectIdentitySet([[1], [1]])
>>> len(keys), [1] in keys
(2, False)

Source: tensorflow/python/util/object_identity.py, release 1.15 (names).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any


class _ObjectIdentityWrapper:
    """Wrapper of an object as a key; wrappers of the same object are equal.

    Args:
        wrapped: the object.
    """

    __slots__ = ("__weakref__", "_wrapped")

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    @property
    def unwrapped(self) -> Any:
        """The object."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ObjectIdentityWrapper):
            raise TypeError("Cannot compare wrapped object with unwrapped object")
        return self.unwrapped is other.unwrapped

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return id(self.unwrapped)  # the object lives as long as the wrapper

    def __repr__(self) -> str:
        return f"<{type(self).__name__} wrapping {self.unwrapped!r}>"


class _WeakObjectIdentityWrapper(_ObjectIdentityWrapper):
    """A wrapper that does not keep the object alive."""

    __slots__ = ("_id",)

    def __init__(self, wrapped: Any) -> None:
        super().__init__(weakref.ref(wrapped))
        self._id = id(wrapped)

    @property
    def unwrapped(self) -> Any:
        """The object; None if it no longer exists."""
        return self._wrapped()

    def __hash__(self) -> int:
        return self._id


class Reference(_ObjectIdentityWrapper):
    """A hashable reference to an object.

    Args:
        wrapped: the object.
    """

    __slots__ = ()

    def deref(self) -> Any:
        """Return the object."""
        return self.unwrapped


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A dict that compares keys by identity.

    Args:
        *args: arguments of ``dict``.
        **kwargs: arguments of ``dict``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._storage: Any = self._new_storage()
        self.update(dict(*args, **kwargs) if not args or isinstance(args[0], dict) else args[0], **kwargs)

    def _new_storage(self) -> MutableMapping[Any, Any]:
        return {}

    def _key(self, key: Any) -> _ObjectIdentityWrapper:
        return _ObjectIdentityWrapper(key)

    def __getitem__(self, key: Any) -> Any:
        return self._storage[self._key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._storage[self._key(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self._storage[self._key(key)]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        for key in self._storage:
            yield key.unwrapped

    def __repr__(self) -> str:
        return f"ObjectIdentityDictionary({self._storage!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """An identity dict that does not keep keys alive."""

    def _key(self, key: Any) -> _ObjectIdentityWrapper:
        return _WeakObjectIdentityWrapper(key)

    def _drop_dead(self) -> None:
        for key in [key for key in self._storage if key.unwrapped is None]:
            del self._storage[key]

    def __len__(self) -> int:
        self._drop_dead()
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._drop_dead()
        return super().__iter__()


class ObjectIdentitySet(MutableSet[Any]):
    """A set that compares elements by identity.

    Args:
        *args: an iterable of elements; default: empty.
    """

    def __init__(self, *args: Iterable[Any]) -> None:
        self._storage = {self._key(element) for elements in args for element in elements}

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> ObjectIdentitySet:
        return cls(it)

    def _key(self, key: Any) -> _ObjectIdentityWrapper:
        return _ObjectIdentityWrapper(key)

    def __contains__(self, key: object) -> bool:
        return self._key(key) in self._storage

    def add(self, value: Any) -> None:
        """Add an element.

        Args:
            value: the element.
        """
        self._storage.add(self._key(value))

    def discard(self, value: Any) -> None:
        """Remove an element, if present.

        Args:
            value: the element.
        """
        self._storage.discard(self._key(value))

    def update(self, items: Iterable[Any]) -> None:
        """Add elements.

        Args:
            items: the elements.
        """
        for item in items:
            self.add(item)

    def intersection(self, items: Iterable[Any]) -> set[Any]:
        """Return the elements that are in both.

        Args:
            items: the other elements.
        """
        return self._storage.intersection({self._key(item) for item in items})

    def difference(self, items: Iterable[Any]) -> ObjectIdentitySet:
        """Return the elements that are not in ``items``.

        Args:
            items: the other elements.
        """
        return self._from_iterable(
            key.unwrapped for key in self._storage.difference({self._key(item) for item in items})
        )

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        for key in list(self._storage):
            yield key.unwrapped


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """An identity set that does not keep elements alive."""

    def _key(self, key: Any) -> _ObjectIdentityWrapper:
        return _WeakObjectIdentityWrapper(key)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        for key in list(self._storage):
            element = key.unwrapped
            if element is None:
                self._storage.discard(key)
            else:
                yield element
