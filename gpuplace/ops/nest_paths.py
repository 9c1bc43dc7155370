"""Nested structures with paths, and structures that are deeper than a given structure.

A path is a tuple of the keys, field names and indices that lead to a leaf. A *shallow* structure limits how far a
deeper one is opened: everything below the shallow structure's leaves stays whole.

>>> flatten_with_joined_string_paths({"a": [1, 2], "b": 3})
[('a/0', 1), ('a/1', 2), ('b', 3)]
>>> flatten_up_to({"a": None, "b": None}, {"a": [1, 2], "b": 3})
[[1, 2], 3]

Source: tensorflow/python/util/nest.py, release 1.15 (names, arguments, sentences).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuplace.ops.composite import is_composite, is_spec
from gpuplace.ops.nest import (
    check_specs,
    flatten,
    is_nested,
    is_same_type,
    is_value_and_spec,
    items,
    like,
    pack_sequence_as,
)

_SHALLOW_TREE_HAS_INVALID_KEYS = (
    "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the following keys that"
    " are not in the input_tree: {}."
)
_STRUCTURES_HAVE_MISMATCHING_TYPES = (
    "The two structures don't have the same sequence type. Input structure has type {input_type}, while shallow"
    " structure has type {shallow_type}."
)
_STRUCTURES_HAVE_MISMATCHING_LENGTHS = (
    "The two structures don't have the same sequence length. Input structure has length {input_length}, while"
    " shallow structure has length {shallow_length}."
)
_INPUT_TREE_SMALLER_THAN_SHALLOW_TREE = (
    "The input_tree has fewer elements than the shallow_tree. Input structure has length {input_size}, while shallow"
    " structure has length {shallow_size}."
)
_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ = (
    "If shallow structure is a sequence, input must also be a sequence. Input has type: {}."
)

Path = tuple[Any, ...]


def assert_shallow_structure(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> None:
    """Check that a structure has the form of a shallow structure, down to the latter's leaves.

    Args:
        shallow_tree: the shallow structure.
        input_tree: a structure that may go deeper.
        check_types: whether sequence types must match.
        expand_composites: whether to open ``IndexedSlices`` and sparse tensors as well.
        check_subtrees_length: whether the number of parts must be equal everywhere; otherwise ``input_tree`` may have
            more.

    Raises:
        TypeError: sequence types differ, or only one of the two has a sequence at some place.
        ValueError: lengths or keys differ.
    """
    inner = items(shallow_tree, expand_composites)
    if inner is None:
        return
    outer = items(input_tree, expand_composites)
    if outer is None:
        raise TypeError(_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ.format(type(input_tree)))
    have_specs = [
        expand_composites and (is_composite(first) or is_spec(first)) for first in (shallow_tree, input_tree)
    ]
    is_like = (
        isinstance(input_tree, type(shallow_tree))
        or is_same_type(shallow_tree, input_tree)
        or is_value_and_spec(shallow_tree, input_tree)
    )
    if (check_types and not is_like) or have_specs[0] is not have_specs[1]:
        raise TypeError(
            _STRUCTURES_HAVE_MISMATCHING_TYPES.format(
                input_type=type(input_tree), shallow_type=type(shallow_tree)
            )
        )
    if all(have_specs):
        check_specs(shallow_tree, input_tree)
    if check_subtrees_length and len(outer) != len(inner):
        raise ValueError(
            _STRUCTURES_HAVE_MISMATCHING_LENGTHS.format(input_length=len(outer), shallow_length=len(inner))
        )
    if len(outer) < len(inner):
        raise ValueError(
            _INPUT_TREE_SMALLER_THAN_SHALLOW_TREE.format(input_size=len(outer), shallow_size=len(inner))
        )
    if isinstance(shallow_tree, Mapping):
        absent = set(shallow_tree) - {key for key, _ in outer}
        if absent:
            raise ValueError(_SHALLOW_TREE_HAS_INVALID_KEYS.format(sorted(absent)))
        by_key = dict(outer)
        pairs = [(part, by_key[key]) for key, part in inner]
    else:
        pairs = [(part, second) for (_, part), (_, second) in zip(inner, outer, strict=False)]
    for part, second in pairs:
        assert_shallow_structure(part, second, check_types, expand_composites, check_subtrees_length)


def _up_to(shallow: Any, deep: Any, opens_slices: bool, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    inner = items(shallow, opens_slices)
    if inner is None:
        yield path, deep
        return
    by_key = dict(items(deep, opens_slices) or ())
    if opens_slices and (is_composite(shallow) or is_spec(shallow)):
        by_key = {key: part for (key, _), part in zip(inner, by_key.values(), strict=True)}
    for key, part in inner:
        yield from _up_to(part, by_key[key], opens_slices, (*path, key))


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[tuple[Path, Any]]:
    """Return the parts of a structure at the leaves of a shallow one, with their paths.

    Args:
        shallow_tree: the shallow structure.
        input_tree: a structure that may go deeper.
        check_types: whether sequence types must match.
        expand_composites: whether to open ``IndexedSlices`` and sparse tensors as well.
        check_subtrees_length: whether the number of parts must be equal everywhere; otherwise ``input_tree`` may have
            more.

    Raises:
        TypeError: sequence types differ, or only one of the two has a sequence at some place.
        ValueError: lengths or keys differ.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length)
    return list(_up_to(shallow_tree, input_tree, expand_composites))


