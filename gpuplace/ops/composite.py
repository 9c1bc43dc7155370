"""Values that consist of several tensors: sparse tensors, slices of a tensor, and those of a program's own.

Source: tensorflow/python/framework/composite_tensor.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.display import above
from gpuplace.typing import ShapeLike

__all__ = ["CompositeTensor", "is_composite", "is_spec"]


class CompositeTensor:
    """A value that consists of tensors, as its ``TypeSpec`` says, which a subclass gives in ``_type_spec``."""

    @property
    def _type_spec(self) -> Any:
        """What is known of the value, a ``TypeSpec``."""
        raise NotImplementedError(f"{type(self).__name__}._type_spec()")

    def _shape_invariant_to_type_spec(self, shape: ShapeLike) -> Any:
        """The spec of a value of a loop whose shape is given."""
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    def _to_components(self) -> Any:
        """The tensors that it consists of, in some structure."""
        return self._type_spec._to_components(self)

    def consumers(self) -> list[Any]:
        """The operations that take one of its tensors."""
        tensors = above("gpuplace.ops.nest", "flatten")(self._to_components(), opens_slices=True)
        return list(dict.fromkeys(op for tensor in tensors for op in tensor.consumers()))

    def _with_components(self, components: Any) -> Any:
        """A value of the same kind of other tensors."""
        return self._type_spec._from_components(components)


def is_composite(value: Any) -> bool:
    """Whether a value consists of several tensors.

    Args:
        value: anything.
    """
    return isinstance(value, CompositeTensor)


def is_spec(value: Any) -> bool:
    """Whether a value is a ``TypeSpec`` of values that consist of several tensors.

    Args:
        value: anything.
    """
    return hasattr(type(value), "_component_specs") and value._component_specs is not value
