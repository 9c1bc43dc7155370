"""Running iterators: resources of the session, from which each run takes an element.

Source: tensorflow/core/kernels/data/iterator_ops.cc, release 1.15 (messages).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import DEFAULT_CONTAINER, ResourceHandle
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import no_outputs, scalar_shape
from gpuplace.shapes import SCALAR_SHAPE, TensorShape
from gpuplace.tf1.data.runtime.stages import END, Call, GetNext, Run, Stage
from gpuplace.typing import Array, ArrayModule

_TYPE_NAME = "N10tensorflow4data16IteratorResourceE"
_numbers = itertools.count()


def _ended() -> Any:
    """Return the end marker: the result after the last element, for every call."""
    return END


class RunningIterator:
    """A running iterator over a dataset.

    Args:
        types: types of its elements.
        shapes: shapes of its elements.
        factory: creates its dataset when the first element is taken; None: another operation assigns one.
    """

    def __init__(
        self,
        types: Sequence[Any],
        shapes: Sequence[TensorShape],
        factory: Callable[[], tuple[Stage, Run]] | None = None,
    ) -> None:
        self.types, self.shapes = tuple(types), tuple(shapes)
        self._factory = factory
        self._get_next: GetNext | None = None
        self._stage: Stage | None = None
        self._taken = 0
        self._lock = threading.Lock()

    def start(self, stage: Stage, run: Run) -> None:
        """Reset it to the first element of a dataset."""
        get_next = stage.begin(run)
        with self._lock:
            self._stage, self._get_next, self._taken = stage, get_next, 0

    @property
    def taken(self) -> int | None:
        """Number of elements taken since the start; None if it has no dataset yet."""
        with self._lock:
            return None if self._get_next is None and self._factory is None else self._taken

    def go_to(self, count: int, run: Run) -> bool:
        """Start over and skip some elements.

        Args:
            count: number of elements to skip.
            run: the context in which the functions of its dataset run.

        Returns:
            Whether it has a dataset.
        """
        with self._lock:
            if self._stage is None:
                if self._factory is None:
                    return False
                self._stage, run = self._factory()
            get_next, self._taken = self._stage.begin(run), count
            for _ in range(count):
                if get_next() is END:
                    get_next = _ended
                    break
                run.check()
            self._get_next = get_next
        return True

    def take(self) -> Any:
        """Return the next element.

        Raises:
            FailedPreconditionError: it has no dataset yet.
            OutOfRangeError: there are no more elements.
        """
        with self._lock:
            get_next = self._get_next
            if get_next is None:
                if self._factory is None:
                    raise FailedPreconditionError.of(
                        "GetNext() failed because the iterator has not been initialized. Ensure that you have run the"
                        " initializer operation for this iterator before getting the next element.",
                        hint="session.run(iterator.initializer)",
                    )
                self._stage, run = self._factory()
                get_next = self._get_next = self._stage.begin(run)
            element = get_next()
            self._taken += 1
            if element is END:
                self._get_next = _ended
        if element is END:
            raise OutOfRangeError.of("End of sequence")
        return element

    def end_session(self) -> None:
        """Release its dataset."""
        self._get_next = self._stage = None


def _handle(ctx: KernelContext, container: str, name: str, iterator: RunningIterator) -> ResourceHandle:
    return ResourceHandle(ctx.device, container or DEFAULT_CONTAINER, name, _TYPE_NAME, iterator)


def iterator_of(handle: ResourceHandle) -> RunningIterator:
    """Return the iterator of a handle; InvalidArgumentError if the handle refers to something else."""
    return handle.resource_of(RunningIterator, _TYPE_NAME)


@compute("IteratorV2", "Iterator")
def _make(
    xp: Any,
    *,
    shared_name: bytes,
    container: bytes,
    output_types: Any,
    output_shapes: Any,
    ctx: KernelContext,
) -> Any:
    name = shared_name.decode() or ctx.op.name
    iterator = ctx.session.get_or_create(
        container.decode(), name, lambda: RunningIterator(output_types, output_shapes), ctx.device
    )
    return _handle(ctx, container.decode(), name, iterator)


@compute("AnonymousIterator", "AnonymousIteratorV2")
def _make_anonymous(xp: ArrayModule, *, output_types: Any, output_shapes: Any, ctx: KernelContext) -> Any:
    name = f"AnonymousIterator{next(_numbers)}"
    iterator = ctx.session.get_or_create(
        "", name, lambda: RunningIterator(output_types, output_shapes), ctx.device
    )
    handle = _handle(ctx, "", name, iterator)
    return handle if len(ctx.op.outputs) == 1 else (handle, name)


@compute("OneShotIterator")
def _make_one_shot(
    xp: ArrayModule,
    *,
    dataset_factory: Any,
    output_types: Any,
    output_shapes: Any,
    shared_name: bytes,
    container: bytes,
    ctx: KernelContext,
) -> Any:
    def made() -> tuple[Stage, Run]:
        run = Run(ctx.session, ctx.device)
        (stage,) = run.function(Call(ctx.op.graph, dataset_factory.name, ()))(())
        return stage, run

    name = shared_name.decode() or ctx.op.name
    iterator = ctx.session.get_or_create(
        container.decode(), name, lambda: RunningIterator(output_types, output_shapes, made), ctx.device
    )
    return _handle(ctx, container.decode(), name, iterator)


@compute("MakeIterator")
def _start(xp: ArrayModule, dataset: Stage, iterator: ResourceHandle, *, ctx: KernelContext) -> Any:
    iterator_of(iterator).start(dataset, Run(ctx.session, ctx.device))
    return ()


def checked(element: Sequence[Any], shapes: Sequence[TensorShape]) -> Sequence[Any]:
    """Return the values of an element; InvalidArgumentError if a shape is incompatible with the declared one."""
    for number, (value, shape) in enumerate(zip(element, shapes, strict=True)):
        if isinstance(value, np.ndarray) and not shape.is_compatible_with(value.shape):
            raise InvalidArgumentError.of(
                f"Shape of element {number} does not match: expected {shape} but got {TensorShape(value.shape)}."
            )
    return element


def kernel_result(values: Sequence[Any]) -> Any:
    """Return the values of an operation's outputs in the form that its kernel returns."""
    return values[0] if len(values) == 1 else tuple(values)


