"""Work of ops by their sizes: flops, bytes and launches counted by hand."""

import pytest

from gpuplace.dtypes import float32, int32, int64, resource, variant
from gpuplace.graph.op_def import op_registry
from gpuplace.kernels.work import models
from gpuplace.kernels.work.find import has_model, work_of
from gpuplace.kernels.work.models import Task
from gpuplace.kernels.work.record import Convolution, Product, Recurrence
from gpuplace.release import RELEASES

F = 4
"""Bytes of a float32."""


def work(op_type, ins, outs, attrs=None, types=None, out_types=None):
    ins, outs = tuple(ins), tuple(outs)
    return work_of(
        Task(
            op_type,
            attrs or {},
            ins,
            tuple(types or [float32] * len(ins)),
            outs,
            tuple(out_types or [float32] * len(outs)),
        )
    )


def test_models_are_of_ops_that_there_are():
    known = {name for release in RELEASES for name in op_registry(release).names()}
    assert {*models._models, *models._flops} <= known


@pytest.mark.parametrize(
    ("attrs", "left", "right", "m_n_k_batch"),
    [
        ({}, (64, 784), (784, 10), (64, 10, 784, 1)),
        ({"transpose_a": True}, (784, 64), (784, 10), (64, 10, 784, 1)),
        ({"transpose_b": True}, (64, 784), (10, 784), (64, 10, 784, 1)),
        ({"adj_y": True}, (3, 2, 5, 7), (3, 2, 4, 7), (5, 4, 7, 6)),
        ({}, (3, 5, 7), (7, 4), (15, 4, 7, 1)),
        ({}, (1, 5, 7), (6, 7, 4), (5, 4, 7, 6)),
    ],
)
def test_products(attrs, left, right, m_n_k_batch):
    m, n, k, batch = m_n_k_batch
    found = work("BatchMatMulV2" if len(left) > 2 else "MatMul", [left, right], [(batch * m, n)], attrs)
    kernel = found.kernel
    assert isinstance(kernel, Product) and (kernel.m, kernel.n, kernel.k, kernel.batch) == m_n_k_batch
    assert found.flops == 2 * m * n * k * batch and found.launches == 1 and found.model == "product"


@pytest.mark.parametrize(
    ("equation", "ins", "flops", "m_n_k_batch"),
    [
        ("ij,jk->ik", [(2, 3), (3, 5)], 2 * 2 * 3 * 5, (2, 5, 3, 1)),
        ("bhid,bhjd->bhij", [(2, 4, 8, 6), (2, 4, 9, 6)], 2 * 2 * 4 * 8 * 9 * 6, (8, 9, 6, 8)),
        ("...ij,jk->...ik", [(7, 2, 3), (3, 5)], 2 * 7 * 2 * 3 * 5, (14, 5, 3, 1)),
        ("ab->ba", [(3, 4)], 12, None),
    ],
)
def test_einsum(equation, ins, flops, m_n_k_batch):
    found = work("Einsum", ins, [(1,)], {"equation": equation.encode()})
    assert found.flops == flops
    if m_n_k_batch is not None:
        assert (found.kernel.m, found.kernel.n, found.kernel.k, found.kernel.batch) == m_n_k_batch


IMAGES, FILTER, WINDOWS = (8, 32, 32, 16), (3, 3, 16, 24), (8, 16, 16, 24)
STRIDED = {"strides": (1, 2, 2, 1), "data_format": b"NHWC", "padding": b"SAME"}
MACS = 8 * 16 * 16 * 24 * 3 * 3 * 16


@pytest.mark.parametrize(
    ("op_type", "ins", "out", "direction"),
    [
        ("Conv2D", [IMAGES, FILTER], WINDOWS, "forward"),
        ("Conv2DBackpropInput", [(4,), FILTER, WINDOWS], IMAGES, "backward_input"),
        ("Conv2DBackpropFilter", [IMAGES, (4,), WINDOWS], FILTER, "backward_filter"),
    ],
)
def test_convolutions(op_type, ins, out, direction):
    types = [int32 if len(one) == 1 else float32 for one in ins]
    found = work(op_type, ins, [out], STRIDED, types)
    assert found.kernel == Convolution(direction, 8, 16, 24, 32, 32, 3, 3, 16, 16, 2, 2)
    assert found.flops == 2 * MACS
    turned = 2 * F * (8 * 32 * 32 * 16 + 8 * 16 * 16 * 24 + 3 * 3 * 16 * 24)
    assert found.gpu_bytes == turned and found.gpu_launches == 3


