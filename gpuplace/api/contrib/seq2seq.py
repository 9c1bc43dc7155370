"""``tf.contrib.seq2seq``: losses of sequences.

Source: tensorflow/contrib/seq2seq, release 1.15 (names).
"""

from gpuplace.ops.contrib.sequences import sequence_loss

__all__ = ["sequence_loss"]
