"""The sequences of a beam search, found by following each symbol's parent beam from the last step to the first.

Source: tensorflow/contrib/seq2seq/kernels/beam_search_ops.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import on_host
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.typing import Array, ArrayModule

__all__: list[str] = []

not_differentiable("GatherTree")


@shape_function("GatherTree")
def _gather_tree_shape(op: Operation) -> Any:
    return (op.inputs[0].shape.merge_with(op.inputs[1].shape),)


@compute("GatherTree", fresh=True)
def _gather_tree(
    xp: ArrayModule, step_ids: Array, parent_ids: Array, max_sequence_lengths: Array, end_token: Array
) -> Array:
    if step_ids.ndim != 3:
        raise InvalidArgumentError.of(f"step_ids must be a 3-tensor, saw shape: {list(step_ids.shape)}")
    for name, value, shape in (
        ("parent_ids", parent_ids, step_ids.shape),
        ("max_sequence_lengths", max_sequence_lengths, step_ids.shape[1:2]),
    ):
        if value.shape != shape:
            raise InvalidArgumentError.of(
                f"{name} shape must be {list(shape)}, but saw shape: {list(value.shape)}"
            )
    if np.ndim(end_token) != 0:
        raise InvalidArgumentError.of(f"end_token must be a scalar, saw shape: {list(end_token.shape)}")
    steps, parents, lengths = (
        np.asarray(on_host(array)) for array in (step_ids, parent_ids, max_sequence_lengths)
    )
    end = int(end_token)
    max_time, batch, width = steps.shape
    beams = np.full(steps.shape, end, steps.dtype)
    for row in range(batch):
        last = min(max_time, int(lengths[row])) - 1
        if last < 0:
            continue
        sequences = beams[:, row]
        chosen = np.arange(width)
        for time in range(last, -1, -1):
            sequences[time] = steps[time, row, chosen]
            chosen = parents[time, row, chosen]
            if time and ((chosen < 0) | (chosen >= width)).any():  # the first step has no parents
                beam = int(np.flatnonzero((chosen < 0) | (chosen >= width))[0])
                raise InvalidArgumentError.of(
                    f"Saw invalid parent id {int(chosen[beam])} at (batch, time, beam) == ({row}, {time}, {beam})"
                )
        ended = np.cumsum(sequences[: last + 1] == end, axis=0) > 0
        sequences[: last + 1][ended] = end
    return xp.asarray(beams)
