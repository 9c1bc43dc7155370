"""Why a node has another device in another placement: the difference between the two that moves it.

Each check asks for one difference, and the first that there is counts: a device that only one machine has, soft
placement, devices that nodes came with, lists that stay on the host, kernels, the node followed, requests, kernel
priorities, the default device::

    2 GPUs -> 1 GPU          x: missing device, "asks for '/gpu:1'"       c, which feeds x: missing device, "follows x"
    1.15 -> 2.21             x: kernel, "no GPU kernel for Equal with T=bfloat16 in 1.15"

What concerns a whole group is worked out once per group.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpuplace.device.parsed_name import ANY
from gpuplace.placer.candidates import FULL, SOFT
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.outline import GENERATOR, IDENTITY, METADATA
from gpuplace.why.kernel_text import missing_kernel
from gpuplace.why.rules import Rule
from gpuplace.why.ties import RULE_OF_BINDING, bindings_between, name_text

if TYPE_CHECKING:
    from gpuplace.placer.member import Member
    from gpuplace.why.placement import Placement

RULE_OF_DECISION = {METADATA: Rule.METADATA, IDENTITY: Rule.IDENTITY, GENERATOR: Rule.GENERATOR}


class Side:
    """One of the two placements, with what is known of its groups."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self.graph = placement.graph
        self._groups: dict[int, list[int]] = {}
        self._own_asks: dict[tuple[int, int], bool] = {}
        self._reader_of: dict[int, int] = {}
        for cause in placement.host_causes:
            self._reader_of.setdefault(self.root(cause), cause)

    def root(self, node: int) -> int:
        """A node that stands for the group."""
        partition = self.placement.partition
        return node if partition is None else int(partition.root[node])

    def group(self, node: int) -> list[int]:
        """The nodes of a node's group."""
        root = self.root(node)
        if root not in self._groups:
            self._groups[root] = self.placement.group_of(node)
        return self._groups[root]

    def names(self, node: int) -> list[str]:
        """Their names."""
        return [self.graph.names[member] for member in self.group(node)]

    def member(self, node: int) -> Member:
        """Constraints of the group."""
        return self.placement.constraints(node)

    def type(self, node: int) -> str:
        """Type of the node's device, "" without one."""
        device = int(self.placement.devices[node])
        return "" if device == NOWHERE else self.placement.device_set.devices[device].device_type

    def device(self, node: int) -> str:
        """Full name of the node's device, "" without one."""
        device = int(self.placement.devices[node])
        return "" if device == NOWHERE else self.placement.device_set.names[device]

    def level(self, node: int) -> str:
        """How the candidates of the group were found; `FULL` where it has none."""
        found = self.placement.chooser.candidates(self.member(node))
        return found.level if found.devices else FULL

    def following(self, node: int) -> Rule | None:
        """The rule by which the group follows another node."""
        decisions = self.placement.decisions
        return None if decisions is None else RULE_OF_DECISION.get(int(decisions.how[node]))

    def leader(self, node: int) -> str:
        """Name of the node that the group, a following one, goes to."""
        graph, decisions = self.graph, self.placement.decisions
        assert decisions is not None
        decider = int(decisions.decider[self.root(node)])
        if int(decisions.how[node]) == GENERATOR:
            return graph.names[graph.dst[graph.out_edges(decider)[0]]]
        return graph.names[graph.src[graph.in_edges(decider)[0]]]

    def reader(self, node: int) -> str:
        """The member of the group that keeps it on the host; "" for none."""
        found = self._reader_of.get(self.root(node))
        return "" if found is None else self.graph.names[found]

    def reason(self, node: int) -> str:
        """Why the node is on just its device; "" where nobody asked for it."""
        return f"follows {self.leader(node)}" if self.following(node) else self.request(node)

    def request(self, node: int) -> str:
        """`asks for '/gpu:1'`, or who in the group asks: `v, tied to it, asks for '/gpu:1'`; "" for nobody."""
        requested = self.member(node).requested
        if requested == ANY or self.placement.single is None:
            return ""
        if self.asks(node):
            return f"asks for '{self.graph.requested_device(node) or name_text(requested)}'"
        asker = self._first_asker.get(self.root(node))
        if asker is None:
            return f"asks for '{name_text(requested)}'"
        asked = self.graph.requested_device(asker) or name_text(requested)
        return f"{self.graph.names[asker]}, tied to it, asks for '{asked}'"

    def asks(self, node: int) -> bool:
        """Whether the node itself asks for what its group asks for."""
        placement = self.placement
        assert placement.single is not None
        if placement.partition is None or node in placement.single.assigned:
            return self._asks(node)
        key = int(placement.partition.member[node]), int(self.graph.device[node])
        if key not in self._own_asks:
            self._own_asks[key] = self._asks(node)
        return self._own_asks[key]

    def _asks(self, node: int) -> bool:
        assert self.placement.single is not None
        own = self.placement.single(node).requested
        return own != ANY and own.is_compatible(self.member(node).requested)

    @cached_property
    def _first_asker(self) -> dict[int, int]:
        """Root -> the first member of the group, in graph order, that asks for what the group asks for."""
        placement, graph = self.placement, self.graph
        if placement.partition is None or placement.single is None:
            return {}
        code = placement.partition.member.astype(np.int64) * len(graph.devices) + graph.device
        _, first, kind = np.unique(code, return_index=True, return_inverse=True)
        is_asker = np.array([self.asks(node) for node in first.tolist()], dtype=bool)[kind]
        for node in placement.single.assigned:
            is_asker[node] = self.asks(node)
        askers = graph.order[is_asker[graph.order]]
        roots, place = np.unique(placement.partition.root[askers], return_index=True)
        return dict(zip(roots.tolist(), askers[place].tolist(), strict=True))

    def lacks(self, node: int, kind: str) -> list[int]:
        """The members of the group without a kernel for a device type."""
        return [n for n in self.group(node) if kind not in dict(self.placement.facts_of(n).supported)]

    def has_kernel(self, name: str, kind: str) -> bool:
        """Whether a node has a kernel for a device type."""
        index = self.graph.index.get(name)
        return index is not None and kind in dict(self.placement.facts_of(index).supported)


