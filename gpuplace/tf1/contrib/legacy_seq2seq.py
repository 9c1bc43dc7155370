"""``tf.contrib.legacy_seq2seq``: sequence-to-sequence models whose steps are lists of tensors.

An encoder reads the inputs. Its final state is the decoder's initial state; the decoder returns an output for each of
its own inputs or, with ``feed_previous``, for the class of its previous output. Buckets are models for several lengths
that share their variables.

Source: tensorflow/contrib/legacy_seq2seq/python/ops/seq2seq.py, release 1.15 (names of scopes, messages).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuplace.dtypes import float32
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.array.positions import argmax
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math import cast, trigonometry
from gpuplace.ops.math.elementwise import add_n
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.nn.activation import softmax
from gpuplace.ops.nn.conv import conv2d
from gpuplace.ops.nn.entropy import sparse_softmax_cross_entropy_with_logits
from gpuplace.ops.nn.misc import embedding_lookup, xw_plus_b
from gpuplace.ops.rnn.rnn import static_rnn
from gpuplace.ops.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from gpuplace.tf1.rnn.projections import EmbeddingWrapper, OutputProjectionWrapper, linear
from gpuplace.typing import DTypeLike, Function

__all__ = [
    "attention_decoder", "basic_rnn_seq2seq", "embedding_attention_decoder", "embedding_attention_seq2seq",
    "embedding_rnn_decoder", "embedding_rnn_seq2seq", "embedding_tied_rnn_seq2seq", "model_with_buckets",
    "rnn_decoder", "sequence_loss", "sequence_loss_by_example", "tied_rnn_seq2seq",
]  # fmt: skip

Decoded = tuple[list[Tensor], Any]
"""The outputs of the steps, and the final state."""


def _feeder(embedding: Any, projection: Any, update: bool) -> Function:
    """Return a loop function: it returns the embedding of an output's most probable class."""

    def vector(output: Any, _: int) -> Tensor:
        if projection is not None:
            output = xw_plus_b(output, projection[0], projection[1])
        embedded = embedding_lookup(embedding, argmax(output, 1))
        return embedded if update else reshaping.stop_gradient(embedded)

    return vector


def _check_projection(projection: Any, symbols: int, dtype: DTypeLike) -> None:
    if projection is not None:
        weights = convert_to_tensor(projection[0], dtype=dtype)
        weights.get_shape().assert_is_compatible_with([None, symbols])
        biases = convert_to_tensor(projection[1], dtype=dtype)
        biases.get_shape().assert_is_compatible_with([symbols])


def _decode_either(feed_previous: Any, decode: Callable[[Any], Decoded], state: Any) -> Decoded:
    """Run ``decode`` with a ``feed_previous`` that is known at run time; both branches share their variables."""

    def branch(fed: bool) -> list[Any]:
        with variable_scope(get_variable_scope(), reuse=None if fed else True):
            outputs, last = decode(fed)
            return [*outputs, *nest.flatten(last)]

    parts = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    count = len(parts) - len(nest.flatten(state))
    return parts[:count], nest.pack_sequence_as(state, parts[count:])


