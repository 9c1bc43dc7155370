"""``tf.layers.InputSpec``: what a layer takes.

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
    """The rank, type and sizes that an input of a layer must have.

    >>> InputSpec(ndim=4, axes={-1: 3})
    InputSpec(ndim=4, axes={-1: 3})

    Args:
        dtype: its type; None: any.
        shape: its sizes, None for one that may be any; None: any.
        ndim: its rank; None: any. That of ``shape`` where there is one.
        max_ndim: its greatest rank; None: any.
        min_ndim: its least rank; None: any.
        axes: number of a dimension -> its size; None: any.

    Raises:
        TypeError: a number in ``axes`` is none.
        ValueError: it is greater than the rank allows.
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
        """The arguments that make another one like it."""
        return {
            name: getattr(self, name) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> InputSpec:
        """One of these arguments.

        Args:
            config: as ``get_config`` gives it.
        """
        return cls(**config)


def to_tensor_shape(spec: InputSpec) -> TensorShape:
    """What a spec says of the shape.

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
    """Checks that inputs are what a layer takes.

    Args:
        input_spec: an `InputSpec` for each input, in their structure; None for any.
        inputs: a tensor, or a structure of tensors.
        layer_name: the layer's name.

    Raises:
        ValueError: they are not.
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
    """What is wrong with an input, in Keras's words; None where nothing is."""
    rank, sizes = tensor.shape.ndims, tensor.shape.sizes
    wants_rank = any(one is not None for one in (spec.ndim, spec.min_ndim, spec.max_ndim))
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
        wanted is None or size in (wanted, None)
        for wanted, size in zip(shape, tensor.shape.sizes, strict=False)
    )


def _other_type(tensor: Any, spec: InputSpec) -> str:
    return f"expected dtype={spec.dtype}, found dtype={tensor.dtype}"
