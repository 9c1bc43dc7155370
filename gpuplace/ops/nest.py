"""Structures of values: lists, tuples, named tuples and dicts, in any depth, and what has a value at each leaf.

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.sparse.sparse_tensor import SparseTensor


def is_nested(value: Any) -> bool:
    """Whether a value has parts."""
    return isinstance(value, (list, tuple, Mapping))


def _parts(value: Any, opens_slices: bool, opens_lists: bool) -> list[Any] | None:
    """The parts of a value in their order, None of a leaf."""
    if isinstance(value, Mapping):
        return [value[key] for key in sorted(value)]
    if isinstance(value, (list, tuple) if opens_lists else tuple):
        return list(value)
    if opens_slices and isinstance(value, IndexedSlices):
        shape = value.dense_shape
        return [value.values, value.indices, *([] if shape is None else [shape])]
    if opens_slices and isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    return None


def flatten(structure: Any, opens_slices: bool = False, opens_lists: bool = True) -> list[Any]:
    """The leaves of a structure; a leaf alone gives a list of one.

    Args:
        structure: the structure.
        opens_slices: whether ``IndexedSlices`` and sparse tensors are opened too.
        opens_lists: whether lists are; else they are leaves.

    Raises:
        ValueError: it is nested too deep, or holds itself.
    """
    try:
        return _flatten(structure, opens_slices, opens_lists)
    except RecursionError:
        raise ValueError("The structure is nested too deep: does a list or dict hold itself?") from None


def _flatten(structure: Any, opens_slices: bool, opens_lists: bool) -> list[Any]:
    parts = _parts(structure, opens_slices, opens_lists)
    if parts is None:
        return [structure]
    return [leaf for part in parts for leaf in _flatten(part, opens_slices, opens_lists)]


def pack_sequence_as(
    structure: Any, flat: Sequence[Any], opens_slices: bool = False, opens_lists: bool = True
) -> Any:
    """A structure of the same form with other leaves.

    Raises:
        ValueError: there are more or fewer leaves.
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
    made = [_packed(part, leaves, opens_slices, opens_lists) for part in parts]
    return _like(structure, made)


def _like(structure: Any, parts: list[Any]) -> Any:
    """A value of the kind of ``structure`` with these parts."""
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), parts, strict=True))
        return type(structure)((key, by_key[key]) for key in structure)  # type: ignore[call-arg]
    if isinstance(structure, (IndexedSlices, SparseTensor)):
        return type(structure)(*parts)
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return type(structure)(parts)


def assert_same_structure(first: Any, second: Any, check_types: bool = True) -> None:
    """Checks that two structures have the same form.

    Args:
        first: a structure.
        second: another one.
        check_types: whether their sequences have to be of the same types.

    Raises:
        ValueError: they are nested differently, or of different lengths.
        TypeError: their sequences are of different types.
    """
    try:
        _compare(first, second, check_types)
    except (ValueError, TypeError) as error:
        dots = [pack_sequence_as(one, ["."] * len(flatten(one))) for one in (first, second)]
        texts = [str(one).replace("'.'", ".") for one in dots]
        message = f"{error}\nEntire first structure:\n{texts[0]}\nEntire second structure:\n{texts[1]}"
        raise type(error)(message) from None


def _compare(first: Any, second: Any, check_types: bool) -> None:
    start = (
        "The two structures don't have the same nested structure.\n\n"
        f"First structure: type={type(first).__name__} str={first}\n\n"
        f"Second structure: type={type(second).__name__} str={second}\n\nMore specifically: "
    )
    if is_nested(first) is not is_nested(second):
        values = (first, second) if is_nested(first) else (second, first)
        raise ValueError(
            f'{start}Substructure "type={type(values[0]).__name__} str={values[0]}" is a sequence, while substructure '
            f'"type={type(values[1]).__name__} str={values[1]}" is not'
        )
    if not is_nested(first):
        return
    kinds = type(first), type(second)
    if (
        check_types
        and kinds[0] is not kinds[1]
        and not all(isinstance(one, Mapping) for one in (first, second))
    ):
        raise TypeError(
            f"{start}The two namedtuples don't have the same sequence type. First structure"
            f" type={kinds[0].__name__} str={first} has type {kinds[0].__name__}, while second structure"
            f" type={kinds[1].__name__} str={second} has type {kinds[1].__name__}"
        )
    if len(first) != len(second):
        raise ValueError(
            f"{start}The two structures don't have the same number of elements. First structure: {first}."
            f" Second structure: {second}."
        )
    if isinstance(first, Mapping) and set(first) != set(second):
        raise ValueError(
            f"{start}The two dictionaries don't have the same set of keys. First structure"
            f" type={kinds[0].__name__} str={first} has keys {list(first)}, while second structure"
            f" type={kinds[1].__name__} str={second} has keys {list(second)}"
        )
    for one, other in zip(_parts(first, False, True) or (), _parts(second, False, True) or (), strict=True):
        _compare(one, other, check_types)


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """A structure of the form of the first one, with what a function makes of the leaves at each place.

    >>> map_structure(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}

    Args:
        func: gets a leaf of each structure.
        *structure: the structures, of the same form.
        **kwargs: ``check_types``, whether their sequences have to be of the same types (True), and
            ``expand_composites``, whether ``IndexedSlices`` and sparse tensors are opened too (False).

    Raises:
        TypeError: ``func`` cannot be called, sequences are of different types, or another keyword.
        ValueError: there is no structure, or they differ in form.
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
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    columns = [flatten(one, opens_slices) for one in structure]
    made = [func(*leaves) for leaves in zip(*columns, strict=True)]
    return pack_sequence_as(structure[0], made, opens_slices)
