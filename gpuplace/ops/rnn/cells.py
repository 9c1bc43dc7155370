"""``tf.nn.rnn_cell``: what one step of a recurrent net does.

A cell takes the input of a step and the state, and gives the output and the next state:

    output, state = cell(inputs, state)        inputs [batch, size], output [batch, cell.output_size]

Cells are layers: their variables are made at the first step and shared by the others.

Source: tensorflow/python/ops/rnn_cell_impl.py and rnn_cell_wrapper_impl.py, release 1.15.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpuplace import tf_logging
from gpuplace.dtypes import DType, as_dtype, int32
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.flow.tensor_arrays import TensorArray
from gpuplace.ops.layers.base import Layer, as_function, require_rank
from gpuplace.ops.math import unary
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import add, clip_by_value, multiply
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.nn.misc import bias_add, dropout
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.ops.tracking.base import Trackable
from gpuplace.ops.variables.init_ops import Constant, Zeros
from gpuplace.ops.variables.partitioned import fixed_size_partitioner
from gpuplace.ops.variables.variable_scope import get_variable_scope, variable_scope
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DeviceLike, DTypeLike, Function, InitializerLike, TensorLike

__all__ = [
    "BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple",
    "MultiRNNCell", "RNNCell", "ResidualWrapper",
]  # fmt: skip


def require_cell(name: str, cell: Any) -> None:
    """TypeError where something is no cell.

    Args:
        name: name of the argument, which is said.
        cell: what was given.
    """
    wanted = (
        (hasattr(cell, "output_size"), "'output_size' property is missing"),
        (hasattr(cell, "state_size"), "'state_size' property is missing"),
        (
            hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state"),
            "either 'zero_state' or 'get_initial_state' method is required",
        ),
        (callable(cell), "is not callable"),
    )
    missing = [sentence for is_there, sentence in wanted if not is_there]
    if missing:
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(missing)}.")


def _vectors(*parts: Any) -> list[Tensor | None]:
    """Sizes as vectors: of a tensor, or of sizes that are all known; else None."""
    found: list[Tensor | None] = []
    for part in parts:
        if isinstance(part, Tensor):
            found.append(reshaping.expand_dims(part, 0) if part.shape.ndims == 0 else part)
        else:
            shape: Any = as_shape(part)
            found.append(constant.constant(shape.as_list(), int32) if shape.is_fully_defined() else None)
    return found


def joined_sizes(first: Any, second: Any) -> Any:
    """The sizes of ``first`` followed by those of ``second``, as a tensor; each may be a tensor.

    Raises:
        ValueError: one is not known.
    """
    parts = _vectors(first, second)
    if None in parts:
        raise ValueError(f"Provided a prefix or suffix of None: {first} and {second}")
    return joining.concat(parts, 0)


def known_sizes(first: Any, second: Any) -> TensorShape:
    """What is known of the sizes of ``first`` followed by those of ``second``; leaves constants, as in TensorFlow."""
    _vectors(first, second)
    one, other = (_known(part) for part in (first, second))
    return one.concatenate(other)


def _known(part: Any) -> TensorShape:
    if not isinstance(part, Tensor):
        return as_shape(part)
    value = constant_value(part)
    if value is not None:
        return as_shape(value.tolist())
    rank = 1 if part.shape.ndims == 0 else part.shape[0].value
    return TensorShape(None if rank is None else [None] * rank)


def zeros_of(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    def zeros(size: Any) -> Tensor:
        made = constant.zeros(joined_sizes(batch_size, size), dtype)
        made.set_shape(known_sizes(batch_size, size))
        return made

    return nest.map_structure(zeros, state_size)


def _require_floating(dtype: Any) -> None:
    if dtype is None:
        return
    found = as_dtype(dtype)
    if not found.is_floating and not found.is_complex:
        raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {found}")


def _checked(*inputs: Any) -> None:
    for tensor in nest.flatten(list(inputs)):
        _require_floating(tensor.dtype)


class RNNCell(Layer):
    """A cell; a subclass has ``state_size``, ``output_size`` and ``call(inputs, state)``.

    Args:
        trainable: collect the variables among the trainable ones.
        name: name of the cell; None: that of the class, made unique.
        dtype: type of the variables; None: that of the first input.
        **kwargs: those of ``tf.layers.Layer``.
    """

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

    def build(self, input_shape: Any) -> None:
        """Makes the variables; without a method of its own a cell makes them in ``call``.

        Args:
            input_shape: what is known of the shape of the input.
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
        """A state of zeros for inputs.

        Args:
            inputs: the input of a step, whose batch size and type count; None: those given.
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the type.

        Returns:
            As ``zero_state``.

        Raises:
            ValueError: batch size or type are missing, or others than those of ``inputs``.
        """
        if inputs is not None:
            tensor = convert_to_tensor(inputs, name="inputs")
            known = tensor.shape[0].value
            given = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
            if batch_size is not None and known != given:
                raise ValueError(
                    "batch size from input tensor is different from the input param. Input tensor batch: "
                    f"{known}, batch_size: {batch_size}"
                )
            if dtype is not None and tensor.dtype != as_dtype(dtype):
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{tensor.dtype}, dtype: {dtype}"
                )
            batch_size = known or reshaping.shape(tensor)[0]
            dtype = tensor.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """A state of zeros.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the type.

        Returns:
            The structure of ``state_size`` with tensors ``[batch_size, size]``.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            return zeros_of(self.state_size, batch_size, dtype)


class OwnVariables(RNNCell):
    """A cell that makes its variables in ``build``, straight in its own scope."""

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

    def _check(self, inputs: Any) -> None:
        require_rank(inputs, self, rank=2)

    def _depth(self, input_shape: Any) -> int:
        depth = as_shape(input_shape)[-1].value
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}")
        _require_floating(self._dtype)
        return int(depth)


class BasicRNNCell(OwnVariables):
    """``output = state = activation([inputs, state] * kernel + bias)``.

    >>> import gpuplace as tf
    >>> cell = tf.nn.rnn_cell.BasicRNNCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    >>> cell.kernel.name, output.shape.as_list()
    ('basic_rnn_cell/kernel:0', [2, 4])

    Args:
        num_units: size of the output and the state.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: share variables that are there.
        name: name of the cell; None: that of the class, made unique.
        dtype: type of the variables; None: that of the first input.
        **kwargs: those of ``tf.layers.Layer``.
    """

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
        self._activation = as_function(activation) or unary.tanh

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is not known.
        """
        depth = self._depth(input_shape)
        self.kernel = self.add_variable("kernel", [depth + self._num_units, self._num_units])
        self.bias = self.add_variable(
            "bias", [self._num_units], initializer=Zeros(dtype=self._dtype or "float32")
        )
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """One step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: nothing.
        """
        (state,) = args
        _checked(inputs, state)
        gates = bias_add(matmul(joining.concat([inputs, state], 1), self.kernel), self.bias)
        output = self._activation(gates)
        return output, output


