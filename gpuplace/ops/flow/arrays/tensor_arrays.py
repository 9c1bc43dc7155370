"""``tf.TensorArray``: an array of tensors that is written and read by index, mostly in loops.

Writes return the array with another flow; do not use the older object any more::

    array = tf.TensorArray(tf.float32, size=2)
    array = array.write(0, x).write(1, y)
    both = array.stack()

Source: tensorflow/python/ops/tensor_array_ops.py and tensor_array_grad.py, release 1.15.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.flow import control_flow_util
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math import cast
from gpuplace.ops.support import new
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, ShapeLike, TensorLike

__all__ = ["TensorArray"]


class TensorArray:
    """An array of tensors.

    >>> import gpuplace as tf
    >>> array = tf.TensorArray(tf.int32, size=2).write(0, 7).write(1, 8)
    >>> tf.Session().run(array.stack())
    array([7, 8], dtype=int32)

    Args:
        dtype: dtype of the elements.
        size: number of elements, an int32 scalar; None only with ``handle``.
        dynamic_size: whether writes beyond the end grow the array; None: no.
        clear_after_read: whether a value can be read only once; None: yes.
        tensor_array_name: name for messages; None: that of the op.
        handle: handle of an existing array, a resource tensor, instead of ``size``.
        flow: flow of the existing array, a float32 scalar.
        infer_shape: whether all elements have the same shape.
        element_shape: static shape of the elements; None: unknown.
        colocate_with_first_write_call: whether to place the array with the first value written to it.
        name: name of the op.

    Raises:
        ValueError: neither or both of ``size`` and ``handle`` are given, or an argument is incompatible with a handle.
        TypeError: the handle is not a tensor.
    """

    handle: Any
    """The array itself, a resource tensor; None for a tensor list."""
    flow: Tensor
    """The flow that reads and writes wait for; for a tensor list, the list."""

    def __new__(cls, dtype: DTypeLike, size: Any = None, *args: Any, **kwargs: Any) -> TensorArray:
        """Return an array; a tensor list where loops are function calls."""
        if cls is TensorArray and not _has_handle(args, kwargs):
            if control_flow_util.EnableControlFlowV2(get_default_graph()):
                array: TensorArray = object.__new__(control_flow_util.functional("TensorArray"))
                return array
        return object.__new__(cls)

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            _check_no_more(tensor_array_name, handle, size, element_shape, dynamic_size, clear_after_read)
        elif size is None:
            raise ValueError("Size must be provided if handle is not provided")
        self._dynamic_size = bool(dynamic_size)
        self.dtype = as_dtype(dtype).base_dtype
        self._beside: list[Tensor] | None = [] if colocate_with_first_write_call else None
        """The tensors to place the array with, after the first write; None if it stays on its device."""
        self._known_shape = [as_shape(element_shape)]
        """Shared by all objects of the same array."""
        self._infer_shape = infer_shape
        graph = get_default_graph()
        with name_scope(name, "TensorArray", [handle, size, flow]) as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self.handle, self.flow = handle, flow
                return
            with contextlib.ExitStack() as stack:
                if colocate_with_first_write_call:
                    stack.enter_context(graph.device(None))
                    stack.enter_context(graph.colocate_with(None, ignore_existing=True))
                op = apply_op(
                    "TensorArrayV3",
                    scope,
                    dtype=self.dtype,
                    size=size,
                    element_shape=element_shape,
                    identical_element_shapes=infer_shape,
                    dynamic_size=self._dynamic_size,
                    clear_after_read=True if clear_after_read is None else clear_after_read,
                    tensor_array_name=tensor_array_name,
                )
            self.handle, self.flow = op.outputs

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of the elements."""
        return self._known_shape[0]

    @property
    def dynamic_size(self) -> bool:
        """Whether writes beyond the end grow the array."""
        return self._dynamic_size

    def with_flow(self, flow: Tensor) -> TensorArray:
        """Return the same array with another flow.

        Args:
            flow: a float32 scalar that is available after earlier writes.

        Returns:
            A ``TensorArray`` with this flow.
        """
        array = TensorArray(
            self.dtype,
            handle=self.handle,
            flow=flow,
            infer_shape=self._infer_shape,
            colocate_with_first_write_call=self._beside is not None,
        )
        array._dynamic_size = self._dynamic_size
        array._beside, array._known_shape = self._beside, self._known_shape
        return array

    def _merge_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._known_shape[0] = self.element_shape.merge_with(shape)

    @contextlib.contextmanager
    def _near(self, value: Tensor) -> Iterator[None]:
        if self._beside is None:
            yield
            return
        if not self._beside:
            self._beside.append(value)
        with get_default_graph().colocate_with(self._beside[0].op):
            yield

    def identity(self) -> TensorArray:
        """Return the same array, through a new operation."""
        return self.with_flow(reshaping.identity(self.flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Return the array of gradients for a source, which identifies a call of ``tf.gradients``.

        Args:
            source: the same for all gradients of one call; each source has its own array.
            flow: the flow to wait for, a float32 scalar; None: that of this array.
            name: name scope, and name of the operation.

        Returns:
            A ``TensorArray`` of the same dtype and size.
        """
        flow = self.flow if flow is None else flow
        graph = get_default_graph()
        with name_scope(name, "TensorArrayGrad", [self.handle]):
            with graph.colocate_with(self.handle.op):
                handle, _ = apply_op(
                    "TensorArrayGradV3", name, handle=self.handle, source=source, flow_in=flow
                ).outputs
                with graph.control_dependencies([handle]):
                    flow = reshaping.identity(flow, name="gradient_flow")
                array = TensorArray(
                    self.dtype,
                    handle=handle,
                    flow=flow,
                    infer_shape=self._infer_shape,
                    colocate_with_first_write_call=False,
                )
                array._known_shape = self._known_shape
                return array

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Return an element.

        Args:
            index: its index, an int32 scalar from 0.
            name: name of the operation.

        Returns:
            A tensor with the dtype and static shape of the elements.

        Raises:
            InvalidArgumentError: at run time, the element does not exist, was cleared by an earlier read, or was never
                written and has no static shape.
        """
        value = new(
            "TensorArrayReadV3", name, handle=self.handle, index=index, flow_in=self.flow, dtype=self.dtype
        )
        value.set_shape(self.element_shape)
        return value

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the array with an element written.

        Args:
            index: its index, an int32 scalar from 0.
            value: the element, a tensor of the dtype of the array.
            name: name of the operation.

        Returns:
            The ``TensorArray`` to use from now on.

        Raises:
            ValueError: ``value`` has another shape than earlier elements.
            InvalidArgumentError: at run time, ``index`` is beyond the end, the element was written before, or the dtype
                differs.
        """
        with name_scope(name, "TensorArrayWrite", [self.handle, index, value]):
            value = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
            self._merge_shape(value.shape)
            with self._near(value):
                flow = new(
                    "TensorArrayWriteV3",
                    name,
                    handle=self.handle,
                    index=index,
                    value=value,
                    flow_in=self.flow,
                )
            return self.with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements as one tensor.

        Args:
            name: name scope, and name of the operation.

        Returns:
            A tensor ``[size, ...]`` of the dtype of the elements.

        Raises:
            InvalidArgumentError: at run time, as for ``read``, or the elements differ in shape.
        """
        with get_default_graph().colocate_with(self.handle.op):
            with name_scope(name, "TensorArrayStack", [self.handle]):
                return self.gather(constant.range(0, self.size()), name=name)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return some elements as one tensor.

        Args:
            indices: their indices, an int32 vector.
            name: name of the operation.

        Returns:
            A tensor ``[len(indices), ...]`` of the dtype of the elements.

        Raises:
            InvalidArgumentError: at run time, as for ``read``, or the elements differ in shape.
        """
        value = new(
            "TensorArrayGatherV3",
            name,
            handle=self.handle,
            indices=indices,
            flow_in=self.flow,
            dtype=self.dtype,
            element_shape=self.element_shape,
        )
        if self.element_shape.ndims is not None:
            value.set_shape(TensorShape([None, *self.element_shape.as_list()]))
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """Return the concatenation of all elements.

        Args:
            name: name of the operation.

        Returns:
            A tensor of the dtype of the elements, joined along the first axis.

        Raises:
            InvalidArgumentError: at run time, as for ``read``, or the elements differ along another axis than the
                first.
        """
        value = apply_op(
            "TensorArrayConcatV3",
            name,
            handle=self.handle,
            flow_in=self.flow,
            dtype=self.dtype,
            element_shape_except0=self.element_shape[1:],
        ).outputs[0]
        if self.element_shape.ndims is not None:
            value.set_shape(TensorShape([None, *self.element_shape.as_list()[1:]]))
        return value

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor to all elements and return the array.

        Args:
            value: ``[size, ...]``, of the dtype of the array.
            name: name scope, and name of the operation.

        Returns:
            The ``TensorArray`` to use from now on.

        Raises:
            ValueError: the rows have another shape than earlier elements.
            InvalidArgumentError: at run time, as for ``write``.
        """
        with name_scope(name, "TensorArrayUnstack", [self.handle, value]):
            count = reshaping.shape(value)[0]
            return self.scatter(constant.range(0, count), value, name=name)

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor to some elements and return the array.

        Args:
            indices: the indices, an int32 vector.
            value: ``[len(indices), ...]``, of the dtype of the array.
            name: name scope, and name of the operation.

        Returns:
            The ``TensorArray`` to use from now on.

        Raises:
            ValueError: the rows have another shape than earlier elements.
            InvalidArgumentError: at run time, as for ``write``.
        """
        with name_scope(name, "TensorArrayScatter", [self.handle, value, indices]):
            value = convert_to_tensor(value, preferred_dtype=self.dtype, name="value")
            self._merge_shape(value.shape[1:])
            with self._near(value):
                flow = new(
                    "TensorArrayScatterV3",
                    name,
                    handle=self.handle,
                    indices=indices,
                    value=value,
                    flow_in=self.flow,
                )
            return self.with_flow(flow)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Write runs of rows of a tensor, of the given lengths, and return the array.

        Args:
            value: ``[rows, ...]``, of the dtype of the array.
            lengths: number of rows of each element, an integer vector that sums to the total number of rows. Different
                lengths require ``infer_shape=False``.
            name: name scope, and name of the operation.

        Returns:
            The ``TensorArray`` to use from now on.

        Raises:
            ValueError: ``value`` has another dtype, or the elements have another shape than earlier ones.
            InvalidArgumentError: at run time, as for ``write``, or the lengths have another sum.
        """
        with name_scope(name, "TensorArraySplit", [self.handle, value, lengths]):
            value = convert_to_tensor(value, dtype=self.dtype, name="value")
            with self._near(value):
                sizes = cast.cast(lengths, "int64")
                static_lengths = constant_value(sizes)
                if value.shape.ndims is not None and static_lengths is not None and static_lengths.ndim:
                    if static_lengths.max() == static_lengths.min():
                        self._merge_shape(TensorShape([int(static_lengths[0]), *value.shape.as_list()[1:]]))
                flow = new(
                    "TensorArraySplitV3",
                    name,
                    handle=self.handle,
                    value=value,
                    lengths=sizes,
                    flow_in=self.flow,
                )
            return self.with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return new("TensorArraySizeV3", name, handle=self.handle, flow_in=self.flow)

    def close(self, name: str | None = None) -> Operation:
        """Return an operation that frees the elements.

        Args:
            name: name of the operation.

        Returns:
            The ``TensorArrayCloseV3`` operation.
        """
        return apply_op("TensorArrayCloseV3", name, handle=self.handle)


def _has_handle(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether the arguments after the size include a handle."""
    return kwargs.get("handle") is not None or (len(args) > 3 and args[3] is not None)


def _check_no_more(tensor_array_name: Any, handle: Any, *others: Any) -> None:
    if tensor_array_name:
        raise ValueError("Cannot construct with both handle and tensor_array_name")
    if not isinstance(handle, Tensor):
        raise TypeError("Handle must be a Tensor")
    for name, value in zip(
        ("size", "element_shape", "dynamic_size", "clear_after_read"), others, strict=True
    ):
        if value is not None:
            raise ValueError(f"Cannot provide both a handle and {name} at the same time")


# Gradients

not_differentiable("TensorArrayV3", "TensorArrayGradV3", "TensorArraySizeV3", "TensorArrayCloseV3")


def _gradients_of(op: Operation, attr: str, flow: Tensor, named: Tensor) -> TensorArray:
    """Return the array of gradients for the array that an operation uses."""
    array = TensorArray(op.attrs[attr], handle=op.inputs[0], flow=flow, colocate_with_first_write_call=False)
    return array.grad(_source_of(named), flow=flow)


def _source_of(tensor: Tensor) -> str:
    """Return the name scope of the call of ``tf.gradients`` that a tensor belongs to."""
    parts = tensor.name.split("/")
    positions = [position for position, part in enumerate(parts) if part.startswith("gradients")]
    if not positions:
        raise ValueError(
            f"Expected op/tensor name to start with gradients (excluding scope), got: {tensor.name}. This means that a"
            " tf.gradients op with this op in its dependency path has a custom name that does not start with"
            " 'gradients'. Please make sure all calls to tf.gradients that have non-empty 'name' arguments use names"
            " that start with 'gradients'."
        )
    return "/".join(parts[: positions[-1] + 1])


@gradient("TensorArrayReadV3")
def _read_grad(op: Operation, grad: Tensor) -> Any:
    gradients = _gradients_of(op, "dtype", op.inputs[2], grad)
    return None, None, gradients.write(op.inputs[1], grad).flow


@gradient("TensorArrayWriteV3")
def _write_grad(op: Operation, flow: Tensor) -> Any:
    return None, None, _gradients_of(op, "T", flow, flow).read(op.inputs[1]), flow


@gradient("TensorArrayGatherV3")
def _gather_grad(op: Operation, grad: Tensor) -> Any:
    gradients = _gradients_of(op, "dtype", op.inputs[2], grad)
    return None, None, gradients.scatter(op.inputs[1], grad).flow


@gradient("TensorArrayScatterV3")
def _scatter_grad(op: Operation, flow: Tensor) -> Any:
    return None, None, _gradients_of(op, "T", flow, flow).gather(op.inputs[1]), flow


@gradient("TensorArrayConcatV3")
def _concat_grad(op: Operation, grad: Tensor, _: Any) -> Any:
    return None, _gradients_of(op, "dtype", op.inputs[1], grad).split(grad, op.outputs[1]).flow


@gradient("TensorArraySplitV3")
def _split_grad(op: Operation, flow: Tensor) -> Any:
    return None, _gradients_of(op, "T", flow, flow).concat(), None, flow
