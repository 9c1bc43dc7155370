"""Candidate sampling by class frequency, given or learned by the op.

With given frequencies, a class is drawn from a table of columns of equal width, each shared by at most two
classes::

    weights 1 2 3      columns   0 0 0 2 2 2    1 1 1 1 1 1    2 2 2 2 2 2

A learned distribution starts with weight 1 for each class, and adds one whenever it is a true class. As in
TensorFlow it belongs to the session and is not saved.

Source: tensorflow/core/kernels/range_sampler.cc, lib/random/distribution_sampler.cc and weighted_picker.cc, release
1.15.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.files.file_system import read_bytes
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.random.random_ops import generator_of
from gpuplace.ops.variants import variant_of
from gpuplace.tf1.nn.sampling import Candidates, Words, candidate_sampler, drawn, sampler_op
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["fixed_unigram_candidate_sampler", "learned_unigram_candidate_sampler"]

not_differentiable("FixedUnigramCandidateSampler", "LearnedUnigramCandidateSampler")


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Sample classes by given weights.

    Args:
        true_classes: int64, ``[batch, num_true]``.
        num_true: number of true classes for each example.
        num_sampled: number of classes to sample.
        unique: whether to sample without replacement.
        range_max: number of classes.
        vocab_file: a file with a line for each class, whose last field, after a comma, is its weight.
        distortion: exponent of the weights: 1 keeps them, 0 makes all equal.
        num_reserved_ids: number of classes before those with weights; they are never sampled.
        num_shards: number of samplers that share the classes.
        shard: number of this sampler, which has every ``num_shards``-th class.
        unigrams: the weights, in place of a file.
        seed: seed of the op, or None; see ``set_random_seed``.
        name: name of the op.

    Returns:
        The samples, and the expected counts of the true classes and of the samples.

    Raises:
        InvalidArgumentError: at run time, there are no weights or two sources of them, their number is not
            that of the classes, a line has no number, or there are fewer classes than samples.
        NotFoundError: at run time, there is no such file.
    """
    return sampler_op(
        "FixedUnigramCandidateSampler",
        name,
        seed,
        true_classes=true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=list(unigrams),
    )


@variant_of(candidate_sampler, kind="LearnedUnigramCandidateSampler")
def learned_unigram_candidate_sampler() -> None:
    """Sample classes as often as the op has seen them among the true classes.

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
        InvalidArgumentError: at run time, there are fewer classes than samples, or a true class is out of
            range.
    """


class _Fixed:
    """A distribution with given weights.

    Args:
        weights: weights of all classes, float32; reserved classes have none.
        total: their sum as TensorFlow computes it, float32.
    """

    def __init__(self, weights: Array, total: Any) -> None:
        self._weights, self._total = weights, total
        self.possible = int(np.count_nonzero(weights))
        count = len(weights)
        part = weights.astype(np.float64) * count / sum(weights.tolist())
        shares = part.tolist()
        self._other = [-1] * count
        low = [at for at in range(count) if shares[at] < 1.0]
        high = [at for at in range(count) if shares[at] >= 1.0]
        while high and low:
            small, large = low.pop(), high.pop()
            self._other[small] = large
            shares[large] -= 1.0 - shares[small]
            (low if shares[large] < 1.0 else high).append(large)
        for at in (*high, *low):
            shares[at] = 1.0
        self._shares = np.array(shares, np.float32)

    def draw(self, words: Words) -> int:
        share = words.single()
        at = words.below_32(len(self._shares))
        return at if share < self._shares[at] else self._other[at]

    def shares(self, classes: Array) -> Array:
        is_valid = (classes >= 0) & (classes < len(self._weights))
        return np.where(is_valid, self._weights[np.where(is_valid, classes, 0)] / self._total, np.float32(0))


