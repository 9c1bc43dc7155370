"""``TensorArray`` as a value: kept in a list of tensors, which datasets and functions hand on as one ``variant``.

::

    TensorArray of a resource ── stack ──> TensorListFromTensor ──> variant ──> TensorArray of a list
                                 (TensorArraySpec._to_components)        (TensorArraySpec._from_components)

Source: tensorflow/python/ops/tensor_array_ops.py, release 1.15 (names, operations, sentences).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import DType, as_dtype, float32, variant
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.flow import tensor_lists
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.flow.tensor_arrays import TensorArray
from gpuplace.ops.math import cast
from gpuplace.ops.type_spec import TensorSpec, TypeSpec, common_shape, register_type_spec_from_value_converter
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, ShapeLike, TensorLike

__all__ = ["TensorArraySpec"]


class ListArray(TensorArray):
    """A ``TensorArray`` whose elements are in a list of tensors; its flow is the list.

    Args:
        dtype: of the elements.
        flow: the list, a scalar of type variant.
        dynamic_size: whether it grows when something is written behind its end.
        infer_shape: whether all elements have one shape.
        element_shape: what is known of it.

    Raises:
        TypeError: ``flow`` is no such tensor.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        flow: Tensor,
        dynamic_size: bool = False,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
    ) -> None:
        if not isinstance(flow, Tensor) or flow.dtype is not variant:
            raise TypeError("flow must be a variant tensor")
        self.dtype = as_dtype(dtype).base_dtype
        self.flow = flow
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape
        self._known_shape = [as_shape(element_shape)]
        self._beside = None

    handle: Any = None
    """There is none: the flow is all."""

    def with_flow(self, flow: Tensor) -> TensorArray:
        made = ListArray(self.dtype, flow, self._dynamic_size, self._infer_shape)
        made._known_shape = self._known_shape
        return made

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        raise NotImplementedError("A list of tensors has gradients without an array of its own for them.")

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        with name_scope(name, "TensorArrayV2Read", [self.flow, index]):
            return tensor_lists.tensor_list_get_item(self.flow, index, self.dtype, self.element_shape, name)

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArrayV2Write", [self.flow, index, value]):
            value = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
            self._merge_shape(value.shape)
            return self.with_flow(
                tensor_lists.tensor_list_set_item(self.flow, index, value, self._dynamic_size, name)
            )

    def stack(self, name: str | None = None) -> Tensor:
        with name_scope(name, "TensorArrayV2Stack", [self.flow]):
            return tensor_lists.tensor_list_stack(self.flow, self.dtype, -1, self.element_shape, name)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        return tensor_lists.tensor_list_gather(self.flow, indices, self.dtype, self.element_shape, name)

    def concat(self, name: str | None = None) -> Tensor:
        known = self.element_shape
        shape = None if known.ndims is None else [None, *known.as_list()[1:]]
        return tensor_lists.tensor_list_concat(self.flow, self.dtype, shape, name)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArrayUnstack", [self.flow, value]):
            value = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
            self._merge_shape(value.shape[1:])
            return self.with_flow(tensor_lists.tensor_list_from_tensor(value, value.shape[1:]))

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArrayScatter", [self.flow, value, indices]):
            value = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
            self._merge_shape(value.shape[1:])
            shape = self.element_shape
            return self.with_flow(tensor_lists.tensor_list_scatter(value, indices, shape, self.flow, name))

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArraySplit", [self.flow, value, lengths]):
            value = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
            sizes = cast.cast(lengths, "int64")
            known = constant_value(sizes)
            if value.shape.ndims is not None and known is not None and known.ndim:
                if known.max() == known.min():
                    self._merge_shape(TensorShape([int(known[0]), *value.shape.as_list()[1:]]))
            return self.with_flow(tensor_lists.tensor_list_split(value, self.element_shape, sizes, name))

    def size(self, name: str | None = None) -> Tensor:
        return tensor_lists.list_length(self.flow)

    def close(self, name: str | None = None) -> Operation:
        return no_op(name=name)


class TensorArraySpec(TypeSpec):
    """What is known of a ``TensorArray`` that is part of a dataset's element or of a function's result.

    >>> import gpuplace as tf
    >>> tf.TensorArraySpec([2], tf.int32).is_compatible_with(tf.TensorArray(tf.int32, 3, element_shape=[2]))
    True

    Args:
        element_shape: what is known of the shape of its elements.
        dtype: their type.
        dynamic_size: whether it grows when something is written behind its end.
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
        """The spec of an array.

        Args:
            value: the array.

        Returns:
            A spec.

        Raises:
            TypeError: it is something else.
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
        """Whether an array, or all of another spec, may be of this one; whether shapes are inferred does not count.

        Args:
            spec_or_value: the array, or a spec.

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
        """The spec of the arrays of either, with all that is known of both.

        Args:
            other: another spec.

        Returns:
            A spec.

        Raises:
            ValueError: nothing is of both.
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
        return ListArray(self._dtype, flow, self._dynamic_size, self._infer_shape, self._element_shape)

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return TensorShape([self._dynamic_size, self._infer_shape]).concatenate(self._element_shape)

    def _to_legacy_output_classes(self) -> type:
        return TensorArray

    @classmethod
    def of_legacy(cls, dtype: DType, shape: TensorShape) -> TensorArraySpec:
        """The spec that stands among the legacy types and shapes of a dataset's elements.

        Args:
            dtype: what stands for it among the types.
            shape: what stands for it among the shapes: two flags, then the shape of its elements.

        Returns:
            A spec.
        """
        flags = shape.as_list()[:2]
        return cls(shape[2:], dtype, *(bool(one) for one in flags))


register_type_spec_from_value_converter(TensorArray, TensorArraySpec.from_value, allow_subclass=True)
