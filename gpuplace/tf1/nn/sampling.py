"""Candidate sampling: losses that are computed with a sample of many classes.

Samples equal TensorFlow's for the same seeds: words of the Philox stream are used one by one, and duplicates
are drawn again.

Source: tensorflow/python/ops/candidate_sampling_ops.py, nn_impl.py and tensorflow/core/kernels/range_sampler.cc,
candidate_sampler_ops.cc, lib/random/simple_philox.cc, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import multiply
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.unary import log
from gpuplace.ops.nn.entropy import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2
from gpuplace.ops.nn.misc import embedding_lookup
from gpuplace.ops.random.random_ops import generator_of, get_seed
from gpuplace.ops.support import new
from gpuplace.ops.variables.partitioned import PartitionedVariable
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, DTypeLike, TensorLike

__all__ = [
    "all_candidate_sampler", "compute_accidental_hits", "log_uniform_candidate_sampler", "nce_loss",
    "sampled_softmax_loss", "uniform_candidate_sampler",
]  # fmt: skip

_WORDS_PER_SAMPLE = 2048
"""Number of words by which the stream advances for each requested candidate."""


class Candidates(NamedTuple):
    """The result of a sampler."""

    sampled_candidates: Tensor
    """[num_sampled], int64."""
    true_expected_count: Tensor
    """[batch, num_true]: expected number of times that a run draws each true class."""
    sampled_expected_count: Tensor
    """[num_sampled]: the same for each candidate."""


def sampler_op(kind: str, name: str | None, seed: int | None, **arguments: Any) -> Candidates:
    """Add an op that samples classes.

    Args:
        kind: its op type.
        name: its name.
        seed: the seed of the op.
        **arguments: its inputs and attributes.
    """
    first, second = get_seed(seed)
    return Candidates(*apply_op(kind, name, **arguments, seed=first, seed2=second).outputs)


def candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
    *,
    kind: str = "",
) -> Candidates:
    """Add an op of type ``kind`` that samples classes below ``range_max``."""
    arguments = {"true_classes": true_classes, "num_true": num_true, "num_sampled": num_sampled}
    return sampler_op(kind, name, seed, **arguments, unique=unique, range_max=range_max)


@variant_of(candidate_sampler, kind="UniformCandidateSampler")
def uniform_candidate_sampler() -> None:
    """Sample classes uniformly.

    Args:
        true_classes: int64, ``[batch, num_true]``.
        num_true: number of true classes for each example.
        num_sampled: number of classes to sample.
        unique: whether to sample without replacement.
        range_max: upper limit of the classes, exclusive.
        seed: seed of the op, or None; see ``set_random_seed``.
        name: name of the op.

    Returns:
        The samples, and the expected counts of the true classes and of the samples.

    Raises:
        InvalidArgumentError: at run time, there are fewer classes than samples.
    """


@variant_of(candidate_sampler, kind="LogUniformCandidateSampler")
def log_uniform_candidate_sampler() -> None:
    """Sample small class numbers more often, for classes in descending order of frequency.

    Args:
        true_classes: int64, ``[batch, num_true]``.
        num_true: number of true classes for each example.
        num_sampled: number of classes to sample.
        unique: whether to sample without replacement.
        range_max: upper limit of the classes, exclusive.
        seed: seed of the op, or None; see ``set_random_seed``.
        name: name of the op.

    Returns:
        The samples, and the expected counts of the true classes and of the samples.

    Raises:
        InvalidArgumentError: at run time, there are fewer classes than samples.
    """


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Return all classes.

    Args:
        true_classes: int64, ``[batch, num_true]``.
        num_true: number of true classes for each example.
        num_sampled: number of classes.
        unique: whether each class occurs once.
        seed: recorded in the op only.
        name: name of the op.

    Returns:
        The classes, and ones.
    """
    arguments = {"true_classes": true_classes, "num_true": num_true, "num_sampled": num_sampled}
    return sampler_op("AllCandidateSampler", name, seed, **arguments, unique=unique)


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the candidates that are true classes of examples.

    Args:
        true_classes: int64, ``[batch, num_true]``.
        sampled_candidates: int64, ``[num_sampled]``.
        num_true: number of true classes for each example.
        seed: recorded in the op only.
        name: name of the op.

    Returns:
        The example numbers, int32; the positions of the candidates, int64; and the lowest float for each.

    Raises:
        InvalidArgumentError: at run time, ``num_true`` does not match.
    """
    first, second = get_seed(seed)
    outputs = apply_op(
        "ComputeAccidentalHits",
        name,
        true_classes=true_classes,
        sampled_candidates=sampled_candidates,
        num_true=num_true,
        seed=first,
        seed2=second,
    ).outputs
    return outputs[0], outputs[1], outputs[2]


class Words:
    """The words of a stream, one by one."""

    def __init__(self, stream: Any) -> None:
        self._words = self._drawn(stream)

    @staticmethod
    def _drawn(stream: Any) -> Iterator[int]:
        size = 64
        while True:
            yield from stream.words(np, size).reshape(-1).tolist()
            stream = stream.skip(size)
            size = min(2 * size, 1 << 16)

    def double(self) -> float:
        """Return a number in [0, 1), from two words."""
        high, low = next(self._words), next(self._words)
        return float(np.uint64(0x3FF0000000000000 | ((high & 0xFFFFF) << 32) | low).view(np.float64)) - 1.0

    def single(self) -> Any:
        """Return a float32 number in [0, 1), from one word."""
        return np.uint32(0x3F800000 | next(self._words) & 0x7FFFFF).view(np.float32) - np.float32(1)

    def below_32(self, limit: int) -> int:
        """Return an integer below ``limit``, from words of 32 bits."""
        return _below(limit, 32, lambda: next(self._words))

    def _both(self) -> int:
        low, high = next(self._words), next(self._words)
        return low | high << 32

    def below(self, limit: int) -> int:
        """Return an integer below ``limit``."""
        return _below(limit, 64, self._both)


def _below(limit: int, bits: int, draw: Callable[[], int]) -> int:
    if not limit & (limit - 1):
        return draw() & (limit - 1)
    rest = (2**bits - 1) % limit + 1
    while (word := draw()) < rest:
        pass
    return word % limit


def _batch(draw: Callable[[], int], count: int, unique: bool) -> tuple[list[int], int]:
    """Return the sampled classes, and the number of attempts."""
    if not unique:
        return [draw() for _ in range(count)], count
    drawn: dict[int, None] = {}
    tries = 0
    while len(drawn) < count:
        tries += 1
        drawn.setdefault(draw())
    return list(drawn), tries


class Sampler(Protocol):
    """A distribution of classes."""

    def draw(self, words: Words) -> int:
        """Return one sampled class."""
        ...

    def shares(self, classes: TensorLike) -> Any:
        """Return the probability of each class in an array, float32."""
        ...


class _Uniform:
    def __init__(self, range_max: int) -> None:
        self._range = range_max

    def draw(self, words: Words) -> int:
        return words.below(self._range)

    def shares(self, classes: Any) -> Any:
        return np.full(classes.shape, 1.0 / self._range, np.float32)


class _LogUniform:
    def __init__(self, range_max: int) -> None:
        self._range = range_max
        self._width = math.log1p(range_max)

    def draw(self, words: Words) -> int:
        return (int(math.exp(words.double() * self._width)) - 1) % self._range

    def shares(self, classes: Any) -> Any:
        return (np.log((classes + 2.0) / (classes + 1.0)) / self._width).astype(np.float32)


def drawn(
    sampler: Sampler,
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    generator: Any,
) -> tuple[Any, Any, Any]:
    """Return the result of a sampling op: the classes, and the expected counts of the true classes and of these.

    Args:
        sampler: the distribution.
        true_classes: int64 ``[batch, num_true]``, in host memory.
        num_true: number of true classes for each example, according to the op.
        num_sampled: number of classes to sample.
        unique: whether to sample without replacement.
        range_max: upper limit of the classes, exclusive.
        generator: the op's random numbers.

    Raises:
        InvalidArgumentError: the true classes have another shape, or there are fewer classes than samples.
    """
    _require_true(true_classes, num_true)
    if unique and num_sampled > range_max:
        raise InvalidArgumentError.of("Sampler's range is too small.")
    words = Words(generator.reserve(-(-_WORDS_PER_SAMPLE * num_sampled // 4), 1))
    sampled, tries = _batch(lambda: sampler.draw(words), num_sampled, unique)

    def expected(classes: TensorLike) -> Any:
        shares = sampler.shares(classes)
        if tries == num_sampled:
            return shares * np.float32(num_sampled)
        with np.errstate(divide="ignore"):  # the only class
            return (-np.expm1(tries * np.log1p(-shares.astype(np.float64)))).astype(np.float32)

    classes = np.array(sampled, np.int64)
    return classes, expected(true_classes), expected(classes)


@compute("UniformCandidateSampler", "LogUniformCandidateSampler", fresh=True, own_state=True)
def _candidates(
    xp: Any,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
    ctx: Any,
) -> Any:
    sampler = (_Uniform if ctx.op.type.startswith("Uniform") else _LogUniform)(range_max)
    truth = np.asarray(true_classes.get() if hasattr(true_classes, "get") else true_classes)
    generator = generator_of(ctx, seed, seed2)
    outputs = drawn(sampler, truth, num_true, num_sampled, unique, range_max, generator)
    return tuple(xp.asarray(one) for one in outputs)


def _require_true(true_classes: Any, num_true: int) -> None:
    if true_classes.ndim != 2:
        raise InvalidArgumentError.of("true_classes must be a matrix")
    if true_classes.shape[1] != num_true:
        raise InvalidArgumentError.of("true_classes must have num_true columns")


@compute("AllCandidateSampler", fresh=True)
def _all_candidates(xp: Any, true_classes: Array, *, num_true: int, num_sampled: int) -> Any:
    _require_true(true_classes, num_true)
    ones = xp.ones(true_classes.shape, xp.float32)
    return xp.arange(num_sampled, dtype=xp.int64), ones, xp.ones(num_sampled, xp.float32)


@shape_function(
    "UniformCandidateSampler",
    "LogUniformCandidateSampler",
    "FixedUnigramCandidateSampler",
    "LearnedUnigramCandidateSampler",
)
def _candidates_shape(op: Operation) -> Any:
    batch = op.inputs[0].shape[0].value if op.inputs[0].shape.ndims else None
    count = op.attrs["num_sampled"]
    return TensorShape.of((count,)), TensorShape.of((batch, op.attrs["num_true"])), TensorShape.of((count,))


shape_function("AllCandidateSampler")(_candidates_shape)


@compute("ComputeAccidentalHits", fresh=True)
def _accidental_hits(xp: Any, true_classes: Array, sampled_candidates: Array, *, num_true: int) -> Any:
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise InvalidArgumentError.of("true_candidates must be a batch_size * num_true matrix")
    if sampled_candidates.ndim != 1:
        raise InvalidArgumentError.of(
            "sampled_candidates must be a vector, which is typically an output from CandidateSampler"
        )
    hits = (
        true_classes[:, :, None] == sampled_candidates[None, None, ::-1]
    )  # the last of equal candidates counts
    example, positions = xp.nonzero(hits.any(axis=2))
    position = len(sampled_candidates) - 1 - hits[example, positions].argmax(axis=1)
    lowest = xp.full(len(example), xp.finfo(xp.float32).min, xp.float32)
    return example.astype(xp.int32), position.astype(xp.int64), lowest


@shape_function("ComputeAccidentalHits")
def _accidental_hits_shape(op: Operation) -> Any:
    return (TensorShape.of((None,)),) * 3


not_differentiable("UniformCandidateSampler", "LogUniformCandidateSampler")
not_differentiable("AllCandidateSampler", "ComputeAccidentalHits")


def _row_sums(x: Tensor) -> Tensor:
    ones = constant.ones(joining.stack([reshaping.shape(x)[1], 1]), x.dtype)
    return reshaping.reshape(matmul(x, ones), [-1])


def compute_sampled_logits(
    weights: TensorLike,
    biases: Any,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    subtract_log_q: bool = True,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return logits and labels of the true and the sampled classes.

    Args:
        weights: ``[num_classes, size]``, or the list of its slices.
        biases: ``[num_classes]``.
        labels: the true classes, ``[batch, num_true]``, integers.
        inputs: ``[batch, size]``.
        num_sampled: number of sampled classes.
        num_classes: number of classes.
        num_true: number of true classes for each example.
        sampled_values: the result of a candidate sampler; None for a new one.
        subtract_log_q: whether to subtract the logarithm of a class's expected count.
        remove_accidental_hits: whether to ignore samples that are true classes.
        partition_strategy: how classes are partitioned over the slices, ``"mod"`` or ``"div"``.
        name: name scope.
        seed: seed of the sampler.

    Returns:
        Logits and labels, both ``[batch, num_true + num_sampled]``.
    """
    tables = list(weights) if isinstance(weights, list | tuple | PartitionedVariable) else [weights]
    # A list has no dtype: TensorFlow rejects it here, with Python's AttributeError.
    scope_values: Any = labels, inputs
    labels, inputs = (convert_to_tensor(value, value.dtype) for value in scope_values)
    with name_scope(name, "compute_sampled_logits", [*tables, biases, inputs, labels]):
        labels = cast(labels, "int64")
        flat = reshaping.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, unique=True, range_max=num_classes, seed=seed
            )
        sampled, true_count, sampled_count = (reshaping.stop_gradient(one) for one in sampled_values)
        sampled = cast(sampled, "int64")
        ids = joining.concat([flat, sampled], 0)
        rows = cast(embedding_lookup(tables, ids, partition_strategy=partition_strategy), inputs.dtype)
        true_rows = slice_of(rows, [0, 0], joining.stack([reshaping.shape(flat)[0], -1]))
        sampled_rows = slice_of(rows, joining.stack([reshaping.shape(flat)[0], 0]), [-1, -1])
        sampled_logits = matmul(inputs, sampled_rows, transpose_b=True)
        offsets = cast(embedding_lookup(biases, ids, partition_strategy=partition_strategy), inputs.dtype)
        true_offsets = slice_of(offsets, [0], reshaping.shape(flat))
        sampled_offsets = slice_of(offsets, reshaping.shape(flat), [-1])
        width = reshaping.shape(true_rows)[1:2]
        shape = joining.concat([[-1, num_true], width], 0)
        products = multiply(reshaping.expand_dims(inputs, 1), reshaping.reshape(true_rows, shape))
        matrix = reshaping.reshape(products, joining.concat([[-1], width], 0))
        true_logits = reshaping.reshape(_row_sums(matrix), [-1, num_true])
        true_offsets = reshaping.reshape(true_offsets, [-1, num_true])
        true_logits = true_logits + true_offsets
        sampled_logits = sampled_logits + sampled_offsets
        if remove_accidental_hits:
            sampled_logits = sampled_logits + _hits(
                labels, sampled, num_true, num_sampled, sampled_logits.dtype
            )
        if subtract_log_q:
            true_logits = true_logits - log(true_count)
            sampled_logits = sampled_logits - log(sampled_count)
        logits = joining.concat([true_logits, sampled_logits], 1)
        truth = [constant.ones_like(true_logits) / num_true, constant.zeros_like(sampled_logits)]
        return logits, joining.concat(truth, 1)


