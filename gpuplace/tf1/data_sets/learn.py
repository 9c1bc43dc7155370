"""``tf.contrib.learn.datasets``: data sets by name.

Source: tensorflow/contrib/learn/python/learn/datasets/__init__.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.tf1.data_sets import mnist
from gpuplace.tf1.data_sets.mnist import load_mnist

__all__ = ["load_dataset", "mnist"]

DATASETS = {"mnist": load_mnist}
"""Name to what loads the data set."""


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """Returns a data set by its name.

    Args:
        name: ``"mnist"``.
        size: ignored: it is of one size.
        test_with_fake_data: ignored.

    Raises:
        ValueError: there is no such data set.
    """
    if name not in DATASETS:
        raise ValueError(f"name of dataset is not found: {name}")
    return DATASETS[name]()
