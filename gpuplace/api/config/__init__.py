"""``tf.config``: the devices of the process, and the default ``ConfigProto`` of sessions.

>>> import gpuplace as tf
>>> _ = tf.use_machine("2x Tesla K40c")
>>> gpus = tf.config.list_physical_devices("GPU")
>>> tf.config.set_visible_devices(gpus[1], "GPU")
>>> [device.name for device in tf.config.list_logical_devices("GPU")]
['/job:localhost/replica:0/task:0/device:GPU:0']
>>> tf.use_machine(None)

The names are those of 1.14 and 1.15, most of them in ``experimental``, and of ``tf.compat.v1.config`` in 2.x. XLA
devices are not listed.

Source: tensorflow/python/framework/config.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

from gpuplace.api.config import experimental, optimizer, threading
from gpuplace.api.config.devices import (
    get_logical_device_configuration,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_logical_device_configuration,
    set_soft_device_placement,
    set_visible_devices,
)
from gpuplace.runtime.memory.default_config import LogicalDevice, PhysicalDevice
from gpuplace.runtime.memory.default_config import VirtualDevice as LogicalDeviceConfiguration

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]
