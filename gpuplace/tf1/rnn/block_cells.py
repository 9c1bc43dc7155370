"""Recurrent cells whose step is one op: ``LSTMBlockCell`` and ``GRUBlockCell``.

The op computes all gates at once. In the gradient, another op computes everything except matrix products.

Source: tensorflow/core/ops/rnn_ops.cc, core/kernels/rnn/lstm_ops.h, gru_ops.h and
tensorflow/contrib/rnn/python/ops/lstm_ops.py, gru_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.nn.conv_arithmetic import wide
from gpuplace.ops.rnn.cells import LayerRNNCell, LSTMStateTuple
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.support import new
from gpuplace.ops.variables.init_ops import Constant
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = ["GRUBlockCell", "GRUBlockCellV2", "LSTMBlockCell"]


class LSTMBlockCell(LayerRNNCell):
    """A long short-term memory whose step is one op.

    >>> import gpuplace as tf
    >>> cell = tf.contrib.rnn.LSTMBlockCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    >>> output.op.type, [variable.name for variable in cell.variables]
    ('LSTMBlockCell', ['lstm_cell/kernel:0', 'lstm_cell/bias:0'])

    Args:
        num_units: size of the output and of both parts of the state.
        forget_bias: added to the forget gates.
        cell_clip: largest magnitude of the memory; None for no limit.
        use_peephole: whether the gates see the memory.
        dtype: dtype of the variables; None for that of the first input.
        reuse: whether to share existing variables.
        name: name of the cell.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: Any = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    @property
    def state_size(self) -> Any:
        """``LSTMStateTuple(num_units, num_units)``."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, input_shape: TensorLike) -> None:
        """Create the kernel and the bias, and the weights of the peepholes.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is unknown.
        """
        depth, units = self._depth(input_shape), self._num_units
        self._kernel = self.add_variable("kernel", [depth + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=Constant(0.0))
        names = ("w_i_diag", "w_f_diag", "w_o_diag") if self._use_peephole else ()
        self._peepholes = [self.add_variable(name, [units]) for name in names]
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Compute one step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: not used.

        Raises:
            ValueError: the state is not a pair.
        """
        (state,) = args
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        memory, output = state
        peepholes = self._peepholes or [zeros([self._num_units])] * 3
        outputs = apply_op(
            "LSTMBlockCell",
            x=inputs,
            cs_prev=memory,
            h_prev=output,
            w=self._kernel,
            wci=peepholes[0],
            wcf=peepholes[1],
            wco=peepholes[2],
            b=self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
        ).outputs
        return outputs[6], LSTMStateTuple(outputs[1], outputs[6])


