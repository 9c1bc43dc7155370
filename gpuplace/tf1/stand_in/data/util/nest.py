"""``tensorflow.python.data.util.nest``: elements of datasets, in which tuples and dicts are opened and lists are not.

Source: tensorflow/python/data/util/nest.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.tf1.data import structure
from gpuplace.tf1.data.structure import flatten, is_nested

__all__ = [
    "assert_same_structure", "assert_shallow_structure", "flatten", "flatten_up_to", "is_sequence", "map_structure",
    "map_structure_up_to", "pack_sequence_as",
]  # fmt: skip

is_sequence = is_nested
flatten_up_to = structure.flatten_up_to


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Checks that two elements have the same form.

    Args:
        nest1: one.
        nest2: the other.
        check_types: whether a tuple has to be a tuple in both.

    Raises:
        ValueError: they have not.
        TypeError: only the classes differ.
    """
    structure.assert_same_form(nest1, nest2, check_types)


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Checks that an element has the form of another one as far as that goes.

    Args:
        shallow_tree: the one that says how far.
        input_tree: the one that may go deeper.
        check_types: whether parts have to be of the same classes.

    Raises:
        TypeError: a part meets something else, or one of another class.
        ValueError: they differ in length or keys.
    """
    structure.flatten_up_to(shallow_tree, input_tree, check_types)


def pack_sequence_as(structure_: Any, flat_sequence: Sequence[Any]) -> Any:
    """Values in the form of an element.

    Args:
        structure_: the element.
        flat_sequence: as many values as it has parts.

    Raises:
        TypeError: the values are no sequence.
        ValueError: they are too few or too many.
    """
    if not isinstance(flat_sequence, (list, tuple)):
        raise TypeError("flat_sequence must be a sequence")
    if not is_nested(structure_):
        if len(flat_sequence) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1")
        return flat_sequence[0]
    count = len(flatten(structure_))
    if count != len(flat_sequence):
        raise ValueError(
            "Could not pack sequence. Structure had"
            f" {count} elements, but flat_sequence had {len(flat_sequence)} elements.  Structure: {structure_},"
            f" flat_sequence: {flat_sequence}."
        )
    return structure.pack(structure_, flat_sequence)


def map_structure(func: Callable[..., Any], *structures: Any, **check_types_dict: Any) -> Any:
    """What a function makes of the parts of elements of one form, in that form.

    Args:
        func: takes a part of each.
        *structures: the elements.
        **check_types_dict: ``check_types``, as for `assert_same_structure`.

    Raises:
        TypeError: the function cannot be called, or the classes differ.
        ValueError: the forms differ, or there are none.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    check_types = check_types_dict.pop("check_types", True)
    if check_types_dict:
        raise ValueError("Only valid keyword argument is check_types")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types)
    rows = zip(*(flatten(one) for one in structures), strict=True)
    return pack_sequence_as(structures[0], [func(*row) for row in rows])


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """The same for elements that are opened only as far as another one has parts.

    Args:
        shallow_tree: that other one.
        func: takes what each has at a part of it.
        *inputs: the elements.

    Raises:
        ValueError: there are none.
    """
    if not inputs:
        raise ValueError("Argument `inputs` is empty. Cannot map over no sequences.")
    rows = zip(*(flatten_up_to(shallow_tree, one) for one in inputs), strict=True)
    return pack_sequence_as(shallow_tree, [func(*row) for row in rows])
