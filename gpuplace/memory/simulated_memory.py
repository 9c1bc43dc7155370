"""Accounts the tensors of a simulated GPU in its allocator, for exactly as long as they live.

A tensor on a simulated GPU is a NumPy array. When the step first sees an array, its owner (the array whose memory a
view shows) is given bytes by the allocator; they go back when Python drops the owner. So views share one allocation,
what a variable keeps stays in use, and a step that fails leaves nothing behind: no bookkeeping of ours can go wrong.

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
from gpuplace.memory.allocator_text import oom_message
from gpuplace.memory.bfc_allocator import BFCAllocator


class _Owner(weakref.ref[Any]):
    """Remembers where the memory of an array was allocated."""

    __slots__ = ("address", "key")

    key: int
    address: int | None


class Reservation:
    """Bytes taken before a tensor is computed; given up when dropped unused.

    Args:
        memory: where they are.
        address: where they begin; None where there are none.
        nbytes: how large the tensor will be.
        unless: nobody gets them as long as this array is there.
    """

    __slots__ = ("address", "memory", "nbytes", "unless")

    def __init__(
        self,
        memory: TensorMemory,
        address: int | None,
        nbytes: int,
        unless: weakref.ref[Any] | None = None,
    ) -> None:
        self.memory = memory
        self.address = address
        self.nbytes = nbytes
        self.unless = unless

    def fits(self, nbytes: int) -> bool:
        """Whether an array of so many bytes gets them."""
        return self.nbytes == nbytes and (self.unless is None or self.unless() is None)

    def __del__(self) -> None:
        if self.address is not None:
            self.memory.give_up(self.address)


class TensorMemory(ABC):
    """The tensors of one GPU, each with the bytes that it has; who hands them out, says a subclass.

    Args:
        name: of who does.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._live: dict[int, _Owner] = {}
        self._claims: dict[int, list[None]] = {}
        """Of addresses that several arrays or reservations have had: an item for each but one."""

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
        if id(owner) in self._live:
            return value
        if value.nbytes > owner.nbytes:  # repeats a smaller array: a real GPU has no such thing
            owner = value = value.copy()
        if reservation is not None and reservation.fits(owner.nbytes):
            address, reservation.address = reservation.address, None
        else:
            address = self._allocate(owner.nbytes, label, value.shape, value.dtype, device)
        self._own(owner, address)
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
            owner, known = _owner_of(value), self._live.get(id(_owner_of(source)))
            if known is not None and known.address is not None and id(owner) not in self._live:
                self._claim(known.address)
                self._own(owner, known.address)
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
        known = self._live.get(id(owner))
        if known is None or known.address is None:
            return None
        self._claim(known.address)
        return Reservation(self, known.address, owner.nbytes, known if variable.is_resource else None)

    def _own(self, owner: Any, address: int | None) -> None:
        """Gives an array an address until it dies."""
        entry = _Owner(owner, self._dropped)
        entry.key, entry.address = id(owner), address
        self._live[entry.key] = entry

    def _claim(self, address: int) -> None:
        """Has an address given back only when one more has given it up."""
        self._claims.setdefault(address, []).append(None)

    def reserve(
        self, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
    ) -> Reservation:
        """Takes the bytes of a tensor that is about to be computed; ResourceExhaustedError if there are too few."""
        return Reservation(self, self._allocate(nbytes, label, shape, dtype, device), nbytes)

    @abstractmethod
    def _allocate(
        self, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
    ) -> int | None:
        """An address of so many bytes, None for none; ResourceExhaustedError if there are too few."""

    @abstractmethod
    def free(self, address: int) -> None:
        """Gives bytes back."""

    def _dropped(self, entry: _Owner) -> None:
        """Called by Python when an owner dies, in whichever thread that happens."""
        self._live.pop(entry.key, None)
        if entry.address is not None:
            self.give_up(entry.address)

    def give_up(self, address: int) -> None:
        """Gives bytes back, unless somebody else has them too."""
        others = self._claims.get(address)
        if others is not None:
            try:
                others.pop()
                return
            except IndexError:  # this was the last one
                del self._claims[address]
        self.free(address)


class SimulatedMemory(TensorMemory):
    """The tensors of one simulated GPU, of all sessions.

    Args:
        allocator: the GPU's allocator.
    """

    def __init__(self, allocator: BFCAllocator) -> None:
        super().__init__(allocator.name)
        self.allocator = allocator
        self._pending: deque[int] = deque()

    def _allocate(
        self, nbytes: int, label: str, shape: tuple[int, ...], dtype: Any, device: str
    ) -> int | None:
        if self._pending:
            self.collect()
        address = self.allocator.allocate(nbytes, label=label)
        if self._pending:  # what another thread dropped meanwhile
            self.collect()
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
        return address

    def _facts(self, nbytes: int) -> dict[str, str]:
        stats = self.allocator.stats()
        return {
            "wanted": f"{nbytes} bytes",
            "in use": f"{stats.bytes_in_use} of {stats.bytes_limit} bytes",
        }

    def free(self, address: int) -> None:
        """Gives bytes back now, or soon where the allocator is at work.

        Garbage collection can run anywhere, so also while this very thread holds the allocator's lock.
        """
        self._pending.append(address)
        self.collect()

    def collect(self) -> None:
        """Gives back what was dropped; what is dropped while the allocator is at work, whoever holds it returns."""
        while self._pending and not self.allocator._lock.locked():
            try:
                address = self._pending.popleft()
            except IndexError:  # another thread was faster
                return
            self.allocator.deallocate(address)


def _owner_of(value: Any) -> Any:
    """The array whose memory an array shows."""
    while type(value.base) is np.ndarray:
        value = value.base
    return value


_memories: weakref.WeakValueDictionary[int, SimulatedMemory] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def memory_of(allocator: BFCAllocator) -> SimulatedMemory:
    """The accounting of a GPU, one object for all sessions."""
    with _lock:
        memory = _memories.get(id(allocator))
        if memory is None:
            memory = _memories[id(allocator)] = SimulatedMemory(allocator)
    return memory
