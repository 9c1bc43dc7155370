"""Work of ops that move elements: concatenate, slice, transpose, gather, scatter, resize, draw random numbers.

Source: tensorflow/core/kernels/slice_op.cc, split_op.cc, unpack_op.cc (what shares its input's memory), release 1.15.
"""

from __future__ import annotations

import math

from gpuplace.kernels.work.models import Task, work_model
from gpuplace.kernels.work.record import Work

_ALIGNMENT = 64
"""Alignment in bytes; a part of a tensor that starts at a multiple shares the tensor's memory."""


def _nothing(task: Task) -> Work:
    return task.work("none", read=0, written=0, launches=0)


def _row_bytes(task: Task) -> float:
    """Return the bytes of an input's row: all dimensions after the first."""
    sizes = task.in_sizes[0]
    return task.in_bytes(0) / max(1, sizes[0]) if sizes else 0.0


@work_model(
    "ConcatV2", "Concat", "Pack", "ParallelConcat", "QuantizedConcat", "QuantizedConcatV2", "_MklConcatV2"
)
@work_model("TensorListConcat", "_MklConcat", "RiscConcat", "_ParallelConcatUpdate")
def _joined(task: Task) -> Work:
    if sum(1 for sizes in task.in_sizes if math.prod(sizes)) <= 1 and task.op_type == "Pack":
        return _nothing(task)
    return task.work("move", read=task.out_bytes())


@work_model("Split", "SplitV")
def _split(task: Task) -> Work:
    """Count parts along the first dimension, which share the input's memory if they are aligned."""
    whole = task.in_sizes[1] if task.op_type == "Split" else task.in_sizes[0]
    if len(task.out_sizes) <= 1:
        return _nothing(task)
    along_first = bool(whole) and task.out_sizes[0][1:] == whole[1:]
    if along_first and task.out_bytes() % _ALIGNMENT == 0:
        return _nothing(task)
    return task.work("move", read=task.written)


@work_model("Unpack")
def _unpacked(task: Task) -> Work:
    if int(task.attrs.get("axis", 0)) == 0 and task.out_sizes and task.out_bytes() % _ALIGNMENT == 0:
        return _nothing(task)
    return task.work("move")


@work_model("Slice", "StridedSlice", "RiscSlice")
def _sliced(task: Task) -> Work:
    """Count slices; whole rows share the input's memory if they are aligned."""
    if task.out_sizes[0] == task.in_sizes[0]:
        return _nothing(task)
    rows = math.prod(task.in_sizes[0][1:])
    if rows and task.out_count() % rows == 0 and _row_bytes(task) % _ALIGNMENT == 0 and _keeps_rows(task):
        return _nothing(task)
    return task.work("move", read=task.out_bytes())


def _keeps_rows(task: Task) -> bool:
    inner, made = task.in_sizes[0][1:], task.out_sizes[0]
    return not inner or made[len(made) - len(inner) :] == inner


@work_model("StridedSliceGrad", "Pad", "PadV2", "MirrorPad", "RiscPad", "SparseToDense", "MirrorPadGrad")
@work_model("ResourceStridedSliceAssign", "StridedSliceAssign", "TensorStridedSliceUpdate")
def _placed(task: Task) -> Work:
    """Count filling the result, and copying a smaller tensor into it."""
    moved = min(task.read, task.written) if task.written else task.in_bytes(len(task.in_sizes) - 1)
    return task.work("move", read=moved, written=task.written or moved)


@work_model(
    "Tile", "BroadcastTo", "ReverseV2", "Reverse", "ReverseSequence", "Roll", "TileGrad", "RiscReverse"
)
@work_model("RiscBroadcast", "XlaBroadcastHelper")
def _repeated(task: Task) -> Work:
    return task.work(
        "move", read=max(task.in_bytes(0), task.out_bytes()) if "Grad" in task.op_type else task.out_bytes()
    )


@work_model("Transpose", "ConjugateTranspose", "_MklTranspose", "_MklConjugateTranspose", "RiscTranspose")
def _transposed(task: Task) -> Work:
    """Count a transpose; with at most one dimension larger than 1, nothing moves."""
    if sum(1 for size in task.in_sizes[0] if size != 1) <= 1:
        return _nothing(task)
    return task.work("transpose", read=task.in_bytes(0))


@work_model(
    "SpaceToDepth", "DepthToSpace", "SpaceToBatch", "SpaceToBatchND", "BatchToSpace", "BatchToSpaceND"
)
@work_model("ExtractImagePatches", "ExtractVolumePatches", "DataFormatVecPermute", "DataFormatDimMap")
def _rearranged(task: Task) -> Work:
    return task.work("transpose", read=min(task.in_bytes(0), task.out_bytes()))