class GRUCell(OwnVariables):
    """A gated recurrent unit.

    Args:
        num_units: size of the output and the state.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: share variables that are there.
        kernel_initializer: of both kernels; None: the scope's.
        bias_initializer: of both biases; None: ones for the gates, zeros for the candidate.
        name: name of the cell; None: that of the class, made unique.
        dtype: type of the variables; None: that of the first input.
        **kwargs: those of ``tf.layers.Layer``.
    """

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
        self._activation = as_function(activation) or unary.tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    def build(self, input_shape: Any) -> None:
        """Makes the kernels and the biases.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is not known.
        """
        depth, units, dtype = self._depth(input_shape), self._num_units, self._dtype or "float32"
        given = self._bias_initializer
        made = self.add_variable
        self._gate_kernel = made(
            "gates/kernel", [depth + units, 2 * units], initializer=self._kernel_initializer
        )
        self._gate_bias = made(
            "gates/bias", [2 * units], initializer=Constant(1.0, dtype=dtype) if given is None else given
        )
        self._candidate_kernel = made(
            "candidate/kernel", [depth + units, units], initializer=self._kernel_initializer
        )
        self._candidate_bias = made(
            "candidate/bias", [units], initializer=Zeros(dtype=dtype) if given is None else given
        )
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """One step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: nothing.
        """
        (state,) = args
        _checked(inputs, state)
        gates = bias_add(matmul(joining.concat([inputs, state], 1), self._gate_kernel), self._gate_bias)
        reset, update = joining.split(unary.sigmoid(gates), 2, axis=1)
        kept = reset * state
        candidate = matmul(joining.concat([inputs, kept], 1), self._candidate_kernel)
        fresh = self._activation(bias_add(candidate, self._candidate_bias))
        output = update * state + (1 - update) * fresh
        return output, output


class _StateTuple(NamedTuple):
    c: Any
    h: Any


