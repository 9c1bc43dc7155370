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
"""Priority of a type that nobody registered."""

CPU_MEMORY_LIMIT = 256 << 20
"""``memory_limit`` in bytes that TensorFlow gives every CPU device; it binds nothing."""


@dataclass(frozen=True, slots=True)
class DeviceLink:
    """A direct way from one device to another of the same task."""

    device_id: int
    """Index of the other device among those of its type."""
    type: str
    """``"SAME_DEVICE"``, ``"StreamExecutor"`` (peer access over PCIe or NVLink)."""
    strength: int
    """Larger is better; only comparable within one machine."""


@dataclass(frozen=True, slots=True)
class DeviceLocality:
    """Where a device sits."""

    bus_id: int = 0
    """Socket number counted from 1; 0 is unknown."""
    numa_node: int = 0
    """NUMA node."""
    links: tuple[DeviceLink, ...] = ()
    """Direct ways to other devices."""


@dataclass(frozen=True, repr=False)
class DeviceAttributes:
    """One device as a session sees it; what ``Session.list_devices()`` lists.

    Raises:
        InvalidArgumentError: ``name`` does not have all five parts.
    """

    name: str
    """Full name, ``/job:localhost/replica:0/task:0/device:GPU:0``."""
    device_type: str = ""
    """``"CPU"``, ``"GPU"``, ...; taken from the name where not given."""
    memory_limit: int = CPU_MEMORY_LIMIT
    """Bytes that the device's allocator may hand out."""
    physical_device_desc: str = ""
    """``device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5``; ``""`` for a CPU."""
    incarnation: int = 0
    """Number that tells this device from an earlier one of the same name; made from name and hardware if 0."""
    locality: DeviceLocality = field(default_factory=DeviceLocality)
    """Socket, NUMA node and links."""
    physical_id: int | None = None
    """Position of the GPU in the machine; None for anything but a GPU of a known machine."""
    visible_id: int | None = None
    """Position of the GPU among those that CUDA_VISIBLE_DEVICES leaves ("platform GPU id")."""
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
        """The same device with another ``memory_limit`` in bytes."""
        return self if memory_limit == self.memory_limit else replace(self, memory_limit=memory_limit)

    @property
    def memory_limit_bytes(self) -> int:
        """``memory_limit`` under the name it has in ``Session.list_devices()``."""
        return self.memory_limit

    @property
    def id(self) -> int:
        """The last number of the name."""
        index = self.parsed.id
        assert index is not None
        return index


def device_type_priority(device_type: str, type_priority: Mapping[str, int] | None = None) -> int:
    """Priority of a device type: from ``type_priority``, else TensorFlow's own, else -1."""
    if type_priority is not None and device_type in type_priority:
        return type_priority[device_type]
    return DEVICE_TYPE_PRIORITY.get(device_type, UNKNOWN_TYPE_PRIORITY)


class DeviceSet:
    """Devices in their order of creation, the first being the client's own.

    Args:
        devices: At least none; the first one is the client device, as in a local session.
        type_priority: Priorities that replace or add to TensorFlow's.
        origin: The machine and settings that they are made of, an `Origin`; None where only the devices are known.
            Sets of equal devices are equal, whatever they are made of.

    Raises:
        InvalidArgumentError: two devices of one name.
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
        """Full names in order of creation."""
        return list(self.by_name)

    @property
    def client_device(self) -> DeviceAttributes | None:
        """The device of the process that asks (CPU:0 in a local session); None in an empty set."""
        return self.devices[0] if self.devices else None

    def prioritized_types(self) -> list[tuple[str, int]]:
        """Types with their priorities, the preferred first; equal priorities by name."""
        return sorted(self.type_priority.items(), key=lambda item: (-item[1], item[0]))

    def prioritized_devices(self) -> list[DeviceAttributes]:
        """All devices by type priority, then the client's own address space first, then by name as a string."""
        client = self.client_device

        def key(device: DeviceAttributes) -> tuple[int, bool, str]:
            is_local = client is not None and client.parsed.is_same_address_space(device.parsed)
            return -self.type_priority[device.device_type], not is_local, device.name

        return sorted(self.devices, key=key)

    def matching(self, parsed: ParsedName) -> list[DeviceAttributes]:
        """Devices, in order of creation, that have every part ``parsed`` sets."""
        found = self._matching.get(parsed)
        if found is None:
            found = tuple(device for device in self.devices if parsed.is_specification(device.parsed))
            self._matching[parsed] = found
        return list(found)

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
