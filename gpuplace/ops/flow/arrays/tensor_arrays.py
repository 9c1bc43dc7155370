"""``tf.TensorArray``: an array of tensors that is written and read place by place, mostly in loops.

What changes an array gives it again, with another flow; the older object is not to be used any more::

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
        dynamic_size: whether it grows when something is written behind its end; None: no.
        clear_after_read: whether a value can be read once only; None: yes.
        tensor_array_name: name for messages; None: the one of the op.
        handle: of another one, a resource tensor, instead of ``size``.
        flow: of that one, a float32 scalar.
        infer_shape: whether all elements have one shape.
        element_shape: what is known of it; None: nothing.
        colocate_with_first_write_call: whether it is placed with what is written to it first.
        name: name of the op.

    Raises:
        ValueError: neither or both of ``size`` and ``handle``, or what does not go with a handle.
        TypeError: a handle that is not a tensor.
    """

    handle: Any
    """The array itself, a resource tensor; None for one that is a list of tensors."""
    flow: Tensor
    """What it waits for; the list, for such an array."""

    def __new__(cls, dtype: DTypeLike, size: Any = None, *args: Any, **kwargs: Any) -> TensorArray:
        """An array; where loops are calls of functions, one that is a list of tensors."""
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
        """What it is placed with, once something was written; None if it stays where it is."""
        self._known_shape = [as_shape(element_shape)]
        """Shared with all that stand for the same array."""
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
                made = apply_op(
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
            self.handle, self.flow = made.outputs

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        return self._known_shape[0]

    @property
    def dynamic_size(self) -> bool:
        """Whether it grows."""
        return self._dynamic_size

    def with_flow(self, flow: Tensor) -> TensorArray:
        """The same array behind another flow.

        Args:
            flow: a float32 scalar; what it waits for has happened to the array.

        Returns:
            A ``TensorArray`` with this flow.
        """
        made = TensorArray(
            self.dtype,
            handle=self.handle,
            flow=flow,
            infer_shape=self._infer_shape,
            colocate_with_first_write_call=self._beside is not None,
        )
        made._dynamic_size = self._dynamic_size
        made._beside, made._known_shape = self._beside, self._known_shape
        return made

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
        """The same array, by an operation of its own."""
        return self.with_flow(reshaping.identity(self.flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array of its gradients for a source, which names a call of ``tf.gradients``.

        Args:
            source: the same for all gradients of one call; each source has an array of its own.
            flow: what the array waits for, a float32 scalar; None: the flow of this one.
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
                made = TensorArray(
                    self.dtype,
                    handle=handle,
                    flow=flow,
                    infer_shape=self._infer_shape,
                    colocate_with_first_write_call=False,
                )
                made._known_shape = self._known_shape
                return made

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """An element.

        Args:
            index: its position, an int32 scalar from 0 on.
            name: name of the operation.

        Returns:
            A tensor of the dtype and, as far as known, the shape of the elements.

        Raises:
            InvalidArgumentError: at run time, there is no such element, it was read before and is cleared, or it was
                never written and its shape is not known.
        """
        value = new(
            "TensorArrayReadV3", name, handle=self.handle, index=index, flow_in=self.flow, dtype=self.dtype
        )
        value.set_shape(self.element_shape)
        return value

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with an element written.

        Args:
            index: its position, an int32 scalar from 0 on.
            value: the element, a tensor of the dtype of the array.
            name: name of the operation.

        Returns:
            A ``TensorArray`` to be used from now on.

        Raises:
            ValueError: ``value`` has another shape than the elements before it.
            InvalidArgumentError: at run time, the array ends before ``index``, there is an element already, or the
                dtype is another one.
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
        """All elements as one tensor.

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
        """Some elements as one tensor.

        Args:
            indices: their positions, an int32 vector.
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
        """All elements one behind the other.

        Args:
            name: name of the operation.

        Returns:
            A tensor of the dtype of the elements, as long as all of them together; other axes are theirs.

        Raises:
            InvalidArgumentError: at run time, as for ``read``, or the elements differ in another axis than the first.
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
        """The array with the rows of a tensor written to all places.

        Args:
            value: ``[size, ...]``, of the dtype of the array.
            name: name scope, and name of the operation.

        Returns:
            A ``TensorArray`` to be used from now on.

        Raises:
            ValueError: the rows have another shape than the elements before them.
            InvalidArgumentError: at run time, as for ``write``.
        """
        with name_scope(name, "TensorArrayUnstack", [self.handle, value]):
            count = reshaping.shape(value)[0]
            return self.scatter(constant.range(0, count), value, name=name)

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """The array with the rows of a tensor written to some places.

        Args:
            indices: the positions, an int32 vector.
            value: ``[len(indices), ...]``, of the dtype of the array.
            name: name scope, and name of the operation.

        Returns:
            A ``TensorArray`` to be used from now on.

        Raises:
            ValueError: the rows have another shape than the elements before them.
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
        """The array with runs of rows of a tensor written, each as long as ``lengths`` says.

        Args:
            value: ``[rows, ...]``, of the dtype of the array.
            lengths: how many rows each element gets, an integer vector that adds up to the number of rows. Lengths that
                differ need ``infer_shape=False``.
            name: name scope, and name of the operation.

        Returns:
            A ``TensorArray`` to be used from now on.

        Raises:
            ValueError: ``value`` is of another dtype, or the elements get another shape than those before them.
            InvalidArgumentError: at run time, as for ``write``, or the lengths do not add up.
        """
        with name_scope(name, "TensorArraySplit", [self.handle, value, lengths]):
            value = convert_to_tensor(value, dtype=self.dtype, name="value")
            with self._near(value):
                sizes = cast.cast(lengths, "int64")
                known = constant_value(sizes)
                if value.shape.ndims is not None and known is not None and known.ndim:
                    if known.max() == known.min():
                        self._merge_shape(TensorShape([int(known[0]), *value.shape.as_list()[1:]]))
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
        """The number of elements.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return new("TensorArraySizeV3", name, handle=self.handle, flow_in=self.flow)

    def close(self, name: str | None = None) -> Operation:
        """An operation that gives the elements up.

        Args:
            name: name of the operation.

        Returns:
            The ``TensorArrayCloseV3`` operation.
        """
        return apply_op("TensorArrayCloseV3", name, handle=self.handle)


def _has_handle(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether there is a handle among the arguments after the size."""
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
    """The array of gradients of the array that an operation uses."""
    made = TensorArray(op.attrs[attr], handle=op.inputs[0], flow=flow, colocate_with_first_write_call=False)
    return made.grad(_source_of(named), flow=flow)


def _source_of(tensor: Tensor) -> str:
    """The name scope of the call of ``tf.gradients`` that a tensor belongs to."""
    parts = tensor.name.split("/")
    found = [position for position, part in enumerate(parts) if part.startswith("gradients")]
    if not found:
        raise ValueError(
            f"Expected op/tensor name to start with gradients (excluding scope), got: {tensor.name}. This means that a"
            " tf.gradients op with this op in its dependency path has a custom name that does not start with"
            " 'gradients'. Please make sure all calls to tf.gradients that have non-empty 'name' arguments use names"
            " that start with 'gradients'."
        )
    return "/".join(parts[: found[-1] + 1])


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