class _GRUBlock(LayerRNNCell):
    """Common base of both kinds of ``GRUBlockCell``, which differ in the names of their variables."""

    _names = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Any = None,
        name: str = "gru_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        size = num_units if cell_size is None else cell_size
        if size is None or None not in (num_units, cell_size):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._num_units = size

    def build(self, input_shape: TensorLike) -> None:
        """Create kernels and biases.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is unknown.
        """
        depth, units = self._depth(input_shape), self._num_units
        shapes = ([depth + units, 2 * units], [2 * units], [depth + units, units], [units])
        starts = (None, Constant(1.0), None, Constant(0.0))
        self._weights = [
            self.add_variable(name, shape, initializer=start)
            for name, shape, start in zip(self._names, shapes, starts, strict=True)
        ]
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Compute one step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: not used.
        """
        (state,) = args
        gates, gate_bias, candidate, bias = self._weights
        outputs = apply_op(
            "GRUBlockCell", x=inputs, h_prev=state, w_ru=gates, w_c=candidate, b_ru=gate_bias, b_c=bias
        ).outputs
        return outputs[3], outputs[3]


class GRUBlockCell(_GRUBlock):
    """A gated recurrent unit whose step is one op, with variables ``w_ru``, ``b_ru``, ``w_c`` and ``b_c``.

    Args:
        num_units: size of the output and the state.
        cell_size: the older name of ``num_units``.
        reuse: whether to share existing variables.
        name: name of the cell.

    Raises:
        ValueError: both sizes are given, or none.
    """


class GRUBlockCellV2(_GRUBlock):
    """A ``GRUBlockCell`` with the variables of ``GRUCell``, so that their checkpoints are compatible.

    Args:
        num_units: size of the output and the state.
        cell_size: the older name of ``num_units``.
        reuse: whether to share existing variables.
        name: name of the cell.

    Raises:
        ValueError: both sizes are given, or none.
    """

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")


# LSTMBlockCell


def _sigmoid(xp: ArrayModule, x: Array) -> Array:
    return 0.5 * (1 + xp.tanh(0.5 * x))


def _require_sizes(x: Any, state: Any, w: Any, gates: int) -> None:
    for name, array in (("x", x), ("h_prev", state), ("w", w)):
        if array.ndim != 2:
            raise InvalidArgumentError.of(f"{name} must be a matrix, got shape {list(array.shape)}")
    if len(x) != len(state):
        raise InvalidArgumentError.of(f"h_prev.dims(0) != batch_size: {len(state)} vs. {len(x)}")
    expected = (x.shape[1] + state.shape[1], gates * state.shape[1])
    if tuple(w.shape) != expected:
        raise InvalidArgumentError.of(f"w must have shape {list(expected)}, but has {list(w.shape)}")


@compute("LSTMBlockCell", fresh=True)
def lstm_step(
    xp: ArrayModule,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> tuple[Any, ...]:
    """Compute one step: the gates i, f and o, memories and outputs, in the order of the op."""
    _require_sizes(x, h_prev, w, 4)
    dtype = x.dtype
    x, memory, h_prev, w, wci, wcf, wco, b = map(wide, (x, cs_prev, h_prev, w, wci, wcf, wco, b))
    gates = xp.matmul(xp.concatenate([x, h_prev], 1), w) + b
    write, value, keep, show = xp.split(gates, 4, axis=1)
    keep = keep + keep.dtype.type(forget_bias)
    if use_peephole:
        write, keep = write + memory * wci, keep + memory * wcf
    i, ci, f = _sigmoid(xp, write), xp.tanh(value), _sigmoid(xp, keep)
    cs = ci * i + memory * f
    if cell_clip > 0:
        cs = xp.clip(cs, -cell_clip, cell_clip)
    o = _sigmoid(xp, show + cs * wco if use_peephole else show)
    co = xp.tanh(cs)
    return tuple(one.astype(dtype, copy=False) for one in (i, cs, f, o, ci, co, o * co))


@compute("LSTMBlockCellGrad", fresh=True)
def lstm_step_grad(
    xp: ArrayModule,
    x: Array,
    cs_prev: Array,
    h_prev: Array,
    w: Array,
    wci: Array,
    wcf: Array,
    wco: Array,
    b: Array,
    i: Array,
    cs: Array,
    f: Array,
    o: Array,
    ci: Array,
    co: Array,
    cs_grad: Array,
    h_grad: Array,
    *,
    use_peephole: bool,
) -> tuple[Any, ...]:
    """Return the gradients of one step: of the previous memory, all gates, and the peepholes."""
    _require_sizes(x, h_prev, w, 4)
    dtype = x.dtype
    cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad = map(
        wide, (cs_prev, wci, wcf, wco, i, cs, f, o, ci, co, cs_grad, h_grad)
    )
    of_show = o * (1 - o) * h_grad * co
    of_memory = (1 - co * co) * h_grad * o + cs_grad
    if use_peephole:
        of_memory = of_memory + of_show * wco
    of_value = (1 - ci * ci) * of_memory * i
    of_keep = f * (1 - f) * of_memory * cs_prev
    of_write = i * (1 - i) * of_memory * ci
    back = of_memory * f
    diagonals = [xp.zeros_like(one) for one in (wci, wcf, wco)]
    if use_peephole:
        back = back + of_write * wci + of_keep * wcf
        diagonals = [(of_write * cs_prev).sum(0), (of_keep * cs_prev).sum(0), (of_show * cs).sum(0)]
    gates = xp.concatenate([of_write, of_value, of_keep, of_show], 1)
    return tuple(one.astype(dtype, copy=False) for one in (back, gates, *diagonals))


@shape_function("LSTMBlockCell")
def _lstm_shape(op: Operation) -> list[TensorShape]:
    x, memory = require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 2)
    return [TensorShape.of((x[0].value, memory[1].value))] * 7


@shape_function("LSTMBlockCellGrad")
def _lstm_grad_shape(op: Operation) -> list[TensorShape]:
    x, memory = require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 2)
    batch, units = x[0].value, memory[1].value
    wide_size = None if units is None else 4 * units
    return [
        TensorShape.of((batch, units)),
        TensorShape.of((batch, wide_size)),
        *[TensorShape.of((units,))] * 3,
    ]


@gradient("LSTMBlockCell")
def _lstm_gradient(op: Operation, *grads: Any) -> tuple[Any, ...]:
    x, cs_prev, h_prev, w, wci, wcf, wco, b = op.inputs
    i, cs, f, o, ci, co, _ = op.outputs
    batch = x.shape[0].value
    batch = -1 if batch is None else batch
    size, units = x.shape[1].value, cs_prev.shape[1].value
    if size is None or units is None:
        raise ValueError("input size and cell size of LSTMBlockCell must be statically inferred.")
    back, gates, *diagonals = apply_op(
        "LSTMBlockCellGrad",
        x=x,
        cs_prev=cs_prev,
        h_prev=h_prev,
        w=w,
        wci=wci,
        wcf=wcf,
        wco=wco,
        b=b,
        i=i,
        cs=cs,
        f=f,
        o=o,
        ci=ci,
        co=co,
        cs_grad=grads[1],
        h_grad=grads[6],
        use_peephole=op.attrs["use_peephole"],
    ).outputs
    both = matmul(gates, w, transpose_b=True)
    of_x = slice_of(both, [0, 0], [batch, size])
    of_h = slice_of(both, [0, size], [batch, units])
    seen = concat([x, h_prev], 1)
    of_w = matmul(seen, gates, transpose_a=True)
    of_b = new("BiasAddGrad", out_backprop=gates)
    return (of_x, back, of_h, of_w, *diagonals, of_b)


# GRUBlockCell


@compute("GRUBlockCell", fresh=True)
def _gru(
    xp: ArrayModule, x: Array, h_prev: Array, w_ru: Array, w_c: Array, b_ru: Array, b_c: Array
) -> tuple[Any, ...]:
    _require_sizes(x, h_prev, w_ru, 2)
    _require_sizes(x, h_prev, w_c, 1)
    gates = _sigmoid(xp, xp.matmul(xp.concatenate([x, h_prev], 1), w_ru) + b_ru)
    r, u = (xp.ascontiguousarray(part) for part in xp.split(gates, 2, axis=1))
    c = xp.tanh(xp.matmul(xp.concatenate([x, h_prev * r], 1), w_c) + b_c)
    return r, u, c, u * h_prev + (1 - u) * c


@compute("GRUBlockCellGrad", fresh=True)
def _gru_grad(
    xp: ArrayModule,
    x: Array,
    h_prev: Array,
    w_ru: Array,
    w_c: Array,
    b_ru: Array,
    b_c: Array,
    r: Array,
    u: Array,
    c: Array,
    d_h: Array,
) -> tuple[Any, ...]:
    size = x.shape[1]
    of_c = d_h * (1 - u) * (1 - c * c)
    of_u = d_h * (h_prev - c) * u * (1 - u)
    below = xp.matmul(of_c, w_c.T)
    kept = below[:, size:]
    gates = xp.concatenate([kept * h_prev * r * (1 - r), of_u], 1)
    above = xp.matmul(gates, w_ru.T)
    return above[:, :size] + below[:, :size], above[:, size:] + kept * r + d_h * u, of_c, gates


@shape_function("GRUBlockCell")
def _gru_shape(op: Operation) -> list[TensorShape]:
    x, state = require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 2)
    return [TensorShape.of((merge_sizes(x[0].value, state[0].value), state[1].value))] * 4


@shape_function("GRUBlockCellGrad")
def _gru_grad_shape(op: Operation) -> list[TensorShape]:
    x, state, gates = (require_rank(tensor.shape, 2) for tensor in op.inputs[:3])
    batch = x[0].value
    wide_size = gates[1].value
    return [x, TensorShape.of((batch, state[1].value)), TensorShape.of((batch, state[1].value)),
            TensorShape.of((batch, wide_size))]  # fmt: skip


@gradient("GRUBlockCell")
def _gru_gradient(op: Operation, *grads: Any) -> tuple[Tensor, ...]:
    x, h_prev, w_ru, w_c, b_ru, b_c = op.inputs
    r, u, c, _ = op.outputs
    of_x, of_h, of_c, gates = apply_op(
        "GRUBlockCellGrad",
        x=x,
        h_prev=h_prev,
        w_ru=w_ru,
        w_c=w_c,
        b_ru=b_ru,
        b_c=b_c,
        r=r,
        u=u,
        c=c,
        d_h=grads[3],
    ).outputs
    seen = concat([x, h_prev], 1)
    of_w_ru = matmul(seen, gates, transpose_a=True)
    of_b_ru = new("BiasAddGrad", out_backprop=gates)
    reset = concat([x, h_prev * r], 1)
    of_w_c = matmul(reset, of_c, transpose_a=True)
    of_b_c = new("BiasAddGrad", out_backprop=of_c)
    return of_x, of_h, of_w_ru, of_w_c, of_b_ru, of_b_c