@work_model(
    "Gather", "GatherV2", "GatherNd", "ResourceGather", "ResourceGatherNd", "XlaGather", "RaggedGather"
)
@work_model("GetElementAtIndex", "CollectiveGatherV2")
def _gathered(task: Task) -> Work:
    """Count a gather, which reads only the rows of the table that the indices select."""
    return task.work("gather", read=task.out_bytes() + task.in_bytes(1), rows=_rows(task))


def _rows(task: Task) -> float:
    """Return the number of selected rows; for an op with ``Nd`` in its name, an index is a vector."""
    count, sizes = task.in_count(1), task.in_sizes[1]
    return float(count / max(sizes[-1], 1) if "Nd" in task.op_type and sizes else count)


@work_model("OneHot")
def _one_hot(task: Task) -> Work:
    return task.work("scatter", read=task.in_bytes(0))


@work_model(
    "ScatterNd", "ScatterNdNonAliasingAdd", "TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"
)
@work_model("TensorScatterMax", "TensorScatterMin", "XlaScatter", "RiscScatter")
def _scattered(task: Task) -> Work:
    """Count filling or copying the result; then the selected rows are read, changed and written."""
    updates = task.in_bytes(1) if task.op_type == "ScatterNd" else task.in_bytes(2)
    base = 0.0 if task.op_type == "ScatterNd" else task.in_bytes(0)
    indices = task.in_bytes(0) if task.op_type == "ScatterNd" else task.in_bytes(1)
    count = updates / max(1, task.out_types[0].size or 1)
    return task.work(
        "scatter", count, read=base + 2 * updates + indices, written=task.out_bytes() + updates, launches=2
    )


@work_model(
    "ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterUpdate"
)
@work_model(
    "ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate", "ScatterNdMax", "ScatterNdMin", "ResourceScatterAdd"
)
@work_model("ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv", "ResourceScatterMax")
@work_model("ResourceScatterMin", "ResourceScatterUpdate", "ResourceScatterNdAdd", "ResourceScatterNdSub")
@work_model("ResourceScatterNdUpdate", "ResourceScatterNdMax", "ResourceScatterNdMin")
def _scattered_into_variable(task: Task) -> Work:
    """Count reads and writes of only the selected rows of a variable."""
    updates = task.in_bytes(2)
    read = updates + task.in_bytes(1) + (0 if task.op_type.endswith("Update") else updates)
    return task.work("scatter", float(task.in_count(2)), read=read, written=updates, rows=_rows(task))


@work_model("DynamicStitch", "ParallelDynamicStitch")
def _stitched(task: Task) -> Work:
    return task.work("scatter", written=task.out_bytes())


@work_model("DynamicPartition")
def _partitioned(task: Task) -> Work:
    """Count a GPU partition, which sorts to find positions, then gathers rows."""
    return task.work(
        "gather", read=2 * task.in_bytes(0) + 4 * task.in_bytes(1), written=task.in_bytes(0), launches=4
    )


@work_model("Where")
def _where(task: Task) -> Work:
    """Count a pass that counts elements, then a pass that writes the positions."""
    return task.work("gather", float(task.in_count(0)), read=2 * task.in_bytes(0), launches=3)


@work_model(
    "Diag", "DiagPart", "MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "MatrixDiagPart", "MatrixDiagPartV2"
)
@work_model("MatrixDiagPartV3", "BatchMatrixDiag", "BatchMatrixDiagPart")
def _diagonal(task: Task) -> Work:
    return task.work("move", read=min(task.in_bytes(0), task.out_bytes()))


