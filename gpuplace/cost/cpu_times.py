"""Seconds of ``Work`` on a CPU: lines through what was measured, one for each class of kernels.

A line is a start, a price of an operation, and two prices of a byte: of the first ones, which the caches hold, and of
those beyond. What was measured of one type of op corrects its line (``near_kernels``). ``gpuplace calibrate`` finds
them on the machine at hand; without it they are round figures of a server with eight cores.

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
"""What looking a row up counts as: lines of the cache at its begin and its end, and of the index."""
_VECTOR_BYTES = 64
"""Of a processor's vector: libraries lay channels out in blocks of whole ones."""
_SHARED_ROW_BYTES = 210_000
"""Written by rows that TensorFlow's CPU shares out among its threads, which then have to wake up: two threads' worth,
at a cycle a byte.

Source: TensorCostModel of Eigen, unsupported/Eigen/CXX11/src/Tensor/TensorCostModel.h; measured with 2.21: looking up
rows of 200,000 bytes takes 20 us, of 220,000 bytes 80 us.
"""
_ENOUGH = 6
_ROUNDS = 6
_SIZES = {"float64": 8, "float16": 2, "bfloat16": 2}


class Line(NamedTuple):
    """What the time of a class of kernels is made of, in seconds."""

    start: float
    """Of a kernel that has nothing to do."""
    per_flop: float
    """Of an operation."""
    per_cached_byte: float
    """Of each of the first million bytes."""
    per_byte: float
    """Of each further byte."""


DEFAULT_LINES: Mapping[str, Line] = {
    "product": Line(2e-6, 1 / 250e9, 1 / 60e9, 1 / 20e9),
    "convolution": Line(1e-5, 1 / 180e9, 1 / 60e9, 1 / 20e9),
    "convolution_backward": Line(2e-5, 1 / 130e9, 1 / 60e9, 1 / 20e9),
    "bytes": Line(1e-6, 1 / 30e9, 1 / 60e9, 1 / 20e9),
}
"""Lines without calibration: assumed, of a server of 2017 with eight cores and four channels of memory."""

CLASSES = tuple(DEFAULT_LINES)


def class_of(work: Work) -> str:
    """The class of kernels that a work belongs to, one of ``CLASSES``."""
    kernel = work.kernel
    if isinstance(kernel, (Product, Recurrence)) or (isinstance(kernel, Convolution) and _is_product(kernel)):
        return "product"
    if isinstance(kernel, Convolution):
        return "convolution" if kernel.direction == "forward" else "convolution_backward"
    return "bytes"


def _is_product(kernel: Convolution) -> bool:
    """Whether each pixel is multiplied by one matrix."""
    taps = kernel.filter_height * kernel.filter_width * kernel.depth
    return taps == kernel.groups == kernel.stride_height == kernel.stride_width == 1


def kernel_name(op_type: str, work: Work) -> str:
    """What measured kernels of a work are kept under: the type of op, and what takes longer or shorter than others.

    That is a convolution that is a product, a product with a matrix that is stored the other way round, and rows that
    are shared out among threads.

    Args:
        op_type: type of the node's op.
        work: what it has to do.
    """
    if isinstance(work.kernel, Convolution) and _is_product(work.kernel):
        return f"{op_type} of single pixels"
    if isinstance(work.kernel, Product) and work.kernel.transpose_b and work.kernel.batch == 1:
        return f"{op_type} of a transposed matrix"
    return f"{op_type} shared out" if _is_shared_out(work) else op_type


def near_kernels_of(op_type: str, work: Work, near: Mapping[str, NearKernels]) -> NearKernels | None:
    """The measured kernels that say most of a work; None: there are none.

    Where nothing is known of rows that are shared out, or of transposed matrices, others of their type count; where
    nothing is known of a fused op, what it is made of.

    Args:
        op_type: type of the node's op.
        work: what it has to do.
        near: measured kernels by ``kernel_name``.
    """
    found = near.get(kernel_name(op_type, work))
    if found is None and not isinstance(work.kernel, Convolution):
        found = near.get(op_type)
    if found is None and op_type in FIRST_OF_FUSED:
        return near_kernels_of(FIRST_OF_FUSED[op_type], work, near)
    return found


def _is_shared_out(work: Work) -> bool:
    return work.rows > 0 and work.bytes_written >= _SHARED_ROW_BYTES


def cpu_seconds(work: Work, lines: Mapping[str, Line], near: NearKernels | None = None) -> float:
    """Returns the seconds that a CPU computes a work; 0 for what only hands a tensor on.

    Args:
        work: what the kernel has to do.
        lines: class -> its line.
        near: measured kernels of the type of op; None: the line alone counts.
    """
    if not work.launches:
        return 0.0
    line = lines[class_of(work)]
    seconds = line.start + _rest(work, line)
    return seconds if near is None else near.seconds(*_size(work), seconds)


