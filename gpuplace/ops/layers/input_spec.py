"""``tf.layers.InputSpec``: requirements on a layer's input.

Source: tensorflow/python/keras/engine/input_spec.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.ops.nest import flatten
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, TensorLike

__all__ = ["InputSpec", "assert_input_compatibility", "to_tensor_shape"]


class InputSpec:
    """The rank, dtype and sizes that an input of a layer must have.

    >>> InputSpec(ndim=4, axes={-1: 3})
    InputSpec(ndim=4, axes={-1: 3})

    Args:
        dtype: required dtype; None: any.
        shape: required sizes, with None for any size; None: any shape.
        ndim: required rank; None: any, or that of ``shape``.
        max_ndim: maximum rank; None: any.
        min_ndim: minimum rank; None: any.
        axes: index of a dimension -> its size; None: any.

    Raises:
        TypeError: a key in ``axes`` is not a number.
        ValueError: an axis is out of range for the rank.
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Sequence[int | None] | None = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
    ) -> None:
        self.dtype = None if dtype is None else as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        try:
            self.axes: dict[int, Any] = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError("The keys in axes must be integers.") from None
        most = self.ndim or self.max_ndim
        if self.axes and most and max(self.axes) > most - 1:
            raise ValueError(f"Axis {max(self.axes)} is greater than the maximum allowed value: {most - 1}")

    def __repr__(self) -> str:
        return (
            f"InputSpec({', '.join(f'{name}={value}' for name, value in self.get_config().items() if value)})"
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make an equal spec."""
        return {
            name: getattr(self, name) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> InputSpec:
        """Return a spec with these arguments.

        Args:
            config: arguments from ``get_config``.
        """
        return cls(**config)


def to_tensor_shape(spec: InputSpec) -> TensorShape:
    """Return the shape that a spec requires.

    Args:
        spec: the spec.
    """
    if spec.shape is not None:
        return as_shape(spec.shape)
    if spec.ndim is None:
        return TensorShape(None)
    sizes: list[Any] = [None] * spec.ndim
    for axis, size in spec.axes.items():
        sizes[axis] = size
    return TensorShape(sizes)


def assert_input_compatibility(input_spec: Any, inputs: TensorLike, layer_name: str) -> None:
    """Check that inputs match a layer's specs.

    Args:
        input_spec: an `InputSpec` for each input, in their structure; None: any.
        inputs: a tensor, or a structure of tensors.
        layer_name: the layer's name.

    Raises:
        ValueError: the inputs do not match.
    """
    if not input_spec:
        return
    tensors, specs = flatten(inputs), flatten(input_spec)
    if len(tensors) != len(specs):
        raise ValueError(
            f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(tensors)} input tensors. Inputs "
            f"received: {tensors}"
        )
    for number, (tensor, spec) in enumerate(zip(tensors, specs, strict=True)):
        fault = None if spec is None else _fault(tensor, spec)
        if fault is not None:
            raise ValueError(f"Input {number} of layer {layer_name} is incompatible with the layer: {fault}")
        if spec is not None and spec.shape is not None and not _fits(tensor, spec.shape):
            raise ValueError(
                f"Input {number} is incompatible with layer {layer_name}: expected shape={spec.shape}, "
                f"found shape={tensor.shape.as_list()}"
            )


def _fault(tensor: Any, spec: InputSpec) -> str | None:
    """Return Keras's message for an input that does not match a spec; None if it matches."""
    rank, sizes = tensor.shape.ndims, tensor.shape.sizes
    wants_rank = any(item is not None for item in (spec.ndim, spec.min_ndim, spec.max_ndim))
    if rank is None:
        if wants_rank:
            return "its rank is undefined, but the layer requires a defined rank."
        return None if spec.dtype is None or tensor.dtype == spec.dtype else _other_type(tensor, spec)
    shape = tensor.shape.as_list()
    if spec.ndim is not None and rank != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={rank}. Full shape received: {shape}"
    if spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    if spec.min_ndim is not None and rank < spec.min_ndim:
        return f": expected min_ndim={spec.min_ndim}, found ndim={rank}. Full shape received: {shape}"
    if spec.dtype is not None and tensor.dtype != spec.dtype:
        return _other_type(tensor, spec)
    for axis, size in spec.axes.items():
        size = getattr(size, "value", size)
        if size is not None and sizes[axis] not in (size, None):
            return f"expected axis {axis} of input shape to have value {size} but received input with shape {shape}"
    return None


def _fits(tensor: Any, shape: Sequence[int | None]) -> bool:
    return all(
        expected is None or size in (expected, None)
        for expected, size in zip(shape, tensor.shape.sizes, strict=False)
    )


def _other_type(tensor: Any, spec: InputSpec) -> str:
    return f"expected dtype={spec.dtype}, found dtype={tensor.dtype}"