class Comparer:
    """Finds the causes of moves between two placements."""

    def __init__(self, before: Placement, after: Placement) -> None:
        self.before, self.after = Side(before), Side(after)
        self._kernels_of: dict[tuple[int, int, str, str], tuple[Rule, str] | None] = {}
        self._requests_of: dict[tuple[int, int], tuple[Rule, str] | None] = {}

    def cause(self, old: int, new: int) -> tuple[Rule, str] | None:
        """The difference that moves a node, and in words what it is about; None where none was found.

        Args:
            old, new: the node's position in either graph.
        """
        checks = [
            self._machine,
            self._soft,
            self._assigned,
            self._host_data,
            self._kernels,
            self._followed,
            self._own_request,
            self._requests,
            self._priorities,
            self._default_device,
        ]
        if self.before.placement.soft == self.after.placement.soft:
            # What soft placement does then follows from something else.
            checks.append(checks.pop(1))
        return next((found for check in checks if (found := check(old, new)) is not None), None)

    def _machine(self, old: int, new: int) -> tuple[Rule, str] | None:
        before, after = self.before.placement.device_set, self.after.placement.device_set
        device = self.before.device(old)
        if device and device not in after:
            return Rule.MISSING_DEVICE, self.before.reason(old)
        device = self.after.device(new)
        if device and device not in before:
            return Rule.NEW_DEVICE, self.after.reason(new)
        return None

    def _soft(self, old: int, new: int) -> tuple[Rule, str] | None:
        levels = self.before.level(old), self.after.level(new)
        if levels[0] == levels[1]:
            return None
        if levels[1] != FULL:
            level, note = levels[1], self.after.request(new)
        else:
            level, note = levels[0], self.before.request(old)
            note += "" if self.after.placement.soft else ", and soft placement is off"
        return Rule.SOFT_PLACEMENT if level == SOFT else Rule.SOFT_RESOURCE, note

    def _assigned(self, old: int, new: int) -> tuple[Rule, str] | None:
        given = self.after.member(new).assigned
        if self.before.member(old).assigned == given:
            return None
        return Rule.ASSIGNED, f"came with {given.to_string()}" if given != ANY else "came without a device"

    def _host_data(self, old: int, new: int) -> tuple[Rule, str] | None:
        readers = self.before.reader(old), self.after.reader(new)
        if bool(readers[0]) == bool(readers[1]):
            return None
        return Rule.HOST_DATA, f"{readers[0] or readers[1]} reads a list of strings or handles"

    def _kernels(self, old: int, new: int) -> tuple[Rule, str] | None:
        types = self.before.type(old), self.after.type(new)
        kinds = tuple(
            dict(side.member(node).supported).keys() for side, node in ((self.before, old), (self.after, new))
        )
        if types[1] in {*kinds[0], ""} and types[0] in {*kinds[1], ""}:
            return None
        for side, node, other, kind in (
            (self.before, old, self.after, types[1]),
            (self.after, new, self.before, types[0]),
        ):
            # A node's own kernel first, then those of its group.
            names, release = side.graph.names, side.placement.placer.rules
            if not kind or kind in dict(side.member(node).supported):
                continue
            facts = side.placement.facts_of(node)
            if kind not in dict(facts.supported):
                text = missing_kernel(side.placement, facts, kind)
                if text and other.has_kernel(names[node], kind):
                    return Rule.KERNEL, f"{text.partition(';')[0]} in {release}"
            key = (self.before.root(old), self.after.root(new), kind, release)
            if key not in self._kernels_of:
                self._kernels_of[key] = self._kernels_of_group(side, node, other, kind)
            if self._kernels_of[key] is not None:
                return self._kernels_of[key]
        return None

    @staticmethod
    def _kernels_of_group(side: Side, node: int, other: Side, kind: str) -> tuple[Rule, str] | None:
        """The member of one side's group that has no kernel for a device type."""
        names, lacking = side.graph.names, side.lacks(node, kind)
        if not lacking:
            return None
        first = next((n for n in lacking if other.has_kernel(names[n], kind)), None)
        if first is None:
            return Rule.GROUP, f"tied to {names[lacking[0]]}, which has no {kind} kernel"
        text = missing_kernel(side.placement, side.placement.facts_of(first), kind) or f"no {kind} kernel"
        return (
            Rule.KERNEL,
            f"{names[first]}, tied to it: {text.partition(';')[0]} in {side.placement.placer.rules}",
        )

    def _followed(self, old: int, new: int) -> tuple[Rule, str] | None:
        rules = self.before.following(old), self.after.following(new)
        if rules[1] is not None:
            leader = self.after.leader(new)
            if rules[0] is None or self.before.placement.get(leader) != self.after.placement.get(leader):
                return rules[1], f"follows {leader}"
        elif rules[0] is not None:
            return rules[0], f"no longer follows {self.before.leader(old)}"
        return None

    def _own_request(self, old: int, new: int) -> tuple[Rule, str] | None:
        own = self.before.graph.requested_device(old), self.after.graph.requested_device(new)
        if own[0] == own[1]:
            return None
        asked = f"asks for '{own[1]}'" if own[1] else "asks for no device"
        return Rule.REQUEST, f"{asked}, no longer for '{own[0]}'" if own[0] else f"{asked}, before for none"

    def _requests(self, old: int, new: int) -> tuple[Rule, str] | None:
        if self.before.member(old).requested == self.after.member(new).requested:
            return None
        key = self.before.root(old), self.after.root(new)
        if key not in self._requests_of:
            self._requests_of[key] = self._requests_of_group(old, new)
        return self._requests_of[key]

    def _requests_of_group(self, old: int, new: int) -> tuple[Rule, str]:
        """Why a group asks for something else than before."""
        merged = self.after.member(new).requested
        kept = f"'{name_text(merged)}'" if merged != ANY else "no device"
        is_soft = self.before.placement.soft != self.after.placement.soft
        names = self.before.names(old), self.after.names(new)
        here, there = map(set, names)
        other = next((name for name in names[1] if name not in here), None)
        if other is not None:
            binding = bindings_between(self.after.placement, new, self.after.graph.index[other])[0]
            rule = Rule.REQUESTS_DROPPED if is_soft else RULE_OF_BINDING[binding]
            return rule, f"tied to {other}: they ask for {kept}"
        other = next((name for name in names[0] if name not in there), None)
        if other is not None:
            binding = bindings_between(self.before.placement, old, self.before.graph.index[other])[0]
            rule = Rule.REQUESTS_DROPPED if is_soft else RULE_OF_BINDING[binding]
            return rule, f"no longer tied to {other}: asks for {kept}"
        for name in names[1]:
            asked = self.after.graph.requested_device(self.after.graph.index[name])
            if asked != self.before.graph.requested_device(self.before.graph.index[name]):
                wish = f"'{asked}'" if asked else "no device"
                return Rule.GROUP, f"{name}, tied to it, asks for {wish}"
        rule = Rule.REQUESTS_DROPPED if is_soft else Rule.YIELDS_TO_SOURCE
        return rule, f"its group asks for {kept}"

    def _priorities(self, old: int, new: int) -> tuple[Rule, str] | None:
        here, there = dict(self.before.member(old).supported), dict(self.after.member(new).supported)
        if all(here[kind] == there[kind] for kind in here.keys() & there.keys()):
            return None
        return Rule.KERNEL_PRIORITY, ""

    def _default_device(self, old: int, new: int) -> tuple[Rule, str] | None:
        given = [side.placement.chooser.default_local_device for side in (self.before, self.after)]
        return None if given[0] == given[1] else (Rule.DEFAULT_DEVICE, "")
