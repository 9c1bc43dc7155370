"""Running iterators whose elements go to several devices in turn.

The first device gets the first element, the second device the second, and so on. Devices may request their next
elements in any order; elements of other devices are buffered until then. The size of the buffer is not limited here,
because each pipeline is asked only when its step needs an element.

Source: tensorflow/core/kernels/data/multi_device_iterator_ops.cc and experimental/rebatch_dataset_op.cc, release 1.15
(messages).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError, OutOfRangeError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import DEFAULT_CONTAINER, ResourceHandle
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import scalar_shape
from gpuplace.tf1.data.runtime.iterators import checked, kernel_result
from gpuplace.tf1.data.runtime.stages import END, Element, GetNext, Run, Stage, invalid
from gpuplace.typing import Array, ArrayModule

_TYPE_NAME = "N10tensorflow4data12_GLOBAL__N_119MultiDeviceIteratorE"

not_differentiable(
    "MultiDeviceIterator",
    "MultiDeviceIteratorInit",
    "MultiDeviceIteratorToStringHandle",
    "MultiDeviceIteratorFromStringHandle",
    "MultiDeviceIteratorGetNextFromShard",
    "RebatchDataset",
)
shape_function(
    "MultiDeviceIterator",
    "MultiDeviceIteratorInit",
    "MultiDeviceIteratorToStringHandle",
    "MultiDeviceIteratorFromStringHandle",
    "RebatchDataset",
)(scalar_shape)


@shape_function("MultiDeviceIteratorGetNextFromShard")
def _declared(op: Operation) -> Any:
    return op.attrs["output_shapes"]


class SharedIterator:
    """A running iterator whose elements belong to several devices in turn.

    Args:
        count: the number of devices.
    """

    def __init__(self, count: int) -> None:
        self._waiting: list[deque[Element]] = [deque() for _ in range(count)]
        self._get_next: GetNext | None = None
        self._turn = 0
        self._incarnation = 0
        self._lock = threading.Lock()

    def start(self, stage: Stage, run: Run) -> int:
        """Reset it to the first element of a dataset, and return its incarnation, from 1."""
        get_next = stage.begin(run)
        with self._lock:
            self._get_next, self._turn = get_next, 0
            for waiting in self._waiting:
                waiting.clear()
            self._incarnation += 1
            return self._incarnation

    def take(self, device: int, incarnation: int) -> Element:
        """Return the next element of a device.

        Raises:
            InvalidArgumentError: the device does not exist, or the iterator was reset since.
            OutOfRangeError: there are no more elements for the device.
        """
        if not 0 <= device < len(self._waiting):
            raise InvalidArgumentError.of(f"Invalid shard: {device} of {len(self._waiting)}")
        with self._lock:
            if incarnation != self._incarnation or self._get_next is None:
                raise InvalidArgumentError.of("Invalid incarnation id")
            buffered = self._waiting[device]
            while not buffered:
                element = self._get_next()
                if element is END:
                    raise OutOfRangeError.of("End of sequence")
                self._waiting[self._turn].append(element)
                self._turn = (self._turn + 1) % len(self._waiting)
            return buffered.popleft()

    def end_session(self) -> None:
        """Release its dataset."""
        self._get_next = None


def _shared(handle: ResourceHandle) -> SharedIterator:
    return handle.resource_of(SharedIterator, _TYPE_NAME)


@compute("MultiDeviceIterator")
def _make(xp: Any, *, devices: Any, shared_name: bytes, container: bytes, ctx: KernelContext) -> Any:
    where, name = container.decode(), shared_name.decode() or ctx.op.name
    iterator = ctx.session.get_or_create(where, name, lambda: SharedIterator(len(devices)), ctx.device)
    return ResourceHandle(ctx.device, where or DEFAULT_CONTAINER, name, _TYPE_NAME, iterator)


@compute("MultiDeviceIteratorInit")
def _start(
    xp: ArrayModule,
    dataset: Stage,
    multi_device_iterator: ResourceHandle,
    max_buffer_size: Array,
    *,
    ctx: KernelContext,
) -> Array:
    return np.array(_shared(multi_device_iterator).start(dataset, Run(ctx.session, ctx.device)), np.int64)


@compute("MultiDeviceIteratorToStringHandle")
def _to_string(xp: ArrayModule, multi_device_iterator: ResourceHandle) -> Array:
    _shared(multi_device_iterator)
    return multi_device_iterator.text


@compute("MultiDeviceIteratorFromStringHandle")
def _from_string(xp: ArrayModule, string_handle: Any, *, ctx: KernelContext) -> Any:
    return ResourceHandle.named_by(string_handle, ctx.session, _TYPE_NAME)


@compute("MultiDeviceIteratorGetNextFromShard")
def _next(
    xp: ArrayModule,
    multi_device_iterator: ResourceHandle,
    shard_num: Array,
    incarnation_id: Array,
    *,
    output_shapes: Any,
) -> Array:
    element = _shared(multi_device_iterator).take(int(shard_num), int(incarnation_id))
    return kernel_result(checked(element, output_shapes))


class Rebatched(Stage):
    """Batches split into parts of equal size; the last part may have fewer rows.

    Args:
        stage: the input stage.
        parts: the number of parts of each batch.
    """

    def __init__(self, stage: Stage, parts: int) -> None:
        super().__init__(stage)
        if parts < 1:
            raise invalid("num_replicas must be greater than zero.")
        self.parts = parts

    def begin(self, run: Run) -> GetNext:
        get_next, waiting = self.inputs[0].begin(run), deque[Element]()

        def take() -> Any:
            while not waiting:
                element = get_next()
                if element is END:
                    return END
                waiting.extend(self._cut(element))
            return waiting.popleft()

        return take

    def _cut(self, element: Sequence[Any]) -> list[Element]:
        if not all(value.ndim for value in element):
            raise invalid("Cannot split a component without a batch dimension: it is a scalar.")
        rows = {int(value.shape[0]) for value in element}
        if len(rows) > 1:
            raise invalid(f"Components differ in the number of rows of the batch: {sorted(rows)}.")
        (count,) = rows
        size = -(-count // self.parts)
        return [tuple(value[at : at + size] for value in element) for at in range(0, count, size or 1)]

    def cardinality(self) -> int:
        count = self.inputs[0].cardinality()
        return count * self.parts if count > 0 else count


@compute("RebatchDataset")
def _rebatch(xp: ArrayModule, input_dataset: Stage, num_replicas: Any) -> Any:
    return Rebatched(input_dataset, int(num_replicas))
