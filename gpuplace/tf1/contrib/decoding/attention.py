"""Attention: a cell's output is combined with a mean of the memory, weighted by the score of each part.

    query  ->  scores of the memory  ->  softmax  ->  alignments  ->  context  ->  attention

Source: tensorflow/contrib/seq2seq/python/ops/attention_wrapper.py, release 1.15; "Neural Machine Translation by Jointly
Learning to Align and Translate" (Bahdanau and others 2014), "Effective Approaches to Attention-based Neural Machine
Translation" (Luong and others 2015), "Online and Linear-Time Attention by Enforcing Monotonic Alignments" (Raffel and
others 2017).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32, int32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array.constant import one_hot, ones, ones_like, zeros
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.positions import argmax
from gpuplace.ops.array.reshaping import expand_dims, rank, reshape, squeeze, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.running import cumprod, cumsum
from gpuplace.ops.array.sequence import sequence_mask
from gpuplace.ops.flow.higher_order import scan
from gpuplace.ops.layers.base import Layer
from gpuplace.ops.layers.core import Dense
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_positive
from gpuplace.ops.math.elementwise import clip_by_value
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.trigonometry import sigmoid, tanh
from gpuplace.ops.math.unary import exp, log, rsqrt, square
from gpuplace.ops.nn.activation import softmax
from gpuplace.ops.random.random_ops import random_normal
from gpuplace.ops.rnn.cells import zeros_of
from gpuplace.ops.variables.init_ops import Constant, Ones, Zeros
from gpuplace.ops.variables.variable_scope import get_variable, variable_scope
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "AttentionMechanism", "BahdanauAttention", "BahdanauMonotonicAttention", "LuongAttention",
    "LuongMonotonicAttention", "hardmax", "monotonic_attention", "safe_cumprod",
]  # fmt: skip


class AttentionMechanism:
    """Base class of attention mechanisms: compute alignments for a query."""

    @property
    def alignments_size(self) -> Any:
        """Number of alignments for a query."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """Size of the state."""
        raise NotImplementedError


def _prepared(memory: Any, lengths: Any, checks_sizes: bool) -> Any:
    """Return the memory, with zeros after the end of each sequence."""
    memory = nest.map_structure(lambda tensor: convert_to_tensor(tensor, name="memory"), memory)
    if lengths is not None:
        lengths = convert_to_tensor(lengths, name="memory_sequence_length")
    parts = nest.flatten(memory)
    for part in parts if checks_sizes else ():
        if not part.shape[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {part.name} to have fully defined inner dims, but saw shape: {part.shape}"
            )
    if lengths is None:
        return memory
    mask = sequence_mask(lengths, maxlen=shape_of(parts[0])[1], dtype=parts[0].dtype)

    def masked(part: Any) -> Any:
        axes = part.shape.ndims if part.shape.ndims is not None else rank(part)
        more = ones(axes - 2, dtype=int32)
        return part * reshape(mask, concat((shape_of(mask), more), 0))

    return nest.map_structure(masked, memory)


def _masked_score(score: Tensor, lengths: Any, value: Any) -> Tensor:
    if lengths is None:
        return score
    positive = assert_positive(
        lengths, message="All values in memory_sequence_length must be greater than zero."
    )
    with get_default_graph().control_dependencies([positive]):
        mask = sequence_mask(lengths, maxlen=shape_of(score)[1])
    return where(mask, score, value * ones_like(score))


class _MemoryMechanism(AttentionMechanism):
    """Base class of mechanisms with a memory.

    Args:
        query_layer: layer for the queries; None: no layer.
        memory: ``[batch, time, ...]``.
        probability_fn: converts scores and the state to alignments.
        memory_sequence_length: length of each sequence, ``[batch]``; None: the full length.
        memory_layer: layer for the memory, which returns the keys.
        score_mask_value: score of positions past a sequence's end; None: minus infinity.
        custom_key_value_fn: transforms keys and values.
        name: name scope of the ops.
    """

    _scope: str

    def __init__(
        self,
        query_layer: Layer | None,
        memory: Any,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: TensorLike | None,
        memory_layer: Layer,
        score_mask_value: Any,
        custom_key_value_fn: Callable[[Any, Any], tuple[Any, Any]] | None,
        name: str,
    ) -> None:
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self._name = name
        kind: Any = memory_layer.dtype
        self.dtype = kind
        if score_mask_value is None:
            score_mask_value = as_dtype(kind).as_numpy_dtype(-np.inf)
        self._probability_fn: Callable[[Any, Any], Any] = lambda score, state: probability_fn(
            _masked_score(score, memory_sequence_length, score_mask_value), state
        )
        with name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = _prepared(memory, memory_sequence_length, checks_sizes=True)
            self._keys = memory_layer(self._values)
            if custom_key_value_fn is not None:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            self._batch_size = self._keys.shape[0].value or shape_of(self._keys)[0]
            self._alignments_size = self._keys.shape[1].value or shape_of(self._keys)[1]

    @property
    def memory_layer(self) -> Layer:
        """The layer for the memory."""
        return self._memory_layer

    @property
    def query_layer(self) -> Layer | None:
        """The layer for the queries."""
        return self._query_layer

    @property
    def values(self) -> Any:
        """The memory."""
        return self._values

    @property
    def keys(self) -> Any:
        """The keys, with which queries are compared."""
        return self._keys

    @property
    def batch_size(self) -> Any:
        """Number of sequences."""
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        """Number of alignments for a query, equal to the number of memory steps."""
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        """Size of the state, equal to the number of alignments."""
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return the initial alignments, zeros.

        Args:
            batch_size: number of sequences.
            dtype: the dtype.
        """
        return zeros_of(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return the initial state.

        Args:
            batch_size: number of sequences.
            dtype: the dtype.
        """
        return self.initial_alignments(batch_size, dtype)

    def _probability(self, given: Callable[..., Any] | None) -> Callable[[Any, Any], Any]:
        return _plain(given)

    def _score(self, query: Any) -> Any:
        raise NotImplementedError

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """Return the alignments of a query, and the next state.

        Args:
            query: ``[batch, size]``.
            state: the state.

        Raises:
            ValueError: query and keys differ in size, in multiplicative attention.
        """
        with variable_scope(None, self._scope, [query]):
            score = self._score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


def _plain(probability_fn: Callable[[Any], Any] | None) -> Callable[[Any, Any], Any]:
    function = probability_fn or softmax
    return lambda score, _: function(score)


class BahdanauAttention(_MemoryMechanism):
    """Additive attention: scores are ``sum(v * tanh(key + query))``.

    Args:
        num_units: size of keys and queries.
        memory: ``[batch, time, ...]``.
        memory_sequence_length: length of each sequence, ``[batch]``; None: the full length.
        normalize: whether to normalize ``v`` and use a bias.
        probability_fn: converts scores to alignments; None: softmax.
        score_mask_value: score of positions past a sequence's end; None: minus infinity.
        dtype: dtype of the variables; None: float32.
        custom_key_value_fn: transforms keys and values.
        name: name scope of the ops.
    """

    _scope = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: Any = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        kind = float32 if dtype is None else dtype
        super().__init__(
            query_layer=Dense(num_units, name="query_layer", use_bias=False, dtype=kind),
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=kind),
            memory=memory,
            probability_fn=self._probability(probability_fn),
            custom_key_value_fn=custom_key_value_fn,
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize

    def _score(self, query: Any) -> Any:
        query_layer: Any = self._query_layer
        query = query_layer(query)
        v: Any = get_variable("attention_v", [self._num_units], dtype=query.dtype)
        if not self._normalize:
            return reduce_sum(v * tanh(self._keys + expand_dims(query, 1)), [2])
        start = Constant(math.sqrt(1.0 / self._num_units))
        g: Any = get_variable("attention_g", dtype=query.dtype, initializer=start, shape=())
        b = get_variable("attention_b", [self._num_units], dtype=query.dtype, initializer=Zeros())
        query = expand_dims(query, 1)
        normed = g * v * rsqrt(reduce_sum(square(v)))
        return reduce_sum(normed * tanh(self._keys + query + b), [2])


class LuongAttention(_MemoryMechanism):
    """Multiplicative attention: scores are the products of keys and query.

    Args:
        num_units: size of keys and queries.
        memory: ``[batch, time, ...]``.
        memory_sequence_length: length of each sequence, ``[batch]``; None: the full length.
        scale: whether to use a learned factor.
        probability_fn: converts scores to alignments; None: softmax.
        score_mask_value: score of positions past a sequence's end; None: minus infinity.
        dtype: dtype of the variables; None: float32.
        custom_key_value_fn: transforms keys and values.
        name: name scope of the ops.
    """

    _scope = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        probability_fn: Callable[..., Any] | None = None,
        score_mask_value: Any = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        kind = float32 if dtype is None else dtype
        super().__init__(
            query_layer=None,
            memory_layer=Dense(num_units, name="memory_layer", use_bias=False, dtype=kind),
            memory=memory,
            probability_fn=self._probability(probability_fn),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale

    def _score(self, query: Any) -> Any:
        g: Any = None
        if self._scale:
            g = get_variable("attention_g", dtype=query.dtype, initializer=Ones(), shape=())
        size, units = query.shape[-1], self._keys.shape[-1]
        if size.value is None or size != units:
            raise ValueError(
                f"Incompatible or unknown inner dimensions between query and keys. Query ({query}) has units: {size}. "
                f"Keys ({self._keys}) have units: {units}. Perhaps you need to set num_units to the keys' dimension "
                f"({units})?"
            )
        score = squeeze(matmul(expand_dims(query, 1), self._keys, transpose_b=True), [1])
        return score if g is None else g * score


def safe_cumprod(x: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
    """Return the cumulative product of elements from 0 to 1, computed with logarithms.

    Args:
        x: the elements.
        *args: further arguments of ``tf.cumsum``.
        **kwargs: further keyword arguments.
    """
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: TensorLike, previous_attention: TensorLike, mode: str) -> Tensor:
    """Return monotonic attention, which only moves forwards.

    Args:
        p_choose_i: the probability of stopping at each step of the memory, ``[batch, time]``.
        previous_attention: the attention of the previous step, ``[batch, time]``.
        mode: ``"recursive"`` (exact, step by step), ``"parallel"`` (by cumulative sums and products), or ``"hard"``
            (probabilities are 0 or 1).

    Raises:
        ValueError: ``mode`` is unknown.
    """
    p: Any = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous: Any = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        batch = p.shape[0].value or shape_of(p)[0]
        going_on = concat([ones((batch, 1)), 1 - p[:, :-1]], 1)
        passed = scan(
            lambda x, yz: reshape(yz[0] * x + yz[1], (batch,)),
            [transpose(going_on), transpose(previous)],
            zeros((batch,)),
        )
        return p * transpose(passed)
    if mode == "parallel":
        not_yet: Any = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * not_yet * cumsum(previous / clip_by_value(not_yet, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p = p * cumsum(previous, axis=1)
        return p * cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _monotonic(score: Any, previous: Any, noise: float, mode: str, seed: Any) -> Tensor:
    if noise > 0:
        score = score + noise * random_normal(shape_of(score), dtype=score.dtype, seed=seed)
    p = cast(score > 0, score.dtype) if mode == "hard" else sigmoid(score)
    return monotonic_attention(p, previous, mode)


class _Monotonic(_MemoryMechanism):
    """A mechanism that starts at the first step of the memory."""

    _forwards: Callable[[Any, Any], Any]
    _bias_start: float

    def _probability(self, given: Callable[..., Any] | None) -> Callable[[Any, Any], Any]:
        return self._forwards

    def _score(self, query: Any) -> Any:
        score = super()._score(query)
        return score + get_variable("attention_score_bias", dtype=query.dtype, initializer=self._bias_start)

    def initial_alignments(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Return the initial alignments, with the whole weight on the first step.

        Args:
            batch_size: number of sequences.
            dtype: the dtype.
        """
        return one_hot(zeros((batch_size,), dtype=int32), self._alignments_size, dtype=dtype)


class BahdanauMonotonicAttention(_Monotonic, BahdanauAttention):
    """Additive attention that only moves forwards.

    Args:
        num_units: size of keys and queries.
        memory: ``[batch, time, ...]``.
        memory_sequence_length: length of each sequence, ``[batch]``; None: the full length.
        normalize: whether to normalize ``v`` and use a bias.
        score_mask_value: score of positions past a sequence's end; None: minus infinity.
        sigmoid_noise: amount of noise added to the scores.
        sigmoid_noise_seed: seed of the noise.
        score_bias_init: initial value of the scores' bias.
        mode: see ``monotonic_attention``.
        dtype: dtype of the variables; None: float32.
        name: name scope of the ops.
    """

    _scope = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        self._forwards = functools.partial(
            _monotonic, noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
        )
        self._bias_start = score_bias_init
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            normalize,
            score_mask_value=score_mask_value,
            dtype=dtype,
            name=name,
        )


class LuongMonotonicAttention(_Monotonic, LuongAttention):
    """Multiplicative attention that only moves forwards.

    Args:
        num_units: size of keys and queries.
        memory: ``[batch, time, ...]``.
        memory_sequence_length: length of each sequence, ``[batch]``; None: the full length.
        scale: whether to use a learned factor.
        score_mask_value: score of positions past a sequence's end; None: minus infinity.
        sigmoid_noise: amount of noise added to the scores.
        sigmoid_noise_seed: seed of the noise.
        score_bias_init: initial value of the scores' bias.
        mode: see ``monotonic_attention``.
        dtype: dtype of the variables; None: float32.
        name: name scope of the ops.
    """

    _scope = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        self._forwards = functools.partial(
            _monotonic, noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
        )
        self._bias_start = score_bias_init
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            scale,
            score_mask_value=score_mask_value,
            dtype=dtype,
            name=name,
        )


def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 for the largest element along the last axis, 0 for the others.

    Args:
        logits: the elements.
        name: name scope of the ops.
    """
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        depth = logits.shape[-1].value
        return one_hot(
            argmax(logits, -1), shape_of(logits)[-1] if depth is None else depth, dtype=logits.dtype
        )
