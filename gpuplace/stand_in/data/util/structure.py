"""``tensorflow.python.data.util.structure``: what an element is, and the tensors that it is made of.

Source: tensorflow/python/data/util/structure.py, release 1.15 (names).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.ops.data import structure
from gpuplace.ops.data.structure import flat_shapes as get_flat_tensor_shapes
from gpuplace.ops.data.structure import flat_types as get_flat_tensor_types
from gpuplace.ops.data.structure import spec_of_value as type_spec_from_value
from gpuplace.ops.data.tracing import from_tensors

__all__ = [
    "are_compatible", "convert_legacy_structure", "from_compatible_tensor_list", "from_tensor_list",
    "get_flat_tensor_shapes", "get_flat_tensor_types", "to_batched_tensor_list", "to_tensor_list",
    "type_spec_from_value",
]  # fmt: skip


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """What an element is, from the three forms that say so.

    Args:
        output_types: the types.
        output_shapes: the shapes.
        output_classes: the classes.
    """
    return structure.spec_of(output_types, output_shapes, output_classes)


def to_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """The tensors that an element is made of.

    Args:
        element_spec: what it is.
        element: the element.

    Raises:
        ValueError: it is something else.
    """
    if not are_compatible(element_spec, type_spec_from_value(element)):
        raise ValueError(
            f"Value {element} is not convertible to a tensor with dtype and shape of {element_spec}."
        )
    return structure.to_tensors(element)


def to_batched_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """The tensors that an element is made of, each of which has rows.

    Args:
        element_spec: what it is.
        element: the element.
    """
    return structure.to_rows(element)


def from_tensor_list(element_spec: Any, tensor_list: Sequence[Any]) -> Any:
    """An element of the tensors that it is made of.

    Args:
        element_spec: what it is.
        tensor_list: the tensors.

    Raises:
        ValueError: they are too few or too many, of other types or shapes.
    """
    types, shapes = get_flat_tensor_types(element_spec), get_flat_tensor_shapes(element_spec)
    if len(types) != len(tensor_list):
        raise ValueError(f"Expected {len(types)} tensors but got {len(tensor_list)}.")
    for dtype, shape, tensor in zip(types, shapes, tensor_list, strict=True):
        if dtype != tensor.dtype or not shape.is_compatible_with(tensor.shape):
            raise ValueError(f"Tensor {tensor} is not compatible with dtype {dtype} and shape {shape}.")
    return from_tensors(element_spec, tensor_list)


from_compatible_tensor_list = from_tensor_list


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Whether elements of one kind may stand where those of another are asked for.

    Args:
        spec1: what is asked for.
        spec2: what is given.
    """
    try:
        structure.assert_same_form(spec1, spec2)
    except (TypeError, ValueError):
        return False
    pairs = zip(structure.flatten(spec1), structure.flatten(spec2), strict=True)
    return all(one.is_compatible_with(other) for one, other in pairs)