@compute("IteratorGetNext", "IteratorGetNextSync")
def _next(xp: ArrayModule, iterator: ResourceHandle, *, output_shapes: Any) -> Array:
    element = checked(iterator_of(iterator).take(), output_shapes)
    if xp is not np:
        element = [
            xp.asarray(value) if isinstance(value, np.ndarray) and value.dtype != object else value
            for value in element
        ]
    return kernel_result(element)


@compute("IteratorToStringHandle")
def _to_string(xp: ArrayModule, resource_handle: ResourceHandle) -> Array:
    iterator_of(resource_handle)
    return resource_handle.text


@compute("IteratorFromStringHandle", "IteratorFromStringHandleV2")
def _from_string(
    xp: ArrayModule, string_handle: Array, *, output_types: Any, output_shapes: Any, ctx: KernelContext
) -> Any:
    if string_handle.ndim:
        raise InvalidArgumentError.of("string_handle must be a scalar")
    handle = ResourceHandle.named_by(string_handle, ctx.session, _TYPE_NAME)
    _check_types(iterator_of(handle), output_types)
    _check_shapes(iterator_of(handle), output_shapes)
    return handle


def _check_types(iterator: RunningIterator, types: Sequence[Any]) -> None:
    if not types:
        return
    if len(types) != len(iterator.types):
        raise InvalidArgumentError.of(
            f"Number of components does not match: expected {len(types)} types but got {len(iterator.types)}."
        )
    for number, (expected, actual) in enumerate(zip(types, iterator.types, strict=True)):
        if expected is not actual:
            raise InvalidArgumentError.of(
                f"Data type mismatch at component {number}: expected {expected.short_name} but got {actual.short_name}."
            )


def _check_shapes(iterator: RunningIterator, shapes: Sequence[TensorShape]) -> None:
    for number, (wanted, found) in enumerate(zip(shapes, iterator.shapes, strict=False)):
        if not wanted.is_compatible_with(found):
            raise InvalidArgumentError.of(
                f"Incompatible shapes at component {number}: expected {wanted} but got {found}."
            )


@compute("ReduceDataset")
def _reduce(
    xp: Any,
    input_dataset: Stage,
    initial_state: list[Any],
    other_arguments: list[Any],
    *,
    f: Any,
    ctx: KernelContext,
) -> Any:
    run = Run(ctx.session, ctx.device)
    function = run.function(Call.of(ctx, f, other_arguments))
    get_next = input_dataset.begin(run)
    state: Sequence[Any] = initial_state
    while (element := get_next()) is not END:
        state = function((*state, *element))
        if len(state) != len(initial_state):
            raise InvalidArgumentError.of(
                "The number of components of the initial state and the reduce function output does not match."
                f" (initial_state={len(initial_state)}, output={len(state)})."
            )
        run.check()
    return kernel_result(state)


@compute("DatasetToSingleElement")
def _single(xp: ArrayModule, dataset: Stage, *, ctx: KernelContext) -> Array:
    get_next = dataset.begin(Run(ctx.session, ctx.device))
    element = get_next()
    if element is END:
        raise InvalidArgumentError.of("Dataset was empty.")
    if get_next() is not END:
        raise InvalidArgumentError.of("Dataset had more than one element.")
    return kernel_result(element)


@compute("DatasetCardinality", "ExperimentalDatasetCardinality")
def _cardinality(xp: ArrayModule, input_dataset: Stage) -> Array:
    return np.array(input_dataset.cardinality(), np.int64)


# Shapes


@shape_function(
    "IteratorV2", "Iterator", "OneShotIterator", "IteratorToStringHandle", "IteratorFromStringHandleV2"
)
def _scalar(op: Operation) -> Any:
    return (SCALAR_SHAPE,) * max(1, len(op.op_def.outputs if op.op_def else ()))


shape_function("MakeIterator")(no_outputs)
shape_function("DatasetCardinality", "ExperimentalDatasetCardinality")(scalar_shape)


@shape_function(
    "IteratorGetNext", "IteratorGetNextSync", "ReduceDataset", "DatasetToSingleElement", "OptionalGetValue"
)
def _given(op: Operation) -> Any:
    shapes, types = op.attrs["output_shapes"], op.attrs["output_types"]
    if len(shapes) != len(types):
        raise ValueError(
            f"`output_shapes` must be the same length as `output_types` ({len(shapes)} vs. {len(types)})"
        )
    return shapes


not_differentiable(
    "ReduceDataset", "IteratorGetNext", "MakeIterator", "IteratorToStringHandle", "OneShotIterator"
)
