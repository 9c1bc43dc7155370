"""Datasets while they run: a stage knows what it takes from and how to go over its elements.

The value of a ``variant`` tensor is a ``Stage``. Going over it means to call a function that returns an element, a
tuple of values, at each call, and ``END`` after the last one; a call that fails may be followed by another::

    stage = Take(Range(0, 5, 1), 2)
    following = stage.begin(run)         following() -> (0,)    following() -> (1,)    following() -> END

A pipeline runs in the thread that asks, but for what is made ahead (``prefetching``). Functions of the graph's library
are run by the session, by one plan each.

Source: tensorflow/core/kernels/data/*_dataset_op.cc, release 1.15 (order of elements, sentences).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuplace.errors import CancelledError, InvalidArgumentError
from gpuplace.kernels.cancellation import Cancellation, check_deadline, step_limits
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import CallResources, SessionResources
from gpuplace.typing import Array, ArrayModule

Element = Sequence[Any]
"""The values that an element consists of."""

Following = Callable[[], Any]
"""Returns the next element, or ``END``."""


class _End:
    """The type of ``END``."""

    def __repr__(self) -> str:
        return "END"


END = _End()
"""What follows the last element."""


class Call(NamedTuple):
    """A function of a graph's library, with the values of what it uses besides its arguments."""

    graph: Any
    name: str
    captured: tuple[Any, ...]

    @classmethod
    def of(cls, ctx: KernelContext, ref: Any, captured: Sequence[Any]) -> Call:
        """The function that an attribute of the running operation names."""
        return cls(ctx.op.graph, ref.name, tuple(captured))


_ELEMENTS_PER_CHECK = 16


class Run:
    """One iterator's way through a pipeline: its functions, and what their kernels keep.

    Args:
        session: the session's resources.
        device: full name of the device that functions run on.
    """

    def __init__(self, session: SessionResources, device: str) -> None:
        self.session = session
        self.device = device
        self._state: Any = CallResources(session)
        self._functions: dict[tuple[Any, str], Callable[[Sequence[Any]], list[Any]]] = {}
        self.check = functools.partial(_check, session.cancellation)
        """Called where no element may come for long: CancelledError if the session was closed, DeadlineExceededError if
        the time of the step is up. It keeps nothing alive, so that threads that make elements ahead end with their
        iterator."""

    def function(self, call: Call) -> Callable[[Element], list[Any]]:
        """The function, ready to be called with an element."""
        key = call.graph, call.name
        found = self._functions.get(key)
        if found is None:
            runs = self.session.functions
            assert runs is not None
            found = self._functions[key] = runs.callable_of(call.graph, call.name, self.device, self._state)
        if not call.captured:
            return found
        return functools.partial(_with_captured, found, call.captured)

    def elements(self, iterator: Iterator[Any]) -> Following:
        """The elements of a Python iterator, then ``END``.

        Every stage that goes over many elements at once takes them from such a source in the end, so this is where
        all of them notice that their time is up.
        """
        check, left = self.check, 0

        def take() -> Any:
            nonlocal left
            if not left:
                check()
                left = _ELEMENTS_PER_CHECK
            left -= 1
            return next(iterator, END)

        return take


def _check(session: Cancellation) -> None:
    """What ``Run.check`` calls."""
    if session.is_cancelled:
        raise CancelledError.of("Iterator was cancelled")
    check_deadline(step_limits())


def _with_captured(
    function: Callable[[Sequence[Any]], list[Any]], captured: Any, element: Element
) -> list[Any]:
    return function((*element, *captured))


class Stage:
    """A dataset.

    Args:
        *inputs: the stages that it takes from.
    """

    only_chooses = False
    """Whether it gives elements of the one stage that it takes from, just as they are."""

    def __init__(self, *inputs: Stage) -> None:
        self.inputs = inputs

    def begin(self, run: Run) -> Following:
        """Starts to go over the elements."""
        raise NotImplementedError

    def cardinality(self) -> int:
        """How many elements there are; -1: infinitely many, -2: not known."""
        return UNKNOWN

    def rewritten(self, rewrite: Callable[[Stage], Stage]) -> Stage:
        """The same stage, with each stage further up replaced by what a function makes of it, and it as well."""
        inputs = tuple(one.rewritten(rewrite) for one in self.inputs)
        if any(one is not other for one, other in zip(inputs, self.inputs, strict=True)):
            made = type(self).__new__(type(self))
            made.__dict__.update(self.__dict__)
            made.inputs = inputs
            return rewrite(made)
        return rewrite(self)


INFINITE, UNKNOWN = -1, -2
"""Cardinalities."""


