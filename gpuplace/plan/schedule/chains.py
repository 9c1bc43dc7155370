"""Chains of steps that are computed together: convolutions with their bias, relu and pooling.

Only values that nothing else takes are left out, and on the CPU alone. Plans that trace or that account for memory
have none of it: they show every op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpuplace.graph.operation import Operation
from gpuplace.ops.nn.fused_conv import FOLLOWERS, part_of
from gpuplace.ops.nn.windows import is_only_spatial
from gpuplace.plan.schedule.partition import Schedule, Slot, Step


def convolution_chains(
    schedule: Schedule,
    readers: Mapping[Slot, Sequence[Step]],
    is_open: Callable[[Slot], bool],
    is_wanted: Callable[[Step], bool],
) -> list[list[Step]]:
    """Steps that follow each other, the convolution first.

    Args:
        schedule: what a plan does.
        readers: of each slot.
        is_open: whether a slot's value is needed by what reads it alone, and not by the caller.
        is_wanted: whether a step is on a device where chains are computed together.
    """
    chains: list[list[Step]] = []
    seen: set[int] = set()
    for step in schedule.steps:
        if step.op_type != "Conv2D" or id(step) in seen or not is_wanted(step) or not _is_plain(step.op):
            continue
        chain = [step]
        allowed = list(FOLLOWERS)
        while True:
            slot = chain[-1].outputs[0]
            following = readers.get(slot, ())
            if len(following) != 1 or not is_open(slot):
                break
            (reader,) = following
            op_type = reader.op_type if reader.op is None else part_of(reader.op)
            if (
                (op_type not in allowed and op_type != "Conv2D")
                or reader.device != step.device
                or reader.inputs[0] is not slot
                or reader.inputs.count(slot) > 1
                or not _is_plain(reader.op)
            ):
                break
            allowed = list(FOLLOWERS[FOLLOWERS.index(op_type) + 1 if op_type in FOLLOWERS else 0 :])
            chain.append(reader)
        if len(chain) > 1:
            chains.append(chain)
            seen.update(map(id, chain))
    return chains


def _is_plain(op: Operation | None) -> bool:
    """Whether an op is on single or double precision, channels last; a pooling, over pixels alone."""
    return (
        op is not None
        and (op.type != "MaxPool" or is_only_spatial(op.attrs))
        and op.outputs[0].dtype.base_dtype.name in ("float32", "float64")
        and op.attrs.get("data_format", b"NHWC") == b"NHWC"
    )
