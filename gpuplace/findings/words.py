"""Numbers, names and scopes in the sentences of findings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

_SHOWN = 3
"""Maximum number of names in a list."""
_NUMBER = re.compile(r"(\d+)")
_CALL = re.compile(r"(Stateful)?PartitionedCall(_\d+)?/")
_COVERED = 0.9
"""Fraction of the nodes that the named scopes contain together."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "copy"), counted(1200, "node")
    ('1 copy', '1,200 nodes')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def verb(number: int, plural: str) -> str:
    """Return a verb in singular or plural.

    >>> verb(1, "are"), verb(2, "are"), verb(1, "ask"), verb(1, "have")
    ('is', 'are', 'asks', 'has')
    """
    return plural if number != 1 else {"are": "is", "have": "has"}.get(plural, f"{plural}s")


def listed(names: Sequence[str], most: int = _SHOWN) -> str:
    """Join names with commas, followed by the number of names left out.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def scopes(names: Sequence[str], weights: Sequence[float] | None = None) -> str:
    """Return the name scopes that contain most of some nodes, at the depth where their names start to differ.

    >>> scopes(["net/layer_0/a", "net/layer_1/a", "net/layer_1/b"]), scopes(["tower_0/fc/MatMul"])
    ('net/layer_0 and net/layer_1', 'tower_0/fc/MatMul')
    >>> scopes([f"tower_{number}/{op}" for number in range(8) for op in "ab"])
    'tower_0, tower_1, tower_2 and 5 more'

    Args:
        names: names of nodes.
        weights: [names] weight of each; None: equal weights.
    """
    paths = [_without_calls(name).split("/") for name in names]
    if not paths:
        return ""
    depth = 0
    while len({path[depth] for path in paths}) == 1 and all(len(path) > depth + 1 for path in paths):
        depth += 1
    held: dict[str, float] = defaultdict(float)
    for path, weight in zip(paths, weights or [1.0] * len(paths), strict=True):
        held["/".join(path[: depth + 1])] += weight
    chosen, total = [], 0.0
    for scope, weight in sorted(held.items(), key=lambda item: -item[1]):
        chosen.append(scope)
        total += weight
        if total >= _COVERED * sum(held.values()):
            break
    return listed(sorted(chosen, key=_natural))


def _without_calls(name: str) -> str:
    """Return a name without the calls that contain it.

    >>> _without_calls("StatefulPartitionedCall_1/StatefulPartitionedCall/net/fc/MatMul")
    'net/fc/MatMul'
    """
    while (call := _CALL.match(name)) and call.end() < len(name):
        name = name[call.end() :]
    return name


def _natural(name: str) -> list[tuple[int, str]]:
    """Return the sort key of a name: ``layer_2`` sorts before ``layer_10``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _NUMBER.split(name)]


def request(device: str) -> str:
    """Return the device request for a short device name; a full name is unchanged.

    >>> request("GPU:1")
    '/gpu:1'
    """
    return device if "/" in device else f"/{device.lower()}"
