"""Datasets that sample their elements at random, from several datasets or from one.

Source: tensorflow/python/data/experimental/ops/interleave_ops.py and resampling.py, release 1.15 (operations, names,
messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import float32, float64, int64
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.array.constant import fill, one_hot
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.padding import tile
from gpuplace.ops.flow.assert_and_print import Print
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import less
from gpuplace.ops.math.division import truediv
from gpuplace.ops.math.reduction import reduce_max, reduce_min, reduce_sum
from gpuplace.ops.math.unary import log
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.ops.support import new
from gpuplace.tf1.data.dataset import Dataset
from gpuplace.tf1.data.experimental import RandomDataset, Transformation, map_serial, scan, select_from
from gpuplace.typing import TensorLike

__all__ = ["rejection_resample", "sample_from_datasets"]


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: TensorLike | Dataset | None = None, seed: int | None = None
) -> Dataset:
    """Return elements of several datasets, each from a randomly chosen dataset.

    Args:
        datasets: datasets with elements of the same types.
        weights: the probability of each, a vector, or a dataset of such vectors; None: all are equally probable.
        seed: the op's seed, an integer. None: see ``set_random_seed``.

    Returns:
        A dataset. A dataset that has ended is not chosen again.

    Raises:
        TypeError: the weights have another dtype, or the datasets differ.
        ValueError: the numbers of weights and datasets differ.
    """
    if isinstance(weights, Dataset):

        def logits_of(*values: Any) -> Tensor:
            return log(convert_to_tensor(list(values)), name="logits")

        pairs = Dataset.zip((weights.map(logits_of), RandomDataset(seed).batch(2)))
        return select_from(map_serial(pairs, _chosen), datasets)
    if weights is None:
        logits: Any = [[1.0] * len(datasets)]
    else:
        probabilities = convert_to_tensor(weights, name="weights")
        if probabilities.dtype not in (float32, float64):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements."
            )
        if not probabilities.shape.is_compatible_with([len(datasets)]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        logits = reshaping.expand_dims(log(probabilities, name="logits"), 0)
    if len(datasets) == 1:
        return datasets[0]
    seeds = RandomDataset(seed).batch(2)
    return select_from(map_serial(seeds, lambda pair: _chosen(logits, pair)), datasets)


def _chosen(logits: TensorLike, seed: Tensor) -> Tensor:
    """Return the index of a dataset, from log probabilities and two seeds."""
    drawn = new("StatelessMultinomial", logits=logits, num_samples=1, seed=seed)
    return reshaping.squeeze(drawn, axis=[0, 1])


_BATCH = 32
"""Number of elements after which the distribution is estimated again."""
_SMOOTHING = 10
"""Assumed number of earlier elements of each class."""


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: int | None = None,
) -> Transformation:
    """Drop elements at random, so that the classes of the others have the requested distribution.

    Args:
        class_func: takes an element and returns its class, an int32 scalar from 0.
        target_dist: the requested share of each class, a vector.
        initial_dist: the share of each class among the elements; None: estimated while the dataset is read.
        seed: the op's seed, an integer. None: see ``set_random_seed``.

    Returns:
        A function for ``Dataset.apply``; its elements are pairs of a class and an element.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        share_kept: float | None = None
        if initial_dist is None:
            initials = _estimated(target, classes)
            both = initials.map(lambda initial: _acceptance(initial, target))
            acceptances = both.map(lambda accepted, _: accepted)
            originals = both.map(lambda _, original: original)
        else:
            initial = convert_to_tensor(initial_dist, name="initial_dist")
            acceptance, original = _acceptance(initial, target)
            initials, acceptances, originals = (
                Dataset.from_tensors(tensor).repeat() for tensor in (initial, acceptance, original)
            )
            static = constant_value(initial), constant_value(target)
            if static[0] is not None and static[1] is not None:
                share_kept = float(np.min(static[1] / static[0]))
        filtered = _filtered(dataset, acceptances, initials, classes, seed).prefetch(3)
        unfiltered = Dataset.zip((classes, dataset))
        if share_kept == 1:
            return unfiltered
        if share_kept == 0:
            return filtered
        shares = originals.map(lambda share: [(share, 1.0 - share)])
        return sample_from_datasets([unfiltered, filtered], weights=shares, seed=seed)

    return apply


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the acceptance probability of each class, and the share of elements that are accepted unconditionally.

    With r the ratio of target and initial shares and m its minimum, a share m of the elements can be accepted
    unconditionally; of the others, elements of a class are accepted with the probability (r - m) / (max r - m).
    """
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    highest, lowest = reduce_max(ratio), reduce_min(ratio)
    return (ratio - lowest) / (highest - lowest), lowest


def _filtered(
    dataset: Dataset, acceptances: Dataset, initials: Dataset, classes: Dataset, seed: int | None
) -> Dataset:
    def with_warning(acceptance: Tensor, initial: Tensor) -> Tensor:
        rejected = reduce_sum((1 - acceptance) * initial)
        return cond(
            less(rejected, 0.5),
            lambda: acceptance,
            lambda: Print(
                acceptance,
                [rejected, initial, acceptance],
                message="Proportion of examples rejected by sampler is high: ",
                summarize=100,
                first_n=10,
            ),
        )

    checked = Dataset.zip((acceptances, initials)).map(with_warning)
    together = Dataset.zip((classes, checked, dataset)).map(
        lambda kind, acceptance, data: (kind, gather(acceptance, kind), data)
    )
    accepted = together.filter(lambda _, probability, __: random_uniform([], seed=seed) < probability)
    return accepted.map(lambda kind, _, data: (kind, data))


def _estimated(target: Tensor, classes: Dataset) -> Dataset:
    """Return, for each element, the class shares estimated so far; they are updated after every batch."""
    count = target.shape[0].value or reshaping.shape(target)[0]

    def update(seen: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        now = seen + reduce_sum(one_hot(batch, seen.shape[0].value, dtype=int64), 0)
        shares = cast(truediv(now, reduce_sum(now)), float32)
        return now, tile(reshaping.expand_dims(shares, 0), [_BATCH, 1])

    first = fill([count], np.int64(_SMOOTHING))
    return classes.batch(_BATCH).apply(scan(first, update)).unbatch()
