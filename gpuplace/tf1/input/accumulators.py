"""``tf.ConditionalAccumulator`` and the like: gradients that several steps accumulate and another step takes.

Source: tensorflow/python/ops/data_flow_ops.py, core/kernels/conditional_accumulator_op.cc,
sparse_conditional_accumulator_op.cc and barrier_ops.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype, int64, resource
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, binder, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.support import scalar_shape
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, as_shape, brackets
from gpuplace.tf1.input import accumulator_resources
from gpuplace.tf1.input.queue_kernels import ReferenceHandle, own_resource, resource_of
from gpuplace.tf1.input.queues import component_shapes, component_types
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, TensorLike

__all__ = ["Barrier", "ConditionalAccumulator", "ConditionalAccumulatorBase", "SparseConditionalAccumulator"]


class ConditionalAccumulatorBase:
    """Base class of accumulators: gradients of one step, summed until they are taken.

    Args:
        dtype: dtype of the gradients.
        shape: their shape; None: unknown.
        accumulator_ref: the handle, a tensor.
    """

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = UNKNOWN_SHAPE if shape is None else as_shape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.rpartition("/")[2]
        self._prefix = "Resource" if accumulator_ref.op.type.startswith("Resource") else ""

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """Name of the operation that creates the accumulator, without scopes."""
        return self._name

    @property
    def dtype(self) -> DType:
        """Dtype of the gradients."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Return the number of gradients in the accumulator.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        op_type = f"{self._prefix}AccumulatorNumAccumulated"
        return apply_op(
            op_type, name or f"{self._name}_NumAccumulated", handle=self._accumulator_ref
        ).outputs[0]

    def set_global_step(self, new_global_step: TensorLike, name: str | None = None) -> Operation:
        """Return an operation that sets the accumulator's step; gradients of earlier steps are dropped.

        Args:
            new_global_step: the step, an integer scalar.
            name: name of the operation.
        """
        op_type = f"{self._prefix}AccumulatorSetGlobalStep"
        step = cast(convert_to_tensor(new_global_step), int64)
        return apply_op(op_type, name, handle=self._accumulator_ref, new_global_step=step)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Gradients of one step, summed until their mean is taken.

    >>> import gpuplace as tf
    >>> gathered = tf.ConditionalAccumulator(tf.float32, shape=[2])
    >>> apply, take = gathered.apply_grad(tf.placeholder_with_default([1.0, 3.0], [2])), gathered.take_grad(2)
    >>> with tf.Session() as session:
    ...     for _ in range(2):
    ...         session.run(apply)
    ...     print(session.run(take))
    [1. 3.]

    Args:
        dtype: dtype of the gradients.
        shape: their shape; None: that of the first one.
        shared_name: accumulators that share a name are one; None: unshared.
        name: name of the operation.
        reduction_type: ``"MEAN"`` or ``"SUM"``.

    Raises:
        ValueError: ``reduction_type`` is unknown.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = _made("ResourceConditionalAccumulator", dtype, shape, shared_name, name, reduction_type)
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: TensorLike, local_step: TensorLike = 0, name: str | None = None) -> Operation:
        """Return an operation that adds a gradient, unless its step is earlier than the accumulator's.

        Args:
            grad: the gradient.
            local_step: the step in which the gradient was computed.
            name: name of the operation.

        Raises:
            ValueError: its shape does not fit.
        """
        value = convert_to_tensor(grad, self._dtype)
        value.shape.assert_is_compatible_with(self._shape)
        step = cast(convert_to_tensor(local_step), int64)
        return apply_op(
            "ResourceAccumulatorApplyGradient",
            name,
            handle=self._accumulator_ref,
            local_step=step,
            gradient=value,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Tensor:
        """Take the mean once there are enough gradients; this empties the accumulator and increments its step.

        Args:
            num_required: the number of gradients required, an int32 scalar.
            name: name of the operation.

        Raises:
            InvalidArgumentError: at run time, ``num_required`` is not positive.
        """
        mean = apply_op(
            "ResourceAccumulatorTakeGradient",
            name,
            handle=self._accumulator_ref,
            num_required=num_required,
            dtype=self._dtype,
        ).outputs[0]
        mean.set_shape(self._shape)
        return mean


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Sparse gradients of one step, summed until the mean of each row is taken.

    Args:
        dtype: dtype of the gradients.
        shape: their dense shape; None: unknown.
        shared_name: accumulators that share a name are one; None: unshared.
        name: name of the operation.
        reduction_type: ``"MEAN"`` or ``"SUM"``.

    Raises:
        ValueError: ``reduction_type`` is unknown.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = _made("SparseConditionalAccumulator", dtype, shape, shared_name, name, reduction_type)
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: TensorLike = 0, name: str | None = None
    ) -> Operation:
        """Return an operation that adds a gradient, as `apply_grad` does.

        Args:
            grad: the gradient.
            local_step: the step in which the gradient was computed.
            name: name of the operation.
        """
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: TensorLike,
        grad_values: TensorLike,
        grad_shape: TensorLike | None = None,
        local_step: TensorLike = 0,
        name: str | None = None,
    ) -> Operation:
        """Return an operation that adds a gradient, unless its step is earlier than the accumulator's.

        Args:
            grad_indices: the row indices, ascending.
            grad_values: the rows.
            grad_shape: the dense shape; None: unknown.
            local_step: the step in which the gradient was computed.
            name: name of the operation.

        Raises:
            InvalidArgumentError: at run time, shapes do not fit.
        """
        step = cast(convert_to_tensor(local_step), int64)
        indices = cast(grad_indices, int64)
        return apply_op(
            "SparseAccumulatorApplyGradient",
            name,
            handle=self._accumulator_ref,
            local_step=step,
            gradient_indices=indices,
            gradient_values=grad_values,
            gradient_shape=cast([] if grad_shape is None else grad_shape, int64),
            has_known_shape=grad_shape is not None,
        )

    def take_grad(self, num_required: TensorLike, name: str | None = None) -> Any:
        """Take the mean of each row, once there are enough gradients.

        Args:
            num_required: the number of gradients required, an int32 scalar.
            name: name of the operation.

        Returns:
            Indices, values and shape.

        Raises:
            InvalidArgumentError: at run time, ``num_required`` is not positive.
        """
        op = apply_op(
            "SparseAccumulatorTakeGradient",
            name,
            handle=self._accumulator_ref,
            num_required=num_required,
            dtype=self._dtype,
        )
        return tuple(op.outputs)

    def take_indexed_slices_grad(self, num_required: TensorLike, name: str | None = None) -> IndexedSlices:
        """Take the mean of each row as ``IndexedSlices``; see `take_grad`.

        Args:
            num_required: the number of gradients required, an int32 scalar.
            name: name of the operation.
        """
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)


