"""Running datasets: a stage knows its inputs and how to iterate over its elements.

The value of a dataset's ``variant`` tensor is a ``Stage``. To iterate, call its ``begin``: it returns a function that
returns an element, a tuple of values, at each call, and ``END`` after the last one. Calls may continue after one
fails::

    stage = Take(Range(0, 5, 1), 2)
    get_next = stage.begin(run)         get_next() -> (0,)    get_next() -> (1,)    get_next() -> END

A pipeline runs in the consumer's thread, except for prefetched elements (``prefetching``). The session runs the library
functions, with one plan for each.

Source: tensorflow/core/kernels/data/*_dataset_op.cc, release 1.15 (order of elements, messages).
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
"""The values of an element."""

GetNext = Callable[[], Any]
"""Returns the next element, or ``END``."""


class _End:
    """The type of ``END``."""

    def __repr__(self) -> str:
        return "END"


END = _End()
"""The end marker, returned after the last element."""


class Call(NamedTuple):
    """A library function with the values of its captured tensors."""

    graph: Any
    name: str
    captured: tuple[Any, ...]

    @classmethod
    def of(cls, ctx: KernelContext, ref: Any, captured: Sequence[Any]) -> Call:
        """Return the function that an attribute of the running operation names."""
        return cls(ctx.op.graph, ref.name, tuple(captured))


_ELEMENTS_PER_CHECK = 16


class Run:
    """One iteration over a pipeline: its functions, and the state of their kernels.

    Args:
        session: the session's resources.
        device: full name of the device for the functions.
    """

    def __init__(self, session: SessionResources, device: str) -> None:
        self.session = session
        self.device = device
        self._state: Any = CallResources(session)
        self._functions: dict[tuple[Any, str], Callable[[Sequence[Any]], list[Any]]] = {}
        self.check = functools.partial(_check, session.cancellation)
        """For long loops: raises CancelledError if the session was closed, DeadlineExceededError if the step has timed
        out. It holds no references, so that prefetching threads end with their iterator."""

    def function(self, call: Call) -> Callable[[Element], list[Any]]:
        """Return the function as a callable of an element."""
        key = call.graph, call.name
        entry = self._functions.get(key)
        if entry is None:
            runs = self.session.functions
            assert runs is not None
            entry = self._functions[key] = runs.callable_of(call.graph, call.name, self.device, self._state)
        if not call.captured:
            return entry
        return functools.partial(_with_captured, entry, call.captured)

    def elements(self, iterator: Iterator[Any]) -> GetNext:
        """Return the elements of a Python iterator, then ``END``.

        Every stage that iterates over many elements ultimately reads from such a source, so cancellation is checked
        here for all stages.
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
    """Raise an error if the session was closed or the step has timed out."""
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
        *inputs: the input stages.
    """

    only_selects = False
    """Whether its elements are unchanged elements of its only input."""

    def __init__(self, *inputs: Stage) -> None:
        self.inputs = inputs

    def begin(self, run: Run) -> GetNext:
        """Start to iterate over the elements."""
        raise NotImplementedError

    def cardinality(self) -> int:
        """Return the number of elements; -1: infinite, -2: unknown."""
        return UNKNOWN

    def rewritten(self, rewrite: Callable[[Stage], Stage]) -> Stage:
        """Return a copy of this stage with a function applied to it and to all stages that it depends on."""
        inputs = tuple(stage.rewritten(rewrite) for stage in self.inputs)
        if any(candidate is not other for candidate, other in zip(inputs, self.inputs, strict=True)):
            copy = type(self).__new__(type(self))
            copy.__dict__.update(self.__dict__)
            copy.inputs = inputs
            return rewrite(copy)
        return rewrite(self)


INFINITE, UNKNOWN = -1, -2
"""Values of ``cardinality``."""


def invalid(sentence: str) -> InvalidArgumentError:
    """Return an InvalidArgumentError about an argument of a dataset."""
    return InvalidArgumentError.of(sentence)


# Sources


class Tensors(Stage):
    """A dataset with one element.

    Args:
        values: its values.
    """

    def __init__(self, values: Element) -> None:
        super().__init__()
        self.values = tuple(values)

    def begin(self, run: Run) -> GetNext:
        return run.elements(iter((self.values,)))

    def cardinality(self) -> int:
        return 1


class Slices(Stage):
    """The rows of arrays.

    Args:
        arrays: ``[rows, ...]`` each.

    Raises:
        InvalidArgumentError: an array is a scalar, or the numbers of rows differ.
    """

    def __init__(self, arrays: Sequence[Any]) -> None:
        super().__init__()
        for array in arrays:
            if not array.ndim:
                raise invalid("All components must be at least 1-dimensional")
            if len(array) != len(arrays[0]):
                raise invalid("All components must have the same size in the 0th dimension")
        self.arrays = tuple(arrays)

    def begin(self, run: Run) -> GetNext:
        rows = [_rows(array) for array in self.arrays]
        return run.elements(zip(*rows, strict=True))

    def taken(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        """Return a batch of the rows with these indices."""
        return tuple([array.take(numbers, axis=0) for array in self.arrays])

    def cardinality(self) -> int:
        return len(self.arrays[0])


class _RowIndices(Stage):
    """Row indices, each of which is an element.

    Args:
        count: the number of rows.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def begin(self, run: Run) -> GetNext:
        return run.elements(iter(range(self.count)))


