"""Which results are written over arrays that nothing else needs."""

from __future__ import annotations

from collections.abc import Sequence

from gpuplace.graph.operation import Tensor

REUSED_BYTES = 1 << 14
"""Arrays that are known to be smaller are not written over: a new one costs no more."""


def is_known_small(tensor: Tensor) -> bool:
    """Whether a tensor is known to be too small to be written over."""
    elements = tensor.shape.num_elements()
    return elements is not None and elements * tensor.dtype.size < REUSED_BYTES


def has_room_for_result(tensor: Tensor, inputs: Sequence[Tensor], result: Tensor) -> bool:
    """Whether an elementwise result is sure to be shaped like one of the inputs, worth its memory, and of its type.

    >>> import gpuplace as tf
    >>> x, bias = tf.placeholder(tf.float32, [None, 4096]), tf.placeholder(tf.float32, [4096])
    >>> total = x + bias
    >>> [has_room_for_result(tensor, [x, bias], total) for tensor in (x, bias)]
    [True, False]
    """
    sizes = tensor.shape.sizes
    if not sizes or tensor.dtype.base_dtype is not result.dtype.base_dtype:
        return False
    if is_known_small(tensor):
        return False
    for other in inputs:
        theirs = other.shape.sizes
        if other is tensor:
            continue
        if theirs is None or len(theirs) > len(sizes):
            return False
        aligned = zip(theirs[::-1], sizes[::-1], strict=False)
        if any(size != 1 and (size is None or size != mine) for size, mine in aligned):
            return False
    return True
