"""Stacks of tensors, on which a loop stores the values that its gradient needs, iteration by iteration.

Each run of ``StackV2`` makes a stack, whose handle goes into the loops that push and pop. ``Stack`` and the like are
older forms of these ops, with a string reference as the handle.

Source: tensorflow/core/kernels/stack.cc, release 1.15.
"""

from __future__ import annotations

import itertools
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import no_outputs, shape_of_second, unknown_shape
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule

_numbers = itertools.count()


class _Stack:
    """The tensors of one stack."""

    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self._most = most
        self._tensors: list[Any] = []

    def push(self, value: Any) -> None:
        if 0 <= self._most <= len(self._tensors):
            raise InvalidArgumentError.of(f"Stack[{self.name}] overflowed its max_size ({self._most})")
        self._tensors.append(value)

    def pop(self) -> Any:
        if not self._tensors:
            raise InvalidArgumentError.of(f"Stack[{self.name}] is empty when calling Pop().")
        return self._tensors.pop()

    def close(self) -> None:
        self._tensors.clear()


@compute("StackV2", "Stack")
def _stack(xp: Any, max_size: Any = -1, *, stack_name: bytes, ctx: KernelContext) -> Any:
    name = f"{stack_name.decode() or ctx.op.name}_{next(_numbers)}"
    stack = _Stack(name, int(max_size))
    return ResourceHandle(ctx.device, "_tensor_stacks", name, "N10tensorflow5StackE", stack)


@compute("StackPushV2", "StackPush")
def _push(xp: ArrayModule, handle: Any, elem: Any) -> Array:
    handle.resource.push(elem)
    return elem


@compute("StackPopV2", "StackPop")
def _pop(xp: ArrayModule, handle: Any) -> Any:
    return handle.resource.pop()


@compute("StackCloseV2", "StackClose")
def _close(xp: ArrayModule, handle: Any) -> Any:
    handle.resource.close()
    return ()


@shape_function("StackV2", "Stack")
def _stack_shape(op: Operation) -> Any:
    """Return shapes for reference and resource handles alike, as TensorFlow does."""
    return (TensorShape.of((2,)),)


shape_function("StackPushV2", "StackPush")(shape_of_second)


shape_function("StackPopV2", "StackPop")(unknown_shape)


shape_function("StackCloseV2", "StackClose")(no_outputs)


not_differentiable("StackV2", "StackPushV2", "StackPopV2", "StackCloseV2")
not_differentiable("Stack", "StackPush", "StackPop", "StackClose")
