"""Verdict sentences: `asks for '/gpu:1'`, `v, tied to it, asks for '/gpu:1'`, `no GPU kernel for Pow with T=int32`.

The subject of a sentence is the node that it explains; the node's own name is left out.
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
    """Return the verdict sentences of a placement; each is written on demand."""
    sentences: Sentences | None = placed.__dict__.get("_sentences")
    if sentences is None:
        sentences = placed.__dict__["_sentences"] = Sentences(placed)
    return sentences


_OF_GROUP = [RULES.index(rule) for rule in (*FOLLOWING, Rule.FAILED, Rule.ASSIGNED)]
"""Rules whose sentence depends on the whole group, not only on the node and its culprit."""
_SOFT = [RULES.index(rule) for rule in (Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE)]
"""Rules whose sentence depends on the group if the machine has the requested device."""


class Sentences:
    """Sentences about the nodes of one placement; each distinct sentence is written once."""

    def __init__(self, placed: Placed) -> None:
        self.placed, self.graph = placed, placed.graph
        self.verdicts = verdicts_of(placed)
        self._texts: dict[int, str] = {}

    def __call__(self, node: int) -> str:
        return self._text(self.classes.item(node), node)

    def of(self, nodes: np.ndarray) -> list[str]:
        """Return the sentences about several nodes."""
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
        requests, inverse = np.unique(graph.device[culprit[soft]], return_inverse=True)
        needs_group[soft] = np.array([self._is_available(code) for code in requests.tolist()], dtype=bool)[
            inverse
        ]
        return _codes(
            rule,
            np.where(is_itself, -1, culprit),
            graph.device,
            np.where(is_itself, graph.signature, -1),
            placed.devices,
            np.where(needs_group, root, -1),
            is_first,
        )

    def _text(self, number: int, node: int) -> str:
        text = self._texts.get(number)
        if text is None:
            text = self._texts[number] = self._written(node, self.verdicts.culprit.item(node))
        return text

    def _is_available(self, request: int) -> bool:
        """Return whether the machine has a device that matches one of the graph's distinct requests."""
        return bool(self.placed.device_set.matching(self.placed.placer.parsed[request] or ANY))

    def _written(self, node: int, culprit: int) -> str:
        """Write the sentence about one node with this culprit."""
        placed, graph = self.placed, self.graph
        rule, name = self.verdicts.rule_of(node), graph.names[culprit]
        whose = "" if culprit == node else f"{name}, tied to it, "
        own, request = graph.requested_device(node), self._request(culprit)
        match rule:
            case Rule.REQUEST:
                return (
                    f"{whose}asks for '{request}'" if graph.device[culprit] else self._inside(node, culprit)
                )
            case Rule.YIELDS_TO_SOURCE:
                return f"asks for '{own}', but yields to {name}, which asks for '{request}'"
            case Rule.REQUESTS_DROPPED:
                return f"asks for '{own}', but {name}, tied to it, asks for '{request}'"
            case Rule.SOFT_PLACEMENT | Rule.SOFT_RESOURCE:
                return f"{whose}asks for '{request}', {self._why_not(culprit)}"
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
                return f"{whose}was assigned to {placed.assigned.get(culprit, placed.device_of(node))} before"
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
        """Describe the constraints inside the function of a call."""
        limits = [limit_text(member) for which, member in limits_inside(self.placed, node) if which == call]
        request = name_text(self.placed.constraints(node).requested)
        if not limits:
            return f"its group asks for '{request}'"
        return f"the function that {self.graph.names[call]} calls is limited to {limits[0]} inside"

    def _preference(self, node: int, rule: Rule) -> str:
        """Describe a rule that prefers one of several possible devices."""
        placed = self.placed
        chosen = placed.device_set.devices[placed.devices[node]]
        if rule is Rule.DEFAULT_DEVICE:
            return "the caller's default device"
        if rule is Rule.KERNEL_PRIORITY:
            number = dict(placed.constraints(node).supported)[chosen.device_type]
            return f"the {chosen.device_type} kernel has priority {number}"
        if rule is Rule.TYPE_PRIORITY:
            candidates = placed.chooser.candidates(placed.constraints(node)).devices
            other_types = {placed.device_set.devices[device].device_type for device in candidates} - {
                chosen.device_type
            }
            return f"{chosen.device_type} comes before {', '.join(sorted(other_types))}"
        return "the first by name" if rule is Rule.NAME_ORDER else "the machine has no other device"

    def _request(self, node: int) -> str:
        """Return a node's request as written, or the request of its group if the node has none."""
        return self.graph.requested_device(node) or name_text(self.placed.constraints(node).requested)

    def _why_not(self, culprit: int) -> str:
        """Return why a request cannot be satisfied."""
        placed, request = self.placed, self.graph.device[culprit]
        name = placed.placer.parsed[request] or ANY
        if not self._is_available(request):
            return "which the machine does not have"
        requested_types = (name.type,) if name.type is not None else ()
        if (
            placed.partition is not None
            and requested_types
            and requested_types[0] not in dict(placed.facts_of(culprit).supported)
        ):
            return f"but {_there_is(kernel_sentence(placed, culprit, requested_types))}"
        lacking = next(
            (
                n
                for n in placed.group_of(culprit)
                if requested_types and requested_types[0] not in dict(placed.facts_of(n).supported)
            ),
            None,
        )
        if lacking is None:
            return "which its group cannot use"
        text = _there_is(kernel_sentence(placed, lacking, requested_types))
        return f"but {text}: {self.graph.names[lacking]} is tied to it"

    def _failure(self, node: int) -> str:
        """Return TensorFlow's sentence about the node or its group, or the graph's first error if there is none."""
        if not self.placed.faults:
            return "no device is left"
        fault = self._first_faults.get(self._group(node), self.placed.faults[0])
        return fault_sentence(self.placed, fault)

    def _group(self, node: int) -> int:
        """Return a number that is equal for all nodes of a group."""
        partition = self.placed.partition
        return node if partition is None else partition.root.item(node)

    @cached_property
    def _first_faults(self) -> dict[int, AnyFault]:
        """First fault that names a node of a group, by the number of the group."""
        return {
            self._group(node): fault for fault in reversed(self.placed.faults) for node in _nodes_of(fault)
        }


