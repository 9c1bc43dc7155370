"""The devices of ``tf.config``: list them, and choose which ones sessions without a config see and divide.

Source: tensorflow/python/framework/config.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.runtime.memory.default_config import LogicalDevice, PhysicalDevice
from gpuplace.runtime.memory.process_state import process_state, session_devices


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the machine's devices that CUDA shows to the process.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; None: both.
    """
    devices = process_state.physical_devices()
    return [device for device in devices if device_type in (None, device.device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices of a session without a config; afterwards they can no longer be changed.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; None: both.

    Raises:
        ValueError: memory growth is set for some GPUs only.
    """
    found = session_devices(process_state.default_config())
    process_state.defaults.is_fixed = True
    return [
        LogicalDevice(device.name, device.device_type)
        for device in found
        if device_type in (None, device.device_type)
    ]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices that sessions without a config see.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; None: both.
    """
    visible = process_state.defaults.visible
    devices = process_state.physical_devices() if visible is None else visible
    return [device for device in devices if device_type in (None, device.device_type)]


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Choose which devices sessions without a config see.

    Args:
        devices: one or more physical devices.
        device_type: type of all these devices; devices of other types are unchanged. None: only these devices are
            visible.

    Raises:
        ValueError: a device is not in the machine, or has another type.
        RuntimeError: the logical devices have been listed already.
    """
    wanted = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    for device in wanted:
        check_known(device)
        if device_type not in (None, device.device_type):
            raise ValueError(f"Unrecognized device: {device!r}")
    kept = (
        []
        if device_type is None
        else [device for device in get_visible_devices() if device.device_type != device_type]
    )
    visible = kept + wanted
    if visible != get_visible_devices():
        check_changes("Visible devices")
        process_state.defaults.visible = visible


def get_soft_device_placement() -> bool:
    """Return whether soft placement is on for sessions without a config."""
    return bool(process_state.defaults.scalars.get("allow_soft_placement", False))


def set_soft_device_placement(enabled: bool) -> None:
    """Turn soft placement on or off for sessions without a config.

    Args:
        enabled: whether it is on.
    """
    process_state.defaults.scalars["allow_soft_placement"] = bool(enabled)


def get_logical_device_configuration(device: PhysicalDevice) -> list[Any] | None:
    """Return the logical devices of a physical device; None if it is not divided.

    Args:
        device: physical device.

    Raises:
        ValueError: the device is not in the machine.
    """
    check_known(device)
    return process_state.defaults.virtual.get(device)


def set_logical_device_configuration(device: PhysicalDevice, logical_devices: Sequence[Any]) -> None:
    """Divide a physical device into logical devices.

    Args:
        device: physical device.
        logical_devices: a ``LogicalDeviceConfiguration`` for each part; for a GPU, ``memory_limit`` in MiB is required.

    Raises:
        ValueError: the device is not in the machine, a part of a CPU has a limit, or a part of a GPU has none.
        RuntimeError: the logical devices have been listed already.
    """
    check_known(device)
    parts = list(logical_devices)
    if device.device_type == "CPU" and any(part.memory_limit is not None for part in parts):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if device.device_type == "GPU" and any(part.memory_limit is None for part in parts):
        raise ValueError("Setting memory limit is required for GPU virtual devices")
    if process_state.defaults.virtual.get(device) != parts:
        check_changes("Virtual devices")
        process_state.defaults.virtual[device] = parts


def check_known(device: Any) -> None:
    """Raise ValueError for a device that is not in the machine."""
    if device not in process_state.physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def check_changes(what: str) -> None:
    """Raise RuntimeError if the logical devices exist already."""
    if process_state.defaults.is_fixed:
        raise RuntimeError(f"{what} cannot be modified after being initialized")
