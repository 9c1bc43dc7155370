"""Which requests of a program the advisor leaves as they are.

A node is chosen by a pattern of its name, by the scope that it is in, by a regular expression or by a function; what
is chosen stays on the device that it asks for, or, where it asks for none, on the one that TensorFlow gives it now. A
mapping says for each such choice where its nodes have to be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import InvalidArgumentError
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.why.names import suggestions


class KeptNode(str):
    """A node as a function of `keep` gets it: its name, with what else may matter."""

    name: str
    """Its name."""
    type: str
    """Its op type."""
    device: str
    """What it asks for; ``""`` for nothing."""

    __slots__ = ("device", "name", "type")

    @classmethod
    def of(cls, graph: PlacementGraph, node: int) -> KeptNode:
        """A node of a graph."""
        made = cls(graph.names[node])
        made.name = graph.names[node]
        made.type = graph.op_type(node)
        made.device = graph.requested_device(node)
        return made


def kept_requests(graph: PlacementGraph, keep: Any, now: Mapping[str, str]) -> dict[int, str]:
    """Node -> the device that it has to ask for.

    Args:
        graph: the nodes.
        keep: None or False: nothing; True: whatever is asked for; a pattern (``"save/*"``), a scope (``"save"``), a
            compiled regular expression (searched for), a function of the node's name, which is a `KeptNode`; several
            of them; or a mapping from such to a device.
        now: the devices that nodes have, where known.

    Raises:
        InvalidArgumentError: something chooses no node, two choices want one node elsewhere, or a device is malformed.
        TypeError: `keep` is nothing of the kind.
    """
    if keep is None or keep is False:
        return {}
    if keep is True:
        return {node: text for node in range(len(graph)) if (text := graph.requested_device(node))}
    found: dict[int, tuple[str, str]] = {}
    pairs: Iterable[tuple[Any, str | None]]
    if isinstance(keep, Mapping):
        pairs = [(choice, _device(choice, device)) for choice, device in keep.items()]
    elif isinstance(keep, str | re.Pattern) or callable(keep):
        pairs = [(keep, None)]
    elif isinstance(keep, Iterable):
        pairs = [(choice, None) for choice in keep]
    else:
        raise TypeError(
            f"keep is a pattern, a function, several of them or a mapping to devices; got {keep!r}"
        )
    for choice, device in pairs:
        chosen = _chosen(graph, choice)
        for node in chosen:
            name = graph.names[node]
            wanted = device or graph.requested_device(node) or now.get(name, "")
            other, why = found.get(node, (wanted, ""))
            if _parts(other) != _parts(wanted):
                raise InvalidArgumentError.of(
                    f"keep contradicts itself: {name} cannot be on '{other}' and on '{wanted}'",
                    facts={"chosen by": f"{why} and {_shown(choice)}"},
                    hint="choices that have no node in common",
                )
            found[node] = wanted, _shown(choice)
    return {node: wanted for node, (wanted, _) in found.items() if wanted}


def unmet_wishes(graph: PlacementGraph, kept: Mapping[int, str], placed: Mapping[str, str]) -> list[str]:
    """A sentence if nodes are not where a mapping wants them, as soft placement may have it.

    Args:
        graph: of the program; what it asks for itself is no wish.
        kept: node -> the device that it has to ask for.
        placed: the devices that nodes get with that.
    """
    found = []
    for node, text in kept.items():
        name = graph.names[node]
        wanted, device = parse_name(text), parse_name(placed.get(name, ""))
        if wanted is None or device is None or wanted.is_specification(device):
            continue
        if graph.requested_device(node) != text:
            found.append((name, text, placed[name].rpartition("device:")[2]))
    if not found:
        return []
    name, text, where = found[0]
    more = f", and {len(found) - 1:,} more of keep are not where they are wanted" if len(found) > 1 else ""
    return [
        f"{name}, which keep wants on '{text}', cannot be there: soft placement puts it on {where}{more}."
    ]


def _device(choice: Any, device: Any) -> str:
    text = str(device.to_string() if hasattr(device, "to_string") else device)
    if not text or parse_name(text) is None:
        raise InvalidArgumentError.of(
            f"keep wants {_shown(choice)} on {device!r}, which is no device", hint="'/gpu:1'"
        )
    return text


def _parts(device: str) -> Any:
    return parse_name(device) or device


def _chosen(graph: PlacementGraph, choice: Any) -> list[int]:
    test = _test(choice)
    if isinstance(choice, str | re.Pattern):
        found = [node for node, name in enumerate(graph.names) if test(name)]
    else:
        found = [node for node in range(len(graph)) if test(KeptNode.of(graph, node))]
    if found or not isinstance(choice, str | re.Pattern):
        return found
    alike = suggestions(str(getattr(choice, "pattern", choice)), graph.names)
    raise InvalidArgumentError.of(
        f"keep: no node is chosen by {_shown(choice)}",
        hint=", ".join(alike) or "the name of a node or of a scope, or a pattern such as 'save/*'",
    )


def _test(choice: Any) -> Callable[[Any], Any]:
    if isinstance(choice, str):
        scope = choice.rstrip("/") + "/"
        return lambda name: name.startswith(scope) or fnmatchcase(name, choice)
    if isinstance(choice, re.Pattern):
        return choice.search
    if callable(choice):
        return choice
    raise TypeError(f"keep: a pattern, a regular expression or a function of a node's name; got {choice!r}")


def _shown(choice: Any) -> str:
    if isinstance(choice, re.Pattern):
        return repr(choice.pattern)
    return repr(choice) if isinstance(choice, str) else getattr(choice, "__name__", repr(choice))
