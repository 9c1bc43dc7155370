"""N-grams of words, in rows given by a vector of row splits.

``tf.strings.ngrams`` returns ragged tensors, which gpuplace does not have: this is the underlying op.

Source: tensorflow/core/kernels/string_ngrams_op.cc, release 1.15.
"""

from __future__ import annotations

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule


def _check_splits(splits: list[int], count: int) -> None:
    """Raise an InvalidArgumentError if the splits do not cover ``count`` words."""
    if splits and splits[0] != 0:
        raise InvalidArgumentError.of(f"First split value must be 0, got {splits[0]}")
    for before, split in zip(splits, splits[1:], strict=False):
        if not before <= split <= count:
            raise InvalidArgumentError.of(f"Invalid split value {split}, must be in [{before}, {count}]")
    if splits and splits[-1] != count:
        raise InvalidArgumentError.of(
            f"Last split value must be data size. Expected {count}, got {splits[-1]}"
        )


def _ngrams_of_row(
    words: list[bytes], width: int, pad: int, ends: tuple[bytes, bytes], between: bytes
) -> list[bytes]:
    """Return the n-grams of a row, with the padding at each end."""
    whole = [ends[0]] * pad + words + [ends[1]] * pad
    return [between.join(whole[at : at + width]) for at in range(len(whole) - width + 1)]


@compute("StringNGrams", fresh=True)
def _string_ngrams(
    xp: ArrayModule, data: Array, data_splits: Array, *, separator: bytes, ngram_widths: list[int], left_pad: bytes,
    right_pad: bytes, pad_width: int, preserve_short_sequences: bool,
) -> tuple[Array, ...]:  # fmt: skip
    if data.ndim != 1:
        raise InvalidArgumentError.of(f"expected 'data' to be a vector, got shape {list(data.shape)}")
    if min(ngram_widths, default=1) <= 0:
        raise InvalidArgumentError.of("ngram_widths must contain positive values")
    splits, words = data_splits.tolist(), data.tolist()
    _check_splits(splits, len(words))
    result: list[bytes] = []
    ends = [0]
    for start, end in zip(splits, splits[1:], strict=False):
        row, before = words[start:end], len(result)
        for width in ngram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            result += _ngrams_of_row(row, width, pad, (left_pad, right_pad), separator)
        if preserve_short_sequences and len(result) == before and row:
            result.append(
                separator.join([left_pad] * max(pad_width, 0) + row + [right_pad] * max(pad_width, 0))
            )
        ends.append(len(result))
    texts = np.empty(len(result), object)
    texts[:] = result
    return texts, np.asarray(ends if splits else [], data_splits.dtype)


@shape_function("StringNGrams")
def _string_ngrams_shape(op: Operation) -> tuple[TensorShape, ...]:
    require_rank(op.inputs[0].shape, 1)
    return TensorShape.of((None,)), require_rank(op.inputs[1].shape, 1)


not_differentiable("StringNGrams")
