"""A verdict in words: `asks for '/gpu:1'`, `v, tied to it, asks for '/gpu:1'`, `no GPU kernel for Pow with T=int32`.

The sentence is about the node that it is told of, which is not named in it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gpuplace.device.parsed_name import ANY
from gpuplace.placer.host_data import what_is_read
from gpuplace.placer.member import Member
from gpuplace.placer.placed import AnyFault, InFunction, Placed
from gpuplace.why.kernel_text import missing_kernel
from gpuplace.why.messages import error_of
from gpuplace.why.rules import FOLLOWING, RULES, Rule
from gpuplace.why.ties import name_text
from gpuplace.why.verdict import lacking_types, limits_inside, verdicts_of


def sentences_of(placed: Placed) -> Sentences:
    """The verdicts of a placement in words; worked out as they are asked for."""
    found: Sentences | None = placed.__dict__.get("_sentences")
    if found is None:
        found = placed.__dict__["_sentences"] = Sentences(placed)
    return found


_OF_GROUP = [RULES.index(rule) for rule in (*FOLLOWING, Rule.FAILED, Rule.ASSIGNED)]
"""Rules of which more is told than of the node and its culprit."""
_SOFT = [RULES.index(rule) for rule in (Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE)]
"""Rules of which more is told where the machine has the device that is asked for."""


class Sentences:
    """Sentences about the nodes of one placement; alike ones are made once."""

    def __init__(self, placed: Placed) -> None:
        self.placed, self.graph = placed, placed.graph
        self.verdicts = verdicts_of(placed)
        self._texts: dict[int, str] = {}

    def __call__(self, node: int) -> str:
        return self._text(self.classes.item(node), node)

    def of(self, nodes: np.ndarray) -> list[str]:
        """The sentences about several nodes."""
        classes, first, inverse = np.unique(self.classes[nodes], return_index=True, return_inverse=True)
        texts = list(map(self._text, classes.tolist(), nodes[first].tolist()))
        return [texts[i] for i in inverse.tolist()]

    @cached_property
    def classes(self) -> np.ndarray:
        """[nodes] int64: equal for nodes with the same sentence."""
        placed, graph = self.placed, self.graph
        rule, culprit = self.verdicts.rule, self.verdicts.culprit
        nodes = np.arange(len(graph))
        root = nodes if placed.partition is None else placed.partition.root
        is_itself = culprit == nodes
        is_first = np.ones(len(nodes), dtype=bool)
        if placed.partition is not None and placed.decisions is not None:
            is_first = placed.decisions.decider[root] == nodes
        needs_group = np.isin(rule, _OF_GROUP)
        soft = np.flatnonzero(np.isin(rule, _SOFT))
        asked, inverse = np.unique(graph.device[culprit[soft]], return_inverse=True)
        needs_group[soft] = np.array([self._is_there(code) for code in asked.tolist()], dtype=bool)[inverse]
        return _codes(
            rule,
            np.where(is_itself, -1, culprit),
            graph.device,
            np.where(is_itself, graph.signature, -1),
            placed.devices,
            np.where(needs_group, root, -1),
            is_first,
        )

    def _text(self, kind: int, node: int) -> str:
        text = self._texts.get(kind)
        if text is None:
            text = self._texts[kind] = self._made(node, self.verdicts.culprit.item(node))
        return text

    def _is_there(self, request: int) -> bool:
        """Whether the machine has a device that matches one of the graph's requests."""
        return bool(self.placed.device_set.matching(self.placed.placer.parsed[request] or ANY))

    def _made(self, node: int, culprit: int) -> str:
        placed, graph = self.placed, self.graph
        rule, name = self.verdicts.rule_of(node), graph.names[culprit]
        whose = "" if culprit == node else f"{name}, tied to it, "
        own, asked = graph.requested_device(node), self._request(culprit)
        match rule:
            case Rule.REQUEST:
                return f"{whose}asks for '{asked}'" if graph.device[culprit] else self._inside(node, culprit)
            case Rule.YIELDS_TO_SOURCE:
                return f"asks for '{own}', but yields to {name}, which asks for '{asked}'"
            case Rule.REQUESTS_DROPPED:
                return f"asks for '{own}', but {name}, tied to it, asks for '{asked}'"
            case Rule.SOFT_PLACEMENT | Rule.SOFT_RESOURCE:
                return f"{whose}asks for '{asked}', {self._why_not(culprit)}"
            case Rule.KERNEL:
                lacking = lacking_types(placed, placed.constraints(node))
                if not set(lacking) - dict(placed.facts_of(culprit).supported).keys():
                    return self._inside(node, culprit)
                text = kernel_sentence(placed, culprit, lacking)
                return text if culprit == node else f"{name}, tied to it: {text}"
            case Rule.HOST_DATA:
                what = what_is_read(graph.op_type(culprit))
                return what if culprit == node else f"{whose}{what}"
            case Rule.ASSIGNED:
                return f"{whose}came with {placed.assigned.get(culprit, placed.device_of(node))}"
            case Rule.GENERATOR | Rule.METADATA | Rule.IDENTITY:
                first = placed.first_visited(node)
                return (
                    f"follows {name}"
                    if first == node
                    else f"{graph.names[first]}, tied to it, follows {name}"
                )
            case Rule.FAILED:
                return self._failure(node)
        return self._preference(node, rule)

    def _inside(self, node: int, call: int) -> str:
        """What the function of a call asks for."""
        limits = [limit_text(member) for which, member in limits_inside(self.placed, node) if which == call]
        asked = name_text(self.placed.constraints(node).requested)
        if not limits:
            return f"its group asks for '{asked}'"
        return f"the function that {self.graph.names[call]} calls is limited to {limits[0]} inside"

    def _preference(self, node: int, rule: Rule) -> str:
        """Rules by which one of several devices is preferred."""
        placed = self.placed
        chosen = placed.device_set.devices[placed.devices[node]]
        if rule is Rule.DEFAULT_DEVICE:
            return "the caller's default device"
        if rule is Rule.KERNEL_PRIORITY:
            number = dict(placed.constraints(node).supported)[chosen.device_type]
            return f"the {chosen.device_type} kernel has priority {number}"
        if rule is Rule.TYPE_PRIORITY:
            found = placed.chooser.candidates(placed.constraints(node)).devices
            kinds = {placed.device_set.devices[device].device_type for device in found} - {chosen.device_type}
            return f"{chosen.device_type} comes before {', '.join(sorted(kinds))}"
        return "the first by name" if rule is Rule.NAME_ORDER else "the machine has no other device"

    def _request(self, node: int) -> str:
        """What a node asks for, as written; else what its group asks for."""
        return self.graph.requested_device(node) or name_text(self.placed.constraints(node).requested)

    def _why_not(self, culprit: int) -> str:
        """Why a request cannot be met."""
        placed, request = self.placed, self.graph.device[culprit]
        name = placed.placer.parsed[request] or ANY
        if not self._is_there(request):
            return "which the machine does not have"
        kinds = (name.type,) if name.type is not None else ()
        if (
            placed.partition is not None
            and kinds
            and kinds[0] not in dict(placed.facts_of(culprit).supported)
        ):
            return f"but {_there_is(kernel_sentence(placed, culprit, kinds))}"
        lacking = next(
            (
                n
                for n in placed.group_of(culprit)
                if kinds and kinds[0] not in dict(placed.facts_of(n).supported)
            ),
            None,
        )
        if lacking is None:
            return "which its group cannot have"
        text = _there_is(kernel_sentence(placed, lacking, kinds))
        return f"but {text}: {self.graph.names[lacking]} is tied to it"

    def _failure(self, node: int) -> str:
        """TensorFlow's sentence about the node or its group, the graph's first error where it has none of its own."""
        if not self.placed.faults:
            return "nothing is left"
        mine = self._first_faults.get(self._group(node), self.placed.faults[0])
        return fault_sentence(self.placed, mine)

    def _group(self, node: int) -> int:
        """What the nodes of one group have in common."""
        partition = self.placed.partition
        return node if partition is None else partition.root.item(node)

    @cached_property
    def _first_faults(self) -> dict[int, AnyFault]:
        """Group -> the first fault about one of its nodes."""
        return {
            self._group(node): fault for fault in reversed(self.placed.faults) for node in _nodes_of(fault)
        }


