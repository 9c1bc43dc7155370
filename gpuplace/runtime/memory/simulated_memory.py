"""Accounting of the tensors of a simulated GPU in its allocator, for exactly their lifetime.

A tensor on a simulated GPU is a NumPy array. When a step first uses an array, memory is allocated for its owner (the
array whose memory a view shows). When Python deletes the owner, that memory is freed before the next allocation. So
views share one allocation, the value of a variable stays allocated, and a failed step leaks nothing.

    t = kernel(...)          the owner of t is new: allocate
    s = t.reshape(...)       shares t's memory: nothing
    del t                    s still shows the memory: nothing
    del s                    the owner is deleted: deallocate

Two differences between NumPy and TensorFlow are hidden: a result that shares its input's memory in TensorFlow, but had
to be copied because of the input's strides, shares the input's allocation; and a variable's new array takes over the
allocation of the previous one, as if that had been overwritten.

Source: the behavior is that of reference-counted ``TensorBuffer`` in tensorflow/core/framework/tensor.h, release 1.15.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.errors import ResourceExhaustedError
from gpuplace.runtime.memory.allocator_text import oom_message
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator
from gpuplace.typing import Array, DTypeLike


class Owner(weakref.ref[Any]):
    """Entry of a live array, or of a reservation, and its allocation."""

    __slots__ = ("chunk", "holders", "key", "shared")

    chunk: Any
    """Allocation of this entry; None if it has none, or shares that of another entry."""
    holders: dict[int, Owner] | None
    """All entries that share the allocation, by ``id``; None if there is only one."""
    key: int
    shared: Owner | None
    """Entry whose allocation is shared; None if it is this one."""


class Reservation:
    """Memory allocated before a tensor is computed; freed if it is deleted unused.

    Args:
        nbytes: size of the tensor in bytes.
        unless: array during whose lifetime the reservation cannot be used.
    """

    __slots__ = ("__weakref__", "entry", "nbytes", "unless")

    entry: Owner

    def __init__(self, nbytes: int, unless: weakref.ref[Any] | None = None) -> None:
        self.nbytes = nbytes
        self.unless = unless

    def fits(self, nbytes: int) -> bool:
        """Whether an array of this size can use the reservation."""
        return self.nbytes == nbytes and (self.unless is None or self.unless() is None)


class TensorMemory(ABC):
    """Accounting of the tensors of one GPU; subclasses allocate the memory.

    An exception of a signal handler can occur at any instruction. An array has its entry before memory is allocated for
    it, so the memory is freed with the array, wherever the exception occurred. The deletion of an array is recorded by
    a C function: from a Python function, which may be called anywhere, Python would discard the exception.

    Args:
        name: name of the allocator.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._live: dict[int, Owner] = {}
        """Entries by ``id`` of their array or reservation; those of deleted arrays remain until `_release_dropped`."""
        self._dropped: deque[Owner] = deque()
        self._note_dropped = self._dropped.append

    def note(self, label: str, device: str, value: object, reservation: Reservation | None = None) -> Array:
        """Account for an array if its memory is new, and return it as an array.

        Args:
            label: name of the node, for pictures of memory.
            device: full device name, for the error message.
            value: result of a kernel.
            reservation: memory reserved for it.

        Raises:
            ResourceExhaustedError: memory ran out.
        """
        if type(value) is not np.ndarray:
            value = np.asarray(value)
        owner = _owner_of(value)
        if self._entry_of(owner) is not None:
            return value
        # A broadcast view of a smaller array, which a real GPU stores in full.
        if value.nbytes > owner.nbytes:
            owner = value = value.copy()
        if reservation is not None and reservation.fits(owner.nbytes):
            self._own(owner, reservation.entry)
            reservation.nbytes = _TAKEN
        else:
            entry = self._own(owner)
            try:
                self._allocate(entry, owner.nbytes, label, value.shape, value.dtype, device)
            except ResourceExhaustedError:
                del self._live[entry.key]
                raise
        return value

    def note_shared(self, label: str, device: str, source: Any, value: Any) -> Any:
        """Account for an array that shares the memory of another array, and return it.

        Args:
            label, device: as in `note`.
            source: the other array.
            value: result of a kernel; not a view of the other array if NumPy had to copy.

        Raises:
            ResourceExhaustedError: memory ran out.
        """
        if type(value) is np.ndarray and type(source) is np.ndarray and value.nbytes == source.nbytes:
            owner, source_entry = _owner_of(value), self._entry_of(_owner_of(source))
            if source_entry is not None and _has_bytes(source_entry) and self._entry_of(owner) is None:
                self._own(owner, source_entry)
                return value
        return self.note(label, device, value)

    def hold(self, reference: Any) -> Reservation | None:
        """Return the memory of a variable's value as a reservation for its new value; None if it has none.

        As in TensorFlow, the value of a reference variable is overwritten even if it has been read; that of a resource
        variable only if there are no other references.

        Args:
            reference: the variable, or its handle.
        """
        handle = getattr(reference, "resource", None)
        variable = reference if handle is None else handle
        if not getattr(variable, "is_initialized", False) or type(variable.value) is not np.ndarray:
            return None
        owner = _owner_of(variable.value)
        entry = self._entry_of(owner)
        if entry is None or not _has_bytes(entry):
            return None
        reservation = Reservation(owner.nbytes, entry if variable.is_resource else None)
        reservation.entry = self._own(reservation, entry)
        return reservation

    def reserve(
        self, nbytes: int, label: str, shape: tuple[int, ...], dtype: DTypeLike, device: str
    ) -> Reservation:
        """Allocate the memory of a tensor that is about to be computed.

        Raises:
            ResourceExhaustedError: memory ran out.
        """
        reservation = Reservation(nbytes)
        reservation.entry = self._own(reservation)
        self._allocate(reservation.entry, nbytes, label, shape, dtype, device)
        return reservation

    def _entry_of(self, owner: object) -> Owner | None:
        """Return the entry of an array; None if it has none."""
        entry = self._live.get(id(owner))
        return entry if entry is not None and entry() is owner else None

    def _own(self, owner: object, shared: Owner | None = None) -> Owner:
        """Return a new entry for an array or reservation, which may share the allocation of another one."""
        entry = Owner(owner, self._note_dropped)
        entry.key = id(owner)
        entry.chunk = entry.holders = entry.shared = None
        if shared is not None:
            first = shared if shared.shared is None else shared.shared
            entry.shared = first
            if first.holders is None:
                first.holders = {id(first): first}
            first.holders[id(entry)] = entry
        self._live[entry.key] = entry
        return entry

    @abstractmethod
    def _allocate(
        self, entry: Owner, nbytes: int, label: str, shape: tuple[int, ...], dtype: DTypeLike, device: str
    ) -> None:
        """Allocate memory for an entry, none for 0 bytes; raises ResourceExhaustedError if there is too little."""

    @abstractmethod
    def _give_back(self, entry: Owner) -> None:
        """Free the memory of an entry; may be called twice for an entry."""

    def _release_dropped(self) -> None:
        """Free the memory of deleted arrays, in one thread at a time; an interrupted call is repeated by the next."""
        dropped = self._dropped
        while dropped:
            entry = dropped[0]
            if self._live.get(entry.key) is entry:
                del self._live[entry.key]
            first = entry if entry.shared is None else entry.shared
            if first.holders is not None:
                first.holders.pop(id(entry), None)
            if not first.holders:
                self._give_back(first)
            dropped.popleft()


