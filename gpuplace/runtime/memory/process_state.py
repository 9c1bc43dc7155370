"""State shared by all sessions of a process: the machine, its visible GPUs, and each GPU's allocator.

As in TensorFlow, three things are fixed for the life of a process, or until ``reset_runtime``:

- CUDA_VISIBLE_DEVICES is read once, when devices are first created. Later changes have no effect and cause a warning.
- GPU:0 stays on the GPU of the first session. Another ``visible_device_list`` is an ``AlreadyExistsError`` (releases
  1.0 and 1.4 accepted it silently; here they warn).
- A GPU device has one allocator, created with the first session's options. Later sessions get the same one whatever
  their options; TensorFlow ignores the difference silently, here a warning names both settings.

>>> machine = use_machine("2x Tesla K80")
>>> devices = session_devices()
>>> devices.names[1:]
['/job:localhost/replica:0/task:0/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:1']
>>> devices.allocators[devices.names[1]].name
'GPU_0_bfc'
>>> use_machine(None)

Source: tensorflow/core/common_runtime/gpu/gpu_process_state.cc, gpu_id_manager.cc and gpu_device.cc, release 1.15.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from gpuplace import release as releases
from gpuplace.callers import warn
from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.ignored import described, min_multiprocessors
from gpuplace.device.machine import PREFIX, Machine, Origin, as_machine, default_machine
from gpuplace.device.mapping import MappingRow, VirtualGPU, ignored_by
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES, Visibility
from gpuplace.errors import AlreadyExistsError, InternalError, InvalidArgumentError
from gpuplace.numerics import blas_threads, threads
from gpuplace.runtime.memory.bfc_allocator import BFCAllocator, reset_warning_counts
from gpuplace.runtime.memory.default_config import DefaultConfig, PhysicalDevice
from gpuplace.runtime.memory.device_memory import DeviceMemory
from gpuplace.typing import ConfigProto

_logger = logging.getLogger(__name__)

SIMULATED_RETRY_WAIT_MS = 100.0
"""Time in milliseconds that an allocation on a simulated GPU waits for other threads; TensorFlow waits 10,000."""

_MEMORY_OPTIONS = ("per_process_gpu_memory_fraction", "allow_growth", "allocator_type")


class GPUOptionsWarning(UserWarning):
    """A GPU setting has no effect, because this process created its GPU devices earlier with another one."""


class SessionDevices(DeviceSet):
    """Devices of one session, with their allocators and settings.

    Args:
        devices: the devices.
        type_priority: as in ``DeviceSet``.
        origin: machine of the devices, and the session's settings.
        allocators: allocators of the simulated GPUs, by full device name.
        mapping: mapping from the machine's GPUs to these devices.
        memory_settings: settings with which a GPU device's memory was created, those of its first session, by full
            name.
    """

    def __init__(
        self,
        devices: Iterable[DeviceAttributes],
        type_priority: Mapping[str, int] | None,
        origin: Origin,
        allocators: Mapping[str, BFCAllocator],
        mapping: tuple[MappingRow, ...],
        memory_settings: Mapping[str, GPUSettings],
    ) -> None:
        super().__init__(devices, type_priority, origin)
        self.machine = origin.machine
        self.allocators = dict(allocators)
        self.mapping = mapping
        self.settings = origin.settings
        self.memory_settings = dict(memory_settings)


@dataclass(slots=True)
class _Gpus:
    """GPU state of a process. A new session changes a copy, which replaces the original at the end."""

    visible_ids: dict[int, int] = field(default_factory=dict)
    """Visible id by TensorFlow's GPU number."""
    memories: dict[int, DeviceMemory] = field(default_factory=dict)
    """Memory by GPU of the machine."""
    allocators: dict[tuple[int, int], BFCAllocator] = field(default_factory=dict)
    """Allocator by TensorFlow's number and visible id."""
    created: dict[tuple[int, int], tuple[GPUSettings, int]] = field(default_factory=dict)
    """Settings and memory limit in bytes with which the device was created, by TensorFlow's number and visible id."""

    def copy(self) -> _Gpus:
        """Return a copy."""
        return _Gpus(dict(self.visible_ids), dict(self.memories), dict(self.allocators), dict(self.created))