def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Function | None = None,
    scope: Any = None,
) -> Decoded:
    """Run a cell over a list of inputs.

    Args:
        decoder_inputs: a tensor for each step.
        initial_state: the initial state.
        cell: the cell.
        loop_function: converts the previous output and the step index to the step's input, except for the first; None:
            use the inputs.
        scope: the variable scope; None: ``rnn_decoder``.

    Returns:
        The outputs, and the final state.
    """
    with variable_scope(scope or "rnn_decoder"):
        state: Any = initial_state
        outputs: list[Any] = []
        for step, inputs in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], step)
            if step > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(inputs, state)
            outputs.append(output)
        return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: DTypeLike = float32,
    scope: Any = None,
) -> Decoded:
    """Run a cell over the encoder's inputs, then over the decoder's with separate variables.

    Args:
        encoder_inputs: ``[batch, size]`` for each step.
        decoder_inputs: likewise for the decoder.
        cell: the cell of both.
        dtype: dtype of the state.
        scope: the variable scope; None: ``basic_rnn_seq2seq``.

    Returns:
        The outputs, and the final state.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Function | None = None,
    dtype: DTypeLike = float32,
    scope: Any = None,
) -> Decoded:
    """Run a cell over the encoder's inputs, then over the decoder's with the same variables.

    Args:
        encoder_inputs: ``[batch, size]`` for each step.
        decoder_inputs: likewise for the decoder.
        cell: the cell.
        loop_function: as for ``rnn_decoder``.
        dtype: dtype of the state.
        scope: the variable scope; None: ``tied_rnn_seq2seq``.

    Returns:
        The outputs, and the final state.
    """
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> Decoded:
    """``rnn_decoder`` with embeddings of classes.

    Args:
        decoder_inputs: the classes of each step, integers ``[batch]``.
        initial_state: the initial state.
        cell: the cell.
        num_symbols: the number of classes.
        embedding_size: size of an embedding.
        output_projection: weights and biases that convert outputs to classes; None: outputs are classes.
        feed_previous: whether to feed the class of the previous output, except for the first step.
        update_embedding_for_previous: whether to train the embedding of that class.
        scope: the variable scope; None: ``embedding_rnn_decoder``.

    Returns:
        The outputs, and the final state.

    Raises:
        ValueError: the projection has another number of classes.
    """
    with variable_scope(scope or "embedding_rnn_decoder") as opened:
        _check_projection(output_projection, num_symbols, opened.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        fed = _feeder(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        vectors = (embedding_lookup(embedding, step_inputs) for step_inputs in decoder_inputs)
        return rnn_decoder(vectors, initial_state, cell, loop_function=fed)


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Any = None,
) -> Decoded:
    """``basic_rnn_seq2seq`` with embeddings of classes.

    Args:
        encoder_inputs: the classes of each step, integers ``[batch]``.
        decoder_inputs: likewise for the decoder.
        cell: the cell of both.
        num_encoder_symbols: the number of the encoder's classes.
        num_decoder_symbols: the number of the decoder's classes.
        embedding_size: size of an embedding.
        output_projection: as for ``embedding_rnn_decoder``; None: the outputs are ``[batch, num_decoder_symbols]``.
        feed_previous: as for ``embedding_rnn_decoder``; may be a boolean scalar tensor.
        dtype: dtype of the state; None: the scope's.
        scope: the variable scope; None: ``embedding_rnn_seq2seq``.

    Returns:
        The outputs, and the final state.
    """
    with variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(fed: Any, update: bool = False) -> Decoded:
            return embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=fed,
                update_embedding_for_previous=update,
            )

        if isinstance(feed_previous, bool):
            return decode(feed_previous, update=True)
        return _decode_either(feed_previous, decode, state)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Any = None,
) -> Decoded:
    """``tied_rnn_seq2seq`` with embeddings of classes, shared by encoder and decoder.

    Args:
        encoder_inputs: the classes of each step, integers ``[batch]``.
        decoder_inputs: likewise for the decoder.
        cell: the cell.
        num_symbols: the number of classes.
        embedding_size: size of an embedding.
        num_decoder_symbols: the number of classes in the outputs; None: ``num_symbols``.
        output_projection: as for ``embedding_rnn_decoder``.
        feed_previous: as for ``embedding_rnn_seq2seq``.
        dtype: dtype of the state; None: the scope's.
        scope: the variable scope; None: ``embedding_tied_rnn_seq2seq``.

    Returns:
        The outputs, and the final state.

    Raises:
        ValueError: the projection has another number of classes.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        dtype = opened.dtype
        _check_projection(output_projection, num_symbols, dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        read = [embedding_lookup(embedding, step_inputs) for step_inputs in encoder_inputs]
        written = [embedding_lookup(embedding, step_inputs) for step_inputs in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decode(fed: Any, update: bool = False) -> Decoded:
            loop = _feeder(embedding, output_projection, update) if fed else None
            return tied_rnn_seq2seq(read, written, cell, loop_function=loop, dtype=dtype)

        if isinstance(feed_previous, bool):
            return decode(feed_previous, update=True)
        batch: Any = encoder_inputs[0].get_shape()[0].value or reshaping.shape(encoder_inputs[0])[0]
        return _decode_either(feed_previous, decode, cell.zero_state(batch, dtype))


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Tensor,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Function | None = None,
    dtype: DTypeLike | None = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """``rnn_decoder`` with attention to the encoder's outputs.

    Args:
        decoder_inputs: ``[batch, size]`` for each step.
        initial_state: the initial state.
        attention_states: the encoder's outputs, ``[batch, time, size]``.
        cell: the cell.
        output_size: size of an output; None: that of the cell.
        num_heads: number of attention heads.
        loop_function: as for ``rnn_decoder``.
        dtype: dtype of the variables; None: the scope's.
        scope: the variable scope; None: ``attention_decoder``.
        initial_state_attention: whether to attend before the first step too; otherwise its attention is zeros.

    Returns:
        The outputs, ``[batch, output_size]`` each, and the final state.

    Raises:
        ValueError: there are no inputs or heads, or a size is unknown.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    size = attention_states.get_shape()[2].value
    if size is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.get_shape()}")
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        kind = opened.dtype
        batch = reshaping.shape(decoder_inputs[0])[0]
        length: Any = attention_states.get_shape()[1].value
        if length is None:
            length = reshaping.shape(attention_states)[1]
        hidden: Any = reshaping.reshape(attention_states, [-1, length, 1, size])
        features, scales = [], []
        for head in range(num_heads):
            kernel = get_variable(f"AttnW_{head}", [1, 1, size, size], dtype=kind)
            features.append(conv2d(hidden, kernel, [1, 1, 1, 1], "SAME"))
            scales.append(get_variable(f"AttnV_{head}", [size], dtype=kind))

        def look(query: Any) -> list[Any]:
            if nest.is_nested(query):
                query = joining.concat(nest.flatten(query), 1)
            seen = []
            for head in range(num_heads):
                with variable_scope(f"Attention_{head}"):
                    projected: Any = reshaping.reshape(linear(query, size), [-1, 1, 1, size])
                    projected = cast.cast(projected, kind)
                    scores = reduce_sum(scales[head] * trigonometry.tanh(features[head] + projected), [2, 3])
                    weights: Any = cast.cast(softmax(cast.cast(scores, float32)), kind)
                    mean = reduce_sum(reshaping.reshape(weights, [-1, length, 1, 1]) * hidden, [1, 2])
                    seen.append(reshaping.reshape(mean, [-1, size]))
            return seen

        state: Any = initial_state
        outputs: list[Any] = []
        attention_shape = joining.stack([batch, size])
        means: list[Any] = [constant.zeros(attention_shape, dtype=kind) for _ in range(num_heads)]
        for mean in means:
            mean.set_shape([None, size])
        if initial_state_attention:
            means = look(initial_state)
        for step, inputs in enumerate(decoder_inputs):
            if step > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    inputs = loop_function(outputs[-1], step)
            width = inputs.get_shape().with_rank(2)[1].value
            if width is None:
                raise ValueError(f"Could not infer input size from input: {inputs.name}")
            joined = linear([cast.cast(part, kind) for part in (inputs, *means)], width)
            output, state = cell(joined, state)
            if step == 0 and initial_state_attention:
                with variable_scope(get_variable_scope(), reuse=True):
                    means = look(state)
            else:
                means = look(state)
            with variable_scope("AttnOutputProjection"):
                outputs.append(linear([cast.cast(output, kind), *means], output_size))
        return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Tensor,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: DTypeLike | None = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """``attention_decoder`` with embeddings of classes.

    Args:
        decoder_inputs: the classes of each step, integers ``[batch]``.
        initial_state: the initial state.
        attention_states: as for ``attention_decoder``.
        cell: the cell.
        num_symbols: the number of classes.
        embedding_size: size of an embedding.
        num_heads: as for ``attention_decoder``.
        output_size: as for ``attention_decoder``.
        output_projection: as for ``embedding_rnn_decoder``.
        feed_previous: as for ``embedding_rnn_decoder``.
        update_embedding_for_previous: as for ``embedding_rnn_decoder``.
        dtype: as for ``attention_decoder``.
        scope: the variable scope; None: ``embedding_attention_decoder``.
        initial_state_attention: as for ``attention_decoder``.

    Returns:
        The outputs, and the final state.

    Raises:
        ValueError: as for ``attention_decoder``, or the projection has another number of classes.
    """
    if output_projection is not None:
        biases = convert_to_tensor(output_projection[1], dtype=dtype)
        biases.get_shape().assert_is_compatible_with([num_symbols])
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        fed = _feeder(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        return attention_decoder(
            [embedding_lookup(embedding, step_inputs) for step_inputs in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=cell.output_size if output_size is None else output_size,
            num_heads=num_heads,
            loop_function=fed,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Decoded:
    """``embedding_rnn_seq2seq`` whose decoder attends to the encoder's outputs.

    Args:
        encoder_inputs: the classes of each step, integers ``[batch]``.
        decoder_inputs: likewise for the decoder.
        cell: the cell of both.
        num_encoder_symbols: the number of the encoder's classes.
        num_decoder_symbols: the number of the decoder's classes.
        embedding_size: size of an embedding.
        num_heads: as for ``attention_decoder``.
        output_projection: as for ``embedding_rnn_seq2seq``.
        feed_previous: as for ``embedding_rnn_seq2seq``.
        dtype: dtype of the state; None: the scope's.
        scope: the variable scope; None: ``embedding_attention_seq2seq``.
        initial_state_attention: as for ``attention_decoder``.

    Returns:
        The outputs, and the final state.

    Raises:
        ValueError: as for ``embedding_attention_decoder``.
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        read, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        tops = joining.concat([reshaping.reshape(output, [-1, 1, cell.output_size]) for output in read], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(fed: Any, update: bool = False) -> Decoded:
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                tops,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=fed,
                update_embedding_for_previous=update,
                initial_state_attention=initial_state_attention,
            )

        if isinstance(feed_previous, bool):
            return decode(feed_previous, update=True)
        return _decode_either(feed_previous, decode, state)


def sequence_loss_by_example(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Function | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of each sequence.

    >>> import gpuplace as tf
    >>> import numpy as np
    >>> logits, targets, weights = [tf.zeros([1, 4])] * 2, [tf.constant([3])] * 2, [tf.ones([1])] * 2
    >>> loss = tf.contrib.legacy_seq2seq.sequence_loss_by_example(logits, targets, weights)
    >>> float(tf.Session().run(loss)[0]) == float(np.float32(np.log(4)))
    True

    Args:
        logits: ``[batch, classes]`` for each step.
        targets: the true classes of each step, integers ``[batch]``.
        weights: the weights of each step, ``[batch]``.
        average_across_timesteps: whether to divide by the sum of the weights.
        softmax_loss_function: takes ``labels`` and ``logits`` and returns losses; None: cross entropy.
        name: name of the ops' scope.

    Returns:
        ``[batch]``.

    Raises:
        ValueError: the lists have different lengths.
    """
    if not len(targets) == len(weights) == len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        steps = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                target = reshaping.reshape(target, [-1])
            loss: Any = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
            steps.append(loss(labels=target, logits=logit) * weight)
        losses: Any = add_n(steps)
        if average_across_timesteps:
            total: Any = add_n(weights)
            losses = losses / (total + 1e-12)
        return losses


def sequence_loss(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Function | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of all sequences together.

    Args:
        logits: as for ``sequence_loss_by_example``.
        targets: as for ``sequence_loss_by_example``.
        weights: as for ``sequence_loss_by_example``.
        average_across_timesteps: as for ``sequence_loss_by_example``.
        average_across_batch: whether to divide by the number of sequences.
        softmax_loss_function: as for ``sequence_loss_by_example``.
        name: name of the ops' scope.

    Returns:
        A scalar.

    Raises:
        ValueError: the lists have different lengths.
    """
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost: Any = reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        if not average_across_batch:
            return cost
        return cost / cast.cast(reshaping.shape(targets[0])[0], cost.dtype)


def model_with_buckets(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    targets: list[Any],
    weights: list[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], Decoded],
    softmax_loss_function: Function | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Tensor]]:
    """Build a model for each pair of lengths, with shared variables, and its loss.

    Args:
        encoder_inputs: a tensor for each step of the longest bucket.
        decoder_inputs: likewise for the decoder.
        targets: the true classes of each step.
        weights: the weights of each step.
        buckets: pairs of lengths, the longest last.
        seq2seq: takes the inputs of encoder and decoder; returns outputs and state.
        softmax_loss_function: as for ``sequence_loss_by_example``.
        per_example_loss: whether to return a loss for each sequence.
        name: name of the ops' scope.

    Returns:
        The outputs and the loss of each model.

    Raises:
        ValueError: a list is shorter than the last pair requires.
    """
    for what, items, length in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(items) < length:
            raise ValueError(
                f"Length of {what} ({len(items)}) must be at least that of last bucket ({length})."
            )
    loss: Any = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs, losses = [], []
    with name_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]):
        for at, (read, written) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if at > 0 else None):
                bucket_outputs, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:written])
                outputs.append(bucket_outputs)
                losses.append(
                    loss(
                        bucket_outputs,
                        targets[:written],
                        weights[:written],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses
