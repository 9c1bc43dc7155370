"""Where a node would be after one change: without a request, with a kernel, or with another request.

A small change affects the groups in the components of the changed nodes, and the nodes that follow those groups. Only
these are recomputed, by the placer's own rules, one node at a time and only as far as an answer needs them::

    without v's request     v ══ w     regrouped: GPU:0 instead of GPU:1
                            │
                            └──> s (Shape) ──> ...      s follows v, so it is recomputed; no other node is

Tests compare the answers with a placement of the changed graph as a whole.

Source: tensorflow/core/common_runtime/placer.cc and colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gpuplace.device.parsed_name import ANY, ParsedName
from gpuplace.placer.bindings import Conflict, without_xla
from gpuplace.placer.candidates import Candidates
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.grouping import Grouping, Merge
from gpuplace.placer.host_data import host_readers
from gpuplace.placer.member import Member
from gpuplace.placer.node_facts import SupportedTypes
from gpuplace.placer.outline import GENERATOR, IDENTITY, METADATA
from gpuplace.placer.placed import Placed
from gpuplace.placer.placing import place_nodes
from gpuplace.why.kernel_text import supported_when_asking
from gpuplace.why.rules import FOLLOWING, Rule
from gpuplace.why.verdict import lacking_types, verdicts_of

_FOLLOWS = (METADATA, IDENTITY, GENERATOR)
_MergedComponent = tuple[Grouping, dict[int, list[int]], list[Conflict]]
_RequestKey = tuple[int, frozenset[tuple[int, ParsedName]]]
_CACHED_NODES = 100_000
_UNDONE = (Rule.REQUEST, Rule.YIELDS_TO_SOURCE, Rule.REQUESTS_DROPPED)
"""Rules that are undone by removing the culprit's request."""


def regroup(
    placed: Placed,
    component: int,
    member: Callable[[int], Member],
    record: Callable[[Merge], None] | None = None,
) -> tuple[Grouping, list[Conflict]]:
    """Merge the nodes of one component again, in TensorFlow's order.

    Args:
        placed: the placement.
        component: the component's number; see `Bindings`.
        member: returns the constraints of a node before merging.
        record: called with each merge.
    """
    conflicts: list[Conflict] = []
    bindings = placed.placer.bindings
    grouping = Grouping(
        member, placed.device_set.type_priority, soft=placed.soft, rules=placed.placer.rules, record=record
    )
    assert placed.partition is not None
    bindings.replay_component(grouping, component, placed.soft, conflicts.append, placed.partition.inside)
    return grouping, conflicts


class _MergeCache:
    """Recently merged components by their number and the requests in them, limited by their total number of nodes."""

    def __init__(self) -> None:
        self._merges: dict[_RequestKey, _MergedComponent] = {}
        self._nodes = 0

    def get(self, key: _RequestKey) -> _MergedComponent | None:
        """Return a cached merge, or None."""
        return self._merges.get(key)

    def keep(self, key: _RequestKey, merged: _MergedComponent) -> None:
        """Cache a merge and drop the oldest ones beyond the limit."""
        self._merges[key] = merged
        self._nodes += _nodes_in(merged)
        while self._nodes > _CACHED_NODES and len(self._merges) > 1:
            self._nodes -= _nodes_in(self._merges.pop(next(iter(self._merges))))


def _nodes_in(merged: _MergedComponent) -> int:
    return sum(map(len, merged[1].values()))