class ProcessState:
    """Shared state; one object per process, more only in tests."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._lock = threading.RLock()
        self._chosen: Machine | None = None
        self._default: Machine | None = None
        self.retry_wait_ms = SIMULATED_RETRY_WAIT_MS
        self._forget_gpus()

    def _forget_gpus(self) -> None:
        self._visibility: tuple[Visibility, str | None] | None = None
        """Visible devices, and the device order at that time."""
        self._gpus = _Gpus()
        self.defaults = DefaultConfig()
        """Settings of ``tf.config`` for sessions without a config."""

    def physical_devices(self) -> list[PhysicalDevice]:
        """Return the machine's CPU and its visible GPUs, with TensorFlow's names."""
        gpus = range(len(self.visibility().visible))
        return [
            PhysicalDevice("/physical_device:CPU:0", "CPU"),
            *(PhysicalDevice(f"/physical_device:GPU:{number}", "GPU") for number in gpus),
        ]

    def default_config(self) -> Any:
        """Return the ``ConfigProto`` of sessions without a config; None if nothing was set.

        Raises:
            ValueError: memory growth differs between GPUs.
        """
        with self._lock:
            return self.defaults.config(self.physical_devices() if self.defaults.sets_devices else ())

    def use_machine(self, machine: Machine | str | None) -> Machine | None:
        """Set the machine of new sessions, and reset the GPU state.

        Args:
            machine: a ``Machine`` or its text; None: the default machine.

        Returns:
            The machine, or None.

        Raises:
            InvalidArgumentError: the text is invalid.
            TypeError: it is neither a machine nor text.
        """
        chosen = None if machine is None else as_machine(machine)
        with self._lock:
            self._forget_gpus()
            self._chosen = chosen
        return chosen

    def current_machine(self) -> Machine:
        """Return the machine that was set, otherwise that of GPUPLACE_MACHINE, otherwise the real one."""
        with self._lock:
            if self._chosen is not None:
                return self._chosen
            if self._default is None:
                self._default = default_machine(self._environ)
            return self._default

    def reset(self) -> None:
        """Forget GPU devices and allocators, as in a new process; environment variables are read again."""
        with self._lock:
            self._forget_gpus()
            self._default = None
            threads.reset()
            blas_threads.reset()
            reset_warning_counts()

    @contextlib.contextmanager
    def fresh(self) -> Iterator[None]:
        """Provide a fresh state within a ``with`` block, after which the previous state is restored."""
        with self._lock:
            before = dict(self.__dict__)
            self._chosen = self._default = None
            self._forget_gpus()
        try:
            yield
        finally:
            with self._lock:
                self.__dict__.update(before)

    def visibility(self) -> Visibility:
        """Return the visible devices: determined now if no device was created yet, otherwise at that time."""
        with self._lock:
            if self._visibility is None:
                visibility = self.current_machine().visibility(self._environ), self._environ.get(DEVICE_ORDER)
                self._visibility = visibility
            else:
                self._warn_of_late_environment(*self._visibility)
            return self._visibility[0]

    def session_devices(self, config: ConfigProto | None = None) -> SessionDevices:
        """Create the devices of a new session.

        Args:
            config: ``ConfigProto`` or an object with its attributes; None: the defaults.

        Raises:
            InvalidArgumentError: an option is invalid, with TensorFlow's message; or the machine is a cluster.
            AlreadyExistsError: a GPU device would use a different GPU than in an earlier session.
            InternalError: unknown ``allocator_type``.
        """
        settings = GPUSettings.from_config(config)
        with self._lock:
            machine = self.current_machine()
            if machine.tasks:
                raise InvalidArgumentError.of(
                    f"The machine '{machine}' is a cluster, but a session in one process has only one task.",
                    hint="use it for placement and prediction; to run on a cluster, give the session a target: "
                    "tf.train.Server, gpuplace.cluster(client)",
                )
            visibility = self.visibility()
            virtual = machine.virtual_gpus(settings, self._environ, visibility)
            device_set = machine.device_set(settings, self._environ, visibility)
            self._log_ignored(visibility, settings)
            gpus = [device for device in device_set if device.physical_id is not None]
            state = self._gpus.copy()
            for number, device in zip(virtual, gpus, strict=True):
                _pin(state, number)
                _check_allocator_type(state, number, settings)
                _logger.info("%s", _creation_note(device, releases.get_release()))
            _warn_of_other_options(state, virtual, settings)
            allocators = {
                device.name: self._allocator(state, number, settings)
                for number, device in zip(virtual, gpus, strict=True)
                if number.gpu.is_simulated
            }
            for number in virtual:
                state.created.setdefault((number.tf_id, number.visible_id), (settings, number.memory_limit))
            devices = [_with_first_limit(state, device) for device in device_set]
            created = {
                device.name: state.created[number.tf_id, number.visible_id][0]
                for number, device in zip(virtual, gpus, strict=True)
            }
            result = SessionDevices(
                devices,
                machine.type_priority,
                device_set.origin,
                allocators,
                machine.mapping(settings, self._environ, visibility),
                created,
            )
            self._gpus = state
            return result

    def _log_ignored(self, visibility: Visibility, settings: GPUSettings) -> None:
        """Log TensorFlow's messages about GPUs that it does not use."""
        _, fault = min_multiprocessors(visibility.visible, self._environ)
        if fault and visibility.visible:
            _logger.error("%s", fault)
        for gpu in ignored_by(visibility, settings, environ=self._environ):
            _logger.info("%s", gpu.note)

    def _allocator(self, state: _Gpus, device: VirtualGPU, settings: GPUSettings) -> BFCAllocator:
        key = device.tf_id, device.visible_id
        allocator = state.allocators.get(key)
        if allocator is not None:
            return allocator
        memory = state.memories.setdefault(device.gpu.index, DeviceMemory(device.gpu.free_bytes))
        if settings.per_process_gpu_memory_fraction > 1 or settings.use_unified_memory:
            memory.capacity = max(memory.capacity, device.memory_limit)
        allocator = BFCAllocator(
            memory,
            device.memory_limit,
            allow_growth=settings.allow_growth,
            name=f"GPU_{device.tf_id}_bfc",
            retry_wait_ms=self.retry_wait_ms,
            environ=self._environ,
        )
        state.allocators[key] = allocator
        return allocator

    def allocators(self) -> dict[str, BFCAllocator]:
        """Return the allocators of the simulated GPUs of this process, by full device name."""
        with self._lock:
            return {
                f"{PREFIX}/device:GPU:{number}": allocator
                for (number, _), allocator in self._gpus.allocators.items()
            }

    def _warn_of_late_environment(self, visibility: Visibility, device_order: str | None) -> None:
        for variable, then in (
            (VISIBLE_DEVICES, visibility.setting),
            (DEVICE_ORDER, device_order),
        ):
            now = self._environ.get(variable)
            if now != then and self.current_machine().gpus:
                warn(
                    f"{_shown(variable, now)} has no effect: this process created its GPU devices with "
                    f"{_shown(variable, then)}, and CUDA reads it only once. Set it before the first session, or call "
                    "tf.reset_runtime().",
                    GPUOptionsWarning,
                )


