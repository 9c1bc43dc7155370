"""Times of kernels on GPUs: against measured tables that the model has not seen, and by what must hold of any GPU."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gpuplace.cost.kernel_times import products, recurrences
from gpuplace.cost.kernel_times.generations import computed_weight, library_of, rates_of, similarity
from gpuplace.cost.kernel_times.gpu_times import KernelTimes, measured_kinds
from gpuplace.cost.kernel_times.measured import gpus, measured_table
from gpuplace.device.gpu_models import GPU_MODELS, find_model
from gpuplace.errors import InvalidArgumentError
from gpuplace.kernels.work.record import Convolution, Product, Recurrence, Work
from tests.benchmarks.net_passes import PASSES, seconds_of_passes
from tests.cost.judging import WAYS, classes, judged, pooled, roofline

# Bounds of the median and the 90th percentile of |error| on all GPUs, and on each, of what the model has not seen.
BOUNDS = {
    (Product, "GPU left out"): (0.08, 0.30, 0.12, 0.60),
    (Product, "both left out"): (0.12, 0.42, 0.16, 0.62),
    (Product, "generation left out"): (0.17, 0.50, 0.22, 0.60),
    (Convolution, "GPU left out"): (0.07, 0.25, 0.16, 0.40),
    (Convolution, "both left out"): (0.15, 0.42, 0.19, 0.45),
    (Convolution, "generation left out"): (0.20, 0.48, 0.25, 0.55),
    (Recurrence, "GPU left out"): (0.06, 0.20, 0.17, 0.35),
    (Recurrence, "both left out"): (0.14, 0.45, 0.18, 0.55),
}


@pytest.mark.parametrize(("kind", "way"), BOUNDS)
def test_what_was_left_out_is_predicted(kind, way):
    found = judged(kind, way)
    errors, sheet = pooled(found), pooled(roofline(kind))
    median, p90, worst_median, worst_p90 = BOUNDS[kind, way]
    assert errors.median < median and errors.p90 < p90, (errors.median, errors.p90)
    assert errors.median < sheet.median / 2.5 and way in WAYS
    for on_gpu in found:
        assert on_gpu.median < worst_median and on_gpu.p90 < worst_p90, on_gpu.gpu


def test_errors_have_no_sign_on_average_and_no_class_hides_others():
    """The classes of the benchmark hold all calls; large calls, which take most of the time, are predicted best."""
    for kind in (Product, Convolution):
        members = classes(kind)
        assert np.logical_or.reduce(list(members.values())).all()
        assert abs(pooled(judged(kind, "GPU left out")).mean) < 0.05
        for name, rows in members.items():
            on_all = pooled(judged(kind, "GPU left out", rows))
            assert on_all.median < 0.12 and on_all.p90 < 0.45, (name, on_all.median, on_all.p90)
    large = pooled(judged(Product, "GPU left out", classes(Product)["large"]))
    assert large.median < 0.05 and large.p90 < 0.25


def product(m, n, k, dtype="float32", batch=1, **transposed):
    return Work(dtype, 2.0 * m * n * k * batch, 4.0, 4.0, kernel=Product(m, n, k, batch, **transposed))


def convolution(direction, batch, channels, filters, size, window, stride=1, dtype="float32", groups=1):
    out = -(-size // stride)
    kernel = Convolution(
        direction,
        batch,
        channels,
        filters,
        size,
        size,
        window,
        window,
        out,
        out,
        stride,
        stride,
        groups=groups,
    )
    return Work(
        dtype, 2.0 * batch * channels * filters * out * out * window**2 / groups, 4.0, 4.0, kernel=kernel
    )


@cache
def model(library=None):
    return KernelTimes(library)


def seconds(work, gpu, library=None):
    return float(model(library).seconds([work], find_model(gpu))[0])


def test_squares_on_a_k40_are_predicted_without_any_kepler_table():
    """GFLOP/s of cuBLAS 7.5 at 875 MHz. Source: clBLAS, doc/performance/cuBLAS_7.5/Tesla_K40/cublas_sgemm_8.csv."""
    measured = {
        256: 731.8,
        512: 1386.6,
        768: 2068.9,
        1024: 2273.4,
        1152: 2691.6,
        1280: 3001.7,
        5520: 3038.1,
        5760: 3194.6,
    }
    k40 = find_model("K40")
    boosted = replace(k40, clock_hz=875e6, sustained_clock_hz=875e6, fp32_flops=2 * 2880 * 875e6)
    ratios = [
        2e-9 * size**3 / model().seconds([product(size, size, size, transpose_a=True)], boosted)[0] / rate
        for size, rate in measured.items()
    ]
    assert library_of(k40) == "7.5"
    assert np.median(np.abs(np.array(ratios) - 1)) < 0.12 and 0.65 < min(ratios) < max(ratios) < 1.2


def test_a_measured_gpu_at_a_measured_shape_takes_what_was_measured():
    table = measured_table("gemm")
    works = [
        product(n, m, k, transpose_a=bool(b_t), transpose_b=bool(a_t)) for m, n, k, a_t, b_t in table.shapes
    ]
    for place, name in enumerate(gpus()):
        error = model().seconds(works, find_model(name)) / table.times[:, place] - 1
        known = abs(error[~np.isnan(error)])
        assert np.median(known) < 0.02 and known.max() < 0.3, name


def test_a_table_that_is_left_out_is_not_learned_from():
    kind = measured_kinds()[Product]
    own = model().correction(find_model("T4"), Product)(kind.features)
    without = KernelTimes(without=["T4"]).correction(find_model("T4"), Product)(kind.features)
    known = kind.corrections[:, gpus().index("Tesla T4")]
    there = ~np.isnan(known)
    assert np.median(abs(own - known)[there]) < 0.02 < 0.08 < np.median(abs(without - known)[there])


def tiled(m, n, k, rates, **how):
    sizes = [np.array([float(size)]) for size in (m, n, k)]
    return float(products.tiled_seconds(*sizes, np.zeros(1), rates, **how)[0])


def test_one_tile_more_than_multiprocessors_costs_a_wave():
    rates = rates_of(find_model("V100"), "float32")
    assert rates.sm_count == 80 and rates.boost == 1.0
    times = [tiled(128, 128 * tiles, 64, rates) for tiles in (80, 81, 160, 161)]  # sums too short to cut
    assert times[0] < times[1] == pytest.approx(times[2], rel=0.4) and times[2] == pytest.approx(2 * times[0])
    assert times[3] > times[2]


def test_long_sums_are_cut_where_tiles_are_few():
    rates = rates_of(find_model("V100"), "float32")
    whole, cut = (tiled(128, 128, 64000, rates, is_split=is_split) for is_split in (False, True))
    assert cut < whole / 5
    assert tiled(128, 128, 64, rates) == tiled(128, 128, 64, rates, is_split=False)


def test_a_board_short_of_power_clocks_up_while_few_multiprocessors_work():
    """A T4 runs at 964 MHz under full load and at 1590 MHz at most; its power allows the cube of the clock."""
    rates = rates_of(find_model("T4"), "float32")
    assert rates.boost == pytest.approx(1590 / 964, rel=0.01)
    full, half, one = (tiled(32, 32 * tiles, 64, rates, is_split=False) for tiles in (40, 20, 1))
    assert full / half == pytest.approx(2 ** (1 / 3), rel=1e-6)
    assert full / one == pytest.approx(rates.boost, rel=1e-6)


def test_strided_gradients_leave_out_what_no_window_touches():
    small, large = (
        seconds(convolution("backward_input", 32, 256, 512, 56, 1, stride=stride), "V100")
        for stride in (2, 1)
    )
    assert small < 0.6 * large


def test_inputs_of_recurrent_layers_take_a_product_more():
    """DeepBench measured layers that add their inputs without a product (CUDNN_SKIP_INPUT)."""
    rates = rates_of(find_model("V100"), "float32")
    assert not measured_kinds()[Recurrence].rows[:, recurrences.COLUMNS.index("inputs")].any()
    for backward in (0, 1):
        rows = np.array([(1, backward, 2048, 128, 25, inputs, 1) for inputs in (0, 512, 2048)], float)
        none, some, many = recurrences.seconds(rows, rates)
        assert none < some < many and 1.4 * none < many < 2.2 * none


def test_the_computed_time_counts_where_no_measured_gpu_is_near():
    h100, titan_xp, k40 = (find_model(name) for name in ("H100", "TITAN Xp", "K40"))
    nearest = {gpu: max(similarity(gpu, find_model(name)) for name in gpus()) for gpu in (h100, k40)}
    assert computed_weight(h100) > nearest[h100]
    assert computed_weight(k40) < nearest[k40] / 100 and computed_weight(titan_xp) < 0.02
    assert computed_weight(titan_xp, "10.0") == computed_weight(h100)
    alone = KernelTimes(without=gpus()).correction(h100, Product)
    assert not alone(measured_kinds()[Product].features).any()


def test_layers_that_were_tried_out_take_what_was_measured():
    """cuDNN's third release on a GTX TITAN X. Source: convnet-benchmarks, layers L2 to L4 forward, L5 all passes."""
    layers = [(13.75e-3, 64, 128, 64, 9), (5.56e-3, 128, 128, 32, 9), (1.42e-3, 128, 128, 16, 7)]
    for measured, channels, filters, size, window in layers:
        out = size - window + 1
        kernel = Convolution("forward", 128, channels, filters, size, size, window, window, out, out, 1, 1)
        work = Work("float32", 2.0 * 128 * channels * filters * (out * window) ** 2, 4.0, 4.0, kernel=kernel)
        assert seconds(work, "GTX TITAN X") == pytest.approx(measured, rel=0.25)
        guessed = KernelTimes(is_autotuned=False).seconds([work], find_model("GTX TITAN X"))[0]
        assert guessed > 3 * measured


