"""Nested structures: lists, tuples, named tuples and dicts at any depth, with a value at each leaf.

>>> flatten({"b": [2, 3], "a": 1})
[1, 2, 3]
>>> pack_sequence_as({"b": [0, 0], "a": 0}, [1, 2, 3])
{'b': [2, 3], 'a': 1}
>>> assert_same_structure([1, (2,)], [1, 2])
Traceback (most recent call last):
...
ValueError: The two structures don't have the same nested structure.
...

Source: tensorflow/python/util/nest.py, release 1.15 (order, sentences).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, MappingView, Sequence
from typing import Any

from gpuplace.ops.composite import CompositeTensor, is_composite, is_spec
from gpuplace.ops.sparse.sparse_tensor import SparseTensorValue


def is_attrs(value: Any) -> bool:
    """Return whether a value's class was made by ``attrs``."""
    return hasattr(type(value), "__attrs_attrs__")


def is_nested(value: Any, opens_lists: bool = True) -> bool:
    """Return whether a value has parts: a non-string sequence, a mapping, a dict view or an ``attrs`` object.

    Args:
        value: the value.
        opens_lists: whether lists, sparse tensor values and sequences other than tuples have parts.
    """
    if not opens_lists:
        is_leaf = isinstance(value, SparseTensorValue)
        return not is_leaf and (isinstance(value, (tuple, Mapping)) or is_attrs(value))
    if isinstance(value, (list, tuple, Mapping)):
        return True
    if isinstance(value, (str, bytes, bytearray)):
        return False
    return isinstance(value, (Sequence, MappingView)) or is_attrs(value)


def items(
    value: Any, opens_slices: bool = False, opens_lists: bool = True
) -> list[tuple[Hashable, Any]] | None:
    """Return the parts of a value in order, each with its key: a dict key, a field name or an index.

    Args:
        value: the value.
        opens_slices: whether to open ``IndexedSlices``, sparse tensors, other composite values and their specs as
            well. Each has one part, which holds its tensors.
        opens_lists: whether to open lists; otherwise they are leaves, as in ``is_nested``.

    Returns:
        The parts; None for a leaf.
    """
    if opens_slices and isinstance(value, CompositeTensor):
        return [(type(value).__name__, value._to_components())]
    if opens_slices and is_spec(value):
        return [(value.value_type.__name__, value._component_specs)]
    if not is_nested(value, opens_lists):
        return None
    if isinstance(value, Mapping):
        return [(key, value[key]) for key in sorted(value)]
    if isinstance(value, (list, tuple)):
        if hasattr(value, "_fields"):
            return list(zip(value._fields, value, strict=True))
        return list(enumerate(value))
    if is_attrs(value):
        return [(field.name, getattr(value, field.name)) for field in type(value).__attrs_attrs__]
    return list(enumerate(value))


def _parts(value: Any, opens_slices: bool, opens_lists: bool) -> list[Any] | None:
    pairs = items(value, opens_slices, opens_lists)
    return None if pairs is None else [part for _, part in pairs]


def flatten(structure: Any, opens_slices: bool = False, opens_lists: bool = True) -> list[Any]:
    """Return the leaves of a structure; a single leaf becomes a list with one element.

    Args:
        structure: the structure.
        opens_slices: whether to open ``IndexedSlices`` and sparse tensors as well.
        opens_lists: whether to open lists; otherwise they are leaves.

    Raises:
        ValueError: the structure is nested too deeply, or contains itself.
    """
    try:
        return _flatten(structure, opens_slices, opens_lists)
    except RecursionError:
        raise ValueError("The structure is nested too deeply: does a list or dict contain itself?") from None


def _flatten(structure: Any, opens_slices: bool, opens_lists: bool) -> list[Any]:
    parts = _parts(structure, opens_slices, opens_lists)
    if parts is None:
        return [structure]
    return [leaf for part in parts for leaf in _flatten(part, opens_slices, opens_lists)]


def pack_sequence_as(
    structure: Any, flat: Sequence[Any], opens_slices: bool = False, opens_lists: bool = True
) -> Any:
    """Return a structure of the same form with other leaves.

    Raises:
        ValueError: the number of leaves differs.
    """
    count = len(flatten(structure, opens_slices, opens_lists))
    if count != len(flat):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had {len(flat)} elements. "
            f" Structure: {structure}, flat_sequence: {list(flat)}."
        )
    return _packed(structure, iter(flat), opens_slices, opens_lists)


def _packed(structure: Any, leaves: Iterator[Any], opens_slices: bool, opens_lists: bool) -> Any:
    parts = _parts(structure, opens_slices, opens_lists)
    if parts is None:
        return next(leaves)
    packed = [_packed(part, leaves, opens_slices, opens_lists) for part in parts]
    return like(structure, packed)


def like(structure: Any, parts: list[Any]) -> Any:
    """Return a value of the class of ``structure`` with these parts; a list for dict views and ranges."""
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), parts, strict=True))
        pairs = [(key, by_key[key]) for key in structure]
        if isinstance(structure, defaultdict):
            return type(structure)(structure.default_factory, pairs)
        return type(structure)(pairs)  # type: ignore[call-arg]
    if isinstance(structure, (MappingView, range)):
        return list(parts)
    if isinstance(structure, CompositeTensor):
        return structure._with_components(parts[0])
    if is_spec(structure):
        return structure._from_components(parts[0])
    if hasattr(structure, "_fields") or is_attrs(structure):
        return type(structure)(*parts)
    return type(structure)(parts)