def _codes(*columns: np.ndarray) -> np.ndarray:
    """[rows] int64 codes, equal where all columns are equal. Columns hold integers from -1 upwards."""
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


def kernel_sentence(placed: Placed, node: int, device_types: tuple[str, ...]) -> str:
    """Return `no GPU kernel for Pow with T=int32` for the first device type that has no kernel for the node."""
    facts = placed.facts_of(node)
    device_type = next(
        (device_type for device_type in device_types if device_type not in dict(facts.supported)),
        device_types[0] if device_types else "",
    )
    return missing_kernel(placed, facts, device_type) or f"no {device_type} kernel"


def _there_is(text: str) -> str:
    """Put "there is" before a sentence that starts with "no"."""
    return f"there is {text}" if text.startswith("no ") else text


def limit_text(member: Member) -> str:
    """Return the constraint inside a function: `'/gpu:1'`, or device types."""
    request = name_text(member.requested)
    return f"'{request}'" if request else "/".join(device_type for device_type, _ in member.supported)


def fault_sentence(placed: Placed, fault: AnyFault) -> str:
    """Return the first line of a fault's error message."""
    return error_of(placed, fault).sentence.split("\n")[0].strip()


def _nodes_of(fault: AnyFault) -> tuple[int, ...]:
    """Return the nodes that a fault is about; none for a fault inside a function, whose nodes belong to its body."""
    if isinstance(fault, InFunction):
        return ()
    group: tuple[int, ...] = getattr(fault, "group", ())
    node = getattr(fault, "node", None)
    return group if node is None else (*group, node)
