"""Ops for loops: values enter a frame, go on to its next iteration, and leave it.

Each op passes its input on; the plan (``plan/codegen/loops``) decides in which iteration.

Source: tensorflow/core/kernels/control_flow_ops.cc and core/ops/control_flow_ops.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute, computed_by_none
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import no_outputs, same_shape
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule


@compute("Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration")
def _pass_on(xp: ArrayModule, data: Array) -> Array:
    return data


computed_by_none("Merge", "RefMerge", "RefSwitch", "Switch", "_SwitchN")


@compute("LoopCond")
def _loop_cond(xp: ArrayModule, input: Array) -> Array:
    return input


@compute("ControlTrigger")
def _control_trigger(xp: ArrayModule) -> Any:
    return ()


@shape_function("Enter", "RefEnter")
def _enter_shape(op: Operation) -> Any:
    """Return the shape; loop variables may change their shape."""
    return (op.inputs[0].shape if op.attrs["is_constant"] else UNKNOWN_SHAPE,)


shape_function("Exit", "RefExit", "NextIteration", "RefNextIteration")(same_shape)


@shape_function("LoopCond")
def _condition_shape(op: Operation) -> list[TensorShape]:
    return [require_rank(op.inputs[0].shape, 0)]


shape_function("ControlTrigger")(no_outputs)


not_differentiable("ControlTrigger")
