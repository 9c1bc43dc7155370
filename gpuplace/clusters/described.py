"""What tasks say of themselves, put together: the devices of a session, and the machine that predicting needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuplace.clusters.connections import is_loopback
from gpuplace.clusters.wire import unpacked_device
from gpuplace.device.device_set import DeviceSet
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.machine import Machine, Origin
from gpuplace.device.network import LOOPBACK
from gpuplace.errors import InvalidArgumentError


def devices_of(
    described: Sequence[Mapping[str, Any]], addresses: Mapping[str, str], config: Any
) -> DeviceSet:
    """The devices of a session on tasks.

    Args:
        described: what each task says of itself, the session's own first.
        addresses: name of a task -> its full address.
        config: the session's ``ConfigProto``.
    """
    try:
        machines = {one["task"]: Machine.parse(one["machine"]) for one in described}
    except InvalidArgumentError:  # hardware that this release does not know
        return DeviceSet([unpacked_device(device) for one in described for device in one["devices"]])
    hosts = {address.partition("://")[2].rpartition(":")[0].strip("[]") for address in addresses.values()}
    machine = Machine.of_tasks(machines, LOOPBACK if all(map(is_loopback, hosts)) else None)
    devices, first = [], 0
    for one in described:
        for device in map(unpacked_device, one["devices"]):
            place = device.physical_id
            devices.append(device if place is None else replace(device, physical_id=first + place))
        first += len(machines[one["task"]].gpus)
    seen = machine.visibility({})
    return DeviceSet(
        devices, None, Origin(machine, GPUSettings.from_config(config), seen.order, seen.setting)
    )
