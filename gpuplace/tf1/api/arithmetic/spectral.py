"""``tf.spectral``: Fourier and cosine transforms.

Source: tensorflow/_api/v1/spectral, release 1.15 (names).
"""

from gpuplace.tf1.math.signals import dct, idct
from gpuplace.tf1.math.spectral import *

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "idct", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d", "rfft", "rfft2d",
    "rfft3d",
]  # fmt: skip
