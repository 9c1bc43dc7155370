"""Cells with an embedding or a projection: ``tf.contrib.rnn.EmbeddingWrapper`` and similar classes.

Source: tensorflow/contrib/rnn/python/ops/core_rnn_cell.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.nn.misc import bias_add, embedding_lookup
from gpuplace.ops.rnn.cells import RNNCell, require_cell
from gpuplace.ops.variables.init_ops import Constant, RandomUniform
from gpuplace.ops.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from gpuplace.typing import DTypeLike, Function, InitializerLike, TensorLike

__all__ = ["EmbeddingWrapper", "InputProjectionWrapper", "OutputProjectionWrapper"]


class Linear:
    """Concatenated inputs times ``kernel``, plus ``bias``; it creates both variables in the current scope.

    Args:
        inputs: one matrix or a list of them, as in later calls.
        output_size: number of columns of the result.

    Raises:
        ValueError: there are no inputs, one is not a matrix, or its number of columns is unknown.
    """

    def __init__(self, inputs: TensorLike, output_size: int) -> None:
        parts = _listed(inputs)
        if not parts:
            raise ValueError("`args` must be specified")
        shapes = [part.get_shape() for part in parts]
        for shape in shapes:
            if shape.ndims != 2:
                raise ValueError(f"linear is expecting 2D arguments: {shapes}")
            if shape[1].value is None:
                raise ValueError(
                    f"linear expects shape[1] to be provided for shape {shape}, but saw {shape[1]}"
                )
        dtype = parts[0].dtype
        with variable_scope(get_variable_scope()) as outer:
            columns = sum(shape[1].value for shape in shapes)
            self._kernel = get_variable("kernel", [columns, output_size], dtype=dtype)
            with variable_scope(outer):
                zeros = Constant(0.0, dtype=dtype)
                self._bias = get_variable("bias", [output_size], dtype=dtype, initializer=zeros)

    def __call__(self, inputs: Any) -> Tensor:
        parts = _listed(inputs)
        whole = parts[0] if len(parts) == 1 else joining.concat(parts, constant.constant(1))
        return bias_add(matmul(whole, self._kernel), self._bias)


def _listed(inputs: TensorLike) -> list[Any]:
    return list(inputs) if isinstance(inputs, list | tuple) else [inputs]


def linear(inputs: TensorLike, output_size: int) -> Tensor:
    """Create a ``Linear`` of inputs and call it.

    Args:
        inputs: one matrix or a list of them.
        output_size: number of columns of the result.
    """
    return Linear(inputs, output_size)(inputs)


class _CellWrapper(RNNCell):
    """A cell around another cell, with its own variables."""

    def __init__(self, cell: Any, reuse: Any) -> None:
        super().__init__(_reuse=reuse)
        require_cell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """The size of the inner cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The size of the inner cell."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return the zero state of the inner cell.

        Args:
            batch_size: the batch size, an integer or a scalar tensor.
            dtype: the dtype.

        Returns:
            The state of the inner cell.
        """
        with name_scope(type(self).__name__ + "ZeroState", None, [batch_size]):
            return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_CellWrapper):
    """A cell whose inputs are classes, which are looked up in an embedding on the CPU.

    Args:
        cell: the inner cell.
        embedding_classes: number of classes.
        embedding_size: size of an embedding vector.
        initializer: initializer of the embedding; None for the scope's, or random numbers with variance 1.
        reuse: whether to share the variables of the scope.

    Raises:
        TypeError: ``cell`` is not a cell.
        ValueError: a number is not positive.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: InitializerLike | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._embedding_classes = embedding_classes
        self._embedding_size = embedding_size
        self._initializer = initializer

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Compute one step.

        Args:
            inputs: the classes, integers.
            state: the state.

        Returns:
            The output and the next state.
        """
        with get_default_graph().device("/cpu:0"):
            bound = math.sqrt(3)
            vectors = get_variable(
                "embedding",
                [self._embedding_classes, self._embedding_size],
                initializer=self._initializer
                or get_variable_scope().initializer
                or RandomUniform(-bound, bound),
                dtype=(state[0] if isinstance(state, tuple) else state).dtype,
            )
            return self._cell(embedding_lookup(vectors, reshaping.reshape(inputs, [-1])), state)


class InputProjectionWrapper(_CellWrapper):
    """A cell whose input passes through a dense layer.

    Args:
        cell: the inner cell.
        num_proj: size of the inner cell's input.
        activation: activation function of the layer, or None.
        input_size: not used; must be None.
        reuse: whether to share the variables of the scope.

    Raises:
        TypeError: ``cell`` is not a cell.
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Function | None = None,
        input_size: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation
        self._linear: Linear | None = None

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Compute one step.

        Args:
            inputs: the input, ``[batch, size]``.
            state: the state.

        Returns:
            The output and the next state.
        """
        if self._linear is None:
            self._linear = Linear(inputs, self._num_proj)
        projected: Any = self._linear(inputs)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(_CellWrapper):
    """A cell whose output passes through a dense layer.

    Args:
        cell: the inner cell.
        output_size: size of the output.
        activation: activation function of the layer, or None.
        reuse: whether to share the variables of the scope.

    Raises:
        TypeError: ``cell`` is not a cell.
        ValueError: the size is not positive.
    """

    def __init__(
        self, cell: Any, output_size: int, activation: Function | None = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size
        self._activation = activation
        self._linear: Linear | None = None

    @property
    def output_size(self) -> Any:
        """Size of the projected output."""
        return self._output_size

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Compute one step.

        Args:
            inputs: the input, ``[batch, size]``.
            state: the state.

        Returns:
            The output and the next state.
        """
        output, next_state = self._cell(inputs, state)
        if self._linear is None:
            self._linear = Linear(output, self._output_size)
        projected: Any = self._linear(output)
        return (self._activation(projected) if self._activation else projected), next_state