def _codes(*columns: np.ndarray) -> np.ndarray:
    """[rows] int64: equal where every column is equal; columns hold whole numbers from -1 on."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for column in columns:
        width = int(column.max(initial=0)) + 2
        if size * width >= 2**63:
            codes = np.unique(codes, return_inverse=True)[1]
            size = len(codes)
        codes = codes * width + column + 1
        size *= width
    return codes


def kernel_sentence(placed: Placed, node: int, kinds: tuple[str, ...]) -> str:
    """`no GPU kernel for Pow with T=int32`: for the first of some device types that a node has no kernel for."""
    facts = placed.facts_of(node)
    kind = next((kind for kind in kinds if kind not in dict(facts.supported)), kinds[0] if kinds else "")
    text = missing_kernel(placed, facts, kind)
    return text.partition("; ")[0] if text else f"no {kind} kernel"


def _there_is(text: str) -> str:
    return f"there is {text}" if text.startswith("no ") else text


def limit_text(member: Member) -> str:
    """What a function asks for inside: `'/gpu:1'`, or device types."""
    asked = name_text(member.requested)
    return f"'{asked}'" if asked else "/".join(kind for kind, _ in member.supported)


def fault_sentence(placed: Placed, fault: AnyFault) -> str:
    """The first line of a fault's error."""
    return error_of(placed, fault).sentence.split("\n")[0].strip()


def _nodes_of(fault: AnyFault) -> tuple[int, ...]:
    """The nodes that a fault is about; of one in a function none, as its nodes are the body's."""
    if isinstance(fault, InFunction):
        return ()
    group: tuple[int, ...] = getattr(fault, "group", ())
    node = getattr(fault, "node", None)
    return group if node is None else (*group, node)
