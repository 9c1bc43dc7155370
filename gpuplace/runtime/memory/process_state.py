"""What all sessions of a process share: the machine, the GPUs CUDA shows, and each GPU's allocator.

TensorFlow keeps three things for the life of a process, and so do we, until ``reset_runtime``:

- CUDA_VISIBLE_DEVICES is read once, when devices are first made. Setting it in code works before that; afterwards it
  has no effect, and a warning says so.
- GPU:0 stays on the GPU that the first session put it on. Another ``visible_device_list`` is an ``AlreadyExistsError``
  (releases 1.0 and 1.4 went on silently; here they warn).
- A GPU device has one allocator, made with the first session's options. Later sessions get the same one whatever they
  ask for; TensorFlow is silent about it, here a warning names both settings.

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

_logger = logging.getLogger(__name__)

SIMULATED_RETRY_WAIT_MS = 100.0
"""How long an allocation on a simulated GPU waits for other threads, in milliseconds; TensorFlow waits 10,000."""

_MEMORY_OPTIONS = ("per_process_gpu_memory_fraction", "allow_growth", "allocator_type")


class GPUOptionsWarning(UserWarning):
    """A setting of GPUs has no effect because this process made its GPU devices earlier with another one."""


class SessionDevices(DeviceSet):
    """The devices of one session, with what stands behind them.

    Args:
        devices: The devices.
        type_priority: As for ``DeviceSet``.
        origin: The machine they are of, and what the session asked for.
        allocators: Full name to allocator, for the simulated GPUs.
        mapping: The chain from the machine's GPUs to these devices.
        memory_settings: Full name to the settings that made a GPU device's memory: the first session's that had it.
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
    """What a process has of GPUs. A new session changes a copy, which takes the place of the one before at the end."""

    visible_ids: dict[int, int] = field(default_factory=dict)
    """TensorFlow's GPU number to visible id."""
    memories: dict[int, DeviceMemory] = field(default_factory=dict)
    """GPU of the machine to its memory."""
    allocators: dict[tuple[int, int], BFCAllocator] = field(default_factory=dict)
    """TensorFlow's number and visible id to allocator."""
    made: dict[tuple[int, int], tuple[GPUSettings, int]] = field(default_factory=dict)
    """The same to the settings and the memory limit in bytes that the device was made with."""

    def copy(self) -> _Gpus:
        """Another one with the same content."""
        return _Gpus(dict(self.visible_ids), dict(self.memories), dict(self.allocators), dict(self.made))


