"""``tf.contrib.staging``: staging areas.

Source: tensorflow/contrib/staging/__init__.py, release 1.15 (names).
"""

from gpuplace.ops.input.staging import MapStagingArea, StagingArea

__all__ = ["MapStagingArea", "StagingArea"]
