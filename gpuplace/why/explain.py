"""Why a node has its device: its verdict, and every rule that acted on it, in order, with the devices left.

Placing records none of this. The merges of the node's group are replayed with a listener; the remaining steps follow
from the verdict, the group's constraints and the way the group was decided.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpuplace.device.parsed_name import ANY, ParsedName
from gpuplace.placer.candidates import FULL, SOFT, SOFT_RESOURCE
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.grouping import Binding, Merge
from gpuplace.placer.host_data import what_is_read
from gpuplace.placer.member import Member
from gpuplace.placer.outline import GENERATOR, is_passing
from gpuplace.placer.placed import Placed
from gpuplace.why.explanation import Explanation, Step
from gpuplace.why.kernel_text import kernel_note
from gpuplace.why.remedy import listed_nodes, remedies
from gpuplace.why.rules import FOLLOWING, Rule
from gpuplace.why.sentences import fault_sentence, limit_text, sentences_of
from gpuplace.why.ties import RULE_OF_BINDING, name_text, tie_text, ties_between
from gpuplace.why.verdict import RULE_OF_DECISION, limits_inside, verdicts_of
from gpuplace.why.what_if import anyway, regroup


def explain(placement: Placed, node: int) -> Explanation:
    """Explain the device of one node."""
    return _Explainer(placement, node).explanation()


class _Explainer:
    """Collects the steps of one node's explanation."""

    def __init__(self, placement: Placed, node: int) -> None:
        self.placement = placement
        self.graph = placement.graph
        self.node = node
        self.name = placement.graph.names[node]
        self.fact = placement.facts_of(node)
        self.labels = placement.device_labels
        self.steps: list[Step] = []
        self.left = tuple(range(len(self.labels)))

    def explanation(self) -> Explanation:
        """Build the explanation."""
        placement, graph, node = self.placement, self.graph, self.node
        device = int(placement.devices[node])
        verdicts = verdicts_of(placement)
        rule, culprit = verdicts.rule_of(node), int(verdicts.culprit[node])
        first = placement.first_visited(node)
        because = sentences_of(placement)(node)
        self._kernel_step()
        if placement.partition is not None and placement.single is not None:
            self._request_step()
            self._merge_steps()
            self._call_step()
            self._host_step(rule, culprit)
            self._choice_steps(first, culprit, device)
        if device == NOWHERE:
            self._add(Rule.FAILED, (), None, because)
        return Explanation(
            node=self.name,
            op_type=graph.op_type(node),
            device=placement.device_of(node),
            requested=graph.requested_device(node),
            source=graph.source_line(node) if graph.source_line is not None else None,
            group=tuple(graph.names[member] for member in placement.group_of(node)),
            rule=rule,
            decided_by=graph.names[culprit],
            because=because,
            held_by=anyway(placement, node),
            steps=tuple(self.steps),
            remedies=tuple(remedies(placement, node)),
            made_from=graph.origin(node) if graph.origin is not None else None,
            ties=ties_between(placement, node, first if rule in FOLLOWING or culprit == node else culprit),
            refused=self._refusal() if device != NOWHERE else None,
        )

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
        assigned_device = placement.assigned.get(node)
        request = self.graph.requested_device(node)
        assert placement.single is not None
        member = placement.single(node)
        if assigned_device is not None:
            self._add(
                Rule.ASSIGNED, self._candidates(member), None, f"was assigned to {assigned_device} before"
            )
        elif request:
            exact = placement.chooser.matching(member.requested, member.supported)
            note = f"asked for '{request}'"
            if placement.placer.parsed[self.graph.device[node]] is None:
                note = f"'{request}' is not a device name and is ignored"
            elif not exact:
                exists = placement.device_set.matching(member.requested)
                note += ", which has no kernel for it" if exists else ", which the machine does not have"
                device_type = member.requested.type or ""
                if device_type != device_type.upper() and device_type.upper() in dict(
                    placement.device_set.prioritized_types()
                ):
                    note += ": device types are written in upper case"
            self._add(Rule.REQUEST, exact, None, note)

    def _merge_steps(self) -> None:
        placement = self.placement
        bindings = placement.placer.bindings
        component = int(bindings.component[self.node])
        self._broken_chain_step()
        if len(bindings.nodes_of(component)) == 1:
            return
        assert placement.single is not None
        regroup(placement, component, placement.single, _MergeListener(self).record)

    def _broken_chain_step(self) -> None:
        """Add a step for a colocation that 1.15 does not follow.

        1.15 ties a node to the group that it names, but not to a node of that name which itself names another group.
        """
        graph, node = self.graph, self.node
        if self.placement.placer.rules != "1.15":
            return
        for name in graph.colocation(node):
            named = graph.index.get(name)
            if (
                named is not None
                and named != node
                and name not in graph.colocation(named)
                and graph.colocation(named)
            ):
                note = (
                    f"{self.name} names {name}, which itself names another node: 1.15 does not colocate them"
                )
                self._add(Rule.COLOCATION, self.left, named, note)

    def _call_step(self) -> None:
        """Add the constraints inside called functions that return resources."""
        placement = self.placement
        for call, member in limits_inside(placement, self.node):
            devices = tuple(
                device
                for device in placement.chooser.matching(member.requested, member.supported)
                if device in self.left
            )
            if set(devices) != set(self.left):
                note = f"the function that {self.graph.names[call]} calls is limited to {limit_text(member)} inside"
                self._add(Rule.RESOURCE_EDGE, devices, call, note)

    def _host_step(self, rule: Rule, culprit: int) -> None:
        causes = [culprit] if rule is Rule.HOST_DATA else []
        causes += [node for node in self.placement.host_causes if node in self.placement.group_of(self.node)]
        if causes:
            devices = self.placement.device_set.devices
            self._add(
                Rule.HOST_DATA,
                tuple(i for i in self.left if devices[i].device_type == "CPU"),
                causes[0],
                f"{self.graph.names[causes[0]]} {what_is_read(self.graph.op_type(causes[0]))}",
            )

    def _choice_steps(self, decider: int, culprit: int, device: int) -> None:
        placement = self.placement
        member = placement.constraints(self.node)
        candidates = placement.chooser.candidates(member)
        request, substitute = name_text(member.requested), name_text(candidates.name)
        instead = f"'{substitute}'" if substitute else "any device"
        if candidates.level != FULL and not candidates.devices:
            self._add(
                Rule.SOFT_PLACEMENT,
                (),
                None,
                f"no device matches '{substitute}' either" if substitute else "no device",
            )
        elif candidates.level == SOFT:
            note = f"instead of '{request}': {instead}"
            self._add(Rule.SOFT_PLACEMENT, candidates.devices, None, note)
        elif candidates.level == SOFT_RESOURCE:
            note = f"instead of '{request}': {instead}, although {self._resources()} asked for it"
            self._add(Rule.SOFT_RESOURCE, candidates.devices, None, note)
        elif set(candidates.devices) != set(self.left):
            self._add(Rule.GROUP, candidates.devices, None, "the devices left for the whole group")
        if device == NOWHERE:
            return
        assert placement.partition is not None and placement.decisions is not None
        if decider != self.node and len(self.left) > 1:
            note = f"{self.graph.names[decider]} is visited first and determines the group's device"
            self._add(Rule.GROUP, self.left, decider, note)
        how = int(placement.decisions.how[self.node])
        if how in RULE_OF_DECISION and len(self.left) > 1:
            self._follow_step(decider, culprit, how, device)
        else:
            self._preference_steps(member, decider, device)

    def _resources(self) -> str:
        """List the group members whose request is binding because they create a variable or a handle."""
        placement = self.placement
        group = placement.group_of(self.node)
        return listed_nodes(
            self.graph, [n for n in group if placement.facts_of(n).makes_state and self.graph.device[n]]
        )

    def _follow_step(self, decider: int, culprit: int, how: int, device: int) -> None:
        graph, label = self.graph, self.labels[device]
        whose = "its" if decider == self.node else f"{graph.names[decider]}'s"
        if how == GENERATOR:
            consumers = self._consumers(decider)
            note = f"all {whose} consumers are on {label}: {listed_nodes(self.graph, consumers)}"
        else:
            note = f"{whose} input is on {label}: {graph.names[culprit]}"
        self._add(RULE_OF_DECISION[how], (device,), culprit, note)

    def _consumers(self, node: int) -> list[int]:
        return list(dict.fromkeys(int(self.graph.dst[edge]) for edge in self.graph.out_edges(node)))

    def _preference_steps(self, member: Member, decider: int, device: int) -> None:
        placement, devices = self.placement, self.placement.device_set.devices
        chosen = devices[device]
        why = self._why_not_following(decider)
        if len(self.left) > 1 and placement.chooser.default_local_device == chosen.name:
            self._add(Rule.DEFAULT_DEVICE, (device,), None, f"the caller's default device{why}")
        priority = dict(member.supported)
        number = priority[chosen.device_type]
        best = tuple(i for i in self.left if priority[devices[i].device_type] == number)
        if len(best) < len(self.left):
            alone = len(placement.group_of(self.node)) == 1
            whose = "its {} kernel has" if alone else "the group's {} kernels have"
            note = f"{whose.format(chosen.device_type)} priority {number}{why}"
            self._add(Rule.KERNEL_PRIORITY, best, None, note)
        same = tuple(i for i in self.left if devices[i].device_type == chosen.device_type)
        if len(same) < len(self.left):
            others = sorted({devices[i].device_type for i in self.left} - {chosen.device_type})
            note = f"{chosen.device_type} comes before {', '.join(others)}{why}"
            self._add(Rule.TYPE_PRIORITY, same, None, note)
        if len(self.left) > 1:
            self._add(Rule.NAME_ORDER, (device,), None, "the first by name")

    def _why_not_following(self, decider: int) -> str:
        """Return why a node does not follow its input or consumers although it could; "" for other nodes."""
        placement, graph, names = self.placement, self.graph, self.graph.names
        assert placement.decisions is not None
        late, fact = placement.decisions.outline.is_generator, placement.facts_of(decider)
        if decider in placement.assigned:
            return ""
        if late[decider]:
            consumers = self._consumers(decider)
            consumer_devices = sorted({int(placement.devices[consumer]) for consumer in consumers})
            waiting = [n for n in consumers if late[n] and graph.rank[n] > graph.rank[decider]]
            if waiting:
                return f"; its consumer {names[waiting[0]]} has no device yet"
            if len(consumer_devices) > 1:
                return f"; its consumers are on several devices: {listed_nodes(self.graph, consumers)}"
            return (
                f"; it cannot follow its consumers: {listed_nodes(self.graph, consumers)}"
                if consumers
                else ""
            )
        sources = np.array([graph.src[edge] for edge in graph.in_edges(decider)[:1]], dtype=np.int64)
        passes = fact.is_identity and placement.placer.rules == "2.21"
        if len(sources) and passes:
            passes = bool(is_passing(graph, np.array([decider]), sources)[0])
        if not len(sources) or not (fact.is_metadata or passes):
            return ""
        source = int(sources[0])
        if late[source] or graph.rank[source] > graph.rank[decider]:
            return f"; its input {names[source]} has no device yet"
        return f"; it cannot follow its input {names[source]}"

    def _refusal(self) -> str | None:
        faults = self.placement.faults
        return (
            f"TensorFlow rejects the graph: {fault_sentence(self.placement, faults[0])}" if faults else None
        )