def as_row_indices(stage: Stage) -> tuple[Slices, Stage] | None:
    """Return the arrays, and a stage of row indices, if the elements of a stage are rows of arrays.

    Indices are cheaper to pass along than single rows, so batches select all rows of a batch at once.
    """
    source = stage
    while source.only_selects:
        (source,) = source.inputs
    if not isinstance(source, Slices):
        return None
    numbers = _RowIndices(source.cardinality())
    return source, stage.rewritten(lambda candidate: numbers if candidate is source else candidate)


def _rows(array: Any) -> Any:
    """Return the rows of an array as arrays; for a vector of datasets the datasets."""
    if array.ndim > 1:
        return iter(array)
    if array.dtype == object and len(array) and isinstance(array[0], Stage):
        return iter(array)
    return map(array.__getitem__, zip(range(len(array)), itertools.repeat(...)))


def int64_element(number: int) -> Element:
    """Return an element with one int64 number."""
    return (np.array(number, np.int64),)


class Range(Stage):
    """A range of int64 numbers.

    Args:
        start: the first number.
        stop: the end, exclusive.
        step: the step between two numbers.
    """

    def __init__(self, start: int, stop: int, step: int) -> None:
        super().__init__()
        if not step:
            raise invalid("step must be a non-zero integer.")
        self.numbers = range(start, stop, step)

    def begin(self, run: Run) -> GetNext:
        return run.elements(map(int64_element, self.numbers))

    def cardinality(self) -> int:
        return len(self.numbers)


# Combinations of stages


class Zip(Stage):
    """Tuples with an element of each stage."""

    def begin(self, run: Run) -> GetNext:
        get_next = [stage.begin(run) for stage in self.inputs]
        if len(get_next) == 2:
            return _pairs(*get_next)

        def take() -> Any:
            values: list[Any] = []
            for function in get_next:
                element = function()
                if element is END:
                    return END
                values += element
            return values

        return take

    def cardinality(self) -> int:
        counts = [stage.cardinality() for stage in self.inputs]
        if UNKNOWN in counts:
            return UNKNOWN
        return min((count for count in counts if count >= 0), default=INFINITE)


def _pairs(first: GetNext, second: GetNext) -> GetNext:
    def take() -> Any:
        left = first()
        if left is END:
            return END
        right = second()
        return END if right is END else (*left, *right)

    return take


class Concatenate(Stage):
    """Elements of one stage, then elements of another."""

    def begin(self, run: Run) -> GetNext:
        left = iter(self.inputs)
        current = next(left).begin(run)

        def take() -> Any:
            nonlocal current
            element = current()
            while element is END:
                get_next = next(left, None)
                if get_next is None:
                    return END
                current = get_next.begin(run)
                element = current()
            return element

        return take

    def cardinality(self) -> int:
        counts = [stage.cardinality() for stage in self.inputs]
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)


class Repeat(Stage):
    """Repeated elements.

    Args:
        stage: the input stage.
        count: number of repetitions; negative: unlimited.
    """

    only_selects = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.count = count

    def begin(self, run: Run) -> GetNext:
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
                if element is END and left < 0:  # an empty stage, repeated without end
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
        stage: the input stage.
        count: maximum number of elements; negative: all.
    """

    only_selects = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.count = count

    def begin(self, run: Run) -> GetNext:
        if self.count == 0:
            return run.elements(iter(()))
        get_next = self.inputs[0].begin(run)
        left = self.count
        if left < 0:
            return get_next

        def take() -> Any:
            nonlocal left
            if left == 0:
                return END
            element = get_next()
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
        stage: the input stage.
        count: number of elements to skip; negative: all.
    """

    only_selects = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.count = count

    def begin(self, run: Run) -> GetNext:
        if self.count < 0:
            return run.elements(iter(()))
        get_next, check = self.inputs[0].begin(run), run.check
        left = self.count

        def take() -> Any:
            nonlocal left
            while left:
                check()
                if get_next() is END:
                    left = 0
                    return END
                left -= 1
            return get_next()

        return take

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        if count < 0:
            return count
        return 0 if self.count < 0 else max(0, count - self.count)