def test_convolutions_of_other_forms():
    attrs = {"strides": (1, 1, 1, 1), "data_format": b"NCHW", "dilations": (1, 1, 2, 2)}
    first = work("Conv2D", [(8, 16, 32, 32), FILTER], [(8, 24, 28, 28)], attrs)
    assert first.kernel.data_format == "NCHW" and first.kernel.dilation_height == 2
    assert first.gpu_bytes == 2 * F * 3 * 3 * 16 * 24 and first.gpu_launches == 1
    point = work("Conv2D", [IMAGES, (1, 1, 16, 24)], [(8, 32, 32, 24)], {"strides": (1, 1, 1, 1)})
    assert point.kernel == Product(8 * 32 * 32, 24, 16) and point.gpu_launches == 0
    depthwise = work(
        "DepthwiseConv2dNative", [IMAGES, (3, 3, 16, 2)], [(8, 32, 32, 32)], {"strides": (1, 1, 1, 1)}
    )
    assert depthwise.flops == 2 * 8 * 32 * 32 * 32 * 9 and depthwise.kernel.groups == 16
    volume = work(
        "Conv3D",
        [(2, 8, 8, 8, 4), (3, 3, 3, 4, 6)],
        [(2, 4, 8, 8, 6)],
        {"strides": (1, 2, 1, 1, 1), "data_format": b"NDHWC"},
    )
    assert volume.flops == 2 * 2 * 4 * 8 * 8 * 6 * 27 * 4 and volume.kernel.depth == 4 * 3


def test_batch_normalization_goes_over_its_images_again_and_again():
    images, channels = (8, 32, 32, 16), (16,)
    nbytes = F * 8 * 32 * 32 * 16
    small = F * 16
    ins = [images, channels, channels, channels, channels]
    outs = [images, channels, channels, channels, channels]
    training = work("FusedBatchNorm", ins, outs, {"is_training": True, "data_format": b"NCHW"})
    assert training.bytes_read == 2 * nbytes + 2 * small and training.bytes_written == nbytes + 4 * small
    assert training.gpu_bytes == 0
    assert work("FusedBatchNorm", ins, outs, {"is_training": True}).gpu_bytes == 2 * 2 * nbytes
    inference = work("FusedBatchNorm", ins, outs, {"is_training": False})
    assert inference.bytes_read == nbytes + 4 * small
    gradient = work(
        "FusedBatchNormGrad",
        [images, images, channels, channels, channels],
        [images, channels, channels, (0,), (0,)],
    )
    assert gradient.bytes_read == 4 * nbytes and gradient.model == "normalization"


def test_only_touched_rows_of_a_table_count():
    table, indices, rows = (100_000, 64), (32,), (32, 64)
    gathered = work("GatherV2", [table, indices, ()], [rows], types=[float32, int32, int32])
    assert gathered.nbytes == 2 * F * 32 * 64 + F * 32
    resource_gathered = work("ResourceGather", [(), indices], [rows], types=[resource, int32])
    assert resource_gathered.nbytes == gathered.nbytes
    scattered = work("ScatterAdd", [table, indices, rows], [table], types=[float32, int32, float32])
    assert scattered.nbytes == 3 * F * 32 * 64 + F * 32
    applied = work(
        "SparseApplyAdagrad", [table, table, (), rows, indices], [table], types=[float32] * 4 + [int32]
    )
    assert applied.bytes_read == 3 * F * 32 * 64 and applied.bytes_written == 2 * F * 32 * 64


@pytest.mark.parametrize(
    ("op_type", "slots", "launches"),
    [
        ("ApplyGradientDescent", 1, 1),
        ("ApplyMomentum", 2, 2),
        ("ApplyAdam", 3, 1),
        ("ApplyCenteredRMSProp", 4, 4),
    ],
)
def test_optimizers(op_type, slots, launches):
    shape, nbytes = (50, 20), F * 1000
    found = work(op_type, [shape] * slots + [()] * 3 + [shape], [shape])
    assert (found.bytes_read, found.bytes_written) == ((slots + 1) * nbytes, slots * nbytes)
    assert found.launches == launches and found.model == "update"
    by_handle = work(
        f"Resource{op_type}", [()] * slots + [()] * 3 + [shape], [], types=[resource] * slots + [float32] * 4
    )
    assert (by_handle.bytes_read, by_handle.bytes_written) == (found.bytes_read, found.bytes_written)


