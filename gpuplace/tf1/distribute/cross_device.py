"""Combine values of several devices: on one device, or with NCCL.

Source: tensorflow/python/distribute/cross_device_ops.py, cross_device_utils.py and reduce_util.py, release 1.15 (names
and order of nodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import joining, reshaping
from gpuplace.ops.distribute.contexts import ReduceOp
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.math.elementwise import add_n
from gpuplace.tf1.contrib import nccl
from gpuplace.tf1.distribute.values import DistributedValues, Mirrored
from gpuplace.typing import TensorLike

__all__ = ["CrossDeviceOps", "NcclAllReduce", "ReductionToOneDevice"]


def reduce_op_of(op: Any) -> ReduceOp:
    """Return the ``ReduceOp``, given itself or its name.

    Raises:
        ValueError: the name is neither SUM nor MEAN.
    """
    return op if isinstance(op, ReduceOp) else ReduceOp(str(op).upper())


def devices_of(destinations: Any) -> tuple[str, ...]:
    """Return the destination devices: of distributed values or variables, of a tensor or variable, or by name."""
    if isinstance(destinations, str):
        return (destinations,)
    devices = getattr(destinations, "devices", None)
    return tuple(devices) if devices is not None else (destinations.device,)


def copied_to(value: Any, device: str) -> Any:
    """Copy a tensor or ``IndexedSlices`` to a device."""
    with get_default_graph().device(device):
        if isinstance(value, IndexedSlices):
            values, indices = reshaping.identity(value.values), reshaping.identity(value.indices)
            shape = value.dense_shape
            return IndexedSlices(values, indices, None if shape is None else reshaping.identity(shape))
        return reshaping.identity(value)


def broadcast(value: Any, destinations: Any) -> Any:
    """Copy a value to each of the devices."""
    devices = devices_of(destinations)
    if len(devices) == 1:
        return copied_to(value, devices[0])
    return Mirrored(devices, [copied_to(value, device) for device in devices])


def _summed(values: Sequence[Any]) -> Any:
    """Return the sum of tensors; ``IndexedSlices`` are concatenated."""
    if not isinstance(values[0], IndexedSlices):
        return add_n(list(values))
    rows = joining.concat([value.values for value in values], axis=0)
    indices = joining.concat([value.indices for value in values], axis=0)
    return IndexedSlices(rows, indices, values[0].dense_shape)


def _divided(value: Any, count: int) -> Any:
    if isinstance(value, IndexedSlices):
        return IndexedSlices(value.values / count, value.indices, value.dense_shape)
    return value / count


def reduced_on(device: str, values: Sequence[Any], op: ReduceOp) -> Any:
    """Return the sum or mean of values, computed on a device."""
    with get_default_graph().device(device):
        total = _summed(values)
        return _divided(total, len(values)) if op is ReduceOp.MEAN else total


class CrossDeviceOps:
    """Base class of reductions and broadcasts across devices."""

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """Return the sum or mean of a value's components.

        Args:
            reduce_op: a ``ReduceOp``, or its name.
            per_replica_value: a value with one component per replica.
            destinations: where the result is needed: distributed values, a variable, a tensor or a device name.

        Returns:
            A tensor, or ``Mirrored`` for several devices.
        """
        is_distributed = isinstance(per_replica_value, DistributedValues)
        values = per_replica_value.values if is_distributed else [per_replica_value]
        devices = devices_of(per_replica_value)
        if len(values) == 1 and not isinstance(destinations, str) and devices == devices_of(destinations):
            return Mirrored(devices, values)
        return self._reduced(reduce_op_of(reduce_op), values, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Return the sums or means of several values at once.

        Args:
            reduce_op: a ``ReduceOp``, or its name.
            value_destination_pairs: pairs of value and destinations, as for ``reduce``.

        Returns:
            A list of the results of ``reduce``.
        """
        return [self.reduce(reduce_op, value, where) for value, where in value_destination_pairs]

    def broadcast(self, tensor: TensorLike, destinations: Any) -> Any:
        """Copy a tensor to several devices.

        Args:
            tensor: the tensor.
            destinations: where it is needed.

        Returns:
            A tensor, or ``Mirrored`` for several devices.
        """
        return broadcast(tensor, destinations)

    def _reduced(self, op: ReduceOp, values: Sequence[Any], destinations: Any) -> Any:
        raise NotImplementedError


