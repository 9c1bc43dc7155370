"""The devices that satisfy a group's constraints, in order of preference.

The order is: the caller's default device, higher kernel priority, higher device-type priority, in 2.x devices of the
client's own process, device name compared as text.

Source: tensorflow/core/common_runtime/colocation_graph.cc and device_set.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.device.parsed_name import ANY, ParsedName
from gpuplace.placer.member import Member
from gpuplace.placer.node_facts import SupportedTypes

FULL, SOFT, SOFT_RESOURCE = "full", "soft", "soft resource"
"""How candidates were found: as requested; without type and index; also without a resource's request."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The possible devices of a node or group."""

    devices: tuple[int, ...]
    """Positions in the device set, best first; empty if no device is left."""
    level: str
    """`FULL`, `SOFT` or `SOFT_RESOURCE`."""
    name: ParsedName
    """The device name that these devices match."""

    @property
    def first(self) -> int:
        """Position of the best device; -1 if there is none."""
        return self.devices[0] if self.devices else -1


class DeviceChooser:
    """Finds candidates on one set of devices; results are cached.

    Args:
        device_set: the devices.
        soft: whether soft placement is allowed.
        local_first: whether devices of the client's own process come before equally good ones (2.x).
        default_local_device: full name of the device that is preferred wherever it is possible.
    """

    def __init__(
        self,
        device_set: DeviceSet,
        *,
        soft: bool,
        local_first: bool = True,
        default_local_device: str | None = None,
    ) -> None:
        self.device_set = device_set
        self.soft = soft
        self.local_first = local_first
        self.default_local_device = default_local_device
        self.position = {name: i for i, name in enumerate(device_set.names)}
        client = device_set.client_device
        self._is_local = {
            device.name: local_first
            and client is not None
            and client.parsed.is_same_address_space(device.parsed)
            for device in device_set
        }
        self._cache: dict[Member, Candidates] = {}

    def without_default(self) -> DeviceChooser:
        """Return a chooser without the caller's default device."""
        return DeviceChooser(self.device_set, soft=self.soft, local_first=self.local_first)

    def candidates(self, member: Member) -> Candidates:
        """Return the devices that satisfy `member`."""
        candidates = self._cache.get(member)
        if candidates is None:
            candidates = self._cache[member] = self._find(member)
        return candidates

    def matching(self, name: ParsedName, supported: SupportedTypes) -> tuple[int, ...]:
        """Return the devices of a supported type that match `name`, best first."""
        devices = self.device_set.matching(name)
        priority = dict(supported)
        usable = [device for device in devices if device.device_type in priority]

        def key(device: DeviceAttributes) -> tuple[bool, int, int, bool, str]:
            device_type = device.device_type
            return (
                device.name != self.default_local_device,
                -priority[device_type],
                -self.device_set.type_priority[device_type],
                not self._is_local[device.name],
                device.name,
            )

        return tuple(self.position[device.name] for device in sorted(usable, key=key))

    def _find(self, member: Member) -> Candidates:
        devices = self.matching(member.requested, member.supported)
        if devices or not self.soft or member.requested == ANY:
            return Candidates(devices, FULL, member.requested)
        name = member.soft_name(keep_resource=True)
        devices = self.matching(name, member.supported)
        if devices:
            return Candidates(devices, SOFT, name)
        name = member.soft_name(keep_resource=False)
        return Candidates(self.matching(name, member.supported), SOFT_RESOURCE, name)
