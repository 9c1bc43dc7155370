"""Which nodes may run where: the placer's own groups and candidates, for a graph with nothing but the kept requests.

What binds nodes (reference and resource edges, ``_class``) and which devices have kernels for all of a group is the
placer's answer; nothing of it is worked out again here. A group that holds a node which is not in the program, made
where a function is inlined or a loop lowered, stays where the placer puts it: it cannot be asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplace.device.device_set import DeviceSet
from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import InvalidArgumentError, OpError
from gpuplace.graph.op_sets import CHANNELS_LAST_ON_CPU
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer
from gpuplace.why.names import suggestions
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Freedom:
    """What may be chosen."""

    placement: Placement
    """The graph with nothing but the kept requests."""
    group: Ints
    """[nodes] number of the group that has one device, from 0 on."""
    allowed: Bools
    """[groups, devices] whether TensorFlow would put it there if asked to."""
    default: Ints
    """[groups] position of the device that it has where nothing is asked for."""

    @property
    def is_free(self) -> Bools:
        """[groups] whether there is a choice."""
        return self.allowed.sum(axis=1) > 1


def placed_asking(
    placement: Placement,
    requests: Sequence[str],
    on_error: str = "raise",
    graph: PlacementGraph | None = None,
) -> Placement:
    """A placement of the same nodes on the same machine with other requests.

    Args:
        placement: as it is.
        requests: [nodes] what each asks for; ``""`` for nothing.
        on_error: as of `gpuplace.place`.
        graph: the nodes in other groups; None: as they are.

    Raises:
        InvalidArgumentError: it cannot be placed.
    """
    old, number = placement.placer, {"": 0}
    device = np.array([number.setdefault(text, len(number)) for text in requests], dtype=np.int32)
    asking = (graph or placement.graph).changed(devices=tuple(number), device=device)
    placer = Placer(asking, old.catalogue, rules=old.rules, release=old.release)
    soft, switch = placement.soft, placement.soft_switch
    return place_again(placer, placement.device_set, on_error=on_error, soft=soft, soft_switch=switch)


def own_nodes(graph: PlacementGraph) -> Bools:
    """[nodes] bool: nodes of the program, not what lowering added."""
    if graph.origin is None:
        return np.ones(len(graph), dtype=bool)
    return np.array([graph.origin(node) is None for node in range(len(graph))], dtype=bool)


def freedom_of(placement: Placement, kept: Mapping[int, str]) -> Freedom:
    """What may be chosen.

    Args:
        placement: the graph on the machine, with whatever requests.
        kept: node -> the device that it has to ask for.

    Raises:
        InvalidArgumentError: the kept requests cannot be met together, or a node has no kernel.
    """
    graph = placement.graph
    own = own_nodes(graph)
    requests = [""] * len(graph)
    for node in np.flatnonzero(~own).tolist():
        requests[node] = graph.requested_device(node)
    for node, text in kept.items():
        requests[node] = text
    try:
        free = placed_asking(placement, requests)
    except OpError as error:
        if not kept:
            raise
        raise _contradiction(error, kept, graph) from None
    _check_kept(free, kept)
    assert free.partition is not None
    _, group = np.unique(free.partition.root, return_inverse=True)
    count = int(group.max()) + 1 if len(group) else 0
    first = np.zeros(count, dtype=np.int64)
    first[group[::-1]] = np.arange(len(graph))[::-1]
    default = free.devices[first]
    member = free.partition.member
    masks = np.zeros((len(free.partition.members), len(free.device_set)), dtype=bool)
    for number in set(member[first].tolist()):
        masks[number, list(free.chooser.candidates(free.partition.members[number]).devices)] = True
    allowed = masks[member[first]]
    stays = np.zeros(count, dtype=bool)
    stays[group[~own]] = True
    allowed[stays] = False
    allowed[np.ix_(_computed_on_gpus(graph, group, count), ~_is_gpu(free.device_set))] = False
    allowed[np.arange(count), default] = True
    return Freedom(free, group.astype(np.int64), allowed, default)


def _is_gpu(device_set: DeviceSet) -> Bools:
    return np.array([device.device_type == "GPU" for device in device_set], dtype=bool)


def _computed_on_gpus(graph: PlacementGraph, group: Ints, count: int) -> Ints:
    """Groups that a CPU has kernels for which refuse the data format that a node has."""
    found = np.zeros(count, dtype=bool)
    for node in np.flatnonzero(graph.of_types(CHANNELS_LAST_ON_CPU)).tolist():
        layout = graph.attrs(node).get("data_format", "")
        found[group[node]] |= (layout.decode() if isinstance(layout, bytes) else str(layout)).startswith("NC")
    return np.flatnonzero(found)


def requests_of(placement: Placement, devices: Ints, kept: Mapping[int, str]) -> list[str]:
    """[nodes] what nodes have to ask for to be on some devices.

    Args:
        placement: the graph on the machine.
        devices: [nodes] positions of devices.
        kept: node -> the device that it has to ask for.
    """
    names = short_names(placement.device_set)
    own = own_nodes(placement.graph).tolist()
    found = [
        names[device] if is_own else placement.graph.requested_device(node)
        for node, (device, is_own) in enumerate(zip(devices.tolist(), own, strict=True))
    ]
    for node, text in kept.items():
        found[node] = text
    return found


def short_names(device_set: DeviceSet) -> list[str]:
    """``/device:GPU:0`` for every device; full names where the machine has several tasks."""
    tasks = {device.parsed[:3] for device in device_set}
    if len(tasks) > 1:
        return list(device_set.names)
    return [f"/device:{device.parsed.type}:{device.parsed.id}" for device in device_set]


def _check_kept(free: Placement, kept: Mapping[int, str]) -> None:
    """Soft placement drops what contradicts; what the user wants to keep must not be dropped."""
    for node, text in kept.items():
        name = free.graph.names[node]
        wanted = parse_name(text)
        matching = free.device_set.matching(wanted) if wanted is not None else []
        if not matching or any(device.name == free[name] for device in matching):
            continue
        if not any(device.device_type in dict(free.facts_of(node).supported) for device in matching):
            continue
        others = [other for other in free.group_of(node) if other in kept and kept[other] != text]
        if others:
            raise InvalidArgumentError.of(
                f"keep contradicts itself: {name} is to be on '{text}', and {free.graph.names[others[0]]}, which must "
                f"be on the same device, on '{kept[others[0]]}'",
                hint="one device for both, or only one of them in keep",
            )


def _contradiction(error: OpError, kept: Mapping[int, str], graph: PlacementGraph) -> OpError:
    shown = [f"{graph.names[node]} on '{text}'" for node, text in list(kept.items())[:4]]
    more = f" and {len(kept) - 4} more" if len(kept) > 4 else ""
    facts: dict[str, Any] = {"kept": ", ".join(shown) + more}
    return InvalidArgumentError.of(
        f"What keep asks for cannot be met: {error.message}", facts=facts, hint="keep less, or other devices"
    )


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