class WhatIf:
    """A placement with some nodes changed.

    Args:
        placed: the unchanged placement.
        requests: node -> the request that replaces its own.
        kernels: node -> the device types that have a kernel for it instead.
        limits_host: whether nodes that read host data stay on the host.
    """

    def __init__(
        self,
        placed: Placed,
        *,
        requests: Mapping[int, ParsedName] | None = None,
        kernels: Mapping[int, SupportedTypes] | None = None,
        limits_host: bool = True,
    ) -> None:
        assert placed.partition is not None and placed.decisions is not None and placed.single is not None
        self.placed, self.graph = placed, placed.graph
        self.partition, self.decisions, self.single = placed.partition, placed.decisions, placed.single
        self.requests, self.kernels, self.limits_host = requests or {}, kernels or {}, limits_host
        self.bindings = placed.placer.bindings
        self._components = {int(self.bindings.component[node]) for node in (*self.requests, *self.kernels)}
        self._groupings: dict[int, tuple[Grouping, dict[int, list[int]]]] = {}
        self._devices: dict[int, int] = {}
        self.conflicts: list[Conflict] = []
        """Conflicts in the components recomputed so far."""

    def also(self, node: int) -> WhatIf:
        """Also recompute the node's component, although nothing changes in it."""
        self._components.add(int(self.bindings.component[node]))
        return self

    def device(self, node: int) -> int:
        """Return the position of the node's device, or `NOWHERE`."""
        waiting = [node]
        while waiting:
            current = waiting[-1]
            first = self._first_visited(current)
            if first in self._devices:
                waiting.pop()
                continue
            leaders = self._leaders(first) if self._may_differ(current, first) else None
            if leaders is None:
                self._devices[first] = int(self.placed.devices[first])
                continue
            missing = [leader for leader in leaders if self._first_visited(leader) not in self._devices]
            if missing:
                waiting.extend(missing)
            else:
                self._devices[first] = self._decided(first, leaders)
        return self._devices[self._first_visited(node)]

    def candidates(self, node: int) -> Candidates:
        """Return the devices that the node's group may have."""
        return self.placed.chooser.candidates(self.constraints(node))

    def constraints(self, node: int) -> Member:
        """Return the constraints of the node's group."""
        if not self._is_changed(node):
            return self.placed.constraints(node)
        grouping, groups = self._grouping(node)
        member = grouping.constraints(node)
        supported = without_xla(member.supported, member.requested)
        if self.limits_host and not _host_readers(self.placed).isdisjoint(groups[grouping.find(node)]):
            supported = tuple(item for item in supported if item[0] == "CPU")
        return replace(member, supported=supported)

    def reason(self, node: int) -> str:
        """Return in words why the node's group gets its device."""
        names, chosen = self.graph.names, self.device(node)
        grouping, groups = self._grouping(node) if self._is_changed(node) else (None, {})
        group = self.placed.group_of(node) if grouping is None else groups[grouping.find(node)]
        for member in group:
            name = self._member(member).requested
            if name != ANY and chosen in self.placed.chooser.matching(name, self.constraints(node).supported):
                whose = "it" if member == node else f"{names[member]}, tied to it,"
                return f"{whose} asks for '{self._request(member)}'"
        first = self._first_visited(node)
        leaders = self._leaders(first)
        if leaders and self.candidates(node).first != chosen:
            return (
                f"it follows {names[leaders[0]]}"
                if first == node
                else f"{names[first]} follows {names[leaders[0]]}"
            )
        types = {kind for kind, _ in self.placed.device_set.prioritized_types()}
        for member in group:
            lacking = types - dict(self._member(member).supported).keys()
            if lacking and lacking.isdisjoint(dict(self.constraints(node).supported)):
                whose = "it" if member == node else f"{names[member]}, tied to it,"
                return f"{whose} has no {' or '.join(sorted(lacking))} kernel"
        return _first_choice(group)

    def _member(self, node: int) -> Member:
        """Return the constraints of one node before merging."""
        member = self.single(node)
        name = self.requests.get(node)
        if name is not None and member.assigned == ANY:
            makes_state = self.placed.facts_of(node).makes_state
            supported = supported_when_asking(self.placed, node, name)
            member = Member(supported, requested=name, resource=name if makes_state else ANY)
        if node in self.kernels:
            member = replace(member, supported=self.kernels[node])
        return member

    def _is_changed(self, node: int) -> bool:
        return int(self.bindings.component[node]) in self._components

    def _grouping(self, node: int) -> tuple[Grouping, dict[int, list[int]]]:
        """Return the merged component of a node, and the members of each group by root."""
        component = int(self.bindings.component[node])
        if component not in self._groupings:
            grouping, groups, conflicts = self._merged(component)
            self.conflicts += conflicts
            self._groupings[component] = grouping, groups
        return self._groupings[component]

    def _merged(self, component: int) -> _MergedComponent:
        """Merge a component again. Merges are cached because the remedies of many nodes try the same requests."""
        components = self.bindings.component
        requests = frozenset(
            (node, name) for node, name in self.requests.items() if components[node] == component
        )
        cache: _MergeCache
        cache = _MergeCache() if self.kernels else self.placed.__dict__.setdefault("_merged", _MergeCache())
        merged = cache.get((component, requests))
        if merged is None:
            grouping, conflicts = regroup(self.placed, component, self._member)
            groups: dict[int, list[int]] = {}
            for member in self.bindings.nodes_of(component):
                groups.setdefault(grouping.find(member), []).append(member)
            merged = grouping, groups, conflicts
            cache.keep((component, requests), merged)
        return merged

    def _first_visited(self, node: int) -> int:
        """Return the member of the node's group that is visited first."""
        if not self._is_changed(node):
            return self.placed.first_visited(node)
        grouping, groups = self._grouping(node)
        late, rank = self.decisions.outline.is_generator, self.graph.rank
        return min(groups[grouping.find(node)], key=lambda member: (bool(late[member]), int(rank[member])))

    def _may_differ(self, node: int, first: int) -> bool:
        """Return whether a group may get another device: it is merged again, follows another, or may start to."""
        if self._is_changed(node):
            return True
        return self.placed.facts_of(first).is_identity or int(self.decisions.how[first]) in _FOLLOWS

    def _leaders(self, first: int) -> list[int]:
        """Return the nodes whose device a group may take over; none for a group that decides for itself."""
        graph, late, rank = self.graph, self.decisions.outline.is_generator, self.graph.rank
        if first in self.single.assigned:
            return []
        if late[first]:
            consumers = [int(graph.dst[edge]) for edge in graph.out_edges(first)]
            if graph.leads_to_sink is not None and graph.leads_to_sink[first]:
                return []
            if any(late[consumer] and rank[consumer] > rank[first] for consumer in consumers):
                return []
            return list(dict.fromkeys(consumers))
        fact = self.placed.facts_of(first)
        passes = fact.is_identity and self.placed.placer.rules == "2.21"
        edges = graph.in_edges(first)
        if not (fact.is_metadata or passes) or not len(edges):
            return []
        source = int(graph.src[graph.first_edge.get(first, edges[0])])
        is_placed = source in self.single.assigned or (not late[source] and rank[source] < rank[first])
        return [source] if is_placed and (fact.is_metadata or self._is_passing(first, source)) else []

    def _is_passing(self, node: int, source: int) -> bool:
        """Return whether an Identity has no request, one input and one output edge, and neighbors with equal
        requests."""
        graph = self.graph
        out = graph.out_edges(node)
        has_sink = not out if graph.leads_to_sink is None else bool(graph.leads_to_sink[node])
        if len(graph.in_edges(node)) != 1 or len(out) + has_sink != 1 or self._request(node) != "":
            return False
        return (self._request(int(graph.dst[out[0]])) if out else "") == self._request(source)

    def _request(self, node: int) -> str:
        """Return a node's request as written."""
        name = self.requests.get(node)
        return self.graph.requested_device(node) if name is None else name.to_string()

    def _decided(self, first: int, leaders: Iterable[int]) -> int:
        """Return a group's device: that of its leaders if they agree and it may have it, otherwise its first choice."""
        assigned = self.single.assigned.get(first)
        if assigned is not None:
            return self.placed.chooser.position[assigned.to_string()]
        candidates = self.candidates(first)
        leader_devices = {self._devices[self._first_visited(leader)] for leader in leaders}
        if len(leader_devices) == 1 and (device := leader_devices.pop()) in candidates.devices:
            return device
        return candidates.first if candidates.devices else NOWHERE


