"""``tensorflow.python.data.util.structure``: what an element is, and the tensors that it is made of.

Source: tensorflow/python/data/util/structure.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.type_spec import known_type_spec
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.structure import are_compatible
from gpuplace.tf1.data.structure import flat_shapes as get_flat_tensor_shapes
from gpuplace.tf1.data.structure import flat_specs as get_flat_tensor_specs
from gpuplace.tf1.data.structure import flat_types as get_flat_tensor_types
from gpuplace.tf1.data.structure import from_any_tensors as from_tensor_list
from gpuplace.tf1.data.structure import from_tensors as from_compatible_tensor_list
from gpuplace.tf1.data.structure import normalised as normalize_element
from gpuplace.tf1.data.structure import to_tensors_of as to_tensor_list

__all__ = [
    "are_compatible", "convert_legacy_structure", "from_compatible_tensor_list", "from_tensor_list",
    "get_flat_tensor_shapes", "get_flat_tensor_specs", "get_flat_tensor_types", "normalize_element",
    "to_batched_tensor_list", "to_tensor_list", "type_spec_from_value",
]  # fmt: skip


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """What an element is, from the three forms that say so.

    Args:
        output_types: the types.
        output_shapes: the shapes.
        output_classes: the classes.
    """
    return structure.spec_of(output_types, output_shapes, output_classes)


def type_spec_from_value(element: Any, use_fallback: bool = True) -> Any:
    """What an element is.

    Args:
        element: the element.
        use_fallback: whether values that only convert to a tensor will do.

    Raises:
        TypeError: it is nothing that datasets have.
    """
    for leaf in () if use_fallback else structure.flatten(element):
        if known_type_spec(leaf) is None:
            raise TypeError(f"Could not build a TypeSpec for {leaf!r} with type {type(leaf).__name__}")
    return structure.spec_of_value(element)


def to_batched_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """The tensors that an element is made of, each of which has rows.

    Args:
        element_spec: what it is.
        element: the element.
    """
    structure.assert_same_form(element_spec, element)
    return structure.to_rows(element)
