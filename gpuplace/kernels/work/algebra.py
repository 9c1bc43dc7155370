"""Work of linear algebra, Fourier transforms and sorting.

Source: G. Golub, C. Van Loan, "Matrix Computations" (flops of factorizations).
"""

from __future__ import annotations

import math

from gpuplace.kernels.work.models import Task, work_model
from gpuplace.kernels.work.record import Work


def _cubic(task: Task, multiple: float, launches: int = 1) -> Work:
    """Return the model with ``multiple * rows ** 3`` flops for each matrix of a batch."""
    sizes = task.in_sizes[0]
    count = math.prod(sizes[:-2])
    rows, columns = sizes[-2:]
    return task.work("algebra", multiple * count * rows * columns * min(rows, columns), launches=launches)


@work_model("Cholesky", "BatchCholesky")
def _cholesky(task: Task) -> Work:
    return _cubic(task, 1 / 3)


@work_model("CholeskyGrad", "BatchCholeskyGrad")
def _cholesky_gradient(task: Task) -> Work:
    return _cubic(task, 2)


@work_model("MatrixDeterminant", "LogMatrixDeterminant", "Lu", "BatchMatrixDeterminant")
def _lu(task: Task) -> Work:
    return _cubic(task, 2 / 3, 3)


@work_model("MatrixInverse", "BatchMatrixInverse")
def _inverse(task: Task) -> Work:
    return _cubic(task, 2, 3)


@work_model("MatrixSolve", "BatchMatrixSolve", "MatrixSolveLs", "BatchMatrixSolveLs")
def _solved(task: Task) -> Work:
    sizes, right = task.in_sizes[:2]
    rows, columns = sizes[-2:]
    each = (2 / 3 if "Ls" not in task.op_type else 2) * rows * columns * min(
        rows, columns
    ) + 2.0 * rows * math.prod(right[-2:])
    return task.work("algebra", math.prod(sizes[:-2]) * each, launches=3)


@work_model("MatrixTriangularSolve", "BatchMatrixTriangularSolve", "BandedTriangularSolve")
def _triangular(task: Task) -> Work:
    sizes, right = task.in_sizes[:2]
    return task.work("algebra", 1.0 * math.prod(sizes[:-1]) * math.prod(right[-2:]))


@work_model("TridiagonalSolve", "TridiagonalMatMul")
def _tridiagonal(task: Task) -> Work:
    return task.work("algebra", 8.0 * task.out_count())


@work_model("Qr")
def _qr(task: Task) -> Work:
    return _cubic(task, 4, 4)


@work_model(
    "SelfAdjointEig", "SelfAdjointEigV2", "BatchSelfAdjointEig", "BatchSelfAdjointEigV2", "XlaSelfAdjointEig"
)
def _symmetric_eigen(task: Task) -> Work:
    return _cubic(task, 9, 4)


@work_model("Eig")
def _eigen(task: Task) -> Work:
    return _cubic(task, 25, 4)


@work_model("Svd", "BatchSvd", "XlaSvd")
def _svd(task: Task) -> Work:
    return _cubic(task, 20, 4)


@work_model("MatrixExponential", "MatrixLogarithm", "MatrixSquareRoot")
def _function_of_matrix(task: Task) -> Work:
    return _cubic(task, 30, 1)


def _transform(task: Task, rank: int) -> Work:
    """Count ``5 n log2(n)`` flops for each ``n`` numbers."""
    sizes = max(task.in_sizes[0], task.out_sizes[0], key=math.prod)
    return task.work(
        "transform", 5.0 * math.prod(sizes) * math.log2(max(2, math.prod(sizes[-rank:]))), launches=rank
    )


@work_model("FFT", "IFFT", "RFFT", "IRFFT", "BatchFFT", "BatchIFFT", "RiscFft")
def _line(task: Task) -> Work:
    return _transform(task, 1)


@work_model("FFT2D", "IFFT2D", "RFFT2D", "IRFFT2D", "BatchFFT2D", "BatchIFFT2D")
def _plane(task: Task) -> Work:
    return _transform(task, 2)


@work_model(
    "FFT3D",
    "IFFT3D",
    "RFFT3D",
    "IRFFT3D",
    "BatchFFT3D",
    "BatchIFFT3D",
    "FFTND",
    "IFFTND",
    "RFFTND",
    "IRFFTND",
)
def _space(task: Task) -> Work:
    return _transform(task, 3)


@work_model("AudioSpectrogram")
def _spectrogram(task: Task) -> Work:
    window = int(task.attrs.get("window_size", 256))
    return task.work("transform", 10.0 * task.out_count() * math.log2(max(2, window)))


@work_model("Mfcc")
def _mfcc(task: Task) -> Work:
    return task.work(
        "transform", 2.0 * task.in_count(0) * int(task.attrs.get("filterbank_channel_count", 40))
    )


@work_model("TopKV2", "TopK", "NthElement", "KthOrderStatistic", "TopKUnique", "TopKWithUnique", "ApproxTopK")
def _top(task: Task) -> Work:
    """Count the work with a heap of the ``k`` best of each row."""
    k = task.out_sizes[0][-1] if task.out_sizes and task.out_sizes[0] else 1
    return task.work("sort", task.in_count(0) * math.log2(max(2, k)), read=task.in_bytes(0))


@work_model("LowerBound", "UpperBound")
def _searched(task: Task) -> Work:
    row = task.in_sizes[0][-1] if task.in_sizes[0] else 1
    return task.work("sort", task.out_count() * math.log2(max(2, row)), read=4 * task.in_bytes(1))


@work_model(
    "Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff", "SparseReorder", "RiscSort"
)
@work_model("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation", "XlaSort")
def _sorted(task: Task) -> Work:
    count = task.in_count(0)
    return task.work("sort", count * math.log2(max(2, count)), launches=2)


@work_model("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4")
@work_model("NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps", "CombinedNonMaxSuppression")
def _suppressed(task: Task) -> Work:
    """Count the work of comparing boxes, in the order of their scores, with those chosen before."""
    boxes = task.in_count(1)
    chosen = max(1, task.out_count() if task.out_sizes else 1)
    return task.work("sort", boxes * math.log2(max(2, boxes)) + 15.0 * boxes * min(chosen, boxes), launches=3)


@work_model("InvertPermutation", "UnravelIndex")
def _indices(task: Task) -> Work:
    return task.work("scatter", 4.0 * task.out_count())


@work_model("EditDistance")
def _edits(task: Task) -> Work:
    return task.work("sort", 5.0 * task.in_count(1) * max(1, task.in_count(4)) / max(1, task.out_count()))


@work_model("NearestNeighbors")
def _nearest(task: Task) -> Work:
    points, centers = task.in_sizes[:2]
    return task.work("product", 2.0 * points[0] * centers[0] * points[1])
