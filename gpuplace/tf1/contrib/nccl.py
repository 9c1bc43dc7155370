"""NCCL collectives across GPUs: every GPU contributes a tensor, and gets the result.

The ops of one collective share a name, and wait for each other in every step. The last one to arrive computes the
result for all::

    GPU:0    x0 ── NcclAllReduce ─ ─ waits ─ ─ x0 + x1
    GPU:1    x1 ───── NcclAllReduce ────────── x0 + x1

Each op therefore needs a thread, which a step on simulated GPUs provides.

Source: tensorflow/python/ops/nccl_ops.py and core/nccl/nccl_manager.cc, release 1.15 (graphs, gradients, messages).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.errors import CancelledError, OpError, UnimplementedError
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.cancellation import Cancellation, Wait, step_limits
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.support import new, same_shape
from gpuplace.typing import Array, ArrayModule

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]

_numbers = itertools.count()


def all_sum(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the sum of tensors on several GPUs to each of them.

    All of the results have to be computed in the same step.

    Args:
        tensors: tensors of the same shape and dtype, each created in a device block for a GPU.

    Returns:
        The sum, for each tensor on its device.

    Raises:
        ValueError: there are no tensors, or one has no device.
    """
    return _all("sum", tensors)


def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the product of tensors on several GPUs to each of them; see ``all_sum``.

    Args:
        tensors: tensors of the same shape and dtype, each created in a device block for a GPU.

    Returns:
        The product, for each tensor on its device.

    Raises:
        ValueError: as for ``all_sum``.
    """
    return _all("prod", tensors)


def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the element-wise minimum of tensors on several GPUs to each of them; see ``all_sum``.

    Args:
        tensors: tensors of the same shape and dtype, each created in a device block for a GPU.

    Returns:
        The minimum, for each tensor on its device.

    Raises:
        ValueError: as for ``all_sum``.
    """
    return _all("min", tensors)


def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the element-wise maximum of tensors on several GPUs to each of them; see ``all_sum``.

    Args:
        tensors: tensors of the same shape and dtype, each created in a device block for a GPU.

    Returns:
        The maximum, for each tensor on its device.

    Raises:
        ValueError: as for ``all_sum``.
    """
    return _all("max", tensors)


def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors on several GPUs to one of them: the device of the block around the call.

    Args:
        tensors: tensors of the same shape and dtype, each created in a device block for a GPU.

    Returns:
        The sum.

    Raises:
        ValueError: there are no tensors, one has no device, or none is on the device of the sum.
    """
    if not tensors:
        raise ValueError("Must pass >0 tensors to reduce operations")
    for tensor in tensors:
        _check_device(tensor)
    result = new("NcclReduce", input=list(tensors), reduction="sum")
    if all(tensor.device != result.device for tensor in tensors):
        raise ValueError("One input tensor must be assigned to current device")
    return result


def broadcast(tensor: Tensor) -> Tensor:
    """Return a tensor as an input for ops on other GPUs.

    Args:
        tensor: a tensor created in a device block for a GPU.

    Returns:
        A tensor with the same values.

    Raises:
        ValueError: the tensor has no device.
    """
    _check_device(tensor)
    with get_default_graph().device(tensor.device):
        return new("NcclBroadcast", input=tensor, shape=tensor.shape)


