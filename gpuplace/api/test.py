"""``tf.test``: which GPUs there are.

Source: tensorflow/_api/v1/test, release 1.15 (names).
"""

from gpuplace.session.device_lib import gpu_device_name, is_gpu_available

__all__ = ["gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support", "is_gpu_available"]


def is_built_with_cuda() -> bool:
    """True: GPU kernels are always there, for real GPUs through CuPy and for simulated ones through NumPy."""
    return True


is_built_with_gpu_support = is_built_with_cuda
