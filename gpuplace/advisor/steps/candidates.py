"""Candidate devices of nodes: the placer's own groups and candidates, for a graph with only the kept requests.

The placer determines which nodes are bound together (by reference and resource edges, and ``_class``) and which devices
have kernels for a whole group; this module does not recompute that. A group keeps its device if inlining a function or
lowering a loop created one of its nodes, because no program can request a device for that node by name.
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
class Candidates:
    """Candidate devices of a graph's nodes."""

    placement: Placement
    """The graph placed with only the kept requests."""
    group: Ints
    """[nodes] group of each node, numbered from 0; a group has one device."""
    allowed: Bools
    """[groups, devices] whether TensorFlow would put the group there if requested."""
    default: Ints
    """[groups] position of the group's device without requests."""

    @property
    def is_free(self) -> Bools:
        """[groups] whether there is a choice."""
        return self.allowed.sum(axis=1) > 1


def placed_with_requests(
    placement: Placement,
    requests: Sequence[str],
    on_error: str = "raise",
    graph: PlacementGraph | None = None,
) -> Placement:
    """Place the same nodes on the same machine with other requests.

    Args:
        placement: the current placement.
        requests: [nodes] requested devices; ``""`` for none.
        on_error: as for `gpuplace.place`.
        graph: the nodes in other colocation groups; None to keep them.

    Raises:
        InvalidArgumentError: The graph cannot be placed.
    """
    old, number = placement.placer, {"": 0}
    device = np.array([number.setdefault(text, len(number)) for text in requests], dtype=np.int32)
    requesting = (graph or placement.graph).changed(devices=tuple(number), device=device)
    placer = Placer(requesting, old.catalogue, rules=old.rules, release=old.release)
    soft, switch = placement.soft, placement.soft_switch
    return place_again(placer, placement.device_set, on_error=on_error, soft=soft, soft_switch=switch)


def own_nodes(graph: PlacementGraph) -> Bools:
    """Return [nodes] bool: nodes of the program, without those added by lowering."""
    if graph.origin is None:
        return np.ones(len(graph), dtype=bool)
    return np.array([graph.origin(node) is None for node in range(len(graph))], dtype=bool)


def candidates_of(placement: Placement, kept: Mapping[int, str]) -> Candidates:
    """Return the candidate devices of a graph.

    Args:
        placement: the graph on the machine, with any requests.
        kept: node to the device that it must request.

    Raises:
        InvalidArgumentError: The kept requests cannot be satisfied together, or a node has no kernel.
    """
    graph = placement.graph
    own = own_nodes(graph)
    requests = [""] * len(graph)
    for node in np.flatnonzero(~own).tolist():
        requests[node] = graph.requested_device(node)
    for node, text in kept.items():
        requests[node] = text
    try:
        free = placed_with_requests(placement, requests)
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
    is_fixed = np.zeros(count, dtype=bool)
    is_fixed[group[~own]] = True
    allowed[is_fixed] = False
    allowed[np.ix_(_computed_on_gpus(graph, group, count), ~_is_gpu(free.device_set))] = False
    allowed[np.arange(count), default] = True
    return Candidates(free, group.astype(np.int64), allowed, default)


def _is_gpu(device_set: DeviceSet) -> Bools:
    return np.array([device.device_type == "GPU" for device in device_set], dtype=bool)


def _computed_on_gpus(graph: PlacementGraph, group: Ints, count: int) -> Ints:
    """Return groups whose CPU kernels reject the data format of a node."""
    needs_gpu = np.zeros(count, dtype=bool)
    for node in np.flatnonzero(graph.of_types(CHANNELS_LAST_ON_CPU)).tolist():
        layout = graph.attrs(node).get("data_format", "")
        needs_gpu[group[node]] |= (layout.decode() if isinstance(layout, bytes) else str(layout)).startswith(
            "NC"
        )
    return np.flatnonzero(needs_gpu)


def requests_for(placement: Placement, devices: Ints, kept: Mapping[int, str]) -> list[str]:
    """Return [nodes] the requests that put nodes on given devices.

    Args:
        placement: the graph on the machine.
        devices: [nodes] device positions.
        kept: node to the device that it must request.
    """
    names = short_names(placement.device_set)
    own = own_nodes(placement.graph).tolist()
    requests = [
        names[device] if is_own else placement.graph.requested_device(node)
        for node, (device, is_own) in enumerate(zip(devices.tolist(), own, strict=True))
    ]
    for node, text in kept.items():
        requests[node] = text
    return requests


def short_names(device_set: DeviceSet) -> list[str]:
    """Return ``/device:GPU:0`` for every device, or full names if the machine has several tasks."""
    tasks = {device.parsed[:3] for device in device_set}
    if len(tasks) > 1:
        return list(device_set.names)
    return [f"/device:{device.parsed.type}:{device.parsed.id}" for device in device_set]


def _check_kept(free: Placement, kept: Mapping[int, str]) -> None:
    """Raise an error for contradictory kept requests, which soft placement would silently override."""
    for node, text in kept.items():
        name = free.graph.names[node]
        requested = parse_name(text)
        matching = free.device_set.matching(requested) if requested is not None else []
        if not matching or any(device.name == free[name] for device in matching):
            continue
        if not any(device.device_type in dict(free.facts_of(node).supported) for device in matching):
            continue
        others = [other for other in free.group_of(node) if other in kept and kept[other] != text]
        if others:
            raise InvalidArgumentError.of(
                f"keep contradicts itself: it puts {name} on '{text}', and {free.graph.names[others[0]]}, which must "
                f"be on the same device, on '{kept[others[0]]}'",
                hint="give both nodes the same device, or leave one of them out of keep",
            )


