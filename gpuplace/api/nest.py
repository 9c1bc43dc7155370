"""``tf.nest``: structures of lists, tuples, named tuples and dicts.

Source: tensorflow/_api/v1/nest, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops import nest
from gpuplace.ops.nest import is_nested, map_structure

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of a structure in a list.

    >>> flatten({"b": [2, 3], "a": 1})
    [1, 2, 3]

    Args:
        structure: structure to flatten; dicts are ordered by key.
        expand_composites: whether to expand ``IndexedSlices``, sparse tensors and similar values too.

    Raises:
        ValueError: the structure is nested too deeply, or contains itself.
    """
    return nest.flatten(structure, expand_composites)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Return a structure of the same form with new leaves.

    Args:
        structure: the structure.
        flat_sequence: list of leaves.
        expand_composites: whether to expand ``IndexedSlices``, sparse tensors and similar values too.

    Raises:
        TypeError: ``flat_sequence`` is not a list.
        ValueError: the number of leaves differs.
    """
    if not is_nested(flat_sequence):
        raise TypeError("flat_sequence must be a sequence")
    if nest.items(structure, expand_composites) is None:
        if len(flat_sequence) != 1:
            raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1")
        return flat_sequence[0]
    return nest.pack_sequence_as(structure, flat_sequence, expand_composites)


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that two structures have the same form.

    Args:
        nest1: a structure.
        nest2: another structure.
        check_types: whether the types of their sequences must be equal.
        expand_composites: whether to expand values that consist of tensors too; a spec matches a value of it.

    Raises:
        ValueError: their nesting or lengths differ.
        TypeError: the types of their sequences differ.
    """
    nest.assert_same_structure(nest1, nest2, check_types, expand_composites)
