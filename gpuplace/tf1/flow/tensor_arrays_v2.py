"""``tf.TensorArray`` where loops are function calls: the array is a list of tensors, and its flow is that list.

    array = tf.TensorArray(tf.float32, size=2)      TensorListReserve ──> flow
    array = array.write(0, x)                       flow, 0, x ──> TensorListSetItem ──> flow

There is no handle: every change of the array returns a new list.

Source: tensorflow/python/ops/tensor_array_ops.py (_GraphTensorArrayV2), release 1.15 (nodes added, messages).
"""

from __future__ import annotations

from gpuplace.dtypes import as_dtype
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.math import cast
from gpuplace.ops.support import new
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.flow import tensor_lists
from gpuplace.typing import DTypeLike, ShapeLike, TensorLike


class ListTensorArray(TensorArray):
    """A tensor array backed by a list; methods and arguments are those of ``TensorArray``."""

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if flow is not None and (not isinstance(flow, Tensor) or flow.dtype.base_dtype.name != "variant"):
            raise TypeError("flow must be a variant tensor")
        if flow is None and size is None:
            raise ValueError("Size must be provided if flow is not provided")
        for argument, what in ((size, "size"), (element_shape, "element_shape")):
            if flow is not None and argument is not None:
                raise ValueError(f"Cannot provide both a flow and {what} at the same time")
        self._dynamic_size = bool(dynamic_size)
        self.dtype = as_dtype(dtype).base_dtype
        self._known_shape = [as_shape(element_shape)]
        self._infer_shape = infer_shape
        self.handle = None
        with name_scope(name, "TensorArrayV2", [size, flow]) as scope:
            if flow is not None:
                self.flow = flow
            else:
                assert size is not None
                self.flow = tensor_lists.tensor_list_reserve(element_shape, size, self.dtype, scope)

    def with_flow(self, flow: Tensor) -> TensorArray:
        """See ``TensorArray.with_flow``: return the same array with another list.

        Args:
            flow: the list.
        """
        array = ListTensorArray(self.dtype, flow=flow, infer_shape=self._infer_shape)
        array._dynamic_size, array._known_shape = self._dynamic_size, self._known_shape
        return array

    def _checked(self, value: TensorLike, *, rows: bool) -> Tensor:
        """Return the value or the rows to write, after a dtype check."""
        tensor = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
        if tensor.dtype.base_dtype is not self.dtype:
            raise TypeError(
                f"TensorArray dtype is {self.dtype.name} but Op is trying to write dtype {tensor.dtype.name}."
            )
        self._merge_shape(tensor.shape[1:] if rows else tensor.shape)
        return tensor

    def identity(self) -> TensorArray:
        """See ``TensorArray.identity``."""
        return self.with_flow(reshaping.identity(self.flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Return None: the gradient of a list is a list.

        Args:
            source: ignored.
            flow: ignored.
            name: ignored.
        """
        raise NotImplementedError

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """See ``TensorArray.read``.

        Args:
            index: the index of the element.
            name: name of the scope and the operation.
        """
        with name_scope(name, "TensorArrayV2Read", [self.flow, index]):
            return tensor_lists.tensor_list_get_item(self.flow, index, self.dtype, self.element_shape, name)

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """See ``TensorArray.write``.

        Args:
            index: the index of the element.
            value: the element.
            name: name of the scope and the operation.
        """
        with name_scope(name, "TensorArrayV2Write", [self.flow, index, value]):
            tensor = self._checked(value, rows=False)
            return self.with_flow(
                tensor_lists.tensor_list_set_item(self.flow, index, tensor, self._dynamic_size, name)
            )

    def stack(self, name: str | None = None) -> Tensor:
        """See ``TensorArray.stack``.

        Args:
            name: name of the scope.
        """
        with name_scope(name, "TensorArrayV2Stack", [self.flow]):
            return tensor_lists.tensor_list_stack(self.flow, self.dtype, element_shape=self.element_shape)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """See ``TensorArray.gather``.

        Args:
            indices: the indices of the elements.
            name: name of the operation.
        """
        return tensor_lists.tensor_list_gather(
            self.flow, indices, self.dtype, element_shape=self.element_shape, name=name
        )

    def concat(self, name: str | None = None) -> Tensor:
        """See ``TensorArray.concat``.

        Args:
            name: name of the operation.
        """
        declared = self.element_shape
        shape = None if declared.ndims is None or not declared.ndims else [None, *declared.as_list()[1:]]
        return tensor_lists.tensor_list_concat(self.flow, self.dtype, element_shape=shape, name=name)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """See ``TensorArray.unstack``.

        Args:
            value: the rows.
            name: name of the scope.
        """
        with name_scope(name, "TensorArrayUnstack", [self.flow, value]):
            tensor = self._checked(value, rows=True)
            return self.with_flow(tensor_lists.tensor_list_from_tensor(tensor, tensor.shape[1:]))

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """See ``TensorArray.scatter``.

        Args:
            indices: the indices of the rows.
            value: the rows.
            name: name of the scope.
        """
        with name_scope(name, "TensorArrayScatter", [self.flow, value, indices]):
            tensor = self._checked(value, rows=True)
            return self.with_flow(
                tensor_lists.tensor_list_scatter(
                    tensor, indices, element_shape=self.element_shape, input_handle=self.flow
                )
            )

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """See ``TensorArray.split``.

        Args:
            value: the rows.
            lengths: the number of rows for each element.
            name: name of the scope and the operation.
        """
        with name_scope(name, "TensorArraySplit", [self.flow, value, lengths]):
            tensor = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
            sizes = cast.cast(lengths, "int64")
            static_sizes = constant_value(sizes)
            if tensor.shape.ndims is not None and static_sizes is not None and static_sizes.ndim:
                if static_sizes.max() == static_sizes.min():
                    self._merge_shape(TensorShape([int(static_sizes[0]), *tensor.shape.as_list()[1:]]))
            return self.with_flow(
                tensor_lists.tensor_list_split(
                    tensor, lengths=sizes, element_shape=self.element_shape, name=name
                )
            )

    def size(self, name: str | None = None) -> Tensor:
        """See ``TensorArray.size``.

        Args:
            name: name of the operation.
        """
        return new("TensorListLength", name, input_handle=self.flow)

    def close(self, name: str | None = None) -> Operation:
        """Return an operation that does nothing: a list needs no closing.

        Args:
            name: name of the operation.
        """
        return no_op(name)
