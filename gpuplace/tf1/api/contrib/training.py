"""``tf.contrib.training``: hyperparameters, and the training op.

Source: tensorflow/contrib/training/__init__.py, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.saving.checkpoint_state import checkpoints_iterator, wait_for_new_checkpoint
from gpuplace.tf1.contrib.buckets import bucket, bucket_by_sequence_length
from gpuplace.tf1.contrib.device_strategies import *
from gpuplace.tf1.contrib.gradients import *
from gpuplace.tf1.training.evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    evaluate_repeatedly,
    get_or_create_eval_step,
)
from gpuplace.tf1.training.evaluation import evaluate_checkpoint as evaluate_once
from gpuplace.tf1.training.hparams import HParams, parse_values

__all__ = [
    "GreedyLoadBalancingStrategy", "HParams", "RandomStrategy", "StopAfterNEvalsHook", "SummaryAtEndHook",
    "add_gradients_summaries", "bucket", "bucket_by_sequence_length", "byte_size_load_fn",
    "checkpoints_iterator", "clip_gradient_norms", "clip_gradient_norms_fn", "create_train_op", "evaluate_once",
    "evaluate_repeatedly", "get_or_create_eval_step", "multiply_gradients", "parse_values",
    "wait_for_new_checkpoint",
]  # fmt: skip

_missing.advise("contrib.training", _sys.modules[__name__])