def invalid(sentence: str) -> InvalidArgumentError:
    """The error about an argument of a dataset."""
    return InvalidArgumentError.of(sentence)


# Sources


class Tensors(Stage):
    """One element.

    Args:
        values: its values.
    """

    def __init__(self, values: Element) -> None:
        super().__init__()
        self.values = tuple(values)

    def begin(self, run: Run) -> Following:
        return run.elements(iter((self.values,)))

    def cardinality(self) -> int:
        return 1


class Slices(Stage):
    """The rows of arrays.

    Args:
        arrays: ``[rows, ...]`` each.

    Raises:
        InvalidArgumentError: a scalar, or different numbers of rows.
    """

    def __init__(self, arrays: Sequence[Any]) -> None:
        super().__init__()
        for array in arrays:
            if not array.ndim:
                raise invalid("All components must be at least 1-dimensional")
            if len(array) != len(arrays[0]):
                raise invalid("All components must have the same size in the 0th dimension")
        self.arrays = tuple(arrays)

    def begin(self, run: Run) -> Following:
        rows = [_rows(array) for array in self.arrays]
        return run.elements(zip(*rows, strict=True))

    def taken(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        """The rows of those numbers, put together."""
        return tuple([array.take(numbers, axis=0) for array in self.arrays])

    def cardinality(self) -> int:
        return len(self.arrays[0])


class _Numbers(Stage):
    """Numbers of rows, each an element as it is.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def begin(self, run: Run) -> Following:
        return run.elements(iter(range(self.count)))


def by_number(stage: Stage) -> tuple[Slices, Stage] | None:
    """Where the elements of a stage are rows of arrays: the arrays, and a stage that gives the numbers of the rows.

    What becomes of single rows costs more than what becomes of numbers, so who puts them together takes them by number.
    """
    source = stage
    while source.only_chooses:
        (source,) = source.inputs
    if not isinstance(source, Slices):
        return None
    numbers = _Numbers(source.cardinality())
    return source, stage.rewritten(lambda one: numbers if one is source else one)


def _rows(array: Any) -> Any:
    """The rows of an array, as arrays; of a vector of datasets the datasets."""
    if array.ndim > 1:
        return iter(array)
    if array.dtype == object and len(array) and isinstance(array[0], Stage):
        return iter(array)
    return map(array.__getitem__, zip(range(len(array)), itertools.repeat(...)))


def number_element(number: int) -> Element:
    """The element of one number, int64."""
    return (np.array(number, np.int64),)


class Range(Stage):
    """Numbers, int64.

    Args:
        start: the first.
        stop: where they end.
        step: from one to the next.
    """

    def __init__(self, start: int, stop: int, step: int) -> None:
        super().__init__()
        if not step:
            raise invalid("step must be a non-zero integer.")
        self.numbers = range(start, stop, step)

    def begin(self, run: Run) -> Following:
        return run.elements(map(number_element, self.numbers))

    def cardinality(self) -> int:
        return len(self.numbers)


# Several at a time, and one after the other


class Zip(Stage):
    """Elements taken together."""

    def begin(self, run: Run) -> Following:
        following = [one.begin(run) for one in self.inputs]
        if len(following) == 2:
            return _pairs(*following)

        def take() -> Any:
            values: list[Any] = []
            for one in following:
                element = one()
                if element is END:
                    return END
                values += element
            return values

        return take

    def cardinality(self) -> int:
        counts = [one.cardinality() for one in self.inputs]
        if UNKNOWN in counts:
            return UNKNOWN
        return min((count for count in counts if count >= 0), default=INFINITE)


def _pairs(first: Following, second: Following) -> Following:
    def take() -> Any:
        one = first()
        if one is END:
            return END
        other = second()
        return END if other is END else (*one, *other)

    return take


class Concatenate(Stage):
    """The elements of one stage, then those of another."""

    def begin(self, run: Run) -> Following:
        left = iter(self.inputs)
        current = next(left).begin(run)

        def take() -> Any:
            nonlocal current
            element = current()
            while element is END:
                following = next(left, None)
                if following is None:
                    return END
                current = following.begin(run)
                element = current()
            return element

        return take

    def cardinality(self) -> int:
        counts = [one.cardinality() for one in self.inputs]
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)


class Repeat(Stage):
    """The elements again and again.

    Args:
        stage: gives them.
        count: how often; less than 0: without end.
    """

    only_chooses = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.count = count

    def begin(self, run: Run) -> Following:
        (stage,) = self.inputs
        if self.count == 0:
            return run.elements(iter(()))
        current = stage.begin(run)
        left = self.count

        def take() -> Any:
            nonlocal current, left
            if left == 0:
                return END
            element = current()
            while element is END:
                left -= 1
                current = stage.begin(run)
                if left == 0:
                    return END
                element = current()
                if element is END and left < 0:  # nothing at all, for ever
                    return END
            return element

        return take

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        if self.count < 0:
            return 0 if count == 0 else INFINITE
        return count if count < 0 else count * self.count


class Take(Stage):
    """The first elements.

    Args:
        stage: gives them.
        count: most of them; less than 0: all.
    """

    only_chooses = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.count = count

    def begin(self, run: Run) -> Following:
        if self.count == 0:
            return run.elements(iter(()))
        following = self.inputs[0].begin(run)
        left = self.count
        if left < 0:
            return following

        def take() -> Any:
            nonlocal left
            if left == 0:
                return END
            element = following()
            left = 0 if element is END else left - 1
            return element

        return take

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        if count == UNKNOWN or self.count < 0:
            return count
        return self.count if count == INFINITE else min(self.count, count)


class Skip(Stage):
    """All but the first elements.

    Args:
        stage: gives them.
        count: how many are left out; less than 0: all.
    """

    only_chooses = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.count = count

    def begin(self, run: Run) -> Following:
        if self.count < 0:
            return run.elements(iter(()))
        following, check = self.inputs[0].begin(run), run.check
        left = self.count

        def take() -> Any:
            nonlocal left
            while left:
                check()
                if following() is END:
                    left = 0
                    return END
                left -= 1
            return following()

        return take

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        if count < 0:
            return count
        return 0 if self.count < 0 else max(0, count - self.count)


class Shard(Stage):
    """Every so many-th element.

    Args:
        stage: gives them.
        shards: into how many parts they are divided.
        index: which of them.
    """

    only_chooses = True

    def __init__(self, stage: Stage, shards: int, index: int) -> None:
        super().__init__(stage)
        if shards < 1:
            raise invalid(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
        if not 0 <= index < shards:
            raise invalid(f"Index must be between 0 and {shards - 1} (currently index = {index}).")
        self.shards, self.index = shards, index

    def begin(self, run: Run) -> Following:
        following = self.inputs[0].begin(run)
        numbers = itertools.count()

        def take() -> Any:
            while (element := following()) is not END:
                if next(numbers) % self.shards == self.index:
                    return element
            return END

        return take

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        return count if count < 0 else (count - self.index + self.shards - 1) // self.shards


class Unchanged(Stage):
    """The elements of another stage: what is only a note about how to run it."""

    only_chooses = True

    def begin(self, run: Run) -> Following:
        return self.inputs[0].begin(run)

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


class Cached(Stage):
    """The same elements, made once and kept in memory."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.kept: list[list[Element]] = []
        """The elements, once they are known to be all."""

    def begin(self, run: Run) -> Following:
        if self.kept:
            return run.elements(iter(self.kept[0]))
        following = self.inputs[0].begin(run)
        elements: list[Element] = []

        def take() -> Any:
            element = following()
            if element is not END:
                elements.append(element)
            elif not self.kept:
                self.kept.append(elements)
            return element

        return take

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


class Window(Stage):
    """Datasets of neighbouring elements.

    Args:
        stage: gives the elements.
        size: elements of a window.
        shift: elements from the beginning of one to that of the next.
        stride: elements from one of a window to the next.
        drops: whether windows with fewer elements are left out.
    """

    def __init__(self, stage: Stage, size: int, shift: int, stride: int, drops: bool) -> None:
        super().__init__(stage)
        for what, number in (("size", size), ("shift", shift), ("stride", stride)):
            if number < 1:
                raise invalid(f"Window {what} must be greater than zero.")
        self.size, self.shift, self.stride, self.drops = size, shift, stride, drops

    def begin(self, run: Run) -> Following:
        following = self.inputs[0].begin(run)
        span = (self.size - 1) * self.stride + 1
        ahead: list[Element] = []
        has_ended = False
        left_out = 0

        def take() -> Any:
            nonlocal has_ended, left_out
            while not has_ended and (left_out or len(ahead) < span):
                element = following()
                if element is END:
                    has_ended = True
                elif left_out:
                    left_out -= 1
                else:
                    ahead.append(element)
            if not ahead or (self.drops and len(ahead) < span):
                return END
            chosen = ahead[: span : self.stride]
            left_out = max(0, self.shift - len(ahead))
            del ahead[: self.shift]
            return tuple(Kept(tuple((value,) for value in values)) for values in zip(*chosen, strict=True))

        return take


class Kept(Stage):
    """Elements that are there already.

    Args:
        elements: the elements.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        super().__init__()
        self.elements = elements

    def begin(self, run: Run) -> Following:
        return run.elements(iter(self.elements))

    def cardinality(self) -> int:
        return len(self.elements)


class Unbatch(Stage):
    """The rows of elements."""

    def begin(self, run: Run) -> Following:
        following = self.inputs[0].begin(run)
        rows: Following = run.elements(iter(()))

        def take() -> Any:
            nonlocal rows
            while (row := rows()) is END:
                element = following()
                if element is END:
                    return END
                for number, value in enumerate(element):
                    if not value.ndim:
                        raise invalid("Input element must have a non-scalar value in each component.")
                    if len(value) != len(element[0]):
                        raise invalid(
                            "Input element must have the same batch size in each component. Component 0 had size"
                            f" {len(element[0])} but component {number} had size, {len(value)}."
                        )
                rows = Slices(element).begin(run)
            return row

        return take


class Unique(Stage):
    """Each element once, where it comes first."""

    def begin(self, run: Run) -> Following:
        following = self.inputs[0].begin(run)
        seen: set[Any] = set()

        def take() -> Any:
            while (element := following()) is not END:
                key = (
                    element[0].shape,
                    element[0].tobytes() if element[0].dtype != object else tuple(element[0].flat),
                )
                if key not in seen:
                    seen.add(key)
                    return element
            return END

        return take


class Directed(Stage):
    """Elements of several stages, as the numbers of the first stage say."""

    def begin(self, run: Run) -> Following:
        selector, *stages = [one.begin(run) for one in self.inputs]
        has_ended = [False] * len(stages)

        def take() -> Any:
            while (choice := selector()) is not END:
                number = int(choice[0])
                if not 0 <= number < len(stages):
                    raise invalid(f"Selector index out of range: {number} >= {len(stages)}")
                if has_ended[number]:
                    continue
                element = stages[number]()
                if element is not END:
                    return element
                has_ended[number] = True
                if all(has_ended):
                    return END
            return END

        return take


# Kernels


@compute("TensorDataset")
def _tensors(xp: Any, components: list[Any]) -> Any:
    return Tensors(components)


@compute("TensorSliceDataset")
def _slices(xp: ArrayModule, components: list[Any]) -> Any:
    return Slices(components)


@compute("RangeDataset")
def _range(xp: ArrayModule, start: Any, stop: Any, step: Any) -> Any:
    return Range(int(start), int(stop), int(step))


@compute("ZipDataset")
def _zip(xp: ArrayModule, input_datasets: list[Any]) -> Any:
    return Zip(*input_datasets)


@compute("ConcatenateDataset")
def _concatenate(xp: ArrayModule, input_dataset: Any, another_dataset: Any) -> Any:
    return Concatenate(input_dataset, another_dataset)


@compute("RepeatDataset")
def _repeat(xp: ArrayModule, input_dataset: Any, count: Any) -> Any:
    return Repeat(input_dataset, int(count))


@compute("TakeDataset")
def _take(xp: ArrayModule, input_dataset: Any, count: Any) -> Any:
    return Take(input_dataset, int(count))


@compute("SkipDataset")
def _skip(xp: ArrayModule, input_dataset: Any, count: Any) -> Any:
    return Skip(input_dataset, int(count))


@compute("ShardDataset")
def _shard(xp: ArrayModule, input_dataset: Any, num_shards: Any, index: Any) -> Any:
    return Shard(input_dataset, int(num_shards), int(index))


@compute("WindowDataset")
def _window(
    xp: ArrayModule, input_dataset: Any, size: Any, shift: Any, stride: Any, drop_remainder: Any
) -> Any:
    return Window(input_dataset, int(size), int(shift), int(stride), bool(drop_remainder))


@compute("UnbatchDataset", "ExperimentalUnbatchDataset")
def _unbatch(xp: ArrayModule, input_dataset: Any) -> Any:
    return Unbatch(input_dataset)


@compute("UniqueDataset", "ExperimentalUniqueDataset")
def _unique(xp: ArrayModule, input_dataset: Any) -> Any:
    return Unique(input_dataset)


@compute("DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset")
def _directed(xp: ArrayModule, selector_input_dataset: Any, data_input_datasets: list[Any]) -> Any:
    return Directed(selector_input_dataset, *data_input_datasets)


@compute("ModelDataset")
def _model(xp: ArrayModule, input_dataset: Any) -> Any:
    return Unchanged(input_dataset)


@compute(
    "MaxIntraOpParallelismDataset",
    "PrivateThreadPoolDataset",
    "ExperimentalMaxIntraOpParallelismDataset",
    "ExperimentalPrivateThreadPoolDataset",
)
def _with_threads(xp: ArrayModule, input_dataset: Any, threads: Array) -> Any:
    return Unchanged(input_dataset)