def flatten_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[Any]:
    """Return the parts of a structure at the leaves of a shallow one.

    Args:
        shallow_tree: the shallow structure.
        input_tree: a structure that may go deeper.
        check_types: whether sequence types must match.
        expand_composites: whether to open ``IndexedSlices`` and sparse tensors as well.
        check_subtrees_length: whether the number of parts must be equal everywhere; otherwise ``input_tree`` may have
            more.

    Raises:
        TypeError: sequence types differ, or only one of the two has a sequence at some place.
        ValueError: lengths or keys differ.
    """
    pairs = flatten_with_tuple_paths_up_to(
        shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length
    )
    return [value for _, value in pairs]


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Apply a function to each path of a shallow structure and the parts of deeper structures there.

    Args:
        shallow_tree: the shallow structure.
        func: called with the path, a tuple, and the part of each of ``inputs``.
        *inputs: structures that may go deeper.
        **kwargs: ``check_types``, ``expand_composites`` and ``check_subtrees_length``, as for `flatten_up_to`; others
            are passed on to ``func``.

    Raises:
        TypeError: sequence types differ, or only one of the two has a sequence at some place.
        ValueError: there are no inputs, or lengths or keys differ.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    check_length = kwargs.pop("check_subtrees_length", True)
    lists = [
        flatten_with_tuple_paths_up_to(shallow_tree, item, check_types, expand_composites, check_length)
        for item in inputs
    ]
    leaves = [
        func(pairs[0][0], *(value for _, value in pairs), **kwargs) for pairs in zip(*lists, strict=True)
    ]
    return pack_sequence_as(shallow_tree, leaves, expand_composites)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Any:
    """Apply a function to the parts of deeper structures at the leaves of a shallow one.

    >>> map_structure_up_to([None, None], len, [[1, 2, 3], [4]])
    [3, 1]

    Args:
        shallow_tree: the shallow structure.
        func: called with the part of each of ``inputs``.
        *inputs: structures that may go deeper.
        **kwargs: ``check_types``, ``expand_composites`` and ``check_subtrees_length``, as for `flatten_up_to`; others
            are passed on to ``func``.

    Raises:
        TypeError: sequence types differ, or only one of the two has a sequence at some place.
        ValueError: there are no inputs, or lengths or keys differ.
    """

    def without_path(path: Path, *values: Any, **options: Any) -> Any:
        return func(*values, **options)

    return map_structure_with_tuple_paths_up_to(shallow_tree, without_path, *inputs, **kwargs)


