"""``tf.nn.rnn_cell``: single steps of recurrent networks.

A cell maps the input of a step and the state to the output and the next state:

    output, state = cell(inputs, state)        inputs [batch, size], output [batch, cell.output_size]

Cells are layers: the first step makes their variables, which later steps share.

Source: tensorflow/python/ops/rnn_cell_impl.py and rnn_cell_wrapper_impl.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpuplace import tf_logging
from gpuplace.dtypes import DType, as_dtype, int32
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.layers.base import Layer, require_rank
from gpuplace.ops.layers.by_name import activation_of, initializer_of
from gpuplace.ops.math import trigonometry
from gpuplace.ops.math.elementwise import add, clip_by_value, multiply
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.nn.misc import bias_add
from gpuplace.ops.tracking.base import Trackable
from gpuplace.ops.variables.init_ops import Constant, Zeros
from gpuplace.ops.variables.partitioned import fixed_size_partitioner
from gpuplace.ops.variables.variable_scope import get_variable_scope, variable_scope
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, Function, InitializerLike, TensorLike

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell", "LSTMStateTuple", "MultiRNNCell", "RNNCell",
]  # fmt: skip


_WEIGHTS_VARIABLE_NAME, _BIAS_VARIABLE_NAME = "kernel", "bias"
"""Names that user-defined cells import from here."""


def require_cell(name: str, cell: Any) -> None:
    """Raise TypeError if an object is not a cell.

    Args:
        name: name of the argument, for the message.
        cell: the object to check.
    """
    requirements = (
        (hasattr(cell, "output_size"), "'output_size' property is missing"),
        (hasattr(cell, "state_size"), "'state_size' property is missing"),
        (
            hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state"),
            "either 'zero_state' or 'get_initial_state' method is required",
        ),
        (callable(cell), "is not callable"),
    )
    missing = [sentence for is_there, sentence in requirements if not is_there]
    if missing:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(missing)}.")


def _vectors(*parts: Any) -> list[Tensor | None]:
    """Return sizes as vectors: of a tensor, or of fully known sizes; otherwise None."""
    vectors: list[Tensor | None] = []
    for part in parts:
        if isinstance(part, Tensor):
            vectors.append(reshaping.expand_dims(part, 0) if part.shape.ndims == 0 else part)
        else:
            shape: Any = as_shape(part)
            vectors.append(constant.constant(shape.as_list(), int32) if shape.is_fully_defined() else None)
    return vectors


def joined_sizes(first: Any, second: Any) -> Any:
    """Return the sizes of ``first`` followed by those of ``second``, as a tensor; each may be a tensor.

    Raises:
        ValueError: a size is unknown.
    """
    parts = _vectors(first, second)
    if None in parts:
        raise ValueError(f"Provided a prefix or suffix of None: {first} and {second}")
    return joining.concat(parts, 0)


def known_sizes(first: Any, second: Any) -> TensorShape:
    """Return the static sizes of ``first`` followed by those of ``second``; adds constants, as TensorFlow does."""
    _vectors(first, second)
    left, right = (_static_sizes(part) for part in (first, second))
    return left.concatenate(right)


def _static_sizes(part: Any) -> TensorShape:
    if not isinstance(part, Tensor):
        return as_shape(part)
    value = constant_value(part)
    if value is not None:
        return as_shape(value.tolist())
    rank = 1 if part.shape.ndims == 0 else part.shape[0].value
    return TensorShape(None if rank is None else [None] * rank)


def zeros_of(state_size: Any, batch_size: Any, dtype: DTypeLike) -> Any:
    def zeros(size: Any) -> Tensor:
        state = constant.zeros(joined_sizes(batch_size, size), dtype)
        state.set_shape(known_sizes(batch_size, size))
        return state

    return nest.map_structure(zeros, state_size)


def _require_floating(dtype: Any) -> None:
    if dtype is None:
        return
    kind = as_dtype(dtype)
    if not kind.is_floating and not kind.is_complex:
        raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {kind}")


def _checked(*inputs: Any) -> None:
    for tensor in nest.flatten(list(inputs)):
        _require_floating(tensor.dtype)


class RNNCell(Layer):
    """Base class of cells; a subclass has ``state_size``, ``output_size`` and ``call(inputs, state)``.

    Args:
        trainable: whether to add the variables to the trainable variables.
        name: name of the cell; None: the class name, made unique.
        dtype: dtype of the variables; None: that of the first input.
        **kwargs: arguments of ``tf.layers.Layer``.
    """

    _config: tuple[str, ...] | None = ()

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable, name, dtype, **kwargs)
        self._outer_scope: Any = None

    @property
    def state_size(self) -> Any:
        """Size of the state: an integer, a shape, or a structure of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """Size of the output: an integer, a shape, or a structure of them."""
        raise NotImplementedError("Abstract method")

    def build(self, input_shape: TensorLike) -> None:
        """Make the variables; a cell without this method makes them in ``call``.

        Args:
            input_shape: static shape of the input.
        """

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        if scope is not None:
            with variable_scope(scope, custom_getter=self._get) as opened:
                return super().__call__(inputs, state, *args, scope=opened, **kwargs)
        if self._outer_scope is None:
            self._outer_scope = get_variable_scope()
        with variable_scope(self._outer_scope, custom_getter=self._get):
            return super().__call__(inputs, state, *args, **kwargs)

    def _get(self, getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        self._keep(variable, bool(variable.trainable))
        return variable

    def get_initial_state(
        self, inputs: TensorLike | None = None, batch_size: Any = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Return a zero state for inputs.

        Args:
            inputs: the input of a step, which determines batch size and dtype; None: use the arguments.
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the dtype.

        Returns:
            A state as from ``zero_state``.

        Raises:
            ValueError: batch size or dtype are missing, or differ from those of ``inputs``.
        """
        if inputs is not None:
            tensor = convert_to_tensor(inputs, name="inputs")
            static_batch = tensor.shape[0].value
            requested = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
            if batch_size is not None and static_batch != requested:
                raise ValueError(
                    "batch size from input tensor is different from the input param. Input tensor batch: "
                    f"{static_batch}, batch_size: {batch_size}"
                )
            if dtype is not None and tensor.dtype != as_dtype(dtype):
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{tensor.dtype}, dtype: {dtype}"
                )
            batch_size = static_batch or reshaping.shape(tensor)[0]
            dtype = tensor.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return a zero state.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the dtype.

        Returns:
            Tensors ``[batch_size, size]`` in the structure of ``state_size``.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            return zeros_of(self.state_size, batch_size, dtype)


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in ``build``, directly in its own scope."""

    _num_units: int

    @property
    def state_size(self) -> Any:
        """``num_units``."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """``num_units``."""
        return self._num_units

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def _check(self, inputs: TensorLike) -> None:
        require_rank(inputs, self, rank=2)

    def _depth(self, input_shape: Any) -> int:
        depth = as_shape(input_shape)[-1].value
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}")
        _require_floating(self._dtype)
        return int(depth)


class BasicRNNCell(LayerRNNCell):
    """Basic cell: ``output = state = activation([inputs, state] * kernel + bias)``.

    >>> import gpuplace as tf
    >>> cell = tf.nn.rnn_cell.BasicRNNCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    >>> cell.variables[0].name, output.shape.as_list()
    ('basic_rnn_cell/kernel:0', [2, 4])

    Args:
        num_units: size of the output and the state.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: whether to share existing variables.
        name: name of the cell; None: the class name, made unique.
        dtype: dtype of the variables; None: that of the first input.
        **kwargs: arguments of ``tf.layers.Layer``.
    """

    _config = ("num_units", "activation", "reuse")

    def __init__(
        self,
        num_units: int,
        activation: Function | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _require_floating(dtype)
        self._num_units = num_units
        self._activation = trigonometry.tanh if activation is None else activation_of(activation)

    def build(self, input_shape: TensorLike) -> None:
        """Make the kernel and the bias.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is unknown.
        """
        depth = self._depth(input_shape)
        self._kernel = self.add_variable("kernel", [depth + self._num_units, self._num_units])
        self._bias = self.add_variable(
            "bias", [self._num_units], initializer=Zeros(dtype=self._dtype or "float32")
        )
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Run one step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: unused.
        """
        (state,) = args
        _checked(inputs, state)
        gates = bias_add(matmul(joining.concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(gates)
        return output, output


class GRUCell(LayerRNNCell):
    """Gated recurrent unit (GRU).

    Args:
        num_units: size of the output and the state.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: whether to share existing variables.
        kernel_initializer: initializer of both kernels; None: the scope's.
        bias_initializer: initializer of both biases; None: ones for the gates, zeros for the candidate.
        name: name of the cell; None: the class name, made unique.
        dtype: dtype of the variables; None: that of the first input.
        **kwargs: arguments of ``tf.layers.Layer``.
    """

    _config = ("num_units", "kernel_initializer", "bias_initializer", "activation", "reuse")

    def __init__(
        self,
        num_units: int,
        activation: Function | None = None,
        reuse: Any = None,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _require_floating(dtype)
        self._num_units = num_units
        self._activation = trigonometry.tanh if activation is None else activation_of(activation)
        self._kernel_initializer = initializer_of(kernel_initializer)
        self._bias_initializer = initializer_of(bias_initializer)

    def build(self, input_shape: TensorLike) -> None:
        """Make the kernels and the biases.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is unknown.
        """
        depth, units, dtype = self._depth(input_shape), self._num_units, self._dtype or "float32"
        bias = self._bias_initializer
        add = self.add_variable
        self._gate_kernel = add(
            "gates/kernel", [depth + units, 2 * units], initializer=self._kernel_initializer
        )
        self._gate_bias = add(
            "gates/bias", [2 * units], initializer=Constant(1.0, dtype=dtype) if bias is None else bias
        )
        self._candidate_kernel = add(
            "candidate/kernel", [depth + units, units], initializer=self._kernel_initializer
        )
        self._candidate_bias = add(
            "candidate/bias", [units], initializer=Zeros(dtype=dtype) if bias is None else bias
        )
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Run one step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: unused.
        """
        (state,) = args
        _checked(inputs, state)
        gates = bias_add(matmul(joining.concat([inputs, state], 1), self._gate_kernel), self._gate_bias)
        reset, update = joining.split(trigonometry.sigmoid(gates), 2, axis=1)
        retained = reset * state
        candidate = matmul(joining.concat([inputs, retained], 1), self._candidate_kernel)
        fresh = self._activation(bias_add(candidate, self._candidate_bias))
        output = update * state + (1 - update) * fresh
        return output, output


class _StateTuple(NamedTuple):
    c: Any
    h: Any


class LSTMStateTuple(_StateTuple):
    """State of an LSTM cell: ``c``, the memory, and ``h``, the output."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The common dtype of both tensors.

        Raises:
            TypeError: the dtypes differ.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        common: DType = self.c.dtype
        return common


class BasicLSTMCell(LayerRNNCell):
    """Long short-term memory (LSTM) without peepholes, clipping or projection.

    >>> import gpuplace as tf
    >>> cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    >>> state.c.shape.as_list(), [variable.name for variable in cell.variables]
    ([2, 4], ['basic_lstm_cell/kernel:0', 'basic_lstm_cell/bias:0'])

    Args:
        num_units: size of the output and of both parts of the state.
        forget_bias: added to the forget gates.
        state_is_tuple: whether the state is an ``LSTMStateTuple``; otherwise one tensor ``[batch, 2 * num_units]``.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: whether to share existing variables.
        name: name of the cell; None: the class name, made unique.
        dtype: dtype of the variables; None: that of the first input.
        **kwargs: arguments of ``tf.layers.Layer``.
    """

    _config = ("num_units", "forget_bias", "state_is_tuple", "activation", "reuse")

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Function | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _require_floating(dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = trigonometry.tanh if activation is None else activation_of(activation)

    @property
    def state_size(self) -> Any:
        """``LSTMStateTuple(num_units, num_units)``, or twice ``num_units``."""
        return (
            LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units
        )

    def build(self, input_shape: TensorLike) -> None:
        """Make the kernel and the bias.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is unknown.
        """
        depth, units = self._depth(input_shape), self._num_units
        self._kernel = self.add_variable("kernel", [depth + units, 4 * units])
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros(dtype=self._dtype or "float32"))
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Run one step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: unused.
        """
        (state,) = args
        _checked(inputs, state)
        one = constant.constant(1, int32)
        c, h = state if self._state_is_tuple else joining.split(state, 2, axis=one)
        gates = bias_add(matmul(joining.concat([inputs, h], 1), self._kernel), self._bias)
        write, value, keep, show = joining.split(gates, 4, axis=one)
        forget_bias = constant.constant(self._forget_bias, keep.dtype)
        retained = multiply(c, trigonometry.sigmoid(add(keep, forget_bias)))
        new_c = add(retained, multiply(trigonometry.sigmoid(write), self._activation(value)))
        new_h = multiply(self._activation(new_c), trigonometry.sigmoid(show))
        new_state = (
            LSTMStateTuple(new_c, new_h) if self._state_is_tuple else joining.concat([new_c, new_h], 1)
        )
        return new_h, new_state


def _in_parts(count: int | None) -> Any:
    """Return a partitioner with ``count`` parts, or None."""
    return None if count is None else fixed_size_partitioner(count)


class LSTMCell(LayerRNNCell):
    """Long short-term memory (LSTM) with optional peepholes, clipping and projection.

    Args:
        num_units: size of the memory.
        use_peepholes: whether to use peepholes, by which the gates see the memory.
        cell_clip: bound of the memory's absolute values; None: no clipping.
        initializer: initializer of the kernel, peepholes and projection; None: the scope's.
        num_proj: size of the output's projection; None: no projection.
        proj_clip: bound of the projection's absolute values; None: no clipping.
        num_unit_shards: number of parts of the kernel, by rows; None: the scope's partitioner.
        num_proj_shards: number of parts of the projection, by rows; None: the scope's partitioner.
        forget_bias: added to the forget gates.
        state_is_tuple: whether the state is an ``LSTMStateTuple``; otherwise one tensor.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: whether to share existing variables.
        name: name of the cell; None: the class name, made unique.
        dtype: dtype of the variables; None: that of the first input.
        **kwargs: arguments of ``tf.layers.Layer``.
    """

    _config = (
        *(
            "num_units",
            "use_peepholes",
            "cell_clip",
            "initializer",
            "num_proj",
            "proj_clip",
            "num_unit_shards",
        ),
        *("num_proj_shards", "forget_bias", "state_is_tuple", "activation", "reuse"),
    )

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Function | None = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        _require_floating(dtype)
        if num_unit_shards is not None or num_proj_shards is not None:
            tf_logging.warning(
                "%s: The num_unit_shards and proj_unit_shards parameters are deprecated. Use a variable scope with a"
                " partitioner instead.",
                self,
            )
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer = initializer_of(initializer)
        self._num_proj = num_proj
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = trigonometry.tanh if activation is None else activation_of(activation)

    @property
    def state_size(self) -> Any:
        """``LSTMStateTuple(num_units, output_size)``, or their sum."""
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self.output_size)
        return self._num_units + self.output_size

    @property
    def output_size(self) -> Any:
        """``num_proj``, or ``num_units``."""
        return self._num_proj or self._num_units

    def build(self, input_shape: TensorLike) -> None:
        """Make the kernel, the bias, the peepholes and the projection.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is unknown.
        """
        depth, units, add = self._depth(input_shape), self._num_units, self.add_variable
        of_state = units if self._num_proj is None else self._num_proj
        self._kernel = add(
            "kernel",
            [depth + of_state, 4 * units],
            initializer=self._initializer,
            partitioner=_in_parts(self._num_unit_shards),
        )
        self._bias = add("bias", [4 * units], initializer=Zeros(dtype=self._dtype or "float32"))
        if self._use_peepholes:
            self._w_f_diag = add("w_f_diag", [units], initializer=self._initializer)
            self._w_i_diag = add("w_i_diag", [units], initializer=self._initializer)
            self._w_o_diag = add("w_o_diag", [units], initializer=self._initializer)
        if self._num_proj is not None:
            self._proj_kernel = add(
                "projection/kernel",
                [units, self._num_proj],
                initializer=self._initializer,
                partitioner=_in_parts(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Run one step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: unused.
        """
        (state,) = args
        _checked(inputs, state)
        size = self._num_units if self._num_proj is None else self._num_proj
        if self._state_is_tuple:
            c, m = state
        else:
            c = slice_of(state, [0, 0], [-1, self._num_units])
            m = slice_of(state, [0, self._num_units], [-1, size])
        gates = bias_add(matmul(joining.concat([inputs, m], 1), self._kernel), self._bias)
        write, value, keep, show = joining.split(gates, 4, axis=1)
        sigmoid, activation = trigonometry.sigmoid, self._activation
        if self._use_peepholes:
            retained = sigmoid(keep + self._forget_bias + self._w_f_diag * c) * c
            new_c = retained + sigmoid(write + self._w_i_diag * c) * activation(value)
        else:
            retained = sigmoid(keep + self._forget_bias) * c
            new_c = retained + sigmoid(write) * activation(value)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        shown = sigmoid(show + self._w_o_diag * new_c) if self._use_peepholes else sigmoid(show)
        output = shown * activation(new_c)
        if self._num_proj is not None:
            output = matmul(output, self._proj_kernel)
            if self._proj_clip is not None:
                output = clip_by_value(output, -self._proj_clip, self._proj_clip)
        new_state = (
            LSTMStateTuple(new_c, output) if self._state_is_tuple else joining.concat([new_c, output], 1)
        )
        return output, new_state


class MultiRNNCell(RNNCell):
    """Stacked cells: the output of each is the input of the next.

    Args:
        cells: the cells, from input to output.
        state_is_tuple: whether the state is a tuple with one state per cell; otherwise one tensor.

    Raises:
        ValueError: there are no cells, or a cell's state is a tuple although ``state_is_tuple`` is False.
        TypeError: ``cells`` is not a list or tuple.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells = cells
        for number, cell in enumerate(cells):
            if isinstance(cell, Trackable):
                self._track_trackable(cell, name=f"cell-{number}")
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes are: "
                f"{[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        """A tuple of the cells' state sizes, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return a zero state.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the dtype.

        Returns:
            A tuple of the cells' states, or one tensor.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the cells."""
        if not self.trainable:
            return []
        return [item for cell in self._cells if isinstance(cell, Layer) for item in cell.trainable_weights]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The non-trainable variables of the cells."""
        cells = [cell for cell in self._cells if isinstance(cell, Layer)]
        weights = [] if self.trainable else [item for cell in cells for item in cell.trainable_weights]
        return [*weights, *(item for cell in cells for item in cell.non_trainable_weights)]

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Run one step of each cell.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: unused.
        """
        (state,) = args
        if self._state_is_tuple and not nest.is_nested(state):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        states, start = [], 0
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    own = state[number]
                else:
                    own = slice_of(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                inputs, new_state = cell(inputs, own)
                states.append(new_state)
        return inputs, tuple(states) if self._state_is_tuple else joining.concat(states, 1)
