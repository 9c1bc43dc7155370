"""One operation of every elementwise op and element type, and the kernel of each by itself."""

from __future__ import annotations

from collections.abc import Iterator

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.op_def import op_registry
from gpuplace.graph.operation import Operation
from gpuplace.kernels.compute import ops_that_are
from gpuplace.numerics.fused.cuda_text import TYPE_NAMES
from gpuplace.plan.schedule.elementwise_groups import FusedStep, calls_of
from gpuplace.plan.schedule.partition import Location, Slot, Step

ELEMENTWISE_OPS = ops_that_are("elementwise") - {"Angle", "ComplexAbs", "Conj"}
"""Without those of complex numbers, for which no kernel is written."""

TYPES = [dtype.name for dtype in TYPE_NAMES]


def operations() -> Iterator[tuple[str, Operation]]:
    """A name, and an operation that can be part of a group; ``Cast`` between all pairs of types."""
    for op_type in sorted(ELEMENTWISE_OPS):
        for dtype in TYPES:
            for target in TYPES if op_type == "Cast" else [""]:
                with tf.Graph().as_default():
                    op = _operation(op_type, dtype, target)
                if op is not None and calls_of(op) is not None:
                    yield f"{op_type}_{dtype}{'_' if target else ''}{target}", op


def _operation(op_type: str, dtype: str, target: str) -> Operation | None:
    definition = op_registry().lookup(op_type)
    arguments = {}
    for arg in definition.inputs:
        kind = "bool" if arg.type is not None and arg.type.name == "bool" else dtype
        given = tf.placeholder(kind, [2] if arg.name == "bias" else [2, 2])
        arguments[arg.name] = [given] * 3 if arg.is_list else given
    if target:
        arguments["DstT"] = target
    try:
        return apply_op(op_type, **arguments)
    except (TypeError, ValueError):  # not of this type
        return None


def group_of(op: Operation) -> FusedStep:
    """The operation as a group of one step."""
    here = Location("/device:GPU:0", False)
    slots = {
        tensor: Slot(number, tensor, here, False) for number, tensor in enumerate([*op.inputs, *op.outputs])
    }
    inputs = tuple([slots[tensor] for tensor in op.inputs])
    outputs = tuple([slots[tensor] for tensor in op.outputs])
    reads = (False,) * len(inputs)
    step = Step(op, here.device, inputs, reads, outputs)
    distinct = tuple(dict.fromkeys(inputs))
    return FusedStep(op, here.device, distinct, (False,) * len(distinct), outputs, steps=(step,))
