"""Lines of the CPU: found again from times that follow one, and steady against outliers."""

import numpy as np
import pytest

from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.cpu_times import (
    CLASSES,
    DEFAULT_LINES,
    Line,
    class_of,
    cpu_seconds,
    fitted_line,
    kernel_name,
)
from gpuplace.cost.samples import Sample
from gpuplace.kernels.work.record import Convolution, Product, Recurrence, Work

TRUE = Line(5e-6, 1 / 8e9, 1 / 40e9, 1 / 9e9)


def works():
    return [
        Work("float32", flops=float(flops), bytes_read=float(size), bytes_written=size / 2)
        for size in (100, 1e4, 1e5, 1e6, 1e7, 1e8)
        for flops in (size / 4, size * 4)
    ]


def times(line=TRUE):
    return [cpu_seconds(work, dict.fromkeys(CLASSES, line)) for work in works()]


def test_a_line_is_found_again():
    assert fitted_line(works(), times(), DEFAULT_LINES["bytes"]) == pytest.approx(TRUE, rel=0.02)


def test_outliers_and_noise_do_not_move_it_far():
    noisy = np.array(times()) * np.random.default_rng(3).lognormal(0, 0.05, len(works()))
    noisy[4] *= 30
    found = fitted_line(works(), noisy, DEFAULT_LINES["bytes"])
    predicted = np.array([cpu_seconds(work, dict.fromkeys(CLASSES, found)) for work in works()])
    assert np.median(abs(predicted / np.array(times()) - 1)) < 0.1


def test_few_works_scale_what_was_there():
    before = DEFAULT_LINES["bytes"]
    slow = Line(*(3 * price for price in before))
    few = works()[:3] * 20
    found = fitted_line(few, [cpu_seconds(work, {"bytes": slow}) for work in few], before)
    assert found == pytest.approx(slow, rel=0.03)
    assert fitted_line([], [], before) == before
    assert fitted_line(few, [0.0] * len(few), before) == before


def test_no_price_is_negative():
    falling = sorted(times(), reverse=True)
    assert min(fitted_line(works(), falling, DEFAULT_LINES["bytes"])) >= 0


def test_classes():
    kernel = Convolution("forward", 1, 1, 1, 8, 8, 3, 3, 8, 8)
    assert class_of(Work("float32", kernel=Product(1, 2, 3))) == "product"
    assert class_of(Work("float32", kernel=Recurrence("gru", "forward", 8, 8, 8))) == "product"
    assert class_of(Work("float32", kernel=kernel)) == "convolution"
    backward = Convolution("backward_filter", 1, 1, 1, 8, 8, 3, 3, 8, 8)
    assert class_of(Work("float32", kernel=backward)) == "convolution_backward"
    assert class_of(Work("float32")) == "bytes"
    assert cpu_seconds(Work("float32", 1e9, 1e9, launches=0), DEFAULT_LINES) == 0.0


def test_channels_that_are_written_fill_whole_vectors():
    """A gradient for the three channels of photographs takes as long as one for sixteen."""

    def seconds(direction, in_channels, out_channels, dtype="float32"):
        kernel = Convolution(direction, 8, in_channels, out_channels, 32, 32, 3, 3, 32, 32)
        flops = 2.0 * 8 * 32 * 32 * 9 * in_channels * out_channels
        return cpu_seconds(
            Work(dtype, flops, kernel=kernel), dict.fromkeys(CLASSES, Line(0.0, 1e-9, 0.0, 0.0))
        )

    assert seconds("backward_input", 3, 48) == pytest.approx(seconds("backward_input", 16, 48))
    assert seconds("backward_input", 17, 48) == pytest.approx(seconds("backward_input", 32, 48))
    for direction in ("forward", "backward_filter"):
        assert seconds(direction, 3, 48) == pytest.approx(3 / 16 * seconds(direction, 16, 48))
        assert seconds(direction, 3, 5) == pytest.approx(seconds(direction, 3, 16))
    assert seconds("forward", 3, 5, "float64") == pytest.approx(seconds("forward", 3, 8, "float64"))
    assert seconds("forward", 3, 9, "float64") == pytest.approx(2 * seconds("forward", 3, 16))
    grouped = Convolution("forward", 8, 3, 3, 32, 32, 3, 3, 32, 32, groups=3)
    lines = dict.fromkeys(CLASSES, Line(0.0, 1e-9, 0.0, 0.0))
    assert cpu_seconds(Work("float32", 1e6, kernel=grouped), lines) == pytest.approx(1e-3)


def test_convolutions_that_are_products_are_kept_apart():
    wide, single = (Convolution("forward", 1, 8, 8, 8, 8, size, size, 8, 8) for size in (3, 1))
    assert kernel_name("Conv2D", Work("float32", kernel=wide)) == "Conv2D"
    assert kernel_name("Conv2D", Work("float32", kernel=single)) == "Conv2D of single pixels"
    assert kernel_name("MatMul", Work("float32", kernel=Product(8, 8, 8))) == "MatMul"
    samples = [
        Sample("Conv2D", Work("float32", 1e8, 1e6, 1e6, kernel=kernel), None, seconds)
        for kernel, seconds in ((wide, 0.001), (single, 0.004))
    ]
    model = CostModel.of_samples(samples, CostModel.uncalibrated(), "made up")
    for sample in samples:
        assert model.kernel_seconds(sample.work, None, "Conv2D") == pytest.approx(sample.seconds, rel=0.01)


def test_products_with_transposed_matrices_are_kept_apart():
    """oneDNN takes up to twice as long for ``[128, 1024] x [1024, 1024]`` transposed; where none ran, others count."""
    plain, turned, several = (
        Work("float32", 1e8, 1e6, 1e6, kernel=Product(64, 64, 64, batch, transpose_b=transposed))
        for batch, transposed in ((1, False), (1, True), (4, True))
    )
    assert kernel_name("MatMul", turned) == "MatMul of a transposed matrix"
    assert kernel_name("BatchMatMulV2", several) == "BatchMatMulV2"
    samples = [Sample("MatMul", plain, None, 1e-3), Sample("MatMul", turned, None, 2e-3)]
    both, one = (
        CostModel.of_samples(known, CostModel.uncalibrated(), "made up") for known in (samples, samples[:1])
    )
    assert [both.kernel_seconds(work, None, "MatMul") for work in (plain, turned)] == pytest.approx(
        [1e-3, 2e-3]
    )
    assert one.kernel_seconds(turned, None, "MatMul") == pytest.approx(1e-3)


def test_convolutions_read_images_and_filters_and_write_no_patches():
    """Neither oneDNN nor the loops of ``numerics.compiled.window_loops`` lay out what each window sees."""
    lines = dict.fromkeys(CLASSES, Line(0.0, 0.0, 1e-9, 1e-9))
    for direction in ("forward", "backward_filter"):
        large = Convolution(direction, 8, 16, 16, 32, 32, 5, 5, 32, 32)
        work = Work("float32", 1e9, 3e6, 1e6, kernel=large)
        assert cpu_seconds(work, lines) == pytest.approx(4e-3)
