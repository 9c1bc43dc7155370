"""``TensorArray`` as a value: a list of tensors that datasets and functions pass along as one ``variant``.

::

    TensorArray of a resource ── stack ──> TensorListFromTensor ──> variant ──> TensorArray of a list
                                 (TensorArraySpec._to_components)        (TensorArraySpec._from_components)

Source: tensorflow/python/ops/tensor_array_ops.py, release 1.15 (names, operations, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import DType, as_dtype, float32, variant
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.type_spec import TensorSpec, TypeSpec, common_shape, register_type_spec_from_value_converter
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.flow import tensor_lists
from gpuplace.tf1.flow.tensor_arrays_v2 import ListTensorArray
from gpuplace.typing import DTypeLike, ShapeLike

__all__ = ["TensorArraySpec"]


class TensorArraySpec(TypeSpec):
    """Type of a ``TensorArray`` in a dataset element or a function result.

    >>> import gpuplace as tf
    >>> tf.TensorArraySpec([2], tf.int32).is_compatible_with(tf.TensorArray(tf.int32, 3, element_shape=[2]))
    True

    Args:
        element_shape: the known shape of the elements.
        dtype: dtype of the elements.
        dynamic_size: whether the array grows when a program writes past its end.
        infer_shape: whether all elements have one shape.
    """

    def __init__(
        self,
        element_shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = as_shape(element_shape)
        self._dtype: DType = as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @staticmethod
    def from_value(value: TensorArray) -> TensorArraySpec:
        """Return the spec of an array.

        Args:
            value: the array.

        Returns:
            A spec.

        Raises:
            TypeError: ``value`` is not a ``TensorArray``.
        """
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but saw: {type(value)}")
        return TensorArraySpec(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)

    @property
    def value_type(self) -> type:
        """``TensorArray``."""
        return TensorArray

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether this spec includes an array, or all arrays of another spec; ``infer_shape`` is ignored.

        Args:
            spec_or_value: an array, or a spec.

        Returns:
            True or False.
        """
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = TensorArraySpec.from_value(other)
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype.is_compatible_with(other._dtype)
            and self._element_shape.is_compatible_with(other._element_shape)
            and self._dynamic_size == other._dynamic_size
        )

    def most_specific_compatible_type(self, other: TypeSpec) -> TensorArraySpec:
        """Return the most specific spec that includes both.

        Args:
            other: another spec.

        Returns:
            A spec.

        Raises:
            ValueError: no spec includes both.
        """
        if not self.is_compatible_with(other) or not isinstance(other, TensorArraySpec):
            raise ValueError("Types are not compatible")
        shape = common_shape(self._element_shape, other._element_shape)
        infers = self._infer_shape and other._infer_shape
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, infers)

    @property
    def _component_specs(self) -> list[TensorSpec]:
        return [TensorSpec([], variant)]

    def _to_components(self, value: Any) -> list[Tensor]:
        if not isinstance(value, TensorArray):
            raise TypeError(f"value must be a TensorArray, but saw: {type(value)}")
        if value.flow.dtype is variant:
            return [value.flow]
        with name_scope("convert_tensor_array"):
            return [tensor_lists.tensor_list_from_tensor(value.stack(), value.element_shape)]

    def _from_components(self, components: list[Tensor]) -> TensorArray:
        (flow,) = components
        array = ListTensorArray(
            self._dtype, dynamic_size=self._dynamic_size, flow=flow, infer_shape=self._infer_shape
        )
        array._known_shape = [self._element_shape]
        return array

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return TensorShape([self._dynamic_size, self._infer_shape]).concatenate(self._element_shape)

    def _to_legacy_output_classes(self) -> type:
        return TensorArray

    @classmethod
    def of_legacy(cls, dtype: DType, shape: TensorShape) -> TensorArraySpec:
        """Return the spec that legacy types and shapes of a dataset's elements encode.

        Args:
            dtype: its entry among the types.
            shape: its entry among the shapes: two flags, then the element shape.

        Returns:
            A spec.
        """
        flags: list[Any] = [None if flag is None else bool(flag) for flag in shape.as_list()[:2]]
        return cls(shape[2:], dtype, *flags)


register_type_spec_from_value_converter(TensorArray, TensorArraySpec.from_value, allow_subclass=True)
