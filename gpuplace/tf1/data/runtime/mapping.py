"""Stages that call functions of elements.

Source: tensorflow/core/kernels/data/map_dataset_op.cc, flat_map_dataset_op.cc, filter_dataset_op.cc,
interleave_dataset_op.cc, generator_dataset_op.cc and experimental/*_dataset_op.cc, release 1.15 (order, sentences).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import OpError, OutOfRangeError
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.numerics.threads import available_cores
from gpuplace.tf1.data.runtime.stages import (
    END,
    UNKNOWN,
    Call,
    Element,
    Following,
    Kept,
    Run,
    Stage,
    Unchanged,
    invalid,
)
from gpuplace.typing import Array, ArrayModule


def _that_may_end(function: Callable[[Element], Any], preserves: bool) -> Callable[[Element], Any]:
    """A function whose OutOfRangeError is the end of the elements, or an error of another kind.

    Args:
        function: the function.
        preserves: whether there are to be as many elements as are given, so that it is an error.
    """

    def call(element: Element) -> Any:
        try:
            return function(element)
        except OutOfRangeError as error:
            if preserves:
                raise invalid(f"Function invocation produced OutOfRangeError: {error.message}") from error
            return END

    return call


class Map(Stage):
    """What a function makes of each element.

    Args:
        stage: gives the elements.
        call: the function.
        preserves: whether an OutOfRangeError of the function is an error; else it is the end.
    """

    def __init__(self, stage: Stage, call: Call, preserves: bool = False) -> None:
        super().__init__(stage)
        self.call, self.preserves = call, preserves

    def begin(self, run: Run) -> Following:
        following, check = self.inputs[0].begin(run), run.check
        function = _that_may_end(run.function(self.call), self.preserves)

        def take() -> Any:
            check()
            element = following()
            return END if element is END else function(element)

        return take

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


class Filter(Stage):
    """The elements for which a function is true, or only those before the first one for which it is not.

    Args:
        stage: gives the elements.
        call: the function.
        stops: whether the first for which it is not true ends it.
    """

    def __init__(self, stage: Stage, call: Call, stops: bool = False) -> None:
        super().__init__(stage)
        self.call, self.stops = call, stops

    def begin(self, run: Run) -> Following:
        following, function = self.inputs[0].begin(run), run.function(self.call)
        check = run.check
        has_ended = False

        def take() -> Any:
            nonlocal has_ended
            while not has_ended and (element := following()) is not END:
                (chosen,) = function(element)
                if chosen.ndim:
                    raise invalid("Filter predicate `f` must return a scalar bool.")
                if chosen:
                    return element
                has_ended = self.stops
                check()
            return END

        return take


class FlatMap(Stage):
    """The elements of the datasets that a function makes, one dataset after the other.

    Args:
        stage: gives the elements that the function takes.
        call: the function.
    """

    def __init__(self, stage: Stage, call: Call) -> None:
        super().__init__(stage)
        self.call = call

    def begin(self, run: Run) -> Following:
        following, function = self.inputs[0].begin(run), run.function(self.call)
        inner: Following | None = None

        def take() -> Any:
            nonlocal inner
            while True:
                if inner is not None:
                    element = inner()
                    if element is not END:
                        return element
                    inner = None
                given = following()
                if given is END:
                    return END
                inner = _begin(function(given), run)

        return take


def _begin(made: Sequence[Any], run: Run) -> Following:
    """Starts to go over the dataset that a function made."""
    if len(made) != 1 or not isinstance(made[0], Stage):
        raise invalid("Function must return a single dataset")
    following: Following = made[0].begin(run)
    return following


class Interleave(Stage):
    """The elements of the datasets that a function makes, in turn.

    Args:
        stage: gives the elements that the function takes.
        call: the function.
        cycle: datasets that take turns.
        block: elements that each gives at its turn.
        counts_on: whether what a dataset gave before it ended counts for the turn of the next one.
    """

    def __init__(self, stage: Stage, call: Call, cycle: int, block: int, counts_on: bool = False) -> None:
        super().__init__(stage)
        if cycle < 1:
            raise invalid("cycle_length must be greater than zero.")
        if block < 1:
            raise invalid("block_length must be greater than zero.")
        self.call, self.cycle, self.block, self.counts_on = call, cycle, block, counts_on

    def begin(self, run: Run) -> Following:
        following, function = self.inputs[0].begin(run), run.function(self.call)
        slots: list[Following | None] = [None] * self.cycle
        at = given = opened = 0
        has_ended = False

        def step_on() -> None:
            nonlocal at, given
            at, given = (at + 1) % self.cycle, 0

        def step_over() -> None:
            nonlocal at, given
            at, given = (at + 1) % self.cycle, given if self.counts_on else 0

        def take() -> Any:
            nonlocal given, opened, has_ended
            while opened or not has_ended:
                current = slots[at]
                if current is not None:
                    element = current()
                    if element is not END:
                        given += 1
                        if given == self.block:
                            step_on()
                        return element
                    slots[at] = None
                    opened -= 1
                    step_over()
                elif has_ended:
                    step_over()
                else:
                    element = following()
                    if element is END:
                        has_ended = True
                    else:
                        slots[at] = _begin(function(element), run)
                        opened += 1
            return END

        return take


class Scan(Stage):
    """What a function makes of a state and each element, and the next state.

    Args:
        stage: gives the elements.
        call: the function; returns the state, then the element.
        state: the first state.
        preserves: as for ``Map``.
    """

    def __init__(self, stage: Stage, call: Call, state: Element, preserves: bool = False) -> None:
        super().__init__(stage)
        self.call, self.state, self.preserves = call, tuple(state), preserves

    def begin(self, run: Run) -> Following:
        following = self.inputs[0].begin(run)
        function = _that_may_end(run.function(self.call), self.preserves)
        state: Element = self.state
        count = len(state)

        def take() -> Any:
            nonlocal state
            element = following()
            if element is END:
                return END
            values = function((*state, *element))
            if values is END:
                return END
            state = values[:count]
            return values[count:]

        return take

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


class IgnoreErrors(Unchanged):
    """The elements that can be made."""

    def begin(self, run: Run) -> Following:
        following, check = self.inputs[0].begin(run), run.check

        def take() -> Any:
            while True:
                check()
                with contextlib.suppress(OpError):  # this is what it is for
                    return following()

        return take

    def cardinality(self) -> int:
        return UNKNOWN


class _Running:
    """The state of a generator, which is ended when nobody needs it any more."""

    def __init__(self, state: Element, finalize: Callable[[Element], Any]) -> None:
        self.state = state
        self._finalize: Callable[[Element], Any] | None = finalize

    def end(self) -> None:
        finalize, self._finalize = self._finalize, None
        if finalize is not None:
            finalize(self.state)

    def __del__(self) -> None:
        with contextlib.suppress(OpError):  # nobody is there to be told
            self.end()


class Generator(Stage):
    """What a function gives until it says that there is no more.

    Args:
        init: makes the state.
        arguments: what it takes.
        following: takes the state and gives an element, or an OutOfRangeError.
        finalize: takes the state, in the end.
    """

    def __init__(self, init: Call, arguments: Element, following: Call, finalize: Call) -> None:
        super().__init__()
        self.calls = init, following, finalize
        self.arguments = tuple(arguments)

    def begin(self, run: Run) -> Following:
        init, following, finalize = [run.function(call) for call in self.calls]
        running: _Running | None = None
        has_ended = False

        def take() -> Any:
            nonlocal running, has_ended
            if has_ended:
                return END
            if running is None:
                running = _Running(init(self.arguments), finalize)
            try:
                return following(running.state)
            except OutOfRangeError:
                has_ended = True
                running.end()
                return END

        return take


class GroupByWindow(Stage):
    """Elements of equal keys, put together by a function.

    Args:
        stage: gives the elements.
        key: the function that gives an element's key.
        reduce: takes a key and a dataset and makes a dataset.
        size: takes a key and gives how many elements a window has.
    """

    def __init__(self, stage: Stage, key: Call, reduce: Call, size: Call) -> None:
        super().__init__(stage)
        self.calls = key, reduce, size

    def begin(self, run: Run) -> Following:
        key_of, reduce, size_of = [run.function(call) for call in self.calls]
        following = self.inputs[0].begin(run)
        groups: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}
        current: Following | None = None
        has_ended = False

        def flushed(key: int) -> Following:
            return _begin(reduce((np.array(key, np.int64), Kept(groups.pop(key)))), run)

        def take() -> Any:
            nonlocal current, has_ended
            while True:
                if current is not None:
                    element = current()
                    if element is not END:
                        return element
                    current = None
                if has_ended:
                    if not groups:
                        return END
                    current = flushed(min(groups))
                    continue
                element = following()
                if element is END:
                    has_ended = True
                    continue
                (found,) = key_of(element)
                key = int(found)
                if key not in sizes:
                    (size,) = size_of((np.array(key, np.int64),))
                    if int(size) < 1:
                        raise invalid("Window size must be greater than zero, but got " + f"{int(size)}.")
                    sizes[key] = int(size)
                groups.setdefault(key, []).append(element)
                if len(groups[key]) >= sizes[key]:
                    current = flushed(key)

        return take


class GroupByReducer(Stage):
    """What functions make of all elements of equal keys.

    Args:
        stage: gives the elements.
        key: the function that gives an element's key.
        init: makes a first state of a key.
        reduce: takes a state and an element and gives the next state.
        finalize: makes an element of the last state.
    """

    def __init__(self, stage: Stage, key: Call, init: Call, reduce: Call, finalize: Call) -> None:
        super().__init__(stage)
        self.calls = key, init, reduce, finalize

    def begin(self, run: Run) -> Following:
        key_of, init, reduce, finalize = [run.function(call) for call in self.calls]
        following = self.inputs[0].begin(run)
        states: dict[int, Element] = {}
        left: list[int] | None = None

        def take() -> Any:
            nonlocal left
            if left is None:
                while (element := following()) is not END:
                    (found,) = key_of(element)
                    key = int(found)
                    if key not in states:
                        states[key] = init((np.array(key, np.int64),))
                    states[key] = reduce((*states[key], *element))
                left = sorted(states, reverse=True)
            return finalize(states.pop(left.pop())) if left else END

        return take


# Kernels


@compute("MapDataset")
def _map(
    xp: ArrayModule,
    input_dataset: Any,
    other_arguments: list[Any],
    *,
    f: Any,
    preserve_cardinality: bool,
    ctx: KernelContext,
) -> Any:
    return Map(input_dataset, Call.of(ctx, f, other_arguments), preserve_cardinality)


@compute("ParallelMapDataset")
def _parallel_map(
    xp: ArrayModule,
    input_dataset: Any,
    other_arguments: list[Any],
    num_parallel_calls: Array,
    *,
    f: Any,
    preserve_cardinality: bool,
    ctx: KernelContext,
) -> Any:
    if int(num_parallel_calls) < 1 and int(num_parallel_calls) != -1:
        raise invalid("num_parallel_calls must be greater than zero.")
    return Map(input_dataset, Call.of(ctx, f, other_arguments), preserve_cardinality)


@compute("FilterDataset")
def _filter(
    xp: ArrayModule, input_dataset: Any, other_arguments: list[Any], *, predicate: Any, ctx: KernelContext
) -> Any:
    return Filter(input_dataset, Call.of(ctx, predicate, other_arguments))


@compute("TakeWhileDataset", "ExperimentalTakeWhileDataset")
def _take_while(
    xp: ArrayModule, input_dataset: Any, other_arguments: list[Any], *, predicate: Any, ctx: KernelContext
) -> Any:
    return Filter(input_dataset, Call.of(ctx, predicate, other_arguments), stops=True)


@compute("FlatMapDataset")
def _flat_map(
    xp: ArrayModule, input_dataset: Any, other_arguments: list[Any], *, f: Any, ctx: KernelContext
) -> Any:
    return FlatMap(input_dataset, Call.of(ctx, f, other_arguments))


def _cycle(length: Any) -> int:
    return available_cores() if int(length) == -1 else int(length)


@compute("InterleaveDataset")
def _interleave(
    xp: ArrayModule,
    input_dataset: Any,
    other_arguments: list[Any],
    cycle_length: Any,
    block_length: Any,
    *,
    f: Any,
    ctx: KernelContext,
) -> Any:
    return Interleave(
        input_dataset, Call.of(ctx, f, other_arguments), _cycle(cycle_length), int(block_length)
    )


@compute("ParallelInterleaveDatasetV2")
def _parallel_interleave_v2(
    xp: ArrayModule,
    input_dataset: Any,
    other_arguments: list[Any],
    cycle_length: Any,
    block_length: Any,
    num_parallel_calls: Array,
    *,
    f: Any,
    ctx: KernelContext,
) -> Any:
    if int(num_parallel_calls) < 1 and int(num_parallel_calls) != -1:
        raise invalid("num_parallel_calls must be greater than zero.")
    return Interleave(
        input_dataset, Call.of(ctx, f, other_arguments), _cycle(cycle_length), int(block_length)
    )


@compute("ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset")
def _parallel_interleave(
    xp: ArrayModule,
    input_dataset: Any,
    other_arguments: list[Any],
    cycle_length: Any,
    block_length: Any,
    sloppy: Array,
    buffer_output_elements: Array,
    prefetch_input_elements: Array,
    *,
    f: Any,
    ctx: KernelContext,
) -> Any:
    call = Call.of(ctx, f, other_arguments)
    return Interleave(input_dataset, call, int(cycle_length), int(block_length), counts_on=True)


@compute("ScanDataset", "ExperimentalScanDataset")
def _scan(
    xp: Any,
    input_dataset: Any,
    initial_state: list[Any],
    other_arguments: list[Any],
    *,
    f: Any,
    preserve_cardinality: bool,
    ctx: KernelContext,
) -> Any:
    return Scan(input_dataset, Call.of(ctx, f, other_arguments), initial_state, preserve_cardinality)


@compute("IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset")
def _ignore_errors(xp: ArrayModule, input_dataset: Any) -> Any:
    return IgnoreErrors(input_dataset)


@compute("GeneratorDataset")
def _generator(
    xp: ArrayModule,
    init_func_other_args: list[Any],
    next_func_other_args: list[Any],
    finalize_func_other_args: list[Any],
    *,
    init_func: Any,
    next_func: Any,
    finalize_func: Any,
    ctx: KernelContext,
) -> Any:
    return Generator(
        Call.of(ctx, init_func, ()),
        init_func_other_args,
        Call.of(ctx, next_func, next_func_other_args),
        Call.of(ctx, finalize_func, finalize_func_other_args),
    )


@compute("GroupByWindowDataset", "ExperimentalGroupByWindowDataset")
def _group_by_window(
    xp: ArrayModule,
    input_dataset: Any,
    key_func_other_arguments: list[Any],
    reduce_func_other_arguments: list[Any],
    window_size_func_other_arguments: list[Any],
    *,
    key_func: Any,
    reduce_func: Any,
    window_size_func: Any,
    ctx: KernelContext,
) -> Any:
    return GroupByWindow(
        input_dataset,
        Call.of(ctx, key_func, key_func_other_arguments),
        Call.of(ctx, reduce_func, reduce_func_other_arguments),
        Call.of(ctx, window_size_func, window_size_func_other_arguments),
    )


@compute("GroupByReducerDataset", "ExperimentalGroupByReducerDataset")
def _group_by_reducer(
    xp: ArrayModule,
    input_dataset: Any,
    key_func_other_arguments: list[Any],
    init_func_other_arguments: list[Any],
    reduce_func_other_arguments: list[Any],
    finalize_func_other_arguments: list[Any],
    *,
    key_func: Any,
    init_func: Any,
    reduce_func: Any,
    finalize_func: Any,
    ctx: KernelContext,
) -> Any:
    return GroupByReducer(
        input_dataset,
        Call.of(ctx, key_func, key_func_other_arguments),
        Call.of(ctx, init_func, init_func_other_arguments),
        Call.of(ctx, reduce_func, reduce_func_other_arguments),
        Call.of(ctx, finalize_func, finalize_func_other_arguments),
    )
