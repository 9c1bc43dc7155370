"""The verdict: for every node, the rule that determined its device and the node responsible (the culprit).

Every view of a placement reads this record: explanations, blame, differences, colours, tables and pages. A verdict is
about the node's whole group, and it names a cause that can be undone::

    v ('/gpu:1') ══ref══> Assign     v: request, by itself    Assign: request, by v, to which a reference edge ties it
    p (Pow int32) ──loc:@p── n       p: kernel, by itself     n: kernel, by p, with which it is colocated
    a (Const) ──> m (on GPU:1)       a: generator, by m, which it follows

The first rule of this list that applies to the group is the verdict's rule. The culprit is the node itself if the rule
applies to it, otherwise the first member in visiting order to which the rule applies:

1. no device is left; 2. the group was assigned before placing; 3. the group follows its input or its consumers,
although it could be elsewhere; 4. soft placement gave up its request; 5. its request; 6. it reads data that stays on
the host; 7. a kernel is missing; 8. the caller's default device, kernel priority, device-type priority, name order, or
the machine has one device only.

Nodes with equal constraints, requests and signatures have the same verdict except for the culprit. The work is
therefore done once per distinct combination and spread over the nodes by array indexing.

Source: tensorflow/core/common_runtime/placer.cc and colocation_graph.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpuplace.device.parsed_name import ANY, ParsedName
from gpuplace.placer.bindings import Conflict
from gpuplace.placer.candidates import SOFT, SOFT_RESOURCE
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.kinds import numbered
from gpuplace.placer.member import Member
from gpuplace.placer.outline import GENERATOR, IDENTITY, METADATA
from gpuplace.placer.placed import Placed
from gpuplace.why.rules import RULES, Rule

RULE_OF_DECISION = {METADATA: Rule.METADATA, IDENTITY: Rule.IDENTITY, GENERATOR: Rule.GENERATOR}
"""How a following group got its device -> the rule."""

_NUMBER = {rule: number for number, rule in enumerate(RULES)}


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of all nodes of a placement."""

    rule: np.ndarray
    """[nodes] int64: index into `RULES`."""
    culprit: np.ndarray
    """[nodes] int64: the node that the rule applies to, or the node that is followed."""

    def __repr__(self) -> str:
        counts = np.bincount(self.rule, minlength=len(RULES)).tolist()
        ranked = sorted(
            ((count, rule.value) for rule, count in zip(RULES, counts, strict=True) if count), reverse=True
        )
        return f"<Verdicts on {len(self.rule):,} nodes: {', '.join(f'{count} {rule}' for count, rule in ranked)}>"

    def rule_of(self, node: int) -> Rule:
        """Return the rule that determined one node's device."""
        return RULES[self.rule[node]]


def verdicts_of(placed: Placed) -> Verdicts:
    """Return the verdicts of a placement, computed once per placement."""
    verdicts: Verdicts | None = placed.__dict__.get("_verdicts")
    if verdicts is None:
        verdicts = placed.__dict__["_verdicts"] = _VerdictBuilder(placed).verdicts()
    return verdicts


def lacking_types(placed: Placed, member: Member) -> tuple[str, ...]:
    """Return the device types whose missing kernels determine a group's device.

    These are the types without a kernel that come before the chosen type in the order of preference. If only one type
    is possible, they are all types without a kernel.
    """
    candidates = placed.chooser.candidates(member)
    ordered_types = [device_type for device_type, _ in placed.device_set.prioritized_types()]
    ordered_types = [
        device_type for device_type in ordered_types if not device_type.startswith("XLA_")
    ] or ordered_types
    supported = dict(member.supported)
    lacking = tuple(device_type for device_type in ordered_types if device_type not in supported)
    if not candidates.devices:
        return lacking
    possible_types = {placed.device_set.devices[device].device_type for device in candidates.devices}
    if len(possible_types) == 1:
        return lacking
    chosen = placed.device_set.devices[candidates.first].device_type
    preferred = ordered_types[: ordered_types.index(chosen)] if chosen in ordered_types else ordered_types
    return tuple(device_type for device_type in lacking if device_type in preferred)


def limits_inside(placed: Placed, node: int) -> list[tuple[int, Member]]:
    """Return the calls whose functions limit a node's group, each with its constraints inside the function."""
    if placed.partition is None or not placed.partition.inside:
        return []
    return list(placed.placer.bindings.limits_of(node, placed.partition.inside, placed.group_of(node)))