def test_the_fastest_algorithm_is_taken_where_the_guess_was_poor():
    poor = convolution("forward", 16, 128, 256, 56, 3)  # 10.6 ms in the TITAN X's table
    assert 1.5e-3 < seconds(poor, "GTX TITAN X") < 4e-3
    assert seconds(poor, "GTX TITAN X", "7.5") > 1.4 * seconds(
        poor, "GTX TITAN X"
    )  # not fused: since cuDNN 5.1
    assert seconds(poor, "GTX TITAN X", "8.0.61") < 4e-3
    for fit, other in (
        (poor, convolution("forward", 16, 128, 256, 56, 3, stride=2)),
        (poor, convolution("forward", 16, 128, 256, 56, 3, dtype="float64")),
        (convolution("forward", 128, 64, 64, 28, 5), convolution("forward", 128, 64, 64, 28, 5, groups=4)),
    ):
        tried, guessed = model(), KernelTimes(is_autotuned=False)
        gpu = find_model("GTX TITAN X")
        assert tried.seconds([fit], gpu)[0] < guessed.seconds([fit], gpu)[0]
        assert tried.seconds([other], gpu)[0] == guessed.seconds([other], gpu)[0]
    in_tensor_cores = convolution("forward", 128, 64, 64, 28, 5)
    assert (
        model().seconds([in_tensor_cores], find_model("A100"))[0]
        == KernelTimes(is_autotuned=False).seconds([in_tensor_cores], find_model("A100"))[0]
    )


