"""Helpers: sample from a decoder's outputs, and provide its next inputs.

    TrainingHelper            the true sequence
    GreedyEmbeddingHelper     the embedding of the most probable symbol, until the end token
    SampleEmbeddingHelper     the embedding of a symbol sampled from the outputs

Source: tensorflow/contrib/seq2seq/python/ops/helper.py, release 1.15.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import bool as bool_type
from gpuplace.dtypes import int32, int64
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array.constant import fill, zeros_like
from gpuplace.ops.array.gather import gather_nd, scatter_nd, where
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import pad, tile
from gpuplace.ops.array.positions import argmax
from gpuplace.ops.array.reshaping import rank, reshape, size, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, less, logical_not, logical_or
from gpuplace.ops.math.reduction import reduce_all, reduce_any, reduce_prod
from gpuplace.ops.nn.misc import embedding_lookup
from gpuplace.ops.random.random_ops import multinomial, random_uniform
from gpuplace.ops.rnn.rnn import batch_and_time_exchanged
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.typing import DTypeLike, ShapeLike, TensorLike

__all__ = [
    "CustomHelper", "GreedyEmbeddingHelper", "Helper", "InferenceHelper", "SampleEmbeddingHelper",
    "ScheduledEmbeddingTrainingHelper", "ScheduledOutputTrainingHelper", "TrainingHelper",
]  # fmt: skip


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    """Return a function from symbols to their embeddings.

    Args:
        embedding: such a function, or the embedding variable.
    """
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def _draws(draw: Callable[[Any], Any], shape: Any) -> Tensor:
    """Return samples of a function in the requested shape, () or a number of samples."""
    with name_scope(None, "call_sampler", [shape]):
        target = convert_to_tensor(shape, dtype=int32, name="sample_shape")
        missing = cast(equal(rank(target), 0), int32)
        target = reshape(target, pad(shape_of(target), paddings=[[missing, 0]], constant_values=1))
        samples = draw(reduce_prod(target))
        count = 1 if shape == () else constant_value(shape)
        samples.set_shape(TensorShape([count]).concatenate(samples.shape[1:]))
        inner = shape_of(samples)[1:]
        result = reshape(samples, concat([target, inner], 0))
        result.set_shape(TensorShape([] if shape == () else [count]).concatenate(samples.shape[1:]))
        return result


def _coins(probability: Tensor, dtype: DTypeLike, shape: ShapeLike, seed: int | None) -> Tensor:
    probability = convert_to_tensor(probability, name="probs")
    inner = shape_of(probability)

    def draw(count: Any) -> Any:
        sizes = concat([[count], inner], 0)
        drawn = cast(less(random_uniform(sizes, seed=seed, dtype=probability.dtype), probability), dtype)
        drawn.set_shape(TensorShape([None]).concatenate(probability.shape))
        return drawn

    return _draws(draw, shape)


def _symbols(logits: Tensor, seed: int | None) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    classes: Any = shape_of(logits)[-1]
    outer = shape_of(logits)[:-1]

    def draw(count: Any) -> Any:
        rows = logits if logits.shape.ndims == 2 else reshape(logits, [-1, classes])
        drawn = multinomial(rows, count, seed=seed, output_dtype=int64 if logits.dtype.size > 4 else int32)
        drawn = cast(reshape(transpose(drawn), concat([[count], outer], 0)), int32)
        drawn.set_shape(TensorShape([None]).concatenate(logits.shape[:-1]))
        return drawn

    return _draws(draw, ())


class Helper(ABC):
    """Base class of helpers: sample from a decoder's outputs, and provide its inputs."""

    @property
    @abstractmethod
    def batch_size(self) -> Any:
        """Number of sequences."""

    @property
    @abstractmethod
    def sample_ids_shape(self) -> Any:
        """Shape of a sequence's sample."""

    @property
    @abstractmethod
    def sample_ids_dtype(self) -> Any:
        """Dtype of the samples."""

    @abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which sequences are finished from the start, and the first inputs.

        Args:
            name: name scope of the ops.
        """

    @abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the samples.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            name: name scope of the ops.
        """

    @abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the next inputs, and the next state.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            sample_ids: the samples.
            name: name scope of the ops.
        """


class _SizedHelper(Helper):
    """A helper with its sizes in attributes; a sample is an integer by default."""

    _batch_size: Any
    _shape = TensorShape([])
    _dtype: DTypeLike = int32

    @property
    def batch_size(self) -> Any:
        """Number of sequences."""
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """Shape of a sequence's sample."""
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        """Dtype of the samples."""
        return self._dtype


