"""Large arrays in pieces that fit in the cache, and matrix products on a single thread.

A kernel with several passes over an array is faster if each pass finds the results of the previous one in the cache, so
it processes the array in pieces. On the CPU, the pieces run on the threads of ``threads``; on a GPU, there is a single
piece.

>>> import numpy as np
>>> out = np.empty(3, "float32")
>>> def double(part: slice) -> None:
...     np.multiply(x[part], 2, out=out[part])
>>> x = np.arange(3, dtype="float32")
>>> over(np, 3, 4, double)
>>> out.tolist()
[0.0, 2.0, 4.0]
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.numerics.blas_threads import ONE_THREAD
from gpuplace.numerics.threads import share
from gpuplace.typing import Array, ArrayModule

PIECE_BYTES = 4 << 20
"""Approximate maximum memory of a piece, in bytes: the threads share the last-level cache."""

WHOLE_BYTES = 1 << 18
"""Bytes below which work is not divided: waking a thread would take as long."""

_ALIKE = 2
"""The number of pieces is a multiple of this, so that a few threads get equal shares."""

_TEMPORARIES = 8
"""Approximate number of arrays that an elementwise function reads and writes."""

_LEAST_LINE = 1024
"""Length below which repeating lines does not pay off."""

_LINE = 16384
"""Length to which vectors along the last axis are repeated: NumPy's loops run along the last axis."""

_PRODUCT_TERMS = 1_000_000
"""Number of terms up to which OpenBLAS, on processors with AVX-512, computes a product on the calling thread without
copying the factors.

Source: OpenBLAS 0.3.31, kernel/x86_64/sgemm_small_kernel_permit_skylakex.c and dgemm_small_kernel_permit_skylakex.c.
"""

_LEAST_ROWS = 8
"""Minimum number of rows in a block of a product."""

_THREADED_TERMS = 1 << 18
"""Number of terms above which OpenBLAS uses its own threads, which keep spinning for a while afterwards.

Source: OpenBLAS 0.3.31, interface/gemm.c (SMP_THRESHOLD_MIN, GEMM_MULTITHREAD_THRESHOLD) and
driver/others/blas_server.c (THREAD_TIMEOUT).
"""

_SHARED_TERMS = 1 << 22
"""Number of terms below which a second thread does not pay off."""

_PIECE_TERMS = 1 << 24
"""Approximate maximum number of terms in a piece of a product: each piece rearranges its factors once."""

_EDGE = 64
"""Pieces of a product start at multiples of this number of rows or columns."""


_local = threading.local()


