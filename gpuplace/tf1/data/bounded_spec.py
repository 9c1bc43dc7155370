"""``BoundedTensorSpec``: the shape and dtype of a tensor, with bounds for its elements.

Source: tensorflow/python/framework/tensor_spec.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.typing import DTypeLike, ShapeLike


class BoundedTensorSpec(TensorSpec):
    """Shape, dtype and bounds of a tensor.

    >>> BoundedTensorSpec([2], "int32", 0, [3, 4]).maximum
    array([3, 4], dtype=int32)

    Args:
        shape: the known shape.
        dtype: the dtype.
        minimum: the smallest element, or one for each position; it broadcasts to ``shape``.
        maximum: the largest element, likewise.
        name: a name; None: no name.

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
        bound = np.array(value, dtype=self.dtype.as_numpy_dtype)
        bound.setflags(write=False)
        return bound

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """Return a copy of a spec; if it has no bounds, use the limits of its dtype.

        Args:
            spec: the spec to copy.
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
