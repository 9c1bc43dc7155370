"""Real GPUs: tensors are CuPy arrays; each device has its stream.

CuPy is imported when the first real GPU is used, and only here. Work is queued on the device's stream; the host waits
where a value leaves for it, and nowhere else. A copy between GPUs makes the receiving stream wait for the sending one
and the sending one for the copy, so that no memory is used again too early.

The memory options of the process's first session go to CuPy's pool: a limit, and without ``allow_growth`` all of it
taken at once.

Source: tensorflow/core/common_runtime/gpu/gpu_device.cc and gpu_util.cc, release 1.15 (which copies wait for what).
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.device.device_set import DeviceAttributes
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.errors import InternalError, OpError, ResourceExhaustedError, UnimplementedError
from gpuplace.runtime.gpu_options import allow_growth_value

__all__ = ["CupyBackend", "load_cupy"]

_pools_made: set[int] = set()
_lock = threading.Lock()
_previous = threading.local()


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
        assert device.visible_id is not None
        try:
            self._cuda = self.xp.cuda.Device(device.visible_id)
            with self._cuda:
                self.stream = self.xp.cuda.Stream(non_blocking=True)
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
                with self.stream:
                    block = self.xp.cuda.alloc(min(device.memory_limit, free * 9 // 10))
                del block  # stays in the pool
            assert device.visible_id is not None
            _pools_made.add(device.visible_id)

    def enter(self) -> None:
        """Makes the device and its stream the thread's current ones; the first time in a step, remembers the former."""
        cuda = self.xp.cuda
        if getattr(_previous, "state", None) is None:
            _previous.state = cuda.Device(), cuda.get_current_stream()
        self._cuda.use()
        self.stream.use()

    def leave(self) -> None:
        """Puts the thread's former device and stream back."""
        state = getattr(_previous, "state", None)
        if state is not None:
            _previous.state = None
            device, stream = state
            device.use()
            stream.use()

    def from_host(self, value: Any) -> Any:
        """A new array on the GPU."""
        with self._cuda, self.stream:
            return self._allocated(lambda: self.xp.array(value))

    def to_host(self, value: Any) -> Any:
        """A new array in host memory; waits for the stream."""
        with self._cuda:
            return self.xp.asnumpy(value, stream=self.stream)

    def copier_from(self, sender: CupyBackend) -> Callable[[Any], Any]:
        """Copies arrays of another GPU to this one; streams wait for each other, the host does not."""

        def copy(value: Any) -> Any:
            with sender._cuda:
                made = sender.stream.record()
            with self._cuda, self.stream:
                self.stream.wait_event(made)
                copied = self._allocated(lambda: self.xp.array(value))
                done = self.stream.record()
            with sender._cuda:
                sender.stream.wait_event(done)
            return copied

        return copy

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
