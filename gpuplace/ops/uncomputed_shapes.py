"""Shapes of ops that gpuplace can place but does not compute: fused, quantized, cuDNN and later ops.

Most have the shape function of a similar op that is computed. Handles (resources, datasets) are scalars and need no
function.

Source: tensorflow/core/ops/*.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import copy
import math
from typing import Any

from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.op_sets import RECEIVED_SHAPE
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function, shape_function_of
from gpuplace.ops.shape_rules import merge_sizes, require_rank, require_rank_at_least
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, broadcast_shapes


def _as(computed: str, *op_types: str) -> None:
    """Give ops the shape function of another op; outputs that the other lacks are scalars."""

    def shapes(op: Operation) -> list[TensorShape]:
        function = shape_function_of(computed)
        if not _LACKING.keys() <= op.attrs.keys():
            op = copy.copy(op)
            op.attrs = {**_LACKING, **op.attrs}
        computed_shapes = list(function(op)) if function is not None else []
        return (computed_shapes + [SCALAR_SHAPE] * _outputs(op))[: _outputs(op)]

    shape_function(*op_types)(shapes)


_LACKING = {
    **{"data_format": b"NHWC", "explicit_paddings": (), "dilations": (1, 1, 1, 1)},
    **{"transpose_a": False, "transpose_b": False, "adj_x": False, "adj_y": False},
}
"""Attributes that some of these ops lack, with the computed ops' defaults."""


def _outputs(op: Operation) -> int:
    """Return the number of outputs of an op."""
    if op.outputs or op.op_def is None:
        return len(op.outputs)
    return len(op.op_def.output_types({**op.op_def.defaults, **op.attrs}))


def _as_first(*op_types: str) -> None:
    """Give ops a shape function whose first output has the first input's shape; the other outputs are scalars."""
    shape_function(*op_types)(lambda op: [op.inputs[0].shape, *[SCALAR_SHAPE] * (_outputs(op) - 1)])


def _vector(size: int | None = None) -> TensorShape:
    return TensorShape.of((size,))


# Fused, quantized and later versions of computed ops

