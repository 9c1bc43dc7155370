"""The table of settings: trait, check, control and description of each; everything else follows from it.

A new setting is a field of `Settings`, with its path in a ``ConfigProto`` if it has one, and an entry of `SETTINGS`.
The explorer's traits, its page, undo, saved settings, comparisons and program text then include it.

A control is ``{"name", "kind", "label", "value", "place", ...}``: ``kind`` is ``check``, ``choice``, ``text`` or
``number``; ``place`` is ``main``, ``gpus``, ``look`` or ``more``; ``key`` is its shortcut, and ``short`` its label on
narrow pages.

>>> from gpuplace.device.machine import Machine
>>> settings = Settings(Machine.parse("2x Tesla K40c"))
>>> setting_of("gpu:1", False, settings), setting_of("device_count:GPU", "1", settings)
(('visible_devices', (0,)), ('device_count', {'GPU': '1'}))
>>> SETTINGS["visible_devices"].changed((0,), settings).cuda_visible_devices
'0'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from traitlets import Any as AnyValue
from traitlets import Bool, Dict, Float, Tuple, Unicode

from gpuplace import release as releases
from gpuplace.device.machine import Machine, as_machine
from gpuplace.device.mapping import MappingRow
from gpuplace.device.visible import VISIBLE_DEVICES
from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.parts import Parts, setting_of_label
from gpuplace.jupyter.explorer.settings import (
    ORDERS,
    Settings,
    checked_count,
    checked_feeds,
    checked_fetches,
    checked_fraction,
    checked_order,
    checked_requests,
    checked_visible,
)
from gpuplace.views.tables.blocks import error_card
from gpuplace.views.tables.text import counted

PRESETS = (
    "cpu",
    "1x Tesla K40c",
    "2x Tesla K40c",
    "4x Tesla K20m",
    "8x Tesla K80",
    "1x Tesla T4",
    "2 CPU, 1x V100 + 2x K40c",
    "8x A100-80",
    "8x H100",
)
"""Machines that the explorer offers; any other machine's description can be typed."""
COUNTED_TYPES = ("CPU", "GPU")
"""Device types with a control for ``device_count``."""
_DEFAULT = Settings(Machine())

Control = dict[str, Any]


class Context(NamedTuple):
    """The inputs of controls."""

    settings: Settings
    mapping: Sequence[MappingRow]
    """How each GPU becomes a device, for the labels."""
    parts: Parts
    """The parts of the graph that can be selected."""


@dataclass(frozen=True)
class Setting:
    """One setting of the explorer."""

    trait: Any
    """Its type, default and help, which is also the tooltip of its control."""
    label: str = ""
    """Its label on the page; its name by default."""
    check: Callable[[Any], Any] = lambda value: value
    """Returns a value in its usual form; raises for an invalid value."""
    fields: Callable[[Any, Settings], dict[str, Any]] | None = None
    """Returns the fields of `Settings` that follow from a value; by default the field of its name."""
    read: Callable[[Settings], Any] | None = None
    """Returns the trait's value; by default the field of its name."""
    controls: Callable[[Setting, Context], list[Control]] = lambda setting, context: []
    """Returns its controls on the page."""
    typed: Callable[[str, Any, Settings], Any] = lambda part, value, settings: value
    """Returns the trait's value from a control's value; ``part`` is the name's part after a colon."""
    covers: tuple[str, ...] = ()
    """Fields whose errors are shown next to its first control; by default the field of its name."""
    words: Callable[[Settings], str] | None = None
    """Returns a description for comparisons; by default label and value, unless it is the default value."""
    is_of_step: bool = False
    """Whether it only selects the estimated step and does not change the placement."""
    name: str = ""
    """Name of the trait; its key in `SETTINGS`."""

    def changed(self, value: object, settings: Settings) -> Settings:
        """Return the settings with another value for this setting; raises as `check` does."""
        value = self.check(value)
        fields = {self.name: value} if self.fields is None else self.fields(value, settings)
        return replace(settings, **fields)

    def value(self, settings: Settings) -> Any:
        """Return the trait's value for some settings."""
        return getattr(settings, self.name) if self.read is None else self.read(settings)

    def text(self, settings: Settings) -> str:
        """Return a description; ``""`` for a default value."""
        if self.words is not None:
            return self.words(settings)
        value = getattr(settings, self.name)
        return "" if value == getattr(_DEFAULT, self.name) or self.is_of_step else f"{self.label}={value}"


