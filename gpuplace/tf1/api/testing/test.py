"""``tf.test``: test cases with sessions, numeric gradient checks, and queries for GPUs.

Source: tensorflow/_api/v1/test, release 1.15 (names).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuplace.lazy import lazy_names
from gpuplace.runtime.memory.process_state import current_machine
from gpuplace.runtime.session.device_lib import gpu_device_name, is_gpu_available

__all__ = [
    "Benchmark",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "create_local_cluster",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
]


def is_built_with_cuda() -> bool:
    """Return whether there are GPU kernels: False on a machine declared as a CPU build, otherwise True.

    Real GPUs are used through CuPy, simulated ones through NumPy.
    """
    return not current_machine().is_cpu_build


is_built_with_gpu_support = is_built_with_cuda


def is_built_with_rocm() -> bool:
    """Return False: all GPUs here are CUDA GPUs."""
    return False


if TYPE_CHECKING:
    from unittest import mock

    from gpuplace.tf1.api.testing.benchmark import Benchmark, benchmark_config
    from gpuplace.tf1.api.testing.gradient_checker import compute_gradient, compute_gradient_error
    from gpuplace.tf1.api.testing.graphs import assert_equal_graph_def
    from gpuplace.tf1.api.testing.local_cluster import create_local_cluster
    from gpuplace.tf1.api.testing.test_case import TestCase, get_temp_dir, main, test_src_dir_path
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "unittest": "mock",
            "gpuplace.tf1.api.testing.benchmark": "Benchmark benchmark_config",
            "gpuplace.tf1.api.testing.graphs": "assert_equal_graph_def",
            "gpuplace.tf1.api.testing.gradient_checker": "compute_gradient compute_gradient_error",
            "gpuplace.tf1.api.testing.local_cluster": "create_local_cluster",
            "gpuplace.tf1.api.testing.test_case": "TestCase get_temp_dir main test_src_dir_path",
        },
    )
