"""``tensorflow.python.ops.spectral_ops_test_util``: the kernels that tests of Fourier transforms run on.

Source: tensorflow/python/ops/spectral_ops_test_util.py, release 1.15 (names).
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from gpuplace.graph.convert import get_default_graph


def fft_kernel_label_map() -> AbstractContextManager[None]:
    """A block whose operations run on the kernels that they have everywhere else: there are no others."""
    return get_default_graph()._kernel_label_map({})
