"""``tf.contrib.learn.datasets``: data sets by name.

Source: tensorflow/contrib/learn/python/learn/datasets/__init__.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.tf1.data_sets import mnist
from gpuplace.tf1.data_sets.mnist import load_mnist

__all__ = ["load_dataset", "mnist"]

DATASETS = {"mnist": load_mnist}
"""Data set name -> its loader."""


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """Load a data set by name.

    Args:
        name: ``"mnist"``.
        size: ignored: there is only one size.
        test_with_fake_data: ignored.

    Raises:
        ValueError: the name is unknown.
    """
    if name not in DATASETS:
        raise ValueError(f"name of dataset is not found: {name}")
    return DATASETS[name]()
