"""``tf.config.experimental``: the names of 1.14 and 1.15, most of which 2.x moved to ``tf.config``.

Source: tensorflow/python/framework/config.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

from gpuplace.api.config.devices import (
    check_changes,
    check_known,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_visible_devices,
)
from gpuplace.api.config.devices import get_logical_device_configuration as get_virtual_device_configuration
from gpuplace.api.config.devices import set_logical_device_configuration as set_virtual_device_configuration
from gpuplace.runtime.memory.default_config import PhysicalDevice
from gpuplace.runtime.memory.default_config import VirtualDevice as VirtualDeviceConfiguration
from gpuplace.runtime.memory.process_state import process_state

__all__ = [
    "VirtualDeviceConfiguration",
    "get_memory_growth",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_virtual_device_configuration",
    "set_visible_devices",
]


def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Return whether memory growth is on for a GPU; None if it was not set.

    Args:
        device: physical device.

    Raises:
        ValueError: the device is not in the machine.
    """
    check_known(device)
    return process_state.defaults.growth.get(device)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Turn memory growth (``allow_growth``) of a GPU on or off for sessions without a config.

    Args:
        device: physical device.
        enable: whether it is on; must be equal for all visible GPUs.

    Raises:
        ValueError: the device is not a GPU of the machine, or is divided into virtual devices.
        RuntimeError: the logical devices have been listed already.
    """
    check_known(device)
    if device in process_state.defaults.virtual:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    if process_state.defaults.growth.get(device) != enable:
        check_changes("Physical devices")
        process_state.defaults.growth[device] = bool(enable)
