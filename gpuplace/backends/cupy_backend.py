"""Real GPUs: tensors are CuPy arrays; each device has its streams.

CuPy is imported when the first real GPU is used, and only here. Kernels are queued on the device's ``compute`` stream,
copies on streams of their own (``gpu_streams``: which waits for which, and how memory is kept till then). Copies come
in two forms: ``start_...`` queues one and returns what plans hold of it (``pending_copy``), the plain form returns the
array at once, for traces and wherever a value is needed on the spot.

The memory options of the process's first session go to CuPy's pool: a limit, and without ``allow_growth`` all of it
taken at once.

Source: tensorflow/core/common_runtime/gpu/gpu_device.cc and gpu_util.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuplace.backends.gpu_streams import (
    CopyStream,
    StreamGroup,
    enable_peer_access,
    retrying_allocator,
    stream_group,
)
from gpuplace.backends.pending_copy import CopyToDevice, CopyToHost
from gpuplace.backends.pinned_memory import pinned_pool
from gpuplace.device.device_set import DeviceAttributes
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.errors import InternalError, OpError, ResourceExhaustedError, UnimplementedError
from gpuplace.memory.gpu_options import allow_growth_value

__all__ = ["CupyBackend", "gpu_step", "load_cupy"]

_pools_made: set[int] = set()
_lock = threading.Lock()


class _Thread(threading.local):
    """What a thread remembers during a step."""

    former: _Former | None = None


_thread = _Thread()


def load_cupy(device: str) -> Any:
    """The ``cupy`` module.

    Raises:
        UnimplementedError: it is not installed.
        InternalError: it is there and cannot be loaded.
    """
    try:
        return importlib.import_module("cupy")
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise
        raise UnimplementedError(
            None,
            None,
            f"{device} is a real GPU, and computing on it needs CuPy.",
            hint="pip install 'gpuplace[cuda12]' (or [cuda13]), place on the CPU, or simulate GPUs with"
            " use_machine('2x Tesla K40c')",
        ) from error
    except ImportError as error:
        raise InternalError(
            None,
            None,
            f"CuPy cannot be loaded, so that {device} cannot compute: {error}",
            hint="python -c 'import cupy'",
        ) from error


class CupyBackend:
    """One real GPU.

    Args:
        device: the device; its ``visible_id`` is CUDA's number for it in this process.
        settings: the GPU options.

    Raises:
        UnimplementedError: CuPy is not installed.
        InternalError: the GPU or its driver fails.
    """

    owns_arrays = True
    memory = None
    allocator_name: str

    def __init__(self, device: DeviceAttributes, settings: GPUSettings) -> None:
        self.device = device.name
        self.device_type = device.device_type
        self.allocator_name = f"GPU_{device.id}_bfc"
        self.xp = load_cupy(device.name)
        self._driver_error = self.xp.cuda.runtime.CUDARuntimeError
        self._pinned = pinned_pool(self.xp)
        self._from_host_text = f"CPU->GPU Memcpy to {device.name}"
        self._to_host_text = f"GPU->CPU Memcpy from {device.name}"
        assert device.visible_id is not None
        try:
            self.streams = stream_group(self.xp, device.visible_id)
            self.stream = self.streams.compute
            with self.streams.current():
                self._set_memory(device, settings)
        except OpError:
            raise
        except Exception as error:
            raise InternalError(
                None,
                None,
                f"{device.name} cannot be used: {type(error).__name__}: {error}",
                facts={"hardware": device.physical_device_desc},
                hint="nvidia-smi, and CUDA_VISIBLE_DEVICES",
            ) from error

    def _set_memory(self, device: DeviceAttributes, settings: GPUSettings) -> None:
        """Limits CuPy's pool on this GPU, once in the life of the process."""
        pool = self.xp.get_default_memory_pool()
        with _lock:
            if device.visible_id in _pools_made:
                return
            pool.set_limit(size=device.memory_limit)
            if not allow_growth_value(settings.allow_growth, os.environ):
                free, _ = self.xp.cuda.runtime.memGetInfo()
                block = self.xp.cuda.alloc(min(device.memory_limit, free * 9 // 10))
                del block  # stays in the pool
            assert device.visible_id is not None
            _pools_made.add(device.visible_id)

    def enter(self) -> None:
        """Makes the device and its stream the thread's current ones; the first time in a step, remembers the former.

        Only within ``gpu_step``.
        """
        former = _thread.former
        if former is None:
            former = _thread.former = _Former(self.xp)
        self.streams.device.use()
        former.note_stream(self.streams.number)
        self.stream.use()

    # Copies

    def start_from_host(self, value: Any) -> CopyToDevice:
        """Queues a copy to a new array on the GPU; the value is the caller's again when this returns."""
        value = np.asarray(value)
        with self.streams.current():
            target = self._allocated(lambda: self.xp.empty(value.shape, value.dtype))
        return self.start_into(target, value)

    def start_into(self, target: Any, value: Any) -> CopyToDevice:
        """As ``start_from_host``, to an array that is there: in C order, of the value's shape and type."""
        streams = self.streams
        staged = self._pinned.empty(value.shape, value.dtype)
        np.copyto(staged, value)
        copies = streams.host_to_device
        streams.wait_for_compute(copies.stream)
        if staged.nbytes:
            target.data.copy_from_host_async(_address(staged), staged.nbytes, copies.stream)
        return self._arriving(streams, copies, staged, target, self._from_host_text)

    def start_to_host(self, value: Any) -> CopyToHost:
        """Queues a copy to host memory."""
        streams = self.streams
        value = self._contiguous(value)
        target = self._pinned.empty(value.shape, value.dtype)
        copies = streams.device_to_host
        streams.wait_for_compute(copies.stream)
        if target.nbytes:
            value.data.copy_to_host_async(_address(target), target.nbytes, copies.stream)
        copy = CopyToHost(value, target, streams.mark(copies), self._to_host_text, self._driver_error)
        copies.keep(copy)
        return copy

    def starter_from(self, sender: CupyBackend) -> Callable[[Any], CopyToDevice]:
        """What queues copies of arrays of another GPU to this one.

        Raises:
            InternalError: the driver refuses that the two reach each other's memory.
        """
        runtime, receiver, text = self.xp.cuda.runtime, self.streams, f"GPU->GPU Memcpy from {sender.device}"
        senders, copies = sender.streams, sender.streams.device_to_device
        stream = copies.stream
        try:
            enable_peer_access(self.xp, senders.number, receiver.number)
        except self._driver_error as error:
            raise InternalError(
                None, None, f"failed to enable peer access between {sender.device} and {self.device}: {error}"
            ) from error

        def start(value: Any) -> CopyToDevice:
            value = sender._contiguous(value)
            with self.streams.current():
                target = self._allocated(lambda: self.xp.empty(value.shape, value.dtype))
            senders.wait_for_compute(stream)
            receiver.wait_for_compute(stream)
            if value.nbytes:
                runtime.memcpyPeerAsync(
                    target.data.ptr,
                    receiver.number,
                    value.data.ptr,
                    senders.number,
                    value.nbytes,
                    stream.ptr,
                )
            return self._arriving(senders, copies, value, target, text)

        return start

    def _arriving(
        self, streams: StreamGroup, copies: CopyStream, source: Any, target: Any, text: str
    ) -> CopyToDevice:
        """What has been queued on a stream to bring ``source`` here."""
        copy = CopyToDevice(source, target, streams.mark(copies), text, self._driver_error, self.stream)
        copies.keep(copy)
        return copy

    def _contiguous(self, value: Any) -> Any:
        """The array in C order: itself, or a copy of it that is queued with the kernels."""
        if value.flags.c_contiguous:
            return value
        with self.streams.current():
            return self._allocated(lambda: self.xp.ascontiguousarray(value))

    def from_host(self, value: Any) -> Any:
        """A new array on the GPU."""
        return self.start_from_host(value).value()

    def to_host(self, value: Any) -> Any:
        """A new array in host memory; waits for it."""
        return self.start_to_host(value).value()

    def copier_from(self, sender: CupyBackend) -> Callable[[Any], Any]:
        """Copies arrays of another GPU to this one; streams wait for each other, the host does not."""
        start = self.starter_from(sender)
        return lambda value: start(value).value()

    def on_device(self, value: Any) -> Any:
        """What a kernel returned, in the GPU's memory also where the kernel made a NumPy array."""
        return self.from_host(value) if isinstance(value, np.ndarray | np.generic) else value

    def on_host(self, value: Any) -> Any:
        """What a kernel returned, in host memory also where the kernel made a CuPy array."""
        return self.to_host(value) if isinstance(value, self.xp.ndarray) else value

    def _allocated(self, make: Any) -> Any:
        try:
            return make()
        except self.xp.cuda.memory.OutOfMemoryError as error:
            raise ResourceExhaustedError(None, None, f"OOM on {self.device}: {error}") from error

    def __repr__(self) -> str:
        return f"<CupyBackend {self.device}>"


@contextlib.contextmanager
def gpu_step() -> Iterator[None]:
    """A block in which backends may be entered; at its end the thread has its device, streams and allocator back.

    Blocks nest: what a step calls may run another one.
    """
    outer, _thread.former = _thread.former, None
    try:
        yield
    finally:
        former, _thread.former = _thread.former, outer
        if former is not None:
            former.restore()


class _Former:
    """What a thread's current device, streams and allocator were before a step.

    Args:
        xp: the ``cupy`` module.
    """

    def __init__(self, xp: Any) -> None:
        cuda = self._cuda = xp.cuda
        self._device = cuda.Device()
        self._streams: dict[int, Any] = {}
        taken = retrying_allocator(cuda.get_allocator(), cuda.memory.OutOfMemoryError)
        self._allocator = cuda.using_allocator(taken)
        self._allocator.__enter__()

    def note_stream(self, number: int) -> None:
        """Notes the current stream of the current device, whose number is given, before it is changed."""
        if number not in self._streams:
            self._streams[number] = self._cuda.get_current_stream()

    def restore(self) -> None:
        """Puts all back."""
        self._allocator.__exit__(None, None, None)
        for number, stream in self._streams.items():
            self._cuda.Device(number).use()
            stream.use()
        self._device.use()


def _address(array: Any) -> int:
    """Where a NumPy array lies."""
    return int(array.__array_interface__["data"][0])
