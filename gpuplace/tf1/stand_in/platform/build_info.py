"""``tensorflow.python.platform.build_info``: the GPUs that have kernels.

Source: tensorflow/python/platform/build_info.py, release 1.15 (names).
"""

from __future__ import annotations

from gpuplace.tf1.api.testing.test import is_built_with_cuda, is_built_with_rocm

is_cuda_build = is_built_with_cuda()
is_rocm_build = is_built_with_rocm()
