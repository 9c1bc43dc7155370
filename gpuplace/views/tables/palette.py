"""Colours of devices: told apart by colour-blind readers, the same in every picture, readable in grey.

A device's look depends on its name alone, so that GPU:2 is green in every picture, whatever else is shown; the first
GPU of a parameter server is not blue, as that of the first worker is.
Colour is never the only sign: boxes carry the device's label, a CPU's box has square corners and a GPU's round ones,
and from the ninth GPU on the eight colours come again with a double and then a triple outline.

>>> device_style("/job:localhost/replica:0/task:0/device:GPU:2").label
'GPU:2'
>>> device_style("/device:GPU:2").fill == device_style("/device:GPU:10").fill
True
>>> device_style("/device:GPU:2").outlines, device_style("/device:GPU:10").outlines
(1, 2)

The fills were searched for the largest smallest distance in CIE Lab between any two of them, seen with normal
vision, with protanopia, deuteranopia and tritanopia (matrices of Machado, Oliveira and Fernandes, "A
Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, severity 1.0), among those with enough
contrast to the text on them. They stand in ``gpuplace/web/rules.json``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from gpuplace.device.parsed_name import parse_name, short_name
from gpuplace.web.rules import RULES, words

_COLOURS = RULES["colours"]
INK: str = _COLOURS["ink"]
"""Text on every fill."""

CPU_FILL: str = _COLOURS["cpu"]
GPU_FILLS: tuple[str, ...] = tuple(_COLOURS["gpus"])
"""GPU:0 blue, GPU:1 orange, GPU:2 green, GPU:3 pink, GPU:4 yellow, GPU:5 violet, GPU:6 cyan, GPU:7 brown."""
OTHER_FILLS: tuple[str, ...] = tuple(_COLOURS["others"])
"""Device types beside CPU and GPU."""

SCALE_FILLS: tuple[str, ...] = tuple(_COLOURS["scale"])
"""Steps of a number, little to much: each is darker than the one before by 10 or more of 100 in CIE lightness, so that
the order is seen by everyone and stays in grey."""
PAPER: str = _COLOURS["paper"]
"""Fill of what belongs to no category, and text on the darkest steps."""
PATTERNS = ("rising", "dots", "level", "crossed", "falling", "upright", "grid", "rings")
"""Hatches, one a fill, for print without colour; ``""`` is none."""
MOST_CATEGORIES = 2 * len(GPU_FILLS)
"""Categories that get a look of their own; further ones are together one."""

NO_DEVICE = ""
"""Stands for "no device"."""


@dataclass(frozen=True, slots=True)
class DeviceStyle:
    """How a device looks."""

    label: str
    """Short name, ``GPU:2``; with job and task where the device is not the local process's."""
    fill: str
    """Colour of its boxes, ``#rrggbb``."""
    corners: str
    """``"square"``, ``"round"`` or ``"cut"``: the kind of device where there is no colour."""
    outlines: int
    """Lines around a box, 1 to 3; tells devices of one colour apart."""
    order: tuple[int, str, int]
    """Legends list devices by this: CPUs, then GPUs, then others."""


@dataclass(frozen=True, slots=True)
class Look:
    """How what belongs to one category is drawn."""

    fill: str = PAPER
    """``#rrggbb``."""
    corners: str = "round"
    """``"square"``, ``"round"`` or ``"cut"``, in the legend; boxes have their device's."""
    outlines: int = 1
    """Lines around a box, 1 to 3."""
    pattern: str = ""
    """One of `PATTERNS` or ``""``, where hatches are asked for."""
    ink: str = INK
    """Text on the fill."""

    def chip(self, **more: Any) -> dict[str, Any]:
        """How its chip looks, for the scripts of widgets and pages."""
        return {
            "fill": self.fill,
            "ink": self.ink,
            "corners": self.corners,
            "outlines": self.outlines,
            **more,
        }


@dataclass(frozen=True, slots=True)
class Theme:
    """What is around the boxes."""

    name: str
    """``"light"`` or ``"dark"``."""
    background: str
    ink: str
    """Text on the background."""
    faint: str
    """Less important text on the background."""
    edge: str
    """Tensors that stay on their device."""
    copy: str
    """Tensors that cross between devices."""
    frame: str
    """Outline of boxes and open scopes."""
    scope: str
    """Inside of an open scope."""
    alarm: str
    """Outline of what failed and of requests that were not met."""
    mark: str
    """What was searched for."""
    path: str
    """The critical path."""


