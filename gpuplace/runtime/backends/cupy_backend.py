"""Backend of real GPUs: tensors are CuPy arrays; each device has a stream.

CuPy is imported only here, when the first real GPU is used. Kernels and copies are queued on the device's stream
(``gpu_streams``), and the host waits for each copy.

The memory options of the process's first session apply to CuPy's pool: a limit, which is allocated at once without
``allow_growth``.

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
from gpuplace.typing import ArrayModule

_pools_made: set[int] = set()
_lock = threading.Lock()


class _Thread(threading.local):
    """State of a thread during a step."""

    previous: _ThreadState | None = None


_thread = _Thread()


def load_cupy(device: str) -> Any:
    """Return the ``cupy`` module.

    Raises:
        UnimplementedError: it is not installed.
        InternalError: it is installed but cannot be loaded.
    """
    try:
        return importlib.import_module("cupy")
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise
        raise UnimplementedError.of(
            f"Running operations on {device}, a real GPU, requires CuPy.",
            hint="run pip install 'gpuplace[cuda12]' (or [cuda13]), place operations on the CPU, or simulate GPUs with"
            " use_machine('2x Tesla K40c')",
        ) from error
    except ImportError as error:
        raise InternalError.of(
            f"CuPy cannot be loaded, so {device} cannot be used: {error}",
            hint="run python -c 'import cupy' to see why",
        ) from error


class CupyBackend:
    """Backend of one real GPU.

    Args:
        device: the device; its ``visible_id`` is CUDA's number for it in this process.
        settings: GPU options of the process's first session with this device.

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
                hint="check the output of nvidia-smi and the value of CUDA_VISIBLE_DEVICES",
            ) from error

    def _set_memory(self, device: DeviceAttributes, settings: GPUSettings) -> None:
        """Limit CuPy's pool on this GPU, once per process."""
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
        """Make the device and its stream current for the thread; the first call in a step stores the previous ones.

        Only within ``gpu_step``.
        """
        previous = _thread.previous
        if previous is None:
            previous = _thread.previous = _ThreadState(self.xp)
        self.compute.device.use()
        previous.note_stream(self.compute.number)
        self.stream.use()

    # Copies

    def from_host(self, value: Any) -> Any:
        """Return a copy on the GPU."""
        value = np.asarray(value, order="C")
        target = self.compute.empty(value.shape, value.dtype)
        self.copy_into(target, value)
        return target

    def copy_into(self, target: Any, value: Any) -> None:
        """Copy a host array to an array on the GPU, in C order, of the same shape and type."""
        value = np.asarray(value, order="C")
        if value.nbytes:
            with self._copying(f"CPU->GPU Memcpy to {self.device}"):
                target.data.copy_from_host_async(address_of(value), value.nbytes, self.stream)
                self.stream.synchronize()

    def to_host(self, value: Any) -> Any:
        """Return a copy in host memory."""
        value = self.compute.contiguous(value)
        target = np.empty(value.shape, value.dtype)
        if target.nbytes:
            with self._copying(f"GPU->CPU Memcpy from {self.device}"):
                value.data.copy_to_host_async(address_of(target), target.nbytes, self.stream)
                self.stream.synchronize()
        return target

    def copier_from(self, sender: CupyBackend) -> Callable[[Any], Any]:
        """Return a function that copies arrays from another GPU to this one."""
        compute, sender_compute, runtime = self.compute, sender.compute, self.xp.cuda.runtime

        def copy(value: Any) -> Any:
            value = sender_compute.contiguous(value)
            target = compute.empty(value.shape, value.dtype)
            if value.nbytes:
                with self._copying(f"GPU->GPU Memcpy from {sender.device}"):
                    sender.stream.synchronize()
                    runtime.memcpyPeerAsync(
                        target.data.ptr,
                        compute.number,
                        value.data.ptr,
                        sender_compute.number,
                        value.nbytes,
                        self.stream.ptr,
                    )
                    self.stream.synchronize()
            return target

        return copy

    @contextlib.contextmanager
    def _copying(self, what: str) -> Iterator[None]:
        """Make the GPU current within a ``with`` block; raises InternalError if the GPU reports a failure."""
        with self.compute.current():
            try:
                yield
            except self._driver_error as error:
                raise InternalError.of(
                    f"{what} failed: {error}",
                    hint="an earlier kernel may have failed: set CUDA_LAUNCH_BLOCKING=1 to find out which",
                ) from error

    def on_device(self, value: Any) -> Any:
        """Return a kernel's result in GPU memory, even if the kernel returned a NumPy array."""
        return self.from_host(value) if isinstance(value, np.ndarray | np.generic) else value

    def on_host(self, value: Any) -> Any:
        """Return a kernel's result in host memory, even if the kernel returned a CuPy array."""
        return self.to_host(value) if isinstance(value, self.xp.ndarray) else value

    def __repr__(self) -> str:
        return f"<CupyBackend {self.device}>"


@contextlib.contextmanager
def gpu_step() -> Iterator[None]:
    """Run a step that enters backends, and restore the thread's device and streams afterwards.

    Blocks nest, because a kernel may run another step.
    """
    outer, _thread.previous = _thread.previous, None
    try:
        yield
    finally:
        previous, _thread.previous = _thread.previous, outer
        if previous is not None:
            previous.restore()


class _ThreadState:
    """Current device and streams of a thread before a step.

    Args:
        xp: the ``cupy`` module.
    """

    def __init__(self, xp: ArrayModule) -> None:
        cuda = self._cuda = xp.cuda
        self._device = cuda.Device()
        self._streams: dict[int, Any] = {}

    def note_stream(self, number: int) -> None:
        """Store the current stream of the current device, with its number, before it is changed."""
        if number not in self._streams:
            self._streams[number] = self._cuda.get_current_stream()

    def restore(self) -> None:
        """Restore the device and all streams."""
        for number, stream in self._streams.items():
            self._cuda.Device(number).use()
            stream.use()
        self._device.use()
