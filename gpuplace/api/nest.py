"""``tf.nest``: structures of lists, tuples, named tuples and dicts.

Source: tensorflow/_api/v1/nest, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops import nest
from gpuplace.ops.nest import is_nested, map_structure

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure; a leaf alone gives a list of one.

    >>> flatten({"b": [2, 3], "a": 1})
    [1, 2, 3]

    Args:
        structure: the structure; dicts are taken in the order of their keys.
        expand_composites: whether ``IndexedSlices``, sparse tensors and the like are opened too.

    Raises:
        ValueError: it is nested too deep, or holds itself.
    """
    return nest.flatten(structure, expand_composites)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """A structure of the same form with other leaves.

    Args:
        structure: the structure.
        flat_sequence: a list of leaves.
        expand_composites: whether ``IndexedSlices``, sparse tensors and the like are opened too.

    Raises:
        TypeError: ``flat_sequence`` is no list.
        ValueError: there are more or fewer leaves.
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
    """Checks that two structures have the same form.

    Args:
        nest1: a structure.
        nest2: another one.
        check_types: whether their sequences have to be of the same types.
        expand_composites: whether values that consist of tensors are opened too; a spec is like a value of it.

    Raises:
        ValueError: they are nested differently, or of different lengths.
        TypeError: their sequences are of different types.
    """
    nest.assert_same_structure(nest1, nest2, check_types, expand_composites)
