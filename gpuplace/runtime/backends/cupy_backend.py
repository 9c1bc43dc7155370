"""Real GPUs: tensors are CuPy arrays; each device has a stream.

CuPy is imported when the first real GPU is used, and only here. Kernels and copies are queued on the device's stream
(``gpu_streams``), and the host waits for every copy.

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

from gpuplace.device.device_set import DeviceAttributes
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.errors import InternalError, OpError, UnimplementedError
from gpuplace.runtime.backends.gpu_streams import compute_stream
from gpuplace.runtime.backends.host_memory import address_of
from gpuplace.runtime.memory.gpu_options import allow_growth_value

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
        raise UnimplementedError.of(
            f"{device} is a real GPU, and computing on it needs CuPy.",
            hint="pip install 'gpuplace[cuda12]' (or [cuda13]), place on the CPU, or simulate GPUs with"
            " use_machine('2x Tesla K40c')",
        ) from error
    except ImportError as error:
        raise InternalError.of(
            f"CuPy cannot be loaded, so that {device} cannot compute: {error}", hint="python -c 'import cupy'"
        ) from error


class CupyBackend:
    """One real GPU.

    Args:
        device: the device; its ``visible_id`` is CUDA's number for it in this process.
        settings: the GPU options of the process's first session that had it.

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
        assert device.visible_id is not None
        try:
            self.compute = compute_stream(self.xp, device.visible_id)
            self.stream = self.compute.stream
            with self.compute.current():
                self._set_memory(device, settings)
        except OpError:
            raise
        except Exception as error:
            raise InternalError.of(
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
        self.compute.device.use()
        former.note_stream(self.compute.number)
        self.stream.use()

    # Copies

    def from_host(self, value: Any) -> Any:
        """A new array on the GPU."""
        value = np.asarray(value, order="C")
        target = self.compute.empty(value.shape, value.dtype)
        self.copy_into(target, value)
        return target

    def copy_into(self, target: Any, value: Any) -> None:
        """Copies an array of the host to one on the GPU, in C order, of the same shape and type."""
        value = np.asarray(value, order="C")
        if value.nbytes:
            with self._told(f"CPU->GPU Memcpy to {self.device}"):
                target.data.copy_from_host_async(address_of(value), value.nbytes, self.stream)
                self.stream.synchronize()

    def to_host(self, value: Any) -> Any:
        """A new array in host memory."""
        value = self.compute.contiguous(value)
        target = np.empty(value.shape, value.dtype)
        if target.nbytes:
            with self._told(f"GPU->CPU Memcpy from {self.device}"):
                value.data.copy_to_host_async(address_of(target), target.nbytes, self.stream)
                self.stream.synchronize()
        return target

    def copier_from(self, sender: CupyBackend) -> Callable[[Any], Any]:
        """Copies arrays of another GPU to this one."""
        compute, senders, runtime = self.compute, sender.compute, self.xp.cuda.runtime

        def copied(value: Any) -> Any:
            value = senders.contiguous(value)
            target = compute.empty(value.shape, value.dtype)
            if value.nbytes:
                with self._told(f"GPU->GPU Memcpy from {sender.device}"):
                    sender.stream.synchronize()
                    runtime.memcpyPeerAsync(
                        target.data.ptr,
                        compute.number,
                        value.data.ptr,
                        senders.number,
                        value.nbytes,
                        self.stream.ptr,
                    )
                    self.stream.synchronize()
            return target

        return copied

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """A block in which the GPU copies and is waited for; InternalError where it reports a failure."""
        with self.compute.current():
            try:
                yield
            except self._driver_error as error:
                raise InternalError.of(
                    f"{what} failed: {error}",
                    hint="a kernel queued earlier may have failed: CUDA_LAUNCH_BLOCKING=1 shows which",
                ) from error

    def on_device(self, value: Any) -> Any:
        """What a kernel returned, in the GPU's memory also where the kernel made a NumPy array."""
        return self.from_host(value) if isinstance(value, np.ndarray | np.generic) else value

    def on_host(self, value: Any) -> Any:
        """What a kernel returned, in host memory also where the kernel made a CuPy array."""
        return self.to_host(value) if isinstance(value, self.xp.ndarray) else value

    def __repr__(self) -> str:
        return f"<CupyBackend {self.device}>"


@contextlib.contextmanager
def gpu_step() -> Iterator[None]:
    """A block in which backends may be entered; at its end the thread has its device and streams back.

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
    """What a thread's current device and streams were before a step.

    Args:
        xp: the ``cupy`` module.
    """

    def __init__(self, xp: Any) -> None:
        cuda = self._cuda = xp.cuda
        self._device = cuda.Device()
        self._streams: dict[int, Any] = {}

    def note_stream(self, number: int) -> None:
        """Notes the current stream of the current device, whose number is given, before it is changed."""
        if number not in self._streams:
            self._streams[number] = self._cuda.get_current_stream()

    def restore(self) -> None:
        """Puts all back."""
        for number, stream in self._streams.items():
            self._cuda.Device(number).use()
            stream.use()
        self._device.use()
