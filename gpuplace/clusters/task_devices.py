"""Devices and machine of a session, merged from the descriptions of its tasks."""

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
from gpuplace.typing import ConfigProto


def devices_of(
    descriptions: Sequence[Mapping[str, Any]], addresses: Mapping[str, str], config: ConfigProto
) -> DeviceSet:
    """Return the devices of a session on tasks.

    Args:
        descriptions: description of each task, the session's own first.
        addresses: full address of each task, by name.
        config: the session's ``ConfigProto``.
    """
    try:
        machines = {task["task"]: Machine.parse(task["machine"]) for task in descriptions}
    except InvalidArgumentError:  # hardware that this version of gpuplace does not know
        return DeviceSet([unpacked_device(device) for task in descriptions for device in task["devices"]])
    hosts = {address.partition("://")[2].rpartition(":")[0].strip("[]") for address in addresses.values()}
    machine = Machine.of_tasks(machines, LOOPBACK if all(map(is_loopback, hosts)) else None)
    devices, first_gpu = [], 0
    for task in descriptions:
        for device in map(unpacked_device, task["devices"]):
            gpu = device.physical_id
            devices.append(device if gpu is None else replace(device, physical_id=first_gpu + gpu))
        first_gpu += len(machines[task["task"]].gpus)
    seen = machine.visibility({})
    return DeviceSet(
        devices, None, Origin(machine, GPUSettings.from_config(config), seen.order, seen.setting)
    )
