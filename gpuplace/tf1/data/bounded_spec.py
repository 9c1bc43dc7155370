"""``BoundedTensorSpec``: the shape and type of a tensor, and between which numbers its elements are.

Source: tensorflow/python/framework/tensor_spec.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.typing import DTypeLike, ShapeLike


class BoundedTensorSpec(TensorSpec):
    """What is known of a tensor, its bounds among it.

    >>> BoundedTensorSpec([2], "int32", 0, [3, 4]).maximum
    array([3, 4], dtype=int32)

    Args:
        shape: what is known of its shape.
        dtype: its type.
        minimum: the least element, or one for each place; it broadcasts to ``shape``.
        maximum: the largest one, the same.
        name: a name for it; None: none.

    Raises:
        ValueError: a bound is missing, or does not broadcast to ``shape``.
    """

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike, minimum: Any, maximum: Any, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'")
        self.minimum = self._bound("minimum", minimum)
        self.maximum = self._bound("maximum", maximum)

    def _bound(self, what: str, value: Any) -> Any:
        sizes = self.shape.sizes
        if sizes is not None:
            pairs = zip(reversed(np.shape(value)), reversed(sizes))
            if not all(1 in (one, other) or other in (one, None) for one, other in pairs):
                raise ValueError(
                    f"{what} is not compatible with shape. Message: 'Incompatible shapes for broadcasting:"
                    f" {np.shape(value)} and {self.shape}'."
                )
        found = np.array(value, dtype=self.dtype.as_numpy_dtype)
        found.setflags(write=False)
        return found

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """The same as another spec; where it has no bounds, those of its type.

        Args:
            spec: the other one.
            name: the name; None: that of ``spec``.
        """
        dtype = as_dtype(spec.dtype)
        bounds = getattr(spec, "minimum", dtype.min), getattr(spec, "maximum", dtype.max)
        return BoundedTensorSpec(spec.shape, dtype, *bounds, name or spec.name)

    def __eq__(self, other: object) -> bool:
        return (
            super().__eq__(other)
            and isinstance(other, BoundedTensorSpec)
            and np.allclose(self.minimum, other.minimum)
            and np.allclose(self.maximum, other.maximum)
        )

    def __hash__(self) -> int:
        return hash((self.shape.sizes, self.dtype))

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r},"
            f" minimum={self.minimum!r}, maximum={self.maximum!r})"
        )

    def __reduce__(self) -> Any:
        return BoundedTensorSpec, (self.shape, self.dtype, self.minimum, self.maximum, self.name)
