"""Sums and the like across GPUs, as NVIDIA's collectives compute them: every GPU gives a tensor, and gets the result.

The ops of one collective have a name in common, and wait for each other in every step. The last one to come computes
the result for all::

    GPU:0    x0 ── NcclAllReduce ─ ─ waits ─ ─ x0 + x1
    GPU:1    x1 ───── NcclAllReduce ────────── x0 + x1

That takes one thread for each of them, which a step on simulated GPUs has.

Source: tensorflow/python/ops/nccl_ops.py and core/nccl/nccl_manager.cc, release 1.15 (graphs, gradients, sentences).
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
    """The sum of tensors on several GPUs, on each of them.

    All of the results have to be computed in the same step.

    Args:
        tensors: alike in shape and type, each made where a GPU was asked for.

    Returns:
        The sum, for each tensor on its device.

    Raises:
        ValueError: there are none, or one was made where no device was asked for.
    """
    return _all("sum", tensors)


def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The product of tensors on several GPUs, on each of them; see ``all_sum``.

    Args:
        tensors: alike in shape and type, each made where a GPU was asked for.

    Returns:
        The product, for each tensor on its device.

    Raises:
        ValueError: as for ``all_sum``.
    """
    return _all("prod", tensors)


def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The least of tensors on several GPUs, element by element, on each of them; see ``all_sum``.

    Args:
        tensors: alike in shape and type, each made where a GPU was asked for.

    Returns:
        The least elements, for each tensor on its device.

    Raises:
        ValueError: as for ``all_sum``.
    """
    return _all("min", tensors)


def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The greatest of tensors on several GPUs, element by element, on each of them; see ``all_sum``.

    Args:
        tensors: alike in shape and type, each made where a GPU was asked for.

    Returns:
        The greatest elements, for each tensor on its device.

    Raises:
        ValueError: as for ``all_sum``.
    """
    return _all("max", tensors)


def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of tensors on several GPUs, on one of them: that of the device block around the call.

    Args:
        tensors: alike in shape and type, each made where a GPU was asked for.

    Returns:
        The sum.

    Raises:
        ValueError: there are none, one was made where no device was asked for, or none is on the device of the sum.
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
    """A tensor that ops on other GPUs can take.

    Args:
        tensor: a tensor that was made where a GPU was asked for.

    Returns:
        The same values.

    Raises:
        ValueError: no device was asked for.
    """
    _check_device(tensor)
    with get_default_graph().device(tensor.device):
        return new("NcclBroadcast", input=tensor, shape=tensor.shape)


def _all(reduction: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    if not tensors:
        raise ValueError("Must pass >0 tensors to all reduce operations")
    shared_name = f"c{next(_numbers)}"
    found = []
    for tensor in tensors:
        _check_device(tensor)
        with get_default_graph().device(tensor.device):
            found.append(
                new(
                    "NcclAllReduce",
                    input=tensor,
                    reduction=reduction,
                    num_devices=len(tensors),
                    shared_name=shared_name,
                )
            )
    return found


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
    parts = list(grad.op.inputs)  # of the sum, which is made anew where the tensor is
    for part in parts:
        _check_device(part)
    with get_default_graph().device(op.device):
        return new("NcclReduce", input=parts, reduction="sum")


# Kernels


def _reduced(xp: Any, reduction: Any, values: Sequence[Any]) -> Any:
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


class _Taker:
    """One op of a collective, in one step.

    Args:
        order: where its tensor stands among the others.
        value: the tensor.
    """

    def __init__(self, order: str, value: Any) -> None:
        self.order, self.value = order, value
        self.wait = Wait()
        self.result: Any = None
        self.error: OpError | None = None


class _Collective:
    """The ops of one name: those that have come, for each step."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._come: dict[Cancellation | None, list[_Taker]] = {}

    def join(
        self, taker: _Taker, count: int, reduce: Callable[[Sequence[Any]], Any], session: Cancellation
    ) -> Any:
        """Gives a tensor, and waits for the result."""
        step = step_limits().cancellation

        def give_up() -> None:
            with self._lock:
                if not taker.wait.has_ended:
                    self._come[step].remove(taker)
                    taker.error = CancelledError.of("Collective operation was cancelled")
                    taker.wait.end()

        with self._lock:
            come = self._come.setdefault(step, [])
            come.append(taker)
            if len(come) == count:
                self._end(self._come.pop(step), reduce)
            elif step is None:
                del self._come[step]
                raise _alone(count)
        taker.wait.wait(session, give_up)
        if taker.error is not None:
            raise taker.error
        return taker.result

    @staticmethod
    def _end(come: list[_Taker], reduce: Callable[[Sequence[Any]], Any]) -> None:
        come.sort(key=lambda one: one.order)
        result = reduce([one.value for one in come])
        for one in come:
            one.result = result.copy()
            one.wait.end()


def _alone(count: int) -> OpError:
    return UnimplementedError.of(
        f"The {count} ops of a collective have to run together, and in this step they cannot",
        hint="fetch all of its results in one step, on simulated GPUs, without loops and conditionals beside them",
    )


@compute("NcclAllReduce", fresh=True, waits=True)
def _all_reduce(
    xp: ArrayModule, value: Array, *, reduction: Any, num_devices: int, shared_name: Any, ctx: KernelContext
) -> Array:
    name = shared_name.decode() if isinstance(shared_name, bytes) else shared_name
    collective = ctx.session.get_or_create("", f"_nccl/{name}", _Collective)
    taker = _Taker(ctx.op.name, value)
    return collective.join(
        taker, num_devices, lambda values: _reduced(xp, reduction, values), ctx.session.cancellation
    )


@compute("NcclReduce")
def _reduce(xp: Any, values: list[Any], *, reduction: Any) -> Any:
    return _reduced(xp, reduction, values)


@compute("NcclBroadcast", shares=True)
def _broadcast(xp: ArrayModule, value: Array) -> Array:
    return value


shape_function("NcclAllReduce", "NcclReduce", "NcclBroadcast")(same_shape)
