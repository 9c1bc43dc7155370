"""Work of reductions, softmax and losses: the number of passes over memory.

Source: tensorflow/core/kernels/reduction_gpu_kernels.cu.h, softmax_op_gpu.cu.cc, xent_op.h, sparse_xent_op.h, release
1.15.
"""

from __future__ import annotations

import math

from gpuplace.kernels.work.models import Task, work_model
from gpuplace.kernels.work.record import Work

_ONE_BLOCK = 4096
"""Elements that a block of threads reduces."""

_TALL = 4096
"""Number of rows above which a sum over columns takes two kernels."""


def _launches(task: Task) -> int:
    """Return the number of kernels of a reduction: two if one block of threads cannot reduce an element alone."""
    taken, made = task.in_count(0), max(1, task.out_count())
    if taken <= _ONE_BLOCK:
        return 1
    if made == 1:
        return 2
    sizes, out = task.in_sizes[0], task.out_sizes[0]
    keeps_last = bool(out) and bool(sizes) and out[-1] == sizes[-1]
    return 2 if keeps_last and taken // made >= _TALL else 1


@work_model(
    "Sum",
    "Prod",
    "Max",
    "Min",
    "Mean",
    "All",
    "Any",
    "EuclideanNorm",
    "ArgMax",
    "ArgMin",
    "L2Loss",
    "RiscReduce",
)
@work_model("SparseReduceMax", "SparseReduceSum", "SparseReduceMaxSparse", "SparseReduceSumSparse")
def _reduction(task: Task) -> Work:
    if task.in_count(0) == task.out_count() and task.in_types[0] == task.out_types[0]:
        return task.work(
            "reduction", read=task.in_bytes(0)
        )  # a reduction over no axis, or over axes of size 1: a copy
    each = 2 if task.op_type in ("L2Loss", "EuclideanNorm") else 1
    return task.work(
        "reduction", float(each * task.in_count(0)), read=task.in_bytes(0), launches=_launches(task)
    )


@work_model("BiasAddGrad")
def _bias_gradient(task: Task) -> Work:
    """Count setting the result to zero first."""
    return task.work("reduction", float(task.in_count(0)), launches=2)


@work_model("Softmax", "LogSoftmax", "_MklSoftmax", "SparseMatrixSoftmax")
def _softmax(task: Task) -> Work:
    """Count three passes over each row: the maximum, the sum of exponentials, the result."""
    return task.work("reduction", 25.0 * task.in_count(0), read=3 * task.in_bytes(0), launches=3)


@work_model("SparseSoftmax", "SparseMatrixSoftmaxGrad")
def _sparse_softmax(task: Task) -> Work:
    return task.work("reduction", 25.0 * task.in_count(1), launches=1)


@work_model("SoftmaxCrossEntropyWithLogits")
def _cross_entropy(task: Task) -> Work:
    """Count five kernels over ``[batch, classes]``: maximum, difference, sum of exponentials, loss, gradient."""
    logits = task.in_bytes(0)
    return task.work("reduction", 30.0 * task.in_count(0), read=6 * logits, written=2 * logits, launches=5)


@work_model("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_cross_entropy(task: Task) -> Work:
    """Count four kernels over ``[batch, classes]``; only the gradient is written."""
    logits = task.in_bytes(0)
    return task.work("reduction", 45.0 * task.in_count(0), read=4 * logits, written=logits, launches=4)


@work_model("CTCLoss", "CTCLossV2")
def _ctc(task: Task) -> Work:
    """Count forward and backward variables of each step, for 2 n + 1 labels."""
    return task.work("reduction", 40.0 * task.in_count(0), read=3 * task.in_bytes(0), launches=1)


@work_model("CTCGreedyDecoder", "CTCBeamSearchDecoder")
def _ctc_decoder(task: Task) -> Work:
    width = int(task.attrs.get("beam_width", 1))
    return task.work("reduction", 10.0 * width * task.in_count(0), read=task.in_bytes(0))


@work_model("Cumsum", "Cumprod", "CumulativeLogsumexp")
def _scan(task: Task) -> Work:
    each = 20 if task.op_type == "CumulativeLogsumexp" else 1
    return task.work("reduction", float(each * task.in_count(0)), read=task.in_bytes(0))


@work_model(
    "Bincount", "DenseBincount", "SparseBincount", "RaggedBincount", "HistogramFixedWidth", "HistogramSummary"
)
def _histogram(task: Task) -> Work:
    return task.work("scatter", float(task.in_count(0)), launches=2)


@work_model("InTopK", "InTopKV2")
def _is_in_top(task: Task) -> Work:
    return task.work("reduction", float(task.in_count(0)))


@work_model("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin", "UnsortedSegmentSum")
@work_model("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentJoin")
@work_model("SegmentSumV2", "SegmentProdV2", "SegmentMaxV2", "SegmentMinV2")
def _segments(task: Task) -> Work:
    """Count filling the result, then adding each element to it, with atomic operations on a GPU."""
    data = task.in_bytes(0)
    return task.work(
        "scatter",
        float(task.in_count(0)),
        read=2 * data + task.in_bytes(1),
        written=data + task.out_bytes(),
        launches=2,
    )


@work_model("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSumWithNumSegments")
@work_model("SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments")
def _segments_of_rows(task: Task) -> Work:
    """Count reads of only the selected rows."""
    rows = task.in_count(1) * math.prod(task.in_sizes[0][1:])
    nbytes = rows * task.in_bytes(0) / max(1, task.in_count(0))
    return task.work("gather", float(rows), read=nbytes + task.in_bytes(1) + task.in_bytes(2))


@work_model(
    "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad", "SparseSegmentSumGrad", "SparseSegmentSumGradV2"
)
@work_model("SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2")
def _segments_gradient(task: Task) -> Work:
    rows = task.in_count(1) * math.prod(task.in_sizes[0][1:])
    nbytes = rows * task.in_bytes(0) / max(1, task.in_count(0))
    return task.work("scatter", float(rows), read=2 * nbytes, written=nbytes + task.out_bytes(), launches=2)
