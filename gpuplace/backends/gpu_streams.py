"""The streams of a real GPU: one for kernels and one for each direction of copies, shared by all sessions of a process.

A stream does its work in the order in which it was queued; between streams only events keep an order. The copies of a
step go to streams of their own, so that they run beside kernels, and the host queues on::

    host_to_device          wait A [ copy of x ] B
    compute          [K0] A [ K1 ]               wait B [K2(x)] C [ K3 ] [ K4 ]
    device_to_host                                              wait C [copy of y] D
    host             ... queues all this and then does what it has to do ...   wait D, then y

Memory is the difficult part. CuPy's pool keeps free memory apart by the stream that was current when it was taken, and
gives a block out again as soon as the last array over it is gone, while work that uses it may still be queued: right
for work on that stream, which comes later, and wrong for any other. Hence four rules.

1. All memory of a GPU is taken with ``compute`` as the current stream, so that the pool has one store of it. (The whole
   limit is taken in advance without ``allow_growth``; a second store would find nothing left.)
2. A copy into new memory waits for what is queued on ``compute`` by then (A): former owners of the block may still use
   it.
3. ``compute`` waits for a copy before the first kernel that takes what it brings (B).
4. Both ends of a copy are kept here, the source until it is done, the target until ``compute`` has been told to wait
   for it. So no block that a copy stream still reads or writes goes back to the pool, and nothing has to be waited for
   when an array dies. Where memory runs out while something is kept, it is waited for, and the memory asked for again.

A copy between GPUs runs on the sender's ``device_to_device`` and waits for both ``compute`` streams: the value has been
computed, and the receiver's block is free. What is copied is not written to: kernels make new arrays, and an update of
a variable writes into its array only where nobody else has it, copies that are kept here included.

Source: tensorflow/core/common_runtime/gpu/gpu_device.cc (StreamGroupFactory) and gpu_util.cc, release 1.15 (which
stream waits for which); CuPy's ``cuda/memory.pyx`` (arenas) and ``cuda/stream.pyx``, release 14.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from gpuplace.backends.pending_copy import PendingCopy

__all__ = ["CopyStream", "StreamGroup", "enable_peer_access", "retrying_allocator", "stream_group"]

PEER_ACCESS_ALREADY_ENABLED = 704
"""``cudaErrorPeerAccessAlreadyEnabled``."""

_groups: dict[int, StreamGroup] = {}
_peers: dict[tuple[int, int], bool] = {}
_lock = threading.Lock()


class CopyStream:
    """A stream for copies, and what is kept for those that are not known to be done.

    Args:
        xp: the ``cupy`` module.
    """

    def __init__(self, xp: Any) -> None:
        self.stream = xp.cuda.Stream(non_blocking=True)
        self._kept: deque[PendingCopy] = deque()
        self._lock = threading.RLock()

    def keep(self, copy: PendingCopy) -> None:
        """Keeps both ends of a copy that was queued; those that are done by now are let go."""
        with self._lock:
            self._kept.append(copy)
            self.let_go()

    def let_go(self) -> None:
        """Drops what is kept for copies that are done; asks, and does not wait."""
        kept = self._kept
        with self._lock:
            while kept and kept[0].is_done():
                kept.popleft()

    def taken(self) -> list[PendingCopy]:
        """What is kept; nothing is any more."""
        with self._lock:
            taken = list(self._kept)
            self._kept.clear()
        return taken


class StreamGroup:
    """The streams of one GPU.

    Args:
        xp: the ``cupy`` module.
        number: CUDA's number for the GPU.
    """

    def __init__(self, xp: Any, number: int) -> None:
        self.number = number
        self.device = xp.cuda.Device(number)
        self._cuda = xp.cuda
        before = xp.cuda.Device()
        self.device.use()
        try:
            self.compute = xp.cuda.Stream(non_blocking=True)
            self.host_to_device = CopyStream(xp)
            self.device_to_host = CopyStream(xp)
            self.device_to_device = CopyStream(xp)
            self._computed = xp.cuda.Event(block=False, disable_timing=True)
        finally:
            before.use()
        self._copies = self.host_to_device, self.device_to_host, self.device_to_device

    def wait_for_compute(self, stream: Any) -> None:
        """Makes a stream, of any GPU, wait for all that is queued on ``compute`` by now.

        One event does for all: where another thread records it in between, the stream waits for a little more.
        """
        self._computed.record(self.compute)
        stream.wait_event(self._computed)

    def mark(self, copies: CopyStream) -> Any:
        """An event that is over when all is done that has been queued on one of the streams for copies."""
        with self.current():
            event = self._cuda.Event(block=False, disable_timing=True)
        event.record(copies.stream)
        return event

    def current(self, stream: Any = None) -> Current:
        """A block in which the GPU and one of its streams, ``compute`` unless another is given, are the thread's."""
        return Current(self._cuda, self.device, self.compute if stream is None else stream)

    def let_go(self) -> None:
        """Drops what is kept for copies that are done."""
        for copies in self._copies:
            copies.let_go()

    def settle(self) -> bool:
        """Waits for all copies; whether there were any.

        Raises:
            InternalError: the driver says that a copy failed; nothing is kept for any of them all the same.
        """
        taken = [copy for copies in self._copies for copy in copies.taken()]
        for copy in taken:
            copy.wait()
        return bool(taken)