@pytest.mark.parametrize(
    "gpu",
    ["GeForce GTX TITAN X", "TITAN X (Pascal)", "GeForce GTX 1080 Ti", "Tesla K80"],
)
def test_passes_of_nets_are_predicted(gpu):
    """Published forward and backward passes; the model learned from the K80's only."""
    for net in ("Inception-V1", "VGG-16", "ResNet-34", "ResNet-50"):
        for published, predicted in zip(PASSES[gpu][net], seconds_of_passes(net, gpu), strict=True):
            assert 1e3 * predicted == pytest.approx(published, rel=0.23), net


@pytest.mark.parametrize("gpu", GPU_MODELS, ids=lambda gpu: gpu.name)
def test_times_of_every_gpu_are_plausible(gpu):
    """Not faster than the data sheet (Winograd's saving aside), nor a tenth of it where the GPU is full."""
    name = gpu.name
    for dtype in ("float32", "float64", "float16"):
        rate = rates_of(gpu, dtype).flops
        achieved = 2.0 * 4096**3 / seconds(product(4096, 4096, 4096, dtype), name)
        assert 0.35 * rate < achieved < 1.15 * rate, dtype
    big = convolution("forward", 64, 128, 128, 28, 3)
    assert 0.2 < big.flops / seconds(big, name) / rates_of(gpu, "float32").flops < 2.6
    assert 1e-6 < seconds(product(1, 1, 1), name) < 2e-4
    adding = Work("float32", 1e8, 8e8, 4e8, model="elementwise")
    assert 0.5 < 1.2e9 / seconds(adding, name) / gpu.memory_bandwidth < 0.9
    assert 1e-6 < seconds(Work("float32", 1.0, 8.0, 4.0), name) < 1e-5


