"""Stream of each real GPU, shared by all sessions of a process, and contexts in which it is current.

CuPy's pool manages free memory separately for each stream, and reuses a block as soon as its last array is deleted,
while work that uses it may still be queued. That is correct only for later work on the same stream. So all memory of a
GPU is allocated with its one stream as the current one, and its kernels and copies are queued there. (Without
``allow_growth`` the whole limit is allocated in advance, and nothing would be left for a second stream.)

Source: tensorflow/core/common_runtime/gpu/gpu_device.cc (StreamGroupFactory), release 1.15; CuPy's ``cuda/memory.pyx``
(arenas) and ``cuda/stream.pyx``, release 14.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gpuplace.errors import ResourceExhaustedError
from gpuplace.typing import ArrayModule, DTypeLike

_streams: dict[int, ComputeStream] = {}
_lock = threading.Lock()


class ComputeStream:
    """Stream of one GPU, and allocation of arrays in its memory.

    Args:
        xp: the ``cupy`` module.
        number: CUDA's number of the GPU.
    """

    def __init__(self, xp: ArrayModule, number: int) -> None:
        self.xp = xp
        self.number = number
        self.device = xp.cuda.Device(number)
        before = xp.cuda.Device()
        self.device.use()
        try:
            self.stream = xp.cuda.Stream(non_blocking=True)
        finally:
            before.use()

    def current(self, stream: Any = None) -> Current:
        """Return a context in which the GPU and one of its streams, by default this one, are current."""
        return Current(self.xp.cuda, self.device, self.stream if stream is None else stream)

    def empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return a new array on the GPU."""
        return self._allocated(lambda: self.xp.empty(shape, dtype))

    def contiguous(self, value: Any) -> Any:
        """Return the array in C order: itself, or a copy that is queued with the kernels."""
        if value.flags.c_contiguous:
            return value
        return self._allocated(lambda: self.xp.ascontiguousarray(value))

    def _allocated(self, make: Callable[[], Any]) -> Any:
        with self.current():
            try:
                return make()
            except self.xp.cuda.memory.OutOfMemoryError as error:
                raise ResourceExhaustedError.of(f"OOM on CUDA's GPU {self.number}: {error}") from error


class Current:
    """Context with its own current device and stream.

    CuPy's own contexts do not restore a stream that was made current by ``use``, as plans do.

    Args:
        cuda: the module ``cupy.cuda``.
        device: the device.
        stream: the stream.
    """

    __slots__ = ("_cuda", "_device", "_previous", "_stream")

    def __init__(self, cuda: Any, device: Any, stream: Any) -> None:
        self._cuda = cuda
        self._device = device
        self._stream = stream

    def __enter__(self) -> None:
        cuda = self._cuda
        previous = cuda.Device()
        if previous.id != self._device.id:
            self._device.use()
        stream = cuda.get_current_stream()
        if previous.id == self._device.id and stream is self._stream:  # the usual case within plans
            self._previous = None
            return
        self._previous = previous, stream
        self._stream.use()

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            device, stream = self._previous
            self._device.use()
            stream.use()
            device.use()


def compute_stream(xp: ArrayModule, number: int) -> ComputeStream:
    """Return the stream of a GPU, created on the first call in a process."""
    with _lock:
        stream = _streams.get(number)
        if stream is None:
            stream = _streams[number] = ComputeStream(xp, number)
        return stream
