"""Device colours: distinguishable for colour-blind readers, equal in all pictures, readable in gray.

A device's look depends only on its name, so GPU:2 is green in every picture. The first GPU of a parameter server has
another colour than the first GPU of a worker. Colour is never the only sign: boxes carry the device's label, CPU boxes
have square corners and GPU boxes round ones. From the ninth GPU on the eight colours repeat with a double and then a
triple outline.

>>> device_style("/job:localhost/replica:0/task:0/device:GPU:2").label
'GPU:2'
>>> device_style("/device:GPU:2").fill == device_style("/device:GPU:10").fill
True
>>> device_style("/device:GPU:2").outlines, device_style("/device:GPU:10").outlines
(1, 2)

The fills maximize the smallest distance in CIE Lab between any two of them, for normal vision, protanopia,
deuteranopia and tritanopia (matrices of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation
of Color Vision Deficiency", 2009, severity 1.0), among colours with enough contrast to the text on them. They are in
``gpuplace/web/rules.json``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from gpuplace.device.parsed_name import parse_name, short_name
from gpuplace.web.rules import RULES, words

_COLOURS = RULES["colours"]
INK: str = _COLOURS["ink"]
"""Text colour on every fill."""

CPU_FILL: str = _COLOURS["cpu"]
GPU_FILLS: tuple[str, ...] = tuple(_COLOURS["gpus"])
"""GPU:0 blue, GPU:1 orange, GPU:2 green, GPU:3 pink, GPU:4 yellow, GPU:5 violet, GPU:6 cyan, GPU:7 brown."""
OTHER_FILLS: tuple[str, ...] = tuple(_COLOURS["others"])
"""Fills of device types other than CPU and GPU."""

SCALE_FILLS: tuple[str, ...] = tuple(_COLOURS["scale"])
"""Steps of a numeric scale, from low to high. Each is at least 10 of 100 in CIE lightness darker than its predecessor,
so the order is visible to everyone and in gray.
"""
PAPER: str = _COLOURS["paper"]
"""Fill of boxes without a category, and text colour on the darkest steps."""
PATTERNS = ("rising", "dots", "level", "crossed", "falling", "upright", "grid", "rings")
"""Hatch patterns, one for each fill, for print without colour; ``""`` means no pattern."""
MOST_CATEGORIES = 2 * len(GPU_FILLS)
"""Number of categories with their own look; all further ones share one."""

NO_DEVICE = ""
"""The name that represents "no device"."""


@dataclass(frozen=True, slots=True)
class DeviceStyle:
    """The look of a device."""

    label: str
    """Short name, ``GPU:2``; with job and task for a device of another process."""
    fill: str
    """Colour of its boxes, ``#rrggbb``."""
    corners: str
    """``"square"``, ``"round"`` or ``"cut"``: shows the device type without colour."""
    outlines: int
    """Number of lines around a box, 1 to 3; distinguishes devices of one colour."""
    order: tuple[int, str, int]
    """Sort key of legends: CPUs, then GPUs, then others."""


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a category."""

    fill: str = PAPER
    """``#rrggbb``."""
    corners: str = "round"
    """``"square"``, ``"round"`` or ``"cut"`` in the legend; boxes have the corners of their device."""
    outlines: int = 1
    """Number of lines around a box, 1 to 3."""
    pattern: str = ""
    """One of `PATTERNS`, or ``""``; drawn if hatches are requested."""
    ink: str = INK
    """Text colour on the fill."""

    def chip(self, **more: Any) -> dict[str, Any]:
        """Return the look of its chip, for the scripts of widgets and pages."""
        return {
            "fill": self.fill,
            "ink": self.ink,
            "corners": self.corners,
            "outlines": self.outlines,
            **more,
        }


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours around the boxes."""

    name: str
    """``"light"`` or ``"dark"``."""
    background: str
    ink: str
    """Text on the background."""
    faint: str
    """Less important text on the background."""
    edge: str
    """Tensors that stay on a device."""
    copy: str
    """Tensors that are copied between devices."""
    frame: str
    """Outline of boxes and open scopes."""
    scope: str
    """Background of an open scope."""
    alarm: str
    """Outline of failed nodes and of overridden requests."""
    mark: str
    """Search matches."""
    path: str
    """The critical path."""


def _theme(name: str) -> Theme:
    colours: dict[str, str] = _COLOURS["themes"][name]
    return Theme(name, **{field.name: colours[field.name] for field in fields(Theme)[1:]})


LIGHT, DARK = _theme("light"), _theme("dark")
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme_named(name: str) -> Theme:
    """Return a theme by name.

    >>> theme_named("dark").background
    '#16191d'

    Raises:
        ValueError: there is no such theme.
    """
    if name not in THEMES:
        raise ValueError(f"Unknown theme {name!r}: choose one of {', '.join(THEMES)}")
    return THEMES[name]


@lru_cache(maxsize=4096)
def device_label(device: str) -> str:
    """Return a device's short name: ``GPU:2``, ``worker/1 GPU:2`` in another process, ``no device`` for an empty name.

    >>> device_label("/job:localhost/replica:0/task:0/device:CPU:0"), device_label("/job:ps/replica:0/task:1/cpu:0")
    ('CPU:0', 'ps/1 CPU:0')
    """
    if device == NO_DEVICE:
        return words("no_device")
    return short_name(device)


@lru_cache(maxsize=4096)
def device_style(device: str) -> DeviceStyle:
    """Return the look of a device by its full or short name; ``""`` for a node without a device."""
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
    """Return the colour offset of a job's GPUs; workers have the colours of a single process."""
    return 0 if job in (None, "", "localhost", "worker") else 1 + sum(map(ord, job)) % (len(GPU_FILLS) - 1)


def chip_look(device: str, **more: Any) -> dict[str, Any]:
    """Return the look of a device's chip, for the scripts of widgets and pages.

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
    """Return the look of a device's boxes by its full or short name.

    >>> device_look("/device:GPU:0").pattern, device_look("/cpu:0").pattern
    ('rising', '')
    """
    style = device_style(device)
    pattern = PATTERNS[GPU_FILLS.index(style.fill)] if style.fill in GPU_FILLS else ""
    return Look(style.fill, style.corners, style.outlines, pattern)


def category_look(number: int) -> Look:
    """Return the look of a category by its number; numbers from `MOST_CATEGORIES` on share one look.

    >>> category_look(0).fill == category_look(8).fill, category_look(8).outlines
    (True, 2)
    """
    if number >= MOST_CATEGORIES:
        return Look(CPU_FILL, "cut")
    position = number % len(GPU_FILLS)
    return Look(GPU_FILLS[position], "round", 1 + number // len(GPU_FILLS), PATTERNS[position])


def scale_look(step: int) -> Look:
    """Return the look of a step of a numeric scale, 0 for the lowest."""
    return Look(SCALE_FILLS[step], "square", 1, "", INK if step < 4 else PAPER)
