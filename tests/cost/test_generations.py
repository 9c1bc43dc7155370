"""Similarity of GPUs, and the rates of each for a type."""

import pytest

import gpuplace as tf
from gpuplace.cost.kernel_times.generations import (
    LIBRARIES,
    check_library,
    computed_weight,
    library_of,
    memory_share,
    rates_of,
    similarity,
)
from gpuplace.device.gpu_models import find_model

V100, P100, K80, A100, T4, M40 = map(
    find_model, ("Tesla V100", "Tesla P100", "Tesla K80", "A100", "Tesla T4", "Tesla M40")
)


@pytest.mark.parametrize(
    ("gpu", "library"),
    [(K80, "7.5"), (M40, "7.5"), (P100, "8.0.88"), (V100, "10.1"), (T4, "10.1"), (A100, "11.0")],
)
def test_libraries_are_those_of_the_gpus_era_or_measured_table(gpu, library):
    assert library_of(gpu) == library


def test_known_libraries():
    check_library(None)
    for library in LIBRARIES:
        check_library(library)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown CUDA release '9.9'"):
        check_library("9.9")


def test_a_gpus_own_table_counts_most_and_distant_ones_least():
    assert similarity(V100, V100) == 50.0
    assert similarity(V100, T4) > similarity(V100, P100) > similarity(V100, M40) > 0
    assert similarity(V100, T4) < 1
    assert similarity(P100, M40, "7.5") > similarity(P100, M40)
    assert similarity(P100, V100, "10.1") > similarity(P100, V100)


def test_modeled_times_count_less_with_older_libraries():
    assert computed_weight(A100) == computed_weight(V100) == 0.2
    assert computed_weight(P100) > computed_weight(K80) > 0
    assert computed_weight(K80, "10.0") == 0.2


def test_long_copies_reach_a_part_of_the_bandwidth():
    assert memory_share(K80) == 0.66 and memory_share(V100) == 0.87
    assert memory_share(P100) == 0.75 and memory_share(T4) == 0.75  # less than others of their generation
    assert rates_of(V100, "float32").bandwidth == pytest.approx(0.87 * V100.memory_bandwidth)


@pytest.mark.parametrize(
    ("gpu", "dtype", "library", "in_tensor_cores"),
    [
        (V100, "float16", None, True),
        (V100, "float16", "8.0", False),
        (V100, "bfloat16", None, False),
        (V100, "float32", None, False),
        (A100, "float32", None, True),
        (A100, "float32", "10.1", False),
        (A100, "bfloat16", None, True),
        (P100, "float16", None, False),
        (A100, "float64", None, False),
    ],
)
def test_tensor_cores_need_the_type_the_chip_and_the_library(gpu, dtype, library, in_tensor_cores):
    rates = rates_of(gpu, dtype, library)
    assert rates.in_tensor_cores == in_tensor_cores
    if not in_tensor_cores:
        flops = gpu.fp64_flops if dtype == "float64" else gpu.fp32_flops
        assert rates.flops == pytest.approx(flops * gpu.sustained)


@pytest.mark.parametrize(
    ("dtype", "item_bytes"),
    [
        ("float64", 8),
        ("complex128", 16),
        ("int32", 4),
        ("float16", 2),
        ("bfloat16", 2),
        ("uint8", 1),
        ("bool", 4),
    ],
)
def test_bytes_of_a_number(dtype, item_bytes):
    assert rates_of(V100, dtype).item_bytes == item_bytes


def test_the_boost_is_the_highest_clock_over_that_of_long_work():
    rates = rates_of(V100, "float32")
    assert (
        rates.boost == pytest.approx(max(1.0, V100.clock_hz / V100.sustained_clock_hz)) and rates.boost >= 1
    )
    assert rates.sm_count == V100.sm_count == 80
