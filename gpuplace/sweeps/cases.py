"""The cases of a sweep: every graph on every machine with every config, as every release, in this order.

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
from gpuplace.session.place import devices_of


class NamedMachine(NamedTuple):
    """A machine of a sweep."""

    name: str
    """What the rows call it; ``""`` for the process's."""
    machine: Any
    """As `gpuplace.place` takes it."""


class NamedConfig(NamedTuple):
    """A config of a sweep."""

    name: str
    """What the rows call it; ``""`` for none."""
    config: Any
    """A ``ConfigProto`` or None."""


class Setting(NamedTuple):
    """All but the graph of a case."""

    machine: str
    """The machine's name."""
    config_name: str
    """The config's name."""
    release: str | None
    """The TensorFlow to place as; None: the one that wrote the graph."""
    devices: DeviceSet | OpError
    """The machine's devices, or why there are none."""
    config: bytes | None
    """The ``ConfigProto``, as bytes."""

    @property
    def digest(self) -> bytes:
        """What tells it from other settings."""
        about: Any
        if isinstance(self.devices, OpError):
            about = repr(self.devices)
        else:
            machine = getattr(self.devices.origin, "machine", None)
            hardware: Any = (machine.gpus, str(machine.wiring)) if machine is not None else None
            if machine is not None and machine.tasks:
                hardware = (*hardware, str(machine))
            about = (self.devices.devices, sorted(self.devices.type_priority.items()), hardware)
        return hashlib.sha256(repr((self.release, self.config, about)).encode()).digest()


def named_machines(machines: Any) -> list[NamedMachine]:
    """The machines of a sweep with their names.

    Args:
        machines: one or several of what `gpuplace.place` takes, or names to such; None: the process's.

    Raises:
        TypeError: it is nothing of the kind.
    """
    if isinstance(machines, Mapping):
        named = [NamedMachine(str(name), machine) for name, machine in machines.items()]
    else:
        if machines is None or isinstance(machines, str | Machine | DeviceSet):
            machines = [machines]
        if not isinstance(machines, Iterable):
            raise TypeError(
                f"machines: texts such as '4x K80', Machine objects, or names to such; got {machines!r}"
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
    """The configs of a sweep with their names.

    Args:
        configs: a ``ConfigProto``, a dict of its fields, or None; several of them, or names to such.

    Raises:
        TypeError: it is nothing of the kind.
        ValueError: a dict names what is no field, or has a value of another type.
    """
    if isinstance(configs, Mapping) and not set(configs) <= set(ConfigProto.DESCRIPTOR.fields_by_name):
        return [NamedConfig(str(name), _config(config)) for name, config in configs.items()]
    if configs is None or isinstance(configs, Mapping) or hasattr(configs, "SerializeToString"):
        configs = [configs]
    if isinstance(configs, str) or not isinstance(configs, Iterable):
        raise TypeError(f"configs: ConfigProto messages, dicts of their fields, or None; got {configs!r}")
    made = map(_config, configs)
    return [
        NamedConfig(
            "" if config is None else text_format.MessageToString(config, as_one_line=True).strip(), config
        )
        for config in made
    ]


def _config(given: Any) -> Any:
    if given is None or isinstance(given, ConfigProto):
        return given
    if isinstance(given, Mapping):
        try:
            return ConfigProto(**given)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{dict(given)!r} does not make a ConfigProto: {error}") from None
    if getattr(getattr(given, "DESCRIPTOR", None), "name", "") == "ConfigProto":  # TensorFlow's own class
        return ConfigProto.FromString(given.SerializeToString())
    raise TypeError(f"a config is a ConfigProto, a dict of its fields, or None; got {given!r}")


def settings(machines: Any, configs: Any, names: Any, visible_devices: Any = None) -> list[Setting]:
    """What every graph of a sweep is placed with, all releases of one config of one machine after another.

    Args:
        machines, configs: as of `gpuplace.sweep`.
        names: releases, one or several; None: the process's, otherwise the one that wrote each graph.
        visible_devices: as of `gpuplace.place`.

    Raises:
        TypeError, ValueError: one of them is nothing of the kind.
    """
    found = []
    given = [names] if names is None or isinstance(names, str) else names
    wanted = [None if name is None and not releases.is_chosen() else releases.resolve(name) for name in given]
    known = named_configs(configs)
    for name, machine in named_machines(machines):
        for config_name, config in known:
            for release in wanted:
                devices: DeviceSet | OpError
                try:
                    devices = devices_of(machine, config, visible_devices, release)
                except OpError as error:
                    devices = error
                shown = name or (_machine_name(devices) if isinstance(devices, DeviceSet) else "")
                data = None if config is None else config.SerializeToString(deterministic=True)
                found.append(Setting(shown, config_name, release, devices, data))
    return found


def key_of(question: str, graph: bytes, setting: bytes) -> str:
    """What a case is found by in a saved sweep: its graph, its setting and what is asked, all by content.

    Args:
        question: what is asked, with its options.
        graph, setting: digests.
    """
    return hashlib.sha256(question.encode() + graph + setting).hexdigest()[:32]
