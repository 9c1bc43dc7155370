"""Connectionist temporal classification: the loss, and decoders of a model's predictions for sequences.

A model predicts a class for each step; the last class is a blank. Decoding removes repetitions, then blanks.
The loss is the negative log-probability of all paths that decode to the labels::

    labels  a b      paths over three steps   a a b   a b b   a - b   - a b   a b -

Source: tensorflow/core/util/ctc, core/kernels/ctc_*_ops.cc, core/ops/ctc_ops.cc and tensorflow/python/ops/ctc_ops.py,
release 1.15; A. Graves and others, "Connectionist Temporal Classification" (ICML 2006), section 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import int32, int64
from gpuplace.errors import FailedPreconditionError, InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import ones_like
from gpuplace.ops.array.distinct import unique as unique_values
from gpuplace.ops.array.gather import gather_nd, scatter_nd, where
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import pad
from gpuplace.ops.array.reshaping import expand_dims, shape, transpose
from gpuplace.ops.array.running import cumsum
from gpuplace.ops.array.sequence import sequence_mask
from gpuplace.ops.flow.higher_order import map_fn
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import less, logical_and, not_equal
from gpuplace.ops.math.reduction import reduce_max, reduce_sum
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, to_sparse
from gpuplace.ops.support import new
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "collapse_repeated", "ctc_beam_search_decoder", "ctc_beam_search_decoder_v2", "ctc_greedy_decoder",
    "ctc_loss", "ctc_loss_v2", "ctc_unique_labels",
]  # fmt: skip


def ctc_loss(
    labels: SparseTensor | SparseTensorValue,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Tensor:
    """Return the negative log-probability of the labels of each sequence.

    Args:
        labels: int32, sparse ``[batch, labels]``: classes, without the blank.
        inputs: logits, ``[time, batch, classes]``, float32 or float64; the last class is the blank.
        sequence_length: int32 ``[batch]``: number of steps in each sequence.
        preprocess_collapse_repeated: whether to remove repeated labels first.
        ctc_merge_repeated: whether equal classes in consecutive steps stand for one label, unless a blank
            separates them.
        ignore_longer_outputs_than_inputs: whether a sequence that is too short for its labels has zero loss
            and gradient.
        time_major: False if ``inputs`` are ``[batch, time, classes]``.
        logits: the newer name of ``inputs``.

    Returns:
        ``[batch]``, with the dtype of ``inputs``: negative log-probabilities.

    Raises:
        TypeError: ``labels`` are not sparse.
        ValueError: the shapes are known not to match.
        InvalidArgumentError: at run time, a sequence is too short for its labels, or a label is not a class.
    """
    if not isinstance(labels, (SparseTensor, SparseTensorValue)):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    sparse = to_sparse(labels)
    values: Any = inputs if logits is None else logits
    if not time_major:
        values = transpose(values, [1, 0, 2])
    return apply_op(
        "CTCLoss",
        inputs=values,
        labels_indices=sparse.indices,
        labels_values=sparse.values,
        sequence_length=sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    ).outputs[0]


def ctc_loss_v2(
    labels: TensorLike | SparseTensor | SparseTensorValue,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: Sequence[TensorLike] | None = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the negative log-probability of each sequence's labels, sparse or dense, with the blank at any index.

    It uses the op ``CTCLoss``, which runs only on the CPU, for both forms of labels. (For dense labels
    TensorFlow 1.15 builds a loop, which is slower on the CPU but can run on a GPU. Its gradient is not zero
    after the end of a sequence.)

    Args:
        labels: int, ``[batch, labels]``, or sparse.
        logits: ``[time, batch, classes]``, float32 or float64.
        label_length: int ``[batch]``: number of labels in each sequence; None for sparse labels.
        logit_length: int ``[batch]``: number of steps in each sequence.
        logits_time_major: False if ``logits`` are ``[batch, time, classes]``.
        unique: the result of ``ctc_unique_labels`` for dense labels, which changes no value, or None.
        blank_index: the class of the blank; negative numbers count from the end. None for 0, with dense
            labels.
        name: name of the scope.

    Returns:
        ``[batch]``, with the dtype of ``logits``: negative log-probabilities.

    Raises:
        ValueError: sparse labels lack a ``blank_index``, or the shapes are known not to match.
        InvalidArgumentError: as ``ctc_loss``.
    """
    is_sparse = isinstance(labels, (SparseTensor, SparseTensorValue))
    if is_sparse and blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    with name_scope(
        name, "ctc_loss" if is_sparse else "ctc_loss_dense", [logits, label_length, logit_length]
    ):
        values = convert_to_tensor(logits, name="logits")
        if isinstance(labels, (SparseTensor, SparseTensorValue)):
            sparse = to_sparse(labels)
        else:
            if label_length is None:
                raise ValueError("label_length must be given when labels are dense.")
            sparse = dense_labels_to_sparse(convert_to_tensor(labels, name="labels"), label_length)
        sizes = values.shape.sizes
        classes: Any = sizes[2] if sizes is not None and sizes[2] is not None else shape(values)[2]
        blank: Any = 0 if blank_index is None else blank_index
        blank = blank + classes if blank < 0 else blank
        if not (isinstance(classes, int) and blank == classes - 1):
            before, after = values[:, :, :blank], values[:, :, blank + 1 :]
            values = concat([before, after, values[:, :, blank : blank + 1]], axis=2)
            moved = where(less(sparse.values, blank), sparse.values, sparse.values - 1)
            sparse = SparseTensor(sparse.indices, moved, sparse.dense_shape)
        return ctc_loss(sparse, values, logit_length, time_major=logits_time_major)


