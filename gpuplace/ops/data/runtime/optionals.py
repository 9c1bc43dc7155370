"""Optional values while they run.

Source: tensorflow/core/kernels/data/optional_ops.cc, iterator_ops.cc, release 1.15 (sentences).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import OutOfRangeError
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.data.runtime.iterators import checked, iterator_of, of_outputs
from gpuplace.ops.data.runtime.stages import invalid
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import scalar_shape


class OptionalValue:
    """The value of a ``variant`` tensor that stands for an ``Optional``.

    Args:
        values: the values of the tensors; None: there are none.
    """

    def __init__(self, values: Sequence[Any] | None) -> None:
        self.values = None if values is None else tuple(values)


@compute("OptionalFromValue")
def _from_value(xp: Any, components: list[Any]) -> Any:
    return OptionalValue(components)


@compute("OptionalNone")
def _none(xp: Any) -> Any:
    return OptionalValue(None)


@compute("OptionalHasValue")
def _has_value(xp: Any, optional: OptionalValue) -> Any:
    return np.array(_known(optional).values is not None)


@compute("OptionalGetValue")
def _get_value(xp: Any, optional: OptionalValue, *, output_types: Any, output_shapes: Any) -> Any:
    values = _known(optional).values
    if values is None:
        raise invalid("The given optional does not have a value.")
    return of_outputs(checked(values, output_shapes))


def _known(optional: Any) -> OptionalValue:
    if not isinstance(optional, OptionalValue):
        raise invalid("OptionalHasValue requires a scalar variant tensor that stands for an optional value")
    return optional


@compute("IteratorGetNextAsOptional")
def _next_as_optional(xp: Any, iterator: ResourceHandle, *, output_shapes: Any) -> Any:
    try:
        return OptionalValue(checked(iterator_of(iterator).take(), output_shapes))
    except OutOfRangeError:
        return OptionalValue(None)


shape_function("OptionalFromValue", "OptionalNone", "OptionalHasValue", "IteratorGetNextAsOptional")(
    scalar_shape
)
not_differentiable(
    "OptionalFromValue", "OptionalNone", "OptionalHasValue", "OptionalGetValue", "IteratorGetNextAsOptional"
)
