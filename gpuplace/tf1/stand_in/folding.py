"""Constant folding of tensors while the graph is built.

    1 ──┐
        ├─> mul ──> greater ──> folded_value: True          placeholder ──> greater ──> folded_value: None
    2 ──┘     0 ─────┘

Source: TF_TryEvaluateConstant in tensorflow/c/c_api.cc and EvaluateConstantTensor, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.op_sets import CONTROL_FLOW_OPS, PLACEHOLDERS, RANDOM_OPS
from gpuplace.graph.operation import Tensor
from gpuplace.runtime.session.session import Session

_NOT_CONSTANT = PLACEHOLDERS | RANDOM_OPS | CONTROL_FLOW_OPS | {"PlaceholderWithDefault"}


def folded_value(tensor: Tensor) -> Any:
    """Return the value of a tensor; None if it depends on anything but constants.

    Args:
        tensor: the tensor.
    """
    seen, left = {tensor.op}, [tensor.op]
    while left:
        op = left.pop()
        if op.type in _NOT_CONSTANT or op.op_def is None or op.op_def.is_stateful or op.control_inputs:
            return None
        for operand in op.inputs:
            if operand.op not in seen:
                seen.add(operand.op)
                left.append(operand.op)
    with Session(graph=tensor.graph) as session:
        return session.run(tensor)