class CustomHelper(_SizedHelper):
    """A helper made of three functions.

    Args:
        initialize_fn: returns which sequences are finished from the start, and the first inputs.
        sample_fn: takes ``time``, ``outputs`` and ``state``; returns the samples.
        next_inputs_fn: takes these and ``sample_ids``; returns which sequences are finished, the next inputs and state.
        sample_ids_shape: shape of a sequence's sample; None: a scalar.
        sample_ids_dtype: dtype of the samples; None: int32.
    """

    def __init__(
        self,
        initialize_fn: Callable[[], Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: DTypeLike | None = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._shape = as_shape(sample_ids_shape or [])
        self._dtype = sample_ids_dtype or int32

    @property
    def batch_size(self) -> Any:
        """Number of sequences, known after ``initialize``."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which sequences are finished from the start, and the first inputs.

        Args:
            name: name scope of the ops.
        """
        with name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the samples.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            name: name scope of the ops.
        """
        with name_scope(name, f"{type(self).__name__}Sample", nest.flatten((time, outputs, state))):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the next inputs, and the next state.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            sample_ids: the samples.
            name: name scope of the ops.
        """
        with name_scope(name, f"{type(self).__name__}NextInputs", nest.flatten((time, outputs, state))):
            result: tuple[Any, Any, Any] = self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )
            return result


def _array_of(values: Tensor) -> TensorArray:
    array = TensorArray(dtype=values.dtype, size=shape_of(values)[0], element_shape=values.shape[1:])
    return array.unstack(values)


class TrainingHelper(_SizedHelper):
    """A helper that feeds the true sequences.

    Args:
        inputs: ``[batch, time, ...]``.
        sequence_length: length of each sequence, int32, ``[batch]``.
        time_major: whether the inputs are ``[time, batch, ...]``.
        name: name scope of the ops; None: ``TrainingHelper``.

    Raises:
        ValueError: ``sequence_length`` is not a vector.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        time_major: bool = False,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            steps: Any = convert_to_tensor(inputs, name="inputs")
            self._inputs = steps
            if not time_major:
                steps = nest.map_structure(batch_and_time_exchanged, steps)
            self._arrays = nest.map_structure(_array_of, steps)
            self._lengths = convert_to_tensor(sequence_length, name="sequence_length")
            if self._lengths.shape.ndims != 1:
                shape = self._lengths.shape
                raise ValueError(f"Expected sequence_length to be a vector, but received shape: {shape}")
            self._zeros = nest.map_structure(lambda tensor: zeros_like(tensor[0, :]), steps)
            self._batch_size = size(sequence_length)

    @property
    def inputs(self) -> Any:
        """The sequences."""
        return self._inputs

    @property
    def sequence_length(self) -> Tensor:
        """Length of each sequence."""
        return self._lengths

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return which sequences are finished from the start, and the first inputs.

        Args:
            name: name scope of the ops.
        """
        with name_scope(name, "TrainingHelperInitialize"):
            finished = equal(0, self._lengths)
            inputs = cond(
                reduce_all(finished),
                lambda: self._zeros,
                lambda: nest.map_structure(lambda array: array.read(0), self._arrays),
            )
            return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return the most probable symbols, which are not fed.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: ignored.
            name: name scope of the ops.
        """
        with name_scope(name, "TrainingHelperSample", [time, outputs]):
            return cast(argmax(outputs, axis=-1), int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the true next inputs, and the state.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            sample_ids: ignored.
            name: name scope of the ops.
        """
        with name_scope(name, "TrainingHelperNextInputs", nest.flatten((time, outputs, state))):
            following = time + 1
            finished = following >= self._lengths
            inputs = cond(
                reduce_all(finished),
                lambda: self._zeros,
                lambda: nest.map_structure(lambda array: array.read(following), self._arrays),
            )
            return finished, inputs, state


def _probability(given: Any) -> Tensor:
    probability = convert_to_tensor(given, name="sampling_probability")
    if probability.shape.ndims not in (0, 1):
        raise ValueError(
            f"sampling_probability must be either a scalar or a vector. saw shape: {probability.shape}"
        )
    return probability


def _mixed(rows: Any, sampled: Any, true_indices: Any, true_rows: Any, true: Any) -> Tensor:
    """Merge sampled rows and true rows, each in its place."""
    sizes = shape_of(true)
    return scatter_nd(rows, sampled, sizes) + scatter_nd(true_indices, true_rows, sizes)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A helper that feeds the true sequences or, with some probability, embeddings of sampled symbols.

    Args:
        inputs: ``[batch, time, ...]``.
        sequence_length: length of each sequence, int32, ``[batch]``.
        embedding: the embedding variable, or a function from symbols to embeddings.
        sampling_probability: probability of sampling a symbol, a scalar or ``[batch]``.
        time_major: whether the inputs are ``[time, batch, ...]``.
        seed: seed of the symbols.
        scheduling_seed: seed of the decision to sample.
        name: name scope of the ops.

    Raises:
        ValueError: ``sampling_probability`` has another rank.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        embedding: Any,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "ScheduledEmbeddingSamplingWrapper", [embedding, sampling_probability]):
            self._embedding_fn = embedding_function(embedding)
            self._sampling_probability = _probability(sampling_probability)
            self._seed = seed
            self._scheduling_seed = scheduling_seed
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return the sampled symbols, -1 where the true input is fed.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            name: name scope of the ops.
        """
        values = nest.flatten((time, outputs, state))
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample", values):
            drawn = _coins(self._sampling_probability, bool_type, self.batch_size, self._scheduling_seed)
            return where(drawn, _symbols(outputs, self._seed), fill([self.batch_size], -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the next inputs, and the state.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            sample_ids: the sampled symbols.
            name: name scope of the ops.
        """
        values = nest.flatten((time, outputs, state, sample_ids))
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", values):
            finished, true, state = super().next_inputs(time, outputs, state, sample_ids, name)

            def mixed() -> Any:
                rows = cast(where(sample_ids > -1), int32)
                true_indices = cast(where(sample_ids <= -1), int32)
                symbols = gather_nd(sample_ids, rows)
                true_rows = gather_nd(true, true_indices)
                return _mixed(rows, self._embedding_fn(symbols), true_indices, true_rows, true)

            return finished, cond(reduce_all(finished), lambda: true, mixed), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A helper that feeds the true sequences or, with some probability, the decoder's own output.

    Args:
        inputs: ``[batch, time, ...]``.
        sequence_length: length of each sequence, int32, ``[batch]``.
        sampling_probability: probability of feeding the output, a scalar or ``[batch]``.
        time_major: whether the inputs are ``[time, batch, ...]``.
        seed: seed of this decision.
        next_inputs_fn: converts outputs to inputs; None: the outputs themselves.
        auxiliary_inputs: tensors to concatenate to the inputs, with the same axes.
        name: name scope of the ops.

    Raises:
        ValueError: ``sampling_probability`` has another rank.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        values = [inputs, auxiliary_inputs, sampling_probability]
        with name_scope(name, "ScheduledOutputTrainingHelper", values):
            self._sampling_probability = _probability(sampling_probability)
            self._auxiliary: Any = None
            if auxiliary_inputs is not None:
                inputs = convert_to_tensor(inputs, name="inputs")
                more: Any = convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = nest.map_structure(lambda x, y: concat((x, y), -1), inputs, more)
                if not time_major:
                    more = nest.map_structure(batch_and_time_exchanged, more)
                self._auxiliary = nest.map_structure(_array_of, more)
            self._seed = seed
            self._next_inputs_fn = next_inputs_fn
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return whether the output is fed, 0 or 1.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            name: name scope of the ops.
        """
        with name_scope(name, "ScheduledOutputTrainingHelperSample", nest.flatten((time, outputs, state))):
            return _coins(self._sampling_probability, int32, self.batch_size, self._seed)

    def _with_auxiliary(self, inputs: Any, time: Any, rows: Any = None) -> Any:
        if self._auxiliary is None:
            return inputs
        following = time + 1
        more = nest.map_structure(lambda array: array.read(following), self._auxiliary)
        if rows is not None:
            more = gather_nd(more, rows)
        return nest.map_structure(lambda x, y: concat((x, y), -1), inputs, more)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the next inputs, and the state.

        Args:
            time: index of the step.
            outputs: outputs of the step.
            state: state after the step.
            sample_ids: whether the output is fed.
            name: name scope of the ops.
        """
        values = nest.flatten((time, outputs, state, sample_ids))
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs", values):
            finished, true, state = super().next_inputs(time, outputs, state, sample_ids, name)
            chosen = cast(sample_ids, bool_type)

            def mixed() -> Any:
                if self._next_inputs_fn is None:
                    return where(chosen, self._with_auxiliary(outputs, time), true)
                rows = cast(where(chosen), int32)
                true_indices = cast(where(logical_not(chosen)), int32)
                sampled = gather_nd(outputs, rows)
                true_rows = gather_nd(true, true_indices)
                sampled = self._with_auxiliary(self._next_inputs_fn(sampled), time, rows)
                return _mixed(rows, sampled, true_indices, true_rows, true)

            all_finished = reduce_all(finished)
            none_chosen = logical_not(reduce_any(chosen))
            return finished, cond(logical_or(all_finished, none_chosen), lambda: true, mixed), state


