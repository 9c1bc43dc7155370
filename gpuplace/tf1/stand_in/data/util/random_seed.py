"""``tensorflow.python.data.util.random_seed``: the two seeds of a dataset as tensors.

Source: tensorflow/python/data/util/random_seed.py, release 1.15 (name).
"""

from __future__ import annotations

from gpuplace.tf1.data.dataset import seed_tensors as get_seed

__all__ = ["get_seed"]
