"""Tensors that stay in a session between steps and are used by handle: ``tf.get_session_handle`` and related functions.

::

    step 1   h = session.run(tf.get_session_handle(c))          the value stays where it was computed
    step 2   holder, x = tf.get_session_tensor(h.handle, ...)
             session.run(f(x), {holder: h.handle})              or session.run(f(c), {c: h})

Source: tensorflow/python/ops/session_ops.py, core/kernels/session_ops.cc and core/common_runtime/session_state.cc,
release 1.15.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gpuplace.device.spec import DeviceSpec
from gpuplace.dtypes import DType, as_dtype, string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.op_sets import SESSION_HANDLES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import SESSION_TENSORS, session_tensor
from gpuplace.ops.array.constant import placeholder
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import scalar_shape, unknown_shape
from gpuplace.typing import Array, ArrayModule, DTypeLike

__all__ = ["delete_session_tensor", "get_session_handle", "get_session_tensor"]

_numbers = itertools.count()


def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Return a handle by which later steps get a tensor that stays in the session.

    >>> import gpuplace as tf
    >>> a = tf.constant(10.0)
    >>> with tf.Session() as session:
    ...     handle = session.run(tf.get_session_handle(a * 5.0))
    ...     holder, kept = tf.get_session_tensor(handle.handle, tf.float32)
    ...     print(handle.eval(), session.run(kept + 1.0, {holder: handle.handle}), session.run(a + 1.0, {a: handle}))
    50.0 51.0 51.0

    Args:
        data: the tensor.
        name: name of the operation.

    Returns:
        A string scalar, which ``run`` returns as a ``TensorHandle``.

    Raises:
        TypeError: ``data`` is not a tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with data.graph.colocate_with(data.op):
        return apply_op("GetSessionHandle", name, value=data).outputs[0]


def get_session_tensor(handle: str, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the tensor that a handle refers to, on the device where it is stored.

    Args:
        handle: the handle, which contains the device name.
        dtype: the tensor's type.
        name: name of the operation.

    Returns:
        A placeholder for the handle, and the tensor.
    """
    with get_default_graph().device(_device(handle)):
        holder = placeholder(string)
        op = apply_op("GetSessionTensor", name, handle=holder, dtype=as_dtype(dtype))
    return holder, op.outputs[0]


def delete_session_tensor(handle: str, name: str | None = None) -> tuple[Tensor, Operation]:
    """Return an operation that deletes a tensor from the session.

    Args:
        handle: the handle, which contains the device name.
        name: name of the operation.

    Returns:
        A placeholder for the handle, and the operation.
    """
    with get_default_graph().device(_device(handle)):
        holder = placeholder(string)
        return holder, apply_op("DeleteSessionTensor", name, handle=holder)


def _device(handle: Any) -> str:
    return DeviceSpec.from_string(str(handle).rpartition(";")[2]).to_string()


@compute(*sorted(SESSION_HANDLES))
def _get_handle(xp: ArrayModule, value: Array, *, ctx: KernelContext) -> Array:
    handle = f"{ctx.op.name};{next(_numbers)};{ctx.device}"
    if ctx.op.inputs[0].dtype.base_dtype is string:
        copied = np.array(value, object)
    else:
        copied = xp.array(value)  # the program may write to arrays that it feeds
    ctx.session.get_or_create(SESSION_TENSORS, handle, lambda: copied)
    return np.asarray(handle.encode(), object)


@compute("GetSessionTensor")
def _get_tensor(xp: ArrayModule, handle: Array, *, dtype: DType, ctx: KernelContext) -> Array:
    stored = session_tensor(ctx.session, _text(handle))
    if xp is np and not isinstance(stored, np.ndarray):
        stored = stored.get()
    if dtype is not string and stored.dtype != np.dtype(dtype.as_numpy_dtype):
        raise InvalidArgumentError.of(
            f"The tensor with handle '{_text(handle)}' is of type {as_dtype(stored.dtype).name} and not {dtype.name}"
        )
    return xp.asarray(stored)


@compute("DeleteSessionTensor")
def _delete(xp: ArrayModule, handle: Array, *, ctx: KernelContext) -> tuple[()]:
    session_tensor(ctx.session, _text(handle))
    ctx.session.delete(SESSION_TENSORS, _text(handle))
    return ()


def _text(handle: Array) -> str:
    text = handle.item() if isinstance(handle, np.ndarray) else handle
    return text.decode() if isinstance(text, bytes) else str(text)


shape_function(*sorted(SESSION_HANDLES))(scalar_shape)


shape_function("GetSessionTensor")(unknown_shape)


not_differentiable(*sorted(SESSION_HANDLES), "GetSessionTensor", "DeleteSessionTensor")