def _start(start_tokens: Any, end_token: Any) -> tuple[Tensor, Tensor, Any]:
    """Return the start tokens, the end token and the batch size."""
    starts = convert_to_tensor(start_tokens, dtype=int32, name="start_tokens")
    end = convert_to_tensor(end_token, dtype=int32, name="end_token")
    if starts.shape.ndims != 1:
        raise ValueError("start_tokens must be a vector")
    batch_size = size(start_tokens)
    if end.shape.ndims != 0:
        raise ValueError("end_token must be a scalar")
    return starts, end, batch_size


class GreedyEmbeddingHelper(_SizedHelper):
    """A helper that feeds the embedding of the most probable symbol.

    Args:
        embedding: the embedding variable, or a function from symbols to embeddings.
        start_tokens: the first symbol of each sequence, int32, ``[batch]``.
        end_token: the symbol that ends a sequence, an int32 scalar.

    Raises:
        ValueError: a token has another rank.
    """

    def __init__(self, embedding: Any, start_tokens: TensorLike, end_token: TensorLike) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens, self._end_token, self._batch_size = _start(start_tokens, end_token)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return that no sequence is finished, and the embeddings of the start tokens.

        Args:
            name: ignored.
        """
        return tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the most probable symbols.

        Args:
            time: ignored.
            outputs: the logits, ``[batch, symbols]``.
            state: ignored.
            name: ignored.

        Raises:
            TypeError: ``outputs`` is not a tensor.
        """
        return argmax(self._logits(outputs), axis=-1, output_type=int32)

    def _logits(self, outputs: Any) -> Any:
        if not isinstance(outputs, Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        return outputs

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are at their end token, the embeddings of the symbols, and the state.

        Args:
            time: ignored.
            outputs: ignored.
            state: the state.
            sample_ids: the symbols.
            name: ignored.
        """
        finished = equal(sample_ids, self._end_token)
        inputs = cond(
            reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids)
        )
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper that feeds the embedding of a symbol sampled from the outputs.

    Args:
        embedding: the embedding variable, or a function from symbols to embeddings.
        start_tokens: the first symbol of each sequence, int32, ``[batch]``.
        end_token: the symbol that ends a sequence, an int32 scalar.
        softmax_temperature: divisor of the logits; None: 1.
        seed: seed of the samples.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: TensorLike,
        end_token: TensorLike,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return symbols sampled by their probabilities.

        Args:
            time: ignored.
            outputs: the logits, ``[batch, symbols]``.
            state: ignored.
            name: ignored.

        Raises:
            TypeError: ``outputs`` is not a tensor.
        """
        logits = self._logits(outputs)
        return _symbols(logits if self._temperature is None else logits / self._temperature, self._seed)


class InferenceHelper(_SizedHelper):
    """A helper that feeds the results of a function of the outputs.

    Args:
        sample_fn: converts outputs to samples.
        sample_shape: shape of a sequence's sample.
        sample_dtype: dtype of the samples.
        start_inputs: the first inputs, ``[batch, ...]``.
        end_fn: takes the samples; returns which sequences are finished.
        next_inputs_fn: converts samples to the next inputs; None: the samples themselves.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: DTypeLike,
        start_inputs: TensorLike,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._shape = as_shape(sample_shape)
        self._dtype = sample_dtype
        self._next_inputs_fn = next_inputs_fn
        self._batch_size = shape_of(start_inputs)[0]
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return that no sequence is finished, and the first inputs.

        Args:
            name: ignored.
        """
        return tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the samples of the function.

        Args:
            time: ignored.
            outputs: the outputs.
            state: ignored.
            name: ignored.
        """
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return which sequences are finished, the next inputs, and the state.

        Args:
            time: ignored.
            outputs: ignored.
            state: the state.
            sample_ids: the samples.
            name: ignored.
        """
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state
