"""``tf.contrib.learn``: its data sets and mode keys.

Source: tensorflow/contrib/learn/__init__.py and tensorflow/contrib/learn/python/learn/estimators/model_fn.py, release
1.15 (names, values).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.tf1.data_sets import learn as datasets
from gpuplace.tf1.data_sets import preprocessing

__all__ = ["ModeKeys", "datasets", "preprocessing"]


class ModeKeys:
    """Modes in which a model function is called."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


_missing.advise("contrib.learn", _sys.modules[__name__])
