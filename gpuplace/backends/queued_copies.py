"""Starting copies of a real GPU on its streams for copies: an experiment, see ``gpu_experiments``.

``start_...`` queues a copy and returns what plans hold of it (``pending_copy``). Which stream waits for which, and how
memory is kept till then, is in ``copy_streams``.

Source: tensorflow/core/common_runtime/gpu/gpu_util.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.backends.copy_streams import CopyStream, CopyStreams, copy_streams, enable_peer_access
from gpuplace.backends.gpu_streams import ComputeStream
from gpuplace.backends.host_memory import address_of
from gpuplace.backends.pending_copy import CopyToDevice, CopyToHost
from gpuplace.backends.pinned_memory import pinned_pool
from gpuplace.errors import InternalError


class QueuedCopies:
    """Queues the copies of one GPU.

    Args:
        device: full name of the GPU.
        compute: the stream of its kernels.
    """

    def __init__(self, device: str, compute: ComputeStream) -> None:
        self.device = device
        self.compute = compute
        self.streams = copy_streams(compute)
        self._pinned = pinned_pool(compute.xp)
        self._driver_error = compute.xp.cuda.runtime.CUDARuntimeError
        self._from_host_text = f"CPU->GPU Memcpy to {device}"
        self._to_host_text = f"GPU->CPU Memcpy from {device}"

    def start_from_host(self, value: Any) -> CopyToDevice:
        """Queues a copy to a new array on the GPU; the value is the caller's again when this returns."""
        value = np.asarray(value)
        target = self.compute.empty(value.shape, value.dtype)
        staged = self._pinned.empty(value.shape, value.dtype)
        np.copyto(staged, value)
        copies = self.streams.host_to_device
        self.streams.wait_for_compute(copies.stream)
        if staged.nbytes:
            target.data.copy_from_host_async(address_of(staged), staged.nbytes, copies.stream)
        return self._arriving(self.streams, copies, staged, target, self._from_host_text)

    def start_to_host(self, value: Any) -> CopyToHost:
        """Queues a copy to host memory."""
        streams = self.streams
        value = self.compute.contiguous(value)
        target = self._pinned.empty(value.shape, value.dtype)
        copies = streams.device_to_host
        streams.wait_for_compute(copies.stream)
        if target.nbytes:
            value.data.copy_to_host_async(address_of(target), target.nbytes, copies.stream)
        copy = CopyToHost(value, target, streams.mark(copies), self._to_host_text, self._driver_error)
        copies.keep(copy)
        return copy

    def starter_from(self, sender: QueuedCopies) -> Callable[[Any], CopyToDevice]:
        """What queues copies of arrays of another GPU to this one.

        Raises:
            InternalError: the driver refuses that the two reach each other's memory.
        """
        receiver, text = self.compute, f"GPU->GPU Memcpy from {sender.device}"
        xp, number, copies = receiver.xp, sender.compute.number, sender.streams.device_to_device
        stream = copies.stream
        try:
            enable_peer_access(xp, number, receiver.number)
        except self._driver_error as error:
            raise InternalError.of(
                f"failed to enable peer access between {sender.device} and {self.device}: {error}"
            ) from error

        def start(value: Any) -> CopyToDevice:
            value = sender.compute.contiguous(value)
            target = receiver.empty(value.shape, value.dtype)
            sender.streams.wait_for_compute(stream)
            self.streams.wait_for_compute(stream)
            if value.nbytes:
                xp.cuda.runtime.memcpyPeerAsync(
                    target.data.ptr, receiver.number, value.data.ptr, number, value.nbytes, stream.ptr
                )
            return self._arriving(sender.streams, copies, value, target, text)

        return start

    def _arriving(
        self, streams: CopyStreams, copies: CopyStream, source: Any, target: Any, text: str
    ) -> CopyToDevice:
        """What has been queued on a stream to bring ``source`` here."""
        copy = CopyToDevice(
            source, target, streams.mark(copies), text, self._driver_error, self.compute.stream
        )
        copies.keep(copy)
        return copy
