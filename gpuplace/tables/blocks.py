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

from typing import Any

from gpuplace.errors import OpError

Block = dict[str, Any]


def text_block(text: str, tone: str = "") -> Block:
    """A paragraph; tones are ``faint``, ``alarm``, ``stale`` and ``status``."""
    return {"kind": "text", "text": text, "tone": tone}


def error_card(error: BaseException) -> dict[str, Any]:
    """An error for the page: its class, TensorFlow's sentence and the facts."""
    facts = [[label, str(text)] for label, text in getattr(error, "facts", {}).items()]
    if hint := getattr(error, "hint", None):
        facts.append(["try", str(hint)])
    title = type(error).__name__ if isinstance(error, OpError) else "Not accepted"
    return {"title": title, "message": getattr(error, "message", str(error)), "facts": facts}
