"""The settings of a placement as one record, with the devices and the ``ConfigProto`` that follow from it.

>>> settings = Settings(Machine.parse("4x Tesla K20m"), cuda_visible_devices="2,0", allow_growth=True)
>>> settings.environ
{'CUDA_VISIBLE_DEVICES': '2,0'}
>>> settings.visible, settings.text_for_visible((0, 2, 3))
((0, 2), '2,0,3')
>>> settings.config.gpu_options.allow_growth
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from gpuplace.device.device_set import DeviceSet
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.machine import Machine
from gpuplace.device.mapping import MappingRow
from gpuplace.device.parsed_name import parse_name
from gpuplace.device.visible import (
    DEVICE_ORDER,
    VISIBLE_DEVICES,
    Visibility,
    cuda_order,
    visible_devices_text,
)
from gpuplace.typing import VisibleDevices
from gpuplace.views.tables.text import counted

ORDERS = ("FASTEST_FIRST", "PCI_BUS_ID")
"""CUDA's ways to number GPUs."""


def _in_config(path: str, default: object) -> Any:
    """Return a field that is part of the ``ConfigProto``, with its path there."""
    default_argument = {"default_factory": default} if callable(default) else {"default": default}
    return field(**default_argument, metadata={"config": path})


@dataclass(frozen=True)
class Settings:
    """A machine, the environment, a ``ConfigProto`` and a release.

    `gpuplace.jupyter.explorer.setting_table` defines how each is checked and shown.
    """

    machine: Machine
    release: str = "1.15"
    soft_placement: bool = _in_config("allow_soft_placement", False)
    cuda_visible_devices: str | None = None
    """CUDA_VISIBLE_DEVICES; None if it is not set."""
    cuda_device_order: str = ORDERS[0]
    """CUDA_DEVICE_ORDER, one of `ORDERS`."""
    device_count: Mapping[str, int] = _in_config("device_count", dict)
    visible_device_list: str = _in_config("gpu_options.visible_device_list", "")
    allow_growth: bool = _in_config("gpu_options.allow_growth", False)
    per_process_gpu_memory_fraction: float = _in_config("gpu_options.per_process_gpu_memory_fraction", 0.0)
    tags: str | None = None
    """Comma-separated tags of the SavedModel's graph; None for other sources."""
    signature: str = ""
    """Key of the placed signature, including the functions it calls; `""` for the whole graph."""
    functions: tuple[str, ...] = ()
    """Functions opened from one another, the last of which is placed alone; empty for the graph itself."""
    calls: tuple[str, ...] = ()
    """For each function, the node from which it was opened, which determines its arguments' devices; `""` for none."""
    clear_devices: bool = False
    """Whether to ignore the nodes' requests."""
    fetches: tuple[str, ...] = ()
    """Fetches of the predicted step; empty for the default step."""
    feeds: Mapping[str, str] = field(default_factory=dict)
    """Feeds of the predicted step: tensor name -> shape, such as ``64,224,224,3``."""
    requests: Mapping[str, str] = field(default_factory=dict)
    """Requests that override those of the program: node -> device, ``""`` for no request."""
    base: Any = field(default=None, compare=False, repr=False)
    """The ``ConfigProto`` that all other options are taken from."""

    @classmethod
    def begin(cls, machine: Machine, release: str, config: Any, environ: Mapping[str, str]) -> Settings:
        """Return the settings that follow from a ``ConfigProto`` and an environment."""
        gpu_settings = GPUSettings.from_config(config)
        order = environ.get(DEVICE_ORDER, "").strip()
        values: dict[str, Any] = {"soft_placement": bool(getattr(config, "allow_soft_placement", False))}
        values |= {name: getattr(gpu_settings, part) for name, part in _GPU_PARTS.items()}
        return cls(
            machine,
            release,
            cuda_visible_devices=environ.get(VISIBLE_DEVICES),
            cuda_device_order=order if order in ORDERS else ORDERS[0],
            base=config,
            **values,
        )

    @property
    def function(self) -> str:
        """The function whose body is placed alone; `""` for none."""
        return self.functions[-1] if self.functions else ""

    @property
    def call(self) -> str:
        """The node from which the function was opened; `""` for none."""
        return self.calls[-1] if self.calls else ""

    @property
    def part(self) -> tuple[str | None, str, str, bool]:
        """The placed part of the model: tags, signature, function, and whether devices are cleared."""
        return self.tags, "" if self.functions else self.signature, self.function, self.clear_devices

    def outside(self) -> Settings:
        """The settings of the graph from which the function was opened."""
        return replace(self, functions=self.functions[:-1], calls=self.calls[:-1])

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that are set."""
        variables = {}
        if self.cuda_device_order != ORDERS[0]:
            variables[DEVICE_ORDER] = self.cuda_device_order
        if self.cuda_visible_devices is not None:
            variables[VISIBLE_DEVICES] = self.cuda_visible_devices
        return variables

    @property
    def config(self) -> Any:
        """A new ``ConfigProto`` with these settings; all other options are those of `base`."""
        from gpuplace.graphdef.messages import ConfigProto

        config = ConfigProto()
        if isinstance(self.base, ConfigProto):
            config.CopyFrom(self.base)
        for name, path in CONFIG_PATHS.items():
            value, parts = getattr(self, name), path.split(".")
            holder = config if len(parts) == 1 else getattr(config, parts[0])
            if isinstance(value, Mapping):
                getattr(holder, parts[-1]).clear()
                getattr(holder, parts[-1]).update(value)
            else:
                setattr(holder, parts[-1], value)
        return config

    @property
    def gpu_settings(self) -> GPUSettings:
        """The settings that determine the devices."""
        chosen = {part: getattr(self, name) for name, part in _GPU_PARTS.items()}
        return replace(GPUSettings.from_config(self.base), **chosen)

    def device_set(self) -> DeviceSet:
        """The devices of a session.

        Raises:
            OpError: the settings are wrong; the message is TensorFlow's.
        """
        return self.machine.device_set(self.gpu_settings, environ=self.environ, release=self.release)

    def mapping(self) -> tuple[MappingRow, ...]:
        """The chain from GPUs to devices; raises OpError if the settings are wrong."""
        return self.machine.mapping(self.gpu_settings, environ=self.environ, release=self.release)

    @property
    def visibility(self) -> Visibility:
        """The GPUs that CUDA shows; raises OpError for a value that names a part of a GPU."""
        return self.machine.visibility(self.environ)

    @property
    def visible(self) -> tuple[int, ...]:
        """The machine's GPUs that CUDA shows, in the machine's order."""
        return tuple(sorted(gpu.index for gpu in self.visibility.visible))

    def text_for_visible_devices(self, devices: VisibleDevices) -> str | None:
        """Return CUDA_VISIBLE_DEVICES for a value of ``visible_devices=``; None for all GPUs in their own order.

        Raises:
            TypeError, ValueError: as for ``visible_devices_text``.
        """
        text = visible_devices_text(devices, self.machine.gpus, self.cuda_device_order)
        return None if text == ",".join(map(str, range(len(self.machine.gpus)))) else text

    def text_for_visible(self, gpus: Iterable[int]) -> str | None:
        """Return the CUDA_VISIBLE_DEVICES that shows exactly these GPUs; None for all GPUs.

        GPUs that are already visible keep their order.
        """
        chosen = set(gpus)
        ordered = [gpu.index for gpu in cuda_order(self.machine.gpus, self.cuda_device_order)]
        before = [gpu.index for gpu in self.visibility.visible if gpu.index in chosen]
        is_plain = before == [gpu for gpu in ordered if gpu in before]
        if is_plain and len(chosen) == len(ordered):
            return None
        shown = [gpu for gpu in ordered if gpu in chosen]
        if not is_plain:
            shown = before + [gpu for gpu in shown if gpu not in before]
        return ",".join(str(ordered.index(gpu)) for gpu in shown)


CONFIG_PATHS = {item.name: item.metadata["config"] for item in fields(Settings) if "config" in item.metadata}
"""Setting -> its path in a ``ConfigProto``."""
_GPU_PARTS = {
    name: path.rpartition(".")[2]
    for name, path in CONFIG_PATHS.items()
    if path.rpartition(".")[2] in {item.name for item in fields(GPUSettings)}
}
"""Setting -> its name in `GPUSettings`."""


def checked_order(value: Any) -> str:
    """Return a valid GPU order, one of `ORDERS`; raise ValueError for another value."""
    if value not in ORDERS:
        raise ValueError(f"CUDA_DEVICE_ORDER must be {' or '.join(ORDERS)}, not {value!r}")
    return str(value)


def checked_visible(value: Any, settings: Settings) -> tuple[int, ...]:
    """Return sorted numbers of the machine's GPUs; raises ValueError for an unknown one."""
    gpus = tuple(sorted({int(gpu) for gpu in value}))
    count = len(settings.machine.gpus)
    if any(not 0 <= gpu < count for gpu in gpus):
        raise ValueError(f"The machine has {counted(count, 'GPU')}, numbered from 0; got {list(gpus)}")
    return gpus


