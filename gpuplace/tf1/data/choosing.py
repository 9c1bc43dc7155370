"""Datasets that take their elements from several others, or from one, by chance.

Source: tensorflow/python/data/experimental/ops/interleave_ops.py and resampling.py, release 1.15 (operations, names,
sentences).
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
from gpuplace.tf1.data.experimental import RandomDataset, Transformation, directed, in_turn, scan
from gpuplace.typing import TensorLike

__all__ = ["rejection_resample", "sample_from_datasets"]


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: TensorLike | Dataset | None = None, seed: int | None = None
) -> Dataset:
    """Elements of several datasets, the next one of a dataset that is chosen by chance.

    Args:
        datasets: datasets of elements of the same types.
        weights: how probable each is, a vector; a dataset of such vectors; None: all are equally probable.
        seed: the op's seed, an integer. None: see ``set_random_seed``.

    Returns:
        A dataset. One that has ended is chosen no more.

    Raises:
        TypeError: the weights are of another type, or the datasets differ.
        ValueError: there are more or fewer weights than datasets.
    """
    if isinstance(weights, Dataset):

        def logits_of(*values: Any) -> Tensor:
            return log(convert_to_tensor(list(values)), name="logits")

        pairs = Dataset.zip((weights.map(logits_of), RandomDataset(seed).batch(2)))
        return directed(in_turn(pairs, _chosen), datasets)
    if weights is None:
        logits: Any = [[1.0] * len(datasets)]
    else:
        given = convert_to_tensor(weights, name="weights")
        if given.dtype not in (float32, float64):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements."
            )
        if not given.shape.is_compatible_with([len(datasets)]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        logits = reshaping.expand_dims(log(given, name="logits"), 0)
    if len(datasets) == 1:
        return datasets[0]
    seeds = RandomDataset(seed).batch(2)
    return directed(in_turn(seeds, lambda pair: _chosen(logits, pair)), datasets)


def _chosen(logits: TensorLike, seed: Tensor) -> Tensor:
    """The number of a dataset, for the logarithms of the probabilities and two seeds."""
    drawn = new("StatelessMultinomial", logits=logits, num_samples=1, seed=seed)
    return reshaping.squeeze(drawn, axis=[0, 1])


_BATCH = 32
"""Elements from which the distribution is estimated anew."""
_SMOOTHING = 10
"""Elements of each class that are thought to have come before."""


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: int | None = None,
) -> Transformation:
    """Leaves out elements by chance, so that the classes of those that stay are distributed as asked for.

    Args:
        class_func: takes an element and gives its class, an int32 scalar from 0.
        target_dist: the shares of the classes that are asked for, a vector.
        initial_dist: their shares among the elements; None: they are estimated on the way.
        seed: the op's seed, an integer. None: see ``set_random_seed``.

    Returns:
        A function for ``Dataset.apply``; the elements are pairs of a class and an element.
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
                Dataset.from_tensors(one).repeat() for one in (initial, acceptance, original)
            )
            known = constant_value(initial), constant_value(target)
            if known[0] is not None and known[1] is not None:
                share_kept = float(np.min(known[1] / known[0]))
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
    """How probable it is that an element of each class stays, and the share that is taken without leaving any out.

    With r the ratio of target and initial shares and m the least of them, a share m of the elements can be taken as
    they come; of the others, elements of a class stay with the probability (r - m) / (max r - m).
    """
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    most, least = reduce_max(ratio), reduce_min(ratio)
    return (ratio - least) / (most - least), least


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
    kept = together.filter(lambda _, probability, __: random_uniform([], seed=seed) < probability)
    return kept.map(lambda kind, _, data: (kind, data))


def _estimated(target: Tensor, classes: Dataset) -> Dataset:
    """For each element the shares of the classes so far, as they are known after every batch."""
    count = target.shape[0].value or reshaping.shape(target)[0]

    def update(seen: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        now = seen + reduce_sum(one_hot(batch, seen.shape[0].value, dtype=int64), 0)
        shares = cast(truediv(now, reduce_sum(now)), float32)
        return now, tile(reshaping.expand_dims(shares, 0), [_BATCH, 1])

    first = fill([count], np.int64(_SMOOTHING))
    return classes.batch(_BATCH).apply(scan(first, update)).unbatch()
