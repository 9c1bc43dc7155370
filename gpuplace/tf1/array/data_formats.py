"""Convert sizes and axis numbers from one data format to another.

Source: tensorflow/core/kernels/data_format_ops.cc and core/ops/nn_ops.cc, release 1.15.
"""

from __future__ import annotations

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import same_shape
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule


def _formats(src_format: bytes, dst_format: bytes) -> tuple[str, str]:
    """Return both formats; InvalidArgumentError if one is not a permutation of the other."""
    source, destination = src_format.decode(), dst_format.decode()
    for which, name, format_text in (("Source", "src", source), ("Destination", "dst", destination)):
        if len(format_text) not in (4, 5):
            raise InvalidArgumentError.of(
                f"{which} format must be of length 4 or 5, received {name}_format = {format_text}"
            )
    if sorted(source) != sorted(destination) or len(set(source)) != len(source):
        raise InvalidArgumentError.of(
            f"Destination and source format must determine a permutation, got {source} and {destination}"
        )
    return source, destination


@compute("DataFormatDimMap", fresh=True)
def _dim_map(xp: ArrayModule, x: Array, *, src_format: bytes, dst_format: bytes) -> Array:
    source, destination = _formats(src_format, dst_format)
    places = xp.array([destination.index(letter) for letter in source], x.dtype)
    return places[x % len(source)]


@compute("DataFormatVecPermute", fresh=True)
def _vec_permute(xp: ArrayModule, x: Array, *, src_format: bytes, dst_format: bytes) -> Array:
    source, destination = _formats(src_format, dst_format)
    shape = brackets(TensorShape(x.shape))
    if x.ndim not in (1, 2):
        raise InvalidArgumentError.of(f"input must be a vector or 2D tensor, but got shape {shape}")
    if len(x) != len(source):
        what = "1D input must be" if x.ndim == 1 else "First dimension of 2D input must be"
        raise InvalidArgumentError.of(f"{what} of size {len(source)}, but got shape {shape}")
    if x.ndim == 2 and x.shape[1] != 2:
        raise InvalidArgumentError.of(
            f"Second dimension of 2D input must be of size 2, but got shape {shape}"
        )
    return x[xp.array([source.index(letter) for letter in destination])]


shape_function("DataFormatDimMap", "DataFormatVecPermute")(same_shape)


not_differentiable("DataFormatDimMap", "DataFormatVecPermute")