def ctc_loss_dense(
    labels: TensorLike,
    logits: TensorLike,
    label_length: TensorLike,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: Sequence[TensorLike] | None = None,
    blank_index: int = 0,
    name: str | None = None,
) -> Tensor:
    """Return ``ctc_loss_v2`` for dense labels.

    Args:
        labels: int, ``[batch, labels]``.
        logits: as for ``ctc_loss_v2``.
        label_length: int ``[batch]``: number of labels in each sequence.
        logit_length: as for ``ctc_loss_v2``.
        logits_time_major: as for ``ctc_loss_v2``.
        unique: as for ``ctc_loss_v2``.
        blank_index: the class of the blank; negative numbers count from the end.
        name: name of the scope.

    Returns:
        The loss, as for ``ctc_loss_v2``.

    Raises:
        ValueError: as for ``ctc_loss_v2``.
        InvalidArgumentError: as for ``ctc_loss_v2``.
    """
    return ctc_loss_v2(
        labels, logits, label_length, logit_length, logits_time_major, unique, blank_index, name
    )


def dense_labels_to_sparse(dense: TensorLike, length: TensorLike) -> SparseTensor:
    """Return the first labels of each row as a sparse tensor.

    Args:
        dense: int, ``[batch, labels]``.
        length: int ``[batch]``: number of labels to use.

    Returns:
        A ``SparseTensor`` of int32.
    """
    labels = convert_to_tensor(dense)
    indices = where(sequence_mask(length, shape(labels)[1]))
    sizes = stack([shape(labels, out_type=int64)[0], cast(reduce_max(convert_to_tensor(length)), int64)])
    return SparseTensor(indices, cast(gather_nd(labels, indices), int32), sizes)


