"""Find nodes by typed text: the end of a name, a name scope, a regular expression, or a misspelled name.

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
"""Maximum number of names that are compared letter by letter."""
_MOST_S = 2.0
"""Time limit of a regular expression, in seconds."""
_SPECIALS = re.compile(r"[\[\](){}*+?|^$\\]")


class UnknownNameError(NotFoundError, KeyError):
    """Error for a name that no node or scope has; the message lists similar names."""

    __str__ = NotFoundError.__str__

    @classmethod
    def among(cls, name: str, names: Sequence[str], what: str = "no node") -> UnknownNameError:
        """Return the error for an unknown name.

        Args:
            name: the unknown name.
            names: the existing names.
            what: the start of the sentence, `no node`.
        """
        similar = suggestions(name, names)
        return cls.of(
            f"There is {what} {name!r}" + (f"; similar names: {', '.join(similar)}" if similar else ""),
            hint="a node's name, the end of a name, a name scope or a regular expression",
        )


def named_by(text: str, names: Sequence[str]) -> list[int]:
    """Return the nodes that a text refers to, for a text that is not itself a node's name.

    The first interpretation with a match counts: names that end in ``/text``; names in the scope of that name, or in a
    scope whose name ends in it; names that match the text as a regular expression.

    Args:
        text: the text that the user typed.
        names: the names of all nodes.
    """
    if not text.strip("/"):
        return []
    end, begin, middle = f"/{text}", f"{text.rstrip('/')}/", f"/{text.strip('/')}/"
    nodes = [position for position, name in enumerate(names) if name.endswith(end)]
    nodes = nodes or [position for position, name in enumerate(names) if name.startswith(begin)]
    nodes = nodes or [position for position, name in enumerate(names) if middle in name]
    if nodes or not _SPECIALS.search(text):
        return nodes
    return _matches(text, names)


def _matches(pattern: str, names: Sequence[str]) -> list[int]:
    import regex  # like `re`, with a time limit

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
    """Return names that the user may have meant: partial matches, otherwise names with similar spelling.

    Args:
        text: the text that the user typed.
        names: the existing names.
        most: the maximum number of suggestions.
    """
    matches = [names[node] for node in named_by(text, names)[:most]]
    if not matches:
        lower = text.lower()
        matches = [name for name in names if lower and name.lower().endswith(lower)][:most]
    if matches:
        return matches
    compared = names[:_SEARCHED]
    matches = get_close_matches(text, compared, most)
    if matches:
        return matches
    ends: dict[str, str] = {}
    for name in compared:
        ends.setdefault(name.rpartition("/")[2], name)
    return [ends[end] for end in get_close_matches(text.rpartition("/")[2], ends, most)]