def _hits(labels: Tensor, sampled: Tensor, num_true: int, num_sampled: int, dtype: DTypeLike) -> Tensor:
    examples, positions, lowest = compute_accidental_hits(labels, sampled, num_true)
    rows = reshaping.reshape(examples, [-1, 1])
    columns = reshaping.reshape(cast(positions, "int32"), [-1, 1])
    places = joining.concat([rows, columns], 1, "sparse_indices")
    shape = joining.concat([reshaping.shape(labels)[:1], reshaping.expand_dims(num_sampled, 0)], 0)
    return new(
        "SparseToDense",
        sparse_indices=places,
        output_shape=shape,
        sparse_values=cast(lowest, dtype),
        default_value=0.0,
        validate_indices=False,
    )


def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Return the noise-contrastive estimation loss, which separates the true classes from sampled ones.

    Args:
        weights: ``[num_classes, size]``, or a list of tables over which the rows are partitioned.
        biases: ``[num_classes]``.
        labels: the true classes, int64, ``[batch, num_true]``.
        inputs: ``[batch, size]``.
        num_sampled: number of classes to sample for a batch.
        num_classes: number of classes.
        num_true: number of true classes for each example.
        sampled_values: the result of a sampler; None for ``log_uniform_candidate_sampler``.
        remove_accidental_hits: whether to ignore samples that are true classes.
        partition_strategy: how rows are partitioned over several tables: ``"mod"`` in turn, ``"div"`` in
            blocks.
        name: name of the scope of the ops.

    Returns:
        A loss for each example, ``[batch]``.

    Raises:
        InvalidArgumentError: at run time, there are fewer classes than samples.
    """
    logits, truth = compute_sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        True,
        remove_accidental_hits,
        partition_strategy,
        name,
    )
    return _row_sums(sigmoid_cross_entropy_with_logits(labels=truth, logits=logits, name="sampled_losses"))


def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Return the cross entropy of a softmax over the true classes and sampled ones.

    Args:
        weights: ``[num_classes, size]``, or a list of tables over which the rows are partitioned.
        biases: ``[num_classes]``.
        labels: the true classes, int64, ``[batch, num_true]``.
        inputs: ``[batch, size]``.
        num_sampled: number of classes to sample for a batch.
        num_classes: number of classes.
        num_true: number of true classes for each example.
        sampled_values: the result of a sampler; None for ``log_uniform_candidate_sampler``.
        remove_accidental_hits: whether to ignore samples that are true classes.
        partition_strategy: how rows are partitioned over several tables: ``"mod"`` in turn, ``"div"`` in
            blocks.
        name: name of the scope of the ops.
        seed: seed of the sampler, or None; see ``set_random_seed``.

    Returns:
        A loss for each example, ``[batch]``.

    Raises:
        InvalidArgumentError: at run time, there are fewer classes than samples.
    """
    logits, truth = compute_sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        True,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    truth = reshaping.stop_gradient(truth, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=truth, logits=logits)
