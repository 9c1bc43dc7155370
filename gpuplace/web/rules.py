"""What Python and the scripts both go by: ``rules.json``, read here and given to the scripts as a module.

======== ===============================================================================================
folding  how many scopes are opened unasked, boxes that a picture never exceeds, from when on what is
         alike becomes one box, how many alike that takes, neighbours that a card lists
text     font and sizes in points, and after how many letters a name is cut
box      paddings, bar, corners and pens of a box, in points
line     pens, dashes and labels of lines; a line of many tensors is at most ``most_wider`` wider
colours  fills of devices and steps, and what is around the boxes in the light and the dark theme
units    of bytes, each 1024 of the one before; of times, with their microseconds
words    what boxes, legends and cards say; braces hold what is filled in
lights   what can be lit, what to do first, and what is told
tables   titles of columns
======== ===============================================================================================

>>> RULES["colours"]["gpus"][2], words("asked", request="/gpu:1")
('#9bdeac', 'asked /gpu:1')
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))
"""The sections by name."""
_WORDS: dict[str, str] = RULES["words"]


def words(name: str, **values: object) -> str:
    """One of the ``words``, filled in."""
    return _WORDS[name].format(**values)