class ReductionToOneDevice(CrossDeviceOps):
    """Reductions on one device, whose result is copied to the others.

    Args:
        reduce_to_device: the device; None: the first destination.
        accumulation_fn: adds a list of tensors; None: ``tf.add_n``.
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Any = None) -> None:
        self._device, self._accumulate = reduce_to_device, accumulation_fn

    def _reduced(self, op: ReduceOp, values: Sequence[Any], destinations: Any) -> Any:
        device = self._device or devices_of(destinations)[0]
        if self._accumulate is None or isinstance(values[0], IndexedSlices):
            return broadcast(reduced_on(device, values, op), destinations)
        with get_default_graph().device(device):
            total = self._accumulate(list(values))
            total = _divided(total, len(values)) if op is ReduceOp.MEAN else total
        return broadcast(total, destinations)


class NcclAllReduce(CrossDeviceOps):
    """Reductions of values on GPUs with NCCL collectives.

    Args:
        num_packs: the number of packs that the tensors of a batch are merged into; 0: no packing.

    Raises:
        ValueError: ``num_packs`` is negative.
    """

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified")
        self._packs = num_packs
        self._fallback = ReductionToOneDevice()

    def _reduced(self, op: ReduceOp, values: Sequence[Any], destinations: Any) -> Any:
        if len(values) > 1 and devices_of(destinations) == tuple(value.device for value in values):
            return self._all_reduced(op, [values], devices_of(destinations))[0]
        return self._fallback._reduced(op, values, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Return the sums or means of several values at once, in packs if they have the same devices.

        Args:
            reduce_op: a ``ReduceOp``, or its name.
            value_destination_pairs: pairs of value and destinations, as for ``reduce``.

        Returns:
            A list of the results of ``reduce``.
        """
        pairs = list(value_destination_pairs)
        places = {devices_of(where) for _, where in pairs}
        together = len(places) == 1 and all(
            isinstance(value, DistributedValues) and value.devices in places and len(value.devices) > 1
            for value, _ in pairs
        )
        if not together:
            return super().batch_reduce(reduce_op, pairs)
        op = reduce_op_of(reduce_op)
        dense = [n for n, (value, _) in enumerate(pairs) if not isinstance(value.primary, IndexedSlices)]
        results: dict[int, Any] = {}
        if dense:
            reduced = self._all_reduced(op, [pairs[number][0].values for number in dense], next(iter(places)))
            results = dict(zip(dense, reduced, strict=True))
        for number, (value, where) in enumerate(pairs):
            if number not in results:
                results[number] = self._fallback.reduce(op, value, where)
        return [results[number] for number in range(len(pairs))]

    def _all_reduced(self, op: ReduceOp, batch: Sequence[Sequence[Any]], devices: Sequence[str]) -> list[Any]:
        """Return the sums of a batch of dense values, on each device."""
        columns = [list(column) for column in zip(*batch, strict=True)]
        packs = [_Packs(column, self._packs) for column in columns]
        summed = [nccl.all_sum(list(tensors)) for tensors in zip(*(p.packed for p in packs), strict=True)]
        by_device = [
            p.unpacked(list(tensors)) for p, tensors in zip(packs, zip(*summed, strict=True), strict=True)
        ]
        if op is ReduceOp.MEAN:
            for number, device in enumerate(devices):
                with get_default_graph().device(device):
                    by_device[number] = [_divided(value, len(devices)) for value in by_device[number]]
        return [Mirrored(devices, values) for values in zip(*by_device, strict=True)]


class _Packs:
    """The tensors of one device, concatenated and split into packs.

    Args:
        tensors: the tensors.
        count: the number of packs; 0: each tensor is its own pack.
    """

    def __init__(self, tensors: Sequence[Tensor], count: int) -> None:
        self.count, self.packed = count, list(tensors)
        if not count:
            return
        with get_default_graph().colocate_with(tensors[0].op):
            flat = [reshaping.reshape(tensor, [-1]) for tensor in tensors]
            self.shapes = [reshaping.shape(tensor) for tensor in tensors]
            self.sizes = [reshaping.size(tensor) for tensor in tensors]
            joined = joining.concat(flat, axis=0)
            total = joined.shape.num_elements()
            if total is None:
                raise ValueError(
                    "Gradients of unknown shape cannot be packed: use NcclAllReduce(num_packs=0)"
                )
            part = total // count
            sizes = [part] * (count - 1) + [total - part * (count - 1)]
            self.packed = joining.split(joined, sizes)

    def unpacked(self, packs: list[Tensor]) -> list[Tensor]:
        """Split packs into the original tensors."""
        if not self.count:
            return packs
        with get_default_graph().colocate_with(packs[0].op):
            joined = joining.concat(packs, axis=0)
            parts = joining.split(joined, joining.stack(self.sizes, name="packed"))
            return [reshaping.reshape(part, shape) for part, shape in zip(parts, self.shapes, strict=True)]
