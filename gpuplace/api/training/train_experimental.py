"""The names of ``tf.train.experimental``.

Source: tensorflow/_api/v1/train/experimental, release 1.15.
"""

from gpuplace.saving.tracking.state import PythonState

__all__ = ["PythonState"]
