"""Beam search: the most probable sequences, with a few best ones kept at each step.

    scores of each beam's next symbols  ->  the best of all  ->  parent beam of each         ->  next step
    symbols and parents of all steps    ->  GatherTree       ->  sequences

Source: tensorflow/contrib/seq2seq/python/ops/beam_search_decoder.py, beam_search_ops.py and
tensorflow/contrib/seq2seq/ops/beam_search_ops.cc (op and kernels, which have their own library), release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuplace import tf_logging
from gpuplace.dtypes import bool as bool_type
from gpuplace.dtypes import float32, int32, int64
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.registry import register_kernel, register_op
from gpuplace.ops import nest
from gpuplace.ops.array.constant import fill, one_hot, ones_like, zeros
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather, gather_nd, where
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import tile
from gpuplace.ops.array.reshaping import expand_dims, reshape, size, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.sequence import sequence_mask
from gpuplace.ops.flow.arrays.tensor_arrays import TensorArray
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math.cast import cast, to_int64
from gpuplace.ops.math.comparison import equal, logical_and, logical_not, logical_or
from gpuplace.ops.math.division import div, mod
from gpuplace.ops.math.elementwise import minimum
from gpuplace.ops.math.reduction import reduce_all, reduce_max, reduce_mean, reduce_sum
from gpuplace.ops.math.unary import log
from gpuplace.ops.nn.activation import log_softmax
from gpuplace.ops.nn.misc import top_k
from gpuplace.ops.rnn.cells import require_cell
from gpuplace.ops.support import new
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.contrib.decoding.attention_wrapper import AttentionWrapperState
from gpuplace.tf1.contrib.decoding.basic_decoder import output_size_of, require_layer
from gpuplace.tf1.contrib.decoding.decoder import Decoder
from gpuplace.tf1.contrib.decoding.helpers import embedding_function
from gpuplace.typing import TensorLike

__all__ = [
    "BeamSearchDecoder", "BeamSearchDecoderOutput", "BeamSearchDecoderState", "FinalBeamSearchDecoderOutput",
    "gather_tree", "tile_batch",
]  # fmt: skip

register_op(
    "GatherTree",
    inputs=("step_ids: T", "parent_ids: T", "max_sequence_lengths: int32", "end_token: T"),
    outputs=("beams: T",),
    attrs=("T: {int32}",),
)
register_kernel("GatherTree", "CPU", T=("int32",))
register_kernel("GatherTree", "GPU", T=("int32",), host_memory=("end_token",))


def gather_tree(
    step_ids: TensorLike,
    parent_ids: TensorLike,
    max_sequence_lengths: TensorLike,
    end_token: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Return the sequences of a beam search.

    Args:
        step_ids: the symbol of each beam at each step, int32, ``[time, batch, beams]``.
        parent_ids: the beam that each symbol continues, of the same shape.
        max_sequence_lengths: length of the longest beam, int32, ``[batch]``.
        end_token: padding after the end of a sequence, an int32 scalar.
        name: name of the op.

    Returns:
        ``[time, batch, beams]``: the symbols of each beam's sequence.
    """
    return new(
        "GatherTree",
        name,
        step_ids=step_ids,
        parent_ids=parent_ids,
        max_sequence_lengths=max_sequence_lengths,
        end_token=end_token,
    )


