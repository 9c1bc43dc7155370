"""A recurrent cell with layer normalization: ``tf.contrib.rnn.LayerNormBasicLSTMCell``.

Source: tensorflow/contrib/rnn/python/ops/rnn_cell.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.array import joining
from gpuplace.ops.math import trigonometry
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.nn.misc import bias_add, dropout
from gpuplace.ops.rnn.cells import LSTMStateTuple, RNNCell
from gpuplace.ops.variables.init_ops import Constant
from gpuplace.ops.variables.variable_scope import get_variable, variable_scope
from gpuplace.tf1.contrib.normalization import layer_norm
from gpuplace.typing import Function, TensorLike

__all__ = ["LayerNormBasicLSTMCell"]


class LayerNormBasicLSTMCell(RNNCell):
    """A long short-term memory cell with layer normalization and recurrent dropout.

    >>> import gpuplace as tf
    >>> cell = tf.contrib.rnn.LayerNormBasicLSTMCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    >>> output.shape.as_list(), cell.variables[1].name
    ([2, 4], 'layer_norm_basic_lstm_cell/input/gamma:0')

    Args:
        num_units: size of the output and of both parts of the state.
        forget_bias: bias of the forget gates.
        input_size: not used, as in TensorFlow.
        activation: an activation function.
        layer_norm: whether to normalize gates and memory; otherwise they have a bias.
        norm_gain: initial value of the scales.
        norm_shift: initial value of the shifts.
        dropout_keep_prob: probability of keeping a value, a number or a tensor.
        dropout_prob_seed: seed of the dropout.
        reuse: whether to reuse existing variables.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Function = trigonometry.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._activation = activation
        self._forget_bias = forget_bias
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed
        self._layer_norm = layer_norm
        self._norm_gain, self._norm_shift = norm_gain, norm_shift

    @property
    def state_size(self) -> Any:
        """``LSTMStateTuple(num_units, num_units)``."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        """``num_units``."""
        return self._num_units

    def _norm(self, values: Any, scope: str) -> Any:
        if not self._layer_norm:
            return values
        shape = values.shape[-1:]
        with variable_scope(scope):
            for name, start in (("gamma", self._norm_gain), ("beta", self._norm_shift)):
                get_variable(name, shape, values.dtype, Constant(start))
        return layer_norm(values, reuse=True, scope=scope)

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Run one step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: ignored.
        """
        ((memory, output),) = args
        seen = joining.concat([inputs, output], 1)
        kernel = get_variable("kernel", [seen.shape[-1], 4 * self._num_units], seen.dtype)
        gates: Any = matmul(seen, kernel)
        if not self._layer_norm:
            gates = bias_add(gates, get_variable("bias", [4 * self._num_units], seen.dtype))
        write, value, keep, show = joining.split(gates, 4, axis=1)
        write, value = self._norm(write, "input"), self._norm(value, "transform")
        keep, show = self._norm(keep, "forget"), self._norm(show, "output")
        value = self._activation(value)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            value = dropout(value, self._keep_prob, seed=self._seed)
        new_memory = (
            memory * trigonometry.sigmoid(keep + self._forget_bias) + trigonometry.sigmoid(write) * value
        )
        new_memory = self._norm(new_memory, "state")
        new_output = self._activation(new_memory) * trigonometry.sigmoid(show)
        return new_output, LSTMStateTuple(new_memory, new_output)