class ProcessState:
    """The shared state; one object per process, more only in tests."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._lock = threading.RLock()
        self._chosen: Machine | None = None
        self._default: Machine | None = None
        self.retry_wait_ms = SIMULATED_RETRY_WAIT_MS
        self._forget_gpus()

    def _forget_gpus(self) -> None:
        self._visibility: tuple[Visibility, str | None] | None = None
        """What CUDA shows, and the order of devices then."""
        self._gpus = _Gpus()
        self.defaults = DefaultConfig()
        """What ``tf.config`` set for sessions without a config."""

    def physical_devices(self) -> list[PhysicalDevice]:
        """The machine's CPU and the GPUs that CUDA shows, by TensorFlow's names."""
        gpus = range(len(self.visibility().visible))
        return [
            PhysicalDevice("/physical_device:CPU:0", "CPU"),
            *(PhysicalDevice(f"/physical_device:GPU:{number}", "GPU") for number in gpus),
        ]

    def default_config(self) -> Any:
        """The ``ConfigProto`` of sessions that are given none; None where nothing was set.

        Raises:
            ValueError: some GPUs' memory grows, and that of others does not.
        """
        with self._lock:
            return self.defaults.config(self.physical_devices() if self.defaults.sets_devices else ())

    def use_machine(self, machine: Machine | str | None) -> Machine | None:
        """Chooses the machine of the sessions made from now on; forgets the GPU state of the one before.

        Args:
            machine: a ``Machine`` or its text; None goes back to the default machine.

        Returns:
            The machine, or None.

        Raises:
            InvalidArgumentError: the text is not understood.
            TypeError: neither a machine nor text.
        """
        chosen = None if machine is None else as_machine(machine)
        with self._lock:
            self._forget_gpus()
            self._chosen = chosen
        return chosen

    def current_machine(self) -> Machine:
        """The chosen machine, else GPUPLACE_MACHINE's, else the real one."""
        with self._lock:
            if self._chosen is not None:
                return self._chosen
            if self._default is None:
                self._default = default_machine(self._environ)
            return self._default

    def reset(self) -> None:
        """Forget GPU devices and allocators, as restarting the process does; environment variables are read again."""
        with self._lock:
            self._forget_gpus()
            self._default = None
            threads.reset()
            blas_threads.reset()
            reset_warning_counts()

    @contextlib.contextmanager
    def fresh(self) -> Iterator[None]:
        """A ``with`` block in which nothing was chosen or made yet; the previous state comes back after it."""
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
        """What CUDA shows this process: decided now if no device was made yet, else long ago."""
        with self._lock:
            if self._visibility is None:
                found = self.current_machine().visibility(self._environ), self._environ.get(DEVICE_ORDER)
                self._visibility = found
            else:
                self._warn_of_late_environment(*self._visibility)
            return self._visibility[0]

    def session_devices(self, config: Any = None) -> SessionDevices:
        """Make the devices of a new session.

        Args:
            config: ``ConfigProto`` or anything with its attributes; None for the defaults.

        Raises:
            InvalidArgumentError: wrong options; TensorFlow's sentences. Or the machine is a cluster's.
            AlreadyExistsError: a GPU device would move to another GPU than in an earlier session.
            InternalError: unknown ``allocator_type``.
        """
        settings = GPUSettings.from_config(config)
        with self._lock:
            machine = self.current_machine()
            if machine.tasks:
                raise InvalidArgumentError.of(
                    f"The machine '{machine}' is a cluster's, and a session in one process has one task.",
                    hint="place and predict on it; sessions run on a cluster with a target: tf.train.Server, "
                    "gpuplace.cluster(client)",
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
                state.made.setdefault((number.tf_id, number.visible_id), (settings, number.memory_limit))
            devices = [_with_first_limit(state, device) for device in device_set]
            made = {
                device.name: state.made[number.tf_id, number.visible_id][0]
                for number, device in zip(virtual, gpus, strict=True)
            }
            result = SessionDevices(
                devices,
                machine.type_priority,
                device_set.origin,
                allocators,
                machine.mapping(settings, self._environ, visibility),
                made,
            )
            self._gpus = state
            return result

    def _log_ignored(self, visibility: Visibility, settings: GPUSettings) -> None:
        """What TensorFlow says of GPUs that it does not use."""
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
        """Full device name to the allocator of each simulated GPU that sessions of this process have made."""
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
    """Put a device on its GPU for the life of the process."""
    before = state.visible_ids.setdefault(device.tf_id, device.visible_id)
    if before == device.visible_id:
        return
    release = releases.get_release()
    first, _ = state.made.get((device.tf_id, before), (GPUSettings(), 0))
    listed = repr(first.visible_device_list)
    if release in ("1.0", "1.4"):
        warn(
            f"GPU:{device.tf_id} of this session is on visible GPU {device.visible_id}, of an earlier session on "
            f"{before} (visible_device_list={listed}). TensorFlow {release} does so silently; later ones refuse.",
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
        hint="one visible_device_list for all sessions and tf.device('/gpu:1') for the second graph, or "
        "tf.reset_runtime()",
    )


def _check_allocator_type(state: _Gpus, device: VirtualGPU, settings: GPUSettings) -> None:
    """Refuse allocators that do not exist, for a device that has none yet."""
    if settings.allocator_type in ("", "BFC") or (device.tf_id, device.visible_id) in state.made:
        return
    _logger.error("Invalid allocator type: %s", settings.allocator_type)
    raise InternalError.of(
        f"Failed to get memory allocator for TF GPU {device.tf_id} with {device.memory_limit} bytes of memory.",
        facts={"allocator_type": repr(settings.allocator_type)},
        hint="gpu_options.allocator_type of '' or 'BFC'",
    )


def _with_first_limit(state: _Gpus, device: DeviceAttributes) -> DeviceAttributes:
    """The device with the limit of the allocator it really has."""
    if device.physical_id is None or device.visible_id is None:
        return device
    _, limit = state.made[device.id, device.visible_id]
    return device.with_memory_limit(limit)


def _warn_of_other_options(state: _Gpus, virtual: Sequence[VirtualGPU], settings: GPUSettings) -> None:
    differences: dict[str, tuple[Any, Any]] = {}
    for device in virtual:
        if (device.tf_id, device.visible_id) not in state.made:
            continue
        first, limit = state.made[device.tf_id, device.visible_id]
        differences |= first.describe_differences(settings, _MEMORY_OPTIONS)
        if limit != device.memory_limit and "per_process_gpu_memory_fraction" not in differences:
            differences[f"memory limit of GPU:{device.tf_id} in bytes"] = limit, device.memory_limit
    if differences:
        told = "; ".join(
            f"{name}: {then!r} stays, {now!r} is ignored" for name, (then, now) in differences.items()
        )
        warn(
            f"GPU options are process-wide and the first session's win. {told}. Use one GPUOptions for all "
            "sessions, or call tf.reset_runtime() before this one.",
            GPUOptionsWarning,
        )


def _creation_note(device: DeviceAttributes, release: str) -> str:
    """TensorFlow's line about a device that is made."""
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
    """Chooses the machine for the sessions made from now on.

    Args:
        machine: a ``Machine``, or its text, such as ``"4x Tesla K20m"``; None goes back to the default:
            GPUPLACE_MACHINE's, else the real one.

    Returns:
        The machine, or None.

    Raises:
        InvalidArgumentError: the text is not understood.
        TypeError: it is neither a machine nor text.
    """
    return process_state.use_machine(machine)


def current_machine() -> Machine:
    """The machine of ``use_machine``, else of GPUPLACE_MACHINE, else the real one."""
    return process_state.current_machine()


def reset_runtime() -> None:
    """Forgets GPU devices and their options, and the limit of threads: what TensorFlow needs a new process for.

    Environment variables are read anew. Open sessions keep their devices, and the choice of ``use_machine`` stays.
    """
    process_state.reset()


def session_devices(config: Any = None) -> SessionDevices:
    """The devices of a new session; see ``ProcessState.session_devices``.

    Args:
        config: a ``ConfigProto``, or anything with its attributes; None: its defaults.

    Returns:
        The devices, with their allocators.

    Raises:
        InvalidArgumentError: wrong options; TensorFlow's sentences.
        AlreadyExistsError: a GPU device would move to another GPU than in an earlier session.
        InternalError: unknown ``allocator_type``.
    """
    return process_state.session_devices(config)


def device_mapping(config: Any = None) -> tuple[MappingRow, ...]:
    """The chain from the machine's GPUs to devices as this process's sessions get it, hidden GPUs included.

    Args:
        config: a ``ConfigProto``, or anything with its attributes; None: its defaults.

    Returns:
        A row for each step of each GPU.

    Raises:
        InvalidArgumentError: wrong options; TensorFlow's sentences.
    """
    state = process_state
    return state.current_machine().mapping(config, state._environ, state.visibility())


def session_allocators(machine: Machine, session: Any = None) -> dict[str, BFCAllocator]:
    """The allocators of simulated GPUs that a session, or this process on that machine, has made.

    Args:
        machine: the machine; for another one than the process's there are none.
        session: the session; None: all sessions of the process.

    Returns:
        A dict from full device name to allocator.
    """
    if session is not None:
        return dict(getattr(session.placement.device_set, "allocators", {}))
    return process_state.allocators() if machine == process_state.current_machine() else {}
