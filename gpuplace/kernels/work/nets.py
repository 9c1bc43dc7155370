"""Work of neural-network layers that are not products: pooling, normalization, recurrent cells.

Batch normalization is memory-bound, so the number of passes over the images matters. In training, the library reads
them for mean and variance, and again to normalize. The gradient reads images and gradients twice.

Source: tensorflow/core/kernels/fused_batch_norm_op.cc, lrn_op.cc, maxpooling_op.cc, avgpooling_op.cc, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.kernels.work.convolutions import channels_first
from gpuplace.kernels.work.models import Task, work_model
from gpuplace.kernels.work.record import Product, Recurrence, Work


def _turned(task: Task, *images: float) -> dict[str, Any]:
    """Return the additional bytes that a GPU moves to transpose NHWC tensors of these sizes."""
    if channels_first(task):
        return {}
    return {"gpu_bytes": 2.0 * sum(images), "gpu_launches": len(images)}


def _window(task: Task) -> int:
    return math.prod(int(size) for size in task.attrs.get("ksize") or (1,))


@work_model(
    "MaxPool", "MaxPoolWithArgmax", "MaxPool3D", "MaxPoolV2", "QuantizedMaxPool", "_MklMaxPool", "RiscPool"
)
@work_model(
    "FractionalMaxPool", "FractionalAvgPool", "_QuantizedMaxPool3D", "_MklNativeMaxPool", "_MklMaxPool3D"
)
def _max_pool(task: Task) -> Work:
    """Count a pooling; overlapping windows find their common elements in a cache."""
    return task.work("pooling", float(_window(task) * task.out_count()), read=task.in_bytes(0))


@work_model("AvgPool", "AvgPool3D", "QuantizedAvgPool", "_MklAvgPool", "_MklNativeAvgPool", "_MklAvgPool3D")
def _average_pool(task: Task) -> Work:
    return task.work(
        "pooling",
        float(_window(task) * task.out_count()),
        read=task.in_bytes(0),
        **_turned(task, task.in_bytes(0), task.out_bytes()),
    )


@work_model(
    "MaxPoolGrad",
    "MaxPoolGradV2",
    "MaxPool3DGrad",
    "MaxPoolGradGrad",
    "MaxPool3DGradGrad",
    "MaxPoolGradGradV2",
)
@work_model("FractionalMaxPoolGrad", "_MklMaxPoolGrad", "_MklNativeMaxPoolGrad")
def _max_pool_gradient(task: Task) -> Work:
    images, pooled, grads = task.in_bytes(0), task.in_bytes(1), task.in_bytes(2)
    return task.work(
        "pooling",
        float(_window(task) * task.in_count(1)),
        read=images + pooled + grads,
        **_turned(task, images, pooled, grads, task.out_bytes()),
    )


@work_model("MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax")
def _max_pool_gradient_by_place(task: Task) -> Work:
    return task.work("scatter", float(task.in_count(1)), read=task.in_bytes(1) + task.in_bytes(2), launches=2)


@work_model(
    "AvgPoolGrad", "AvgPool3DGrad", "FractionalAvgPoolGrad", "_MklAvgPoolGrad", "_MklNativeAvgPoolGrad"
)
def _average_pool_gradient(task: Task) -> Work:
    """Count a gradient that only needs the shape of the images."""
    return task.work("pooling", float(_window(task) * task.in_count(1)), read=task.in_bytes(1))


@work_model(
    "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx", "_MklFusedBatchNorm"
)
@work_model("_MklFusedBatchNormV3", "_MklNativeFusedBatchNorm", "_MklNativeFusedBatchNormV3")
def _batch_norm(task: Task) -> Work:
    images = task.in_bytes(0)
    small = task.in_bytes(1) + task.in_bytes(2)
    if not task.attrs.get("is_training", True):
        return task.work(
            "normalization", 2.0 * task.in_count(0), read=images + 2 * small, written=task.out_bytes()
        )
    return task.work(
        "normalization",
        6.0 * task.in_count(0),
        read=2 * images + small,
        written=task.out_bytes() + 2 * small,
        **_turned(task, images, task.out_bytes()),
    )


@work_model("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", "_FusedBatchNormGradEx")
@work_model("_MklFusedBatchNormGrad", "_MklFusedBatchNormGradV3", "_MklNativeFusedBatchNormGrad")
def _batch_norm_gradient(task: Task) -> Work:
    grads, images = task.in_bytes(0), task.in_bytes(1)
    return task.work(
        "normalization",
        11.0 * task.in_count(0),
        read=2 * (grads + images),
        written=task.out_bytes(),
        **_turned(task, grads, images, task.out_bytes()),
    )


@work_model(
    "BatchNormWithGlobalNormalization", "QuantizedBatchNormWithGlobalNormalization", "QuantizedInstanceNorm"
)
def _old_batch_norm(task: Task) -> Work:
    return task.work("normalization", 5.0 * task.in_count(0))


@work_model("BatchNormWithGlobalNormalizationGrad")
def _old_batch_norm_gradient(task: Task) -> Work:
    return task.work("normalization", 12.0 * task.in_count(0), read=3 * task.read, launches=4)


@work_model("LRN")
def _local_response(task: Task) -> Work:
    depth = 2 * int(task.attrs.get("depth_radius", 5)) + 1
    images = task.in_bytes(0)
    return task.work(
        "normalization", float((2 * depth + 30) * task.in_count(0)), **_turned(task, images, task.out_bytes())
    )


@work_model("LRNGrad")
def _local_response_gradient(task: Task) -> Work:
    depth = 2 * int(task.attrs.get("depth_radius", 5)) + 1
    nbytes = task.in_bytes(0)
    return task.work(
        "normalization",
        float((5 * depth + 60) * task.in_count(0)),
        **_turned(task, nbytes, nbytes, nbytes, nbytes),
    )


# Recurrent layers


@work_model("LSTMBlockCell")
def _lstm_cell(task: Task) -> Work:
    """Count one product of ``[x, h]`` with all weights after concatenation, and one kernel for the gates."""
    rows, (inputs, gates) = task.in_sizes[0][0], task.in_sizes[3]
    kernel = Product(rows, gates, inputs)
    together = rows * inputs * task.out_types[0].size
    return task.work(
        "recurrence",
        2.0 * rows * gates * inputs + 15.0 * rows * gates,
        read=task.read + together,
        written=task.written + together,
        launches=3,
        kernel=kernel,
    )


@work_model("LSTMBlockCellGrad")
def _lstm_cell_gradient(task: Task) -> Work:
    return task.work("recurrence", 20.0 * sum(map(task.out_count, range(len(task.out_sizes)))), launches=1)


@work_model("GRUBlockCell")
def _gru_cell(task: Task) -> Work:
    rows = task.in_sizes[0][0]
    weights = task.in_count(2) + task.in_count(3)
    inputs = task.in_sizes[2][0]
    return task.work(
        "recurrence",
        2.0 * rows * weights + 15.0 * 3 * task.in_count(1),
        launches=6,
        kernel=Product(rows, weights // max(1, inputs), inputs),
    )


@work_model("GRUBlockCellGrad")
def _gru_cell_gradient(task: Task) -> Work:
    rows = task.in_sizes[0][0]
    weights = task.in_count(2) + task.in_count(3)
    inputs = task.in_sizes[2][0]
    return task.work(
        "recurrence",
        2.0 * rows * weights,
        launches=8,
        kernel=Product(rows, inputs, weights // max(1, inputs), transpose_b=True),
    )


@work_model("BlockLSTM", "BlockLSTMV2")
def _block_lstm(task: Task) -> Work:
    """Count a product and the gates for each step."""
    steps, rows, _ = task.in_sizes[1]
    inputs, gates = task.in_sizes[4]
    weights = task.in_bytes(4)
    return task.work(
        "recurrence",
        steps * (2.0 * rows * gates * inputs + 15.0 * rows * gates),
        read=task.in_bytes(1) + steps * weights,
        launches=3 * steps,
        kernel=Product(rows, gates, inputs, batch=steps),
    )


@work_model("BlockLSTMGrad", "BlockLSTMGradV2")
def _block_lstm_gradient(task: Task) -> Work:
    """Count two products for each step: for the gradients of the inputs and of the weights."""
    steps, rows, _ = task.in_sizes[1]
    inputs, gates = task.in_sizes[4]
    weights = task.in_bytes(4)
    return task.work(
        "recurrence",
        steps * (4.0 * rows * gates * inputs + 30.0 * rows * gates),
        read=task.read + 2 * steps * weights,
        written=task.written + steps * weights,
        launches=6 * steps,
        kernel=Product(rows, gates, inputs, batch=2 * steps),
    )


_CELLS = {b"lstm": "lstm", b"gru": "gru"}


def _layers(task: Task, backward: bool) -> Work:
    time_major = bool(task.attrs.get("time_major", True))
    steps, batch, inputs = task.in_sizes[0]
    if not time_major:
        steps, batch = batch, steps
    hidden = task.in_sizes[1][-1]
    directions = 2 if task.attrs.get("direction") == b"bidirectional" else 1
    mode = task.attrs.get("rnn_mode", b"lstm")
    cell: Any = _CELLS.get(mode if isinstance(mode, bytes) else str(mode).encode(), "vanilla")
    gates = {"lstm": 4, "gru": 3}.get(cell, 1)
    layers = max(1, task.in_sizes[1][0] // directions)
    flops, width = 0.0, inputs
    for _ in range(layers):
        flops += directions * steps * 2.0 * batch * gates * hidden * (width + hidden)
        width = directions * hidden
    kernel = Recurrence(
        cell, "backward" if backward else "forward", hidden, batch, steps, inputs, layers * directions
    )
    weights = task.in_bytes(3)
    return task.work(
        "recurrence",
        (2 if backward else 1) * flops,
        read=task.read + (steps - 1) * weights * (2 if backward else 1),
        launches=2 * steps * layers,
        kernel=kernel,
    )


@work_model("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
def _cudnn(task: Task) -> Work:
    return _layers(task, False)


@work_model("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3")
def _cudnn_gradient(task: Task) -> Work:
    return _layers(task, True)


@work_model("CudnnRNNCanonicalToParams", "CudnnRNNCanonicalToParamsV2", "CudnnRNNParamsToCanonical")
@work_model("CudnnRNNParamsToCanonicalV2")
def _parameters(task: Task) -> Work:
    copied = task.written
    return task.work(
        "move", read=copied, written=copied, launches=max(len(task.in_sizes), len(task.out_sizes)) - 1
    )
