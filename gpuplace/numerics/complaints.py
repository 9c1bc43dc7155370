"""Translate NumPy's errors in a plan's direct calls into TensorFlow's messages.

Functions with several NumPy calls check their inputs and raise an ``OpError`` themselves. A plan also calls plain NumPy
functions, whose errors are translated here.

>>> tensorflow_sentence(ValueError("operands could not be broadcast together"), [(2,), (3,)])
'Incompatible shapes: [2] vs. [3]'

Source: tensorflow/core/kernels/cwise_ops_common.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence


def tensorflow_sentence(error: Exception, shapes: Sequence[Sequence[int]]) -> str | None:
    """Return TensorFlow's message, or None to keep NumPy's.

    Args:
        error: NumPy's error.
        shapes: input shapes of the function.
    """
    if isinstance(error, ValueError) and len(shapes) == 2 and not _do_broadcast(*shapes):
        one, other = ("[" + ",".join(map(str, sizes)) + "]" for sizes in shapes)
        return f"Incompatible shapes: {one} vs. {other}"
    return None


def _do_broadcast(one: Sequence[int], other: Sequence[int]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))