def collapse_repeated(
    labels: TensorLike, seq_length: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Remove repeated labels.

    >>> import gpuplace as tf
    >>> [part.tolist() for part in tf.Session().run(tf.nn.collapse_repeated([[1, 1, 2, 1], [3, 3, 3, 0]], [4, 3]))]
    [[[1, 2, 1], [3, 0, 0]], [3, 1]]

    Args:
        labels: ``[batch, labels]``.
        seq_length: int ``[batch]``: number of labels in each sequence.
        name: name of the scope.

    Returns:
        The remaining labels, ``[batch, longest]``, padded with zeros, and the new lengths, with the dtype of
        ``seq_length``.
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        tensor = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        changes = concat([ones_like(tensor[:, :1], "bool"), not_equal(tensor[:, 1:], tensor[:, :-1])], axis=1)
        stays = logical_and(changes, sequence_mask(lengths, shape(tensor)[1]))
        count = cast(stays, int64)
        new_lengths = reduce_sum(count, 1)
        at = where(stays)
        targets = stack([at[:, 0], gather_nd(cumsum(count, 1), at) - 1], axis=1)
        sizes = stack([shape(tensor, out_type=int64)[0], reduce_max(new_lengths)])
        return scatter_nd(targets, gather_nd(tensor, at), sizes), cast(new_lengths, lengths.dtype)


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> list[Tensor]:
    """Return the distinct labels of each sequence, and each label's index among them.

    Args:
        labels: ``[batch, labels]``.
        name: name of the scope.

    Returns:
        int64 ``[batch, labels]``, padded with zeros, and int32 ``[batch, labels]``.
    """

    def distinct(row: Tensor) -> list[Tensor]:
        unique = unique_values(row)
        padded = pad(unique.y, [[0, shape(unique.idx)[0] - shape(unique.y)[0]]])
        return [cast(padded, int64), unique.idx]

    with name_scope(name, "ctc_unique_labels", [labels]):
        tensor = convert_to_tensor(labels, name="labels")
        types: Any = [int64, int32]
        mapped: list[Tensor] = map_fn(distinct, tensor, dtype=types)
        return mapped


def ctc_greedy_decoder(
    inputs: TensorLike, sequence_length: TensorLike, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """Return the labels of the most probable class at each step.

    Args:
        inputs: logits, ``[time, batch, classes]``, float32 or float64; the last class is the blank.
        sequence_length: int32 ``[batch]``: number of steps in each sequence.
        merge_repeated: whether equal classes in consecutive steps stand for one label, unless a blank
            separates them.

    Returns:
        A list of one sparse tensor ``[batch, labels]`` of int64, and ``[batch, 1]``: the negative sum of the largest
            logits.

    Raises:
        ValueError: the shapes are known not to match.
        InvalidArgumentError: at run time, a sequence is longer than the number of steps.
    """
    indices, values, shape, score = apply_op(
        "CTCGreedyDecoder", inputs=inputs, sequence_length=sequence_length, merge_repeated=merge_repeated
    ).outputs
    return [SparseTensor(indices, values, shape)], score


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """Return the most probable labels, found by a beam search.

    Args:
        inputs: logits, ``[time, batch, classes]``, float32 or float64; the last class is the blank.
        sequence_length: int32 ``[batch]``: number of steps in each sequence.
        beam_width: number of prefixes kept at each step.
        top_paths: number of results, the most probable first.
        merge_repeated: whether to merge equal consecutive labels.

    Returns:
        A list of ``top_paths`` sparse tensors ``[batch, labels]`` of int64, and ``[batch, top_paths]``: logarithms of
            their probabilities.

    Raises:
        ValueError: the shapes are known not to match.
        InvalidArgumentError: at run time, a sequence is longer than the number of steps, or there are more
            paths than the beam is wide.
    """
    *parts, scores = apply_op(
        "CTCBeamSearchDecoder",
        inputs=inputs,
        sequence_length=sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    ).outputs
    groups = [parts[start : start + top_paths] for start in range(0, 3 * top_paths, top_paths)]
    return [SparseTensor(*three) for three in zip(*groups, strict=True)], scores


def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """Decode like ``ctc_beam_search_decoder``, without merging equal consecutive labels.

    Args:
        inputs: as for ``ctc_beam_search_decoder``.
        sequence_length: as for ``ctc_beam_search_decoder``.
        beam_width: number of prefixes kept at each step.
        top_paths: number of results, the most probable first.

    Returns:
        The results of ``ctc_beam_search_decoder``.

    Raises:
        ValueError: the shapes are known not to match.
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)


def _lengths(inputs: Any, sequence_length: Any, error: Any = FailedPreconditionError) -> list[int]:
    """Return the number of steps in each sequence; raise ``error`` if one is too long."""
    if inputs.ndim != 3:
        raise InvalidArgumentError.of("inputs is not a 3-Tensor")
    steps, batch, _ = inputs.shape
    if sequence_length.ndim != 1:
        raise InvalidArgumentError.of("sequence_length is not a vector")
    if len(sequence_length) != batch:
        raise InvalidArgumentError.of(f"len(sequence_length) != batch_size. len(sequence_length): "
                                      f"{len(sequence_length)} batch_size: {batch}")  # fmt: skip
    lengths = [int(length) for length in sequence_length]
    for at, length in enumerate(lengths):
        if length > steps:
            raise error.of(f"sequence_length({at}) <= {steps}")
    return lengths


# Loss


def _log_softmax(logits: Any) -> Any:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _alignment_scores(probable: Any, path: Any, blank: int, merges: bool) -> Any:
    """Return log-probabilities, for each step, of all alignments that end at each position of a path."""
    steps, places = len(probable), len(path)
    seen = probable[:, path]
    result = np.full((steps, places), -np.inf)
    result[0, :2] = seen[0, :2]
    stays = np.where(np.full(places, merges) | (path == blank), 0.0, -np.inf)
    skips = np.full(places, -np.inf)
    skips[2:] = np.where((path[2:] != blank) & ~((path[2:] == path[:-2]) & merges), 0.0, -np.inf)
    for step in range(1, steps):
        before = np.concatenate([[-np.inf, -np.inf], result[step - 1]])
        from_here = np.logaddexp(before[2:] + stays, before[1:-1])
        result[step] = np.logaddexp(from_here, before[:-2] + skips) + seen[step]
    return result


def _loss(logits: Any, labels: list[int], merges: bool) -> tuple[float, Any]:
    """Return the loss of one sequence, ``[time, classes]``, and its gradient."""
    blank = logits.shape[1] - 1
    path = np.full(2 * len(labels) + 1, blank)
    path[1::2] = labels
    probable = _log_softmax(logits)
    forward = _alignment_scores(probable, path, blank, merges)
    backward = _alignment_scores(probable[::-1], path[::-1], blank, merges)[::-1, ::-1]
    both = forward + backward - probable[:, path]
    total = np.logaddexp.reduce(forward[-1, -2:])
    spread = np.exp(probable)
    if total == -np.inf:
        return np.inf, spread
    for place, label in enumerate(path):
        spread[:, label] -= np.exp(both[:, place] - total)
    return -total, spread


@compute("CTCLoss", fresh=True)
def _ctc_loss(
    xp: ArrayModule,
    inputs: Array,
    labels_indices: Array,
    labels_values: Array,
    sequence_length: Array,
    *,
    preprocess_collapse_repeated: bool,
    ctc_merge_repeated: bool,
    ignore_longer_outputs_than_inputs: bool,
) -> tuple[Any, Any]:
    if not inputs.shape[1]:
        raise InvalidArgumentError.of("batch_size must not be 0")
    lengths = _lengths(inputs, sequence_length, InvalidArgumentError)
    if labels_indices.ndim != 2:
        raise InvalidArgumentError.of("labels_indices is not a matrix")
    if labels_values.ndim != 1 or len(labels_values) != len(labels_indices):
        raise InvalidArgumentError.of("labels_indices and labels_values must contain the same number of rows")
    steps, batch, classes = inputs.shape
    labels: list[list[int]] = [[] for _ in range(batch)]
    for (row, _), value in zip(labels_indices.tolist(), labels_values.tolist(), strict=True):
        if not 0 <= row < batch:
            raise InvalidArgumentError.of(f"labels batch index must be between 0 and {batch} but saw: {row}")
        if value < 0:
            raise InvalidArgumentError.of(
                f"All labels must be nonnegative integers, batch: {row} labels: {value}"
            )
        if value < classes - 1 and labels[row] and labels[row][-1] >= classes - 1:
            raise InvalidArgumentError.of(
                f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: {row} "
                f"num_classes: {classes} labels: {labels[row] + [value]}",
                hint=f"labels must be between 0 and {classes - 2}; the last class is the blank",
            )
        labels[row].append(value)
    losses = np.zeros(batch, np.float64)
    grads = np.zeros(inputs.shape, np.float64)
    logits = np.asarray(inputs, np.float64)
    for row, length in enumerate(lengths):
        path = labels[row]
        path = [label for label in path if label < classes - 1]
        if preprocess_collapse_repeated:
            path = [label for label, _ in itertools.groupby(path)]
        if length == 0:
            continue
        if not path:
            raise InvalidArgumentError.of(f"Labels length is zero in batch {row}")
        if len(path) > length:
            if ignore_longer_outputs_than_inputs:
                continue
            raise InvalidArgumentError.of(
                f"Not enough time for target transition sequence (required: {len(path)}, available: {length}){row}"
                "You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs"
            )
        losses[row], grads[:length, row] = _loss(logits[:length, row], path, ctc_merge_repeated)
    return losses.astype(inputs.dtype), grads.astype(inputs.dtype)


@shape_function("CTCLoss")
def _loss_shape(op: Operation) -> list[TensorShape]:
    inputs, indices, values, lengths = (
        require_rank(tensor.shape, rank) for tensor, rank in zip(op.inputs, (3, 2, 1, 1), strict=True)
    )
    merge_sizes(indices[0].value, values[0].value)
    batch = merge_sizes(inputs[1].value, lengths[0].value)
    return [TensorShape.of((batch,)), TensorShape.of((inputs[0].value, batch, inputs[2].value))]


@gradient("CTCLoss")
def _loss_gradient(op: Operation, grad: Tensor, *others: Tensor) -> list[Any]:
    kept = new(
        "PreventGradient",
        input=op.outputs[1],
        message="Currently there is no way to take the second  derivative of ctc_loss due to the fused implementation's"
        " interaction  with tf.gradients()",
    )
    return [expand_dims(grad, -1) * kept, None, None, None]


# Decoders


def _sparse(rows: list[list[int]]) -> tuple[Any, Any, Any]:
    """Return rows of labels as indices, values and shape."""
    indices = [[row, at] for row, labels in enumerate(rows) for at in range(len(labels))]
    values = [label for labels in rows for label in labels]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array([len(rows), max(map(len, rows), default=0)], np.int64),
    )


@compute("CTCGreedyDecoder", fresh=True)
def _greedy(
    xp: ArrayModule, inputs: Array, sequence_length: Array, *, merge_repeated: bool
) -> tuple[Any, ...]:
    lengths = _lengths(inputs, sequence_length)
    blank = inputs.shape[2] - 1
    best = inputs.argmax(axis=2)
    rows, scores = [], np.zeros((len(lengths), 1), inputs.dtype)
    for row, length in enumerate(lengths):
        path = best[:length, row].tolist()
        if merge_repeated:
            path = [label for label, _ in itertools.groupby(path)]
        rows.append([label for label in path if label != blank])
        scores[row, 0] = -inputs[:length, row].max(axis=1).sum() if length else 0
    return (*_sparse(rows), scores)


_Beam = dict[tuple[int, ...], tuple[float, float]]
"""Labels so far -> log-probabilities that they end in a blank, and in their last label."""


def _beam_step(beam: _Beam, probable: list[float], width: int) -> _Beam:
    """Return the most probable prefixes after one more step."""
    blank = len(probable) - 1
    extended_beam: _Beam = {}

    def extended(start: tuple[int, ...], label: int) -> float:
        in_blank, in_label = beam[start]
        same = bool(start) and start[-1] == label
        return in_blank if same else float(np.logaddexp(in_blank, in_label))

    for labels, (in_blank, in_label) in beam.items():
        total = float(np.logaddexp(in_blank, in_label))
        ends = -np.inf
        if labels:
            parent = extended(labels[:-1], labels[-1]) if labels[:-1] in beam else -np.inf
            ends = float(np.logaddexp(in_label, parent)) + probable[labels[-1]]
        extended_beam[labels] = (total + probable[blank], ends)
    for labels in beam:
        for label in range(blank):
            longer = (*labels, label)
            if longer not in beam:
                extended_beam[longer] = (-np.inf, extended(labels, label) + probable[label])
    ranked = sorted(extended_beam.items(), key=lambda item: -float(np.logaddexp(*item[1])))
    return dict(ranked[:width])


@compute("CTCBeamSearchDecoder", fresh=True)
def _beam_search(
    xp: ArrayModule,
    inputs: Array,
    sequence_length: Array,
    *,
    beam_width: int,
    top_paths: int,
    merge_repeated: bool,
) -> tuple[Any, ...]:
    lengths = _lengths(inputs, sequence_length)
    if top_paths > beam_width:
        raise InvalidArgumentError.of("requested more paths than the beam width.")
    probable = _log_softmax(np.asarray(inputs, np.float64)) if inputs.size else inputs
    paths: list[list[list[int]]] = [[] for _ in range(top_paths)]
    scores = np.zeros((len(lengths), top_paths), inputs.dtype)
    for row, length in enumerate(lengths):
        beam: _Beam = {(): (0.0, -np.inf)}
        for step in range(length):
            beam = _beam_step(beam, probable[step, row].tolist(), beam_width)
        ranked = sorted(beam.items(), key=lambda item: -float(np.logaddexp(*item[1])))
        if len(ranked) < top_paths:
            raise InvalidArgumentError.of(
                f"Less leaves in the beam search than requested: {len(ranked)} for {top_paths} paths"
            )
        for number, (labels, ends) in enumerate(ranked[:top_paths]):
            path = [label for label, _ in itertools.groupby(labels)] if merge_repeated else list(labels)
            paths[number].append(path)
            scores[row, number] = np.logaddexp(*ends)
    results = [_sparse(rows) for rows in paths]
    return (*(part for column in zip(*results, strict=True) for part in column), scores)


def _decoded(op: Operation, paths: int) -> list[TensorShape]:
    inputs, lengths = require_rank(op.inputs[0].shape, 3), require_rank(op.inputs[1].shape, 1)
    batch = merge_sizes(inputs[1].value, lengths[0].value)
    shapes = [(None, 2), (None,), (2,)]
    return [
        *(TensorShape.of(shape) for shape in shapes for _ in range(paths)),
        TensorShape.of((batch, paths)),
    ]


@shape_function("CTCGreedyDecoder")
def _greedy_shape(op: Operation) -> list[TensorShape]:
    return _decoded(op, 1)


@shape_function("CTCBeamSearchDecoder")
def _beam_shape(op: Operation) -> list[TensorShape]:
    return _decoded(op, op.attrs["top_paths"])


not_differentiable("CTCGreedyDecoder", "CTCBeamSearchDecoder")