def _tiled(value: Any, multiplier: int) -> Tensor:
    tensor = convert_to_tensor(value, name="t")
    sizes = shape_of(tensor)
    axes = tensor.shape.ndims
    if axes is None or axes < 1:
        raise ValueError("t must have statically known rank")
    tiling = [1] * (axes + 1)
    tiling[1] = multiplier
    static_size = tensor.shape[0].value
    tiled = tile(expand_dims(tensor, 1), tiling)
    tiled = reshape(tiled, concat(([sizes[0] * multiplier], sizes[1:]), 0))
    tiled.set_shape(
        TensorShape([None if static_size is None else static_size * multiplier]).concatenate(tensor.shape[1:])
    )
    return tiled


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Repeat each example of a batch, one copy after the other.

    Args:
        t: a tensor ``[batch, ...]`` or a structure of them.
        multiplier: number of copies.
        name: name scope of the ops.

    Raises:
        ValueError: a rank is unknown, or a tensor is a scalar.
    """
    with name_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(lambda tensor: _tiled(tensor, multiplier), t)


class BeamSearchDecoderState(NamedTuple):
    """State of a beam search."""

    cell_state: Any
    """State of the cell, ``[batch, beams, ...]``."""
    log_probs: Any
    """Log probability of each beam."""
    finished: Any
    """Whether each beam is finished."""
    lengths: Any
    """Length of each beam, int64."""
    accumulated_attention_probs: Any
    """Sums of attention so far; () if there is no coverage penalty."""


class BeamSearchDecoderOutput(NamedTuple):
    """Outputs of a step, ``[batch, beams]`` each."""

    scores: Any
    """Scores of the beams."""
    predicted_ids: Any
    """Symbols of the beams."""
    parent_ids: Any
    """The beams that they continue."""


class FinalBeamSearchDecoderOutput(NamedTuple):
    """Result of a beam search."""

    predicted_ids: Any
    """The symbols of the sequences, best first, ``[batch, time, beams]``."""
    beam_search_decoder_output: Any
    """Outputs of the steps."""


def _require_rank(tensor: Any) -> int:
    axes: int | None = tensor.shape.ndims
    if axes is None:
        raise ValueError(f"Expected tensor ({tensor}) to have known rank, but ndims == None.")
    return axes


class BeamSearchDecoder(Decoder):
    """A decoder that searches for the most probable sequences of a cell.

    Args:
        cell: the cell.
        embedding: the embedding variable, or a function from symbols to embeddings.
        start_tokens: the first symbol of each sequence, int32, ``[batch]``.
        end_token: the symbol that ends a sequence, an int32 scalar.
        initial_state: the initial state, ``[batch * beam_width, ...]``: see ``tile_batch``.
        beam_width: number of sequences kept for each example.
        output_layer: layer for the cell's outputs; None: no layer.
        length_penalty_weight: how strongly long sequences are favored; 0: not at all.
        coverage_penalty_weight: weight of the penalty for parts of the memory without attention.
        reorder_tensor_arrays: whether to return alignment histories in the order of the beams.

    Raises:
        TypeError: the cell or the layer has another class.
        ValueError: a token has another rank.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: TensorLike,
        end_token: TensorLike,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        require_cell("cell", cell)
        require_layer(output_layer)
        self._cell = cell
        self._output_layer = output_layer
        self._reorders = reorder_tensor_arrays
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._embedding_fn = embedding_function(embedding)
        starts: Any = convert_to_tensor(start_tokens, dtype=int32, name="start_tokens")
        if starts.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end_token = convert_to_tensor(end_token, dtype=int32, name="end_token")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size: Any = size(start_tokens)
        self._initial_cell_state = nest.map_structure(self._split, initial_state, cell.state_size)
        self._start_tokens = tile(expand_dims(starts, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(self._start_tokens)
        first = zeros([self._batch_size], dtype=int32)
        self._finished = one_hot(first, depth=beam_width, on_value=False, off_value=True, dtype=bool_type)

    @property
    def batch_size(self) -> Any:
        """Number of examples."""
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: a finished beam may continue, because another beam takes its place."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """Sizes of a step's outputs."""
        beams = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(beams, beams, beams)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """Dtypes of a step's outputs."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        of_scores = nest.map_structure(lambda _: dtype, output_size_of(self._cell, self._output_layer))
        return BeamSearchDecoderOutput(of_scores, int32, int32)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, BeamSearchDecoderState]:
        """Return the finished beams (all but the first of each example), the first inputs, and the initial state.

        Args:
            name: ignored.
        """
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        log_probs = one_hot(
            zeros([self._batch_size], dtype=int32),
            depth=self._beam_width,
            on_value=convert_to_tensor(0.0, dtype=dtype),
            off_value=convert_to_tensor(-np.inf, dtype=dtype),
            dtype=dtype,
        )
        attention = _attention_of(self._initial_cell_state, self._coverage_penalty_weight)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=zeros([self._batch_size, self._beam_width], dtype=int64),
            accumulated_attention_probs=() if attention is None else attention,
        )
        return self._finished, self._start_inputs, state

    def _known_batch_size(self) -> int | None:
        static_size = constant_value(self._batch_size)
        return None if static_size is None else int(static_size)

    def _merge_beams(self, tensor: TensorLike, inner: Any) -> Tensor:
        """Reshape ``[batch, beams, ...]`` to ``[batch * beams, ...]``."""
        static_size = self._known_batch_size()
        sizes = shape_of(tensor)
        result = reshape(tensor, concat(([self._batch_size * self._beam_width], sizes[2:]), 0))
        batch = None if static_size is None else static_size * self._beam_width
        result.set_shape(TensorShape([batch]).concatenate(inner))
        return result

    def _split_beams(self, tensor: TensorLike, inner: Any) -> Tensor:
        """Reshape ``[batch * beams, ...]`` to ``[batch, beams, ...]``."""
        sizes = shape_of(tensor)
        result = reshape(tensor, concat(([self._batch_size, self._beam_width], sizes[1:]), 0))
        expected = TensorShape([self._known_batch_size(), self._beam_width]).concatenate(inner)
        if not result.shape.is_compatible_with(expected):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size. The reshaped tensor has shape: "
                f"{result.shape}. We expected it to have shape (batch_size, beam_width, depth) == {expected}. Perhaps "
                "you forgot to create a zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        result.set_shape(expected)
        return result

    def _split(self, tensor: TensorLike, inner: Any) -> Any:
        if isinstance(tensor, TensorArray) or _require_rank(tensor) < 1:
            return tensor
        return self._split_beams(tensor, _shape_of_size(inner))

    def _joined(self, tensor: TensorLike, inner: Any) -> Any:
        if isinstance(tensor, TensorArray) or _require_rank(tensor) < 2:
            return tensor
        return self._merge_beams(tensor, _shape_of_size(inner))

    def step(
        self, time: Any, inputs: TensorLike, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return the outputs of a step, the next state, the next inputs, and which beams are finished.

        Args:
            time: index of the step, an int32 scalar.
            inputs: its inputs, ``[batch, beams, ...]``.
            state: the state.
            name: name scope of the ops; None: ``BeamSearchDecoderStep``.
        """
        with name_scope(name, "BeamSearchDecoderStep", nest.flatten((time, inputs, state))):
            inputs = nest.map_structure(lambda tensor: self._merge_beams(tensor, tensor.shape[2:]), inputs)
            cell_state = nest.map_structure(self._joined, state.cell_state, self._cell.state_size)
            outputs, next_cell_state = self._cell(inputs, cell_state)
            outputs = nest.map_structure(lambda tensor: self._split_beams(tensor, tensor.shape[1:]), outputs)
            next_cell_state = nest.map_structure(self._split, next_cell_state, self._cell.state_size)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            step_outputs, next_state = self._best_beams(time, outputs, next_cell_state, state)
            next_inputs = cond(
                reduce_all(next_state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(step_outputs.predicted_ids),
            )
        return step_outputs, next_state, next_inputs, next_state.finished

    def _best_beams(
        self, time: Any, logits: Any, next_cell_state: Any, state: BeamSearchDecoderState
    ) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
        """Return the best of all continuations of the beams."""
        batch_size, width, end_token = self._batch_size, self._beam_width, self._end_token
        known_batch = self._known_batch_size()
        going_on = logical_not(state.finished)
        log_probs: Any = _mask_finished(log_softmax(logits), end_token, state.finished)
        total: Any = expand_dims(state.log_probs, 2) + log_probs
        symbols = logits.shape[-1].value or shape_of(logits)[-1]
        longer: Any = one_hot(
            indices=fill([batch_size, width], end_token),
            depth=symbols,
            on_value=to_int64(0),
            off_value=to_int64(1),
            dtype=int64,
        )
        longer = longer * expand_dims(cast(going_on, int64), 2)
        lengths = longer + expand_dims(state.lengths, 2)
        accumulated: Any = None
        attention: Any = _attention_of(next_cell_state, self._coverage_penalty_weight)
        if attention is not None:
            attention = attention * expand_dims(cast(going_on, float32), 2)
            accumulated = state.accumulated_attention_probs + attention
        scores = self._scores(total, lengths, state.finished, accumulated)
        convert_to_tensor(time, name="time")
        flat = reshape(scores, [batch_size, -1])
        best, words = top_k(flat, k=convert_to_tensor(width, dtype=int32, name="beam_width"))
        best.set_shape([known_batch, width])
        words.set_shape([known_batch, width])
        probs = self._gather(words, total, width * symbols, [-1], "next_beam_probs")
        word_ids = cast(mod(words, symbols, name="next_beam_word_ids"), int32)
        beam_ids = cast(words / symbols, int32, name="next_beam_parent_ids")
        was_finished = self._gather(beam_ids, state.finished, width, [-1])
        finished = logical_or(was_finished, equal(word_ids, end_token), name="next_beam_finished")
        more = cast(logical_not(was_finished), int64)
        next_lengths = self._gather(beam_ids, state.lengths, width, [-1]) + more
        next_accumulated: Any = ()
        if accumulated is not None:
            name = "next_accumulated_attention_probs"
            next_accumulated = self._gather(beam_ids, accumulated, width, [batch_size * width, -1], name)

        def of_parent(values: Any) -> Any:
            rows = [batch_size * width, -1]  # one product for each part, used or not, as in release 1.15
            if isinstance(values, TensorArray) or _require_rank(values) < 2:
                return values
            return self._gather(beam_ids, values, width, rows)

        following = BeamSearchDecoderState(
            cell_state=nest.map_structure(of_parent, next_cell_state),
            log_probs=probs,
            lengths=next_lengths,
            finished=finished,
            accumulated_attention_probs=next_accumulated,
        )
        return BeamSearchDecoderOutput(best, word_ids, beam_ids), following

    def _scores(self, total: Any, lengths: TensorLike, finished: Any, accumulated: Any) -> Any:
        penalty: Any = _length_penalty(lengths, self._length_penalty_weight)
        scores = total / cast(penalty, total.dtype)
        weight = convert_to_tensor(self._coverage_penalty_weight, name="coverage_penalty_weight")
        if weight.shape.ndims != 0:
            raise ValueError(f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}")
        if constant_value(weight) == 0.0:
            return scores
        covered = where(equal(accumulated, 0.0), ones_like(accumulated), accumulated)
        coverage: Any = reduce_sum(log(minimum(covered, 1.0)), 2)
        coverage = coverage * cast(finished, float32)
        return scores + expand_dims(coverage * weight, 2)

    def _gather(
        self, beams: Any, values: Any, stride: Any, rows: list[Any], name: str | None = None
    ) -> Tensor:
        """Return the values of the chosen beams."""
        with name_scope(name, "tensor_gather_helper"):
            starts = expand_dims(range_of(self._batch_size) * stride, 1)
            at = reshape(beams + starts, [-1])
            output = gather(reshape(values, rows), at)
            axes = 1 + len(rows)
            sizes = shape_of(values)[:axes]
            output = reshape(output, sizes, name="output")
            output.set_shape(TensorShape([self._known_batch_size()]).concatenate(values.shape[1:axes]))
            return output

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the sequences, and the final state.

        Args:
            outputs: outputs of all steps.
            final_state: state after the last step.
            sequence_lengths: ignored: the state has the lengths of the beams.
        """
        longest = cast(reduce_max(final_state.lengths, axis=1), int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorders:
            ordered = nest.map_structure(
                lambda tensor: self._ordered(tensor, outputs.parent_ids, final_state.lengths),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=ordered)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _ordered(self, array: Any, parent_ids: Any, lengths: TensorLike) -> Any:
        """Return a history in the order of the beams, if it can be reordered."""
        if not isinstance(array, TensorArray):
            return array
        shape, width, static_size = array.element_shape, self._beam_width, self._known_batch_size()
        if shape.ndims is None or shape.ndims < 1:
            tf_logging.warning(
                "The TensorArray %s in the cell state is not amenable to sorting based on the beam search result. For "
                "a TensorArray to be sorted, its elements shape must be defined and have at least a rank of 1, but saw "
                "shape: %s",
                array.handle.name,
                shape,
            )
            return array
        if static_size is not None and shape[0].value is not None:
            second = shape[1].value if shape.ndims >= 2 else None
            is_merged = shape[0].value == static_size * width
            if not is_merged or (second is not None and (shape[0].value != static_size or second != width)):
                tf_logging.warning(
                    "TensorArray reordering expects elements to be reshapable to %s which is incompatible with the "
                    "current shape %s. Consider setting reorder_tensor_arrays to False to disable TensorArray "
                    "reordering during the beam search.",
                    TensorShape([static_size, width, None]),
                    shape,
                )
                return array
        steps = array.stack()
        with get_default_graph().control_dependencies([self._fitting(steps)]):
            return _trace_parents(steps, parent_ids, lengths)

    def _fitting(self, steps: Tensor) -> Operation:
        batch_size, width = self._batch_size, self._beam_width
        sizes = shape_of(steps)
        if steps.shape.ndims == 2:
            fits = equal(sizes[1], batch_size * width)
        else:
            merged = equal(sizes[1], batch_size * width)
            fits = logical_or(merged, logical_and(equal(sizes[1], batch_size), equal(sizes[2], width)))
        return Assert(
            fits,
            [
                "TensorArray reordering expects elements to be reshapable to [batch_size, beam_size, -1] which is "
                f"incompatible with the dynamic shape of {steps.name} elements. Consider setting "
                "reorder_tensor_arrays to False to disable TensorArray reordering during the beam search."
            ],
        )


def _shape_of_size(size: Any) -> TensorShape:
    """Return a state size as a shape; for a tensor, as far as its value is known."""
    if isinstance(size, Tensor):
        return as_shape(constant_value(size))
    return as_shape(size)


def _trace_parents(steps: Tensor, parent_ids: Any, lengths: TensorLike) -> Tensor:
    """Return the values of each beam's sequence at each step, by following the parent beams."""
    max_time, batch_size, width = (
        size.value or shape_of(parent_ids)[axis] for axis, size in enumerate(parent_ids.shape)
    )
    beams: Any = expand_dims(expand_dims(range_of(width), 0), 0)
    beams = tile(beams, [max_time, batch_size, 1])
    longest = cast(reduce_max(lengths, axis=1), int32)
    ordered: Any = gather_tree(beams, parent_ids, longest, width + 1)
    inside = transpose(sequence_mask(lengths, maxlen=max_time), perm=[2, 0, 1])
    ordered = where(inside, x=ordered, y=beams)
    times = tile(reshape(range_of(max_time), [-1, 1, 1]), [1, batch_size, width])
    rows = tile(reshape(range_of(batch_size), [-1, 1, 1]), [1, max_time, width])
    rows = transpose(rows, perm=[1, 0, 2])
    indices = stack([times, rows, ordered], -1)
    sizes = shape_of(steps)
    by_beam = reshape(steps, [max_time, batch_size, width, -1])
    return reshape(gather_nd(by_beam, indices), sizes)


def _mean_over_last(parts: Any) -> Any:
    return reduce_mean(concat([expand_dims(tensor, -1) for tensor in parts], -1), -1)


def _attention_of(cell_state: Any, weight: Any) -> Any:
    """Return the alignments if they affect the scores; otherwise None."""
    if isinstance(weight, float | int) and weight == 0.0:
        return None
    states = [cell_state] if isinstance(cell_state, AttentionWrapperState) else cell_state
    alignments = [
        _mean_over_last(state.alignments) if isinstance(state.alignments, tuple) else state.alignments
        for state in (states if isinstance(states, (list, tuple)) else ())
        if isinstance(state, AttentionWrapperState)
    ]
    if not alignments:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return alignments[0] if len(alignments) == 1 else _mean_over_last(alignments)


def _length_penalty(lengths: TensorLike, factor: Any) -> Any:
    weight: Any = convert_to_tensor(factor, name="penalty_factor")
    weight.set_shape(())
    static_weight = constant_value(weight)
    if static_weight is not None and static_weight == 0:
        return 1.0
    return div((5.0 + cast(lengths, float32)) ** weight, (5.0 + 1.0) ** weight)


def _mask_finished(log_probs: Any, end_token: Any, finished: Any) -> Tensor:
    """Return the log probabilities, changed so that finished beams can only end again."""
    symbols = shape_of(log_probs)[2]
    row = one_hot(
        end_token,
        symbols,
        dtype=log_probs.dtype,
        on_value=convert_to_tensor(0.0, dtype=log_probs.dtype),
        off_value=log_probs.dtype.min,
    )
    ended = tile(reshape(row, [1, 1, -1]), concat([shape_of(finished), [1]], 0))
    mask = tile(expand_dims(finished, 2), [1, 1, symbols])
    return where(mask, ended, log_probs)
