"""Cases of a sweep: each graph on each machine with each config and release, nested in this order.

>>> [machine.name for machine in named_machines(["2x  K80", None])]
['2x  K80', '']
>>> [config.name for config in named_configs({"soft": {"allow_soft_placement": True}, "plain": None})]
['soft', 'plain']
>>> named_configs({"allow_soft_placement": True, "gpu_options": {"visible_device_list": "1"}})[0].name
'gpu_options { visible_device_list: "1" } allow_soft_placement: true'
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpuplace import release as releases
from gpuplace.device.device_set import DeviceSet
from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.graphdef.messages import ConfigProto, text_format
from gpuplace.runtime.session.place import devices_of


class NamedMachine(NamedTuple):
    """Machine of a sweep."""

    name: str
    """Name in the rows; ``""`` for the process's machine."""
    machine: Any
    """Machine as in `gpuplace.place`."""


class NamedConfig(NamedTuple):
    """Config of a sweep."""

    name: str
    """Name in the rows; ``""`` for none."""
    config: Any
    """``ConfigProto`` or None."""


class Setting(NamedTuple):
    """Machine, config and release of a case."""

    machine: str
    """Name of the machine."""
    config_name: str
    """Name of the config."""
    release: str | None
    """TensorFlow release to behave like; None: the one that wrote the graph."""
    devices: DeviceSet | OpError
    """Devices of the machine, or the error with which they could not be created."""
    config: bytes | None
    """Serialized ``ConfigProto``."""

    @property
    def digest(self) -> bytes:
        """Digest that identifies the setting."""
        content: Any
        if isinstance(self.devices, OpError):
            content = repr(self.devices)
        else:
            machine = getattr(self.devices.origin, "machine", None)
            hardware: Any = (machine.gpus, str(machine.wiring)) if machine is not None else None
            if machine is not None and machine.tasks:
                hardware = (*hardware, str(machine))
            content = (self.devices.devices, sorted(self.devices.type_priority.items()), hardware)
        return hashlib.sha256(repr((self.release, self.config, content)).encode()).digest()


def named_machines(machines: Any) -> list[NamedMachine]:
    """Return the machines of a sweep with their names.

    Args:
        machines: one or several machines as in `gpuplace.place`, or a dict from names to machines; None: the process's.

    Raises:
        TypeError: a machine has the wrong type.
    """
    if isinstance(machines, Mapping):
        named = [NamedMachine(str(name), machine) for name, machine in machines.items()]
    else:
        if machines is None or isinstance(machines, str | Machine | DeviceSet):
            machines = [machines]
        if not isinstance(machines, Iterable):
            raise TypeError(
                f"machines must be texts such as '4x K80', Machine objects, or a dict of these; got {machines!r}"
            )
        named = [NamedMachine(_machine_name(machine), machine) for machine in machines]
    for _, machine in named:
        if machine is not None and not isinstance(machine, str | Machine | DeviceSet):
            raise TypeError(
                f"a machine must be a Machine or its text, such as '4x Tesla K20m'; got {machine!r}"
            )
    return named


def _machine_name(machine: Any) -> str:
    if machine is None:
        return ""
    if isinstance(machine, DeviceSet):
        origin = machine.origin
        return str(origin.machine) if origin is not None else ", ".join(machine.names)
    return str(machine)


def named_configs(configs: Any) -> list[NamedConfig]:
    """Return the configs of a sweep with their names.

    Args:
        configs: a ``ConfigProto``, a dict of its fields, or None; several of them, or a dict from names to them.

    Raises:
        TypeError: a config has the wrong type.
        ValueError: a dict contains a name that is not a field, or a value of the wrong type.
    """
    if isinstance(configs, Mapping) and not set(configs) <= set(ConfigProto.DESCRIPTOR.fields_by_name):
        return [NamedConfig(str(name), _config(config)) for name, config in configs.items()]
    if configs is None or isinstance(configs, Mapping) or hasattr(configs, "SerializeToString"):
        configs = [configs]
    if isinstance(configs, str) or not isinstance(configs, Iterable):
        raise TypeError(
            f"configs must be ConfigProto messages, dicts of their fields, or None; got {configs!r}"
        )
    messages = map(_config, configs)
    return [
        NamedConfig(
            "" if config is None else text_format.MessageToString(config, as_one_line=True).strip(), config
        )
        for config in messages
    ]


def _config(value: Any) -> Any:
    if value is None or isinstance(value, ConfigProto):
        return value
    if isinstance(value, Mapping):
        try:
            return ConfigProto(**value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{dict(value)!r} cannot be converted to a ConfigProto: {error}") from None
    if getattr(getattr(value, "DESCRIPTOR", None), "name", "") == "ConfigProto":  # TensorFlow's own class
        return ConfigProto.FromString(value.SerializeToString())
    raise TypeError(f"a config must be a ConfigProto, a dict of its fields, or None; got {value!r}")


def settings(machines: Any, configs: Any, names: Any, visible_devices: Any = None) -> list[Setting]:
    """Return the settings with which each graph of a sweep is placed, nested by machine, config and release.

    Args:
        machines, configs: as in `gpuplace.sweep`.
        names: releases, one or several; None: the process's, otherwise the one that wrote each graph.
        visible_devices: as in `gpuplace.place`.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
    """
    rows = []
    given_names = [names] if names is None or isinstance(names, str) else names
    resolved = [
        None if name is None and not releases.is_chosen() else releases.resolve(name) for name in given_names
    ]
    all_configs = named_configs(configs)
    for name, machine in named_machines(machines):
        for config_name, config in all_configs:
            for release in resolved:
                devices: DeviceSet | OpError
                try:
                    devices = devices_of(machine, config, visible_devices, release)
                except OpError as error:
                    devices = error
                shown = name or (_machine_name(devices) if isinstance(devices, DeviceSet) else "")
                data = None if config is None else config.SerializeToString(deterministic=True)
                rows.append(Setting(shown, config_name, release, devices, data))
    return rows


def key_of(query: str, graph: bytes, setting: bytes) -> str:
    """Return the key of a case in a saved sweep, computed from the contents of graph, setting and query.

    Args:
        query: the query with its options.
        graph, setting: digests.
    """
    return hashlib.sha256(query.encode() + graph + setting).hexdigest()[:32]
