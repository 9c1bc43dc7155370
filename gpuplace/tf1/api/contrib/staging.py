"""``tf.contrib.staging``: staging areas.

Source: tensorflow/contrib/staging/__init__.py, release 1.15 (names).
"""

from gpuplace.tf1.input.staging import MapStagingArea, StagingArea

__all__ = ["MapStagingArea", "StagingArea"]
