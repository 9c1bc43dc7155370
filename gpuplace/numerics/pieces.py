"""Large arrays in pieces: what of a kernel the cache holds at once, and products that one thread computes alone.

A kernel of several passes over an array is faster where each pass finds the last one's results in the cache, so it
goes over the array piece by piece; on the CPU the pieces run on the threads of ``threads``, on a GPU there is one.

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
"""What a piece takes of memory at most, about, while it is worked on: the threads share the last cache."""

WHOLE_BYTES = 1 << 18
"""Work on less memory is not cut: to wake a thread takes as long."""

_ALIKE = 2
"""Pieces come in multiples of this, so that few threads get the same number of them."""

_TEMPORARIES = 8
"""As many arrays an elementwise function goes over, about, its own among them."""

_LEAST_LINE = 1024
"""Shorter lines are not worth it."""

_LINE = 16384
"""Vectors along the last axis are repeated up to this length: NumPy's loops run along the last axis."""

_PRODUCT_TERMS = 1_000_000
"""Products of up to this many terms OpenBLAS computes on the calling thread, without copying the factors first, on
processors with AVX-512.

Source: OpenBLAS 0.3.31, kernel/x86_64/sgemm_small_kernel_permit_skylakex.c and dgemm_small_kernel_permit_skylakex.c.
"""

_LEAST_ROWS = 8
"""A product is not taken apart into blocks of fewer rows."""

_THREADED_TERMS = 1 << 18
"""Products of more terms OpenBLAS computes on threads of its own, which go on spinning for a while after it.

Source: OpenBLAS 0.3.31, interface/gemm.c (SMP_THRESHOLD_MIN, GEMM_MULTITHREAD_THRESHOLD) and
driver/others/blas_server.c (THREAD_TIMEOUT).
"""

_SHARED_TERMS = 1 << 22
"""Products of fewer terms are not worth a second thread."""

_PIECE_TERMS = 1 << 24
"""A piece of a product has so many terms at most, about: its factors are rearranged once for each."""

_EDGE = 64
"""Pieces of a product begin at multiples of so many rows or columns."""


_local = threading.local()


def cuts(count: int, nbytes: int) -> list[slice]:
    """Cuts ``range(count)`` into pieces of about one size; depends on nothing but the arguments.

    Args:
        count: number of items, such as images.
        nbytes: of memory that the work on one item goes over.
    """
    total = count * nbytes
    number = 1 if total <= WHOLE_BYTES else -(-total // (PIECE_BYTES * _ALIKE)) * _ALIKE
    number = min(count, number)
    return [slice(count * i // number, count * (i + 1) // number) for i in range(number)]


def over(xp: ArrayModule, count: int, nbytes: int, piece: Callable[[slice], Any]) -> None:
    """Calls ``piece`` with the slices of ``cuts``, on several threads; on a GPU with all items at once."""
    parts = cuts(count, nbytes) if xp is np else [slice(0, count)]
    if len(parts) == 1:
        piece(parts[0])
    else:
        share(lambda index: piece(parts[index]), len(parts))


def is_whole(tensor: Any) -> bool:
    """Whether a tensor of the graph is known to be so small that nothing of its size is cut."""
    elements = tensor.shape.num_elements()
    return elements is not None and elements * tensor.dtype.size <= WHOLE_BYTES


def by_element(
    xp: ArrayModule, function: Callable[..., Any], x: Array, other: Array, out: Array | None = None
) -> Array:
    """``function(x, other, out=out)`` of an array and a number, or a vector along its last axis, in pieces if large."""
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
        )  # NumPy takes the larger of two arrays faster than that of one and a number
        width = repeat
    lines, results = (array.reshape(-1, width) if width > 1 else array.reshape(-1) for array in (x, out))

    def piece(part: slice) -> None:
        function(lines[part], other, out=results[part])

    over(xp, len(lines), 2 * lines.strides[0], piece)
    return out


def by_pieces(function: Callable[..., Any], *arrays: Any) -> None:
    """Calls ``function(*arrays)``, which writes to the last one element by element, in pieces if they are large.

    Pieces are taken where all arrays are of one shape and contiguous; ``function`` gets flat ones.
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


def mapped(function: Callable[..., Any], x: Any, *others: Any) -> Any:
    """``function(x, *others)``, whose result is like ``x`` and computed element by element, in pieces if it is large.

    What ``function`` makes on its way stays in the cache, and the pieces run on several threads.

    Args:
        function: of arrays, or of flat pieces of them.
        x: an array of NumPy or CuPy.
        others: arrays; where they are not shaped like ``x`` nothing is cut.
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
    """Calls ``piece(0)`` to ``piece(count - 1)``, on several threads; on a GPU one after the other."""
    if xp is np:
        share(piece, count)
    else:
        for index in range(count):
            piece(index)


def scratch(xp: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array for use within one piece, holding anything.

    The next one of that name on the same thread lies in the same memory: fresh memory costs more than what is done
    with it, as the system clears it first.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    if xp is not np or not nbytes or nbytes > 2 * PIECE_BYTES:
        return xp.empty(shape, dtype)
    buffers: dict[str, Any] = _local.__dict__
    if name not in buffers or buffers[name].nbytes < nbytes:
        buffers[name] = np.empty(nbytes, np.uint8)
    return buffers[name][:nbytes].view(dtype).reshape(shape)


def is_small_product(xp: ArrayModule, depth: int, columns: int, rows: int = _LEAST_ROWS) -> bool:
    """Whether BLAS computes a product with a matrix of that shape, of so many rows, on the calling thread."""
    return xp is np and _PRODUCT_TERMS >= rows * depth * columns and _has_small_products()


def product(xp: Any, a: Any, b: Any, out: Any) -> None:
    """``out[...] = a @ b`` for matrices, in blocks of rows where ``is_small_product``."""
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
    """Whether BLAS might use threads of its own for such a product, and ``multiply`` has to see to it."""
    return rows * depth * columns > _THREADED_TERMS


def multiply(a: Any, b: Any) -> Any:
    """``a @ b`` for two matrices, or batches of them; large matrices in pieces on several threads.

    Args:
        a: ``[..., rows, depth]``, an array of NumPy.
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
    """Whether NumPy multiplies with OpenBLAS on a processor with AVX-512."""
    config: Any = np.show_config(mode="dicts")
    library = config.get("Build Dependencies", {}).get("blas", {}).get("name", "")
    features = config.get("SIMD Extensions", {}).get("found", ())
    return "openblas" in library and any(name.startswith(("AVX512", "X86_V4")) for name in features)
