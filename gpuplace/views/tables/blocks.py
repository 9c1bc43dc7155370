"""Blocks of text, tables and pictures: plain values that notebooks and report pages draw in the same way.

A block is a dict with a ``kind``: ``text`` (with a ``tone``), ``heading``, ``error``, ``code`` (``copy``: the label of
its button), ``buttons``, ``fields``, ``progress``, ``nodes``, ``picture``, ``table`` or ``side`` (lists of blocks, side
by side if there is room). The ``look`` of a table is ``short`` for many bars, ``prose`` for sentences in its last
column, or ``findings`` for sentences and code also on narrow screens. A table cell is a text, the look of a device,
``{"chips": [look, ...]}``, ``{"node": name}``, ``{"strong": text}``, ``{"text": text, "code": program text}``,
``{"check": bool, "name": action, "label": text}`` or ``{"bar": [[share, part, label], ...], "text": ...}``. They are
drawn by ``gpuplace/web/widgets/panel_view.js``.

>>> text_block("Nothing is wrong.", "status")
{'kind': 'text', 'text': 'Nothing is wrong.', 'tone': 'status'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.errors import OpError

Block = dict[str, Any]


def text_block(text: str, tone: str = "") -> Block:
    """Return a paragraph; tones are ``faint``, ``alarm``, ``stale`` and ``status``."""
    return {"kind": "text", "text": text, "tone": tone}


def heading_block(text: str) -> Block:
    """Return a heading."""
    return {"kind": "heading", "text": text}


def button(label: str, action: str, note: str = "") -> dict[str, str]:
    """Return a button that sends an action, with an optional note next to it."""
    return {"label": label, "note": note, "action": action}


def buttons_block(label: str, buttons: Sequence[Mapping[str, str]]) -> Block:
    """Return a row of buttons; ``label`` is its name for screen readers."""
    return {"kind": "buttons", "label": label, "buttons": list(buttons)}


def table_block(
    caption: str, columns: Sequence[str], rows: Sequence[Any], numbers: Sequence[int] = (), *, look: str = ""
) -> Block:
    """Return a table; the columns listed in ``numbers`` are right-aligned."""
    block = {
        "kind": "table",
        "caption": caption,
        "columns": list(columns),
        "rows": rows,
        "numbers": list(numbers),
    }
    return {**block, "look": look} if look else block


def field(
    name: str,
    label: str,
    value: str,
    tip: str,
    size: int = 0,
    placeholder: str = "",
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a text field, or a selection of ``options``."""
    attributes = {"name": name, "label": label, "value": value, "tip": tip}
    more = {"size": size, "placeholder": placeholder, "options": list(options)}
    return attributes | {key: item for key, item in more.items() if item}


def fields_block(
    label: str, fields: Sequence[dict[str, Any]], refused: Mapping[str, tuple[Any, Any]] | None = None
) -> Block:
    """Return a row of fields; ``refused`` maps field names to the rejected value and the error."""
    shown = []
    for description in fields:
        rejected = (refused or {}).get(description["name"])
        correction = (
            {}
            if rejected is None
            else {"value": str(rejected[0]), "error": getattr(rejected[1], "message", str(rejected[1]))}
        )
        shown.append(description | correction)
    return {"kind": "fields", "label": label, "fields": shown}


def error_card(error: BaseException) -> dict[str, Any]:
    """Return an error for the page: its class, TensorFlow's message and the facts."""
    facts = [[label, str(text)] for label, text in getattr(error, "facts", {}).items()]
    if hint := getattr(error, "hint", None):
        facts.append(["try", str(hint)])
    title = type(error).__name__ if isinstance(error, OpError) else "Not accepted"
    return {"title": title, "message": getattr(error, "message", str(error)), "facts": facts}