class LSTMStateTuple(_StateTuple):
    """The state of an LSTM cell: ``c``, what it remembers, and ``h``, its output."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The type of both.

        Raises:
            TypeError: they differ.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        found: DType = self.c.dtype
        return found


class BasicLSTMCell(OwnVariables):
    """A long short-term memory without peepholes, clipping or projection.

    >>> import gpuplace as tf
    >>> cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    >>> output, state = cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    >>> state.c.shape.as_list(), [variable.name for variable in cell.variables]
    ([2, 4], ['basic_lstm_cell/kernel:0', 'basic_lstm_cell/bias:0'])

    Args:
        num_units: size of the output and of both parts of the state.
        forget_bias: added to the gates that forget.
        state_is_tuple: the state is an ``LSTMStateTuple``; otherwise one tensor ``[batch, 2 * num_units]``.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: share variables that are there.
        name: name of the cell; None: that of the class, made unique.
        dtype: type of the variables; None: that of the first input.
        **kwargs: those of ``tf.layers.Layer``.
    """

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
        self._activation = as_function(activation) or unary.tanh

    @property
    def state_size(self) -> Any:
        """``LSTMStateTuple(num_units, num_units)``, or twice ``num_units``."""
        return (
            LSTMStateTuple(self._num_units, self._num_units) if self._state_is_tuple else 2 * self._num_units
        )

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is not known.
        """
        depth, units = self._depth(input_shape), self._num_units
        self.kernel = self.add_variable("kernel", [depth + units, 4 * units])
        self.bias = self.add_variable("bias", [4 * units], initializer=Zeros(dtype=self._dtype or "float32"))
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """One step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: nothing.
        """
        (state,) = args
        _checked(inputs, state)
        one = constant.constant(1, int32)
        c, h = state if self._state_is_tuple else joining.split(state, 2, axis=one)
        gates = bias_add(matmul(joining.concat([inputs, h], 1), self.kernel), self.bias)
        write, value, keep, show = joining.split(gates, 4, axis=one)
        forget_bias = constant.constant(self._forget_bias, keep.dtype)
        kept = multiply(c, unary.sigmoid(add(keep, forget_bias)))
        new_c = add(kept, multiply(unary.sigmoid(write), self._activation(value)))
        new_h = multiply(self._activation(new_c), unary.sigmoid(show))
        new_state = (
            LSTMStateTuple(new_c, new_h) if self._state_is_tuple else joining.concat([new_c, new_h], 1)
        )
        return new_h, new_state


def _in_parts(count: int | None) -> Any:
    """What cuts a variable into so many parts; None: nothing does."""
    return None if count is None else fixed_size_partitioner(count)