def is_same_type(first: Any, second: Any) -> bool:
    """Return whether two structures have the same type. Equal named tuples, lists, and mappings match.

    >>> from collections import namedtuple
    >>> is_same_type(namedtuple("Point", "x y")(1, 2), namedtuple("Point", "x y")(3, 4))
    True
    """
    if type(first) is type(second):
        return True
    if any(isinstance(first, kind) and isinstance(second, kind) for kind in (Mapping, list)):
        return True
    fields = getattr(first, "_fields", None)
    return (
        fields is not None
        and fields == getattr(second, "_fields", None)
        and type(first).__name__ == type(second).__name__
    )


def assert_same_structure(
    first: Any,
    second: Any,
    check_types: bool = True,
    opens_slices: bool = False,
    opens_lists: bool = True,
) -> None:
    """Check that two structures have the same form.

    Args:
        first: the first structure.
        second: the second structure.
        check_types: whether sequence types must match.
        opens_slices: whether to open ``IndexedSlices``, sparse tensors and the like as well; a spec matches its
            value.
        opens_lists: whether to open lists; otherwise they are leaves, as in ``is_nested``.

    Raises:
        ValueError: nesting or lengths differ, or a value does not match a spec.
        TypeError: sequence types differ.
    """
    try:
        _compare(first, second, check_types, opens_slices, opens_lists)
    except (ValueError, TypeError) as error:
        texts = [str(_packed(item, itertools.repeat(_DOT), False, opens_lists)) for item in (first, second)]
        message = (
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_shown(first)}\n\nSecond structure: {_shown(second)}\n\n"
            f"More specifically: {error}\nEntire first structure:\n{texts[0]}\nEntire second structure:\n{texts[1]}"
        )
        raise type(error)(message) from None


class _Dot:
    """A leaf of a structure in error messages."""

    def __repr__(self) -> str:
        return "."


_DOT = _Dot()


def _shown(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"


def check_specs(first: Any, second: Any) -> None:
    """Raise ValueError if two composite values, or a value and a spec, cannot have a common spec.

    Args:
        first: a value or a spec.
        second: a value or a spec.
    """
    specs = [item._type_spec if is_composite(item) else item for item in (first, second)]
    try:
        specs[0].most_specific_compatible_type(specs[1])
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Incompatible CompositeTensor TypeSpecs: {specs[0]} vs. {specs[1]} -- {error}"
        ) from None


def is_value_and_spec(first: Any, second: Any) -> bool:
    """Return whether one argument is a composite value and the other a spec of such values.

    Args:
        first: any object.
        second: any object.
    """
    return (is_composite(first) and is_spec(second)) or (is_spec(first) and is_composite(second))


def _compare(first: Any, second: Any, check_types: bool, opens_slices: bool, opens_lists: bool) -> None:
    parts = [_parts(left, opens_slices, opens_lists) for left in (first, second)]
    if (parts[0] is None) is not (parts[1] is None):
        nested, leaf = (first, second) if parts[1] is None else (second, first)
        raise ValueError(
            f'Substructure "{_shown(nested)}" is a sequence, while substructure "{_shown(leaf)}" is not'
        )
    if parts[0] is None or parts[1] is None:
        return
    is_opened = opens_slices and any(is_composite(left) or is_spec(left) for left in (first, second))
    is_like = is_same_type(first, second) or (is_opened and is_value_and_spec(first, second))
    if check_types and not is_like:
        raise TypeError(
            "The two namedtuples don't have the same sequence type. First structure"
            f" {_shown(first)} has type {type(first).__name__}, while second structure"
            f" {_shown(second)} has type {type(second).__name__}"
        )
    if check_types and isinstance(first, Mapping) and set(first) != set(second):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys"
            f" {_shown(list(first))}, while second structure has keys {_shown(list(second))}"
        )
    if is_opened and all(is_composite(left) or is_spec(left) for left in (first, second)):
        check_specs(first, second)
    for left, right in zip(parts[0], parts[1], strict=False):
        _compare(left, right, check_types, opens_slices, opens_lists)
    if len(parts[0]) != len(parts[1]):
        raise ValueError(
            "The two structures don't have the same number of elements. First structure:"
            f" {_shown(first)}. Second structure: {_shown(second)}"
        )


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply a function to the leaves of structures and return a structure of the same form.

    >>> map_structure(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}

    Args:
        func: called with one leaf of each structure.
        *structure: the structures, of the same form.
        **kwargs: ``check_types``, whether sequence types must match (True), and ``expand_composites``, whether to
            open ``IndexedSlices`` and sparse tensors as well (False).

    Raises:
        TypeError: ``func`` is not callable, sequence types differ, or a keyword is unknown.
        ValueError: no structure is given, or the structures differ in form.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    opens_slices = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(kwargs)}`"
        )
    for second in structure[1:]:
        assert_same_structure(structure[0], second, check_types, opens_slices)
    columns = [flatten(first, opens_slices) for first in structure]
    results = [func(*leaves) for leaves in zip(*columns, strict=True)]
    return pack_sequence_as(structure[0], results, opens_slices)
