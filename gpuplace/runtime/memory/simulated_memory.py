"""Accounts the tensors of a simulated GPU in its allocator, for exactly as long as they live.

A tensor on a simulated GPU is a NumPy array. When the step first sees an array, its owner (the array whose memory a
view shows) is given bytes by the allocator. When Python drops the owner, they go back before anything else is taken. So
views share one allocation, what a variable keeps stays in use, and a step that fails leaves nothing behind: no
bookkeeping of ours can go wrong.

    t = kernel(...)          the owner of t is new: allocate
    s = t.reshape(...)       shares t's memory: nothing
    del t                    s still shows the memory: nothing
    del s                    the owner dies: deallocate

Two things NumPy does otherwise than TensorFlow, and neither shows: where a result that shares its input's memory had
to be copied, for the strides of the input, both have the bytes of the one; and the array that takes the place of a
variable's value takes over its bytes, as if it had been written over.

Source: the behaviour is that of reference-counted ``TensorBuffer`` in tensorflow/core/framework/tensor.h, release 1.15.
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


class Owner(weakref.ref[Any]):
    """The bytes of an array, or of a reservation, that is alive."""

    __slots__ = ("chunk", "holders", "key", "shared")

    chunk: Any
    """What the allocator has taken for them; None where there are none, or another entry has taken them."""
    holders: dict[int, Owner] | None
    """All that need the bytes, by ``id``, where they are several."""
    key: int
    shared: Owner | None
    """The entry that has taken the bytes, where that is another one."""


class Reservation:
    """Bytes taken before a tensor is computed; given up when dropped unused.

    Args:
        nbytes: how large the tensor will be.
        unless: nobody gets them as long as this array is there.
    """

    __slots__ = ("__weakref__", "entry", "nbytes", "unless")

    entry: Owner

    def __init__(self, nbytes: int, unless: weakref.ref[Any] | None = None) -> None:
        self.nbytes = nbytes
        self.unless = unless

    def fits(self, nbytes: int) -> bool:
        """Whether an array of so many bytes gets them."""
        return self.nbytes == nbytes and (self.unless is None or self.unless() is None)


class TensorMemory(ABC):
    """The tensors of one GPU, each with the bytes that it has; who hands them out, says a subclass.

    An exception of a signal handler can come at any instruction. An array has its entry before bytes are taken for it,
    so that the bytes go back with the array, wherever the exception came. When an array dies, a function of C notes
    that: in a function of Python's, which may be called anywhere, Python would drop the exception.

    Args:
        name: of who does.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._live: dict[int, Owner] = {}
        """By ``id`` of what they are of; those of dead arrays are there until `_release_dropped`."""
        self._dropped: deque[Owner] = deque()
        self._note_dropped = self._dropped.append

    def note(self, label: str, device: str, value: Any, reservation: Reservation | None = None) -> Any:
        """Counts an array, if its memory is new, and returns it as an array.

        Args:
            label: name of the node, for pictures of memory.
            device: full name of the device, for the error.
            value: what a kernel returned.
            reservation: bytes taken for it in advance.

        Raises:
            ResourceExhaustedError: memory ran out.
        """
        if type(value) is not np.ndarray:
            value = np.asarray(value)
        owner = _owner_of(value)
        if self._entry_of(owner) is not None:
            return value
        if value.nbytes > owner.nbytes:  # repeats a smaller array: a real GPU has no such thing
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
        """Counts an array that has its memory in common with another one, and returns it.

        Args:
            label, device: as of `note`.
            source: the other array.
            value: what a kernel returned; where NumPy had to copy, it is no view of it.

        Raises:
            ResourceExhaustedError: memory ran out.
        """
        if type(value) is np.ndarray and type(source) is np.ndarray and value.nbytes == source.nbytes:
            owner, known = _owner_of(value), self._entry_of(_owner_of(source))
            if known is not None and _has_bytes(known) and self._entry_of(owner) is None:
                self._own(owner, known)
                return value
        return self.note(label, device, value)

    def hold(self, reference: Any) -> Reservation | None:
        """The bytes of a variable's value, for the one that an update puts in its place; None if there are none.

        As in TensorFlow the value of a reference variable is written over, whoever has read it; that of a resource
        variable only where nobody else has it.

        Args:
            reference: the variable, or the handle of one.
        """
        handle = getattr(reference, "resource", None)
        variable = reference if handle is None else handle
        if not getattr(variable, "is_initialized", False) or type(variable.value) is not np.ndarray:
            return None
        owner = _owner_of(variable.value)
        known = self._entry_of(owner)
        if known is None or not _has_bytes(known):
            return None
        held = Reservation(owner.nbytes, known if variable.is_resource else None)
        held.entry = self._own(held, known)
        return held

    def reserve(
        self, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
    ) -> Reservation:
        """Takes the bytes of a tensor that is about to be computed; ResourceExhaustedError if there are too few."""
        reservation = Reservation(nbytes)
        reservation.entry = self._own(reservation)
        self._allocate(reservation.entry, nbytes, label, shape, dtype, device)
        return reservation

    def _entry_of(self, owner: Any) -> Owner | None:
        """The entry of an array; None where it is not counted."""
        entry = self._live.get(id(owner))
        return entry if entry is not None and entry() is owner else None

    def _own(self, owner: Any, shared: Owner | None = None) -> Owner:
        """The entry of a new array or reservation, which may share the bytes of another one."""
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
        self, entry: Owner, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
    ) -> None:
        """Takes so many bytes for an entry, none for 0; ResourceExhaustedError if there are too few."""

    @abstractmethod
    def _give_back(self, entry: Owner) -> None:
        """Gives the bytes back that an entry has taken; it may be told so twice."""

    def _release_dropped(self) -> None:
        """Gives back what was dropped; one thread at a time. What is interrupted is done again."""
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
"""Size of a reservation that an array has got."""


def _has_bytes(entry: Owner) -> bool:
    return (entry if entry.shared is None else entry.shared).chunk is not None


class SimulatedMemory(TensorMemory):
    """The tensors of one simulated GPU, of all sessions.

    Args:
        allocator: the GPU's allocator.
    """

    def __init__(self, allocator: BFCAllocator) -> None:
        super().__init__(allocator.name)
        self.allocator = allocator
        allocator.memory = self

    def _allocate(
        self, entry: Owner, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
    ) -> None:
        address = self.allocator.allocate(nbytes, label=label, entry=entry)
        if address is None and nbytes > 0:
            error = ResourceExhaustedError.of(
                oom_message(shape, as_dtype(dtype), device, self.allocator.name),
                facts=self._facts(nbytes),
                hint="smaller batches, or move a part of the graph to another device",
            )
            held = [chunk for chunk in self.allocator.chunks() if chunk.in_use]
            vars(error)["usage"] = (
                device,
                self.allocator.name,
                held,
            )  # for ``report_tensor_allocations_upon_oom``
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
        """Gives back what was dropped; the allocator calls it before anything else, while nobody else uses it."""
        if self._dropped:
            self._release_dropped()


def _owner_of(value: Any) -> Any:
    """The array whose memory an array shows."""
    while type(value.base) is np.ndarray:
        value = value.base
    return value


_lock = threading.Lock()


def memory_of(allocator: BFCAllocator) -> SimulatedMemory:
    """The accounting of a GPU, one object for all sessions."""
    with _lock:
        memory: SimulatedMemory = allocator.memory or SimulatedMemory(allocator)
    return memory
