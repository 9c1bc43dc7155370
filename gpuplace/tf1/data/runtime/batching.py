"""Stages that batch elements along a new first axis.

Source: tensorflow/core/kernels/data/batch_dataset_op.cc, padded_batch_dataset_op.cc and
experimental/map_and_batch_dataset_op.cc, release 1.15 (messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import DataLossError, OpError
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.shapes import brackets
from gpuplace.tf1.data.runtime.mapping import Map
from gpuplace.tf1.data.runtime.shuffling import with_repetitions
from gpuplace.tf1.data.runtime.stages import (
    END,
    Call,
    Element,
    GetNext,
    Passthrough,
    Run,
    Slices,
    Stage,
    as_row_indices,
    invalid,
)
from gpuplace.typing import Array, ArrayModule


def stacked(elements: Sequence[Element], is_fused: bool = False) -> tuple[Any, ...]:
    """Return a batch.

    Args:
        elements: the elements.
        is_fused: whether a map computed them in the same operation.

    Raises:
        InvalidArgumentError: the shapes of the elements differ.
    """
    components = enumerate(zip(*elements, strict=True))
    return tuple([_stacked(number, values, is_fused) for number, values in components])


def _stacked(number: int, values: Sequence[Any], is_fused: bool) -> Any:
    first = values[0]
    if isinstance(first, Stage):
        datasets = np.empty(len(values), object)
        datasets[:] = values
        return datasets
    shape = first.shape
    batch = np.empty((len(values), *shape), first.dtype)
    if shape:
        for at, value in enumerate(values):
            if value.shape != shape:
                raise _different(number, shape, at, value.shape, is_fused)
            batch[at] = value
        return batch
    try:
        batch[:] = (
            [value.item() for value in values] if first.dtype != object else [value[()] for value in values]
        )
    except (TypeError, ValueError):
        for at, value in enumerate(values):
            if value.shape:
                raise _different(number, shape, at, value.shape, is_fused) from None
        raise
    return batch


def _different(number: int, first: Any, at: int, shape: Any, is_fused: bool) -> Exception:
    if is_fused:
        return invalid(
            "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]:"
            f" {brackets(shape)}, [batch]: {brackets(first)}"
        )
    return invalid(
        f"Cannot batch tensors with different shapes in component {number}. First element had shape"
        f" {brackets(first)} and element {at} had shape {brackets(shape)}."
    )


class Batch(Stage):
    """Batches of elements.

    Args:
        stage: the input stage.
        size: number of elements in a batch.
        drops: whether to drop a last batch with fewer elements.
        is_fused: whether it is one operation with the map before it; this changes error messages.
    """

    def __init__(self, stage: Stage, size: int, drops: bool, is_fused: bool = False) -> None:
        super().__init__(stage)
        if size < 1:
            raise invalid("Batch size must be greater than zero.")
        self.size, self.drops, self.is_fused = size, drops, is_fused

    def begin(self, run: Run) -> GetNext:
        (stage,) = self.inputs
        together: Callable[[Any], tuple[Any, ...]] = self.together
        if (rows := self.rows()) is not None:
            source, stage = rows
            together = source.taken
        get_next = stage.begin(run)
        size, is_fused, check = self.size, self.is_fused, run.check
        has_ended = False

        def take() -> Any:
            nonlocal has_ended
            elements: list[Any] = []
            failure: OpError | None = None
            while not has_ended and len(elements) < size:
                try:
                    element = get_next()
                except OpError as error:
                    if not is_fused:
                        raise
                    check()
                    failure = failure or error  # the other elements of the batch are computed all the same
                    element = ()
                if element is END:
                    has_ended = True
                else:
                    elements.append(element)
            if failure is not None:
                raise failure
            if not elements or (self.drops and len(elements) < size):
                return END
            return together(elements)

        return take

    def rows(self) -> tuple[Slices, Stage] | None:
        """Return the result of ``as_row_indices`` if it is useful."""
        return as_row_indices(self.inputs[0])

    def together(self, elements: Sequence[Element]) -> tuple[Any, ...]:
        """Return the batch of these elements."""
        return stacked(elements, self.is_fused)

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        if count < 0:
            return count
        return count // self.size if self.drops else -(-count // self.size)


class PaddedBatch(Batch):
    """Batches of elements padded to a common shape.

    Args:
        stage: the input stage.
        size: number of elements in a batch.
        drops: whether to drop a last batch with fewer elements.
        shapes: the shape of each component; -1: the size of the longest.
        values: padding value of each component.
    """

    def __init__(
        self, stage: Stage, size: int, drops: bool, shapes: Sequence[Any], values: Sequence[Any]
    ) -> None:
        super().__init__(stage, size, drops)
        for value in values:
            if value.ndim:
                raise invalid("All padding values must be scalars")
        self.shapes, self.values = [tuple(shape.tolist()) for shape in shapes], values

    def rows(self) -> None:
        return None

    def together(self, elements: Sequence[Element]) -> tuple[Any, ...]:
        components = zip(*elements, strict=True)
        return tuple(self._padded(number, values) for number, values in enumerate(components))

    def _padded(self, number: int, values: Sequence[Any]) -> Any:
        shape = self.shapes[number]
        for value in values:
            if value.ndim != len(shape):
                raise invalid(
                    "All elements in a batch must have the same rank as the padded shape for component"
                    f"{number}: expected rank {len(shape)} got element with rank {value.ndim}"
                )
        sizes = []
        for axis, size in enumerate(shape):
            longest = max(value.shape[axis] for value in values)
            if size != -1 and size < longest:
                raise DataLossError.of("Attempted to pad to a smaller size than the input element.")
            sizes.append(longest if size == -1 else size)
        batch = np.empty((len(values), *sizes), values[0].dtype)
        batch[...] = self.values[number][()]
        for at, value in enumerate(values):
            place: Any = (at, *map(slice, value.shape))
            batch[place] = value if value.ndim else value[()]
        return batch


def _fused(stage: Stage) -> Stage:
    """Fuse a batch with the map that is its input."""
    if type(stage) is Batch and isinstance(stage.inputs[0], Map):
        return Batch(stage.inputs[0], stage.size, stage.drops, True)
    return stage


@compute("OptimizeDataset")
def _optimize(xp: ArrayModule, input_dataset: Stage, optimizations: Array) -> Any:
    """Apply the two optimizations that have an effect: one changes an order, one an error message."""
    names = optimizations.tolist()
    stage = input_dataset
    if b"shuffle_and_repeat_fusion" in names:
        stage = stage.rewritten(with_repetitions)
    if b"map_and_batch_fusion" in names:
        stage = stage.rewritten(_fused)
    return Passthrough(stage)


@compute("BatchDataset")
def _batch(xp: ArrayModule, input_dataset: Any, batch_size: Any) -> Any:
    return Batch(input_dataset, int(batch_size), False)


@compute("BatchDatasetV2")
def _batch_v2(xp: ArrayModule, input_dataset: Any, batch_size: Any, drop_remainder: Any) -> Any:
    return Batch(input_dataset, int(batch_size), bool(drop_remainder))


@compute("PaddedBatchDataset")
def _padded(
    xp: ArrayModule, input_dataset: Any, batch_size: Any, padded_shapes: list[Any], padding_values: list[Any]
) -> Any:
    return PaddedBatch(input_dataset, int(batch_size), False, padded_shapes, padding_values)


@compute("PaddedBatchDatasetV2")
def _padded_v2(
    xp: ArrayModule,
    input_dataset: Any,
    batch_size: Any,
    padded_shapes: list[Any],
    padding_values: list[Any],
    drop_remainder: Any,
) -> Any:
    return PaddedBatch(input_dataset, int(batch_size), bool(drop_remainder), padded_shapes, padding_values)


@compute("MapAndBatchDataset", "ExperimentalMapAndBatchDataset")
def _map_and_batch(
    xp: ArrayModule,
    input_dataset: Any,
    other_arguments: list[Any],
    batch_size: Any,
    num_parallel_calls: Array,
    drop_remainder: Any,
    *,
    f: Any,
    preserve_cardinality: bool,
    ctx: KernelContext,
) -> Any:
    if int(num_parallel_calls) < 1 and int(num_parallel_calls) != -1:
        raise invalid("num_parallel_calls must be greater than zero.")
    if int(batch_size) < 1:
        raise invalid("batch_size must be greater than zero.")
    mapped = Map(input_dataset, Call.of(ctx, f, other_arguments), preserve_cardinality)
    return Batch(mapped, int(batch_size), bool(drop_remainder), True)