# ------------------------------------------------------------------------------------------------------------- controls


def _control(kind: str, *, place: str = "more", **more: Any) -> Callable[[Setting, Context], list[Control]]:
    """Return a factory for one control with the setting's name and label; functions in ``more`` get the `Context`."""

    def controls(setting: Setting, context: Context) -> list[Control]:
        properties = {key: item(context) if callable(item) else item for key, item in more.items()}
        if kind == "choice" and len(properties["options"]) < 2:
            return []
        common = {"name": setting.name, "label": setting.label, "value": setting.value(context.settings)}
        if place == "more":
            common["is_set"] = common["value"] != getattr(_DEFAULT, setting.name)
        return [{**common, "kind": kind, "place": place, "tip": setting.trait.help, **properties}]

    return controls


def _gpu_controls(setting: Setting, context: Context) -> list[Control]:
    settings = context.settings
    if settings.machine.tasks:  # CUDA_VISIBLE_DEVICES is each task's own
        return []
    visible = setting.value(settings)
    device_of: dict[int, str] = {}
    for row in context.mapping:
        if row.device:
            device_of[row.physical_id] = f" → {row.device.removeprefix('/device:')}"
    moved = any(f" → GPU:{gpu}" != text for gpu, text in device_of.items()) or len(device_of) < len(visible)
    return [
        {
            "name": f"gpu:{gpu.index}",
            "kind": "check",
            "label": f"GPU {gpu.index} · {gpu.name}{device_of.get(gpu.index, '') if moved else ''}",
            "value": gpu.index in visible,
            "place": "gpus",
            "key": str(gpu.index) if gpu.index < 10 else "",
            "short": f"{gpu.index}{device_of.get(gpu.index, '') if moved else ''}",
            "tip": f"{gpu.name} at {gpu.pci_bus_id}: visible in CUDA_VISIBLE_DEVICES",
        }
        for gpu in settings.machine.gpus
    ]


def _count_controls(setting: Setting, context: Context) -> list[Control]:
    controls = []
    for kind in COUNTED_TYPES:
        number = context.settings.device_count.get(kind)
        controls.append(
            {
                "name": f"device_count:{kind}",
                "kind": "number",
                "label": f"device_count {kind}",
                "value": "" if number is None else str(number),
                "place": "more",
                "placeholder": "all" if kind == "GPU" else str(context.settings.machine.cpus or 1),
                "size": 5,
                "is_set": number is not None,
                "tip": f"device_count={{'{kind}': n}}: {'at most' if kind == 'GPU' else 'exactly'} n devices",
            }
        )
    return controls


def _default_text(settings: Settings) -> str:
    return ""


def _plain(number: float) -> str:
    return f"{number:g}" if number else ""


def _visible(settings: Settings) -> tuple[int, ...]:
    try:
        return settings.visible
    except OpError:
        return ()


def _with_gpu(part: str, value: object, settings: Settings) -> tuple[int, ...]:
    now = set(settings.visible)
    return tuple(sorted(now | {int(part)} if value else now - {int(part)}))


def _with_count(part: str, value: object, settings: Settings) -> dict[str, Any]:
    counts = {**settings.device_count, part: value}
    return {kind: number for kind, number in counts.items() if number not in (None, "")}


# ------------------------------------------------------------------------------------------------------------ the table

