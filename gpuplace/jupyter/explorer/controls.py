"""The explorer's controls as records, from which its page makes check boxes, lists and texts.

A field is ``{"name", "kind", "label", "value", "place", ...}``: ``kind`` is ``check``, ``choice``, ``text`` or
``number``; ``place`` is ``main``, ``gpus``, ``look`` or ``more``; ``key`` goes to it, and ``short`` is its label where
there is little room. `setting_of` says what a field's new value sets.

>>> from gpuplace.device.machine import Machine
>>> setting_of("gpu:1", False, Settings(Machine.parse("2x Tesla K40c")))
('visible_devices', (0,))
>>> setting_of("device_count:GPU", "1", Settings(Machine.parse("2x Tesla K40c")))
('device_count', {'GPU': '1'})
"""

from __future__ import annotations

from typing import Any

from gpuplace import release as releases
from gpuplace.device.mapping import MappingRow
from gpuplace.jupyter.explorer.parts import Parts, setting_of_label
from gpuplace.jupyter.explorer.settings import ORDERS, Settings, checked_fraction
from gpuplace.tables.blocks import error_card

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
"""Machines that the explorer offers; any other text of a machine can be typed."""
COUNTED_TYPES = ("CPU", "GPU")
"""Device types with a field for ``device_count``."""


def fields_of(
    settings: Settings,
    visible: tuple[int, ...],
    mapping: tuple[MappingRow, ...],
    colours: tuple[str, ...] = (),
    colour: str = "",
    errors: dict[str, BaseException] | None = None,
    typed: dict[str, Any] | None = None,
    parts: Parts | None = None,
) -> list[dict[str, Any]]:
    """The fields for some settings.

    Args:
        settings: what they show.
        visible: GPUs that CUDA shows.
        mapping: what became of each GPU, for the labels.
        colours: names of colourings to choose from.
        colour: the chosen one.
        errors: field name -> what is wrong with it.
        typed: field name -> a value that was refused, shown as it was typed.
        parts: what of the graph can be chosen.
    """
    made = [
        _field(
            "machine",
            "text",
            "Machine",
            str(settings.machine),
            options=list(PRESETS),
            size=13,
            key="m",
            tip="A machine: choose one, or type any, for example 2 CPU, 1x V100 + 2x K40c",
        ),
        _field(
            "soft_placement",
            "check",
            "Soft placement",
            settings.soft_placement,
            key="s",
            tip="allow_soft_placement",
        ),
        _field("release", "choice", "Release", settings.release, options=list(releases.RELEASES), key="r"),
    ]
    if len(colours) > 1:
        made.append(
            _field("colour", "choice", "Colour by", colour, options=list(colours), place="look", key="j")
        )
    made[:0] = _part_fields(settings, parts)
    made += _gpu_fields(settings, visible, mapping)
    made += _more_fields(settings)
    for field in made:
        error = (errors or {}).get(field["name"])
        if error is not None:
            field["error"] = error_card(error)
        if field["name"] in (typed or {}):
            field["value"] = (typed or {})[field["name"]]
    return made


def _part_fields(settings: Settings, parts: Parts | None) -> list[dict[str, Any]]:
    """What of the graph is placed; nothing where there is nothing to choose."""
    if parts is None:
        return []
    made = []
    if len(parts.tag_sets) > 1:
        tip = "Tags of the SavedModel's graph"
        made.append(
            _field("tags", "choice", "Tags", settings.tags, options=list(parts.tag_sets), tip=tip, key="H")
        )
    labels = parts.labels(settings)
    if len(labels) > 1:
        tip = "What is placed: the whole graph, what a signature needs, or the body of a function alone"
        made.append(
            _field("part", "choice", "Graph", parts.label(settings), options=labels, tip=tip, key="h")
        )
    return made


