"""``tf.contrib.learn``: its data sets.

Source: tensorflow/contrib/learn/__init__.py, release 1.15 (names).
"""

from gpuplace.data_sets import learn as datasets

__all__ = ["datasets"]