def _first_choice(group: list[int]) -> str:
    return "the first choice of its group" if len(group) > 1 else "its first choice"


def _host_readers(placed: Placed) -> frozenset[int]:
    """Return the nodes that keep their groups on the CPU because of the data they read; computed once."""
    nodes: frozenset[int] | None = placed.__dict__.get("_host_readers")
    if nodes is None:
        readers = host_readers(placed.graph, placed.facts) if placed.placer.rules == "2.21" else ()
        nodes = placed.__dict__["_host_readers"] = frozenset(readers)
    return nodes


def anyway(placed: Placed, node: int) -> str:
    """Return the cause that would keep a node on its device without the verdict's cause; "" if it would move.

    The cause is the culprit's request, its missing kernel, or the rule by which it follows another node. A preference
    of the placer among unrequested devices cannot be undone, nor can a failure.
    """
    verdicts = verdicts_of(placed)
    rule, culprit = verdicts.rule_of(node), int(verdicts.culprit[node])
    device = int(placed.devices[node])
    if placed.partition is None or device == NOWHERE:
        return ""
    member, chooser = placed.constraints(node), placed.chooser
    candidates = None
    if rule in FOLLOWING:
        candidates = chooser.candidates(member)
    elif rule is Rule.KERNEL_PRIORITY:
        equal = tuple((kind, 0) for kind, _ in member.supported)
        candidates = chooser.candidates(replace(member, supported=equal))
    elif rule is Rule.DEFAULT_DEVICE:
        candidates = chooser.without_default().candidates(member)
    if candidates is not None:
        return _first_choice(placed.group_of(node)) if candidates.first == device else ""
    if rule is Rule.ASSIGNED:
        return "the placer's own choice" if _without_assignment(placed, culprit, node) == device else ""
    changed = undone(placed, rule, culprit)
    return changed.reason(node) if changed is not None and changed.device(node) == device else ""