def _gpu_fields(
    settings: Settings, visible: tuple[int, ...], mapping: tuple[MappingRow, ...]
) -> list[dict[str, Any]]:
    if settings.machine.tasks:  # CUDA_VISIBLE_DEVICES is each task's own
        return []
    became: dict[int, str] = {}
    for row in mapping:
        if row.device:
            became[row.physical_id] = f" → {row.device.removeprefix('/device:')}"
    moved = any(f" → GPU:{gpu}" != text for gpu, text in became.items()) or len(became) < len(visible)
    return [
        _field(
            f"gpu:{gpu.index}",
            "check",
            f"GPU {gpu.index} · {gpu.name}{became.get(gpu.index, '') if moved else ''}",
            gpu.index in visible,
            place="gpus",
            key=str(gpu.index) if gpu.index < 10 else "",
            short=f"{gpu.index}{became.get(gpu.index, '') if moved else ''}",
            tip=f"{gpu.name} at {gpu.pci_bus_id}: whether CUDA_VISIBLE_DEVICES shows it",
        )
        for gpu in settings.machine.gpus
    ]


def _more_fields(settings: Settings) -> list[dict[str, Any]]:
    setting = settings.cuda_visible_devices
    empty = "not set: all GPUs" if setting is None else "set, and empty: no GPU"
    made = [
        _field(
            "cuda_visible_devices",
            "text",
            "CUDA_VISIBLE_DEVICES",
            setting or "",
            placeholder=empty,
            is_set=setting is not None,
            unset="Unset CUDA_VISIBLE_DEVICES",
            tip="Ids in CUDA's order, or UUIDs, separated by commas: 2,0 or GPU-6f2a",
        ),
        _field(
            "cuda_device_order",
            "choice",
            "CUDA_DEVICE_ORDER",
            settings.cuda_device_order,
            options=list(ORDERS),
            is_set=settings.cuda_device_order != ORDERS[0],
            tip="How CUDA numbers GPUs",
        ),
        _field(
            "visible_device_list",
            "text",
            "visible_device_list",
            settings.visible_device_list,
            placeholder="all, in CUDA's order",
            is_set=bool(settings.visible_device_list),
            tip="gpu_options.visible_device_list: numbers of visible GPUs in the order of GPU:0, GPU:1, ...",
        ),
    ]
    for kind in COUNTED_TYPES:
        number = settings.device_count.get(kind)
        made.append(
            _field(
                f"device_count:{kind}",
                "number",
                f"device_count {kind}",
                "" if number is None else str(number),
                placeholder="all" if kind == "GPU" else str(settings.machine.cpus or 1),
                size=5,
                is_set=number is not None,
                tip=f"device_count={{'{kind}': n}}: {'at most so many' if kind == 'GPU' else 'so many'} devices",
            )
        )
    fraction = settings.per_process_gpu_memory_fraction
    made += [
        _field(
            "per_process_gpu_memory_fraction",
            "number",
            "per_process_gpu_memory_fraction",
            f"{fraction:g}" if fraction else "",
            placeholder="nearly all",
            size=10,
            is_set=bool(fraction),
            tip="Part of each GPU's memory that the process may use, for example 0.4",
        ),
        _field(
            "allow_growth",
            "check",
            "allow_growth",
            settings.allow_growth,
            is_set=settings.allow_growth,
            tip="Take GPU memory as it is needed, not all at once",
        ),
        _field(
            "clear_devices",
            "check",
            "clear_devices",
            settings.clear_devices,
            is_set=settings.clear_devices,
            tip="Ignore the devices that the nodes ask for",
        ),
    ]
    for field in made:
        field["place"] = "more"
    return made


def _field(name: str, kind: str, label: str, value: Any, place: str = "main", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "label": label, "value": value, "place": place, **more}


def setting_of(name: str, value: Any, settings: Settings) -> tuple[str, Any]:
    """The setting that a field stands for, and its new value.

    Raises:
        ValueError: there is no such field.
    """
    base, _, part = name.partition(":")
    if base == "part":
        return setting_of_label(str(value), settings)
    if base == "gpu" and part.isdigit():
        now = set(settings.visible)
        now = now | {int(part)} if value else now - {int(part)}
        return "visible_devices", tuple(sorted(now))
    if base == "device_count" and part in COUNTED_TYPES:
        counts: dict[str, Any] = dict(settings.device_count)
        counts[part] = value
        return "device_count", {kind: number for kind, number in counts.items() if number not in (None, "")}
    if base == "per_process_gpu_memory_fraction":
        return base, checked_fraction(value)
    if base in (
        *("soft_placement", "machine", "release", "colour", "cuda_visible_devices", "cuda_device_order"),
        *("visible_device_list", "allow_growth", "tags", "clear_devices", "fetches", "feeds"),
    ):
        return base, value
    raise ValueError(f"There is no control {name!r}")