class LSTMCell(OwnVariables):
    """A long short-term memory, with peepholes, clipping and projection where wanted.

    Args:
        num_units: size of what it remembers.
        use_peepholes: the gates see what is remembered.
        cell_clip: what is remembered is kept between minus this number and it; None: not clipped.
        initializer: of the kernel, peepholes and projection; None: the scope's.
        num_proj: size of the output, which is then a projection; None: ``num_units``, without one.
        proj_clip: the projection is kept between minus this number and it; None: not clipped.
        num_unit_shards: into how many parts the kernel is cut by rows; None: as the scope's partitioner says.
        num_proj_shards: the same for the projection.
        forget_bias: added to the gates that forget.
        state_is_tuple: the state is an ``LSTMStateTuple``; otherwise one tensor.
        activation: a function from tensor to tensor; None: ``tanh``.
        reuse: share variables that are there.
        name: name of the cell; None: that of the class, made unique.
        dtype: type of the variables; None: that of the first input.
        **kwargs: those of ``tf.layers.Layer``.
    """

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
        self._initializer = initializer
        self._num_proj = num_proj
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = as_function(activation) or unary.tanh

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

    def build(self, input_shape: Any) -> None:
        """Makes the kernel and the bias, peepholes and the projection.

        Args:
            input_shape: ``[batch, size]``.

        Raises:
            ValueError: the size is not known.
        """
        depth, units, made = self._depth(input_shape), self._num_units, self.add_variable
        of_state = units if self._num_proj is None else self._num_proj
        self.kernel = made(
            "kernel",
            [depth + of_state, 4 * units],
            initializer=self._initializer,
            partitioner=_in_parts(self._num_unit_shards),
        )
        self.bias = made("bias", [4 * units], initializer=Zeros(dtype=self._dtype or "float32"))
        if self._use_peepholes:
            self._w_f = made("w_f_diag", [units], initializer=self._initializer)
            self._w_i = made("w_i_diag", [units], initializer=self._initializer)
            self._w_o = made("w_o_diag", [units], initializer=self._initializer)
        if self._num_proj is not None:
            self._projection = made(
                "projection/kernel",
                [units, self._num_proj],
                initializer=self._initializer,
                partitioner=_in_parts(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """One step.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: nothing.
        """
        (state,) = args
        _checked(inputs, state)
        size = self._num_units if self._num_proj is None else self._num_proj
        if self._state_is_tuple:
            c, m = state
        else:
            c = slice_of(state, [0, 0], [-1, self._num_units])
            m = slice_of(state, [0, self._num_units], [-1, size])
        gates = bias_add(matmul(joining.concat([inputs, m], 1), self.kernel), self.bias)
        write, value, keep, show = joining.split(gates, 4, axis=1)
        sigmoid, activation = unary.sigmoid, self._activation
        if self._use_peepholes:
            kept = sigmoid(keep + self._forget_bias + self._w_f * c) * c
            new_c = kept + sigmoid(write + self._w_i * c) * activation(value)
        else:
            kept = sigmoid(keep + self._forget_bias) * c
            new_c = kept + sigmoid(write) * activation(value)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        shown = sigmoid(show + self._w_o * new_c) if self._use_peepholes else sigmoid(show)
        output = shown * activation(new_c)
        if self._num_proj is not None:
            output = matmul(output, self._projection)
            if self._proj_clip is not None:
                output = clip_by_value(output, -self._proj_clip, self._proj_clip)
        new_state = (
            LSTMStateTuple(new_c, output) if self._state_is_tuple else joining.concat([new_c, output], 1)
        )
        return output, new_state


class MultiRNNCell(RNNCell):
    """Cells on top of each other: the output of one is the input of the next.

    Args:
        cells: the cells, the lowest first.
        state_is_tuple: the state is a tuple with one state a cell; otherwise one tensor.

    Raises:
        ValueError: there are none, or a cell's state is a tuple and this one's is not.
        TypeError: ``cells`` is no list or tuple.
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
        """A tuple of the cells' sizes, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """A state of zeros.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the type.

        Returns:
            A tuple of the cells' states, or one tensor.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of the cells that are trained."""
        if not self.trainable:
            return []
        return [one for cell in self._cells if isinstance(cell, Layer) for one in cell.trainable_weights]

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of the cells that are not trained."""
        cells = [cell for cell in self._cells if isinstance(cell, Layer)]
        found = [] if self.trainable else [one for cell in cells for one in cell.trainable_weights]
        return [*found, *(one for cell in cells for one in cell.non_trainable_weights)]

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """One step of each cell.

        Args:
            inputs: ``[batch, size]``.
            *args: the state.
            **kwargs: nothing.
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


class _Wrapper(RNNCell):
    """A cell around another one."""

    def __init__(self, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        require_cell("cell", cell)
        self.cell = cell
        if isinstance(cell, Trackable):
            self._track_trackable(cell, name="cell")

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """That of the cell inside."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the cell inside."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """Those of the cell inside."""
        return list(self.cell.trainable_weights)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Those of the cell inside."""
        return list(self.cell.non_trainable_weights)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """A state of zeros of the cell inside.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the type.

        Returns:
            As that of the cell inside.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, *args: Any, **kwargs: Any) -> Any:
        return self._wrapped(inputs, state, scope)

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        raise NotImplementedError


def _is_dropped(state: Any) -> Any:
    """Which parts of a state are dropped: not what an LSTM remembers."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


class DropoutWrapper(_Wrapper):
    """A cell with dropout of its inputs, outputs or states.

    Args:
        cell: the cell.
        input_keep_prob: the share of the input's elements that is kept, a number or a scalar tensor.
        output_keep_prob: the same for the output.
        state_keep_prob: the same for the state; of an LSTM's only for ``h``.
        variational_recurrent: drop the same elements at all steps.
        input_size: size of the input; needed where ``variational_recurrent`` and input is dropped.
        dtype: type of input and states; needed where ``variational_recurrent``.
        seed: seed of the random ops; None: see ``set_random_seed``.
        dropout_state_filter_visitor: a function from a state to which of its parts are dropped.
        **kwargs: those of ``RNNCell``.

    Raises:
        TypeError: ``cell`` is no cell, or the visitor no function.
        ValueError: a share is not between 0 and 1, or arguments are missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Function | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._visitor = dropout_state_filter_visitor or _is_dropped
        self._seed = seed
        self._variational = variational_recurrent
        self._noise: dict[str, Any] = {}
        with name_scope("DropoutWrapperInit"):
            self._input_keep = self._share("input_keep_prob", input_keep_prob)
            self._state_keep = self._share("state_keep_prob", state_keep_prob)
            self._output_keep = self._share("output_keep_prob", output_keep_prob)
        if variational_recurrent:
            self._make_noise(input_size, dtype)

    @staticmethod
    def _share(name: str, given: Any) -> Any:
        tensor = convert_to_tensor(given)
        value = constant_value(tensor)
        if value is None:
            return tensor
        if not 0 <= value <= 1:
            raise ValueError(f"Parameter {name} must be between 0 and 1: {int(value)}")
        return float(value)

    def _make_noise(self, input_size: Any, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")

        def noise(size: Any, seed: Any) -> Tensor:
            shape = joining.concat(([1], as_shape(size).as_list()), 0)
            return random_uniform(shape, seed=seed, dtype=dtype)

        if not isinstance(self._input_keep, numbers.Real) or self._input_keep < 1.0:
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            self._noise["input"] = self._by_leaf(input_size, "input", noise)
        self._noise["state"] = self._by_leaf(self.cell.state_size, "state", noise)
        self._noise["output"] = self._by_leaf(self.cell.output_size, "output", noise)

    def _by_leaf(self, structure: Any, salt: str, make: Callable[[Any, Any], Any]) -> Any:
        """``make`` of each leaf and the seed that goes with it."""
        leaves = nest.flatten(structure)
        made = [make(leaf, self._seed_of(salt, number)) for number, leaf in enumerate(leaves)]
        return nest.pack_sequence_as(structure, made)

    def _seed_of(self, salt: str, number: int) -> int | None:
        if self._seed is None:
            return None
        text = f"{self._seed}{salt}_{number}".encode()
        import hashlib  # loaded when it is first needed

        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF

    def _dropped(self, values: Any, salt: str, keep: Any, chosen: Any = None) -> Any:
        leaves = nest.flatten(values)
        flags = [True] * len(leaves) if chosen is None else nest.flatten(chosen)
        noise = nest.flatten(self._noise[salt]) if self._variational else [None] * len(leaves)
        made = []
        for number, (leaf, is_dropped, own) in enumerate(zip(leaves, flags, noise, strict=True)):
            if is_dropped is False:
                made.append(leaf)
            elif own is None:
                made.append(dropout(leaf, rate=1.0 - keep, seed=self._seed_of(salt, number)))
            else:
                mask = unary.floor(keep + own)
                kept = div(leaf, keep) * mask
                kept.set_shape(leaf.get_shape())
                made.append(kept)
        return nest.pack_sequence_as(values, made)

    def _flags(self, state: Any) -> Any:
        """For each part of a state whether it is dropped."""
        found = self._visitor(state)
        if found is True and nest.is_nested(state) and not isinstance(state, LSTMStateTuple):
            parts = [self._flags(part) for part in state]
            return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)
        return found if nest.is_nested(found) else nest.map_structure(lambda _: found, state)

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        def is_partial(keep: Any) -> bool:
            return not isinstance(keep, float) or keep < 1

        if is_partial(self._input_keep):
            inputs = self._dropped(inputs, "input", self._input_keep)
        output, new_state = self.cell(inputs, state, scope=scope)
        if is_partial(self._state_keep):
            new_state = self._dropped(new_state, "state", self._state_keep, self._flags(new_state))
        if is_partial(self._output_keep):
            output = self._dropped(output, "output", self._output_keep)
        return output, new_state


class ResidualWrapper(_Wrapper):
    """A cell whose input is added to its output.

    Args:
        cell: the cell.
        residual_fn: a function from input and output to the output; None: their sum.
        **kwargs: those of ``RNNCell``.

    Raises:
        TypeError: ``cell`` is no cell.
        ValueError: when called: input and output differ in shape.
    """

    def __init__(self, cell: Any, residual_fn: Function | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        outputs, new_state = self.cell(inputs, state, scope=scope)
        return (self._residual_fn or _sum_of)(inputs, outputs), new_state


def _sum_of(inputs: Any, outputs: Any) -> Any:
    nest.map_structure(lambda one, other: one.shape.assert_is_compatible_with(other.shape), inputs, outputs)
    return nest.map_structure(lambda one, other: one + other, inputs, outputs)


class DeviceWrapper(_Wrapper):
    """A cell whose operations are requested on a device.

    Args:
        cell: the cell.
        device: the device, as for ``tf.device``.
        **kwargs: those of ``RNNCell``.

    Raises:
        TypeError: ``cell`` is no cell.
    """

    def __init__(self, cell: Any, device: DeviceLike, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """A state of zeros of the cell inside, on the device.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the type.

        Returns:
            As that of the cell inside.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]), self._placed():
            return self.cell.zero_state(batch_size, dtype)

    def _placed(self) -> Any:
        return get_default_graph().device(self._device)

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        with self._placed():
            return self.cell(inputs, state, scope=scope)