def cpu_share(work: Work, near: NearKernels | None) -> float | None:
    """Returns the part of its time in which a kernel has all cores of the CPU; None: that is not known.

    Args:
        work: what it has to do.
        near: measured kernels of the type of op.
    """
    return None if near is None else near.share(*_size(work))


def _rest(work: Work, line: Line) -> float:
    """Seconds without the start."""
    return sum(price * amount for price, amount in zip(line[1:], _amounts(work)[1:]))


def _amounts(work: Work) -> tuple[float, float, float, float]:
    nbytes = work.bytes_read + work.bytes_written + _ROW_BYTES * work.rows
    flops = _filled_flops(work) * (2.0 if work.dtype in ("float64", "complex128") else 1.0)
    return 1.0, flops, min(nbytes, _CACHED_BYTES), max(nbytes - _CACHED_BYTES, 0.0)


def _filled_flops(work: Work) -> float:
    """Operations, with those on what fills the channels that a convolution writes up to whole vectors."""
    kernel = work.kernel
    if not isinstance(kernel, Convolution) or kernel.groups > 1 or _is_product(kernel):
        return work.flops
    channels = kernel.in_channels if kernel.direction == "backward_input" else kernel.out_channels
    lanes = _VECTOR_BYTES // _SIZES.get(work.dtype, 4)
    return work.flops * (-(-channels // lanes) * lanes / max(channels, 1))


def fitted_line(works: Sequence[Work], seconds: Iterable[float], before: Line) -> Line:
    """Returns the line that predicts measured times best, in proportion; outliers count less.

    Few measured works only scale the line that was there; no measured work leaves it.

    Args:
        works: of one class.
        seconds: measured, a number a work.
        before: the line without these measurements.
    """
    amounts = np.array([_amounts(work) for work in works]).reshape(-1, len(before))
    times = np.array(list(seconds), float)
    known = times > 0
    amounts, times = amounts[known], times[known]
    if not len(times):
        return before
    ratios = np.log(times / (amounts @ np.array(before)))
    if len({row.tobytes() for row in amounts}) < _ENOUGH:
        scale = float(np.exp(np.median(ratios) * len(times) / (len(times) + 1)))
        return Line(*(scale * price for price in before))
    long = (times / times.mean()) ** 0.25
    weights = long
    prices = np.array(before)
    for _ in range(_ROUNDS):
        prices = _nonnegative(amounts / times[:, None] * weights[:, None], weights)
        off = abs(amounts @ prices / times - 1.0)
        weights = long * np.sqrt(1.0 / np.maximum(1.0, off / max(1.5 * float(np.median(off)), 0.05)))
    return Line(*map(float, prices))


def near_works(
    works: Sequence[Work],
    seconds: Iterable[float],
    lines: Mapping[str, Line],
    coldly: bool = False,
    shares: Iterable[float | None] = repeat(None),
) -> NearKernels | None:
    """Returns what measured kernels of one type of op say of others; None: nothing ran.

    Args:
        works: of the type.
        seconds: measured, a number a work.
        lines: class -> its line.
        coldly: as of ``near_kernels``.
        shares: of the seconds, those in which all cores computed; None: not measured.
    """
    measured = [
        MeasuredKernel(
            *_size(work), lines[class_of(work)].start, _rest(work, lines[class_of(work)]), taken, share
        )
        for work, taken, share in zip(works, seconds, shares)
        if work.launches and taken > 0
    ]
    return near_kernels(measured, coldly)


def _size(work: Work) -> tuple[float, float]:
    """Operations, and bytes that are read and written."""
    _, flops, cached, beyond = _amounts(work)
    return flops, cached + beyond


def _nonnegative(matrix: Array, wanted: Array) -> Array:
    """The non-negative prices for which ``matrix @ prices`` comes nearest to what is wanted; few unknowns."""
    best, found = np.inf, np.zeros(matrix.shape[1])
    scale = np.maximum(np.sqrt((matrix**2).sum(0)), 1e-300)
    for count in range(1, matrix.shape[1] + 1):
        for chosen in map(list, combinations(range(matrix.shape[1]), count)):
            prices = np.linalg.lstsq(matrix[:, chosen] / scale[chosen], wanted, rcond=None)[0] / scale[chosen]
            if (prices < 0).any():
                continue
            off = float(((matrix[:, chosen] @ prices - wanted) ** 2).sum())
            if off < best * (1 - 1e-9):
                best, found = off, np.zeros(matrix.shape[1])
                found[chosen] = prices
    return found
