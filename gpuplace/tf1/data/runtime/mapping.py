"""Stages that call functions of elements.

Source: tensorflow/core/kernels/data/map_dataset_op.cc, flat_map_dataset_op.cc, filter_dataset_op.cc,
interleave_dataset_op.cc, generator_dataset_op.cc and experimental/*_dataset_op.cc, release 1.15 (order, messages).
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
    GetNext,
    Items,
    Passthrough,
    Run,
    Stage,
    invalid,
)
from gpuplace.typing import Array, ArrayModule


def _until_out_of_range(function: Callable[[Element], Any], preserves: bool) -> Callable[[Element], Any]:
    """Wrap a function so that its OutOfRangeError ends the elements, or becomes another error.

    Args:
        function: the function.
        preserves: whether the number of elements must be preserved, so that it becomes an error.
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
    """Results of a function for each element.

    Args:
        stage: the input stage.
        call: the function.
        preserves: whether an OutOfRangeError of the function is an error; otherwise it ends the elements.
    """

    def __init__(self, stage: Stage, call: Call, preserves: bool = False) -> None:
        super().__init__(stage)
        self.call, self.preserves = call, preserves

    def begin(self, run: Run) -> GetNext:
        get_next, check = self.inputs[0].begin(run), run.check
        function = _until_out_of_range(run.function(self.call), self.preserves)

        def take() -> Any:
            check()
            element = get_next()
            return END if element is END else function(element)

        return take

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


class Filter(Stage):
    """Elements for which a function is true, or only those before the first for which it is false.

    Args:
        stage: the input stage.
        call: the function.
        stops: whether to stop at the first element for which it is false.
    """

    def __init__(self, stage: Stage, call: Call, stops: bool = False) -> None:
        super().__init__(stage)
        self.call, self.stops = call, stops

    def begin(self, run: Run) -> GetNext:
        get_next, function = self.inputs[0].begin(run), run.function(self.call)
        check = run.check
        has_ended = False

        def take() -> Any:
            nonlocal has_ended
            while not has_ended and (element := get_next()) is not END:
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
    """Elements of the datasets that a function returns, one dataset after the other.

    Args:
        stage: the input stage.
        call: the function.
    """

    def __init__(self, stage: Stage, call: Call) -> None:
        super().__init__(stage)
        self.call = call

    def begin(self, run: Run) -> GetNext:
        get_next, function = self.inputs[0].begin(run), run.function(self.call)
        inner: GetNext | None = None

        def take() -> Any:
            nonlocal inner
            while True:
                if inner is not None:
                    element = inner()
                    if element is not END:
                        return element
                    inner = None
                given = get_next()
                if given is END:
                    return END
                inner = _begin(function(given), run)

        return take


def _begin(result: Sequence[Any], run: Run) -> GetNext:
    """Start to iterate over the dataset that a function returned."""
    if len(result) != 1 or not isinstance(result[0], Stage):
        raise invalid("Function must return a single dataset")
    get_next: GetNext = result[0].begin(run)
    return get_next


class Interleave(Stage):
    """Interleaved elements of the datasets that a function returns.

    Args:
        stage: the input stage.
        call: the function.
        cycle: number of datasets to interleave.
        block: number of consecutive elements from each dataset.
        continues: whether elements of a dataset that ended within a block count for the block of the next one.
    """

    def __init__(self, stage: Stage, call: Call, cycle: int, block: int, continues: bool = False) -> None:
        super().__init__(stage)
        if cycle < 1:
            raise invalid("cycle_length must be greater than zero.")
        if block < 1:
            raise invalid("block_length must be greater than zero.")
        self.call, self.cycle, self.block, self.continues = call, cycle, block, continues

    def begin(self, run: Run) -> GetNext:
        get_next, function = self.inputs[0].begin(run), run.function(self.call)
        slots: list[GetNext | None] = [None] * self.cycle
        at = returned = opened = 0
        has_ended = False

        def step_on() -> None:
            nonlocal at, returned
            at, returned = (at + 1) % self.cycle, 0

        def step_over() -> None:
            nonlocal at, returned
            at, returned = (at + 1) % self.cycle, returned if self.continues else 0

        def take() -> Any:
            nonlocal returned, opened, has_ended
            while opened or not has_ended:
                current = slots[at]
                if current is not None:
                    element = current()
                    if element is not END:
                        returned += 1
                        if returned == self.block:
                            step_on()
                        return element
                    slots[at] = None
                    opened -= 1
                    step_over()
                elif has_ended:
                    step_over()
                else:
                    element = get_next()
                    if element is END:
                        has_ended = True
                    else:
                        slots[at] = _begin(function(element), run)
                        opened += 1
            return END

        return take


