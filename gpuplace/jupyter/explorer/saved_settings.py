"""The settings and the look of an explorer as a small JSON file, to be opened again or passed on.

::

    {
      "gpuplace": "explorer",
      "settings": {"machine": "4x Tesla K20m", "release": "1.15", "soft_placement": true, ...},
      "look": {"opened": ["tower_0"], "view": "graph", "colour": "assigned", "light": "", "selected": "", ...}
    }

What is left out stays as it is. Names of another graph are passed over; settings that there are not are an error.

>>> parts = read_parts({"gpuplace": "explorer", "settings": {"soft_placement": True}})
>>> parts.settings, parts.look
({'soft_placement': True}, {})
"""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.views.tables.text import shortened

__all__ = ["LOOK", "Parts", "parsed", "parts_text", "read_parts"]

LOOK = ("opened", "view", "backward", "colour", "light", "selected", "tab")
"""What of an explorer is its look."""
_KIND = "explorer"
_NAMES = tuple(item.name for item in fields(Settings) if item.compare)


class Parts(NamedTuple):
    """What a file holds."""

    settings: dict[str, Any]
    look: dict[str, Any]


def parts_text(settings: Settings, look: dict[str, Any]) -> str:
    """The file's text."""
    values = {name: getattr(settings, name) for name in _NAMES}
    parts = {"gpuplace": _KIND, "settings": values, "look": look}
    return f"{json.dumps(parts, indent=2, ensure_ascii=False, default=str)}\n"  # of a machine, its text


def parsed(text: str) -> Any:
    """The value of a file's text; ValueError where it is no JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"Not saved settings, {error}: {shortened(text, 80)!r}") from None


def read_parts(source: Any) -> Parts:
    """The parts of a saved explorer.

    Args:
        source: the path of a file, or the value of its JSON.

    Raises:
        ValueError: it is no saved explorer, or has settings that there are not.
        OSError: there is no such file.
    """
    if isinstance(source, str | os.PathLike):
        source = parsed(Path(source).read_text(encoding="utf-8"))
    if not isinstance(source, dict) or source.get("gpuplace") != _KIND:
        raise ValueError(
            'Not saved settings: they begin with "gpuplace": "explorer"; `save_settings` writes them'
        )
    parts = Parts(*(source.get(name, {}) for name in Parts._fields))
    for name, part, known in zip(Parts._fields, parts, (_NAMES, LOOK), strict=True):
        if not isinstance(part, dict):
            raise ValueError(f"{name} has names and values; got {shortened(repr(part), 80)}")
        if unknown := [key for key in part if key not in known]:
            raise ValueError(f"There is no {unknown[0]!r} in {name}: choose of {', '.join(known)}")
    return parts
