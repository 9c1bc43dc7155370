"""``tf.data.experimental.MultiDeviceIterator``: an iterator whose elements go to several devices in turn.

One iterator on the source device distributes the elements; on each device a ``GeneratorDataset`` requests and
prefetches the elements of that device::

    GPU:0   GeneratorDataset ─> PrefetchDataset ─> IteratorV2 ─> IteratorGetNext
                 │ RemoteCall
    CPU:0   MultiDeviceIteratorGetNextFromShard <─ MultiDeviceIterator <─ the dataset

Source: tensorflow/python/data/ops/multi_device_iterator_ops.py, release 1.15 (graphs, names).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import int32, int64
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.flow import control
from gpuplace.ops.support import new, new_list
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.dataset import Dataset, build, to_variant
from gpuplace.tf1.data.iterators import Iterator
from gpuplace.tf1.data.options import Options
from gpuplace.tf1.data.tracing import trace

__all__ = ["MultiDeviceIterator"]

_WHO = "MultiDeviceIterator()"


class MultiDeviceIterator:
    """An iterator whose elements go to several devices in turn.

    Args:
        dataset: the dataset.
        devices: device names.
        max_buffer_size: maximum number of elements buffered for a device on the source device.
        prefetch_buffer_size: maximum number of elements prefetched on a device; 0: no prefetching.
        source_device: the device of the dataset.
    """

    def __init__(
        self,
        dataset: Dataset,
        devices: Sequence[str],
        max_buffer_size: int = 1,
        prefetch_buffer_size: int = 1,
        source_device: str = "/cpu:0",
    ) -> None:
        graph = get_default_graph()
        self._devices, spec = tuple(devices), dataset.element_spec
        self._attrs: dict[str, Any] = {
            "output_types": structure.flat_types(spec),
            "output_shapes": structure.flat_shapes(spec),
        }
        with graph.device(source_device):
            source = convert_to_tensor(source_device)
            resource = new(
                "MultiDeviceIterator",
                devices=list(self._devices),
                shared_name="",
                container="",
                **self._attrs,
            )
            started = new(
                "MultiDeviceIteratorInit",
                dataset=to_variant(dataset),
                multi_device_iterator=resource,
                max_buffer_size=constant(
                    max_buffer_size, int64, name="MultiDeviceIteratorInit/max_buffer_size"
                ),
            )
        self._iterators: list[Iterator] = []
        initializers: list[Operation] = []
        for number, device in enumerate(self._devices):
            with graph.device(device):
                own = self._on_device(number, dataset, resource, started, source)
                own = own.prefetch(prefetch_buffer_size) if prefetch_buffer_size else own
                iterator = own.make_initializable_iterator()
            self._iterators.append(iterator)
            initializers.append(iterator.initializer)
        with graph.device(source_device):
            self._initializer = control.group(*initializers)

    def _on_device(
        self, number: int, dataset: Dataset, resource: Tensor, started: Tensor, source: Tensor
    ) -> Dataset:
        """Return the elements of one device, on that device."""
        text = new("MultiDeviceIteratorToStringHandle", multi_device_iterator=resource)
        types = self._attrs["output_types"]

        def next_element() -> Any:
            iterator = new("MultiDeviceIteratorFromStringHandle", string_handle=text, **self._attrs)
            return tuple(
                new_list(
                    "MultiDeviceIteratorGetNextFromShard",
                    multi_device_iterator=iterator,
                    shard_num=constant(number, int32),
                    incarnation_id=started,
                    **self._attrs,
                )
            )

        get_next = trace(next_element, _WHO, ())

        def remote(_state: Tensor) -> Any:
            return tuple(
                new_list(
                    "RemoteCall", target=source, args=list(get_next.captured), Tout=types, f=get_next.ref
                )
            )

        state = TensorSpec([], int64)
        begin = trace(lambda: constant(0, int64), _WHO, ())
        call = trace(remote, _WHO, state)
        end = trace(lambda state_value: constant(0, int64), _WHO, state)
        generated = build(
            "GeneratorDataset",
            dataset.element_spec,
            (dataset,),
            (begin, call, end),
            init_func_other_args=list(begin.captured),
            next_func_other_args=list(call.captured),
            finalize_func_other_args=list(end.captured),
            init_func=begin.ref,
            next_func=call.ref,
            finalize_func=end.ref,
        )
        options = Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.autotune = False
        return generated.with_options(options)

    @property
    def initializer(self) -> Operation:
        """The operation that resets it to the first element."""
        return self._initializer

    def get_next(self, device: str | None = None) -> Any:
        """Return the next elements.

        Args:
            device: one of the iterator's devices; None: all.

        Returns:
            An element of that device, or a list with one of each device.

        Raises:
            ValueError: ``device`` is not one of the iterator's devices.
        """
        if device is not None:
            return self._next_on(self._devices.index(device))
        return [self._next_on(number) for number in range(len(self._devices))]

    def _next_on(self, number: int) -> Any:
        with get_default_graph().device(self._devices[number]):
            return self._iterators[number].get_next()


def rebatched(dataset: Dataset, parts: int) -> Dataset:
    """Return the dataset with its batches split into parts.

    Args:
        dataset: a dataset of batches.
        parts: the number of parts of each batch.

    Raises:
        ValueError: elements are not batches, or cannot be split into equal parts.
    """

    def part(shape: Any) -> Any:
        if shape.ndims == 0:
            raise ValueError("The input dataset must be batched, but one of its components is a scalar")
        if shape.ndims is None or shape.dims[0].value is None:
            return shape
        rows = shape.dims[0].value
        if rows % parts:
            raise ValueError(
                f"Batch size {rows} cannot be divided evenly among {parts} replicas: use a multiple of {parts}, and "
                "drop an incomplete last batch with drop_remainder=True"
            )
        return type(shape)([rows // parts, *shape.dims[1:]])

    shapes = [part(shape) for shape in structure.flat_shapes(dataset.element_spec)]
    types = structure.output_types(dataset.element_spec)
    classes = structure.output_classes(dataset.element_spec)
    spec = structure.spec_of(types, structure.pack(types, shapes), classes)
    return build(
        "RebatchDataset",
        spec,
        (dataset,),
        input_dataset=to_variant(dataset),
        num_replicas=constant(parts, int64, name="num_replicas"),
    )