_TABLE = {
    "tags": Setting(
        Unicode(
            None, allow_none=True, help="Tags of the SavedModel's graph, such as 'gpu,serve'; None for others"
        ),
        "Tags",
        controls=_control(
            "choice", place="main", options=lambda context: list(context.parts.tag_sets), key="H"
        ),
        words=_default_text,
    ),
    "signature": Setting(
        Unicode("", help="The signature that is placed; empty for the whole graph."),
        words=_default_text,
    ),
    "function": Setting(
        Unicode("", help="The function whose body is placed by itself; empty for none."),
        "Graph",
        covers=("signature", "functions"),
        controls=_control(
            "choice",
            place="main",
            name="part",
            value=lambda context: context.parts.label(context.settings),
            options=lambda context: context.parts.labels(context.settings),
            key="h",
            tip="The placed part: the whole graph, the nodes of a signature, or the body of a function",
        ),
        words=_default_text,
    ),
    "machine": Setting(
        Unicode(
            help="A machine from the list or any other, such as 4x Tesla K20m or 2 CPU, 1x V100 + 2x K40c"
        ),
        "Machine",
        check=as_machine,
        # Another machine shows all its GPUs.
        fields=lambda value, settings: {
            "machine": value,
            **({} if value == settings.machine else {"cuda_visible_devices": None}),
        },
        read=lambda settings: str(settings.machine),
        controls=_control("text", place="main", options=list(PRESETS), size=13, key="m"),
        words=lambda settings: str(settings.machine),
    ),
    "soft_placement": Setting(
        Bool(
            False,
            help="allow_soft_placement: an op that cannot run on its requested device runs on another one",
        ),
        "Soft placement",
        controls=_control("check", place="main", key="s"),
        words=lambda settings: "soft placement" if settings.soft_placement else "",
    ),
    "release": Setting(
        Unicode(help="The TensorFlow release whose rules and messages are used"),
        "Release",
        check=releases.resolve,
        controls=_control("choice", place="main", options=list(releases.RELEASES), key="r"),
        words=lambda settings: f"release {settings.release}",
    ),
    "cuda_visible_devices": Setting(
        Unicode(
            None,
            allow_none=True,
            help="Ids in CUDA's order, or UUIDs, separated by commas: 2,0 or GPU-6f2a; None if it is not set",
        ),
        "CUDA_VISIBLE_DEVICES",
        controls=_control(
            "text",
            value=lambda context: context.settings.cuda_visible_devices or "",
            placeholder=lambda context: (
                "set, and empty: no GPU"
                if context.settings.environ.get(VISIBLE_DEVICES) == ""
                else "not set: all GPUs"
            ),
            unset="Unset CUDA_VISIBLE_DEVICES",
        ),
    ),
    "cuda_device_order": Setting(
        Unicode(ORDERS[0], help="How CUDA numbers GPUs"),
        "CUDA_DEVICE_ORDER",
        check=checked_order,
        controls=_control("choice", options=list(ORDERS)),
    ),
    "visible_devices": Setting(
        Tuple(help="Sorted numbers of the machine's GPUs that are visible in CUDA_VISIBLE_DEVICES"),
        fields=lambda value, settings: {
            "cuda_visible_devices": settings.text_for_visible(checked_visible(value, settings))
        },
        read=_visible,
        controls=_gpu_controls,
        typed=_with_gpu,
        words=_default_text,
    ),
    "visible_device_list": Setting(
        Unicode(
            "",
            help="gpu_options.visible_device_list: numbers of visible GPUs in the order of GPU:0, GPU:1, ...",
        ),
        controls=_control("text", placeholder="all, in CUDA's order"),
    ),
    "device_count": Setting(
        Dict(help="Devices by type, for example {'GPU': 1}"),
        check=checked_count,
        controls=_count_controls,
        typed=_with_count,
        words=lambda settings: ", ".join(
            f"at most {number} {kind}" for kind, number in settings.device_count.items()
        ),
    ),
    "per_process_gpu_memory_fraction": Setting(
        Float(0.0, help="Fraction of each GPU's memory that the process may use, for example 0.4"),
        check=checked_fraction,
        controls=_control(
            "number",
            value=lambda context: _plain(context.settings.per_process_gpu_memory_fraction),
            placeholder="nearly all",
            size=10,
        ),
        typed=lambda part, value, settings: checked_fraction(value),
    ),
    "allow_growth": Setting(
        Bool(False, help="Reserve GPU memory on demand instead of all at once"),
        controls=_control("check"),
    ),
    "clear_devices": Setting(
        Bool(False, help="Ignore the devices that the nodes request"),
        controls=_control("check"),
        words=lambda settings: "devices cleared" if settings.clear_devices else "",
    ),
    "fetches": Setting(
        AnyValue((), help="The fetches of the predicted step; () for the default step."),
        check=checked_fetches,
        is_of_step=True,
    ),
    "feeds": Setting(
        AnyValue(
            {}, help="The feeds of the predicted step, names and shapes: {'images': (64, 224, 224, 3)}."
        ),
        check=checked_feeds,
        is_of_step=True,
    ),
    "requests": Setting(
        AnyValue({}, help="Device requests that override those of the program: {'MatMul': '/gpu:1'}."),
        check=checked_requests,
        words=lambda settings: counted(len(settings.requests), "request") if settings.requests else "",
    ),
}
SETTINGS = {
    name: replace(setting, name=name, label=setting.label or name) for name, setting in _TABLE.items()
}
"""Name -> setting, in the order of their controls; the machine comes before settings that depend on its GPUs."""
_OF_CONTROLS = {"gpu": "visible_devices"}
"""First part of a control's name -> setting, if the setting has another name."""


