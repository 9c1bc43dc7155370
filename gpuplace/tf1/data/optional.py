"""``tf.data.experimental.Optional``: a value that may be missing at run time.

    iterator ─> IteratorGetNextAsOptional ─> Optional ─> OptionalHasValue
                                                      └> OptionalGetValue

>>> import gpuplace as tf
>>> iterator = tf.data.Dataset.range(1).make_one_shot_iterator()
>>> following = get_next_as_optional(iterator)
>>> session = tf.Session()
>>> session.run((following.has_value(), following.get_value()))
(np.True_, np.int64(0))
>>> session.run(following.has_value())
np.False_

Source: tensorflow/python/data/ops/optional_ops.py and iterator_ops.py, release 1.15 (operations, names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import variant
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.support import new, new_list
from gpuplace.ops.type_spec import TensorSpec, TypeSpec, register_type_spec_from_value_converter
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.iterators import Iterator

__all__ = ["Optional", "OptionalSpec", "get_next_as_optional"]


class Optional:
    """A structure of tensors that may be missing at run time.

    Created by ``from_value``, ``none_from_structure`` and ``get_next_as_optional``, not by calling the class.

    Args:
        variant_tensor: the tensor that represents it.
        value_structure: spec of the value.
    """

    def __init__(self, variant_tensor: Tensor, value_structure: Any) -> None:
        self._variant_tensor = variant_tensor
        self._value_structure = value_structure

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return an optional with a value.

        Args:
            value: tensors and the like, in tuples and dicts.

        Returns:
            An ``Optional``.

        Raises:
            TypeError: ``value`` is something else.
        """
        with name_scope("optional") as scope:
            with name_scope("value"):
                spec = structure.spec_of_value(value)
                tensors = structure.to_tensors_of(spec, value)
            return Optional(new("OptionalFromValue", scope, components=tensors), spec)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """Return an optional without a value.

        Args:
            value_structure: spec of the missing value: ``TensorSpec`` and the like, in tuples and dicts.

        Returns:
            An ``Optional``.
        """
        return Optional(new("OptionalNone"), value_structure)

    @property
    def value_structure(self) -> Any:
        """Spec of the value."""
        return self._value_structure

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value.

        Args:
            name: name of the operation.

        Returns:
            A bool scalar.
        """
        return new("OptionalHasValue", name, optional=self._variant_tensor)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value.

        Args:
            name: name of the operation.

        Returns:
            Tensors and the like, in the structure of ``value_structure``.

        Raises:
            InvalidArgumentError: at run time, there is no value.
        """
        with name_scope(name, "OptionalGetValue", [self._variant_tensor]) as scope:
            tensors = new_list(
                "OptionalGetValue",
                scope,
                optional=self._variant_tensor,
                output_types=structure.flat_types(self._value_structure),
                output_shapes=structure.flat_shapes(self._value_structure),
            )
            return structure.from_tensors(self._value_structure, tensors)


class OptionalSpec(TypeSpec):
    """Type of an optional value.

    >>> OptionalSpec(TensorSpec([], "int64"))
    OptionalSpec(TensorSpec(shape=(), dtype=tf.int64, name=None),)

    Args:
        value_structure: spec of the value.
    """

    def __init__(self, value_structure: Any) -> None:
        self._value_structure = value_structure

    @classmethod
    def from_value(cls, value: Optional) -> OptionalSpec:
        """Return the spec of an optional value.

        Args:
            value: the ``Optional``.
        """
        return cls(value.value_structure)

    @property
    def value_type(self) -> type:
        """``Optional``."""
        return Optional

    def _serialize(self) -> tuple[Any, ...]:
        return (self._value_structure,)

    @property
    def _component_specs(self) -> list[TensorSpec]:
        return [TensorSpec([], variant)]

    def _to_components(self, value: Optional) -> list[Tensor]:
        return [value._variant_tensor]

    def _from_components(self, components: list[Tensor]) -> Optional:
        return Optional(components[0], self._value_structure)


register_type_spec_from_value_converter(Optional, OptionalSpec.from_value)


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element of an iterator, or an empty optional after the last one.

    Args:
        iterator: the iterator.

    Returns:
        An ``Optional``.
    """
    spec = iterator.element_spec
    tensor = new(
        "IteratorGetNextAsOptional",
        iterator=iterator._iterator_resource,
        output_types=structure.flat_types(spec),
        output_shapes=structure.flat_shapes(spec),
    )
    return Optional(tensor, spec)
