"""A long short-term memory over a whole sequence in one op: ``tf.contrib.rnn.LSTMBlockFusedCell``.

The op runs the steps of ``block_cells`` and keeps all intermediate results; its gradient runs them backwards.
Steps from ``seq_len_max`` on are skipped: their outputs are zero.

Source: tensorflow/core/ops/rnn_ops.cc, core/kernels/rnn/lstm_ops.cc and tensorflow/contrib/rnn/python/ops/lstm_ops.py,
release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.array.gather import gather_nd
from gpuplace.ops.array.joining import concat, stack, unstack
from gpuplace.ops.array.reshaping import expand_dims, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.sequence import sequence_mask
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.layers.base import Layer
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_max
from gpuplace.ops.rnn.cells import LSTMStateTuple
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new
from gpuplace.ops.variables.init_ops import Constant
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.rnn.block_cells import lstm_step, lstm_step_grad
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = ["LSTMBlockFusedCell"]


class LSTMBlockFusedCell(Layer):
    """A long short-term memory that processes a whole sequence in one op.

    >>> import gpuplace as tf
    >>> cell = tf.contrib.rnn.LSTMBlockFusedCell(4)
    >>> outputs, state = cell(tf.zeros([7, 2, 3]), dtype=tf.float32)
    >>> outputs.shape.as_list(), [variable.name for variable in cell.variables]
    ([7, 2, 4], ['lstm_fused_cell/kernel:0', 'lstm_fused_cell/bias:0'])

    Args:
        num_units: size of the output and of both parts of the state.
        forget_bias: added to the forget gates.
        cell_clip: largest magnitude of the memory; None for no limit.
        use_peephole: whether the gates see the memory.
        reuse: whether to share existing variables.
        dtype: dtype of the variables; None for that of the first input.
        name: name of the cell.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: DTypeLike | None = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    @property
    def num_units(self) -> int:
        """Size of the output."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """Create the kernel and the bias, and the weights of the peepholes.

        Args:
            input_shape: ``[time, batch, size]``; for a list of inputs a list of shapes ``[batch, size]``.

        Raises:
            ValueError: the size is unknown.
        """
        one = input_shape[0] if isinstance(input_shape, list) else input_shape
        depth, units = as_shape(one)[-1].value, self._num_units
        if depth is None:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {one}")
        self.kernel = self.add_variable("kernel", [depth + units, 4 * units])
        self.bias = self.add_variable("bias", [4 * units], initializer=Constant(0.0))
        names = ("w_i_diag", "w_f_diag", "w_o_diag") if self._use_peephole else ()
        self._peepholes = [self.add_variable(name, [units]) for name in names]
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Compute all steps.

        Args:
            inputs: ``[time, batch, size]``, or a list of ``[batch, size]``.
            *args: the keyword arguments, in this order.
            **kwargs: ``initial_state``, a pair of ``[batch, num_units]``; ``dtype``, for an initial state of
                zeros; ``sequence_length``, the number of steps in each sequence, integers ``[batch]``.

        Returns:
            The outputs, in the form of the inputs, and the last state of each sequence, an
            ``LSTMStateTuple``.

        Raises:
            ValueError: neither an initial state nor a dtype is given, or the state is not a pair.
        """
        return self._run(inputs, *args, **kwargs)

    def _run(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
    ) -> Any:
        is_list = isinstance(inputs, list)
        inputs = stack(inputs) if is_list else inputs
        time, batch = (
            shape_of(inputs)[axis] if inputs.shape[axis].value is None else inputs.shape[axis].value
            for axis in (0, 1)
        )
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            nothing = zeros(stack([batch, self._num_units]), dtype)
            initial_state = nothing, nothing
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        memory, output = initial_state
        kind = memory.dtype if dtype is None else dtype
        most = time
        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length)
            most = reduce_max(sequence_length)
        peepholes = self._peepholes or [zeros([self._num_units], kind)] * 3
        results = apply_op(
            "BlockLSTM", seq_len_max=cast(most, "int64"), x=inputs, cs_prev=memory, h_prev=output, w=self.kernel,
            wci=peepholes[0], wcf=peepholes[1], wco=peepholes[2], b=self.bias, forget_bias=self._forget_bias,
            cell_clip=self._cell_clip, use_peephole=self._use_peephole,
        ).outputs  # fmt: skip
        memories, outputs = results[1], results[6]
        if sequence_length is None:
            last: Any = (memories[-1], outputs[-1])
        else:
            mask = transpose(sequence_mask(sequence_length, time, kind), [1, 0])
            outputs = outputs * new("Tile", input=expand_dims(mask, [-1]), multiples=[1, 1, self._num_units])
            states = [
                concat([expand_dims(first, [0]), rows], 0)
                for first, rows in ((memory, memories), (output, outputs))
            ]
            last = [gather_nd(rows, stack([sequence_length, range_of(batch)], axis=1)) for rows in states]
        return unstack(outputs) if is_list else outputs, LSTMStateTuple(*last)


