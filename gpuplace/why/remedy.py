"""Changes that would move a node to a device of another type.

A proposed request is tried first: the bindings of the node's group are merged again with it. The remedy names it only
if nothing clashes and only the proposed device type remains::

    v ('/gpu:0') ══ref══> w ('/cpu:0')     for w on the CPU
                                           '/device:CPU:0' at w   w yields to v: not proposed
                                           '/device:CPU:0' at v   works: "v asks for '/gpu:0': ask for ... there"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gpuplace.device.parsed_name import ANY, ParsedName, parse_name
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.outline import GENERATOR, IDENTITY, METADATA
from gpuplace.placer.placed import Placed
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.why.kernel_text import missing_kernel, other_types, other_types_advice, supported_when_asking
from gpuplace.why.ties import required_group
from gpuplace.why.what_if import WhatIf

_SHOWN_NODES = 4
_TRIED = 8
"""Number of nodes with a request that are tried one by one."""


@dataclass(frozen=True)
class Remedy:
    """A change that would move a node to a device type."""

    device_type: str
    text: str
    """The change in words."""
    requests: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Alternative sets of requests, each of which is enough: pairs of node name and the device to request."""
    types: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """If a kernel is missing: each attribute for which another value alone would help, with those values."""

    def __str__(self) -> str:
        return f"for {self.device_type}: {self.text}"


def remedies(placement: Placed, node: int) -> Iterator[Remedy]:
    """Yield a remedy for each other device type, GPU first."""
    device = int(placement.devices[node])
    here = placement.device_set.devices[device].device_type if device != NOWHERE else ""
    device_types = [device_type for device_type, _ in placement.device_set.prioritized_types()]
    for device_type in dict.fromkeys(["GPU", *device_types]):
        if device_type != here and not device_type.startswith("XLA_"):
            yield _Search(placement, node, device_type).remedy()


def remedy_for(placement: Placed, node: int, device_type: str) -> Remedy:
    """Return the change that would move a node from elsewhere to a device type."""
    return _Search(placement, node, device_type).remedy()


