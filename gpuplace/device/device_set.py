"""The devices a session or a placement may use, and their order of preference.

>>> gpu = DeviceAttributes("/job:localhost/replica:0/task:0/device:GPU:0")
>>> cpu = DeviceAttributes("/job:localhost/replica:0/task:0/device:CPU:0")
>>> devices = DeviceSet([cpu, gpu])
>>> devices.prioritized_types()
[('GPU', 210), ('CPU', 70)]
>>> [device.name for device in devices.matching(parse_name("/gpu:*"))]
['/job:localhost/replica:0/task:0/device:GPU:0']

Source: tensorflow/core/common_runtime/device_set.cc and the priorities given where each device factory is registered,
release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gpuplace.device.parsed_name import ParsedName, parse_name
from gpuplace.errors import InvalidArgumentError

DEVICE_TYPE_PRIORITY: Mapping[str, int] = MappingProxyType(
    {"GPU": 210, "TPU": 150, "CPU": 70, "XLA_CPU": 50, "XLA_GPU": 50}
)
"""Priority of the device types TensorFlow registers; the highest is preferred."""

UNKNOWN_TYPE_PRIORITY = -1
"""Priority of an unregistered device type."""

CPU_MEMORY_LIMIT = 256 << 20
"""``memory_limit`` that TensorFlow reports for every CPU device, in bytes; it is not enforced."""


@dataclass(frozen=True, slots=True)
class DeviceLink:
    """A direct link from a device to another device of the same task."""

    device_id: int
    """Index of the other device among the devices of its type."""
    type: str
    """``"SAME_DEVICE"`` or ``"StreamExecutor"`` (peer access over PCIe or NVLink)."""
    strength: int
    """Strength of the link; larger is better. Comparable only within one machine."""


@dataclass(frozen=True, slots=True)
class DeviceLocality:
    """Location of a device within its machine."""

    bus_id: int = 0
    """Socket number, counted from 1; 0 if unknown."""
    numa_node: int = 0
    """NUMA node."""
    links: tuple[DeviceLink, ...] = ()
    """Direct links to other devices."""


@dataclass(frozen=True, repr=False)
class DeviceAttributes:
    """A device as a session sees it; the element type of ``Session.list_devices()``."""

    name: str
    """Full name, ``/job:localhost/replica:0/task:0/device:GPU:0``."""
    device_type: str = ""
    """Device type, such as ``"CPU"`` or ``"GPU"``; derived from the name if empty."""
    memory_limit: int = CPU_MEMORY_LIMIT
    """Memory that the device's allocator may use, in bytes."""
    physical_device_desc: str = ""
    """``device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5``; ``""`` for a CPU."""
    incarnation: int = 0
    """Number that distinguishes it from earlier devices of the same name; 0: derived from name and hardware."""
    locality: DeviceLocality = field(default_factory=DeviceLocality)
    """Socket, NUMA node and links."""
    physical_id: int | None = None
    """Index of the GPU in the machine; None for other devices and if the machine is unknown."""
    visible_id: int | None = None
    """Index of the GPU among those visible under CUDA_VISIBLE_DEVICES ("platform GPU id")."""
    uuid: str = ""
    """UUID of the GPU."""

    def __post_init__(self) -> None:
        parsed = parse_name(self.name)
        if parsed is None or not parsed.is_complete:
            raise InvalidArgumentError.of(
                f"Device name '{self.name}' is not a full device name.",
                hint="write all five parts, for example /job:localhost/replica:0/task:0/device:GPU:0",
            )
        object.__setattr__(self, "name", parsed.to_string())
        if not self.device_type:
            object.__setattr__(self, "device_type", parsed.type)
        if not self.incarnation:
            import hashlib

            digest = hashlib.blake2b(f"{self.name} {self.uuid}".encode(), digest_size=8).digest()
            object.__setattr__(self, "incarnation", int.from_bytes(digest, "big") | 1)

    @cached_property
    def parsed(self) -> ParsedName:
        """The five parts of the name."""
        parsed = parse_name(self.name)
        assert parsed is not None
        return parsed

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit}, {self.incarnation})"

    def with_memory_limit(self, memory_limit: int) -> DeviceAttributes:
        """Return a copy of the device with another ``memory_limit``, in bytes."""
        return self if memory_limit == self.memory_limit else replace(self, memory_limit=memory_limit)

    @property
    def memory_limit_bytes(self) -> int:
        """``memory_limit`` under its name in ``Session.list_devices()``."""
        return self.memory_limit

    @property
    def id(self) -> int:
        """Index in the device's name."""
        index = self.parsed.id
        assert index is not None
        return index


def device_type_priority(device_type: str, type_priority: Mapping[str, int] | None = None) -> int:
    """Return the priority of a device type: from ``type_priority``, or TensorFlow's own, or -1."""
    if type_priority is not None and device_type in type_priority:
        return type_priority[device_type]
    return DEVICE_TYPE_PRIORITY.get(device_type, UNKNOWN_TYPE_PRIORITY)


class DeviceSet:
    """Devices in creation order; the first is the client device.

    Args:
        devices: devices; the first is the client device, as in a local session. May be empty.
        type_priority: type priorities that override or extend TensorFlow's.
        origin: the machine and settings that the devices were created from, an `Origin`; None if only the devices are
            known. It does not take part in comparison.

    Raises:
        InvalidArgumentError: two devices have the same name.
    """

    def __init__(
        self,
        devices: Iterable[DeviceAttributes],
        type_priority: Mapping[str, int] | None = None,
        origin: Any = None,
    ) -> None:
        self.origin = origin
        self.devices: tuple[DeviceAttributes, ...] = tuple(devices)
        self.type_priority: dict[str, int] = {
            device.device_type: device_type_priority(device.device_type, type_priority)
            for device in self.devices
        }
        self.by_name: dict[str, DeviceAttributes] = {}
        for device in self.devices:
            if device.name in self.by_name:
                raise InvalidArgumentError.of(f"Duplicate device name: {device.name}")
            self.by_name[device.name] = device
        self._matching: dict[ParsedName, tuple[DeviceAttributes, ...]] = {}

    @property
    def names(self) -> list[str]:
        """Full device names in creation order."""
        return list(self.by_name)

    @property
    def client_device(self) -> DeviceAttributes | None:
        """The device of the calling process (CPU:0 in a local session); None in an empty set."""
        return self.devices[0] if self.devices else None

    def prioritized_types(self) -> list[tuple[str, int]]:
        """Return the device types and their priorities, highest first; ties are ordered by name."""
        return sorted(self.type_priority.items(), key=lambda item: (-item[1], item[0]))

    def prioritized_devices(self) -> list[DeviceAttributes]:
        """Return all devices by type priority, then the client's address space first, then by name."""
        client = self.client_device

        def key(device: DeviceAttributes) -> tuple[int, bool, str]:
            is_local = client is not None and client.parsed.is_same_address_space(device.parsed)
            return -self.type_priority[device.device_type], not is_local, device.name

        return sorted(self.devices, key=key)

    def matching(self, parsed: ParsedName) -> list[DeviceAttributes]:
        """Return the devices that match every part set in ``parsed``, in creation order."""
        devices = self._matching.get(parsed)
        if devices is None:
            devices = tuple(device for device in self.devices if parsed.is_specification(device.parsed))
            self._matching[parsed] = devices
        return list(devices)

    def __iter__(self) -> Iterator[DeviceAttributes]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceSet):
            return NotImplemented
        return self.devices == other.devices and self.type_priority == other.type_priority

    def __hash__(self) -> int:
        return hash(self.devices)

    def __repr__(self) -> str:
        return f"DeviceSet({self.names})"