def undone(placed: Placed, rule: Rule, culprit: int) -> WhatIf | None:
    """Return the placement without a verdict's cause; None if the cause cannot be removed.

    The result is cached, because many nodes share a culprit.
    """
    cache: dict[tuple[Rule, int], WhatIf | None] = placed.__dict__.setdefault("_undone", {})
    key = (rule, culprit)
    if key not in cache:
        changed = None
        if rule in _UNDONE and placed.graph.device[culprit]:
            changed = WhatIf(placed, requests={culprit: ANY})
        elif (
            rule is Rule.KERNEL
            and with_missing_kernels(placed, culprit) != placed.facts_of(culprit).supported
        ):
            changed = WhatIf(placed, kernels={culprit: with_missing_kernels(placed, culprit)})
        elif rule is Rule.HOST_DATA:
            changed = WhatIf(placed, limits_host=False).also(culprit)
        cache[key] = changed
    return cache[key]


def with_missing_kernels(placed: Placed, node: int) -> SupportedTypes:
    """Return the node's device types, and those whose missing kernels determine its device."""
    own = placed.facts_of(node).supported
    return (
        *own,
        *((kind, 0) for kind in lacking_types(placed, placed.constraints(node)) if kind not in dict(own)),
    )


def _without_assignment(placed: Placed, culprit: int, node: int) -> int:
    """Return the position of a node's device if another node had not been assigned before."""
    names = placed.graph.names
    assigned = {names[i]: device for i, device in placed.assigned.items() if i != culprit}
    again: Placed = place_nodes(
        placed.placer,
        placed.device_set,
        soft=placed.soft,
        assigned=assigned,
        default_local_device=placed.chooser.default_local_device,
        keep=True,
    )
    return int(again.devices[node])
