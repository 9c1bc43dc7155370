"""Recorded answers of TensorFlow's placers, made comparable with ours."""

from __future__ import annotations

from typing import Any

_LISTS = ("with these attrs: [", "available devices are [", "All available devices [")


def comparable(value: Any) -> Any:
    """An answer: a placement as it is; of an error its class and sentence, lists in it as sorted words.

    Lists of devices and of attributes come from hash maps, in no order.
    """
    if isinstance(value, dict):
        return value
    kind, message = value
    start, listed = message, ""
    for beginning in _LISTS:
        if beginning in message:
            start, _, listed = message.partition(beginning)
            break
    start, _, _ = start.partition(" in node: {")
    return kind, start, sorted(word.strip(". []") for word in listed.split(", "))