@work_model("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "MatrixBandPart", "BatchMatrixBandPart")
@work_model("BatchMatrixSetDiag")
def _banded(task: Task) -> Work:
    return task.work("move", read=task.in_bytes(0) + task.in_bytes(1), launches=1)


@work_model(
    "ResizeBilinear",
    "ResizeBilinearGrad",
    "QuantizedResizeBilinear",
    "CropAndResize",
    "CropAndResizeGradImage",
)
@work_model(
    "CropAndResizeGradBoxes", "ScaleAndTranslate", "ScaleAndTranslateGrad", "ImageProjectiveTransformV2"
)
@work_model("ImageProjectiveTransformV3", "ExtractGlimpse", "ExtractGlimpseV2")
def _resized(task: Task) -> Work:
    """Count four neighbors for each point."""
    points = max(task.in_count(0), task.out_count()) if "Grad" in task.op_type else task.out_count()
    return task.work("resize", 10.0 * points, read=min(task.in_bytes(0), 4 * task.out_bytes()))


@work_model("ResizeNearestNeighbor", "ResizeNearestNeighborGrad")
def _nearest(task: Task) -> Work:
    return task.work("resize", float(task.out_count()), read=min(task.in_bytes(0), task.out_bytes()))


@work_model("ResizeBicubic", "ResizeBicubicGrad", "ResizeArea")
def _bicubic(task: Task) -> Work:
    """Count sixteen neighbors for each point."""
    return task.work("resize", 40.0 * max(task.in_count(0), task.out_count()), read=task.in_bytes(0))


@work_model("RandomUniform", "RandomUniformInt", "StatelessRandomUniform", "StatelessRandomUniformInt")
@work_model(
    "StatelessRandomUniformFullInt", "StatefulUniform", "StatefulUniformInt", "StatefulUniformFullInt"
)
@work_model("StatelessRandomUniformV2", "StatelessRandomUniformIntV2", "StatelessRandomUniformFullIntV2")
@work_model("NonDeterministicInts", "RiscRandomUniform")
def _uniform(task: Task) -> Work:
    return task.work("random", 15.0 * task.out_count(), read=0)


@work_model("RandomStandardNormal", "TruncatedNormal", "StatelessRandomNormal", "StatelessTruncatedNormal")
@work_model("StatefulStandardNormal", "StatefulStandardNormalV2", "StatefulTruncatedNormal")
@work_model("StatelessRandomNormalV2", "StatelessTruncatedNormalV2", "ParameterizedTruncatedNormal")
@work_model("StatelessParameterizedTruncatedNormal")
def _normal(task: Task) -> Work:
    return task.work("random", 40.0 * task.out_count(), read=0)


@work_model(
    "RandomGamma", "RandomPoisson", "RandomPoissonV2", "StatelessRandomGammaV2", "StatelessRandomGammaV3"
)
@work_model("StatelessRandomPoisson", "StatefulRandomBinomial", "StatelessRandomBinomial", "Multinomial")
@work_model("StatelessMultinomial")
def _rejected(task: Task) -> Work:
    """Count several random numbers for each result."""
    return task.work("random", 200.0 * task.out_count())


@work_model("RandomShuffle", "StatelessShuffle", "RandomCrop")
def _shuffled(task: Task) -> Work:
    return task.work("gather", read=task.out_bytes())


@work_model("LogUniformCandidateSampler", "UniformCandidateSampler", "LearnedUnigramCandidateSampler")
@work_model("FixedUnigramCandidateSampler", "AllCandidateSampler", "ThreadUnsafeUnigramCandidateSampler")
@work_model("ComputeAccidentalHits", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2")
@work_model("StatelessSampleDistortedBoundingBox")
def _sampled(task: Task) -> Work:
    """Count a CPU op that draws until it has enough unique numbers."""
    return task.work("random", 100.0 * max(map(task.out_count, range(len(task.out_sizes))), default=0))


@work_model(
    "TensorArrayGatherV3",
    "TensorArrayGatherV2",
    "TensorArrayGather",
    "TensorArrayConcatV3",
    "TensorListStack",
)
@work_model(
    "TensorArrayConcatV2", "TensorArrayConcat", "TensorArrayPack", "TensorListGather", "TensorListConcatV2"
)
def _put_together(task: Task) -> Work:
    return task.work("move", read=task.out_bytes(), written=task.out_bytes())


@work_model("TensorArrayScatterV3", "TensorArrayScatterV2", "TensorArrayScatter", "TensorArraySplitV3")
@work_model(
    "TensorArraySplitV2", "TensorArraySplit", "TensorListScatter", "TensorListScatterV2", "TensorListSplit"
)
@work_model("TensorArrayUnpack", "TensorListFromTensor", "TensorListScatterIntoExistingList")
def _taken_apart(task: Task) -> Work:
    """Count a copy of each element."""
    at = {"TensorArray": 2}.get(task.op_type[:11], 0)
    if task.op_type.startswith(("TensorArraySplit", "TensorArrayUnpack")):
        at = 1
    if task.op_type == "TensorListScatterIntoExistingList":
        at = 1
    moved = task.in_bytes(at)
    rows = task.in_sizes[at][0] if task.in_sizes[at] else 1
    if task.op_type == "TensorListFromTensor":
        return _nothing(task)
    return task.work("move", read=moved, written=moved, launches=max(1, rows))


@work_model(
    "QueueEnqueueManyV2", "QueueEnqueueMany", "QueueDequeueManyV2", "QueueDequeueMany", "QueueDequeueUpToV2"
)
@work_model("QueueDequeueUpTo", "Unbatch", "Batch", "UnbatchGrad")
def _batched(task: Task) -> Work:
    moved = max(task.read, task.written)
    return task.work("move", read=moved, written=moved)