class _MergeListener:
    """Turns merges that involve one node's group into steps of its explanation."""

    def __init__(self, explainer: _Explainer) -> None:
        self.explainer = explainer
        self.placement = explainer.placement
        self.parts: dict[int, set[int]] = {}
        self.consumers: set[int] = set()

    def _part(self, node: int) -> set[int]:
        return self.parts.setdefault(node, {node})

    def record(self, merge: Merge) -> None:
        """Record one attempt to merge two groups."""
        first, second = self._part(merge.first), self._part(merge.second)
        node, self.consumers = self.explainer.node, second
        if node in first:
            self._step(merge, merge.before_first, merge.before_second, merge.second, second)
        elif node in second:
            self._step(merge, merge.before_second, merge.before_first, merge.first, first)
        if merge.after is not None:
            smaller, larger = sorted((first, second), key=len)
            larger |= smaller
            self.parts.update(dict.fromkeys(smaller, larger))

    def _step(self, merge: Merge, mine: Member, theirs: Member, other: int, part: set[int]) -> None:
        """Add a step for one merge.

        Args:
            merge: the attempt.
            mine: the constraints of the explained node's group before the merge.
            theirs: the constraints of the other group before the merge.
            other: the end of the binding that is in the other group.
            part: the nodes of the other group.
        """
        explainer, placement = self.explainer, self.placement
        text = tie_text(placement, merge.binding, merge.first, merge.second)
        if merge.after is None:
            ignored = merge.binding is Binding.COLOCATION and placement.soft
            failed = Rule.COLOCATION_IGNORED if ignored else Rule.CONFLICT
            explainer._add(failed, explainer.left, other, f"{text}, but {self._reason(merge)}")
            return
        after = placement.chooser.matching(merge.after.requested, merge.after.supported)
        rule = RULE_OF_BINDING[merge.binding]
        reasons = []
        if merge.yielded:
            rule = Rule.YIELDS_TO_SOURCE
            losers = self._askers(self.consumers, merge.before_second.requested)
            loser = placement.graph.names[losers[0] if losers else merge.second]
            reasons.append(f"the request of {loser} yields to '{name_text(merge.before_first.requested)}'")
        elif (
            mine.requested != ANY
            and theirs.requested != ANY
            and not mine.requested.is_compatible(theirs.requested)
        ):
            rule = Rule.REQUESTS_DROPPED
            kept = name_text(merge.after.requested)
            reasons.append(
                f"'{name_text(mine.requested)}' and '{name_text(theirs.requested)}' differ, "
                + (f"'{kept}' is left" if kept else "no request is left")
            )
        # A merge that leaves the devices as they were is not a step, unless it changed a request.
        changed = replace(merge.after, supported=()) != replace(mine, supported=())
        if set(after) == set(explainer.left) and not (changed and reasons):
            return
        lacking = sorted(
            device_type for device_type, _ in mine.supported if device_type not in dict(merge.after.supported)
        )
        asks = merge.after.requested != mine.requested and rule is RULE_OF_BINDING[merge.binding]
        reasons += self._reasons(part, other, theirs, lacking, asks=asks)
        note = f"{text}: {', '.join(reasons)}" if reasons else text
        explainer._add(rule, tuple(np.array(after, dtype=int).tolist()), other, note)

    def _reasons(
        self, part: set[int], other: int, theirs: Member, lacking: list[str], *, asks: bool
    ) -> list[str]:
        """Describe the other group's contribution: missing kernels and requests."""
        placement, names = self.placement, self.placement.graph.names
        culprits = [n for n in sorted(part) if set(lacking) - dict(placement.facts_of(n).supported).keys()]
        lacks = f"has no {' or '.join(lacking)} kernel"
        subject = culprits[0] if culprits else other
        askers = self._askers(part, theirs.requested) if asks else []
        if len(askers) == 1:
            node = askers[0]
            request = placement.assigned.get(node) or placement.graph.requested_device(node)
            if lacking and node == subject:
                return [f"{names[node]} {lacks} and asks for '{request}'"]
            request_texts = [f"{names[node]} asks for '{request}'"]
        else:
            listed = " and ".join(names[n] for n in askers[:2]) or names[other]
            more = f" and {len(askers) - 2} more" if len(askers) > 2 else ""
            request_texts = (
                [f"{listed}{more} together ask for '{name_text(theirs.requested)}'"] if asks else []
            )
        return [*([f"{names[subject]} {lacks}"] if lacking else []), *request_texts]

    def _askers(self, nodes: set[int], requested: ParsedName) -> list[int]:
        """Return the nodes whose own request is part of their group's request."""
        single = self.placement.single
        assert single is not None
        own = {node: single(node).requested for node in sorted(nodes)}
        return [node for node, name in own.items() if name != ANY and name.is_compatible(requested)]

    def _reason(self, merge: Merge) -> str:
        """Return briefly why a merge was given up."""
        reason = (merge.conflict or "").removeprefix("because ").rstrip(".")
        before = (merge.before_first, merge.before_second)
        if reason.startswith("no device type"):
            names = self.placement.graph.names
            ends = (names[merge.first], names[merge.second])
            kinds = [", ".join(kind for kind, _ in member.supported) for member in before]
            have = [f"kernels for {kind}" if kind else "no kernel" for kind in kinds]
            return f"{reason}: " + ", ".join(
                f"{end} has {what}" for end, what in zip(ends, have, strict=True)
            )
        if "connects colocation groups" in reason:
            which = "assigned" if "incompatible assigned" in reason else "resource"
            first, second = (name_text(getattr(member, which)) for member in before)
            return f"their {which} devices differ: '{first}' and '{second}'"
        return reason[:1].lower() + reason[1:]