class Current:
    """A block with a current device and stream of its own.

    CuPy's own blocks forget the stream that was made the current one by ``use``, as plans do.

    Args:
        cuda: the module ``cupy.cuda``.
        device: the device.
        stream: the stream.
    """

    __slots__ = ("_cuda", "_device", "_former", "_stream")

    def __init__(self, cuda: Any, device: Any, stream: Any) -> None:
        self._cuda = cuda
        self._device = device
        self._stream = stream

    def __enter__(self) -> None:
        cuda = self._cuda
        former = cuda.Device()
        if former.id != self._device.id:
            self._device.use()
        stream = cuda.get_current_stream()
        if former.id == self._device.id and stream is self._stream:  # as nearly always within plans
            self._former = None
            return
        self._former = former, stream
        self._stream.use()

    def __exit__(self, *error: object) -> None:
        if self._former is not None:
            device, stream = self._former
            self._device.use()
            stream.use()
            device.use()


def stream_group(xp: Any, number: int) -> StreamGroup:
    """The streams of a GPU, made at the first call in a process."""
    with _lock:
        group = _groups.get(number)
        if group is None:
            group = _groups[number] = StreamGroup(xp, number)
        return group


def retrying_allocator(allocate: Callable[[int], Any], out_of_memory: Any) -> Callable[[int], Any]:
    """An allocator that, where memory runs out, waits for copies whose ends are kept and tries once more.

    Args:
        allocate: takes memory on the current device.
        out_of_memory: the class of what it raises.
    """

    def taken(size: int) -> Any:
        try:
            return allocate(size)
        except out_of_memory:
            waited = [group.settle() for group in list(_groups.values())]
            if not any(waited):
                raise
            return allocate(size)

    return taken


def enable_peer_access(xp: Any, number: int, peer: int) -> bool:
    """Lets two GPUs reach each other's memory, once in a process; whether they can."""
    with _lock:
        for device, other in ((number, peer), (peer, number)):
            if (device, other) not in _peers:
                _peers[device, other] = _is_enabled(xp, device, other)
        return _peers[number, peer] and _peers[peer, number]


def _is_enabled(xp: Any, number: int, peer: int) -> bool:
    runtime = xp.cuda.runtime
    if not runtime.deviceCanAccessPeer(number, peer):
        return False
    before = xp.cuda.Device()
    xp.cuda.Device(number).use()
    try:
        runtime.deviceEnablePeerAccess(peer)
    except runtime.CUDARuntimeError as error:
        if error.status != PEER_ACCESS_ALREADY_ENABLED:  # by CuPy, or by another library
            raise
    finally:
        before.use()
    return True