def checked_fraction(value: Any) -> float:
    """Return a valid memory fraction; raise ValueError for a value that is not a non-negative number.

    >>> checked_fraction("0.4"), checked_fraction("")
    (0.4, 0.0)
    """
    try:
        number = float(value if value != "" else 0.0)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise ValueError(
            f"per_process_gpu_memory_fraction must be a fraction of each GPU's memory, for example 0.4; got {value!r}"
        )
    return number


def checked_fetches(value: Any) -> tuple[str, ...]:
    """Return the names of fetches, from a list or a comma-separated text.

    >>> checked_fetches("loss, train_op"), checked_fetches(None)
    (('loss', 'train_op'), ())
    """
    names = value.replace(";", ",").split(",") if isinstance(value, str) else value or ()
    return tuple(dict.fromkeys(name for name in (str(name).strip() for name in names) if name))


def checked_feeds(value: Any) -> dict[str, str]:
    """Return the shapes of feeds, given as a dict or as text; raise ValueError if they are invalid.

    >>> checked_feeds("images=64,224,224,3; labels=64"), checked_feeds({"images:0": (64, None)})
    ({'images': '64,224,224,3', 'labels': '64'}, {'images:0': '64,?'})
    >>> checked_feeds("images")
    Traceback (most recent call last):
    ...
    ValueError: A feed must be a name and a shape, for example images=64,224,224,3; got 'images'
    """
    if isinstance(value, str):
        pairs = [part.partition("=")[::2] for part in value.split(";") if part.strip()]
        wrong = [
            part for part, (name, shape) in zip(value.split(";"), pairs, strict=False) if "=" not in part
        ]
        if wrong:
            raise ValueError(
                f"A feed must be a name and a shape, for example images=64,224,224,3; got {wrong[0].strip()!r}"
            )
        value = {name.strip(): shape for name, shape in pairs}
    feeds = {}
    for name, shape in dict(value or {}).items():
        sizes = shape.strip("()[] ").split(",") if isinstance(shape, str) else shape
        sizes = [str("?" if size is None else size).strip() for size in sizes]
        sizes = ["?" if size in ("None", "-1") else size for size in sizes if size]
        if any(not (size == "?" or size.isdecimal()) for size in sizes):
            raise ValueError(f"The shape of {name} must be integers, for example 64,224,224,3; got {shape!r}")
        feeds[str(name)] = ",".join(sizes)
    return feeds