def is_same_placement(first: Settings, second: Settings) -> bool:
    """Return whether two settings differ at most in the estimated step."""
    of_step = {name: getattr(first, name) for name, setting in SETTINGS.items() if setting.is_of_step}
    return replace(second, **of_step) == first


def words_of(settings: Settings) -> list[str]:
    """Return descriptions of all settings that differ from their defaults."""
    return [text for setting in SETTINGS.values() if (text := setting.text(settings))]


def controls_of(
    context: Context,
    *,
    refused: Mapping[str, tuple[Any, BaseException]],
    blamed: Mapping[str, BaseException],
) -> list[Control]:
    """Return the controls for some settings.

    Args:
        context: the values that they show.
        refused: name of a control -> the rejected value, which is shown, and its error.
        blamed: field of `Settings` -> its error.
    """
    all_controls = []
    for setting in SETTINGS.values():
        controls = setting.controls(setting, context)
        wrong = [blamed[name] for name in setting.covers or (setting.name,) if name in blamed]
        if controls and wrong:
            controls[0]["error"] = error_card(wrong[0])
        all_controls += controls
    for control in all_controls:
        if control["name"] in refused:
            typed, error = refused[control["name"]]
            control["error"] = error_card(error)
            if control["name"] != "part":  # a selection list cannot show a value that it does not contain
                control["value"] = typed
    return all_controls


def colour_control(colours: Sequence[str], colour: str) -> Control:
    """Return the control of the colouring, which is not a setting: it does not change the placement."""
    return {
        "name": "colour",
        "kind": "choice",
        "label": "Colour by",
        "value": colour,
        "options": list(colours),
        "place": "look",
        "key": "j",
    }


def setting_of(control: str, value: object, settings: Settings) -> tuple[str, Any]:
    """Return the trait that a control represents, and its new value.

    Raises:
        ValueError: there is no such control.
    """
    base, _, part = control.partition(":")
    if base == "part":
        return setting_of_label(str(value), settings)
    if control == "colour":
        return control, value
    name = _OF_CONTROLS.get(base, base)
    if name not in SETTINGS:
        raise ValueError(f"Unknown control {control!r}")
    return name, SETTINGS[name].typed(part, value, settings)