class Shard(Stage):
    """Every ``shards``-th element.

    Args:
        stage: the input stage.
        shards: the number of shards.
        index: index of the shard.
    """

    only_selects = True

    def __init__(self, stage: Stage, shards: int, index: int) -> None:
        super().__init__(stage)
        if shards < 1:
            raise invalid(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
        if not 0 <= index < shards:
            raise invalid(f"Index must be between 0 and {shards - 1} (currently index = {index}).")
        self.shards, self.index = shards, index

    def begin(self, run: Run) -> GetNext:
        get_next = self.inputs[0].begin(run)
        numbers = itertools.count()

        def take() -> Any:
            while (element := get_next()) is not END:
                if next(numbers) % self.shards == self.index:
                    return element
            return END

        return take

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        return count if count < 0 else (count - self.index + self.shards - 1) // self.shards


class Passthrough(Stage):
    """The elements of another stage, unchanged: the dataset only concerns how they are computed."""

    only_selects = True

    def begin(self, run: Run) -> GetNext:
        return self.inputs[0].begin(run)

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


class Cached(Stage):
    """The same elements, computed once and cached in memory."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.kept: list[list[Element]] = []
        """The elements, after a complete pass."""

    def begin(self, run: Run) -> GetNext:
        if self.kept:
            return run.elements(iter(self.kept[0]))
        get_next = self.inputs[0].begin(run)
        elements: list[Element] = []

        def take() -> Any:
            element = get_next()
            if element is not END:
                elements.append(element)
            elif not self.kept:
                self.kept.append(elements)
            return element

        return take

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


class Window(Stage):
    """Datasets of consecutive elements.

    Args:
        stage: the input stage.
        size: number of elements in a window.
        shift: distance in elements between the starts of two windows.
        stride: distance in elements between two elements of a window.
        drops: whether to drop windows with fewer elements.
    """

    def __init__(self, stage: Stage, size: int, shift: int, stride: int, drops: bool) -> None:
        super().__init__(stage)
        for what, number in (("size", size), ("shift", shift), ("stride", stride)):
            if number < 1:
                raise invalid(f"Window {what} must be greater than zero.")
        self.size, self.shift, self.stride, self.drops = size, shift, stride, drops

    def begin(self, run: Run) -> GetNext:
        get_next = self.inputs[0].begin(run)
        span = (self.size - 1) * self.stride + 1
        ahead: list[Element] = []
        has_ended = False
        left_out = 0

        def take() -> Any:
            nonlocal has_ended, left_out
            while not has_ended and (left_out or len(ahead) < span):
                element = get_next()
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
            return tuple(Items(tuple((value,) for value in values)) for values in zip(*chosen, strict=True))

        return take


class Items(Stage):
    """Elements of a list.

    Args:
        elements: the elements.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        super().__init__()
        self.elements = elements

    def begin(self, run: Run) -> GetNext:
        return run.elements(iter(self.elements))

    def cardinality(self) -> int:
        return len(self.elements)


class Unbatch(Stage):
    """The rows of elements."""

    def begin(self, run: Run) -> GetNext:
        get_next = self.inputs[0].begin(run)
        rows: GetNext = run.elements(iter(()))

        def take() -> Any:
            nonlocal rows
            while (row := rows()) is END:
                element = get_next()
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
    """Elements without duplicates; the first occurrence stays."""

    def begin(self, run: Run) -> GetNext:
        get_next = self.inputs[0].begin(run)
        seen: set[Any] = set()

        def take() -> Any:
            while (element := get_next()) is not END:
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
    """Elements of several stages, in the order of the indices in the first stage."""

    def begin(self, run: Run) -> GetNext:
        selector, *stages = [stage.begin(run) for stage in self.inputs]
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
    return Passthrough(input_dataset)


@compute(
    "MaxIntraOpParallelismDataset",
    "PrivateThreadPoolDataset",
    "ExperimentalMaxIntraOpParallelismDataset",
    "ExperimentalPrivateThreadPoolDataset",
)
def _with_threads(xp: ArrayModule, input_dataset: Any, threads: Array) -> Any:
    return Passthrough(input_dataset)