@pytest.mark.parametrize(
    ("op_type", "ins", "outs", "attrs"),
    [
        ("Identity", [(5, 5)], [(5, 5)], {}),
        ("Reshape", [(5, 5), (1,)], [(25,)], {}),
        ("Switch", [(5, 5), ()], [(5, 5), (5, 5)], {}),
        ("Const", [], [(5, 5)], {}),
        ("ReadVariableOp", [()], [(5, 5)], {}),
        ("Cast", [(5, 5)], [(5, 5)], {}),
        ("Transpose", [(1, 25), (2,)], [(25, 1)], {}),
        ("Slice", [(8, 16), (2,), (2,)], [(3, 16)], {}),
        ("Unpack", [(4, 16)], [(16,)] * 4, {"axis": 0}),
        ("Split", [(), (4, 16)], [(2, 16)] * 2, {}),
        ("AddN", [(5, 5)], [(5, 5)], {}),
    ],
)
def test_what_moves_nothing(op_type, ins, outs, attrs):
    found = work(op_type, ins, outs, attrs)
    assert (found.nbytes, found.launches, found.model) == (0, 0, "none")


def test_what_looks_alike_and_moves():
    assert work("Slice", [(8, 15), (2,), (2,)], [(3, 15)]).nbytes == 2 * F * 45  # rows that are not aligned
    assert work("Slice", [(8, 16), (2,), (2,)], [(8, 4)]).launches == 1
    assert work("Unpack", [(16, 4)], [(16,)] * 4, {"axis": 1}).launches == 1
    assert work("Transpose", [(2, 25), (2,)], [(25, 2)]).model == "transpose"


def test_passes_over_memory():
    logits, labels = (64, 1000), (64,)
    nbytes = F * 64_000
    softmax = work("Softmax", [logits], [logits])
    assert (softmax.bytes_read, softmax.bytes_written, softmax.launches) == (3 * nbytes, nbytes, 3)
    loss = work(
        "SparseSoftmaxCrossEntropyWithLogits", [logits, labels], [labels, logits], types=[float32, int32]
    )
    assert (loss.bytes_read, loss.launches) == (4 * nbytes, 4)
    assert work("Sum", [(1000, 1000), (2,)], [()]).launches == 2
    assert work("Sum", [(1000, 100), (1,)], [(1000,)]).launches == 1
    many = work("AddN", [logits] * 20, [logits])
    assert many.launches == 3 and many.flops == 19 * 64_000
    assert work("Tanh", [logits], [logits]).flops > work("Relu", [logits], [logits]).flops == 64_000


def test_recurrent_layers():
    attrs = {"rnn_mode": b"lstm", "direction": b"unidirectional"}
    found = work("CudnnRNN", [(20, 8, 32), (2, 8, 64), (2, 8, 64), (50_000,)], [(20, 8, 64)], attrs)
    assert found.kernel == Recurrence("lstm", "forward", 64, 8, 20, 32, 2)
    assert found.flops == 20 * 2 * 8 * 4 * 64 * ((32 + 64) + (64 + 64))


def test_tensors_without_elements_and_sizes_that_do_not_fit():
    assert work("MatMul", [(0, 4), (4, 3)], [(0, 3)]).launches == 0
    misfit = work("MatMul", [(), ()], [(2, 2)])
    assert misfit.is_guess and "do not match" in misfit.assumed[0]


def test_an_op_without_a_model_has_its_bytes():
    found = work("SdcaShrinkL1", [(10,)], [(20,)])
    assert (found.model, found.nbytes, found.is_guess) == ("guess", 120, True)


def test_an_op_that_makes_a_handle_moves_nothing():
    found = work("BatchDataset", [(), ()], [()], types=[variant, int64], out_types=[variant])
    assert (found.model, found.nbytes) == ("none", 0)


@pytest.mark.parametrize(("release", "share"), [("1.15", 0.69), ("2.21", 0.6)])
def test_most_ops_have_a_model(release, share):
    names = op_registry(release).names()
    assert sum(map(has_model, names)) > share * len(names)
