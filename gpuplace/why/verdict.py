"""The verdict: for every node the rule that settled its device, and the node that is the culprit.

All that is said about a placement reads this record: explanations, blame, differences, colours, tables and pages. A
verdict is about the node's whole group, and names a cause that can be undone::

    v ('/gpu:1') ══ref══> Assign     v: request, by itself    Assign: request, by v, to which a reference edge ties it
    p (Pow int32) ──loc:@p── n       p: kernel, by itself     n: kernel, by p, with which it is colocated
    a (Const) ──> m (on GPU:1)       a: generator, by m, which it follows

The first of these that applies is the rule; for a group, the culprit is the node itself where it applies to the node,
else the first member in visiting order to which it does:

1. no device is left; 2. the group came with a device; 3. it follows its input or its consumers, and could be elsewhere;
4. soft placement gave up its request; 5. its request; 6. what it reads is held on the host; 7. a kernel is missing;
8. the caller's default device, kernel priority, device-type priority, names; the machine has one device only.

Nodes with equal constraints, requests and signatures have the same verdict but for the culprit, so the work is done
once per distinct combination and spread by arrays.

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
"""How a group got its device -> the rule, for groups that follow another."""

_NUMBER = {rule: number for number, rule in enumerate(RULES)}


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of all nodes of a placement."""

    rule: np.ndarray
    """[nodes] int64: position in `RULES`."""
    culprit: np.ndarray
    """[nodes] int64: the node that the rule applies to, or that is followed."""

    def __repr__(self) -> str:
        counts = np.bincount(self.rule, minlength=len(RULES)).tolist()
        ranked = sorted(
            ((count, rule.value) for rule, count in zip(RULES, counts, strict=True) if count), reverse=True
        )
        return f"<Verdicts on {len(self.rule):,} nodes: {', '.join(f'{count} {rule}' for count, rule in ranked)}>"

    def rule_of(self, node: int) -> Rule:
        """The rule that settled one node's device."""
        return RULES[self.rule[node]]


def verdicts_of(placed: Placed) -> Verdicts:
    """The verdicts of a placement; worked out once."""
    found: Verdicts | None = placed.__dict__.get("_verdicts")
    if found is None:
        found = placed.__dict__["_verdicts"] = _Judge(placed).verdicts()
    return found


def lacking_types(placed: Placed, member: Member) -> tuple[str, ...]:
    """Device types whose missing kernels settle the device of a group: those preferred to the one that it got.

    Where one type alone is left, all types that it lacks.
    """
    found = placed.chooser.candidates(member)
    types = [kind for kind, _ in placed.device_set.prioritized_types()]
    types = [kind for kind in types if not kind.startswith("XLA_")] or types
    have = dict(member.supported)
    lacking = tuple(kind for kind in types if kind not in have)
    if not found.devices:
        return lacking
    kinds = {placed.device_set.devices[device].device_type for device in found.devices}
    if len(kinds) == 1:
        return lacking
    chosen = placed.device_set.devices[found.first].device_type
    before = types[: types.index(chosen)] if chosen in types else types
    return tuple(kind for kind in lacking if kind in before)


def limits_inside(placed: Placed, node: int) -> list[tuple[int, Member]]:
    """The calls whose functions limit a node's group, with what each asks for inside."""
    if placed.partition is None or not placed.partition.inside:
        return []
    return list(placed.placer.bindings.limits_of(node, placed.partition.inside, placed.group_of(node)))