def _check(seq_len_max: Any, x: Any) -> int:
    if x.ndim != 3:
        raise InvalidArgumentError.of(f"x must be 3D, got shape {list(x.shape)}")
    count = int(seq_len_max)
    if not 0 <= count <= len(x):
        raise InvalidArgumentError.of(
            f"seq_len_max must be between 0 and the {len(x)} steps of x, but is {count}"
        )
    return count


@compute("BlockLSTM", fresh=True, slow=True)
def _block_lstm(
    xp: ArrayModule, seq_len_max: Any, x: Array, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any,
    wco: Any, b: Array, *,
    forget_bias: float, cell_clip: float, use_peephole: bool,
) -> Any:  # fmt: skip
    count = _check(seq_len_max, x)
    results = [xp.zeros((len(x), *cs_prev.shape), x.dtype) for _ in range(7)]
    for at in range(count):
        step = lstm_step(
            xp, x[at], cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias=forget_bias, cell_clip=cell_clip,
            use_peephole=use_peephole,
        )  # fmt: skip
        for rows, one in zip(results, step, strict=True):
            rows[at] = one
        cs_prev, h_prev = step[1], step[6]
    return tuple(results)


@compute("BlockLSTMGrad", fresh=True, slow=True)
def _block_lstm_grad(
    xp: ArrayModule, seq_len_max: Any, x: Array, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any,
    wco: Any, b: Array, i: Any,
    cs: Any, f: Any, o: Any, ci: Any, co: Any, h: Any, cs_grad: Any, h_grad: Any, *, use_peephole: bool,
) -> Any:  # fmt: skip
    count, size = _check(seq_len_max, x), x.shape[2]
    of_x = xp.zeros_like(x)
    of_memory, of_output = xp.zeros_like(cs_prev), xp.zeros_like(h_prev)
    of_w, of_b = xp.zeros_like(w), xp.zeros_like(b)
    of_peepholes = [xp.zeros_like(one) for one in (wci, wcf, wco)]
    for at in reversed(range(count)):
        memory, output = (cs[at - 1], h[at - 1]) if at else (cs_prev, h_prev)
        of_memory, gates, *diagonals = lstm_step_grad(
            xp, x[at], memory, output, w, wci, wcf, wco, b, i[at], cs[at], f[at], o[at], ci[at], co[at],
            cs_grad[at] + of_memory, h_grad[at] + of_output, use_peephole=use_peephole,
        )  # fmt: skip
        both = xp.matmul(gates, w.T)
        of_x[at], of_output = both[:, :size], both[:, size:]
        of_w += xp.matmul(xp.concatenate([x[at], output], 1).T, gates)
        of_b += gates.sum(0)
        for whole, part in zip(of_peepholes, diagonals, strict=True):
            whole += part
    return of_x, of_memory, of_output, of_w, *of_peepholes, of_b


@shape_function("BlockLSTM")
def _block_lstm_shape(op: Operation) -> Any:
    x, bias = require_rank(op.inputs[1].shape, 3).sizes, require_rank(op.inputs[-1].shape, 1).sizes
    units = None if bias is None or bias[0] is None else bias[0] // 4
    return (TensorShape.of((*((None, None) if x is None else x[:2]), units)),) * 7


@shape_function("BlockLSTMGrad")
def _block_lstm_grad_shape(op: Operation) -> Any:
    return tuple(tensor.shape for tensor in op.inputs[1:9])


@gradient("BlockLSTM")
def _block_lstm_gradient(op: Operation, *grads: Any) -> tuple[Tensor | None, ...]:
    names = ("seq_len_max", "x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
    intermediate = ("i", "cs", "f", "o", "ci", "co", "h")
    tensors: dict[str, Any] = dict(zip(names + intermediate, [*op.inputs, *op.outputs], strict=True))
    gradients = apply_op(
        "BlockLSTMGrad",
        **tensors,
        cs_grad=grads[1],
        h_grad=grads[6],
        use_peephole=op.attrs["use_peephole"],
    ).outputs
    return None, *gradients