class Scan(Stage):
    """Results of a function of a state and each element, which also returns the next state.

    Args:
        stage: the input stage.
        call: the function; returns the state, then the element.
        state: the initial state.
        preserves: as for ``Map``.
    """

    def __init__(self, stage: Stage, call: Call, state: Element, preserves: bool = False) -> None:
        super().__init__(stage)
        self.call, self.state, self.preserves = call, tuple(state), preserves

    def begin(self, run: Run) -> GetNext:
        get_next = self.inputs[0].begin(run)
        function = _until_out_of_range(run.function(self.call), self.preserves)
        state: Element = self.state
        count = len(state)

        def take() -> Any:
            nonlocal state
            element = get_next()
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


class IgnoreErrors(Passthrough):
    """Elements whose computation does not fail."""

    def begin(self, run: Run) -> GetNext:
        get_next, check = self.inputs[0].begin(run), run.check

        def take() -> Any:
            while True:
                check()
                with contextlib.suppress(OpError):  # the purpose of this stage
                    return get_next()

        return take

    def cardinality(self) -> int:
        return UNKNOWN


class _GeneratorState:
    """The state of a generator, finalized when it is no longer used."""

    def __init__(self, state: Element, finalize: Callable[[Element], Any]) -> None:
        self.state = state
        self._finalize: Callable[[Element], Any] | None = finalize

    def end(self) -> None:
        finalize, self._finalize = self._finalize, None
        if finalize is not None:
            finalize(self.state)

    def __del__(self) -> None:
        with contextlib.suppress(OpError):  # there is no caller to report it to
            self.end()


class Generator(Stage):
    """Results of a function until it signals the end.

    Args:
        init: creates the state.
        arguments: the arguments of ``init``.
        get_next: takes the state and returns an element, or raises OutOfRangeError.
        finalize: takes the state at the end.
    """

    def __init__(self, init: Call, arguments: Element, get_next: Call, finalize: Call) -> None:
        super().__init__()
        self.calls = init, get_next, finalize
        self.arguments = tuple(arguments)

    def begin(self, run: Run) -> GetNext:
        init, get_next, finalize = [run.function(call) for call in self.calls]
        running: _GeneratorState | None = None
        has_ended = False

        def take() -> Any:
            nonlocal running, has_ended
            if has_ended:
                return END
            if running is None:
                running = _GeneratorState(init(self.arguments), finalize)
            try:
                return get_next(running.state)
            except OutOfRangeError:
                has_ended = True
                running.end()
                return END

        return take


class GroupByWindow(Stage):
    """Windows of elements with equal keys, to which a function is applied.

    Args:
        stage: the input stage.
        key: the function that returns an element's key.
        reduce: takes a key and a dataset and returns a dataset.
        size: takes a key and returns the window size.
    """

    def __init__(self, stage: Stage, key: Call, reduce: Call, size: Call) -> None:
        super().__init__(stage)
        self.calls = key, reduce, size

    def begin(self, run: Run) -> GetNext:
        key_of, reduce, size_of = [run.function(call) for call in self.calls]
        get_next = self.inputs[0].begin(run)
        groups: dict[int, list[Element]] = {}
        sizes: dict[int, int] = {}
        current: GetNext | None = None
        has_ended = False

        def flushed(key: int) -> GetNext:
            return _begin(reduce((np.array(key, np.int64), Items(groups.pop(key)))), run)

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
                element = get_next()
                if element is END:
                    has_ended = True
                    continue
                (group_key,) = key_of(element)
                key = int(group_key)
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
    """Reduction of all elements with the same key to one element.

    Args:
        stage: the input stage.
        key: the function that returns an element's key.
        init: takes a key and returns the initial state.
        reduce: takes a state and an element and returns the next state.
        finalize: converts the last state to an element.
    """

    def __init__(self, stage: Stage, key: Call, init: Call, reduce: Call, finalize: Call) -> None:
        super().__init__(stage)
        self.calls = key, init, reduce, finalize

    def begin(self, run: Run) -> GetNext:
        key_of, init, reduce, finalize = [run.function(call) for call in self.calls]
        get_next = self.inputs[0].begin(run)
        states: dict[int, Element] = {}
        left: list[int] | None = None

        def take() -> Any:
            nonlocal left
            if left is None:
                while (element := get_next()) is not END:
                    (group_key,) = key_of(element)
                    key = int(group_key)
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
    return Interleave(input_dataset, call, int(cycle_length), int(block_length), continues=True)


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
