"""``tf.contrib.metrics``: ``tf.metrics`` under older names, with predictions before labels.

Source: tensorflow/contrib/metrics/__init__.py, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.ops.math.confusion_matrix import confusion_matrix
from gpuplace.tf1.contrib.metrics import *

__all__ = [
    "accuracy", "aggregate_metric_map", "aggregate_metrics", "streaming_accuracy", "streaming_auc",
    "streaming_false_negatives", "streaming_false_positives", "streaming_mean", "streaming_mean_absolute_error",
    "streaming_mean_iou", "streaming_mean_squared_error", "streaming_precision", "streaming_precision_at_thresholds",
    "streaming_recall", "streaming_recall_at_thresholds", "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity", "streaming_sparse_precision_at_k", "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity", "streaming_true_negatives", "streaming_true_positives",
    "confusion_matrix",
]  # fmt: skip

_missing.advise("contrib.metrics", _sys.modules[__name__])
