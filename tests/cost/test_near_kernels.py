"""What measured kernels say of others: between them, beyond them, and where they contradict each other."""

import pytest

from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.cpu_times import DEFAULT_LINES, cpu_seconds, cpu_share, near_works
from gpuplace.cost.near_kernels import MeasuredKernel, NearKernels, near_kernels, shortened
from gpuplace.cost.samples import Sample
from gpuplace.kernels.work.record import Work

LINES = DEFAULT_LINES


def adding(count):
    """Adds so many numbers."""
    return Work("float32", count, 8.0 * count, 4.0 * count)


def test_measured_kernels_correct_their_line():
    works = [adding(count) for count in (1e3, 3e3, 1e5, 1e6, 1e7, 1e8)]
    usual = [cpu_seconds(work, LINES) for work in works]
    taken = [2e-6, 3e-6, *(0.5 * seconds for seconds in usual[2:])]
    near = near_works(works, taken, LINES)
    for work, seconds in zip(works, taken, strict=True):
        assert cpu_seconds(work, LINES, near) == pytest.approx(seconds, rel=0.1)
    assert cpu_seconds(adding(1e9), LINES, near) == pytest.approx(
        0.5 * cpu_seconds(adding(1e9), LINES), rel=0.1
    )
    assert 2e-6 < cpu_seconds(adding(1.7e3), LINES, near) < 3e-6
    assert 0 < cpu_seconds(adding(1), LINES, near) <= 2e-6
    assert (
        near_works([], [], LINES) is None and near_works([Work("float32", launches=0)], [1.0], LINES) is None
    )


def test_one_small_kernel_says_little_of_others():
    near = near_works([adding(10)], [20 * cpu_seconds(adding(10), LINES)], LINES)
    assert cpu_seconds(adding(12), LINES, near) == pytest.approx(20 * cpu_seconds(adding(12), LINES), rel=0.1)


def test_the_shape_of_a_kernel_counts_beside_its_size():
    thin = MeasuredKernel(2e6, 4e6, 1e-6, 1e-3, 1e-4)
    square = MeasuredKernel(2e8, 4e6, 1e-6, 1e-3, 2e-3)
    near = near_kernels([thin, square])
    assert near.seconds(2.5e6, 4e6, 1e-3) == pytest.approx(1e-4, rel=0.1)
    assert near.seconds(1.5e8, 4e6, 1e-3) == pytest.approx(2e-3, rel=0.1)


def test_alike_kernels_count_once_and_cold_ones_not_at_all():
    measured = [MeasuredKernel(1e4, 8e4, 1e-6, 3e-6, seconds) for seconds in (5e-6, 6e-6, 900e-6)]
    assert near_kernels(measured).taken == (6e-6,)
    assert near_kernels(measured, caches_were_cold=True).taken == (5e-6,)
    larger = MeasuredKernel(1e6, 8e6, 1e-6, 3e-4, 4e-6)
    assert near_kernels([*measured, larger]).taken == (6e-6, 4e-6)
    assert near_kernels([*measured, larger], caches_were_cold=True).taken == (4e-6, 4e-6)
    other = MeasuredKernel(1e6, 8e3, 1e-6, 3e-4, 4e-6)  # more to compute, and less to read
    assert near_kernels([*measured, other], caches_were_cold=True).taken == (5e-6, 4e-6)


def test_kernels_near_those_that_had_all_cores_have_them_too():
    small = MeasuredKernel(1e4, 8e4, 1e-6, 3e-6, 5e-6, 0.0)
    large = MeasuredKernel(1e8, 8e6, 1e-6, 3e-3, 2e-3, 1.0)
    near = near_kernels([small, large])
    assert near.share(1.5e4, 9e4) == pytest.approx(0.0, abs=0.01)
    assert near.share(2e8, 9e6) == pytest.approx(1.0, abs=0.01)
    assert 0.2 < near.share(1e6, 8e5) < 0.8
    assert near.scaled(0.5, 2.0, 0.0).shares == near.shares == (0.0, 1.0)
    unmeasured = near_kernels([small._replace(share=None), large])
    assert unmeasured.share(1e4, 8e4) is None and cpu_share(adding(10), unmeasured) is None
    assert cpu_share(adding(10), None) is None


def rows(count, width):
    """Looks so many rows of a table up."""
    nbytes = 4.0 * count * width
    return Work("float32", 0.0, nbytes + 4.0 * count, nbytes, rows=count)


def test_rows_that_are_shared_out_are_kept_apart():
    """Threads have to wake up for 220,000 bytes, and not for 200,000."""
    base = CostModel.uncalibrated()
    works = [rows(400, 120), rows(400, 125), rows(400, 140), rows(1000, 140)]
    found = [
        Sample("GatherV2", work, None, taken) for work, taken in zip(works, (18e-6, 20e-6, 80e-6, 99e-6))
    ]
    alone, shared = rows(400, 130), rows(400, 133)
    assert alone.bytes_written < 210_000 < shared.bytes_written
    model = CostModel.of_samples(found, base, "four kernels")
    assert model.kernel_seconds(alone, None, "GatherV2") == pytest.approx(20e-6, rel=0.2)
    assert model.kernel_seconds(shared, None, "GatherV2") == pytest.approx(80e-6, rel=0.2)
    few = CostModel.of_samples(found[:2], base, "two kernels")
    assert few.kernel_seconds(shared, None, "GatherV2") == pytest.approx(20e-6, rel=0.2)


def test_starts_and_the_rest_are_scaled_apart():
    near = NearKernels((1.0, 1e6), (1.0, 1e6), (1e-6, 1e-6), (0.0, 9e-6), (2e-6, 20e-6))
    assert near.start == pytest.approx(2e-6)
    scaled = near.scaled(0.5, 2.0, 0.25e-6)
    assert scaled.taken == pytest.approx((0.75e-6, 0.75e-6 + 36e-6))
    assert scaled.starts == pytest.approx((0.25e-6, 0.25e-6)) and scaled.rests == pytest.approx((0.0, 18e-6))
    assert shortened(1e-6, 5e-6) == pytest.approx(1e-7)
    assert near == near.scaled(1.0, 1.0, 0.0) != scaled
