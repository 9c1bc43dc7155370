"""Blocks of text, tables and pictures that a page draws: plain values, the same in a notebook and on a report page.

A block is a dict with a ``kind``: ``text`` (with a ``tone``), ``heading``, ``error``, ``code`` (``copy``: what its
button says), ``buttons``, ``fields``, ``progress``, ``nodes``, ``picture``, ``table`` or ``side`` (lists of blocks,
beside each other where there is room). The ``look`` of a table is ``short``, for many bars, ``prose``, for sentences in
its last column, or ``findings``, for sentences and code in narrow places too. A cell of a table is a text, the look of
a device, ``{"chips": [look, ...]}``, ``{"node": name}``, ``{"strong": text}``, ``{"text": text, "code": program
text}``, ``{"check": bool, "name": action, "label": text}`` or ``{"bar": [[share, part, label], ...], "text": ...}``.
``gpuplace/web/widgets/panel_view.js`` draws them.

>>> text_block("Nothing is wrong.", "status")
{'kind': 'text', 'text': 'Nothing is wrong.', 'tone': 'status'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.errors import OpError

Block = dict[str, Any]


def text_block(text: str, tone: str = "") -> Block:
    """A paragraph; tones are ``faint``, ``alarm``, ``stale`` and ``status``."""
    return {"kind": "text", "text": text, "tone": tone}


def heading_block(text: str) -> Block:
    """A heading."""
    return {"kind": "heading", "text": text}


def button(label: str, action: str, note: str = "") -> dict[str, str]:
    """A button that sends an action, with words beside it."""
    return {"label": label, "note": note, "action": action}


def buttons_block(label: str, buttons: Sequence[Mapping[str, str]]) -> Block:
    """Buttons beside each other, and what a screen reader calls them."""
    return {"kind": "buttons", "label": label, "buttons": list(buttons)}


def table_block(
    caption: str, columns: Sequence[str], rows: Sequence[Any], numbers: Sequence[int] = (), *, look: str = ""
) -> Block:
    """A table; columns of numbers are aligned to the right."""
    made = {
        "kind": "table",
        "caption": caption,
        "columns": list(columns),
        "rows": rows,
        "numbers": list(numbers),
    }
    return {**made, "look": look} if look else made


def field(
    name: str,
    label: str,
    value: str,
    tip: str,
    size: int = 0,
    placeholder: str = "",
    options: Sequence[str] = (),
) -> dict[str, Any]:
    """A field for a text, or a list of ``options``."""
    made = {"name": name, "label": label, "value": value, "tip": tip}
    more = {"size": size, "placeholder": placeholder, "options": list(options)}
    return made | {key: item for key, item in more.items() if item}


def fields_block(
    label: str, fields: Sequence[dict[str, Any]], refused: Mapping[str, tuple[Any, Any]] | None = None
) -> Block:
    """Fields beside each other; ``refused`` has what was typed into one, and what is wrong with it."""
    shown = []
    for known in fields:
        typed = (refused or {}).get(known["name"])
        wrong = (
            {}
            if typed is None
            else {"value": str(typed[0]), "error": getattr(typed[1], "message", str(typed[1]))}
        )
        shown.append(known | wrong)
    return {"kind": "fields", "label": label, "fields": shown}


def error_card(error: BaseException) -> dict[str, Any]:
    """An error for the page: its class, TensorFlow's sentence and the facts."""
    facts = [[label, str(text)] for label, text in getattr(error, "facts", {}).items()]
    if hint := getattr(error, "hint", None):
        facts.append(["try", str(hint)])
    title = type(error).__name__ if isinstance(error, OpError) else "Not accepted"
    return {"title": title, "message": getattr(error, "message", str(error)), "facts": facts}