def _pin(state: _Gpus, device: VirtualGPU) -> None:
    """Bind a device to its GPU for the life of the process."""
    before = state.visible_ids.setdefault(device.tf_id, device.visible_id)
    if before == device.visible_id:
        return
    release = releases.get_release()
    first, _ = state.created.get((device.tf_id, before), (GPUSettings(), 0))
    listed = repr(first.visible_device_list)
    if release in ("1.0", "1.4"):
        warn(
            f"GPU:{device.tf_id} is visible GPU {device.visible_id} in this session, but it was visible GPU {before} "
            f"in an earlier session (visible_device_list={listed}). TensorFlow {release} allows this silently; later "
            "releases raise an error.",
            GPUOptionsWarning,
        )
        return
    devices, gap = ("CUDA devices", "  ") if release == "1.15" else ("devices", " ")
    raise AlreadyExistsError.of(
        f"TensorFlow device (GPU:{device.tf_id}) is being mapped to multiple {devices} ({device.visible_id} now, "
        f"and {before} previously), which is not supported. This may be the result of providing different GPU "
        "configurations (ConfigProto.gpu_options, for example different visible_device_list) when creating "
        f"multiple Sessions in the same process. This is not{gap}currently supported, see "
        "https://github.com/tensorflow/tensorflow/issues/19083",
        facts={"first session": f"visible_device_list={listed}"},
        hint="use one visible_device_list for all sessions and tf.device('/gpu:1') for the second graph, or "
        "call tf.reset_runtime()",
    )


def _check_allocator_type(state: _Gpus, device: VirtualGPU, settings: GPUSettings) -> None:
    """Reject unknown allocator types for a device without an allocator."""
    if settings.allocator_type in ("", "BFC") or (device.tf_id, device.visible_id) in state.created:
        return
    _logger.error("Invalid allocator type: %s", settings.allocator_type)
    raise InternalError.of(
        f"Failed to get memory allocator for TF GPU {device.tf_id} with {device.memory_limit} bytes of memory.",
        facts={"allocator_type": repr(settings.allocator_type)},
        hint="set gpu_options.allocator_type to '' or 'BFC'",
    )