class _Search:
    """Searches for the smallest change that moves one node to one device type."""

    def __init__(self, placement: Placed, node: int, kind: str) -> None:
        self.placement, self.graph = placement, placement.graph
        self.node, self.first, self.kind = node, placement.first_visited(node), kind

    def remedy(self) -> Remedy:
        """Return the remedy."""
        placement, node, kind = self.placement, self.node, self.kind
        no_kernel = self._no_kernel()
        if no_kernel is not None:
            return no_kernel
        if not any(device.device_type == kind for device in placement.device_set):
            return Remedy(kind, f"the machine has no {kind}")
        if placement.partition is None:
            return Remedy(kind, "nothing was placed: see the error")
        readers = [cause for cause in placement.host_causes if cause in self.group]
        if readers and kind != "CPU":
            return Remedy(
                kind,
                "lists of strings or handles stay on the CPU, and "
                f"{listed_nodes(self.graph, readers)} read{'s' if len(readers) == 1 else ''} one",
            )
        assigned = placement.constraints(node).assigned
        if assigned != ANY:
            return Remedy(kind, f"its group is already assigned to {assigned.to_string()}")
        return self._requests()

    @cached_property
    def group(self) -> list[int]:
        """The nodes that the program requires on one device."""
        return required_group(self.placement, self.node)

    @cached_property
    def proposed_device(self) -> str:
        """The device to request: the first of the type, in the node's requested task if there is one."""
        placement = self.placement
        parsed = placement.placer.parsed[self.graph.device[self.node]] or ANY
        anywhere = ANY._replace(type=self.kind)
        same_task = anywhere._replace(job=parsed.job, replica=parsed.replica, task=parsed.task)
        supported = ((self.kind, 0),)
        matches = placement.chooser.matching(same_task, supported) or placement.chooser.matching(
            anywhere, supported
        )
        device = placement.device_set.devices[matches[0]].parsed
        tasks = {other.parsed[:3] for other in placement.device_set}
        local = ParsedName(type=device.type, id=device.id)
        return (device if len(tasks) > 1 else local).to_string()

    def _no_kernel(self) -> Remedy | None:
        placement, kind = self.placement, self.kind
        lacking = [member for member in self.group if self._lacks_kernel(member)]
        if not lacking:
            return None
        first = self.node if self.node in lacking else lacking[0]
        fact = placement.facts_of(first)
        text = missing_kernel(placement, fact, kind) or ""
        advice = other_types_advice(placement, fact, kind)
        if first != self.node:
            text = f"colocated with {self.graph.names[first]}, which has none: {text}"
            text += f"; {advice} there" if advice else ""
        elif advice:
            text = f"{advice}: {text}"
        others = [member for member in lacking if member != first]
        if others:
            verb = "has" if len(others) == 1 else "have"
            text += f"; {listed_nodes(self.graph, others)} of its group {verb} none either"
        return Remedy(kind, text, types=other_types(placement, fact, kind))

    def _lacks_kernel(self, node: int) -> bool:
        placement, kind = self.placement, self.kind
        fact = placement.facts_of(node)
        if kind in dict(fact.supported) or missing_kernel(placement, fact, kind) is None:
            return False
        request = placement.placer.parsed[self.graph.device[node]] or ANY
        return kind not in dict(supported_when_asking(placement, node, request._replace(type=kind)))

    def _requests(self) -> Remedy:
        """Return a remedy that requests another device."""
        node, kind, proposed = self.node, self.kind, self.proposed_device
        bindings = self.placement.placer.bindings
        malformed = [n for n in self.group if self.placement.placer.parsed[self.graph.device[n]] is None]
        requesters = [n for n in self.group if self.graph.device[n] and n != node]
        tied = bindings.nodes_of(int(bindings.component[node]))
        own_nodes = {node, *requesters}
        beyond = [n for n in tied if self.graph.device[n] and n not in own_nodes]
        # A node in the same `with` block changes with it, though its own request may yield.
        groups = (
            [[node, *requesters], requesters]
            if self.graph.device[node]
            else [requesters, [node, *requesters]]
        )
        sets = [[node], *([n] for n in requesters[:_TRIED]), *groups, [node, *requesters, *beyond]]
        for nodes in sets:
            changed = list(dict.fromkeys([*nodes, *malformed]))
            if changed and self._works(changed):
                break
        else:
            requests = ", ".join(
                f"{self.graph.names[n]} ('{self.graph.requested_device(n)}')"
                for n in requesters[:_SHOWN_NODES]
            )
            return Remedy(
                kind, f"no other request moves its group there{f': {requests}' if requests else ''}"
            )
        if changed != [node]:
            return Remedy(kind, self._for_others(changed), (self._named(changed),))
        own = self.graph.requested_device(node)
        text = f"ask for '{proposed}'" + (f" instead of '{own}'" if own else "")
        how = _how(self.placement, node)
        alternatives = [self._named(changed)]
        if self.first != node:
            if not own and self._works([self.first]):
                text += f" here, or for {self.graph.names[self.first]}, which is visited first"
                alternatives.append(self._named([self.first]))
        elif how in (METADATA, IDENTITY):
            source = int(self.graph.src[self.graph.in_edges(node)[0]])
            text = f"it follows its input {self.graph.names[source]}: {text}"
            # Another request there would end the rule for Identity, which needs equal requests on both sides.
            if how == METADATA and self._moves([source]):
                text += f", or move {self.graph.names[source]}"
                alternatives.append(self._named([source]))
        elif how == GENERATOR:
            consumers = list(dict.fromkeys(int(self.graph.dst[edge]) for edge in self.graph.out_edges(node)))
            text = f"it follows its consumers: {text}"
            if len(consumers) <= _SHOWN_NODES and self._moves(consumers):
                text += f", or move {_joined([self.graph.names[consumer] for consumer in consumers])}"
                alternatives.append(self._named(consumers))
        return Remedy(kind, text, tuple(alternatives))

    def _named(self, nodes: list[int]) -> tuple[tuple[str, str], ...]:
        return tuple((self.graph.names[node], self.proposed_device) for node in nodes)

    def _for_others(self, changed: list[int]) -> str:
        pairs = [(self.graph.names[node], self.graph.requested_device(node)) for node in changed]
        if len(pairs) == 1:
            name, request = pairs[0]
            return f"{name} asks for '{request}': ask for '{self.proposed_device}' there"
        requests = {request for _, request in pairs}
        if len(requests) == 1 and "" not in requests:
            names = [name for name, _ in pairs[:_SHOWN_NODES]]
            names += [f"{len(pairs) - _SHOWN_NODES} more"] if len(pairs) > _SHOWN_NODES else []
            return f"ask for '{self.proposed_device}' instead of '{pairs[0][1]}' for {_joined(names)}"
        places = [name + (f" (instead of '{request}')" if request else "") for name, request in pairs]
        if len(places) > _SHOWN_NODES:
            places[_SHOWN_NODES:] = [f"{len(places) - _SHOWN_NODES} more"]
        return f"ask for '{self.proposed_device}' for {_joined(places)}"

    def _moves(self, nodes: list[int]) -> bool:
        """Return whether requesting the proposed device for these nodes moves this node, which follows them, to it."""
        changed = self._if_requested(nodes)
        return changed is not None and changed.device(self.node) in self._proposed_devices

    def _works(self, nodes: list[int]) -> bool:
        """Return whether requesting the proposed device for these nodes leaves this node only the proposed type."""
        changed = self._if_requested(nodes)
        devices = self.placement.device_set.devices
        candidates = () if changed is None else changed.candidates(self.node).devices
        return bool(candidates) and all(devices[device].device_type == self.kind for device in candidates)

    def _if_requested(self, nodes: list[int]) -> WhatIf | None:
        """Return the placement with the proposed device requested for these nodes; None if groups then clash."""
        name = parse_name(self.proposed_device) or ANY
        changed = WhatIf(self.placement, requests=dict.fromkeys(nodes, name)).also(self.node)
        for node in (self.node, *nodes):
            changed.candidates(node)
        return None if changed.conflicts else changed

    @cached_property
    def _proposed_devices(self) -> set[int]:
        placement = self.placement
        matching = placement.device_set.matching(parse_name(self.proposed_device) or ANY)
        return {placement.chooser.position[device.name] for device in matching}


def listed_nodes(graph: PlacementGraph, nodes: list[int]) -> str:
    """Return the first few names, and the number of the rest."""
    names = [graph.names[node] for node in nodes[:_SHOWN_NODES]]
    rest = f" and {len(nodes) - _SHOWN_NODES} more" if len(nodes) > _SHOWN_NODES else ""
    return ", ".join(names) + rest


def _joined(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _how(placement: Placed, node: int) -> int:
    assert placement.partition is not None and placement.decisions is not None
    return int(placement.decisions.how[node])
