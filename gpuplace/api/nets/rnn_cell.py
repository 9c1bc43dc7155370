"""``tf.nn.rnn_cell``: one step of a recurrent network.

Source: tensorflow/_api/v1/nn/rnn_cell, release 1.15 (names).
"""

from gpuplace.ops.rnn.cells import *
from gpuplace.ops.rnn.wrappers import *

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple",
    "MultiRNNCell", "RNNCell", "ResidualWrapper",
]  # fmt: skip
