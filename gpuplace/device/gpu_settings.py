"""Device settings of a ``ConfigProto`` as a plain record.

Only attributes are read, so any object with the attributes of ``ConfigProto`` works, and this layer needs no protobuf.

>>> GPUSettings.from_config(None)
GPUSettings(device_count={}, visible_device_list='', per_process_gpu_memory_fraction=0.0, allow_growth=False, \
allocator_type='', virtual_devices=(), use_unified_memory=False)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from gpuplace.typing import ConfigProto

_NO_CONFIGS = (Mapping, str, bytes, int, float, tuple, list)


@dataclass(frozen=True, slots=True)
class GPUSettings:
    """Settings of ``ConfigProto`` that determine the devices and their memory limits."""

    device_count: Mapping[str, int] = field(default_factory=dict)
    """Maximum number of devices of each type, such as ``{"CPU": 3, "GPU": 2}``; by default all (CPU: the machine's)."""
    visible_device_list: str = ""
    """Comma-separated ids of visible GPUs in the order in which they become GPU:0, GPU:1, ...; ``""``: all."""
    per_process_gpu_memory_fraction: float = 0.0
    """Fraction of each GPU's total memory to use; 0: nearly all free memory."""
    allow_growth: bool = False
    """Whether memory is allocated on demand."""
    allocator_type: str = ""
    """``""`` or ``"BFC"``."""
    virtual_devices: tuple[tuple[float, ...], ...] = ()
    """Memory limits in MiB of the devices on each visible GPU; an empty entry creates one device of default size."""
    use_unified_memory: bool = False
    """Whether allocations may exceed the GPU's memory, backed by host memory."""

    @classmethod
    def from_config(cls, config: ConfigProto) -> GPUSettings:
        """Return the settings of a ``ConfigProto``-like object; None: the defaults.

        Raises:
            TypeError: ``config`` is another message or a plain value such as a dict.
        """
        if config is None:
            return cls()
        if isinstance(config, GPUSettings):
            return config
        if isinstance(config, _NO_CONFIGS) or hasattr(config, "SerializeToString") > hasattr(
            config, "gpu_options"
        ):
            kind = type(config).__name__
            wrapped = "; pass tf.ConfigProto(gpu_options=...)" if kind == "GPUOptions" else ""
            raise TypeError(
                "config must be a tf.ConfigProto, such as tf.ConfigProto(allow_soft_placement=True); "
                f"got {kind}{wrapped}"
            )
        options = getattr(config, "gpu_options", None)
        experimental = getattr(options, "experimental", None)
        return cls(
            device_count=dict(getattr(config, "device_count", None) or {}),
            visible_device_list=str(getattr(options, "visible_device_list", "") or ""),
            per_process_gpu_memory_fraction=float(
                getattr(options, "per_process_gpu_memory_fraction", 0.0) or 0.0
            ),
            allow_growth=bool(getattr(options, "allow_growth", False)),
            allocator_type=str(getattr(options, "allocator_type", "") or ""),
            virtual_devices=tuple(
                tuple(float(megabytes) for megabytes in entry.memory_limit_mb)
                for entry in getattr(experimental, "virtual_devices", None) or ()
            ),
            use_unified_memory=bool(getattr(experimental, "use_unified_memory", False)),
        )

    def describe_differences(self, other: GPUSettings, names: tuple[str, ...]) -> dict[str, tuple[Any, Any]]:
        """Return the pairs of differing values (this, other), by field name, for the given fields."""
        return {
            item.name: (getattr(self, item.name), getattr(other, item.name))
            for item in fields(self)
            if item.name in names and getattr(self, item.name) != getattr(other, item.name)
        }