def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply a function to each path, a tuple, and the leaves there; return a structure of the same form.

    Args:
        func: called with the path and one leaf of each structure.
        *structure: the structures, of the same form.
        **kwargs: as for `map_structure_with_tuple_paths_up_to`.

    Raises:
        TypeError: sequence types differ.
        ValueError: no structure is given, or the structures differ in form.
    """
    if not structure:
        raise ValueError("Cannot map over no sequences")
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply a function to each path, a string with slashes, and the leaves there; keep the structure's form.

    >>> map_structure_with_paths(lambda path, value: f"{path}={value}", {"a": [1, 2]})
    {'a': ['a/0=1', 'a/1=2']}

    Args:
        func: called with the path and one leaf of each structure.
        *structure: the structures, of the same form.
        **kwargs: as for `map_structure_with_tuple_paths_up_to`.

    Raises:
        TypeError: sequence types differ.
        ValueError: no structure is given, or the structures differ in form.
    """

    def with_text(path: Path, *values: Any, **options: Any) -> Any:
        return func("/".join(map(str, path)), *values, **options)

    return map_structure_with_tuple_paths(with_text, *structure, **kwargs)


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[Path]:
    """Yield the paths to the leaves of a structure, in order.

    Args:
        nest: the structure.
        expand_composites: whether to open ``IndexedSlices`` and sparse tensors as well.
    """
    for path, _ in _up_to(nest, nest, expand_composites):
        yield path


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """Return the leaves of a structure with their paths.

    Args:
        structure: the structure.
        expand_composites: whether to open ``IndexedSlices`` and sparse tensors as well.
    """
    return list(_up_to(structure, structure, expand_composites))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Return the leaves of a structure with their paths as strings.

    Args:
        structure: the structure.
        separator: string between the parts of a path.
        expand_composites: whether to open ``IndexedSlices`` and sparse tensors as well.
    """
    return [
        (separator.join(map(str, path)), leaf)
        for path, leaf in flatten_with_tuple_paths(structure, expand_composites)
    ]


def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """Flatten a dict whose keys are nested like its values.

    >>> flatten_dict_items({(4, (5, 6)): ("a", ("b", "c")), 7: "d"})
    {4: 'a', 5: 'b', 6: 'c', 7: 'd'}

    Raises:
        TypeError: the argument is not a dict.
        ValueError: a key and its value differ in their number of leaves, or a key occurs twice.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = (flatten(key), flatten(value)) if is_nested(key) else ([key], [value])
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} elements."
                f" Key: {keys}, value: {values}."
            )
        for item, leaf in zip(keys, values, strict=True):
            if item in flat:
                raise ValueError(f"Could not flatten dictionary: key {item} is not unique.")
            flat[item] = leaf
    return flat


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """Return a structure of bools: how far a function wants another structure opened.

    Args:
        traverse_fn: called with each part; returns True, False, or a bool for each of the part's own parts.
        structure: the structure to open.
        expand_composites: whether to open ``IndexedSlices`` and sparse tensors as well.

    Raises:
        TypeError: ``traverse_fn`` returned something else.
    """
    verdict = traverse_fn(structure)
    parts = items(structure, expand_composites)
    if parts is None:
        if not isinstance(verdict, bool):
            raise TypeError(f"traverse_fn returned structure: {verdict} for non-structure: {structure}")
        return verdict
    if verdict is False:
        return False
    if verdict is True:
        answers = [True] * len(parts)
    else:
        if not is_nested(verdict):
            raise TypeError(f"traverse_fn returned a non-bool scalar: {verdict} for input: {structure}")
        assert_shallow_structure(verdict, structure, expand_composites=expand_composites)
        answers = [answer for _, answer in items(verdict, expand_composites) or ()]
        if not all(isinstance(answer, bool) for answer in answers):
            raise TypeError(
                f"traverse_fn didn't return a depth=1 structure of bools.  saw: {verdict}  for structure: {structure}"
            )
    traversed = [
        get_traverse_shallow_structure(traverse_fn, part, expand_composites) if answer else False
        for answer, (_, part) in zip(answers, parts, strict=True)
    ]
    return like(structure, traversed)
