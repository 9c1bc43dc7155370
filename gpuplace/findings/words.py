"""Phrases for the sentences of findings: counts, lists of names, scopes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

_SHOWN = 3
"""Maximal number of names shown in a list."""
_NUMBER = re.compile(r"(\d+)")
_CALL = re.compile(r"(Stateful)?PartitionedCall(_\d+)?/")
_COVERED = 0.9
"""Minimal share of the total weight that the named scopes cover together."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "copy"), counted(1200, "node")
    ('1 copy', '1,200 nodes')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def verb(number: int, plural: str) -> str:
    """Return the form of a verb for a number of things.

    >>> verb(1, "are"), verb(2, "are"), verb(1, "ask"), verb(1, "have")
    ('is', 'are', 'asks', 'has')
    """
    return plural if number != 1 else {"are": "is", "have": "has"}.get(plural, f"{plural}s")


def listed(names: Sequence[str], most: int = _SHOWN) -> str:
    """Join names with commas, and say how many are left out.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def scopes(names: Sequence[str], weights: Sequence[float] | None = None) -> str:
    """Return the name scopes that contain most of some nodes, at the depth where the names begin to differ.

    >>> scopes(["net/layer_0/a", "net/layer_1/a", "net/layer_1/b"]), scopes(["tower_0/fc/MatMul"])
    ('net/layer_0 and net/layer_1', 'tower_0/fc/MatMul')
    >>> scopes([f"tower_{number}/{op}" for number in range(8) for op in "ab"])
    'tower_0, tower_1, tower_2 and 5 more'

    Args:
        names: node names.
        weights: [names] weight of each node; None: equal weights.
    """
    paths = [_without_calls(name).split("/") for name in names]
    if not paths:
        return ""
    depth = 0
    while len({path[depth] for path in paths}) == 1 and all(len(path) > depth + 1 for path in paths):
        depth += 1
    weight_of: dict[str, float] = defaultdict(float)
    for path, weight in zip(paths, weights or [1.0] * len(paths), strict=True):
        weight_of["/".join(path[: depth + 1])] += weight
    chosen, total = [], 0.0
    for scope, weight in sorted(weight_of.items(), key=lambda item: -item[1]):
        chosen.append(scope)
        total += weight
        if total >= _COVERED * sum(weight_of.values()):
            break
    return listed(sorted(chosen, key=_natural))


def _without_calls(name: str) -> str:
    """Return a name without its enclosing function calls.

    >>> _without_calls("StatefulPartitionedCall_1/StatefulPartitionedCall/net/fc/MatMul")
    'net/fc/MatMul'
    """
    while (match := _CALL.match(name)) and match.end() < len(name):
        name = name[match.end() :]
    return name


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts ``layer_2`` before ``layer_10``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBER.split(name)]


def request(device: str) -> str:
    """Return the device string that a program passes to ``tf.device`` for a short name; full names are unchanged.

    >>> request("GPU:1")
    '/gpu:1'
    """
    return device if "/" in device else f"/{device.lower()}"