def _theme(name: str) -> Theme:
    colours: dict[str, str] = _COLOURS["themes"][name]
    return Theme(name, **{field.name: colours[field.name] for field in fields(Theme)[1:]})


LIGHT, DARK = _theme("light"), _theme("dark")
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme_named(name: str) -> Theme:
    """The theme of that name; ValueError for one that does not exist.

    >>> theme_named("dark").background
    '#16191d'
    """
    if name not in THEMES:
        raise ValueError(f"Unknown theme {name!r}: choose one of {', '.join(THEMES)}")
    return THEMES[name]


@lru_cache(maxsize=4096)
def device_label(device: str) -> str:
    """Short name of a device: ``GPU:2``, or ``worker/1 GPU:2`` in another process; ``no device`` for an empty name.

    >>> device_label("/job:localhost/replica:0/task:0/device:CPU:0"), device_label("/job:ps/replica:0/task:1/cpu:0")
    ('CPU:0', 'ps/1 CPU:0')
    """
    if device == NO_DEVICE:
        return words("no_device")
    return short_name(device)


@lru_cache(maxsize=4096)
def device_style(device: str) -> DeviceStyle:
    """Look of a device by its name, full or short; ``""`` is the look of a node without a device."""
    label = device_label(device)
    parsed = parse_name(device) if device else None
    if parsed is None:
        return DeviceStyle(label, PAPER, "square", 1, (9, label, 0))
    number = (parsed.id or 0) + 3 * (parsed.task or 0)
    if parsed.type == "CPU":
        return DeviceStyle(label, CPU_FILL, "square", min(1 + number, 3), (0, label, number))
    if parsed.type == "GPU":
        outlines = min(1 + number // len(GPU_FILLS), 3)
        fill = GPU_FILLS[(number + _job_shift(parsed.job)) % len(GPU_FILLS)]
        return DeviceStyle(label, fill, "round", outlines, (1, "", number))
    kind = sum(map(ord, parsed.type or "")) % len(OTHER_FILLS)
    return DeviceStyle(label, OTHER_FILLS[kind], "cut", min(1 + number, 3), (2, label, number))


def _job_shift(job: str | None) -> int:
    """By how many colours a job's GPUs are away from those of workers, which have the colours of one process."""
    return 0 if job in (None, "", "localhost", "worker") else 1 + sum(map(ord, job)) % (len(GPU_FILLS) - 1)


def chip_look(device: str, **more: Any) -> dict[str, Any]:
    """How a device's chip looks, for the scripts of widgets and pages.

    >>> chip_look("/device:GPU:9", count=3)
    {'label': 'GPU:9', 'fill': '#edae69', 'corners': 'round', 'outlines': 2, 'count': 3}
    """
    style = device_style(device)
    return {
        "label": style.label,
        "fill": style.fill,
        "corners": style.corners,
        "outlines": style.outlines,
        **more,
    }


def device_look(device: str) -> Look:
    """Look of a device's boxes by its name, full or short.

    >>> device_look("/device:GPU:0").pattern, device_look("/cpu:0").pattern
    ('rising', '')
    """
    style = device_style(device)
    pattern = PATTERNS[GPU_FILLS.index(style.fill)] if style.fill in GPU_FILLS else ""
    return Look(style.fill, style.corners, style.outlines, pattern)


def category_look(number: int) -> Look:
    """Look of the category at a place, or that of all further ones together from `MOST_CATEGORIES` on.

    >>> category_look(0).fill == category_look(8).fill, category_look(8).outlines
    (True, 2)
    """
    if number >= MOST_CATEGORIES:
        return Look(CPU_FILL, "cut")
    position = number % len(GPU_FILLS)
    return Look(GPU_FILLS[position], "round", 1 + number // len(GPU_FILLS), PATTERNS[position])


def scale_look(step: int) -> Look:
    """Look of a step of a number, 0 for the least."""
    return Look(SCALE_FILLS[step], "square", 1, "", INK if step < 4 else PAPER)
