"""Initializers of convolutions that preserve the norm of their input.

A kernel of size ``k`` is the convolution of ``k - 1`` kernels of size 2, whose entries are products of
projections ``P`` and ``1 - P``; an orthogonal matrix maps the channels to those of the output::

    P1 P2        P1 (1 - P2)
    (1 - P1) P2  (1 - P1) (1 - P2)

Source: Xiao et al., "Dynamical Isometry and a Mean Field Theory of CNNs", 2018, algorithms 1 and 2;
tensorflow/python/ops/init_ops.py, release 1.15 (arguments, order of random ops, messages).
"""

from __future__ import annotations

import itertools
from typing import Any

from gpuplace.dtypes import DType, float32
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, gather, joining, reshaping
from gpuplace.ops.math import elementwise, matrix, unary
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.factorization import qr
from gpuplace.ops.random import random_ops
from gpuplace.ops.variables.init_ops import Initializer, floating
from gpuplace.typing import DTypeLike

Kernel = dict[tuple[int, ...], Any]
"""Position -> matrix."""


class _Orthogonal(Initializer):
    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype: DType = floating(dtype)


def _orthogonal_matrix(size: int, dtype: DTypeLike, seed: int | None) -> Tensor:
    q, r = qr(random_ops.random_normal([size, size], dtype=dtype, seed=seed))
    return q * unary.sign(apply_op("DiagPart", input=r).outputs[0])


def _check_channels(sizes: list[int]) -> None:
    if sizes[-2] > sizes[-1]:
        raise ValueError("In_filters cannot be greater than out_filters.")


class ConvolutionDeltaOrthogonal(_Orthogonal):
    """An orthogonal matrix in the middle of a kernel, and zeros around it.

    Args:
        gain: factor of the matrix, a number.
        seed: seed of the random op, or None; see ``set_random_seed``.
        dtype: floating dtype if the call gives none.

    Raises:
        ValueError: ``dtype`` is not floating; in the call, the shape is not that of a convolution kernel, or
            there are more input channels than output channels.
    """

    def __call__(self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None) -> Tensor:
        """Return the kernel."""
        sizes = [int(size) for size in shape]
        if not 3 <= len(sizes) <= 5:
            raise ValueError(
                "The tensor to initialize must be at least three-dimensional and at most five-dimensional"
            )
        _check_channels(sizes)
        rows = _orthogonal_matrix(sizes[-1], self.dtype if dtype is None else dtype, self.seed)[
            : sizes[-2], :
        ]
        rows *= cast(self.gain, rows.dtype)
        middle = [[(size - 1) // 2 for size in sizes[:-2]]]
        return gather.scatter_nd(middle, reshaping.expand_dims(rows, 0), sizes)


class _ConvolutionOrthogonal(_Orthogonal):
    _rank = 0
    """Number of axes of the image."""
    _words = ""

    def __call__(self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None) -> Tensor:
        """Return the kernel."""
        sizes = [int(size) for size in shape]
        if len(sizes) != self._rank + 2:
            raise ValueError(f"The tensor to initialize must be {self._words}-dimensional")
        _check_channels(sizes)
        if len(set(sizes[:-2])) != 1:
            raise ValueError("Kernel sizes must be equal.")
        kernel = self._kernel(sizes[0], *sizes[-2:])
        return kernel * cast(self.gain, self.dtype if dtype is None else dtype)

    def _drawn_seed(self) -> int | None:
        seed = self.seed
        if self.seed:
            self.seed += 1
        return seed

    def _projection(self, size: int) -> Tensor:
        """Return a random projection: a symmetric matrix that equals its square."""
        orthogonal = _orthogonal_matrix(size, self.dtype, self._drawn_seed())
        kept = cast(random_ops.random_normal([size], seed=self._drawn_seed()) > 0, self.dtype)
        columns = elementwise.multiply(orthogonal, kept)
        return matrix.matmul(columns, reshaping.matrix_transpose(columns))

    def _block(self, size: int) -> Kernel:
        """Return a kernel of size 2."""
        projections = [self._projection(size) for _ in range(self._rank)]
        eye = constant.eye(size, dtype=self.dtype)
        block: Kernel = {}
        for place in itertools.product((0, 1), repeat=self._rank):
            factors = [
                projection if (bit == 0) == (self._rank < 3) else eye - projection
                for bit, projection in zip(place, projections, strict=True)
            ]
            product = factors[0]
            for factor in factors[1:]:
                product = matrix.matmul(product, factor)
            block[place] = product
        return block

    def _kernel(self, size: int, inputs: int, outputs: int) -> Tensor:
        rows = _orthogonal_matrix(outputs, self.dtype, self._drawn_seed())[:inputs, :]
        if size == 1:
            return reshaping.reshape(rows, [1] * self._rank + [inputs, outputs])
        kernel = self._block(outputs)
        for _ in range(size - 2):
            kernel = _convolved(kernel, self._block(outputs))
        return _stacked({place: matrix.matmul(rows, one) for place, one in sorted(kernel.items())}, size)


def _convolved(first: Kernel, second: Kernel) -> Kernel:
    """Convolve two kernels."""
    kernel: Kernel = {}
    for one, left in first.items():
        for other, factor in second.items():
            place = tuple(a + b for a, b in zip(one, other, strict=True))
            product = matrix.matmul(left, factor)
            kernel[place] = kernel[place] + product if place in kernel else product
    return kernel


def _stacked(kernel: Kernel, size: int) -> Tensor:
    """Return a kernel as one tensor."""
    rank = len(next(iter(kernel)))
    if rank == 1:
        return joining.stack([kernel[(place,)] for place in range(size)])
    parts = [{place[1:]: one for place, one in kernel.items() if place[0] == first} for first in range(size)]
    return joining.stack([_stacked(part, size) for part in parts])


class ConvolutionOrthogonal1D(_ConvolutionOrthogonal):
    """An orthogonal kernel ``[width, in_channels, out_channels]``, exact with circular padding of the input.

    Args:
        gain: factor of the kernel, a number.
        seed: seed of the random ops, or None; see ``set_random_seed``.
        dtype: floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating; in the call, the shape is wrong, or there are more input
            channels than output channels.
    """

    _rank, _words = 1, "three"


class ConvolutionOrthogonal2D(_ConvolutionOrthogonal):
    """An orthogonal kernel ``[size, size, in_channels, out_channels]``, exact with circular padding of the input.

    Args:
        gain: factor of the kernel, a number.
        seed: seed of the random ops, or None; see ``set_random_seed``.
        dtype: floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating; in the call, the shape is wrong, or there are more input
            channels than output channels.
    """

    _rank, _words = 2, "four"


class ConvolutionOrthogonal3D(_ConvolutionOrthogonal):
    """An orthogonal kernel ``[*sizes, in_channels, out_channels]`` of volumes, exact with circular padding.

    Args:
        gain: factor of the kernel, a number.
        seed: seed of the random ops, or None; see ``set_random_seed``.
        dtype: floating dtype.

    Raises:
        ValueError: ``dtype`` is not floating; in the call, the shape is wrong, or there are more input
            channels than output channels.
    """

    _rank, _words = 3, "five"


convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal
convolutional_orthogonal_1d = ConvolutionOrthogonal1D
convolutional_orthogonal_2d = ConvolutionOrthogonal2D
convolutional_orthogonal_3d = ConvolutionOrthogonal3D
