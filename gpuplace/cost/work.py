"""What the kernel of a node has to do: the input of every model of kernel times (see ``gpuplace.kernels.work``)."""

from __future__ import annotations

from gpuplace.kernels.work.record import Convolution, Direction, Kernel, Product, Recurrence, Work

__all__ = ["Convolution", "Direction", "Kernel", "Product", "Recurrence", "Work"]