class _Judge:
    """Works out the verdicts: arrays over nodes, `[nodes]` where nothing else is said."""

    def __init__(self, placed: Placed) -> None:
        self.placed = placed
        self.graph = placed.graph
        self.nodes = np.arange(len(placed.graph), dtype=np.int64)

    def verdicts(self) -> Verdicts:
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
        came = list(placed.single.assigned) if placed.single is not None else []
        rule[came] = _NUMBER[Rule.ASSIGNED]
        rule[placed.devices == NOWHERE] = _NUMBER[Rule.FAILED]
        return Verdicts(rule, self._culprits(rule, came))

    def _base(self) -> np.ndarray:
        """[members] the rule as far as a group's constraints tell it."""
        placed = self.placed
        assert placed.partition is not None
        return np.array(
            [_NUMBER[_rule_of_member(placed, member)] for member in placed.partition.members], dtype=np.int64
        )

    def _following(self, rule: np.ndarray) -> None:
        """Groups that follow another one, though they could be elsewhere."""
        placed = self.placed
        assert placed.partition is not None and placed.decisions is not None
        chooser, members = placed.chooser, placed.partition.members
        is_free = np.array([len(chooser.candidates(member).devices) > 1 for member in members], dtype=bool)
        is_free = is_free[placed.partition.member] & (rule != _NUMBER[Rule.ASSIGNED])
        for how, following in RULE_OF_DECISION.items():
            rule[is_free & (placed.decisions.how == how)] = _NUMBER[following]

    def _overruled(self, rule: np.ndarray) -> None:
        """Nodes that got what they asked for though the group's requests clashed, and those that did not."""
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
        """The distinct requests; malformed ones ask for nothing."""
        return [name or ANY for name in self.placed.placer.parsed]

    @cached_property
    def asks(self) -> np.ndarray:
        """Whether the node itself asks for something."""
        return np.array([name != ANY for name in self.names], dtype=bool)[self.graph.device]

    @cached_property
    def is_met(self) -> np.ndarray:
        """Whether the node's device is one that it asks for; True where it asks for none."""
        placed, names = self.placed, self.names
        table = np.zeros((len(names), len(placed.device_set) + 1), dtype=bool)
        for request in numbered(self.graph.device)[0].tolist():
            found = placed.device_set.matching(names[request])
            table[request, [placed.chooser.position[device.name] for device in found]] = True
        return table[self.graph.device, placed.devices]

    def _culprits(self, rule: np.ndarray, came: list[int]) -> np.ndarray:
        """The culprit of each node."""
        placed = self.placed
        assert placed.partition is not None and placed.decisions is not None
        culprit = self.nodes.copy()
        asks, is_met = self.asks, self.is_met
        decider = placed.decisions.decider[placed.partition.root]

        def among(of: Rule, *choices: Callable[[], np.ndarray]) -> None:
            """The node itself, or the first of its group, for the first choice that somebody in the group meets."""
            here = rule == _NUMBER[of]
            if not here.any():
                return
            left = here.copy()
            for choice in choices:
                applies = choice()
                first = self._first_of_group(applies)
                found = left & (first >= 0)
                culprit[found] = np.where(applies[found], self.nodes[found], first[found])
                left &= ~found
            culprit[left] = decider[left]
            self._of_calls(left, culprit)

        arrived = np.zeros(len(self.graph), dtype=bool)
        arrived[came] = True
        readers = np.zeros(len(self.graph), dtype=bool)
        readers[list(placed.host_causes)] = True
        unmet = asks & ~is_met
        self._dropped(rule, culprit, asks)
        among(Rule.ASSIGNED, lambda: arrived)
        among(Rule.SOFT_PLACEMENT, lambda: unmet, lambda: asks)
        among(Rule.SOFT_RESOURCE, lambda: unmet & self._makes_state(), lambda: unmet, lambda: asks)
        among(Rule.REQUEST, self._suffices, lambda: asks & is_met, lambda: asks)
        among(Rule.YIELDS_TO_SOURCE, self._suffices, lambda: asks & is_met, lambda: asks)
        among(Rule.HOST_DATA, lambda: readers)
        among(Rule.KERNEL, self._lacks)
        among(Rule.KERNEL_PRIORITY, self._prefers)
        self._followed(rule, culprit)
        failed = rule == _NUMBER[Rule.FAILED]
        if failed.any():
            among(Rule.FAILED, lambda: unmet, self._lacks)
            culprit[failed] = self._blamed(culprit.copy())[failed]
        return culprit

    def _of_calls(self, left: np.ndarray, culprit: np.ndarray) -> None:
        """Where nobody in the group asks, or lacks a kernel: the call whose function does."""
        partition = self.placed.partition
        if partition is not None and partition.inside:
            for node in np.flatnonzero(left).tolist():
                for call, _ in limits_inside(self.placed, node):
                    culprit[node] = call

    def _dropped(self, rule: np.ndarray, culprit: np.ndarray, asks: np.ndarray) -> None:
        """Where requests cancelled each other: the first member that asks for something else, else the source won."""
        placed = self.placed
        assert placed.partition is not None
        known: dict[tuple[int, int], int | None] = {}
        for node in np.flatnonzero(rule == _NUMBER[Rule.REQUESTS_DROPPED]).tolist():
            key = int(placed.partition.root[node]), int(self.graph.device[node])
            if key not in known:
                others = (member for member in placed.group_of(node) if asks[member])
                known[key] = next((member for member in others if self._clash(member, node)), None)
            other = known[key]
            if other is None:
                rule[node] = _NUMBER[Rule.YIELDS_TO_SOURCE]
            else:
                culprit[node] = other

    def _clash(self, node: int, other: int) -> bool:
        """Whether two nodes ask for devices of which none can be both."""
        request, wish = (self.names[self.graph.device[n]] for n in (node, other))
        return not request.is_compatible(wish)

    def _followed(self, rule: np.ndarray, culprit: np.ndarray) -> None:
        """The input, or the first consumer, of the first visited node of a group that follows."""
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
        """The culprits of nodes without a device, with those that the faults name."""
        for fault in self.placed.faults:
            node = getattr(fault, "node", None)
            if node is not None:
                culprit[node] = node
            elif isinstance(fault, Conflict):
                culprit[list(fault.group)] = fault.first
        return culprit

    def _first_of_group(self, applies: np.ndarray) -> np.ndarray:
        """The member, first in visiting order, that something applies to; -1 for groups without."""
        graph, partition = self.graph, self.placed.partition
        assert partition is not None
        found = np.flatnonzero(applies)
        first = np.full(len(graph), len(graph), dtype=np.int64)
        np.minimum.at(first, partition.root[found], graph.rank[found])
        order = np.append(graph.order, -1)
        return order[first[partition.root]]

    def _suffices(self) -> np.ndarray:
        """Whether a node's own request, with the kernels of its group, leads to the device that it has."""
        placed = self.placed
        assert placed.partition is not None
        names, members = self.names, placed.partition.members
        code = placed.partition.member * len(names) + self.graph.device
        codes, place = np.unique(code, return_inverse=True)
        first = []
        for member, request in (divmod(value, len(names)) for value in codes.tolist()):
            name = names[request]
            found = () if name == ANY else placed.chooser.matching(name, members[member].supported)
            first.append(found[0] if found else NOWHERE)
        return self.asks & (np.array(first, dtype=np.int64)[place] == placed.devices)

    def _makes_state(self) -> np.ndarray:
        return np.array([fact.makes_state for fact in self.placed.facts], dtype=bool)[self.graph.signature]

    def _lacks(self) -> np.ndarray:
        """Whether a node has no kernel for a device type whose lack settles the device of its group."""
        placed = self.placed
        assert placed.partition is not None
        lacking = [set(lacking_types(placed, member)) for member in placed.partition.members]
        return self._by_member(
            lambda member, signature: bool(lacking[member] - dict(placed.facts[signature].supported).keys())
        )

    def _prefers(self) -> np.ndarray:
        """Whether the kernel for the device type that a node's group got has a priority."""
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

    def _by_member(self, tell: Callable[[int, int], bool]) -> np.ndarray:
        """What is told of each group's constraints and a node's signature, once per pair."""
        placed = self.placed
        assert placed.partition is not None
        code = placed.partition.member * len(placed.facts) + self.graph.signature
        codes, place = np.unique(code, return_inverse=True)
        told = [tell(*divmod(value, len(placed.facts))) for value in codes.tolist()]
        return np.array(told, dtype=bool)[place]


def _rule_of_member(placed: Placed, member: Member) -> Rule:
    """The rule as far as a group's constraints tell it."""
    found = placed.chooser.candidates(member)
    devices = placed.device_set.devices
    if not found.devices:
        return Rule.FAILED
    if member.assigned != ANY:
        return Rule.ASSIGNED
    if found.level in (SOFT, SOFT_RESOURCE):
        return Rule.SOFT_PLACEMENT if found.level == SOFT else Rule.SOFT_RESOURCE
    if member.requested != ANY:
        return Rule.REQUEST
    if lacking_types(placed, member):
        return Rule.KERNEL
    if len(found.devices) > 1 and devices[found.first].name == placed.chooser.default_local_device:
        return Rule.DEFAULT_DEVICE
    kinds = {devices[device].device_type for device in found.devices}
    priority = dict(member.supported)
    if len({priority[kind] for kind in kinds}) > 1:
        return Rule.KERNEL_PRIORITY
    if len(kinds) > 1:
        return Rule.TYPE_PRIORITY
    return Rule.NAME_ORDER if len(found.devices) > 1 else Rule.ONLY_DEVICE
