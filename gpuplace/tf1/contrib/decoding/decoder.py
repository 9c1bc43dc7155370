"""Decoders, and the loop that runs one until all of its sequences are finished.

    initialize  ->  while not all are finished: step  ->  outputs, one after another  ->  finalize

Source: tensorflow/contrib/seq2seq/python/ops/decoder.py, release 1.15.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array.constant import constant, fill, zeros_like
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.while_loops import while_loop
from gpuplace.ops.math.comparison import logical_not, logical_or
from gpuplace.ops.math.reduction import reduce_all
from gpuplace.ops.rnn.cells import zeros_of
from gpuplace.ops.rnn.rnn import batch_and_time_exchanged, cache_beside
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.shapes import TensorShape
from gpuplace.typing import TensorLike

__all__ = ["Decoder", "dynamic_decode"]


class Decoder(ABC):
    """Base class of decoders: compute the outputs of sequences, step by step."""

    @property
    def batch_size(self) -> Any:
        """Number of sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """Sizes of a step's outputs, an integer, a shape, or a structure of them."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """Dtypes of a step's outputs, in the same structure."""
        raise NotImplementedError

    @abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return which sequences are finished from the start, the first inputs, and the initial state.

        Args:
            name: name scope of the ops.
        """

    @abstractmethod
    def step(
        self, time: Any, inputs: TensorLike, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return the outputs of a step, the next state, the next inputs, and which sequences are finished.

        Args:
            time: index of the step, an int32 scalar.
            inputs: its inputs.
            state: the state.
            name: name scope of the ops.
        """

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the final form of outputs and state.

        Args:
            outputs: outputs of all steps.
            final_state: state after the last step.
            sequence_lengths: length of each sequence.
        """
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether a finished sequence may continue if ``step`` says so."""
        return False


def _element_shape(batch_size: Any, size: Any) -> TensorShape | None:
    if not isinstance(size, TensorShape) or size.ndims == 0:
        return None
    static_size = constant_value(convert_to_tensor(batch_size, name="batch_size"))
    return TensorShape([None if static_size is None else int(static_size)]).concatenate(size)


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: TensorLike | None = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Tensor]:
    """Run a decoder until all sequences are finished.

    Args:
        decoder: the decoder.
        output_time_major: whether to return outputs with time first, ``[time, batch, ...]``.
        impute_finished: whether finished sequences return zeros, and keep their state.
        maximum_iterations: maximum number of steps, an int32 scalar; None: no limit.
        parallel_iterations: number of steps that may run in parallel.
        swap_memory: ignored.
        scope: the variable scope; None: ``decoder``.

    Returns:
        The outputs of all steps, ``[batch, time, ...]``, the final state, and the length of each sequence, int32.

    Raises:
        TypeError: ``decoder`` is not a decoder.
        ValueError: ``maximum_iterations`` is not a scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder") as opened:
        cache_beside(opened)
        longest: Any = None
        if maximum_iterations is not None:
            longest = convert_to_tensor(maximum_iterations, dtype=int32, name="maximum_iterations")
            if longest.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        sizes, types = decoder.output_size, decoder.output_dtype
        no_outputs = nest.map_structure(
            lambda size, dtype: zeros_of(size, decoder.batch_size, dtype), sizes, types
        )
        if longest is not None:
            finished = logical_or(finished, 0 >= longest)
        lengths = zeros_like(finished, dtype=int32)
        start = constant(0, dtype=int32)

        def array(size: Any, dtype: Any) -> TensorArray:
            shape = _element_shape(decoder.batch_size, size)
            return TensorArray(dtype=dtype, size=0, dynamic_size=True, element_shape=shape)

        def goes_on(
            time: Any, arrays: Any, state: Any, inputs: TensorLike, finished: Any, lengths: TensorLike
        ) -> Tensor:
            return logical_not(reduce_all(finished))

        def step(
            time: Any, arrays: Any, state: Any, inputs: TensorLike, finished: Any, lengths: TensorLike
        ) -> Any:
            outputs, next_state, next_inputs, ended = decoder.step(time, inputs, state)
            next_finished = ended if decoder.tracks_own_finished else logical_or(ended, finished)
            next_lengths = where(logical_not(finished), fill(shape_of(lengths), time + 1), lengths)
            nest.assert_same_structure(state, next_state)
            nest.assert_same_structure(arrays, outputs)
            nest.assert_same_structure(inputs, next_inputs)

            def kept(new: Any, old: Any) -> Any:
                if isinstance(old, TensorArray):
                    return new
                new.set_shape(old.shape)
                return new if new.shape.ndims == 0 else where(finished, old, new)

            if impute_finished:
                outputs = nest.map_structure(
                    lambda out, zero: where(finished, zero, out), outputs, no_outputs
                )
                next_state = nest.map_structure(kept, next_state, state)
            arrays = nest.map_structure(lambda array, out: array.write(time, out), arrays, outputs)
            return time + 1, arrays, next_state, next_inputs, next_finished, next_lengths

        _, arrays, state, _, _, lengths = while_loop(
            goes_on,
            step,
            (start, nest.map_structure(array, sizes, types), state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            maximum_iterations=longest,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        if type(decoder).finalize is not Decoder.finalize:
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(batch_and_time_exchanged, outputs)
    return outputs, state, lengths
