"""Rules that Python and the scripts share: ``rules.json``, loaded here and passed to the scripts as a module.

======== ===============================================================================================
folding  number of scopes opened in the first view, most boxes of a picture, thresholds for merging
         similar boxes, number of neighbors listed in a card
text     font, sizes in points, and the length at which names are cut
box      padding, bar, corners and pens of a box, in points
line     pens, dashes and labels of lines; the line of many tensors is at most ``most_wider`` wider
colours  fills of devices and steps, and the colours around the boxes in the light and the dark theme
units    units of bytes, each 1024 of the one before; units of time, in microseconds
words    texts of boxes, legends and cards, with placeholders in braces
lights   what can be highlighted, the condition for it, and the message
tables   column titles
======== ===============================================================================================

>>> RULES["colours"]["gpus"][2], words("asked", request="/gpu:1")
('#9bdeac', 'asked /gpu:1')
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))
"""Section name -> section."""
_WORDS: dict[str, str] = RULES["words"]


def words(name: str, **values: object) -> str:
    """Return a text of ``words`` with its placeholders filled in."""
    return _WORDS[name].format(**values)