def _with_first_limit(state: _Gpus, device: DeviceAttributes) -> DeviceAttributes:
    """Return the device with the memory limit that the process's first session gave its allocator."""
    if device.physical_id is None or device.visible_id is None:
        return device
    _, limit = state.created[device.id, device.visible_id]
    return device.with_memory_limit(limit)


def _warn_of_other_options(state: _Gpus, virtual: Sequence[VirtualGPU], settings: GPUSettings) -> None:
    differences: dict[str, tuple[Any, Any]] = {}
    for device in virtual:
        if (device.tf_id, device.visible_id) not in state.created:
            continue
        first, limit = state.created[device.tf_id, device.visible_id]
        differences |= first.describe_differences(settings, _MEMORY_OPTIONS)
        if limit != device.memory_limit and "per_process_gpu_memory_fraction" not in differences:
            differences[f"memory limit of GPU:{device.tf_id} in bytes"] = limit, device.memory_limit
    if differences:
        listed = "; ".join(
            f"{name}: {then!r} stays, {now!r} is ignored" for name, (then, now) in differences.items()
        )
        warn(
            f"GPU options are process-wide and the first session's win. {listed}. Use one GPUOptions for all "
            "sessions, or call tf.reset_runtime() before this one.",
            GPUOptionsWarning,
        )


def _creation_note(device: DeviceAttributes, release: str) -> str:
    """Return TensorFlow's log line about a new device."""
    description = described(device.physical_device_desc, release)
    megabytes = device.memory_limit >> 20
    if release == "1.0":
        return f"Creating TensorFlow device (/gpu:{device.id}) -> ({description})"
    if release == "1.4":
        return f"Creating TensorFlow device (/device:GPU:{device.id}) -> ({description})"
    if release == "1.15":
        return f"Created TensorFlow device ({device.name} with {megabytes} MB memory) -> physical GPU ({description})"
    return f"Created device {device.name} with {megabytes} MB memory:  -> {description}"


def _shown(variable: str, value: str | None) -> str:
    return f"no {variable}" if value is None else f"{variable}={value!r}"


process_state = ProcessState()
"""This process's state."""


@overload
def use_machine(machine: None) -> None: ...
@overload
def use_machine(machine: Machine | str) -> Machine: ...
def use_machine(machine: Machine | str | None) -> Machine | None:
    """Set the machine of new sessions.

    Args:
        machine: a ``Machine``, or its text, such as ``"4x Tesla K20m"``; None: the default, which is
            GPUPLACE_MACHINE's, otherwise the real machine.

    Returns:
        The machine, or None.

    Raises:
        InvalidArgumentError: the text is invalid.
        TypeError: it is neither a machine nor text.
    """
    return process_state.use_machine(machine)


def current_machine() -> Machine:
    """Return the machine of ``use_machine``, otherwise that of GPUPLACE_MACHINE, otherwise the real one."""
    return process_state.current_machine()


def reset_runtime() -> None:
    """Forget GPU devices, their options, and the number of threads, for which TensorFlow needs a new process.

    Environment variables are read again. Open sessions keep their devices, and ``use_machine`` remains in effect.
    """
    process_state.reset()


def session_devices(config: ConfigProto | None = None) -> SessionDevices:
    """Create the devices of a new session; see ``ProcessState.session_devices``.

    Args:
        config: a ``ConfigProto``, or an object with its attributes; None: its defaults.

    Returns:
        The devices, with their allocators.

    Raises:
        InvalidArgumentError: an option is invalid; TensorFlow's message.
        AlreadyExistsError: a GPU device would use a different GPU than in an earlier session.
        InternalError: unknown ``allocator_type``.
    """
    return process_state.session_devices(config)


def device_mapping(config: ConfigProto | None = None) -> tuple[MappingRow, ...]:
    """Return the mapping from the machine's GPUs to devices of this process's sessions, including hidden GPUs.

    Args:
        config: a ``ConfigProto``, or an object with its attributes; None: its defaults.

    Returns:
        A row for each step of each GPU.

    Raises:
        InvalidArgumentError: an option is invalid; TensorFlow's message.
    """
    state = process_state
    return state.current_machine().mapping(config, state._environ, state.visibility())


def session_allocators(machine: Machine, session: Any = None) -> dict[str, BFCAllocator]:
    """Return the allocators of simulated GPUs created by a session, or by this process on a machine.

    Args:
        machine: the machine; the result is empty if it is not the process's.
        session: the session; None: all sessions of the process.

    Returns:
        A dict from full device name to allocator.
    """
    if session is not None:
        return dict(getattr(session.placement.device_set, "allocators", {}))
    return process_state.allocators() if machine == process_state.current_machine() else {}