def _of_file(name: str) -> list[Any]:
    weights = []
    for line in read_bytes(name).decode(errors="replace").splitlines():
        try:
            weights.append(np.float32(line.rpartition(",")[2]))
        except ValueError:
            raise InvalidArgumentError.of(
                f"Wrong vocabulary format at line: {line}", facts={"file": name}
            ) from None
    return weights


def _fixed(
    range_max: int, numbers: Sequence[Any], distortion: float, reserved: int, num_shards: int, shard: int
) -> _Fixed:
    weights = [np.float32(0) for word in range(reserved) if word % num_shards == shard]
    total, first = np.float32(0), len(weights)
    for word, weight in enumerate(numbers, first):
        if word % num_shards == shard:
            weights.append(np.power(np.float32(weight), np.float32(distortion)))
            total += weights[-1]
    if len(weights) != range_max:
        raise InvalidArgumentError.of(f"range is {range_max} must be equal to weights size  {len(weights)}")
    return _Fixed(np.array(weights, np.float32), total)


@compute("FixedUnigramCandidateSampler", fresh=True, own_state=True)
def _by_given(
    xp: ArrayModule,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: Any,
    distortion: float,
    num_reserved_ids: int,
    num_shards: int,
    shard: int,
    unigrams: Sequence[float],
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> tuple[Array, ...]:
    path = vocab_file.decode() if isinstance(vocab_file, bytes) else vocab_file
    if not path and not unigrams:
        raise InvalidArgumentError.of("Must provide either vocab_file or unigrams.")
    if path and unigrams:
        raise InvalidArgumentError.of("Must only provide one of vocab_file and unigrams.")
    sampler = ctx.session.kernel_state(
        f"{ctx.op.name}/weights",
        lambda: _fixed(
            range_max, _of_file(path) if path else unigrams, distortion, num_reserved_ids, num_shards, shard
        ),
    )
    if unique and num_sampled > sampler.possible:
        raise InvalidArgumentError.of(
            "Sampler's range is too small.", facts={"classes with a weight": str(sampler.possible)}
        )
    generator = generator_of(ctx, seed, seed2)
    return drawn(sampler, true_classes, num_true, num_sampled, unique, range_max, generator)


class _Learned:
    """A distribution learned by counting.

    Args:
        range_max: number of classes.
    """

    def __init__(self, range_max: int) -> None:
        self._ends = np.arange(1, range_max + 1)
        """Cumulative sums of the weights."""
        self.lock = threading.Lock()

    def draw(self, words: Words) -> int:
        return int(np.searchsorted(self._ends, words.below_32(int(self._ends[-1])), side="right"))

    def shares(self, classes: Array) -> Array:
        weights = np.diff(self._ends, prepend=0)
        return weights[classes].astype(np.float32) / np.float32(self._ends[-1])

    def count(self, classes: Array) -> None:
        """Add 1 to the weight of each class, as long as the sum is an int32."""
        flat = classes.reshape(-1)[: max(0, np.iinfo(np.int32).max - int(self._ends[-1]))]
        self._ends = self._ends + np.bincount(flat, minlength=len(self._ends)).cumsum()


@compute("LearnedUnigramCandidateSampler", fresh=True, own_state=True)
def _by_seen(
    xp: ArrayModule,
    true_classes: Array,
    *,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int,
    seed2: int,
    ctx: KernelContext,
) -> tuple[Array, ...]:
    wrong = true_classes[(true_classes < 0) | (true_classes >= range_max)]
    if wrong.size:
        raise InvalidArgumentError.of(
            f"true_classes has {int(wrong[0])}, which is not in [0, {range_max})",
            hint="range_max is the number of classes",
        )
    sampler = ctx.session.kernel_state(f"{ctx.op.name}/weights", lambda: _Learned(range_max))
    generator = generator_of(ctx, seed, seed2)
    with sampler.lock:
        outputs = drawn(sampler, true_classes, num_true, num_sampled, unique, range_max, generator)
        sampler.count(true_classes)
    return outputs
