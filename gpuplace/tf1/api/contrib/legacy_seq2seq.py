"""``tf.contrib.legacy_seq2seq``: sequence-to-sequence models whose steps are lists of tensors.

Source: tensorflow/contrib/legacy_seq2seq/__init__.py, release 1.15 (names).
"""

import sys as _sys

from gpuplace.api import missing as _missing
from gpuplace.tf1.contrib.legacy_seq2seq import *

__all__ = [
    "attention_decoder", "basic_rnn_seq2seq", "embedding_attention_decoder", "embedding_attention_seq2seq",
    "embedding_rnn_decoder", "embedding_rnn_seq2seq", "embedding_tied_rnn_seq2seq", "model_with_buckets",
    "rnn_decoder", "sequence_loss", "sequence_loss_by_example", "tied_rnn_seq2seq",
]  # fmt: skip

_missing.advise("contrib.legacy_seq2seq", _sys.modules[__name__])
