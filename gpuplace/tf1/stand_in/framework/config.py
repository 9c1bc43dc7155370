"""``tensorflow.python.framework.config``: the devices of the machine; their settings are session options here.

>>> list_logical_devices("CPU")
[LogicalDevice(name='/job:localhost/replica:0/task:0/device:CPU:0', device_type='CPU')]

Source: tensorflow/python/framework/config.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import NamedTuple

from gpuplace.runtime.session.device_lib import list_local_devices

__all__ = ["LogicalDevice", "PhysicalDevice", "list_logical_devices", "list_physical_devices"]

_HOST = "/job:localhost/replica:0/task:0"


class LogicalDevice(NamedTuple):
    """A device that operations can be placed on."""

    name: str
    """Its full name."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    """``/physical_device:CPU:0``."""
    device_type: str
    """``"CPU"`` or ``"GPU"``."""


def _devices(device_type: str | None) -> list[tuple[str, str]]:
    """Return the ends of the names, and the types, of the devices of a type; None for all types."""
    return [
        (device.name.removeprefix("/device:"), device.device_type)
        for device in list_local_devices()
        if device_type in (None, device.device_type)
    ]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that operations can be placed on.

    Args:
        device_type: the type of the devices; None for all types.
    """
    return [LogicalDevice(f"{_HOST}/device:{end}", kind) for end, kind in _devices(device_type)]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices of the machine.

    Args:
        device_type: the type of the devices; None for all types.
    """
    return [PhysicalDevice(f"/physical_device:{end}", kind) for end, kind in _devices(device_type)]
