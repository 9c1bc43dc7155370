"""Which public names the reference pages describe, read from the pages; needs nothing but Python.

A page lists names in blocks; each block may give the prefix that its names have::

    ```{names} tf.nn
    conv2d  max_pool
    ```

    ```{namespace} tf.nn
    ```

    ```{result} Placement
    explain  frame
    ```
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGES = Path(__file__).resolve().parents[1] / "reference"
_BLOCK = re.compile(
    r"^```\{(?P<kind>names|namespace|result)\}[ \t]*(?P<argument>\S*)\n(?P<body>.*?)^```$", re.M | re.S
)
_OPTION = re.compile(r"^:.*$", re.M)


class Block(NamedTuple):
    """A block of a page that describes names."""

    page: str
    """The page's file name without its ending."""
    kind: str
    """``"names"``, ``"namespace"`` or ``"result"``."""
    argument: str
    """The prefix of names, the namespace, or the class."""
    names: tuple[str, ...]
    """What stands in the block."""

    @property
    def full_names(self) -> list[str]:
        """The names with their prefix; none for a class."""
        if self.kind == "namespace":
            return [self.argument]
        prefix = self.argument or "tf"
        return [f"{prefix}.{name}" for name in self.names] if self.kind == "names" else []


def blocks() -> list[Block]:
    """The blocks of all pages, in the order of the pages' names and within a page."""
    found = []
    for path in sorted(PAGES.glob("*.md")):
        for match in _BLOCK.finditer(path.read_text(encoding="utf-8")):
            names = _OPTION.sub("", match["body"]).split()
            found.append(Block(path.stem, match["kind"], match["argument"], tuple(names)))
    return found
