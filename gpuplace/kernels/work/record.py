"""The work of a node's kernel, the input of all models of kernel times.

The work of a node depends on shapes and attributes, not on the device, and is computed once. ``kernel`` has the
parameters of library calls whose times depend on them (sizes of a matrix product, geometry of a convolution). Nodes
with the same work compare equal, so a model is evaluated once for all of them.

>>> product = Work(dtype="float32", flops=2.0 * 8 * 8 * 8, bytes_read=512, bytes_written=256, kernel=Product(8, 8, 8))
>>> product.nbytes
768
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["forward", "backward_input", "backward_filter"]
"""Passes of a convolution: the output, or the gradient of the input or the filter."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product, ``[m, k] x [k, n]``, or a batch of them (row-major, as TensorFlow stores matrices)."""

    m: int
    """Rows of the product."""
    n: int
    """Columns of the product."""
    k: int
    """Length of each dot product."""
    batch: int = 1
    """Number of products in one call."""
    transpose_a: bool = False
    """Whether the left matrix is stored as ``[k, m]``."""
    transpose_b: bool = False
    """Whether the right matrix is stored as ``[n, k]``."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """A two-dimensional convolution or one of its gradients; a one-dimensional one has height 1."""

    direction: Direction
    """The pass."""
    batch: int
    """Number of images."""
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
    """Vertical stride."""
    stride_width: int = 1
    """Horizontal stride."""
    dilation_height: int = 1
    """Vertical dilation."""
    dilation_width: int = 1
    """Horizontal dilation."""
    groups: int = 1
    """Groups of channels that are convolved separately; ``in_channels`` for a depthwise convolution."""
    depth: int = 1
    """Factor of a third dimension: output planes times filter planes."""
    data_format: Literal["NHWC", "NCHW"] = "NHWC"
    """Order of the dimensions in memory."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A recurrent layer over all steps, computed by one library call."""

    cell: Literal["vanilla", "lstm", "gru"]
    """Type of the cell."""
    direction: Literal["forward", "backward"]
    """The pass: the output, or the gradients."""
    hidden: int
    """Number of units of the cell."""
    batch: int
    """Number of sequences."""
    steps: int
    """Number of steps of a sequence."""
    inputs: int = 0
    """Size of an input; 0: the number of units."""
    layers: int = 1
    """Number of stacked layers."""


Kernel = Product | Convolution | Recurrence


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one execution of a node's kernel."""

    dtype: str
    """TensorFlow's name of the type in which it computes."""
    flops: float = 0.0
    """Flops; functions such as ``exp`` count as several."""
    bytes_read: float = 0.0
    """Bytes of the inputs that are read."""
    bytes_written: float = 0.0
    """Bytes of the outputs that are written; 0 if the output is the input's memory."""
    launches: int = 1
    """Kernels that a GPU launches; 0 if the op only passes a tensor through."""
    kernel: Kernel | None = None
    """Library call whose time depends on more than flops and bytes."""
    gpu_bytes: float = 0.0
    """Additional bytes that a GPU moves: its libraries only take NCHW images, so TensorFlow transposes NHWC images
    before the call and back afterwards."""
    gpu_launches: int = 0
    """Kernels that a GPU launches for these transposes."""
    rows: float = 0.0
    """Rows that are looked up one by one; on a CPU, each has a cost besides its length."""
    model: str = "bytes"
    """The rule that gave the work: ``"product"``, ``"convolution"``, ``"bytes"``, ..., ``"guess"``, ``"none"``.
    """
    assumed: tuple[str, ...] = ()
    """Assumptions, one sentence each."""
    parts: tuple[tuple[str, Work], ...] = ()
    """For a call: op type and work of each node of the body; the nodes run one after the other."""

    @property
    def nbytes(self) -> float:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def is_guess(self) -> bool:
        """Whether the op has no rule, or a shape was assumed."""
        return self.model == "guess" or bool(self.assumed)
