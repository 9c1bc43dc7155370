"""Why a node is where it is: every rule that acted on it, in order, with the devices left before and after.

Nothing is kept for this while placing. The merges of the node's group are replayed with a listener, and the rest
follows from the group's constraints and from how the group was decided.

    MatMul_1 (MatMul) -> /job:localhost/replica:0/task:0/device:GPU:0
      requested by  nobody
      steps         kernel         CPU:0 GPU:0 -> CPU:0 GPU:0  kernels for MatMul with T=float: GPU, CPU
                    type priority  CPU:0 GPU:0 -> GPU:0        GPU comes before CPU
      for CPU       ask for '/device:CPU:0'
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpuplace.device.parsed_name import ANY
from gpuplace.placer.candidates import SOFT, SOFT_RESOURCE
from gpuplace.placer.decide import GENERATOR, IDENTITY, METADATA, NOWHERE
from gpuplace.placer.grouping import Binding, Grouping, Merge
from gpuplace.placer.host_data import what_is_read
from gpuplace.placer.member import Member
from gpuplace.placer.messages import error_of
from gpuplace.placer.remedy import kernel_note, remedies
from gpuplace.placer.rules import Rule

if TYPE_CHECKING:
    from gpuplace.placer.placement import Placement

_SHOWN_GROUP = 8
_SHOWN_DEVICES = 6

_RULE_OF_BINDING = {
    Binding.REFERENCE: Rule.REFERENCE_EDGE,
    Binding.RESOURCE: Rule.RESOURCE_EDGE,
    Binding.DATASET: Rule.DATASET_EDGE,
    Binding.COLOCATION: Rule.COLOCATION,
}
_RULE_OF_DECISION = {METADATA: Rule.METADATA, IDENTITY: Rule.IDENTITY, GENERATOR: Rule.GENERATOR}


@dataclass(frozen=True)
class Step:
    """One rule that acted."""

    rule: Rule
    before: tuple[str, ...]
    """Devices left before it, by local name (`GPU:0`), or full names where the machine has several tasks."""
    after: tuple[str, ...]
    """Devices left after it."""
    cause: str | None
    """The node that made the rule apply, where it is another one."""
    note: str
    """What happened, in words."""


@dataclass(frozen=True)
class Explanation:
    """Why a node has its device."""

    node: str
    op_type: str
    device: str
    """Full name; "" where the node could not be placed."""
    requested: str
    """Device that the program asked for, as written; "" for none."""
    source: str | None
    """`file:line` that made the node."""
    group: tuple[str, ...]
    """The nodes that share its device by necessity, itself included."""
    decided_by: str
    """The member of the group that was visited first, and so got the device for all."""
    rule: Rule
    """The rule that settled it."""
    steps: tuple[Step, ...]
    remedy: tuple[tuple[str, str], ...]
    """For each other device type: what would have to change."""
    made_from: str | None = None
    """For a node that TensorFlow adds before placing: the node and the functions that it comes from."""

    def __str__(self) -> str:
        rows = [("requested by", self._request_text())]
        if self.made_from:
            rows.append(("made from", self.made_from))
        if len(self.group) > 1:
            others = [name for name in self.group if name != self.node]
            more = f", and {len(others) - _SHOWN_GROUP} more" if len(others) > _SHOWN_GROUP else ""
            rows.append(("group", f"with {', '.join(others[:_SHOWN_GROUP])}{more}"))
            rows.append(("decided by", "itself" if self.decided_by == self.node else self.decided_by))
        rows.append(("steps", "\n".join(self._step_lines())))
        rows += [(f"for {kind}", text) for kind, text in self.remedy]
        width = max(len(label) for label, _ in rows) + 2
        indent = "\n" + " " * (width + 2)
        lines = [f"{self.node} ({self.op_type}) -> {self.device or 'no device'}"]
        lines += [f"  {label:<{width}}{text.replace(chr(10), indent)}" for label, text in rows]
        return "\n".join(lines)

    def _request_text(self) -> str:
        where = f", {self.source}" if self.source else ""
        return f"'{self.requested}'{where}" if self.requested else f"nobody{where}"

    def _step_lines(self) -> Iterator[str]:
        table = [
            (step.rule.value, f"{_devices_text(step.before)} -> {_devices_text(step.after)}", step.note)
            for step in self.steps
        ]
        first = max(len(row[0]) for row in table) + 2
        second = max(len(row[1]) for row in table) + 2
        for rule, devices, note in table:
            yield f"{rule:<{first}}{devices:<{second}}{note}"


def _devices_text(devices: tuple[str, ...]) -> str:
    if len(devices) > _SHOWN_DEVICES:
        return f"{' '.join(devices[: _SHOWN_DEVICES - 1])} ... ({len(devices)})"
    return " ".join(devices) or "none"


def explain(placement: Placement, name: str) -> Explanation:
    """The explanation of one node; KeyError for a name that is not in the graph."""
    return _Explainer(placement, placement.graph.index[name]).explanation()


class _Explainer:
    """Collects the steps of one node."""

    def __init__(self, placement: Placement, node: int) -> None:
        self.placement = placement
        self.graph = placement.graph
        self.node = node
        self.name = placement.graph.names[node]
        self.fact = placement.facts_of(node)
        self.labels = placement.device_labels
        self.steps: list[Step] = []
        self.left = tuple(range(len(self.labels)))

    def explanation(self) -> Explanation:
        placement, graph, node = self.placement, self.graph, self.node
        device = int(placement.devices[node])
        group = placement.group_of(node)
        decider = self._decider()
        self._kernel_step()
        if placement.partition is not None and placement.single is not None:
            self._request_step()
            self._merge_steps()
            self._host_step(group)
            self._choice_steps(decider, device)
        if device == NOWHERE:
            self._add(Rule.FAILED, (), None, self._failure_note())
        return Explanation(
            node=self.name,
            op_type=graph.op_type(node),
            device=placement.get(self.name, ""),
            requested=graph.requested_device(node),
            source=graph.source_line(node) if graph.source_line is not None else None,
            group=tuple(graph.names[member] for member in group),
            decided_by=graph.names[decider],
            rule=self.steps[-1].rule,
            steps=tuple(self.steps),
            remedy=tuple(remedies(placement, node, decider)),
            made_from=graph.origin(node) if graph.origin is not None else None,
        )

    def _decider(self) -> int:
        groups, decisions = self.placement.partition, self.placement.decisions
        if groups is None or decisions is None:
            return self.node
        return int(decisions.decider[groups.root[self.node]])

    def _add(self, rule: Rule, after: tuple[int, ...], cause: int | None, note: str) -> None:
        before = tuple(self.labels[i] for i in sorted(self.left))
        self.left = after
        name = None if cause is None or cause == self.node else self.graph.names[cause]
        self.steps.append(Step(rule, before, tuple(self.labels[i] for i in sorted(after)), name, note))

    def _candidates(self, member: Member) -> tuple[int, ...]:
        return self.placement.chooser.candidates(member).devices

    def _kernel_step(self) -> None:
        usable = self.placement.chooser.matching(ANY, self.fact.supported)
        self._add(Rule.KERNEL, usable, None, kernel_note(self.placement, self.node))

    def _request_step(self) -> None:
        placement, node = self.placement, self.node
        given = placement.assigned.get(node)
        request = self.graph.requested_device(node)
        assert placement.single is not None
        member = placement.single(node)
        if given is not None:
            self._add(Rule.ASSIGNED, self._candidates(member), None, f"came with {given}")
        elif request:
            exact = placement.chooser.matching(member.requested, member.supported)
            note = f"asked for '{request}'"
            if placement.placer.parsed[self.graph.device[node]] is None:
                note = f"'{request}' is no device name"
            elif not exact:
                exists = placement.device_set.matching(member.requested)
                note += ", which has no kernel for it" if exists else ", which the machine does not have"
            self._add(Rule.REQUEST, exact, None, note)

    def _merge_steps(self) -> None:
        placement = self.placement
        bindings = placement.placer.bindings
        pairs = bindings.pairs_of(int(bindings.component[self.node]))
        if not len(pairs):
            return
        assert placement.single is not None
        listener = _MergeListener(self)
        grouping = Grouping(
            placement.single,
            placement.device_set.type_priority,
            soft=placement.soft,
            rules=placement.placer.rules,
            record=listener.hear,
        )
        bindings.replay(grouping, pairs, placement.soft, lambda conflict: None)

    def _host_step(self, group: list[int]) -> None:
        causes = [node for node in self.placement.host_causes if node in group]
        if causes:
            after = tuple(i for i in self.left if self.placement.device_set.devices[i].device_type == "CPU")
            self._add(
                Rule.HOST_DATA,
                after,
                causes[0],
                f"{self.graph.names[causes[0]]} {what_is_read(self.graph.op_type(causes[0]))}",
            )

    def _choice_steps(self, decider: int, device: int) -> None:
        placement = self.placement
        member = placement.constraints(self.node)
        found = placement.chooser.candidates(member)
        asked = member.requested.to_string()
        if found.level == SOFT:
            name = found.name.to_string() or "any device"
            self._add(Rule.SOFT_PLACEMENT, found.devices, None, f"instead of '{asked}': {name}")
        elif found.level == SOFT_RESOURCE:
            name = found.name.to_string() or "any device"
            self._add(
                Rule.SOFT_RESOURCE,
                found.devices,
                None,
                f"instead of '{asked}': {name}, though a resource asked for it",
            )
        elif set(found.devices) != set(self.left):
            self._add(Rule.GROUP, found.devices, None, "what is left for the whole group")
        if device == NOWHERE:
            return
        assert placement.partition is not None and placement.decisions is not None
        how = int(placement.decisions.how[placement.partition.root[self.node]])
        if decider != self.node:
            note = f"{self.graph.names[decider]} is visited first and decides for the group"
            if how in _RULE_OF_DECISION:
                note += f", by the rule '{_RULE_OF_DECISION[how].value}'"
            self._add(Rule.GROUP, (device,), decider, note)
        elif how in _RULE_OF_DECISION:
            cause = self._followed(how)
            verb = "all its consumers are" if how == GENERATOR else "its input is"
            self._add(
                _RULE_OF_DECISION[how],
                (device,),
                cause,
                f"{verb} on {self.labels[device]}: {self.graph.names[cause]}",
            )
        else:
            self._preference_steps(member, device)

    def _followed(self, how: int) -> int:
        graph = self.graph
        if how == GENERATOR:
            return int(graph.dst[graph.out_edges(self.node)[0]])
        return int(graph.src[graph.in_edges(self.node)[0]])

    def _preference_steps(self, member: Member, device: int) -> None:
        placement, devices = self.placement, self.placement.device_set.devices
        chosen = devices[device]
        if len(self.left) > 1 and placement.chooser.default_local_device == chosen.name:
            self._add(Rule.DEFAULT_DEVICE, (device,), None, "the caller's default device")
        priority = dict(member.supported)
        best = tuple(i for i in self.left if priority[devices[i].device_type] == priority[chosen.device_type])
        if len(best) < len(self.left):
            number = priority[chosen.device_type]
            self._add(
                Rule.KERNEL_PRIORITY, best, None, f"its {chosen.device_type} kernel has priority {number}"
            )
        same = tuple(i for i in self.left if devices[i].device_type == chosen.device_type)
        if len(same) < len(self.left):
            others = sorted({devices[i].device_type for i in self.left} - {chosen.device_type})
            self._add(
                Rule.TYPE_PRIORITY, same, None, f"{chosen.device_type} comes before {', '.join(others)}"
            )
        if len(self.left) > 1:
            self._add(Rule.NAME_ORDER, (device,), None, "the first by name")

    def _failure_note(self) -> str:
        faults = self.placement.faults
        mine = next(
            (fault for fault in faults if self.node in _nodes_of(fault)), faults[0] if faults else None
        )
        return "nothing is left" if mine is None else error_of(self.placement, mine).message.split("\n")[0]


def _nodes_of(fault: object) -> tuple[int, ...]:
    group: tuple[int, ...] = getattr(fault, "group", ())
    node = getattr(fault, "node", None)
    return group if node is None else (*group, node)


class _MergeListener:
    """Turns the merges that touch one node's group into steps."""

    def __init__(self, explainer: _Explainer) -> None:
        self.explainer = explainer
        self.parts: dict[int, set[int]] = {}

    def _part(self, node: int) -> set[int]:
        return self.parts.setdefault(node, {node})

    def hear(self, merge: Merge) -> None:
        """Called after each attempt to merge."""
        first, second = self._part(merge.first), self._part(merge.second)
        node = self.explainer.node
        if merge.after is not None:
            joined = first | second
            for member in joined:
                self.parts[member] = joined
        if node in first:
            self._step(merge, merge.before_first, merge.before_second, merge.second, is_consumer=False)
        elif node in second:
            self._step(merge, merge.before_second, merge.before_first, merge.first, is_consumer=True)

    def _step(self, merge: Merge, mine: Member, theirs: Member, other: int, *, is_consumer: bool) -> None:
        explainer = self.explainer
        names = explainer.graph.names
        rule = _RULE_OF_BINDING[merge.binding]
        text = f"{merge.binding.value} {names[merge.first]} -> {names[merge.second]}"
        if merge.binding is Binding.COLOCATION:
            text = f"{names[merge.first]} is colocated with {names[merge.second]}"
        if merge.after is None:
            ignored = merge.binding is Binding.COLOCATION and explainer.placement.soft
            failed = Rule.COLOCATION_IGNORED if ignored else Rule.CONFLICT
            reason = (merge.conflict or "").removeprefix("because ")
            explainer._add(failed, explainer.left, other, f"{text}, but {reason}")
            return
        after = explainer._candidates(merge.after)
        if merge.yielded:
            rule = Rule.YIELDS_TO_SOURCE
            loser = names[merge.second]
            winner = (theirs if is_consumer else mine).requested.to_string()
            text = f"{text}: the request of {loser} yields to '{winner}'"
        elif (
            explainer.placement.soft
            and mine.requested != ANY
            and theirs.requested != ANY
            and not mine.requested.is_compatible(theirs.requested)
        ):
            rule = Rule.REQUESTS_DROPPED
            text = f"{text}: '{mine.requested.to_string()}' and '{theirs.requested.to_string()}' differ"
        changed = replace(merge.after, supported=()) != replace(mine, supported=())
        if set(after) != set(explainer.left) or (changed and rule is not _RULE_OF_BINDING[merge.binding]):
            lacking = sorted(
                {kind for kind, _ in mine.supported} - {kind for kind, _ in merge.after.supported}
            )
            if lacking:
                text += f", which has no {' or '.join(lacking)} kernel"
            elif theirs.requested != ANY and rule is _RULE_OF_BINDING[merge.binding]:
                text += f", which asks for '{theirs.requested.to_string()}'"
            explainer._add(rule, tuple(np.array(after, dtype=int).tolist()), other, text)