class _VerdictBuilder:
    """Computes the verdicts. Arrays are over nodes, `[nodes]`, unless stated otherwise."""

    def __init__(self, placed: Placed) -> None:
        self.placed = placed
        self.graph = placed.graph
        self.nodes = np.arange(len(placed.graph), dtype=np.int64)

    def verdicts(self) -> Verdicts:
        """Compute the rule and the culprit of every node."""
        placed = self.placed
        if placed.partition is None or placed.decisions is None or not len(self.graph):
            return Verdicts(np.full(len(self.graph), _NUMBER[Rule.FAILED]), self._blamed(self.nodes.copy()))
        rule = self._base()[placed.partition.member]
        is_host = np.zeros(len(self.graph), dtype=bool)
        is_host[placed.partition.root[list(placed.host_causes)]] = True
        is_host = is_host[placed.partition.root] & (rule == _NUMBER[Rule.KERNEL])
        rule[is_host] = _NUMBER[Rule.HOST_DATA]
        self._overruled(rule)
        self._following(rule)
        assigned = list(placed.single.assigned) if placed.single is not None else []
        rule[assigned] = _NUMBER[Rule.ASSIGNED]
        rule[placed.devices == NOWHERE] = _NUMBER[Rule.FAILED]
        return Verdicts(rule, self._culprits(rule, assigned))

    def _base(self) -> np.ndarray:
        """Return the rule, [groups], that each group's constraints alone imply."""
        placed = self.placed
        assert placed.partition is not None
        return np.array(
            [_NUMBER[_rule_of_member(placed, member)] for member in placed.partition.members], dtype=np.int64
        )

    def _following(self, rule: np.ndarray) -> None:
        """Set the rule of groups that follow another node although they could be elsewhere."""
        placed = self.placed
        assert placed.partition is not None and placed.decisions is not None
        chooser, members = placed.chooser, placed.partition.members
        is_free = np.array([len(chooser.candidates(member).devices) > 1 for member in members], dtype=bool)
        is_free = is_free[placed.partition.member] & (rule != _NUMBER[Rule.ASSIGNED])
        for how, following in RULE_OF_DECISION.items():
            rule[is_free & (placed.decisions.how == how)] = _NUMBER[following]

    def _overruled(self, rule: np.ndarray) -> None:
        """Set the rule of nodes whose own request was granted or overridden in a group with clashing requests."""
        placed = self.placed
        assert placed.partition is not None
        settled = np.isin(
            rule, [_NUMBER[r] for r in (Rule.ASSIGNED, Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE)]
        )
        rule[self.asks & self.is_met & ~settled] = _NUMBER[Rule.REQUEST]
        overruled = self.asks & ~self.is_met & ~settled
        if not overruled.any():
            return
        cells = placed.partition.member * len(self.names) + self.graph.device
        clashing = []
        for cell in numbered(cells[overruled])[0].tolist():
            member, request = divmod(cell, len(self.names))
            if not self.names[request].is_compatible(placed.partition.members[member].requested):
                clashing.append(cell)
        clash = np.isin(cells, clashing)
        bindings = placed.placer.bindings
        has_edge = np.zeros(len(self.graph), dtype=bool)
        has_edge[bindings.component[bindings.first[bindings.kind >= 0]]] = True
        has_edge[bindings.inspected] = True
        yields = overruled & (clash & has_edge[bindings.component] | (not placed.soft))
        rule[overruled] = _NUMBER[Rule.REQUESTS_DROPPED]
        rule[yields] = _NUMBER[Rule.YIELDS_TO_SOURCE]

    @cached_property
    def names(self) -> list[ParsedName]:
        """The distinct requests, parsed; a malformed one requests nothing."""
        return [name or ANY for name in self.placed.placer.parsed]

    @cached_property
    def asks(self) -> np.ndarray:
        """[nodes] whether the node itself requests a device."""
        return np.array([name != ANY for name in self.names], dtype=bool)[self.graph.device]

    @cached_property
    def is_met(self) -> np.ndarray:
        """[nodes] whether the node's device matches its own request; True for a node without one."""
        placed, names = self.placed, self.names
        table = np.zeros((len(names), len(placed.device_set) + 1), dtype=bool)
        for request in numbered(self.graph.device)[0].tolist():
            matches = placed.device_set.matching(names[request])
            table[request, [placed.chooser.position[device.name] for device in matches]] = True
        return table[self.graph.device, placed.devices]

    def _culprits(self, rule: np.ndarray, assigned: list[int]) -> np.ndarray:
        """Return the culprit of each node."""
        placed = self.placed
        assert placed.partition is not None and placed.decisions is not None
        culprit = self.nodes.copy()
        asks, is_met = self.asks, self.is_met
        decider = placed.decisions.decider[placed.partition.root]

        def choose(named_rule: Rule, *predicates: Callable[[], np.ndarray]) -> None:
            """Choose the node itself, or the first of its group, by the first predicate that any member satisfies."""
            has_rule = rule == _NUMBER[named_rule]
            if not has_rule.any():
                return
            left = has_rule.copy()
            for predicate in predicates:
                applies = predicate()
                first = self._first_of_group(applies)
                applied = left & (first >= 0)
                culprit[applied] = np.where(applies[applied], self.nodes[applied], first[applied])
                left &= ~applied
            culprit[left] = decider[left]
            self._of_calls(left, culprit)

        arrived = np.zeros(len(self.graph), dtype=bool)
        arrived[assigned] = True
        readers = np.zeros(len(self.graph), dtype=bool)
        readers[list(placed.host_causes)] = True
        unmet = asks & ~is_met
        self._dropped(rule, culprit, asks)
        choose(Rule.ASSIGNED, lambda: arrived)
        choose(Rule.SOFT_PLACEMENT, lambda: unmet, lambda: asks)
        choose(Rule.SOFT_RESOURCE, lambda: unmet & self._makes_state(), lambda: unmet, lambda: asks)
        choose(Rule.REQUEST, self._suffices, lambda: asks & is_met, lambda: asks)
        choose(Rule.YIELDS_TO_SOURCE, self._suffices, lambda: asks & is_met, lambda: asks)
        choose(Rule.HOST_DATA, lambda: readers)
        choose(Rule.KERNEL, self._lacks)
        choose(Rule.KERNEL_PRIORITY, self._prefers)
        self._followed(rule, culprit)
        failed = rule == _NUMBER[Rule.FAILED]
        if failed.any():
            choose(Rule.FAILED, lambda: unmet, self._lacks)
            culprit[failed] = self._blamed(culprit.copy())[failed]
        return culprit

    def _of_calls(self, left: np.ndarray, culprit: np.ndarray) -> None:
        """Blame the call whose function limits the group, if no member itself requests a device or lacks a kernel."""
        partition = self.placed.partition
        if partition is not None and partition.inside:
            for node in np.flatnonzero(left).tolist():
                for call, _ in limits_inside(self.placed, node):
                    culprit[node] = call

    def _dropped(self, rule: np.ndarray, culprit: np.ndarray, asks: np.ndarray) -> None:
        """Blame requests that cancelled each other on the first member whose request clashes with the node's.

        If no member clashes, the source of an edge won, and the rule changes to `YIELDS_TO_SOURCE`.
        """
        placed = self.placed
        assert placed.partition is not None
        clashing: dict[tuple[int, int], int | None] = {}
        for node in np.flatnonzero(rule == _NUMBER[Rule.REQUESTS_DROPPED]).tolist():
            key = int(placed.partition.root[node]), int(self.graph.device[node])
            if key not in clashing:
                candidates = (member for member in placed.group_of(node) if asks[member])
                clashing[key] = next((member for member in candidates if self._clash(member, node)), None)
            other = clashing[key]
            if other is None:
                rule[node] = _NUMBER[Rule.YIELDS_TO_SOURCE]
            else:
                culprit[node] = other

    def _clash(self, node: int, other: int) -> bool:
        """Return whether no device can satisfy the requests of both nodes."""
        request, wish = (self.names[self.graph.device[n]] for n in (node, other))
        return not request.is_compatible(wish)

    def _followed(self, rule: np.ndarray, culprit: np.ndarray) -> None:
        """Set the culprits of groups that follow: the input, or the first consumer, of the first visited member."""
        placed, graph = self.placed, self.graph
        assert placed.partition is not None and placed.decisions is not None
        first = placed.decisions.decider[placed.partition.root]
        to_consumer = np.flatnonzero(rule == _NUMBER[Rule.GENERATOR])
        culprit[to_consumer] = graph.dst[graph.out_order[graph.out_start[first[to_consumer]]]]
        to_input = np.flatnonzero(np.isin(rule, [_NUMBER[Rule.METADATA], _NUMBER[Rule.IDENTITY]]))
        edge = graph.in_start[first[to_input]]
        for i, node in enumerate(first[to_input].tolist()) if graph.first_edge else ():
            edge[i] = graph.first_edge.get(node, edge[i])
        culprit[to_input] = graph.src[edge]

    def _blamed(self, culprit: np.ndarray) -> np.ndarray:
        """Return the culprits of nodes without a device, with the nodes that the faults name."""
        for fault in self.placed.faults:
            node = getattr(fault, "node", None)
            if node is not None:
                culprit[node] = node
            elif isinstance(fault, Conflict):
                culprit[list(fault.group)] = fault.first
        return culprit

    def _first_of_group(self, applies: np.ndarray) -> np.ndarray:
        """Return, for each node, the first member of its group in visiting order with a True value; -1 for none."""
        graph, partition = self.graph, self.placed.partition
        assert partition is not None
        members = np.flatnonzero(applies)
        first = np.full(len(graph), len(graph), dtype=np.int64)
        np.minimum.at(first, partition.root[members], graph.rank[members])
        order = np.append(graph.order, -1)
        return order[first[partition.root]]

    def _suffices(self) -> np.ndarray:
        """Return whether a node's own request and its group's kernels already imply the device that it has."""
        placed = self.placed
        assert placed.partition is not None
        names, members = self.names, placed.partition.members
        code = placed.partition.member * len(names) + self.graph.device
        codes, inverse = np.unique(code, return_inverse=True)
        first = []
        for member, request in (divmod(value, len(names)) for value in codes.tolist()):
            name = names[request]
            devices = () if name == ANY else placed.chooser.matching(name, members[member].supported)
            first.append(devices[0] if devices else NOWHERE)
        return self.asks & (np.array(first, dtype=np.int64)[inverse] == placed.devices)

    def _makes_state(self) -> np.ndarray:
        """Return whether a node creates a variable or a resource."""
        return np.array([fact.makes_state for fact in self.placed.facts], dtype=bool)[self.graph.signature]

    def _lacks(self) -> np.ndarray:
        """Return whether a node lacks a kernel for a device type whose absence determines its group's device."""
        placed = self.placed
        assert placed.partition is not None
        lacking = [set(lacking_types(placed, member)) for member in placed.partition.members]
        return self._by_member(
            lambda member, signature: bool(lacking[member] - dict(placed.facts[signature].supported).keys())
        )

    def _prefers(self) -> np.ndarray:
        """Return whether the node's kernel for the device type of its group has a priority."""
        placed = self.placed
        assert placed.partition is not None
        devices = placed.device_set.devices
        chosen = []
        for member in placed.partition.members:
            first = placed.chooser.candidates(member).first
            chosen.append("" if first == NOWHERE else devices[first].device_type)
        return self._by_member(
            lambda member, signature: dict(placed.facts[signature].supported).get(chosen[member], 0) > 0
        )

    def _by_member(self, predicate: Callable[[int, int], bool]) -> np.ndarray:
        """Evaluate a predicate of a group and a signature once per distinct pair, and spread it over the nodes."""
        placed = self.placed
        assert placed.partition is not None
        code = placed.partition.member * len(placed.facts) + self.graph.signature
        codes, inverse = np.unique(code, return_inverse=True)
        values = [predicate(*divmod(value, len(placed.facts))) for value in codes.tolist()]
        return np.array(values, dtype=bool)[inverse]


def _rule_of_member(placed: Placed, member: Member) -> Rule:
    """Return the rule that a group's constraints alone imply."""
    candidates = placed.chooser.candidates(member)
    devices = placed.device_set.devices
    if not candidates.devices:
        return Rule.FAILED
    if member.assigned != ANY:
        return Rule.ASSIGNED
    if candidates.level in (SOFT, SOFT_RESOURCE):
        return Rule.SOFT_PLACEMENT if candidates.level == SOFT else Rule.SOFT_RESOURCE
    if member.requested != ANY:
        return Rule.REQUEST
    if lacking_types(placed, member):
        return Rule.KERNEL
    if len(candidates.devices) > 1 and devices[candidates.first].name == placed.chooser.default_local_device:
        return Rule.DEFAULT_DEVICE
    possible_types = {devices[device].device_type for device in candidates.devices}
    priority = dict(member.supported)
    if len({priority[device_type] for device_type in possible_types}) > 1:
        return Rule.KERNEL_PRIORITY
    if len(possible_types) > 1:
        return Rule.TYPE_PRIORITY
    return Rule.NAME_ORDER if len(candidates.devices) > 1 else Rule.ONLY_DEVICE
