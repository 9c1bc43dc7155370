"""``TypeSpec``: the static description of a value in a graph, which may consist of several tensors.

>>> spec = TensorSpec([None, 3], "int32")
>>> spec.is_compatible_with(TensorSpec([2, 3], "int32"))
True
>>> spec.most_specific_compatible_type(TensorSpec([2, 4], "int32"))
TensorSpec(shape=(?, ?), dtype=tf.int32, name=None)

Source: tensorflow/python/framework/type_spec.py and tensor_spec.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype, float32
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.composite import is_composite
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, ShapeLike, TensorLike

__all__ = ["TensorSpec", "TypeSpec"]


class TypeSpec:
    """Static description of a value; subclasses describe tensors, sparse tensors and the like.

    A subclass lists its facts in ``_serialize``, takes them in the same order in its constructor, and converts values
    to and from tensors.
    """

    @property
    def value_type(self) -> type:
        """The class of the values."""
        raise NotImplementedError(f"{type(self).__name__}.value_type")

    def _serialize(self) -> tuple[Any, ...]:
        """Return the facts, in the order of the constructor's arguments."""
        raise NotImplementedError(f"{type(self).__name__}._serialize()")

    @property
    def _component_specs(self) -> Any:
        """The specs of a value's tensors, in some structure."""
        raise NotImplementedError(f"{type(self).__name__}._component_specs()")

    def _to_components(self, value: Any) -> Any:
        """Return a value's tensors, in the structure of ``_component_specs``."""
        raise NotImplementedError(f"{type(self).__name__}._to_components()")

    def _from_components(self, components: Any) -> Any:
        """Return the value with these tensors."""
        raise NotImplementedError(f"{type(self).__name__}._from_components()")

    @property
    def _flat_tensor_specs(self) -> list[TensorSpec]:
        """The specs of the tensors of ``_to_tensor_list``."""
        return nest.flatten(self._component_specs)

    def _to_tensor_list(self, value: Any) -> list[Tensor]:
        """Return the tensors to stack for a value when values are stacked along a new axis."""
        return nest.flatten(self._to_components(value))

    def _from_compatible_tensor_list(self, tensor_list: list[Tensor]) -> Any:
        """Return the value for the tensors of ``_to_tensor_list``."""
        return self._from_components(nest.pack_sequence_as(self._component_specs, tensor_list))

    def _from_tensor_list(self, tensor_list: list[Tensor]) -> Any:
        """Return the value for these tensors; raise ValueError if they do not match the spec."""
        expected = self._flat_tensor_specs
        if len(tensor_list) != len(expected):
            raise ValueError("Incompatible input: wrong number of tensors")
        for number, (tensor, spec) in enumerate(zip(tensor_list, expected, strict=True)):
            if not spec.is_compatible_with(tensor):
                raise ValueError(
                    f"Incompatible input: tensor {number} ({tensor}) is incompatible with {spec}"
                )
        return self._from_compatible_tensor_list(tensor_list)

    def _batch(self, batch_size: int | None) -> TypeSpec:
        """Return the spec of ``batch_size`` such values stacked along a new axis; None: any number."""
        raise NotImplementedError(f"{type(self).__name__}._batch")

    def _unbatch(self) -> TypeSpec:
        """Return the spec of one row of a value; raise ValueError for a scalar."""
        raise NotImplementedError(f"{type(self).__name__}._unbatch")

    def _to_batched_tensor_list(self, value: Any) -> list[Tensor]:
        """Return tensors whose rows are the rows of a value; raise ValueError for a scalar."""
        tensors = self._to_tensor_list(value)
        if any(tensor.shape.ndims == 0 for tensor in tensors):
            raise ValueError(
                f"While converting {value} to a list of tensors for batching, found a scalar item which cannot be"
                " batched."
            )
        return tensors

    def _to_legacy_output_types(self) -> Any:
        """Return the entry for the values in a dataset's ``output_types``."""
        return self

    def _to_legacy_output_shapes(self) -> Any:
        """Return the entry for the values in a dataset's ``output_shapes``."""
        return self

    def _to_legacy_output_classes(self) -> Any:
        """Return the entry for the values in a dataset's ``output_classes``."""
        return self

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a value, or every value of another spec, matches this spec.

        Args:
            spec_or_value: a value or a spec.

        Raises:
            TypeError: the argument is neither.
        """
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else type_spec_from_value(spec_or_value)
        if type(self) is not type(other):
            return False
        return all(map(_fits, self._serialize(), other._serialize()))

    def most_specific_compatible_type(self, other: TypeSpec) -> Any:
        """Return the most specific spec that both specs' values match.

        Args:
            other: another spec.

        Returns:
            A spec of this class.

        Raises:
            ValueError: no spec matches the values of both.
        """
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return type(self)(*map(_common, self._serialize(), other._serialize()))

    def _key(self) -> tuple[Any, ...]:
        return tuple(map(_key, self._serialize()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeSpec) and type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __reduce__(self) -> Any:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


def _fits(fact: Any, other_fact: Any) -> bool:
    """Return whether a fact of one spec holds for another."""
    if isinstance(fact, TensorShape) and isinstance(other_fact, TensorShape):
        return fact.is_compatible_with(other_fact)
    if isinstance(fact, DType) and isinstance(other_fact, DType):
        return fact.is_compatible_with(other_fact)
    if isinstance(fact, TypeSpec) and isinstance(other_fact, TypeSpec):
        return fact.is_compatible_with(other_fact)
    if type(fact) is not type(other_fact):
        return False
    parts, others = nest.items(fact), nest.items(other_fact)
    if parts is not None and others is not None:
        return len(parts) == len(others) and all(
            key == other_key and _fits(first, second)
            for (key, first), (other_key, second) in zip(parts, others, strict=True)
        )
    return bool(np.all(fact == other_fact))


def _common(fact: Any, other_fact: Any) -> Any:
    """Return the most specific fact that covers both; raise ValueError for facts that contradict each other."""
    if isinstance(fact, TensorShape) and isinstance(other_fact, TensorShape):
        return common_shape(fact, other_fact)
    if isinstance(fact, TypeSpec) and isinstance(other_fact, TypeSpec):
        return fact.most_specific_compatible_type(other_fact)
    parts, others = nest.items(fact), nest.items(other_fact)
    if (
        parts
        and others
        and type(fact) is type(other_fact)
        and [key for key, _ in parts] == [key for key, _ in others]
    ):
        common = [_common(first, second) for (_, first), (_, second) in zip(parts, others, strict=True)]
        return nest.like(fact, common)
    if not _fits(fact, other_fact):
        raise ValueError(f"Types are not compatible: {fact!r} vs {other_fact!r}")
    return fact


def _key(fact: Any) -> Any:
    """Return a hashable key that is equal for equal facts."""
    if isinstance(fact, TensorShape):
        return fact.sizes
    if isinstance(fact, np.ndarray):
        return fact.shape, fact.tobytes()
    parts = nest.items(fact)
    return fact if parts is None else tuple((key, _key(part)) for key, part in parts)


def common_shape(first: TensorShape, second: TensorShape) -> TensorShape:
    """Return the most specific shape that both shapes match."""
    if first.sizes is None or second.sizes is None or len(first.sizes) != len(second.sizes):
        return TensorShape(None)
    pairs = zip(first.sizes, second.sizes, strict=True)
    return TensorShape([left if left == right else None for left, right in pairs])


class TensorSpec(TypeSpec):
    """Static description of a tensor: shape and type.

    Args:
        shape: the shape, possibly partial.
        dtype: the dtype.
        name: an optional name.
    """

    def __init__(self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None) -> None:
        self.shape = as_shape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return a copy of another spec, optionally with another name.

        Args:
            spec: the spec to copy.
            name: the name; None: that of ``spec``.
        """
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor.

        Args:
            tensor: the tensor.
            name: a name; None: that of the operation.

        Raises:
            ValueError: the argument is not a tensor.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return TensorSpec(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def value_type(self) -> type:
        """``Tensor``."""
        return Tensor

    def _serialize(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.name

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    def _to_legacy_output_types(self) -> DType:
        return self.dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self.shape

    def _to_legacy_output_classes(self) -> type:
        return self.value_type

    def _to_components(self, value: TensorLike) -> Tensor:
        try:
            tensor = convert_to_tensor(value, self.dtype)
        except (TypeError, ValueError):
            tensor = None
        if tensor is None or not tensor.shape.is_compatible_with(self.shape):
            raise ValueError(
                f"Value {value!r} is not convertible to a tensor with dtype {self.dtype} and shape {self.shape}."
            )
        return tensor

    def _from_components(self, components: Tensor) -> Tensor:
        return components

    def _from_compatible_tensor_list(self, tensor_list: list[Tensor]) -> Tensor:
        tensor_list[0].set_shape(self.shape)
        return tensor_list[0]

    def _to_batched_tensor_list(self, value: TensorLike) -> list[Tensor]:
        tensor = self._to_components(value)
        if self.shape.merge_with(tensor.shape).ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return [tensor]

    def _batch(self, batch_size: int | None) -> TensorSpec:
        """Return the spec of ``batch_size`` such tensors stacked along a new axis."""
        return TensorSpec(TensorShape([batch_size]).concatenate(self.shape), self.dtype)

    def _unbatch(self) -> TensorSpec:
        """Return the spec of one row of a tensor; raise ValueError for a scalar."""
        if self.shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self.shape[1:], self.dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a tensor, or another spec, has this dtype and a compatible shape.

        Args:
            spec_or_value: a tensor or a spec.
        """
        return (
            isinstance(spec_or_value, TensorSpec | Tensor)
            and self.dtype.is_compatible_with(spec_or_value.dtype)
            and self.shape.is_compatible_with(spec_or_value.shape)
        )

    def most_specific_compatible_type(self, other: TypeSpec) -> TensorSpec:
        """Return the most specific spec that both specs' tensors match; it keeps the name if both have the same.

        Args:
            other: another spec of the same dtype.

        Raises:
            ValueError: the dtypes differ.
        """
        if not isinstance(other, TensorSpec) or self.dtype is not other.dtype:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        name = self.name if self.name == other.name else None
        return TensorSpec(common_shape(self.shape, other.shape), self.dtype, name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


_spec_makers: list[tuple[type, Callable[[Any], TypeSpec], bool]] = []
"""For each class of values, the function that returns a value's spec and whether it also covers subclasses."""


def register_type_spec_from_value_converter(
    type_object: type, converter_fn: Callable[[Any], TypeSpec], allow_subclass: bool = False
) -> None:
    """Register the function that returns the spec of values of a class; later registrations take precedence.

    Args:
        type_object: the class.
        converter_fn: a function from a value to its spec.
        allow_subclass: whether it also covers values of subclasses.
    """
    _spec_makers.insert(0, (type_object, converter_fn, allow_subclass))


def known_type_spec(value: Any) -> TypeSpec | None:
    """Return the spec of a value with a registered class, or of a list of like values; None for any other value."""
    if isinstance(value, list) and value:
        return _spec_of_list(value)
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    if is_composite(value):
        return value._type_spec
    for value_type, make, for_subclasses in _spec_makers:
        if type(value) is value_type or (for_subclasses and isinstance(value, value_type)):
            return make(value)
    return None


def _spec_of_list(values: list[Any]) -> TypeSpec | None:
    specs = []
    for first in values:
        spec = known_type_spec(first)
        if spec is None:
            return None
        specs.append(spec)
    try:
        common = functools.reduce(lambda first, second: first.most_specific_compatible_type(second), specs)
        return common._batch(len(values))
    except (ValueError, NotImplementedError):  # no common spec, or not stackable
        return None


def type_spec_from_value(value: Any) -> Any:
    """Return the spec of a value.

    Args:
        value: a tensor, a sparse tensor and the like, or anything convertible to a tensor.

    Raises:
        TypeError: the value has no spec.
    """
    spec = known_type_spec(value)
    if spec is not None:
        return spec
    try:
        tensor = convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}"
        ) from None
    return TensorSpec(tensor.shape, tensor.dtype)
