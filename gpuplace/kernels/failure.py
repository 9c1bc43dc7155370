"""What a step reports when a kernel's function raises something that is not TensorFlow's.

Functions that are more than one NumPy call check their inputs and raise an ``OpError`` with TensorFlow's sentence
themselves. A plan also calls bare NumPy functions, whose complaint is turned into TensorFlow's here, after the fact.

Source: tensorflow/core/kernels/cwise_ops_common.cc, release 1.15 (sentence of the broadcast error).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.errors import InternalError, InvalidArgumentError, OpError, ResourceExhaustedError


def brackets(sizes: Sequence[int]) -> str:
    """A shape as C++ prints it: ``[2,3]``."""
    return "[" + ",".join(str(size) for size in sizes) + "]"


def as_op_error(error: Exception, operation: Any, arrays: Sequence[Any]) -> OpError:
    """The error a step raises for ``error``, which the function of ``operation`` raised for these input arrays.

    An ``OpError`` without operation gets a copy that names it. Everything else becomes the class that fits.
    """
    if isinstance(error, OpError):
        if error.op is not None:
            return error
        named = type(error)(operation, operation, error.message, facts=error.facts, hint=error.hint)  # type: ignore[call-arg]
        return named
    if isinstance(error, MemoryError):
        return ResourceExhaustedError(operation, operation, f"OOM when allocating tensor: {error}")
    shapes = [tuple(array.shape) for array in arrays if hasattr(array, "shape")]
    if isinstance(error, (ValueError, IndexError, TypeError)):
        if len(shapes) == 2 and not _broadcast(*shapes):
            sentence = f"Incompatible shapes: {brackets(shapes[0])} vs. {brackets(shapes[1])}"
            return InvalidArgumentError(operation, operation, sentence)
        return InvalidArgumentError(operation, operation, str(error))
    return InternalError(operation, operation, f"{type(error).__name__}: {error}")


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))