def _all(reduction: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    shared_name = f"c{next(_numbers)}"
    results = []
    for tensor in tensors:
        _check_device(tensor)
        with get_default_graph().device(tensor.device):
            results.append(
                new(
                    "NcclAllReduce",
                    input=tensor,
                    reduction=reduction,
                    num_devices=len(tensors),
                    shared_name=shared_name,
                )
            )
    return results


def _check_device(tensor: Tensor, expected: str = "") -> None:
    if not tensor.device:
        raise ValueError("Device assignment required for nccl collective ops")
    if expected and expected != tensor.device:
        raise ValueError(f"Expected device {expected}, got {tensor.device}")


# Gradients


def _require_sum(op: Operation) -> None:
    if op.get_attr("reduction") != b"sum":
        raise LookupError(f"No gradient defined for {op.type} except sum.")


@gradient("NcclAllReduce")
def _all_reduce_gradient(op: Operation, grad: Tensor) -> Any:
    _require_sum(op)
    _check_device(grad, op.device)
    with get_default_graph().device(op.device):
        return new(
            "NcclAllReduce",
            input=grad,
            reduction="sum",
            num_devices=op.get_attr("num_devices"),
            shared_name=op.get_attr("shared_name") + b"_grad",
        )


@gradient("NcclReduce")
def _reduce_gradient(op: Operation, grad: Tensor) -> Any:
    _require_sum(op)
    _check_device(grad, op.device)
    with get_default_graph().device(op.device):
        return [new("NcclBroadcast", input=grad, shape=grad.shape)] * len(op.inputs)


@gradient("NcclBroadcast")
def _broadcast_gradient(op: Operation, grad: Tensor) -> Any:
    parts = list(grad.op.inputs)  # of the sum, which is computed again on the device of the tensor
    for part in parts:
        _check_device(part)
    with get_default_graph().device(op.device):
        return new("NcclReduce", input=parts, reduction="sum")


# Kernels


def _reduced(xp: ArrayModule, reduction: Any, values: Sequence[Any]) -> Any:
    name = reduction.decode() if isinstance(reduction, bytes) else reduction
    function: Callable[[Any, Any], Any] = {
        "sum": xp.add,
        "prod": xp.multiply,
        "min": xp.minimum,
        "max": xp.maximum,
    }[name]
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total


class _Member:
    """An op of a collective, in one step.

    Args:
        order: index of its tensor.
        value: the tensor.
    """

    def __init__(self, order: str, value: Any) -> None:
        self.order, self.value = order, value
        self.wait = Wait()
        self.result: Any = None
        self.error: OpError | None = None


class _Collective:
    """The ops of one collective that have arrived, for each step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._come: dict[Cancellation | None, list[_Member]] = {}

    def join(
        self, member: _Member, count: int, reduce: Callable[[Sequence[Any]], Any], session: Cancellation
    ) -> Any:
        """Contribute a tensor, and wait for the result."""
        step = step_limits().cancellation

        def give_up() -> None:
            with self._lock:
                if not member.wait.has_ended:
                    self._come[step].remove(member)
                    member.error = CancelledError.of("Collective operation was cancelled")
                    member.wait.end()

        with self._lock:
            come = self._come.setdefault(step, [])
            come.append(member)
            if len(come) == count:
                self._end(self._come.pop(step), reduce)
            elif step is None:
                del self._come[step]
                raise _alone(count)
        member.wait.wait(session, give_up)
        if member.error is not None:
            raise member.error
        return member.result

    @staticmethod
    def _end(come: list[_Member], reduce: Callable[[Sequence[Any]], Any]) -> None:
        come.sort(key=lambda member: member.order)
        result = reduce([member.value for member in come])
        for one in come:
            one.result = result.copy()
            one.wait.end()


def _alone(count: int) -> OpError:
    return UnimplementedError.of(
        f"The {count} ops of a collective must run together, but this step cannot run them together",
        hint="fetch all of its results in one step on simulated GPUs, outside of loops and conditionals",
    )


@compute("NcclAllReduce", fresh=True, waits=True)
def _all_reduce(
    xp: ArrayModule, value: Array, *, reduction: Any, num_devices: int, shared_name: Any, ctx: KernelContext
) -> Array:
    name = shared_name.decode() if isinstance(shared_name, bytes) else shared_name
    collective = ctx.session.get_or_create("", f"_nccl/{name}", _Collective)
    member = _Member(ctx.op.name, value)
    return collective.join(
        member, num_devices, lambda values: _reduced(xp, reduction, values), ctx.session.cancellation
    )


@compute("NcclReduce")
def _reduce(xp: ArrayModule, values: list[Any], *, reduction: Any) -> Any:
    return _reduced(xp, reduction, values)


@compute("NcclBroadcast", shares=True)
def _broadcast(xp: ArrayModule, value: Array) -> Array:
    return value


shape_function("NcclAllReduce", "NcclReduce", "NcclBroadcast")(same_shape)
