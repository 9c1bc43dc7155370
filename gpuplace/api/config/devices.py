"""The devices of ``tf.config``: which there are, which sessions without a config see, and into what they are divided.

Source: tensorflow/python/framework/config.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.runtime.memory.default_config import LogicalDevice, PhysicalDevice
from gpuplace.runtime.memory.process_state import process_state, session_devices


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The machine's devices that CUDA shows the process.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; None: both.
    """
    devices = process_state.physical_devices()
    return [device for device in devices if device_type in (None, device.device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices of a session without a config; from now on they cannot be changed.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; None: both.

    Raises:
        ValueError: some GPUs' memory grows, and that of others does not.
    """
    found = session_devices(process_state.default_config())
    process_state.defaults.is_fixed = True
    return [
        LogicalDevice(device.name, device.device_type)
        for device in found
        if device_type in (None, device.device_type)
    ]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that sessions without a config see.

    Args:
        device_type: ``"CPU"`` or ``"GPU"``; None: both.
    """
    visible = process_state.defaults.visible
    devices = process_state.physical_devices() if visible is None else visible
    return [device for device in devices if device_type in (None, device.device_type)]


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Chooses the devices that sessions without a config see.

    Args:
        devices: physical devices, or one.
        device_type: the type of all of them; devices of other types stay as they are. None: only these are visible.

    Raises:
        ValueError: one is not a device of the machine, or of another type.
        RuntimeError: the devices have been listed as logical ones.
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
    """Whether sessions without a config place a node elsewhere where it cannot be on its device."""
    return bool(process_state.defaults.scalars.get("allow_soft_placement", False))


def set_soft_device_placement(enabled: bool) -> None:
    """Chooses whether sessions without a config place a node elsewhere where it cannot be on its device.

    Args:
        enabled: whether they do.
    """
    process_state.defaults.scalars["allow_soft_placement"] = bool(enabled)


def get_logical_device_configuration(device: PhysicalDevice) -> list[Any] | None:
    """The devices that a physical one is divided into; None where it is not.

    Args:
        device: the physical device.

    Raises:
        ValueError: it is not a device of the machine.
    """
    check_known(device)
    return process_state.defaults.virtual.get(device)


def set_logical_device_configuration(device: PhysicalDevice, logical_devices: Sequence[Any]) -> None:
    """Divides a physical device into several.

    Args:
        device: the physical device.
        logical_devices: a ``LogicalDeviceConfiguration`` each; of a GPU's, ``memory_limit`` in MiB is needed.

    Raises:
        ValueError: it is not a device of the machine, a CPU's part has a limit, or a GPU's has none.
        RuntimeError: the devices have been listed as logical ones.
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
    """ValueError for what is not a device of the machine."""
    if device not in process_state.physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def check_changes(what: str) -> None:
    """RuntimeError where the devices have been made."""
    if process_state.defaults.is_fixed:
        raise RuntimeError(f"{what} cannot be modified after being initialized")