_as("Conv2D", "_FusedConv2D", "_MklConv2D", "_MklNativeConv2D", "_MklFusedConv2D", "_MklNativeFusedConv2D")
_as(
    "Conv2D",
    "QuantizedConv2D",
    "QuantizedConv2DAndRelu",
    "QuantizedConv2DWithBias",
    "QuantizedConv2DAndRequantize",
)
_as(
    "Conv2D",
    "QuantizedConv2DAndReluAndRequantize",
    "QuantizedConv2DWithBiasAndRelu",
    "QuantizedConv2DPerChannel",
)
_as("Conv2D", "QuantizedConv2DWithBiasAndReluAndRequantize", "QuantizedConv2DWithBiasAndRequantize")
_as("Conv2D", "QuantizedConv2DWithBiasSumAndRelu", "QuantizedConv2DWithBiasSumAndReluAndRequantize")
_as(
    "Conv2D",
    "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
    "_MklConv2DWithBias",
    "_MklNativeConv2DWithBias",
)
_as("Conv3D", "_FusedConv3D", "_MklConv3D", "_MklNativeConv3D", "_MklNativeFusedConv3D")
_as(
    "DepthwiseConv2dNative",
    "_FusedDepthwiseConv2dNative",
    "QuantizedDepthwiseConv2D",
    "_MklDepthwiseConv2dNative",
)
_as("DepthwiseConv2dNative", "QuantizedDepthwiseConv2DWithBias", "QuantizedDepthwiseConv2DWithBiasAndRelu")
_as(
    "DepthwiseConv2dNative",
    "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize",
    "_MklNativeDepthwiseConv2dNative",
)
_as("MatMul", "_FusedMatMul", "_MklMatMul", "_MklFusedMatMul", "_MklNativeFusedMatMul", "QuantizedMatMul")
_as(
    "MatMul",
    "QuantizedMatMulWithBias",
    "QuantizedMatMulWithBiasAndRelu",
    "QuantizedMatMulWithBiasAndRequantize",
)
_as("MatMul", "QuantizedMatMulWithBiasAndReluAndRequantize", "QuantizedMatMulWithBiasAndDequantize")
_as("BatchMatMulV2", "BatchMatMulV3", "_MklBatchMatMul", "_MklBatchMatMulV2", "_MklFusedBatchMatMulV2")
_as("BiasAdd", "BiasAddV1", "QuantizedBiasAdd")
_as("AvgPool", "QuantizedAvgPool", "_MklAvgPool", "_MklNativeAvgPool")
_as("MaxPool", "QuantizedMaxPool", "_MklMaxPool", "_MklNativeMaxPool")
_as("FusedBatchNormV3", "_FusedBatchNormEx", "_MklFusedBatchNormV3", "_MklNativeFusedBatchNormV3")
_as("FusedBatchNorm", "_MklFusedBatchNorm", "_MklNativeFusedBatchNorm")
_as("ResizeBilinear", "QuantizedResizeBilinear")
_as("ConcatV2", "_MklConcatV2")
_as("Mul", "QuantizedMul", "QuantizedAdd", "Xlog1py", "NextAfter")
_as("RandomUniform", "StatelessRandomUniformFullInt", "StatelessRandomUniformV2")
_as("RandomUniform", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2", "StatelessRandomUniformIntV2")
_as(
    "RandomUniform", "StatelessRandomUniformFullIntV2", "ParameterizedTruncatedNormal", "NonDeterministicInts"
)
_as(
    "UnsortedSegmentSum",
    "SegmentSumV2",
    "SegmentProdV2",
    "SegmentMaxV2",
    "SegmentMinV2",
    "UnsortedSegmentJoin",
)
_as("TensorScatterAdd", "TensorScatterMax", "TensorScatterMin")
_as("ScatterNdAdd", "ScatterNdMax", "ScatterNdMin")
_as("ResourceScatterNdAdd", "ResourceScatterNdMax", "ResourceScatterNdMin")
_as("MatrixDiagV2", "MatrixDiagV3")
_as("MatrixDiagPartV2", "MatrixDiagPartV3")
_as("MatrixSetDiagV2", "MatrixSetDiagV3")
_as("ReverseV2", "Reverse")
_as(
    "LookupTableSizeV2",
    "LookupTableSize",
    "QueueSize",
    "ReaderNumRecordsProduced",
    "ReaderNumWorkUnitsCompleted",
)
_as("ReaderReadV2", "ReaderRead")
_as("ReaderReadUpToV2", "ReaderReadUpTo")
_as("ExtractGlimpse", "ExtractGlimpseV2")
_as("Cumsum", "CumulativeLogsumexp")
_as("SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox")
_as("CTCLoss", "CTCLossV2")

# Ops whose output has the shape of their first input

_as_first("QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizedReluX")
_as_first("QuantizeAndDequantizeV4", "QuantizeV2", "Dequantize", "Requantize", "QuantizeDownAndShrinkRange")
_as_first("RequantizePerChannel", "QuantizedRelu", "QuantizedRelu6", "QuantizedInstanceNorm", "DebugIdentity")
_as_first("QuantizedBatchNormWithGlobalNormalization", "CheckNumericsV2")
_as_first("BesselI0", "BesselI1", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e")
_as_first("BesselY0", "BesselY1", "Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence", "Erfinv", "Ndtri")
_as_first("Bucketize", "PopulationCount", "CholeskyGrad")
_as_first("StatelessShuffle", "Copy", "CopyHost")
_as_first("BatchCholesky", "BatchCholeskyGrad", "BatchMatrixInverse", "BatchFFT")
_as_first("BatchIFFT", "BatchFFT2D", "BatchIFFT2D", "BatchFFT3D", "BatchIFFT3D", "BatchMatrixBandPart")
_as_first("FFTND", "IFFTND", "DebugGradientIdentity", "DebugGradientRefIdentity", "DebugIdentityV2")
_as_first(
    "CollectiveReduce", "CollectiveReduceV2", "CollectiveReduceV3", "TensorStridedSliceUpdate", "RefSelect"
)
_as_first("AdjustContrast", "UnicodeTranscode", "UnicodeScript")
_as_first("XlaOptimizationBarrier", "_UnaryOpsComposition")
_as_first("ApplyAdagradV2", "ApplyAddSign", "ApplyPowerSign", "SparseApplyAdagradV2")
_as_first("_HostCast")


@shape_function("Einsum", "_MklEinsum")
def _einsum(op: Operation) -> tuple[TensorShape, ...]:
    """Return the sizes of the result's indices; ``...`` stands for the broadcast sizes of the operands."""
    operands, _, result = op.attrs["equation"].decode().replace(" ", "").partition("->")
    sizes: dict[str, int | None] = {}
    rest: TensorShape | None = None
    for term, tensor in zip(operands.split(","), op.inputs, strict=True):
        shape = tensor.shape.sizes
        head, dots, tail = term.partition("...")
        if shape is None:
            if dots:
                rest = UNKNOWN_SHAPE
            for letter in head + tail:
                sizes.setdefault(letter, None)
            continue
        if len(shape) < len(head) + len(tail) or (not dots and len(shape) != len(head)):
            raise ValueError(
                f"Expected input of rank {len(head) + len(tail)} for '{term}' but got rank {len(shape)}"
            )
        ends = shape[len(shape) - len(tail) :] if tail else ()
        for letter, size in zip(head + tail, (*shape[: len(head)], *ends), strict=True):
            old = sizes.get(letter)
            if old is not None and size is not None and old != size and 1 not in (old, size):
                raise ValueError(f"Dimensions must be equal, but are {old} and {size}")
            sizes[letter] = size if old is None or (old == 1 and size is not None) else old
        if dots:
            middle = TensorShape.of(shape[len(head) : len(shape) - len(tail)])
            rest = middle if rest is None else broadcast_shapes(rest, middle)
    head, dots, tail = result.partition("...")
    if dots and rest is not None and rest.sizes is None:
        return (UNKNOWN_SHAPE,)
    middle_sizes = rest.sizes if dots and rest is not None else ()
    return (
        TensorShape.of(
            (*(sizes.get(item) for item in head), *(middle_sizes or ()), *(sizes.get(item) for item in tail))
        ),
    )


@shape_function("QuantizedReshape")
def _quantized_reshape(op: Operation) -> Any:
    function = shape_function_of("Reshape")
    assert function is not None
    return *function(op), SCALAR_SHAPE, SCALAR_SHAPE


@shape_function("QuantizedConcat", "QuantizedConcatV2")
def _quantized_concat(op: Operation) -> Any:
    parts, is_first = op.attrs["N"], op.type == "QuantizedConcat"
    function = shape_function_of("Concat" if is_first else "ConcatV2")
    assert function is not None
    plain = copy.copy(op)
    plain.inputs = op.inputs[: parts + 1]
    return *function(plain), SCALAR_SHAPE, SCALAR_SHAPE


@shape_function("RequantizationRange", "RequantizationRangePerChannel")
def _two_scalars(op: Operation) -> Any:
    return SCALAR_SHAPE, SCALAR_SHAPE


@shape_function("Conv2DBackpropInputV2")
def _input_like(op: Operation) -> Any:
    return (op.inputs[0].shape,)


@shape_function("Conv2DBackpropFilterV2", "Conv3DBackpropFilter")
def _filter_like(op: Operation) -> Any:
    return (op.inputs[1].shape,)


@shape_function("Conv3DBackpropInput")
def _volume_like(op: Operation) -> Any:
    return (require_rank(op.inputs[0].shape, 5),)


@shape_function("_FusedBatchNormGradEx")
def _fused_norm_gradient(op: Operation) -> Any:
    channels = op.inputs[2].shape
    return (
        op.inputs[1].shape,
        channels,
        channels,
        TensorShape.of((0,)),
        TensorShape.of((0,)),
        op.inputs[0].shape,
    )


# Recurrent layers


@shape_function("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
def _cudnn(op: Operation) -> Any:
    time, state = require_rank(op.inputs[0].shape, 3).sizes, op.inputs[1].shape.sizes
    assert time is not None
    units = None if state is None else state[-1]
    both = 2 if op.attrs.get("direction") == b"bidirectional" else 1
    output = TensorShape.of((time[0], time[1], None if units is None else units * both))
    cell = op.inputs[1].shape if op.attrs.get("rnn_mode", b"lstm") == b"lstm" else SCALAR_SHAPE
    reserved = [_vector()] if op.type == "CudnnRNN" else [_vector(), _vector()]
    return [output, op.inputs[1].shape, cell, *reserved]


@shape_function("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3")
def _cudnn_gradient(op: Operation) -> Any:
    return tuple(tensor.shape for tensor in op.inputs[:4])


@shape_function("CudnnRNNParamsSize")
def _cudnn_size(op: Operation) -> Any:
    return (_vector(1),)


@shape_function("CudnnRNNCanonicalToParams", "CudnnRNNCanonicalToParamsV2")
def _cudnn_parameters(op: Operation) -> Any:
    return (_vector(),)


@shape_function("BlockLSTMV2")
def _block_lstm(op: Operation) -> Any:
    x, bias = require_rank(op.inputs[1].shape, 3).sizes, op.inputs[-1].shape.sizes
    assert x is not None
    units = None if bias is None or bias[0] is None else bias[0] // 4
    return (TensorShape.of((x[0], x[1], units)),) * 7


@shape_function("BlockLSTMGradV2")
def _block_lstm_gradient(op: Operation) -> Any:
    return tuple(op.inputs[at].shape for at in (1, 2, 3, 4, 5, 6, 7, 8))


# Random numbers


@shape_function("RandomPoisson")
def _shape_of_parameters(op: Operation) -> Any:
    return (constant_value_as_shape(op.inputs[0]).concatenate(op.inputs[1].shape),)


@shape_function("StatefulUniform", "StatefulUniformInt", "StatefulUniformFullInt", "StatefulStandardNormalV2")
@shape_function("StatefulTruncatedNormal")
def _stateful(op: Operation) -> Any:
    return (constant_value_as_shape(op.inputs[2]),)


@shape_function("StatefulStandardNormal")
def _old_stateful(op: Operation) -> Any:
    return (constant_value_as_shape(op.inputs[1]),)


@shape_function(
    "StatelessRandomGammaV2", "StatelessRandomPoisson", "StatelessRandomBinomial", "StatelessRandomGammaV3"
)
@shape_function("StatelessParameterizedTruncatedNormal")
def _shaped_by_first(op: Operation) -> Any:
    return (constant_value_as_shape(op.inputs[0]),)


@shape_function("StatefulRandomBinomial")
def _binomial(op: Operation) -> Any:
    return (constant_value_as_shape(op.inputs[2]),)


@shape_function("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")
def _key_and_counter(op: Operation) -> Any:
    return (_vector(1), _vector(2), SCALAR_SHAPE)[: _outputs(op)]


@shape_function("StatelessRandomGetAlg", "DeviceIndex", "IsTensorFloat32Enabled", "GlobalIterId")
@shape_function("IsBoostedTreesEnsembleInitialized", "TensorMapSize")
@shape_function("TensorArraySize", "TensorArraySizeV2", "TensorArrayWrite", "TensorArrayWriteV2")
@shape_function(
    "TensorArrayScatter", "TensorArrayScatterV2", "TensorArraySplit", "TensorArraySplitV2", "ToBool"
)
@shape_function(
    "TensorArrayUnpack",
    "MutexV2",
    "IteratorGetDevice",
    "QueueIsClosed",
    "ReaderSerializeState",
)
def _one(op: Operation) -> Any:
    return (SCALAR_SHAPE,) * _outputs(op)


@shape_function("RngReadAndSkip")
def _read_and_skip(op: Operation) -> Any:
    return (_vector(3),)


@shape_function("RngSkip", "DeleteIterator", "DeleteMemoryCache", "DeleteMultiDeviceIterator", "QueueClose")
@shape_function("ResourceApplyAdagradV2", "ResourceApplyAdamWithAmsgrad", "ResourceApplyAddSign")
@shape_function(
    "ResourceApplyKerasMomentum", "ResourceApplyPowerSign", "ResourceSparseApplyAdagradV2", "InitializeTable"
)
@shape_function("ResourceSparseApplyKerasMomentum", "TensorArrayClose", "TensorArrayCloseV2")
@shape_function(
    "CloseSummaryWriter", "FlushSummaryWriter", "WriteSummary", "WriteScalarSummary", "WriteGraphSummary"
)
@shape_function(
    "WriteHistogramSummary", "WriteImageSummary", "WriteAudioSummary", "WriteRawProtoSummary", "ImportEvent"
)
@shape_function(
    "LookupTableInsert", "LookupTableImport", "InitializeTableFromTextFile", "CreateSummaryFileWriter"
)
@shape_function(
    "CreateSummaryDbWriter", "ConsumeMutexLock", "QueueEnqueue", "QueueEnqueueMany", "DisableCopyOnRead"
)
def _nothing(op: Operation) -> Any:
    return ()


# Images


@shape_function("DecodeImage", "DecodeWebP")
def _decoded(op: Operation) -> Any:
    """Return the shape of decoded images; an animated GIF has several, so the rank may be unknown."""
    channels = op.attrs.get("channels", 0) or None
    if op.type == "DecodeWebP":
        return (TensorShape.of((None, None, None, channels)),)
    return (
        UNKNOWN_SHAPE if op.attrs.get("expand_animations", True) else TensorShape.of((None, None, channels)),
    )


@shape_function("ImageProjectiveTransformV2", "ImageProjectiveTransformV3", "ScaleAndTranslate")
def _transformed(op: Operation) -> Any:
    images = require_rank(op.inputs[0].shape, 4).sizes
    size = constant_value(op.inputs[2 if op.type.startswith("Image") else 1])
    assert images is not None
    rows, columns = (None, None) if size is None else (int(item) for item in size)
    return (TensorShape.of((images[0], rows, columns, images[3])),)


@shape_function("ScaleAndTranslateGrad")
def _scaled_gradient(op: Operation) -> Any:
    return (op.inputs[1].shape,)


@shape_function("FractionalAvgPool", "FractionalMaxPool")
def _fractional_pool(op: Operation) -> tuple[TensorShape, ...]:
    images = require_rank(op.inputs[0].shape, 4).sizes
    assert images is not None
    ratios = op.attrs["pooling_ratio"]
    sizes = [
        None if size is None else int(math.floor(size / ratio))
        for size, ratio in zip(images, ratios, strict=True)
    ]
    # the kernel returns one edge more than TensorFlow's shape function states
    edges = [_vector(None if size is None else size + 1) for size in sizes[1:3]]
    return TensorShape.of(tuple(sizes)), *edges


@shape_function("FractionalMaxPoolGrad")
def _fractional_gradient(op: Operation) -> tuple[TensorShape, ...]:
    return (require_rank(op.inputs[0].shape, 4),)


@shape_function("FractionalAvgPoolGrad")
def _fractional_average_gradient(op: Operation) -> tuple[TensorShape, ...]:
    return (require_rank(constant_value_as_shape(op.inputs[0]), 4),)


@shape_function("CombinedNonMaxSuppression")
def _combined(op: Operation) -> tuple[TensorShape, ...]:
    boxes = op.inputs[0].shape.sizes
    batch = None if boxes is None else boxes[0]
    total, each = constant_value(op.inputs[3]), constant_value(op.inputs[2])
    count = None if total is None else int(total)
    if op.attrs.get("pad_per_class"):
        scores = op.inputs[1].shape.sizes
        classes = None if scores is None else scores[2]
        count = None if count is None or each is None or classes is None else min(count, int(each) * classes)
    two = TensorShape.of((batch, count))
    return TensorShape.of((batch, count, 4)), two, two, _vector(batch)


# Linear algebra


def _matrices(op: Operation) -> tuple[TensorShape, int | None, int | None]:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    if sizes is None:
        return UNKNOWN_SHAPE, None, None
    return TensorShape.of(sizes[:-2]), sizes[-2], sizes[-1]


@shape_function("Eig", "XlaSelfAdjointEig", "BatchSelfAdjointEigV2")
def _eigen(op: Operation) -> Any:
    batch, rows, _ = _matrices(op)
    vectors = op.attrs.get("compute_v", True)
    return batch.concatenate((rows,)), batch.concatenate((rows, rows)) if vectors else _vector(0)


@shape_function("SelfAdjointEig", "BatchSelfAdjointEig")
def _old_eigen(op: Operation) -> Any:
    batch, rows, _ = _matrices(op)
    return (batch.concatenate((None if rows is None else rows + 1, rows)),)


@shape_function("Lu")
def _lu(op: Operation) -> tuple[TensorShape, ...]:
    batch, rows, _ = _matrices(op)
    return op.inputs[0].shape, batch.concatenate((rows,))


@shape_function("MatrixSolveLs", "BatchMatrixSolveLs")
def _least_squares(op: Operation) -> tuple[TensorShape, ...]:
    batch, rows, columns = _matrices(op)
    right = op.inputs[1].shape.sizes
    if right is not None:
        merge_sizes(rows, right[-2])
    return (batch.concatenate((columns, None if right is None else right[-1])),)


@shape_function("TridiagonalSolve", "BandedTriangularSolve", "BatchMatrixSolve", "BatchMatrixTriangularSolve")
def _solved(op: Operation) -> tuple[TensorShape, ...]:
    return (op.inputs[1].shape,)


@shape_function("TridiagonalMatMul")
def _tridiagonal(op: Operation) -> tuple[TensorShape, ...]:
    return (op.inputs[3].shape,)


@shape_function("BatchMatrixDeterminant")
def _determinant(op: Operation) -> Any:
    return (_matrices(op)[0],)


# Counting, sorting, slices of rows


@shape_function("DenseBincount")
def _bincount(op: Operation) -> Any:
    sizes, count = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    return (TensorShape.of((*sizes[:-1], None if count is None else int(count))),)


@shape_function("TopK", "ApproxTopK")
def _top(op: Operation) -> Any:
    shape = require_rank_at_least(op.inputs[0].shape, 1).sizes
    if shape is None:
        return UNKNOWN_SHAPE, UNKNOWN_SHAPE
    axis = range(len(shape))[op.attrs.get("reduction_dimension", -1)]
    result = TensorShape.of((*shape[:axis], op.attrs["k"], *shape[axis + 1 :]))
    return result, result


@shape_function("SparseSegmentSumGrad")
def _segments_gradient(op: Operation) -> Any:
    function = shape_function_of("SparseSegmentMeanGrad")
    assert function is not None
    return function(op)


@shape_function("SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2", "SparseSegmentSumGradV2")
def _segments_gradient_v2(op: Operation) -> Any:
    grads = op.inputs[0].shape.sizes
    rows = op.inputs[1].shape.sizes
    return (
        UNKNOWN_SHAPE if grads is None else TensorShape.of((None, *grads[1:])),
        _vector(rows[0] if rows else None),
    )


@shape_function("RaggedRange")
def _ragged_range(op: Operation) -> Any:
    count = next((tensor.shape.sizes[0] for tensor in op.inputs if tensor.shape.sizes), 1)
    if any(tensor.shape.sizes is None for tensor in op.inputs):
        count = None
    return _vector(None if count is None else count + 1), _vector()


@shape_function("RaggedGather")
def _ragged_gather(op: Operation) -> Any:
    splits, values = op.attrs["OUTPUT_RAGGED_RANK"], op.inputs[-2].shape.sizes
    result = [_vector()] * splits
    indices = op.inputs[-1].shape.num_elements()
    if indices is not None and op.inputs[-1].shape.ndims == 1:
        result[0] = _vector(indices + 1)
    return *result, UNKNOWN_SHAPE if values is None else TensorShape.of((None, *values[1:]))


@shape_function("RaggedTensorToSparse")
def _ragged_to_sparse(op: Operation) -> Any:
    values, splits = op.inputs[-1].shape.ndims, op.attrs["RAGGED_RANK"]
    rank = None if values is None else splits + values
    count = op.inputs[-1].shape.num_elements()
    return TensorShape.of((count, rank)), _vector(count), _vector(rank)


@shape_function("RaggedTensorToTensor")
def _ragged_to_tensor(op: Operation) -> Any:
    """Return the requested shape, with ``-1`` for any size, merged with those of the values and the number of rows."""
    requested, values = constant_value_as_shape(op.inputs[0]).sizes, op.inputs[1].shape.sizes
    kinds = [bytes(kind) for kind in op.attrs["row_partition_types"]]
    counts_rows = bool(kinds) and kinds[0] == b"FIRST_DIM_SIZE"
    splits = len(kinds) - counts_rows
    if values is None:
        return (UNKNOWN_SHAPE if requested is None else TensorShape.of(requested),)
    sizes: list[int | None] = [*[None] * (splits + 1), *values[1:]]
    if counts_rows and (rows := constant_value(op.inputs[3])) is not None:
        sizes[0] = int(rows)
    if requested is not None:
        if len(requested) != len(sizes):
            raise ValueError(f"Shape must be rank {len(sizes)} but is rank {len(requested)}")
        sizes = [size if request is None else request for size, request in zip(sizes, requested, strict=True)]
    return (TensorShape.of(tuple(sizes)),)


@shape_function("RaggedTensorToVariant")
def _ragged_variant(op: Operation) -> Any:
    if not op.attrs["batched_input"]:
        return (SCALAR_SHAPE,)
    first = op.inputs[0].shape.sizes
    return (_vector(None if not first or first[0] is None else first[0] - 1),)


@shape_function("SparseCross", "SparseCrossV2", "SparseCrossHashed")
def _crossed(op: Operation) -> tuple[TensorShape, ...]:
    return TensorShape.of((None, 2)), _vector(), _vector(2)


@shape_function("UnicodeDecode", "UnicodeDecodeWithOffsets")
def _unicode(op: Operation) -> Any:
    count = op.inputs[0].shape.num_elements()
    return (_vector(None if count is None else count + 1), *[_vector()] * (_outputs(op) - 1))


@shape_function("UnicodeEncode")
def _encoded(op: Operation) -> Any:
    splits = op.inputs[1].shape.sizes
    return (_vector(None if not splits or splits[0] is None else splits[0] - 1),)


@shape_function("ParseExampleV2")
def _parsed(op: Operation) -> Any:
    """Return the shapes of sparse and dense features, then ragged values and rows, for one example or a batch."""
    attrs, rows = op.attrs, op.inputs[0].shape
    rank = None if rows.ndims is None else rows.ndims + 1
    sparse = attrs["num_sparse"]
    result = [TensorShape.of((None, rank))] * sparse + [_vector()] * sparse + [_vector(rank)] * sparse
    result += [rows.concatenate(shape) for shape in attrs["dense_shapes"]]
    ragged = len(attrs["ragged_value_types"])
    result += [_vector()] * ragged
    count = rows.num_elements()
    result += [_vector(None if count is None or rows.ndims == 0 else count + 1)] * ragged
    return result


@shape_function("AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient")
def _taken(op: Operation) -> Any:
    shape = op.inputs[0].op.attrs.get("shape")
    return (shape if isinstance(shape, TensorShape) else UNKNOWN_SHAPE,)


@shape_function("FakeParam")
def _parameter(op: Operation) -> Any:
    return (op.attrs["shape"],)


@shape_function("ImmutableConst", "Empty")
def _declared(op: Operation) -> Any:
    if op.type == "ImmutableConst":
        return (op.attrs["shape"],)
    return (constant_value_as_shape(op.inputs[0]),)


@shape_function("Recv", "_Recv", "_HostRecv", "InfeedDequeue")
def _received(op: Operation) -> Any:
    shape = op.attrs.get("shape", op.attrs.get(RECEIVED_SHAPE))
    return (shape if isinstance(shape, TensorShape) else UNKNOWN_SHAPE,)


@shape_function("CollectiveBcastRecv", "CollectiveBcastSend", "CollectiveGather")
def _collective(op: Operation) -> Any:
    return (op.attrs["shape"],)
