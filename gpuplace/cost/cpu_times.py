"""Predicted seconds of ``Work`` on a CPU, by a line for each class of kernels.

A line has a start time, a price per operation and two prices per byte: for the first bytes, which fit in the caches,
and for those beyond. Measured kernels of one op type correct its line (``near_kernels``). ``gpuplace calibrate`` fits
the lines to the local machine; without it they are rounded figures of an eight-core server.

>>> adding = Work("float32", flops=1e6, bytes_read=8e6, bytes_written=4e6)
>>> cpu_seconds(adding, DEFAULT_LINES) < cpu_seconds(Work("float64", 1e6, 16e6, 8e6), DEFAULT_LINES)
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, repeat
from typing import NamedTuple

import numpy as np

from gpuplace.cost.near_kernels import MeasuredKernel, NearKernels, near_kernels
from gpuplace.graph.op_sets import FIRST_OF_FUSED
from gpuplace.kernels.work.record import Convolution, Product, Recurrence, Work
from gpuplace.typing import Array

_CACHED_BYTES = 1 << 20
_ROW_BYTES = 192.0
"""Equivalent bytes of one row lookup: the cache lines at both ends of the row, and those of the index."""
_VECTOR_BYTES = 64
"""Bytes of a vector register: libraries lay channels out in blocks of whole vectors."""
_SHARED_ROW_BYTES = 210_000
"""Bytes from which TensorFlow's CPU splits a row lookup among its threads, which then have to wake up: two threads'
worth, at one cycle per byte.