def cuts(count: int, nbytes: int) -> list[slice]:
    """Divide ``range(count)`` into pieces of similar size, depending only on the arguments.

    Args:
        count: number of items, such as images.
        nbytes: bytes of memory for the work on one item.
    """
    total = count * nbytes
    number = 1 if total <= WHOLE_BYTES else -(-total // (PIECE_BYTES * _ALIKE)) * _ALIKE
    number = min(count, number)
    return [slice(count * i // number, count * (i + 1) // number) for i in range(number)]


def over(xp: ArrayModule, count: int, nbytes: int, piece: Callable[[slice], Any]) -> None:
    """Call ``piece`` with the slices of ``cuts``, on several threads; on a GPU with all items at once."""
    parts = cuts(count, nbytes) if xp is np else [slice(0, count)]
    if len(parts) == 1:
        piece(parts[0])
    else:
        share(lambda index: piece(parts[index]), len(parts))


def is_whole(tensor: Any) -> bool:
    """Return whether a tensor of the graph is known to be too small to be divided."""
    elements = tensor.shape.num_elements()
    return elements is not None and elements * tensor.dtype.size <= WHOLE_BYTES


def by_element(
    xp: ArrayModule, function: Callable[..., Any], x: Array, other: Array, out: Array | None = None
) -> Array:
    """Call ``function(x, other, out=out)`` for an array and a number or last-axis vector; large arrays in pieces."""
    if xp is not np or x.nbytes <= WHOLE_BYTES or not x.flags.c_contiguous:
        return function(x, other, out=out)
    out = xp.empty_like(x) if out is None else out
    if not out.flags.c_contiguous:
        return function(x, other, out=out)
    width = 1
    if other.ndim:
        repeat = math.gcd(x.size // x.shape[-1], max(1, _LINE // x.shape[-1]))
        other = np.tile(other, repeat)
        width = len(other)
    elif (repeat := math.gcd(x.size, _LINE)) >= _LEAST_LINE:
        other = np.full(
            repeat, other
        )  # NumPy's maximum is faster for two arrays than for an array and a number
        width = repeat
    lines, results = (array.reshape(-1, width) if width > 1 else array.reshape(-1) for array in (x, out))

    def piece(part: slice) -> None:
        function(lines[part], other, out=results[part])

    over(xp, len(lines), 2 * lines.strides[0], piece)
    return out


def by_pieces(function: Callable[..., Any], *arrays: Any) -> None:
    """Call ``function(*arrays)``, which writes to the last array element by element; large arrays in pieces.

    Arrays are divided if all have the same shape and are contiguous; ``function`` gets flat pieces.
    """
    shape, size = arrays[-1].shape, arrays[-1].size
    if size * sum(array.itemsize for array in arrays) <= WHOLE_BYTES or not all(
        array.shape == shape and array.flags.c_contiguous for array in arrays
    ):
        function(*arrays)
        return
    flat = [array.reshape(-1) for array in arrays]

    def piece(part: slice) -> None:
        function(*[array[part] for array in flat])

    over(np, size, sum(array.itemsize for array in arrays), piece)


def mapped(function: Callable[..., Any], x: Array, *others: Any) -> Array:
    """Call the elementwise function ``function(x, *others)``, whose result is like ``x``; large arrays in pieces.

    Intermediate results of ``function`` stay in the cache, and the pieces run on several threads.

    Args:
        function: function of arrays, or of flat pieces of them.
        x: NumPy or CuPy array.
        others: arrays; if a shape differs from ``x``, nothing is divided.
    """
    arrays = (x, *others)
    if not isinstance(x, np.ndarray) or x.nbytes <= WHOLE_BYTES:
        return function(*arrays)
    if any(array.shape != x.shape or not array.flags.c_contiguous for array in arrays):
        return function(*arrays)
    result = np.empty(x.shape, x.dtype)
    flat, results = [array.reshape(-1) for array in arrays], result.reshape(-1)

    def piece(part: slice) -> None:
        results[part] = function(*[array[part] for array in flat])

    over(np, x.size, _TEMPORARIES * x.itemsize, piece)
    return result


def in_turn(xp: ArrayModule, piece: Callable[[int], Any], count: int) -> None:
    """Call ``piece(0)`` to ``piece(count - 1)``, on several threads; on a GPU one after the other."""
    if xp is np:
        share(piece, count)
    else:
        for index in range(count):
            piece(index)


def scratch(xp: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an uninitialized array for use within one piece.

    The next array with that name on the same thread reuses the memory: new memory costs more than the work, since the
    system clears it first.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    if xp is not np or not nbytes or nbytes > 2 * PIECE_BYTES:
        return xp.empty(shape, dtype)
    buffers: dict[str, Any] = _local.__dict__
    if name not in buffers or buffers[name].nbytes < nbytes:
        buffers[name] = np.empty(nbytes, np.uint8)
    return buffers[name][:nbytes].view(dtype).reshape(shape)


def is_small_product(xp: ArrayModule, depth: int, columns: int, rows: int = _LEAST_ROWS) -> bool:
    """Return whether BLAS multiplies this number of rows by a matrix of that shape on the calling thread."""
    return xp is np and _PRODUCT_TERMS >= rows * depth * columns and _has_small_products()


def product(xp: Any, a: Array, b: Array, out: Array) -> None:
    """Compute ``out[...] = a @ b`` for matrices, in blocks of rows for which ``is_small_product`` is true."""
    rows, depth = a.shape
    columns = b.shape[1]
    if not depth * columns * rows or not is_small_product(xp, depth, columns):
        xp.matmul(a, b, out=out)
        return
    step = _PRODUCT_TERMS // (depth * columns) // _LEAST_ROWS * _LEAST_ROWS
    blocks = rows // step
    whole = blocks * step
    if blocks:
        np.matmul(a[:whole].reshape(blocks, step, depth), b, out=out[:whole].reshape(blocks, step, columns))
    if whole < rows:
        np.matmul(a[whole:], b, out=out[whole:])


def is_large_product(rows: int, depth: int, columns: int) -> bool:
    """Return whether BLAS might use its own threads for such a product, so that ``multiply`` must divide it."""
    return rows * depth * columns > _THREADED_TERMS


def multiply(a: Array, b: Array) -> Array:
    """Return ``a @ b`` for matrices or batches of them; large matrices in pieces on several threads.

    Args:
        a: ``[..., rows, depth]``, NumPy array.
        b: ``[..., depth, columns]``, of the same type.
    """
    rows, depth = a.shape[-2:]
    columns = b.shape[-1]
    terms = rows * depth * columns
    if terms <= _THREADED_TERMS:
        return np.matmul(a, b)
    size = max(rows, columns)
    if terms < _SHARED_TERMS or size < 2 * _EDGE or a.ndim > 2 or b.ndim > 2:
        with ONE_THREAD:
            return np.matmul(a, b)
    result = np.empty((rows, columns), a.dtype)
    count = min(-(-terms // (_PIECE_TERMS * _ALIKE)) * _ALIKE, size // _EDGE)
    edges = [size * index // count // _EDGE * _EDGE for index in range(count)] + [size]

    def piece(index: int) -> None:
        part = slice(edges[index], edges[index + 1])
        if rows >= columns:
            np.matmul(a[part], b, out=result[part])
        else:
            np.matmul(a, b[:, part], out=result[:, part])

    share(piece, count)
    return result


@functools.cache
def _has_small_products() -> bool:
    """Return whether NumPy multiplies with OpenBLAS on a processor with AVX-512."""
    config: Any = np.show_config(mode="dicts")
    library = config.get("Build Dependencies", {}).get("blas", {}).get("name", "")
    features = config.get("SIMD Extensions", {}).get("found", ())
    return "openblas" in library and any(name.startswith(("AVX512", "X86_V4")) for name in features)
