"""Values that consist of several tensors: sparse tensors, indexed slices and user-defined classes.

Source: tensorflow/python/framework/composite_tensor.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.display import above
from gpuplace.typing import ShapeLike

__all__ = ["CompositeTensor", "is_composite", "is_spec"]


class CompositeTensor:
    """A value that consists of tensors. Subclasses describe themselves with a ``TypeSpec`` in ``_type_spec``."""

    @property
    def _type_spec(self) -> Any:
        """The value's ``TypeSpec``."""
        raise NotImplementedError(f"{type(self).__name__}._type_spec()")

    def _shape_invariant_to_type_spec(self, shape: ShapeLike) -> Any:
        """Return the spec of a loop variable with the given shape invariant."""
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    def _to_components(self) -> Any:
        """Return the value's tensors, in some structure."""
        return self._type_spec._to_components(self)

    def consumers(self) -> list[Any]:
        """Return the operations that consume one of its tensors."""
        tensors = above("gpuplace.ops.nest", "flatten")(self._to_components(), opens_slices=True)
        return list(dict.fromkeys(op for tensor in tensors for op in tensor.consumers()))

    def _with_components(self, components: Any) -> Any:
        """Return a value of the same class with other tensors."""
        return self._type_spec._from_components(components)


def is_composite(value: object) -> bool:
    """Return whether a value consists of several tensors.

    Args:
        value: any object.
    """
    return isinstance(value, CompositeTensor)


def is_spec(value: Any) -> bool:
    """Return whether a value is a ``TypeSpec`` of values that consist of several tensors.

    Args:
        value: any object.
    """
    return hasattr(type(value), "_component_specs") and value._component_specs is not value