def _made(
    op_type: str, dtype: DTypeLike, shape: ShapeLike, shared_name: str | None, name: str, reduction: str
) -> Tensor:
    return apply_op(
        op_type,
        name,
        dtype=as_dtype(dtype),
        shape=UNKNOWN_SHAPE if shape is None else as_shape(shape),
        shared_name=shared_name,
        reduction_type=reduction,
    ).outputs[0]


class Barrier:
    """Elements by key, whose components arrive separately; complete elements can be taken out.

    Args:
        types: dtype of each component, or of the only one.
        shapes: their shapes; None: unknown.
        shared_name: barriers that share a name are one; None: unshared.
        name: name of the operation.

    Raises:
        ValueError: a shape has no elements.
    """

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier"
    ) -> None:
        self._types = component_types(types)
        if shapes is None:
            self._shapes = [UNKNOWN_SHAPE] * len(self._types)
        else:
            self._shapes = component_shapes(shapes, self._types)
            for number, shape in enumerate(self._shapes):
                if shape.num_elements() == 0:
                    raise ValueError(
                        f"Empty tensors are not supported, but received shape '{shape}' at index {number}"
                    )
        self._barrier_ref = apply_op(
            "Barrier", name, component_types=self._types, shapes=self._shapes, shared_name=shared_name
        ).outputs[0]
        self._name = self._barrier_ref.op.name.rpartition("/")[2]

    @property
    def barrier_ref(self) -> Tensor:
        """The handle."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """Name of the operation that creates the barrier."""
        return self._barrier_ref.op.name

    def insert_many(
        self, component_index: int, keys: TensorLike, values: TensorLike, name: str | None = None
    ) -> Operation:
        """Return an operation that inserts one component of several elements.

        Args:
            component_index: index of the component.
            keys: a string vector.
            values: one row per key.
            name: name of the operation.

        Raises:
            InvalidArgumentError: at run time, a key already has this component, or shapes do not fit.
            CancelledError: at run time, the barrier is closed and a key is new.
        """
        return apply_op(
            "BarrierInsertMany",
            name or f"{self._name}_BarrierInsertMany",
            handle=self._barrier_ref,
            keys=keys,
            values=values,
            component_index=component_index,
        )

    def take_many(
        self,
        num_elements: TensorLike,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Take complete elements out, once there are enough of them, in the order of their first components.

        Args:
            num_elements: the number of elements, an int32 scalar.
            allow_small_batch: whether to return fewer once the barrier is closed.
            timeout: not supported, as in TensorFlow.
            name: name of the operation.

        Returns:
            The indices of the elements, int64 from the smallest value up; their keys; a tensor for each component.

        Raises:
            OutOfRangeError: at run time, the barrier is closed and has too few elements.
        """
        op = apply_op(
            "BarrierTakeMany",
            name or f"{self._name}_BarrierTakeMany",
            handle=self._barrier_ref,
            num_elements=num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=timeout,
        )
        count = None if allow_small_batch else constant_value(op.inputs[1])
        rows = TensorShape([None if count is None else int(count)])
        indices, keys, *values = op.outputs
        indices.set_shape(rows)
        keys.set_shape(rows)
        for value, shape in zip(values, self._shapes, strict=True):
            value.set_shape(rows.concatenate(shape))
        return indices, keys, values

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation after which the barrier accepts no new keys.

        Args:
            cancel_pending_enqueues: whether to drop incomplete elements; otherwise they can still be completed.
            name: name of the operation.

        Raises:
            CancelledError: at run time, the barrier is already closed.
        """
        return apply_op(
            "BarrierClose",
            name or f"{self._name}_BarrierClose",
            handle=self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """Return the number of complete elements.

        Args:
            name: name of the operation.
        """
        return self._size("BarrierReadySize", name)

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of elements with missing components.

        Args:
            name: name of the operation.
        """
        return self._size("BarrierIncompleteSize", name)

    def _size(self, op_type: str, name: str | None) -> Tensor:
        return apply_op(op_type, name or f"{self._name}_{op_type}", handle=self._barrier_ref).outputs[0]


