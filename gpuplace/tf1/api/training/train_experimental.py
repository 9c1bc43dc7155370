"""The names of ``tf.train.experimental``.

Source: tensorflow/_api/v1/train/experimental, release 1.15.
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.tf1.saving.tracking.state import PythonState
from gpuplace.tf1.train.loss_scale import DynamicLossScale, FixedLossScale, LossScale
from gpuplace.tf1.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from gpuplace.tf1.train.mixed_precision import (
    auto_mixed_precision_scope,
    disable_mixed_precision_graph_rewrite,
    enable_mixed_precision_graph_rewrite,
)

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
    "PythonState",
    "auto_mixed_precision_scope",
    "disable_mixed_precision_graph_rewrite",
    "enable_mixed_precision_graph_rewrite",
]

_missing.advise("train.experimental", _sys.modules[__name__])