_TAKEN = -1
"""Size of a used reservation."""


def _has_bytes(entry: Owner) -> bool:
    return (entry if entry.shared is None else entry.shared).chunk is not None


class SimulatedMemory(TensorMemory):
    """Accounting of the tensors of one simulated GPU, of all sessions.

    Args:
        allocator: the GPU's allocator.
    """

    def __init__(self, allocator: BFCAllocator) -> None:
        super().__init__(allocator.name)
        self.allocator = allocator
        allocator.memory = self

    def _allocate(
        self, entry: Owner, nbytes: int, label: str, shape: tuple[int, ...], dtype: DTypeLike, device: str
    ) -> None:
        address = self.allocator.allocate(nbytes, label=label, entry=entry)
        if address is None and nbytes > 0:
            error = ResourceExhaustedError.of(
                oom_message(shape, as_dtype(dtype), device, self.allocator.name),
                facts=self._facts(nbytes),
                hint="use smaller batches, or move part of the graph to another device",
            )
            held = [chunk for chunk in self.allocator.chunks() if chunk.in_use]
            # For ``report_tensor_allocations_upon_oom``.
            vars(error)["usage"] = device, self.allocator.name, held
            raise error

    def _facts(self, nbytes: int) -> dict[str, str]:
        stats = self.allocator.stats()
        return {
            "wanted": f"{nbytes} bytes",
            "in use": f"{stats.bytes_in_use} of {stats.bytes_limit} bytes",
        }

    def _give_back(self, entry: Owner) -> None:
        self.allocator.give_back(entry)

    def release_dropped(self) -> None:
        """Free the memory of deleted arrays; called by the allocator, under its lock, before each operation."""
        if self._dropped:
            self._release_dropped()


def _owner_of(value: Array) -> Array:
    """Return the array that owns the memory of an array."""
    while type(value.base) is np.ndarray:
        value = value.base
    return value


_lock = threading.Lock()


def memory_of(allocator: BFCAllocator) -> SimulatedMemory:
    """Return the accounting of a GPU, one object for all sessions."""
    with _lock:
        memory: SimulatedMemory = allocator.memory or SimulatedMemory(allocator)
    return memory