Source: TensorCostModel of Eigen, unsupported/Eigen/CXX11/src/Tensor/TensorCostModel.h; measured with 2.21: looking up
rows of 200,000 bytes takes 20 us, of 220,000 bytes 80 us.
"""
_ENOUGH = 6
_ROUNDS = 6
_SIZES = {"float64": 8, "float16": 2, "bfloat16": 2}


class Line(NamedTuple):
    """Linear model of the time of a class of kernels, in seconds."""

    start: float
    """Seconds of a kernel without work."""
    per_flop: float
    """Seconds per operation."""
    per_cached_byte: float
    """Seconds for each of the first million bytes."""
    per_byte: float
    """Seconds for each further byte."""


DEFAULT_LINES: Mapping[str, Line] = {
    "product": Line(2e-6, 1 / 250e9, 1 / 60e9, 1 / 20e9),
    "convolution": Line(1e-5, 1 / 180e9, 1 / 60e9, 1 / 20e9),
    "convolution_backward": Line(2e-5, 1 / 130e9, 1 / 60e9, 1 / 20e9),
    "bytes": Line(1e-6, 1 / 30e9, 1 / 60e9, 1 / 20e9),
}
"""Lines without calibration: assumed figures of a 2017 server with eight cores and four memory channels."""

CLASSES = tuple(DEFAULT_LINES)


def class_of(work: Work) -> str:
    """Return the kernel class of a work, one of ``CLASSES``."""
    kernel = work.kernel
    if isinstance(kernel, (Product, Recurrence)) or (isinstance(kernel, Convolution) and _is_product(kernel)):
        return "product"
    if isinstance(kernel, Convolution):
        return "convolution" if kernel.direction == "forward" else "convolution_backward"
    return "bytes"


def _is_product(kernel: Convolution) -> bool:
    """Whether a convolution multiplies each pixel by one matrix."""
    taps = kernel.filter_height * kernel.filter_width * kernel.depth
    return taps == kernel.groups == kernel.stride_height == kernel.stride_width == 1


def kernel_name(op_type: str, work: Work) -> str:
    """Return the key of a work's measured kernels: the op type, and variants that are faster or slower.

    The variants are a convolution that is a matrix product, a product with a transposed matrix, and row lookups that
    are split among threads.

    Args:
        op_type: op type of the node.
        work: work of its kernel.
    """
    if isinstance(work.kernel, Convolution) and _is_product(work.kernel):
        return f"{op_type} of single pixels"
    if isinstance(work.kernel, Product) and work.kernel.transpose_b and work.kernel.batch == 1:
        return f"{op_type} of a transposed matrix"
    return f"{op_type} shared out" if _is_shared_out(work) else op_type


def near_kernels_of(op_type: str, work: Work, near: Mapping[str, NearKernels]) -> NearKernels | None:
    """Return the measured kernels that describe a work best, or None if there are none.

    A variant without measurements (row lookups split among threads, transposed matrices) falls back to its op type,
    and a fused op to its first op.

    Args:
        op_type: op type of the node.
        work: work of its kernel.
        near: measured kernels by ``kernel_name``.
    """
    kernels = near.get(kernel_name(op_type, work))
    if kernels is None and not isinstance(work.kernel, Convolution):
        kernels = near.get(op_type)
    if kernels is None and op_type in FIRST_OF_FUSED:
        return near_kernels_of(FIRST_OF_FUSED[op_type], work, near)
    return kernels


def _is_shared_out(work: Work) -> bool:
    return work.rows > 0 and work.bytes_written >= _SHARED_ROW_BYTES


def cpu_seconds(work: Work, lines: Mapping[str, Line], near: NearKernels | None = None) -> float:
    """Return the seconds that a CPU takes for a work; 0 for an op that only passes a tensor through.

    Args:
        work: work of the kernel.
        lines: class to its line.
        near: measured kernels of the op type; None to use the line alone.
    """
    if not work.launches:
        return 0.0
    line = lines[class_of(work)]
    seconds = line.start + _rest(work, line)
    return seconds if near is None else near.seconds(*_size(work), seconds)


def cpu_share(work: Work, near: NearKernels | None) -> float | None:
    """Return the fraction of its time in which a kernel occupies all CPU cores, or None if that is unknown.

    Args:
        work: work of the kernel.
        near: measured kernels of the op type.
    """
    return None if near is None else near.share(*_size(work))


def _rest(work: Work, line: Line) -> float:
    """Return the seconds beyond the start."""
    return sum(price * amount for price, amount in zip(line[1:], _amounts(work)[1:]))


def _amounts(work: Work) -> tuple[float, float, float, float]:
    nbytes = work.bytes_read + work.bytes_written + _ROW_BYTES * work.rows
    flops = _filled_flops(work) * (2.0 if work.dtype in ("float64", "complex128") else 1.0)
    return 1.0, flops, min(nbytes, _CACHED_BYTES), max(nbytes - _CACHED_BYTES, 0.0)


def _filled_flops(work: Work) -> float:
    """Return the operations of a work, with the output channels of a convolution padded to whole vectors."""
    kernel = work.kernel
    if not isinstance(kernel, Convolution) or kernel.groups > 1 or _is_product(kernel):
        return work.flops
    channels = kernel.in_channels if kernel.direction == "backward_input" else kernel.out_channels
    lanes = _VECTOR_BYTES // _SIZES.get(work.dtype, 4)
    return work.flops * (-(-channels // lanes) * lanes / max(channels, 1))


def fitted_line(works: Sequence[Work], seconds: Iterable[float], before: Line) -> Line:
    """Return the line with the smallest relative errors on measured times; outliers count less.

    With few measured works, the previous line is scaled; with none, it is returned unchanged.

    Args:
        works: work of one class.
        seconds: measured seconds of each work.
        before: the line without these measurements.
    """
    amounts = np.array([_amounts(work) for work in works]).reshape(-1, len(before))
    times = np.array(list(seconds), float)
    is_positive = times > 0
    amounts, times = amounts[is_positive], times[is_positive]
    if not len(times):
        return before
    ratios = np.log(times / (amounts @ np.array(before)))
    if len({row.tobytes() for row in amounts}) < _ENOUGH:
        scale = float(np.exp(np.median(ratios) * len(times) / (len(times) + 1)))
        return Line(*(scale * price for price in before))
    long = (times / times.mean()) ** 0.25
    weights = long
    prices = np.array(before)
    # Iteratively reweighted least squares on relative errors, so that small kernels count as much as large ones.
    for _ in range(_ROUNDS):
        prices = _nonnegative(amounts / times[:, None] * weights[:, None], weights)
        off = abs(amounts @ prices / times - 1.0)
        weights = long * np.sqrt(1.0 / np.maximum(1.0, off / max(1.5 * float(np.median(off)), 0.05)))
    return Line(*map(float, prices))


def near_works(
    works: Sequence[Work],
    seconds: Iterable[float],
    lines: Mapping[str, Line],
    caches_were_cold: bool = False,
    shares: Iterable[float | None] = repeat(None),
) -> NearKernels | None:
    """Return the measured kernels of one op type for use by `cpu_seconds`, or None if none ran.

    Args:
        works: work of the op type.
        seconds: measured seconds of each work.
        lines: class to its line.
        caches_were_cold: as in ``near_kernels``.
        shares: fraction of each time in which all cores computed; None where it was not measured.
    """
    measured = [
        MeasuredKernel(
            *_size(work),
            lines[class_of(work)].start,
            _rest(work, lines[class_of(work)]),
            measured_seconds,
            share,
        )
        for work, measured_seconds, share in zip(works, seconds, shares)
        if work.launches and measured_seconds > 0
    ]
    return near_kernels(measured, caches_were_cold)


def _size(work: Work) -> tuple[float, float]:
    """Return the operations, and the bytes that are read and written."""
    _, flops, cached, beyond = _amounts(work)
    return flops, cached + beyond


def _nonnegative(matrix: Array, target: Array) -> Array:
    """Return the non-negative prices that minimize ``|matrix @ prices - target|``, by trying all column subsets."""
    least_error, best_prices = np.inf, np.zeros(matrix.shape[1])
    scale = np.maximum(np.sqrt((matrix**2).sum(0)), 1e-300)
    for count in range(1, matrix.shape[1] + 1):
        for columns in map(list, combinations(range(matrix.shape[1]), count)):
            prices = (
                np.linalg.lstsq(matrix[:, columns] / scale[columns], target, rcond=None)[0] / scale[columns]
            )
            if (prices < 0).any():
                continue
            error = float(((matrix[:, columns] @ prices - target) ** 2).sum())
            if error < least_error * (1 - 1e-9):
                least_error, best_prices = error, np.zeros(matrix.shape[1])
                best_prices[columns] = prices
    return best_prices