def checked_requests(value: Any) -> dict[str, str]:
    """Return the requested device of each node name; raise ValueError for an invalid device.

    >>> checked_requests({"left": "/gpu:1"}), checked_requests(None)
    ({'left': '/gpu:1'}, {})
    >>> checked_requests({"left": "gpu one"})
    Traceback (most recent call last):
    ...
    ValueError: The device requested for 'left' must be a device name, such as '/gpu:1'; got 'gpu one'
    """
    requests = {str(name): str(device) for name, device in dict(value or {}).items()}
    for name, device in requests.items():
        if device and parse_name(device) is None:
            raise ValueError(
                f"The device requested for {name!r} must be a device name, such as '/gpu:1'; got {device!r}"
            )
    return requests


def checked_count(value: Any) -> dict[str, int]:
    """Return ``device_count`` with integers; raise ValueError for another value.

    >>> checked_count({"GPU": "1", "CPU": ""})
    {'GPU': 1}
    """
    counts = {}
    for kind, number in dict(value).items():
        if number is None or number == "":
            continue
        text = str(number).strip()
        if not text.lstrip("+-").isascii() or not text.lstrip("+-").isdigit() or abs(int(text)) >= 1 << 31:
            raise ValueError(f"device_count {kind} must be an integer, for example 1; got {number!r}")
        counts[str(kind)] = int(text)
    return dict(sorted(counts.items()))
