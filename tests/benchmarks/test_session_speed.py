"""The calls of `bench_session` under pytest-benchmark, which keeps and compares figures between runs.

    pytest tests/benchmarks --benchmark-only [--benchmark-autosave] [--benchmark-compare]

In the ordinary run of all tests each call is made once.
"""

import numpy as np
import pytest

import gpuplace as tf
from tests.benchmarks.bench_session import numpy_calls, session_calls

NAMES = list(numpy_calls())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("library", ["numpy", "gpuplace", "simulated"])
def test_a_session_beside_numpy(benchmark, name, library):
    benchmark.group = name
    bare = numpy_calls()[name]
    if library == "numpy":
        benchmark(bare)
        return
    tf.use_machine("cpu" if library == "gpuplace" else "1x Tesla K40c")
    device = "/cpu:0" if library == "gpuplace" else "/gpu:0"
    for found, call in session_calls(tf, device):
        if found == name:
            value, expected = benchmark(call), bare()
            if expected is not None:
                # a sum of products in another order, as with more threads, is off by a part of its largest terms
                np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
