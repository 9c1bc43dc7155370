"""``tf.contrib.rnn``: cells, and functions that run them step by step.

Source: tensorflow/contrib/rnn, release 1.15 (names).
"""

from gpuplace.ops.rnn.cells import *
from gpuplace.ops.rnn.rnn import static_bidirectional_rnn, static_rnn, static_state_saving_rnn
from gpuplace.ops.rnn.wrappers import *
from gpuplace.tf1.contrib.cells import *
from gpuplace.tf1.rnn.block_cells import *
from gpuplace.tf1.rnn.fused_lstm import *
from gpuplace.tf1.rnn.projections import EmbeddingWrapper, InputProjectionWrapper, OutputProjectionWrapper

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "EmbeddingWrapper", "GRUBlockCell",
    "GRUBlockCellV2", "GRUCell", "InputProjectionWrapper", "LSTMBlockCell", "LSTMBlockFusedCell", "LSTMCell",
    "LSTMStateTuple", "LayerNormBasicLSTMCell", "MultiRNNCell", "OutputProjectionWrapper", "RNNCell", "ResidualWrapper",
    "static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn",
]  # fmt: skip
