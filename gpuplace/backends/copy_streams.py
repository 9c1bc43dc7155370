"""Copies of a real GPU on streams of their own, one for each direction, beside its kernels: an experiment.

See ``gpu_experiments``. A stream does its work in the order in which it was queued; between streams only events keep
an order. So copies run beside kernels, and the host queues on::

    host_to_device          wait A [ copy of x ] B
    compute          [K0] A [ K1 ]               wait B [K2(x)] C [ K3 ] [ K4 ]
    device_to_host                                              wait C [copy of y] D
    host             ... queues all this and then does what it has to do ...   wait D, then y

Memory is the difficult part: a block that is given back goes to the next owner at once (``gpu_streams``), which is
wrong for work that is queued on another stream than ``compute``. Hence four rules.

1. All memory of a GPU is taken with ``compute`` as the current stream, so that the pool has one store of it.
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
stream waits for which).
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.backends.gpu_streams import ComputeStream
from gpuplace.backends.pending_copy import PendingCopy
from gpuplace.errors import InternalError

PEER_ACCESS_ALREADY_ENABLED = 704
"""``cudaErrorPeerAccessAlreadyEnabled``."""

_groups: dict[int, CopyStreams] = {}
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


class CopyStreams:
    """The streams for copies of one GPU.

    Args:
        compute: the stream of its kernels.
    """

    def __init__(self, compute: ComputeStream) -> None:
        self.compute = compute
        self._cuda = cuda = compute.xp.cuda
        with compute.current():
            self.host_to_device = CopyStream(compute.xp)
            self.device_to_host = CopyStream(compute.xp)
            self.device_to_device = CopyStream(compute.xp)
            self._computed = cuda.Event(block=False, disable_timing=True)
        self._copies = self.host_to_device, self.device_to_host, self.device_to_device

    def wait_for_compute(self, stream: Any) -> None:
        """Makes a stream, of any GPU, wait for all that is queued on ``compute`` by now.

        One event does for all: where another thread records it in between, the stream waits for a little more.
        """
        self._computed.record(self.compute.stream)
        stream.wait_event(self._computed)

    def mark(self, copies: CopyStream) -> Any:
        """An event that is over when all is done that has been queued on one of the streams for copies."""
        with self.compute.current():
            event = self._cuda.Event(block=False, disable_timing=True)
        event.record(copies.stream)
        return event

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


def copy_streams(compute: ComputeStream) -> CopyStreams:
    """The streams for copies of a GPU, made at the first call in a process."""
    with _lock:
        group = _groups.get(compute.number)
        if group is None:
            group = _groups[compute.number] = CopyStreams(compute)
        return group


@contextlib.contextmanager
def settling(groups: Sequence[CopyStreams]) -> Iterator[None]:
    """A block that queues copies: what it keeps for those that are done is dropped, and all are waited for if it fails.

    A copy that fails too is told in a note of the block's error.
    """
    try:
        yield
    except BaseException as error:
        for group in groups:
            try:
                group.settle()
            except InternalError as late:  # one error for the caller, with both texts
                error.add_note(f"A copy that was under way: {late.message}")
        raise
    finally:
        for group in groups:
            group.let_go()


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
