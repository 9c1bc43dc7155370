"""What the kernel of a node has to do: the input of every model of kernel times.

A node's work is found once, from shapes and attributes; it says nothing of a device. What the times of libraries hang
on (the sizes of a matrix product, the geometry of a convolution) stands in ``kernel``; nodes of equal work compare
equal, so that a model is asked once for all of them.

>>> product = Work(dtype="float32", flops=2.0 * 8 * 8 * 8, bytes_read=512, bytes_written=256, kernel=Product(8, 8, 8))
>>> product.nbytes
768
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["forward", "backward_input", "backward_filter"]
"""Passes of a convolution: the output, or the gradient with respect to the input or to the filter."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product, ``[m, k] x [k, n]``, or a batch of them (row-major, as TensorFlow stores matrices)."""

    m: int
    """Rows of the product."""
    n: int
    """Columns of the product."""
    k: int
    """Length of the sums."""
    batch: int = 1
    """Products of one call."""
    transpose_a: bool = False
    """The left matrix is stored as ``[k, m]``."""
    transpose_b: bool = False
    """The right matrix is stored as ``[n, k]``."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution over two dimensions of an image, or one of its gradients; one dimension has height 1."""

    direction: Direction
    """Which of the three passes."""
    batch: int
    """Images."""
    in_channels: int
    """Channels of the input."""
    out_channels: int
    """Channels of the output."""
    height: int
    """Rows of the input."""
    width: int
    """Columns of the input."""
    filter_height: int
    """Rows of the filter."""
    filter_width: int
    """Columns of the filter."""
    out_height: int
    """Rows of the output."""
    out_width: int
    """Columns of the output."""
    stride_height: int = 1
    """Rows from one window to the next."""
    stride_width: int = 1
    """Columns from one window to the next."""
    dilation_height: int = 1
    """Rows from one tap of the filter to the next."""
    dilation_width: int = 1
    """Columns from one tap of the filter to the next."""
    groups: int = 1
    """Groups of channels that do not see each other; ``in_channels`` of them in a depthwise convolution."""
    depth: int = 1
    """What the third dimension multiplies the work by: output planes times planes of the filter."""
    data_format: Literal["NHWC", "NCHW"] = "NHWC"
    """Order of the dimensions in memory."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrent layer computed by one call of a library, over all steps."""

    cell: Literal["vanilla", "lstm", "gru"]
    """The kind of cell."""
    direction: Literal["forward", "backward"]
    """The output, or the gradients."""
    hidden: int
    """Units of the cell."""
    batch: int
    """Sequences."""
    steps: int
    """Steps of a sequence."""
    inputs: int = 0
    """Numbers of an input; 0: as many as units."""
    layers: int = 1
    """Layers, one on another."""


Kernel = Product | Convolution | Recurrence


@dataclass(frozen=True, slots=True)
class Work:
    """What one execution of a node's kernel has to do."""

    dtype: str
    """TensorFlow's name of the type that the arithmetic is done in."""
    flops: float = 0.0
    """Multiplications, additions and the like; functions as ``exp`` count as what they take."""
    bytes_read: float = 0.0
    """Bytes of the inputs that are read."""
    bytes_written: float = 0.0
    """Bytes of the outputs that are written; 0 where the output is the input's memory."""
    launches: int = 1
    """Kernels that a GPU is asked to run; 0 where the op only hands a tensor on."""
    kernel: Kernel | None = None
    """The library call whose time depends on more than flops and bytes."""
    gpu_bytes: float = 0.0
    """Bytes that a GPU moves besides: its libraries take images as NCHW only, and TensorFlow turns those stored as NHWC
    around before the call and back afterwards."""
    gpu_launches: int = 0
    """Kernels that a GPU is asked to run for that."""
    rows: float = 0.0
    """Rows that are looked up, one after the other: what a CPU takes for one does not depend on its length alone."""
    model: str = "bytes"
    """Which rule found the work: ``"product"``, ``"convolution"``, ``"bytes"``, ..., ``"guess"``, ``"none"``."""
    assumed: tuple[str, ...] = ()
    """What had to be assumed, a sentence each."""
    parts: tuple[tuple[str, Work], ...] = ()
    """Of a call: op type and work of each node of the body, which runs one after the other."""

    @property
    def nbytes(self) -> float:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def is_guess(self) -> bool:
        """No rule of the op's own, or a shape that had to be assumed."""
        return self.model == "guess" or bool(self.assumed)
