"""The settings and the look of an explorer as a small JSON file that can be opened again or shared.

::

    {
      "gpuplace": "explorer",
      "settings": {"machine": "4x Tesla K20m", "release": "1.15", "soft_placement": true, ...},
      "look": {"opened": ["tower_0"], "view": "graph", "colour": "assigned", "light": "", "selected": "", ...}
    }

Missing entries are not changed. Names of another graph are ignored; unknown settings are an error.

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
"""The traits of an explorer's look."""
_KIND = "explorer"
_NAMES = tuple(item.name for item in fields(Settings) if item.compare)


class Parts(NamedTuple):
    """The content of a file."""

    settings: dict[str, Any]
    look: dict[str, Any]


def parts_text(settings: Settings, look: dict[str, Any]) -> str:
    """Return the file's text."""
    values = {name: getattr(settings, name) for name in _NAMES}
    parts = {"gpuplace": _KIND, "settings": values, "look": look}
    return f"{json.dumps(parts, indent=2, ensure_ascii=False, default=str)}\n"  # str of a machine is its description


def parsed(text: str) -> Any:
    """Return the value of a file's text; raises ValueError if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"This is not a file of saved settings: {shortened(text, 80)!r} ({error})") from None


def read_parts(source: Any) -> Parts:
    """Return the parts of a saved explorer.

    Args:
        source: the path of a file, or its JSON value.

    Raises:
        ValueError: it is not a saved explorer, or contains unknown settings.
        OSError: there is no such file.
    """
    if isinstance(source, str | os.PathLike):
        source = parsed(Path(source).read_text(encoding="utf-8"))
    if not isinstance(source, dict) or source.get("gpuplace") != _KIND:
        raise ValueError(
            'These are not saved settings: "gpuplace": "explorer" is missing. Use a file written by `save_settings`.'
        )
    parts = Parts(*(source.get(name, {}) for name in Parts._fields))
    for name, part, allowed in zip(Parts._fields, parts, (_NAMES, LOOK), strict=True):
        if not isinstance(part, dict):
            raise ValueError(f"{name} must map names to values; got {shortened(repr(part), 80)}")
        if unknown := [key for key in part if key not in allowed]:
            raise ValueError(f"There is no {unknown[0]!r} in {name}: choose from {', '.join(allowed)}")
    return parts