@pytest.mark.parametrize("gpu", ["K80", "M40", "P100", "V100", "T4", "A100", "H100"])
def test_more_work_takes_longer(gpu):
    assert seconds(product(512, 4096, 4096), gpu) > 1.5 * seconds(product(128, 4096, 4096), gpu)
    assert seconds(product(256, 256, 256, batch=64), gpu) > 3 * seconds(product(256, 256, 256), gpu)
    images = [seconds(convolution("backward_filter", batch, 128, 128, 28, 3), gpu) for batch in (8, 32, 128)]
    assert images[0] * 1.5 < images[1] and images[1] * 2 < images[2]
    layer = Recurrence("lstm", "forward", 1024, 64, 50)
    steps = [
        seconds(Work("float32", 1e9, 1.0, 1.0, kernel=replace(layer, steps=count)), gpu)
        for count in (25, 50, 100)
    ]
    assert steps[0] * 1.4 < steps[1] and steps[1] * 1.4 < steps[2]
    deep = seconds(Work("float32", 1e9, 1.0, 1.0, kernel=replace(layer, layers=2)), gpu)
    assert deep == pytest.approx(2 * steps[1], rel=0.05)
    images = convolution("forward", 8, 64, 64, 28, 1)
    turned = replace(images, gpu_bytes=1e8, gpu_launches=3)
    assert seconds(turned, gpu) > seconds(images, gpu) + 1e8 / find_model(gpu).memory_bandwidth
    for kind in ("elementwise", "normalization", "scatter"):
        small, large = (seconds(Work("float32", 1.0, size, size, model=kind), gpu) for size in (1e7, 1e8))
        assert 5 < large / small < 11


def test_newer_gpus_are_faster():
    order = ["K20m", "K80", "M40", "P100", "V100", "A100", "H100"]
    for work in (
        product(1024, 1024, 1024),
        convolution("forward", 64, 64, 64, 56, 3),
        Work("float32", 1e7, 4e8, 4e8),
    ):
        times = [seconds(work, gpu) for gpu in order]
        assert times == sorted(times, reverse=True), work


def test_types():
    """Tensor cores for float16 from Volta on, TF32 from Ampere on, each with the libraries that use them."""
    assert (
        seconds(product(4096, 4096, 4096, "float16"), "V100") < seconds(product(4096, 4096, 4096), "V100") / 3
    )
    assert (
        seconds(product(4096, 4096, 4096, "float16"), "P100") > seconds(product(4096, 4096, 4096), "P100") / 2
    )
    assert seconds(product(4096, 4096, 4096), "A100", "10.1") > 2 * seconds(product(4096, 4096, 4096), "A100")
    doubles = seconds(product(4096, 4096, 4096, "float64"), "1080 Ti") / seconds(
        product(4096, 4096, 4096), "1080 Ti"
    )
    assert 15 < doubles < 40
    assert seconds(product(4096, 4096, 4096, "bfloat16"), "T4") > seconds(
        product(4096, 4096, 4096, "float16"), "T4"
    )


def test_newer_libraries_are_faster_on_the_chips_they_are_for():
    work = convolution("backward_filter", 16, 256, 512, 28, 3)
    assert seconds(work, "P100", "8.0.88") < 0.75 * seconds(work, "P100", "7.5")


def test_depthwise_and_grouped_convolutions():
    depthwise = convolution("forward", 32, 256, 256, 28, 3, groups=256)
    moved = 2 * 4 * 32 * 256 * 28 * 28 / find_model("V100").memory_bandwidth
    assert moved < seconds(depthwise, "V100") < 6 * moved
    gradient = replace(depthwise, kernel=replace(depthwise.kernel, direction="backward_filter"))
    assert seconds(gradient, "V100") > 2 * seconds(depthwise, "V100")
    grouped = convolution("forward", 32, 256, 256, 28, 3, groups=2)
    assert seconds(grouped, "V100") < seconds(convolution("forward", 32, 256, 256, 28, 3), "V100")


def test_nothing_to_do():
    assert seconds(Work("float32", launches=0), "V100") == 0.0
    assert seconds(product(0, 8, 8), "V100") == pytest.approx(2.4e-6, rel=0.1)
    assert model().seconds([], find_model("V100")).shape == (0,)
    empty = Work("float32", kernel=Convolution("forward", 0, 3, 8, 8, 8, 3, 3, 8, 8))
    assert 0 < seconds(empty, "V100") < 1e-5


def test_many_works_are_as_one_by_one():
    works = [product(64, size, 256) for size in range(100, 1000, 100)]
    works += [convolution("forward", 4, 8, size, 16, 3) for size in (8, 16)] + [
        Work("float32", 1.0, 1e6, 1e6)
    ]
    together = model().seconds(works, find_model("P100"))
    assert together.tolist() == pytest.approx([seconds(work, "P100") for work in works], rel=1e-6)


def test_unknown_names():
    with pytest.raises(InvalidArgumentError, match="7.5, 8.0"):
        KernelTimes("6.5")
    with pytest.raises(InvalidArgumentError, match="Unknown GPU model"):
        KernelTimes(without=["Voodoo 2"])