_ACCUMULATOR_TYPE = "N10tensorflow26ConditionalAccumulatorBaseE"
_BARRIER_TYPE = "N10tensorflow7barrier7BarrierE"
"""Type names in error messages about resources."""


@binder("ConditionalAccumulator", "ResourceConditionalAccumulator")
def _make_dense(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[[], ResourceHandle]:
    return _maker(accumulator_resources.Accumulator, attrs, op, ctx)


@binder("SparseConditionalAccumulator")
def _make_sparse(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[[], ResourceHandle]:
    return _maker(accumulator_resources.SparseAccumulator, attrs, op, ctx)


@binder("Barrier")
def _make_barrier(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[[], ResourceHandle]:
    return _maker(accumulator_resources.Barrier, attrs, op, ctx)


def _maker(
    kind: Any, attrs: Mapping[str, Any], op: Operation, ctx: KernelContext
) -> Callable[[], ResourceHandle]:
    """Return a function that creates a resource in its first call, and returns its handle."""
    is_barrier = kind is accumulator_resources.Barrier
    cls = ResourceHandle if op.outputs[0].dtype is resource else ReferenceHandle

    def make(name: str) -> Any:
        if is_barrier:
            return kind(name, attrs["component_types"], attrs["shapes"])
        return kind(name, attrs["dtype"], attrs["shape"], attrs["reduction_type"].decode())

    def get() -> ResourceHandle:
        resource, container, name = own_resource(ctx, attrs, make)
        resource.check_same(make(name))
        return cls(ctx.device, container, name, _BARRIER_TYPE if is_barrier else _ACCUMULATOR_TYPE, resource)

    return get


def _accumulator(handle: Any) -> accumulator_resources.Accumulator:
    accumulator: accumulator_resources.Accumulator = resource_of(
        handle, accumulator_resources.Accumulator, _ACCUMULATOR_TYPE
    )
    return accumulator


def _barrier(handle: Any) -> accumulator_resources.Barrier:
    barrier: accumulator_resources.Barrier = resource_of(handle, accumulator_resources.Barrier, _BARRIER_TYPE)
    return barrier


@compute("AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated")
def _count(xp: ArrayModule, handle: Any) -> Any:
    return np.asarray(_accumulator(handle).count, np.int32)


@compute("AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep")
def _set_step(xp: ArrayModule, handle: Array, new_global_step: Array) -> tuple[()]:
    _accumulator(handle).set_step(int(new_global_step))
    return ()


@compute("AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient")
def _apply(xp: ArrayModule, handle: Array, local_step: Array, gradient: Array) -> tuple[()]:
    _accumulator(handle).apply(gradient, int(local_step))
    return ()


@compute("SparseAccumulatorApplyGradient")
def _apply_sparse(
    xp: ArrayModule,
    handle: Array,
    local_step: Array,
    gradient_indices: Array,
    gradient_values: Array,
    gradient_shape: Array,
    *,
    has_known_shape: bool,
) -> tuple[()]:
    for value, what in ((gradient_indices, "indices"), (gradient_shape, "shape")):
        if value.ndim != 1:
            raise InvalidArgumentError.of(
                f"Input {what} should be vector but received shape: {brackets(value.shape)}"
            )
    if not gradient_values.ndim:
        raise InvalidArgumentError.of("Values cannot be 0-dimensional.")
    if len(gradient_values) != len(gradient_indices):
        raise InvalidArgumentError.of(
            f"Expected {len(gradient_indices)} non-empty input values, got {len(gradient_values)}"
        )
    shape = gradient_shape if has_known_shape else gradient_shape[:0]
    _accumulator(handle).apply((gradient_indices, gradient_values, shape), int(local_step))
    return ()


@compute(
    "AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient", "SparseAccumulatorTakeGradient", waits=True
)
def _take(xp: ArrayModule, handle: Array, num_required: Array, *, ctx: KernelContext) -> Array:
    return _accumulator(handle).take(int(num_required), ctx.session.cancellation)


@compute("BarrierInsertMany")
def _insert_many(
    xp: ArrayModule, handle: Array, keys: Array, values: Array, *, component_index: int
) -> tuple[()]:
    _barrier(handle).insert_many(component_index, keys.ravel().tolist(), values)
    return ()


@compute("BarrierTakeMany", waits=True)
def _take_many(
    xp: ArrayModule, handle: Any, num_elements: Any, *, allow_small_batch: bool, ctx: KernelContext
) -> Any:
    return _barrier(handle).take_many(int(num_elements), allow_small_batch, ctx.session.cancellation)


@compute("BarrierClose")
def _close(xp: ArrayModule, handle: Array, *, cancel_pending_enqueues: bool) -> tuple[()]:
    _barrier(handle).close(cancel_pending_enqueues)
    return ()


@compute("BarrierReadySize", "BarrierIncompleteSize")
def _barrier_size(xp: ArrayModule, handle: Array, *, ctx: KernelContext) -> Array:
    barrier = _barrier(handle)
    size = barrier.ready_size if ctx.op.type == "BarrierReadySize" else barrier.incomplete_size
    return np.asarray(size, np.int32)


shape_function("AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated")(scalar_shape)
shape_function("BarrierReadySize", "BarrierIncompleteSize")(scalar_shape)


@shape_function(
    "Barrier", "ConditionalAccumulator", "SparseConditionalAccumulator", "ResourceConditionalAccumulator"
)
def _pair(op: Operation) -> Any:
    return (TensorShape.of((2,)),)


not_differentiable(
    "Barrier", "ConditionalAccumulator", "ResourceConditionalAccumulator", "SparseConditionalAccumulator",
    "AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated", "AccumulatorSetGlobalStep",
    "ResourceAccumulatorSetGlobalStep", "AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient",
    "AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient", "SparseAccumulatorApplyGradient",
    "SparseAccumulatorTakeGradient", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose", "BarrierReadySize",
    "BarrierIncompleteSize",
)  # fmt: skip