def _contradiction(error: OpError, kept: Mapping[int, str], graph: PlacementGraph) -> OpError:
    shown = [f"{graph.names[node]} on '{text}'" for node, text in list(kept.items())[:4]]
    more = f" and {len(kept) - 4} more" if len(kept) > 4 else ""
    facts: dict[str, Any] = {"kept": ", ".join(shown) + more}
    return InvalidArgumentError.of(
        f"keep cannot be satisfied: {error.message}",
        facts=facts,
        hint="keep fewer nodes, or use other devices",
    )


class KeptNode(str):
    """A node as passed to a function in `keep`: its name, with further attributes."""

    name: str
    """Node name."""
    type: str
    """Op type."""
    device: str
    """Requested device; ``""`` for none."""

    __slots__ = ("device", "name", "type")

    @classmethod
    def of(cls, graph: PlacementGraph, node: int) -> KeptNode:
        """Return the `KeptNode` of a graph's node."""
        kept = cls(graph.names[node])
        kept.name = graph.names[node]
        kept.type = graph.op_type(node)
        kept.device = graph.requested_device(node)
        return kept


def kept_requests(graph: PlacementGraph, keep: Any, now: Mapping[str, str]) -> dict[int, str]:
    """Return each node that `keep` selects, with the device that it must request.

    Args:
        graph: the nodes.
        keep: None or False: nothing; True: all requests; a pattern (``"save/*"``), a scope (``"save"``), a compiled
            regular expression (searched for), a function of the node's name, which is a `KeptNode`; several of these;
            or a mapping from these to a device.
        now: current devices of nodes, where known.

    Raises:
        InvalidArgumentError: An item selects no node, two items put one node on different devices, or a device is
            malformed.
        TypeError: `keep` has the wrong type.
    """
    if keep is None or keep is False:
        return {}
    if keep is True:
        return {node: text for node in range(len(graph)) if (text := graph.requested_device(node))}
    request_of: dict[int, tuple[str, str]] = {}
    pairs: Iterable[tuple[Any, str | None]]
    if isinstance(keep, Mapping):
        pairs = [(choice, _device(choice, device)) for choice, device in keep.items()]
    elif isinstance(keep, str | re.Pattern) or callable(keep):
        pairs = [(keep, None)]
    elif isinstance(keep, Iterable):
        pairs = [(choice, None) for choice in keep]
    else:
        raise TypeError(
            f"keep must be a pattern, a function, a sequence of these, or a mapping to devices; got {keep!r}"
        )
    for choice, device in pairs:
        chosen = _chosen(graph, choice)
        for node in chosen:
            name = graph.names[node]
            requested = device or graph.requested_device(node) or now.get(name, "")
            other, why = request_of.get(node, (requested, ""))
            if _parts(other) != _parts(requested):
                raise InvalidArgumentError.of(
                    f"keep contradicts itself: {name} cannot be on '{other}' and on '{requested}'",
                    facts={"chosen by": f"{why} and {_shown(choice)}"},
                    hint="use items that have no node in common",
                )
            request_of[node] = requested, _shown(choice)
    return {node: requested for node, (requested, _) in request_of.items() if requested}


def unmet_keeps(graph: PlacementGraph, kept: Mapping[int, str], placed: Mapping[str, str]) -> list[str]:
    """Return a warning if soft placement moved nodes away from the devices that a `keep` mapping requests.

    Args:
        graph: the program; its own requests do not count.
        kept: node to the device that it must request.
        placed: devices that nodes get with these requests.
    """
    unmet = []
    for node, text in kept.items():
        name = graph.names[node]
        requested, device = parse_name(text), parse_name(placed.get(name, ""))
        if requested is None or device is None or requested.is_specification(device):
            continue
        if graph.requested_device(node) != text:
            unmet.append((name, text, placed[name].rpartition("device:")[2]))
    if not unmet:
        return []
    name, text, where = unmet[0]
    more = f", and {len(unmet) - 1:,} more kept nodes are on other devices" if len(unmet) > 1 else ""
    return [f"keep puts {name} on '{text}', where it cannot run: soft placement moved it to {where}{more}."]


def _device(choice: object, device: Any) -> str:
    text = str(device.to_string() if hasattr(device, "to_string") else device)
    if not text or parse_name(text) is None:
        raise InvalidArgumentError.of(
            f"keep puts {_shown(choice)} on {device!r}, which is not a device", hint="'/gpu:1'"
        )
    return text


def _parts(device: str) -> Any:
    return parse_name(device) or device


def _chosen(graph: PlacementGraph, choice: object) -> list[int]:
    test = _test(choice)
    if isinstance(choice, str | re.Pattern):
        nodes = [node for node, name in enumerate(graph.names) if test(name)]
    else:
        nodes = [node for node in range(len(graph)) if test(KeptNode.of(graph, node))]
    if nodes or not isinstance(choice, str | re.Pattern):
        return nodes
    alike = suggestions(str(getattr(choice, "pattern", choice)), graph.names)
    raise InvalidArgumentError.of(
        f"keep: no node matches {_shown(choice)}",
        hint=", ".join(alike) or "use the name of a node or scope, or a pattern such as 'save/*'",
    )


def _test(choice: object) -> Callable[[Any], Any]:
    if isinstance(choice, str):
        scope = choice.rstrip("/") + "/"
        return lambda name: name.startswith(scope) or fnmatchcase(name, choice)
    if isinstance(choice, re.Pattern):
        return choice.search
    if callable(choice):
        return choice
    raise TypeError(f"keep must contain patterns, regular expressions or functions of a name; got {choice!r}")


def _shown(choice: object) -> str:
    if isinstance(choice, re.Pattern):
        return repr(choice.pattern)
    return repr(choice) if isinstance(choice, str) else getattr(choice, "__name__", repr(choice))
