"""TensorFlow's sentence for what NumPy says when a plan calls it bare.

Functions of more than one NumPy call check their inputs and raise an ``OpError`` themselves; the hot loop also calls
plain NumPy functions, whose complaint is put into TensorFlow's words here, after the fact.

>>> tensorflow_sentence(ValueError("operands could not be broadcast together"), [(2,), (3,)])
'Incompatible shapes: [2] vs. [3]'

Source: tensorflow/core/kernels/cwise_ops_common.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence


def tensorflow_sentence(error: Exception, shapes: Sequence[Sequence[int]]) -> str | None:
    """The sentence, or None if NumPy's own text has to do.

    Args:
        error: what NumPy raised.
        shapes: the shapes of the function's inputs.
    """
    if isinstance(error, ValueError) and len(shapes) == 2 and not _do_broadcast(*shapes):
        one, other = ("[" + ",".join(map(str, sizes)) + "]" for sizes in shapes)
        return f"Incompatible shapes: {one} vs. {other}"
    return None


def _do_broadcast(one: Sequence[int], other: Sequence[int]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))
