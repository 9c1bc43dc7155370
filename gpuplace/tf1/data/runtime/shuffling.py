"""Random orders by TensorFlow's generator: the same seeds give the same order.

The next element is drawn from a buffer, which is filled first. If a shuffle and its repetitions are one stage, the
buffer may hold elements of several epochs, in slices; elements are drawn from the first slice::

    buffer       c a b | A C .          draw from c a b; then the first element moves to the place of the drawn one
                 epoch 1  epoch 2

Source: tensorflow/core/kernels/data/shuffle_dataset_op.cc and experimental/random_dataset_op.cc, and
core/grappler/optimizers/data/shuffle_and_repeat_fusion.cc, release 1.15; orders compared with TensorFlow's.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuplace.kernels.compute import compute
from gpuplace.ops.random.philox import Philox
from gpuplace.tf1.data.runtime.stages import (
    END,
    INFINITE,
    GetNext,
    Repeat,
    Run,
    Stage,
    int64_element,
    invalid,
)
from gpuplace.typing import ArrayModule

_FEWEST_BLOCKS, _MOST_BLOCKS = 16, 1024
_MOST_EPOCHS = 3
"""Maximum number of further epochs with elements in the buffer."""

Seeds = tuple[int, int]


def random_words(seeds: Seeds) -> Iterator[int]:
    """Yield 32-bit random words without end."""
    stream, blocks = Philox(*seeds).reserve(0), _FEWEST_BLOCKS
    while True:
        yield from stream.words(np, blocks).ravel().tolist()
        stream = stream.skip(blocks)
        blocks = min(2 * blocks, _MOST_BLOCKS)


def seeds_or_random(seed: Any, seed2: Any) -> Seeds:
    """Return two seeds; random ones if both are 0."""
    first, second = int(seed), int(seed2)
    if first == 0 and second == 0:
        return int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little")
    return first, second


class Shuffle(Stage):
    """Elements in random order.

    Args:
        stage: the input stage.
        size: size of the buffer in elements.
        seeds: seeds of the order or, if every iteration has a new order, of the iterations' seeds.
        again: whether every iteration has a new order.
        count: number of fused repetitions; -1: unlimited.
    """

    only_selects = True

    def __init__(self, stage: Stage, size: int, seeds: Seeds, again: bool, count: int = 1) -> None:
        super().__init__(stage)
        if size < 1:
            raise invalid("buffer_size must be greater than zero.")
        self.size, self.seeds, self.again, self.count = size, seeds, again, count
        self._words = random_words(seeds)
        self._lock = threading.Lock()

    def repeated(self, count: int) -> Shuffle:
        """Return this shuffle with fused repetitions, whose orders come from one generator."""
        return Shuffle(self.inputs[0], self.size, self.seeds, False, count)

    def begin(self, run: Run) -> GetNext:
        seeds = self.seeds
        if self.again:
            with self._lock:
                seeds = next(self._words), next(self._words)
        words = random_words(seeds)
        (stage,) = self.inputs
        if self.count == 1:
            return _shuffled(lambda: stage.begin(run), self.size, words)
        return _shuffled_epochs(lambda: stage.begin(run), self.size, words, self.count)

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        if self.count < 0:
            return 0 if count == 0 else INFINITE
        return count if count < 0 else count * self.count


def _shuffled(begin: Callable[[], GetNext], size: int, words: Iterator[int]) -> GetNext:
    """Return the elements of one epoch. The buffer's first element is at ``start``, modulo its size."""
    buffer: list[Any] = []
    get_next: GetNext | None = begin()
    start = 0

    def take() -> Any:
        nonlocal get_next, start
        while get_next is not None:
            element = get_next()
            if element is END:
                get_next = None
                if len(buffer) == size:  # the place of the last drawn element is free
                    buffer[:] = [*buffer[start:], *buffer[:start]][:-1]
                    start = 0
                break
            if len(buffer) < size:
                buffer.append(element)
                if len(buffer) < size:
                    continue
            else:
                buffer[(start - 1) % size] = element
            at = (start + next(words) % size) % size
            chosen = buffer[at]
            buffer[at] = buffer[start]
            start = (start + 1) % size
            return chosen
        count = len(buffer) - start
        if count <= 0:
            return END
        at = start + next(words) % count
        chosen = buffer[at]
        buffer[at] = buffer[start]
        buffer[start] = None
        start += 1
        return chosen

    return take


def _shuffled_epochs(begin: Callable[[], GetNext], size: int, words: Iterator[int], count: int) -> GetNext:
    buffer: list[Any] = []
    slices = deque([[0, 0]])
    get_next: GetNext | None = begin()
    held = epoch = 0
    is_first = True

    def fill() -> bool:
        """Fill the buffer, and return whether there are no elements at all."""
        nonlocal get_next, held, epoch, is_first
        while get_next is not None and held < size:
            element: Any = END
            while count < 0 or epoch < count:
                element = get_next()
                if element is not END:
                    is_first = False
                    break
                if is_first and count < 0:
                    return True
                epoch += 1
                end = slices[-1][1]
                slices.append([end, end])
                get_next = begin()
            if element is END:
                get_next = None
                break
            place = slices[-1][1] % size
            while place >= len(buffer):
                buffer.append(None)
            buffer[place] = element
            slices[-1][1] += 1
            held += 1
            if len(slices) > _MOST_EPOCHS:
                break
        return False

    def take() -> Any:
        nonlocal held
        if fill() or not held:
            return END
        while slices[0][0] == slices[0][1]:
            slices.popleft()
        first = slices[0]
        at = (first[0] + next(words) % (first[1] - first[0])) % size
        place = first[0] % size
        chosen, buffer[at] = buffer[at], buffer[place]
        buffer[place] = None
        first[0] += 1
        held -= 1
        return chosen

    return take


class Random(Stage):
    """Infinite random numbers, int64 below 2**32.

    Args:
        seeds: the seeds.
    """

    def __init__(self, seeds: Seeds) -> None:
        super().__init__()
        self.seeds = seeds

    def begin(self, run: Run) -> GetNext:
        return run.elements(map(int64_element, random_words(self.seeds)))

    def cardinality(self) -> int:
        return INFINITE


@compute("ShuffleDataset")
def _shuffle(
    xp: ArrayModule,
    input_dataset: Any,
    buffer_size: Any,
    seed: Any,
    seed2: Any,
    *,
    reshuffle_each_iteration: bool,
) -> Any:
    return Shuffle(input_dataset, int(buffer_size), seeds_or_random(seed, seed2), reshuffle_each_iteration)


@compute("ShuffleAndRepeatDataset")
def _shuffle_and_repeat(
    xp: ArrayModule, input_dataset: Any, buffer_size: Any, seed: Any, seed2: Any, count: Any
) -> Any:
    if int(count) < -1 or int(count) == 0:
        raise invalid("count must be greater than zero or equal to -1.")
    return Shuffle(input_dataset, int(buffer_size), seeds_or_random(seed, seed2), False, int(count))


@compute("RandomDataset", "ExperimentalRandomDataset")
def _random(xp: ArrayModule, seed: Any, seed2: Any) -> Any:
    return Random(seeds_or_random(seed, seed2))


def with_repetitions(stage: Stage) -> Stage:
    """Fuse a repetition with the shuffle that is its input, if there is one."""
    if isinstance(stage, Repeat):
        (shuffle,) = stage.inputs
        if isinstance(shuffle, Shuffle) and shuffle.again and shuffle.count == 1 and stage.count != 0:
            return shuffle.repeated(max(stage.count, -1))
    return stage
