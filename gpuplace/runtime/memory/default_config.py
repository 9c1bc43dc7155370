"""Default ``ConfigProto`` of sessions without a config, as set by ``tf.config`` and ``tf.debugging``.

Its devices are those that are visible to the process, with TensorFlow's names::

    /physical_device:GPU:1     ── visible, memory growth ──>  /job:localhost/replica:0/task:0/device:GPU:0
    /physical_device:CPU:0     ── two virtual devices ─────>  ... device:CPU:0 and device:CPU:1

``use_machine`` and ``reset_runtime`` reset it.

Source: tensorflow/python/eager/context.py and framework/config.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace.graphdef.messages import ConfigProto

_ON, _OFF = 1, 2
"""``RewriterConfig.ON`` and ``OFF``."""
_TOGGLES = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "debug_stripper",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
)
_FLAGS = ("disable_model_pruning", "disable_meta_optimizer")


class PhysicalDevice(NamedTuple):
    """Device of the machine that is visible to the process."""

    name: str
    """``/physical_device:GPU:0``."""
    device_type: str
    """``CPU`` or ``GPU``."""

    def __repr__(self) -> str:
        return f"PhysicalDevice(name='{self.name}', device_type='{self.device_type}')"


class LogicalDevice(NamedTuple):
    """Device on which nodes can be placed."""

    name: str
    """Full name: ``/job:localhost/replica:0/task:0/device:GPU:0``."""
    device_type: str
    """``CPU`` or ``GPU``."""

    def __repr__(self) -> str:
        return f"LogicalDevice(name='{self.name}', device_type='{self.device_type}')"


class VirtualDevice(NamedTuple):
    """One of several devices into which a physical one is divided."""

    memory_limit: float | None = None
    """Memory limit in MiB; None for a CPU's."""


class DefaultConfig:
    """Default settings of a process."""

    def __init__(self) -> None:
        self.scalars: dict[str, Any] = {}
        """Values of the ``ConfigProto`` fields that were set, by name."""
        self.jit: bool | None = None
        self.rewrites: dict[str, Any] = {}
        """Values of the ``RewriterConfig`` fields that were set, by name."""
        self.visible: list[PhysicalDevice] | None = None
        """Devices visible to sessions; None: all."""
        self.growth: dict[PhysicalDevice, bool] = {}
        self.virtual: dict[PhysicalDevice, list[VirtualDevice]] = {}
        self.is_fixed = False
        """Whether the devices have been created, after which they cannot change."""

    @property
    def sets_devices(self) -> bool:
        """Whether any setting of devices was changed."""
        return bool(self.visible is not None or self.growth or self.virtual)

    def config(self, devices: Sequence[PhysicalDevice]) -> Any:
        """Return the ``ConfigProto``; None if nothing was set.

        Args:
            devices: the physical devices, CPUs and GPUs in CUDA's order.

        Raises:
            ValueError: memory growth differs between GPUs.
        """
        if not (self.scalars or self.jit is not None or self.rewrites or self.sets_devices):
            return None
        config = ConfigProto()
        for name, value in self.scalars.items():
            setattr(config, name, value)
        options = config.graph_options
        if self.jit is not None:
            options.optimizer_options.global_jit_level = 1 if self.jit else -1
        for name, value in self.rewrites.items():
            if value is not None:
                is_toggle = name in _TOGGLES
                setattr(options.rewrite_options, name, (_ON if value else _OFF) if is_toggle else value)
        if self.sets_devices:
            self._set_devices(config, devices)
        return config

    def _set_devices(self, config: Any, devices: Sequence[PhysicalDevice]) -> None:
        visible = [device for device in devices if self.visible is None or device in self.visible]
        for kind in ("CPU", "GPU"):
            config.device_count[kind] = sum(
                len(self.virtual.get(device, (None,))) for device in visible if device.device_type == kind
            )
        gpus = [device for device in devices if device.device_type == "GPU"]
        seen = [number for number, gpu in enumerate(gpus) if gpu in visible]
        config.gpu_options.visible_device_list = ",".join(map(str, seen))
        if any(gpus[number] in self.virtual for number in seen):
            for number in seen:
                limits = [part.memory_limit for part in self.virtual.get(gpus[number], ())]
                config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=limits)
            return
        grows = {self.growth.get(gpus[number], False) for number in seen}
        if len(grows) > 1:
            raise ValueError("Memory growth cannot differ between GPU devices")
        config.gpu_options.allow_growth = grows == {True}

    def set_rewrites(self, options: Mapping[str, Any]) -> None:
        """Set fields of ``RewriterConfig``: booleans, and ``min_graph_nodes``.

        Args:
            options: values by name; unknown names are ignored, as in TensorFlow.
        """
        known = (*_TOGGLES, *_FLAGS, "min_graph_nodes")
        self.rewrites.update({name: value for name, value in options.items() if name in known})
