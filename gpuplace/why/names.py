"""Names as people write them: the end of a node's name, a name scope, a regular expression, or nearly a name.

>>> names = ["tower/conv1/Conv2D", "tower/conv2/Conv2D", "loss"]
>>> named_by("conv1/Conv2D", names), named_by("tower/conv2", names), named_by("conv[12]/", names)
([0], [1], [0, 1])
>>> suggestions("Conv2D", names), suggestions("lose", names)
(['tower/conv1/Conv2D', 'tower/conv2/Conv2D'], ['loss'])
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from difflib import get_close_matches

from gpuplace.errors import NotFoundError

__all__ = ["UnknownNameError", "named_by", "suggestions"]

_SEARCHED = 20_000
"""Names that are compared letter by letter."""
_MOST_S = 2.0
"""Seconds that a regular expression may take."""
_SPECIALS = re.compile(r"[\[\](){}*+?|^$\\]")


class UnknownNameError(NotFoundError, KeyError):
    """There is no node and no name scope of a name; the message says which names are like it."""

    __str__ = NotFoundError.__str__

    @classmethod
    def among(cls, name: str, names: Sequence[str], what: str = "no node") -> UnknownNameError:
        """Return the error for a name.

        Args:
            name: what was asked for.
            names: those that there are.
            what: what there is not.
        """
        alike = suggestions(name, names)
        return cls.of(
            f"There is {what} {name!r}" + (f"; there is {', '.join(alike)}" if alike else ""),
            hint=", ".join([*map(repr, alike), "the end of a name", "a name scope", "a regular expression"]),
        )


def named_by(text: str, names: Sequence[str]) -> list[int]:
    """Return the nodes that a text names that is not the name of one.

    The first of these that finds any counts: names that end in ``/text``, names in the scope, also where the scope's
    name is given by its end, and names in which the text as a regular expression has a match.

    Args:
        text: what was written.
        names: of all nodes.
    """
    if not text.strip("/"):
        return []
    end, begin, middle = f"/{text}", f"{text.rstrip('/')}/", f"/{text.strip('/')}/"
    found = [node for node, name in enumerate(names) if name.endswith(end)]
    found = found or [node for node, name in enumerate(names) if name.startswith(begin)]
    found = found or [node for node, name in enumerate(names) if middle in name]
    if found or not _SPECIALS.search(text):
        return found
    return _matches(text, names)


def _matches(pattern: str, names: Sequence[str]) -> list[int]:
    import regex  # like `re`, with a limit of time

    try:
        search = regex.compile(pattern).search
        end = time.monotonic() + _MOST_S
        return [
            node
            for node, name in enumerate(names)
            if search(name, timeout=max(end - time.monotonic(), 1e-3)) is not None
        ]
    except (regex.error, TimeoutError):
        return []


def suggestions(text: str, names: Sequence[str], most: int = 3) -> list[str]:
    """Return names that may be meant: those that the text names in part, then those of nearly the same letters.

    Args:
        text: what was written.
        names: those that there are.
        most: how many at most.
    """
    found = [names[node] for node in named_by(text, names)[:most]]
    if not found:
        small = text.lower()
        found = [name for name in names if small and name.lower().endswith(small)][:most]
    if found:
        return found
    compared = names[:_SEARCHED]
    found = get_close_matches(text, compared, most)
    if found:
        return found
    ends: dict[str, str] = {}
    for name in compared:
        ends.setdefault(name.rpartition("/")[2], name)
    return [ends[end] for end in get_close_matches(text.rpartition("/")[2], ends, most)]
