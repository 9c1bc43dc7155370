"""The stream of each real GPU, shared by all sessions of a process, and blocks in which it is the current one.

CuPy's pool keeps free memory apart by the stream that was current when it was taken, and gives a block out again as
soon as the last array over it is gone, while work that uses it may still be queued: right for work on that stream,
which comes later. So all memory of a GPU is taken with its one stream as the current one, and its kernels and copies
are queued there. (Without ``allow_growth`` the whole limit is taken in advance; a second store would find nothing.)

Source: tensorflow/core/common_runtime/gpu/gpu_device.cc (StreamGroupFactory), release 1.15; CuPy's ``cuda/memory.pyx``
(arenas) and ``cuda/stream.pyx``, release 14.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gpuplace.errors import ResourceExhaustedError

_streams: dict[int, ComputeStream] = {}
_lock = threading.Lock()


class ComputeStream:
    """The stream of one GPU, and arrays in its memory.

    Args:
        xp: the ``cupy`` module.
        number: CUDA's number for the GPU.
    """

    def __init__(self, xp: Any, number: int) -> None:
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
        """A block in which the GPU and one of its streams, this one unless another is given, are the thread's."""
        return Current(self.xp.cuda, self.device, self.stream if stream is None else stream)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new array on the GPU."""
        return self._allocated(lambda: self.xp.empty(shape, dtype))

    def contiguous(self, value: Any) -> Any:
        """The array in C order: itself, or a copy of it that is queued with the kernels."""
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


def compute_stream(xp: Any, number: int) -> ComputeStream:
    """The stream of a GPU, made at the first call in a process."""
    with _lock:
        found = _streams.get(number)
        if found is None:
            found = _streams[number] = ComputeStream(xp, number)
        return found
