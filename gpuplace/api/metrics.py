"""``tf.metrics``: figures that are gathered over several runs.

Source: tensorflow/_api/v1/metrics, release 1.15 (names).
"""

from gpuplace.ops.metrics import *

__all__ = [
    "accuracy", "false_negatives", "false_positives", "mean", "mean_absolute_error", "mean_iou", "mean_squared_error",
    "precision", "recall", "root_mean_squared_error", "true_negatives", "true_positives",
]  # fmt: skip
