"""Ops that gpuplace places and does not compute, one graph of them all: for `record/shapes.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf


def fed(*sizes: int | None, dt: Any = tf.float32, rank: int | None = 0) -> Any:
    """A placeholder of this shape; of unknown rank where ``rank`` is None."""
    return tf.placeholder(dt, None if rank is None else list(sizes))


def const(value: Any, dt: Any = tf.int32) -> Any:
    """A constant."""
    return tf.constant(value, dt)


def cases() -> list[Callable[[], Any]]:
    """What makes each of them."""
    r = tf.raw_ops
    return [
        lambda: r.Einsum(inputs=[fed(3, None, 4), fed(3, 4, 5)], equation="bij,bjk->bik"),
        lambda: r.Einsum(inputs=[fed(2, 3, None, 4), fed(4, 5)], equation="...ij,jk->...ik"),
        lambda: r.Einsum(inputs=[fed(2, 3, 4)], equation="abc->ca"),
        lambda: r.Einsum(inputs=[fed(rank=None), fed(3, 4)], equation="ij,jk->ik"),
        lambda: r.Einsum(inputs=[fed(1, 5, 3, 4), fed(2, 5, 4, 6)], equation="...ij,...jk->...ik"),
        lambda: r.FakeQuantWithMinMaxVarsPerChannelGradient(
            gradients=fed(2, 3), inputs=fed(None, 3), min=fed(3), max=fed(3)
        ),
        lambda: r.FakeQuantWithMinMaxVarsGradient(
            gradients=fed(2, 3), inputs=fed(None, 3), min=fed(), max=fed()
        ),
        lambda: r.QuantizeV2(input=fed(2, 3), min_range=fed(), max_range=fed(), T=tf.quint8),
        lambda: r.Dequantize(input=fed(2, 3, dt=tf.quint8), min_range=fed(), max_range=fed()),
        lambda: r.QuantizeAndDequantizeV3(
            input=fed(2, 3), input_min=fed(), input_max=fed(), num_bits=const(8)
        ),
        lambda: r.RequantizationRange(input=fed(2, dt=tf.qint32), input_min=fed(), input_max=fed()),
        lambda: r.BatchMatMulV3(x=fed(2, 3, 4), y=fed(2, 4, 5), Tout=tf.float32),
        lambda: r.CudnnRNN(input=fed(7, 2, 3), input_h=fed(1, 2, 5), input_c=fed(1, 2, 5), params=fed(None)),
        lambda: r.CudnnRNNV3(
            input=fed(7, 2, 3),
            input_h=fed(2, 2, 5),
            input_c=fed(2, 2, 5),
            params=fed(None),
            sequence_lengths=fed(2, dt=tf.int32),
            direction="bidirectional",
        ),
        lambda: r.CudnnRNN(
            input=fed(7, 2, 3), input_h=fed(1, 2, 5), input_c=fed(1, 2, 5), params=fed(None), rnn_mode="gru"
        ),
        lambda: r.BlockLSTM(
            seq_len_max=fed(dt=tf.int64),
            x=fed(7, 2, 3),
            cs_prev=fed(2, 4),
            h_prev=fed(2, 4),
            w=fed(7, 16),
            wci=fed(4),
            wcf=fed(4),
            wco=fed(4),
            b=fed(16),
        ),
        lambda: r.RandomGamma(shape=const([2, 3]), alpha=fed(4)),
        lambda: r.RandomPoissonV2(shape=const([2, 3]), rate=fed(4)),
        lambda: r.StatelessRandomUniform(shape=const([2, 3]), seed=const([1, 2])),
        lambda: r.StatelessRandomNormalV2(
            shape=const([2, 3]), key=fed(1, dt=tf.uint64), counter=fed(2, dt=tf.uint64), alg=const(1)
        ),
        lambda: r.StatelessRandomGammaV2(shape=const([2, 3]), seed=const([1, 2]), alpha=fed(3)),
        lambda: r.StatelessMultinomial(logits=fed(2, 3), num_samples=const(5), seed=const([1, 2])),
        lambda: r.StatelessRandomGetKeyCounter(seed=const([1, 2])),
        lambda: r.ParameterizedTruncatedNormal(
            shape=const([2, 3]), means=fed(2), stdevs=fed(2), minvals=fed(2), maxvals=fed(2)
        ),
        lambda: r.DecodeImage(contents=fed(dt=tf.string), channels=3),
        lambda: r.DecodeImage(contents=fed(dt=tf.string), channels=3, expand_animations=False),
        lambda: r.ImageProjectiveTransformV2(
            images=fed(2, 4, 5, 3), transforms=fed(2, 8), output_shape=const([6, 7]), interpolation="NEAREST"
        ),
        lambda: r.ScaleAndTranslate(
            images=fed(2, 4, 5, 3), size=const([6, 7]), scale=fed(2), translation=fed(2)
        ),
        lambda: r.FractionalMaxPool(value=fed(2, 9, 9, 3), pooling_ratio=[1, 1.4, 1.7, 1]),
        lambda: r.NonMaxSuppressionV4(
            boxes=fed(9, 4), scores=fed(9), max_output_size=const(5), iou_threshold=0.5, score_threshold=0.5
        ),
        lambda: r.NonMaxSuppressionV4(
            boxes=fed(9, 4),
            scores=fed(9),
            max_output_size=const(5),
            iou_threshold=0.5,
            score_threshold=0.5,
            pad_to_max_output_size=True,
        ),
        lambda: r.NonMaxSuppressionV5(
            boxes=fed(9, 4),
            scores=fed(9),
            max_output_size=const(5),
            iou_threshold=0.5,
            score_threshold=0.5,
            soft_nms_sigma=0.0,
        ),
        lambda: r.NonMaxSuppressionWithOverlaps(
            overlaps=fed(9, 9),
            scores=fed(9),
            max_output_size=const(5),
            overlap_threshold=0.5,
            score_threshold=0.5,
        ),
        lambda: r.CombinedNonMaxSuppression(
            boxes=fed(2, 9, 1, 4),
            scores=fed(2, 9, 3),
            max_output_size_per_class=const(5),
            max_total_size=const(7),
            iou_threshold=0.5,
            score_threshold=0.5,
        ),
        lambda: r.Eig(input=fed(2, 3, 3), Tout=tf.complex64),
        lambda: r.Lu(input=fed(2, 3, 3)),
        lambda: r.MatrixSolveLs(
            matrix=fed(2, 5, 3), rhs=fed(2, 5, 4), l2_regularizer=tf.constant(0.0, tf.float64)
        ),
        lambda: r.TridiagonalSolve(diagonals=fed(2, 3, 5), rhs=fed(2, 5, 4)),
        lambda: r.TridiagonalMatMul(
            superdiag=fed(2, 1, 5), maindiag=fed(2, 1, 5), subdiag=fed(2, 1, 5), rhs=fed(2, 5, 4)
        ),
        lambda: r.HistogramFixedWidth(values=fed(7), value_range=fed(2), nbins=const(9)),
        lambda: r.DenseBincount(input=fed(3, 7, dt=tf.int32), size=const(9), weights=fed(0)),
        lambda: r.NthElement(input=fed(3, 7), n=const(2)),
        lambda: r.SparseSegmentSumGrad(
            grad=fed(3, 4), indices=fed(5, dt=tf.int32), segment_ids=fed(5, dt=tf.int32), output_dim0=const(9)
        ),
        lambda: r.SparseSegmentMeanGradV2(
            grad=fed(3, 4),
            indices=fed(5, dt=tf.int32),
            segment_ids=fed(5, dt=tf.int32),
            dense_output_dim0=const(9),
        ),
        lambda: r.RaggedRange(
            starts=fed(4, dt=tf.int32), limits=fed(4, dt=tf.int32), deltas=fed(dt=tf.int32)
        ),
        lambda: r.RaggedRange(starts=fed(dt=tf.int32), limits=fed(dt=tf.int32), deltas=fed(dt=tf.int32)),
        lambda: r.RaggedGather(
            params_nested_splits=[fed(4, dt=tf.int64)],
            params_dense_values=fed(9, 3),
            indices=fed(5, dt=tf.int64),
            OUTPUT_RAGGED_RANK=1,
        ),
        lambda: r.RaggedTensorToSparse(
            rt_nested_splits=[fed(4, dt=tf.int64), fed(7, dt=tf.int64)], rt_dense_values=fed(9, 3)
        ),
        *(
            lambda shape=shape, partition=partition: r.RaggedTensorToTensor(
                shape=shape(),
                values=fed(None, 3),
                default_value=fed(),
                row_partition_tensors=[tensor() for tensor in partition.values()],
                row_partition_types=list(partition),
            )
            for shape in (
                lambda: tf.constant([-1, -1, 3], tf.int64),
                lambda: tf.constant([4, 7, -1], tf.int64),
                lambda: tf.constant(-1, tf.int64),
                lambda: fed(3, dt=tf.int64),
            )
            for partition in (
                {"ROW_SPLITS": lambda: fed(5, dt=tf.int64)},
                {
                    "FIRST_DIM_SIZE": lambda: const(4, tf.int64),
                    "VALUE_ROWIDS": lambda: fed(None, dt=tf.int64),
                },
            )
        ),
        lambda: r.RaggedTensorToVariant(
            rt_nested_splits=[fed(4, dt=tf.int64)], rt_dense_values=fed(9, 3), batched_input=True
        ),
        lambda: r.RaggedTensorToVariant(
            rt_nested_splits=[fed(4, dt=tf.int64)], rt_dense_values=fed(9, 3), batched_input=False
        ),
        lambda: r.SparseCrossV2(
            indices=[fed(None, 2, dt=tf.int64)],
            values=[fed(None, dt=tf.int64)],
            shapes=[fed(2, dt=tf.int64)],
            dense_inputs=[],
            sep=tf.constant("x"),
        ),
        lambda: r.DeserializeSparse(serialized_sparse=fed(3, dt=tf.string), dtype=tf.float32),
        lambda: r.DeserializeManySparse(serialized_sparse=fed(5, 3, dt=tf.string), dtype=tf.float32),
        lambda: r.SerializeSparse(
            sparse_indices=fed(5, 2, dt=tf.int64), sparse_values=fed(5), sparse_shape=fed(2, dt=tf.int64)
        ),
        lambda: r.SerializeManySparse(
            sparse_indices=fed(5, 2, dt=tf.int64), sparse_values=fed(5), sparse_shape=fed(2, dt=tf.int64)
        ),
        lambda: r.UnicodeDecode(input=fed(3, dt=tf.string), input_encoding="UTF-8"),
        lambda: r.UnicodeDecodeWithOffsets(input=fed(3, dt=tf.string), input_encoding="UTF-8"),
        lambda: r.UnicodeEncode(
            input_values=fed(9, dt=tf.int32), input_splits=fed(4, dt=tf.int64), output_encoding="UTF-8"
        ),
        lambda: r.StringNGrams(
            data=fed(9, dt=tf.string),
            data_splits=fed(4, dt=tf.int64),
            separator="",
            ngram_widths=[2],
            left_pad="",
            right_pad="",
            pad_width=0,
            preserve_short_sequences=False,
        ),
        lambda: r.Bucketize(input=fed(3, 4), boundaries=[1.0, 2.0]),
        lambda: r.CumulativeLogsumexp(x=fed(3, 4), axis=const(0)),
        lambda: r.InplaceUpdate(x=fed(3, 4), i=fed(2, dt=tf.int32), v=fed(2, 4)),
        lambda: r.TensorScatterMax(tensor=fed(3, 4), indices=fed(2, 1, dt=tf.int32), updates=fed(2, 4)),
        lambda: r.BiasAddV1(value=fed(3, 4), bias=fed(4)),
        lambda: r.Xlog1py(x=fed(3, 4), y=fed(4)),
        lambda: r.FFTND(input=fed(3, 4, dt=tf.complex64), fft_length=const([4]), axes=const([1])),
        lambda: r.MatrixDiagV3(
            diagonal=fed(3, 4), k=const(0), num_rows=const(-1), num_cols=const(-1), padding_value=0.0
        ),
        lambda: r.MatrixDiagPartV3(input=fed(3, 4, 5), k=const([0, 1]), padding_value=0.0),
        lambda: r.MatrixSetDiagV3(input=fed(3, 4, 5), diagonal=fed(3, 4), k=const(0)),
        lambda: r.CTCLossV2(
            inputs=fed(9, 2, 5),
            labels_indices=fed(3, 2, dt=tf.int64),
            labels_values=fed(3, dt=tf.int32),
            sequence_length=fed(2, dt=tf.int32),
        ),
        lambda: r.ApproxTopK(input=fed(3, 9), k=4),
        lambda: r.SegmentSumV2(data=fed(9, 3), segment_ids=fed(9, dt=tf.int32), num_segments=const(4)),
        lambda: r.QuantizedConv2D(
            input=fed(2, 9, 9, 3, dt=tf.quint8),
            filter=fed(3, 3, 3, 8, dt=tf.quint8),
            min_input=fed(),
            max_input=fed(),
            min_filter=fed(),
            max_filter=fed(),
            strides=[1, 1, 1, 1],
            padding="SAME",
        ),
        lambda: r.QuantizedMatMul(
            a=fed(2, 3, dt=tf.quint8),
            b=fed(3, 4, dt=tf.quint8),
            min_a=fed(),
            max_a=fed(),
            min_b=fed(),
            max_b=fed(),
        ),
        lambda: r.QuantizedMaxPool(
            input=fed(2, 8, 8, 3, dt=tf.quint8),
            min_input=fed(),
            max_input=fed(),
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="SAME",
        ),
        lambda: r.QuantizedReshape(
            tensor=fed(2, 8, dt=tf.quint8), shape=const([4, 4]), input_min=fed(), input_max=fed()
        ),
        lambda: r.QuantizedRelu(features=fed(2, 8, dt=tf.quint8), min_features=fed(), max_features=fed()),
        lambda: r.QuantizedAdd(
            x=fed(2, 8, dt=tf.quint8),
            y=fed(8, dt=tf.quint8),
            min_x=fed(),
            max_x=fed(),
            min_y=fed(),
            max_y=fed(),
        ),
        lambda: r.QuantizedConcat(
            concat_dim=const(0),
            values=[fed(2, 8, dt=tf.quint8), fed(3, 8, dt=tf.quint8)],
            input_mins=[fed(), fed()],
            input_maxes=[fed(), fed()],
        ),
        lambda: r.QuantizedResizeBilinear(images=fed(2, 4, 4, 3), size=const([8, 8]), min=fed(), max=fed()),
        lambda: r.Conv2DBackpropInputV2(
            input=fed(2, 8, 8, 3),
            filter=fed(3, 3, 3, 4),
            out_backprop=fed(2, 8, 8, 4),
            strides=[1, 1, 1, 1],
            padding="SAME",
        ),
        lambda: r.ExtractGlimpseV2(input=fed(2, 8, 8, 3), size=const([4, 5]), offsets=fed(2, 2)),
        lambda: r.EmptyTensorList(
            element_shape=const([2, 3]), max_num_elements=const(5), element_dtype=tf.float32
        ),
        lambda: r.TensorListStack(
            input_handle=r.TensorListReserve(
                element_shape=const([2, 3]), num_elements=const(5), element_dtype=tf.float32
            ),
            element_shape=const([2, 3]),
            element_dtype=tf.float32,
        ),
        lambda: r.TensorListStack(
            input_handle=r.TensorListFromTensor(tensor=fed(4, 2, 3), element_shape=const([-1, 3])),
            element_shape=const(-1),
            element_dtype=tf.float32,
        ),
        lambda: r.TensorListGetItem(
            input_handle=r.TensorListFromTensor(tensor=fed(4, 2, 3), element_shape=const([2, 3])),
            index=const(0),
            element_shape=const([-1, 3]),
            element_dtype=tf.float32,
        ),
        lambda: r.TensorListGather(
            input_handle=r.TensorListFromTensor(tensor=fed(4, 2, 3), element_shape=const([2, 3])),
            indices=const([0, 1]),
            element_shape=const([-1, 3]),
            element_dtype=tf.float32,
        ),
        lambda: r.TensorListConcatV2(
            input_handle=r.TensorListFromTensor(tensor=fed(4, 2, 3), element_shape=const([2, 3])),
            element_shape=const([-1, 3]),
            leading_dims=fed(0, dt=tf.int64),
            element_dtype=tf.float32,
        ),
        lambda: r.TensorListPopBack(
            input_handle=r.TensorListFromTensor(tensor=fed(4, 2, 3), element_shape=const([2, 3])),
            element_shape=const([2, 3]),
            element_dtype=tf.float32,
        ),
        lambda: r.ParseExampleV2(
            serialized=fed(4, dt=tf.string),
            names=fed(0, dt=tf.string),
            sparse_keys=const(["a"], tf.string),
            dense_keys=const(["b"], tf.string),
            ragged_keys=const(["c"], tf.string),
            dense_defaults=[fed(3)],
            num_sparse=1,
            sparse_types=[tf.float32],
            ragged_value_types=[tf.float32],
            ragged_split_types=[tf.int32],
            dense_shapes=[[3]],
        ),
        lambda: r.BesselJ0(x=fed(2, 3)),
        lambda: r.Ndtri(x=fed(2, 3)),
        lambda: r.StatefulStandardNormalV2(
            resource=r.VarHandleOp(dtype=tf.int64, shape=[3]),
            algorithm=const(1, tf.int64),
            shape=const([2, 3]),
        ),
        lambda: r.RandomGammaGrad(alpha=fed(2, 1), sample=fed(2, 3)),
        lambda: r.SparseMatrixZeros(dense_shape=const([2, 3], tf.int64), type=tf.float32),
        lambda: r.UpperBound(sorted_inputs=fed(2, 5), values=fed(2, 3)),
        lambda: r.ResourceCountUpTo(resource=r.VarHandleOp(dtype=tf.int64, shape=[]), limit=3, T=tf.int64),
    ]
