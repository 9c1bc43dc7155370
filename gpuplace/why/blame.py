"""Why nodes are not on a GPU: the causes, ranked by how many nodes and bytes each keeps away.

A node that is elsewhere has a cause of its own (no kernel, a request), shares its device with a node that has one, or
only goes where its input or its consumers are. Whoever shares or follows is counted under the cause it leads to::

    x (Const int32) ──follows──> p (Pow int32) <──colocated── n (Neg float)

    3 nodes  kernel: no GPU kernel for Pow with T=int32
             Const, Neg, Pow of float, int32; e.g. p: 1 itself, 1 bound to such a node, 1 that follows

Work is done once per signature, request and group constraint, and spread over the nodes by array indexing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuplace.device.parsed_name import ANY
from gpuplace.display import notebook_view
from gpuplace.dtypes import DType
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.outline import GENERATOR, IDENTITY, METADATA
from gpuplace.typing import DataFrame
from gpuplace.why.kernel_text import missing_kernel
from gpuplace.why.remedy import remedy_for
from gpuplace.why.rules import Rule

if TYPE_CHECKING:
    from gpuplace.why.placement import Placement

_SHOWN_TYPES = 8
_MAX_OUTPUTS = 1 << 16
"""Outputs whose sizes are asked for in a graph of no nodes; each node and edge allows one more."""

_CAUSES = (
    Rule.FAILED,
    Rule.KERNEL,
    Rule.MISSING_DEVICE,
    Rule.ASSIGNED,
    Rule.REQUEST,
    Rule.HOST_DATA,
    Rule.KERNEL_PRIORITY,
    Rule.DEFAULT_DEVICE,
    Rule.TYPE_PRIORITY,
)
_NUMBER = {rule: number for number, rule in enumerate(_CAUSES)}
_FOLLOWS = len(_CAUSES)
_ITSELF, _BOUND, _FOLLOWER = range(3)


@dataclass(frozen=True)
class BlameRow:
    """One cause and what it keeps away."""

    rule: Rule
    """The rule that settles it."""
    cause: str
    """In words: `no GPU kernel for Pow with T=int32`."""
    op_types: tuple[str, ...]
    """Op types of the nodes, the most frequent first."""
    dtypes: tuple[str, ...]
    """Types that their signatures name, by name."""
    decided_by: str
    """The first node that the cause applies to itself; for a group, the member that decides."""
    nodes: int
    """How many nodes it keeps away, in all."""
    itself: int
    """Nodes that the cause applies to themselves."""
    bound: int
    """Nodes that have to share a device with such a node."""
    followers: int
    """Nodes that go where their input or their consumers are."""
    nbytes: int
    """Bytes of the nodes' outputs, as far as known."""
    unsized: int
    """Nodes with an output of unknown size."""
    example: str
    """A node that is kept away: the first in the graph."""
    remedy: str
    """What would have to change."""


@dataclass(frozen=True)
class Blame:
    """The causes for everything that is not on a device type."""

    device_type: str
    total: int
    """Nodes of the graph."""
    rows: tuple[BlameRow, ...]
    """The cause of most nodes first, of equal ones that of most bytes."""

    @property
    def nodes(self) -> int:
        """How many nodes are not on the device type."""
        return sum(row.nodes for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[BlameRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return f"every node is on a {self.device_type}" if self.total else "the graph has no nodes"
        lines = [f"{self.nodes:,} of {_counted(self.total)} not on a {self.device_type}"]
        width = max(len(_counted(row.nodes)) for row in self.rows)
        indent = " " * (width + 4)
        for row in self.rows:
            lines.append(f"  {_counted(row.nodes):<{width}}  {row.rule.value}: {row.cause}")
            lines.append(f"{indent}{_involved(row)}; {_size(row)}")
            lines.append(f"{indent}e.g. {row.example}{_shares(row)}")
            lines.append(f"{indent}try  {row.remedy}")
        return "\n".join(lines)

    def frame(self) -> DataFrame:
        """A row a cause as a pandas ``DataFrame``; see ``gpuplace.jupyter.frames.frames.blame_frame``."""
        from gpuplace.jupyter.frames.frames import blame_frame

        return blame_frame(self)

    _repr_mimebundle_ = notebook_view


def _counted(number: int) -> str:
    return f"{number:,} node{'' if number == 1 else 's'}"


def _involved(row: BlameRow) -> str:
    more = f", and {len(row.op_types) - _SHOWN_TYPES} more" if len(row.op_types) > _SHOWN_TYPES else ""
    ops = ", ".join(row.op_types[:_SHOWN_TYPES]) + more
    return f"{ops} of {', '.join(row.dtypes)}" if row.dtypes else ops


def _size(row: BlameRow) -> str:
    if row.unsized == row.nodes and not row.nbytes:
        return "size unknown"
    return f"{row.nbytes:,} bytes" + (f", and {_counted(row.unsized)} of unknown size" if row.unsized else "")


def _shares(row: BlameRow) -> str:
    parts = []
    if row.bound:
        parts.append(f"{row.bound:,} share a device with such a node, the first {row.decided_by}")
    if row.followers:
        parts.append(f"{row.followers:,} only follow their input or consumers")
    return f"; {'; '.join(parts)}" if parts else ""


def blame(placement: Placement, device_type: str = "GPU") -> Blame:
    """The causes for every node that is not on a device of `device_type`, ranked."""
    return _Blamer(placement, device_type).blame()


class _Blamer:
    """Finds a cause and a culprit for each node: arrays over nodes, `[nodes]` where nothing else is said."""

    def __init__(self, placement: Placement, kind: str) -> None:
        self.placement = placement
        self.graph = placement.graph
        self.kind = kind
        self.on_kind = [device.device_type == kind for device in placement.device_set]
        placed = np.array([*self.on_kind, False], dtype=bool)
        self.away = np.flatnonzero(~placed[placement.devices])
        self.texts: dict[str, int] = {}
        signature = self._missing_kernels()
        self.kernel_text = signature
        self.lacks = (signature >= 0)[self.graph.signature]

    def _missing_kernels(self) -> np.ndarray:
        """[signatures] number of the text that says which kernel is missing, -1 where there is one."""
        found = []
        has_kind = self.kind in {kind for kind, _ in self.placement.device_set.prioritized_types()}
        for fact in self.placement.facts:
            text = None
            if not has_kind or self.kind not in dict(fact.supported):
                text = missing_kernel(self.placement, fact, self.kind)
            found.append(-1 if text is None else self.texts.setdefault(text, len(self.texts)))
        return np.array(found, dtype=np.int64)

    def blame(self) -> Blame:
        count = len(self.graph)
        if not len(self.away):
            return Blame(self.kind, count, ())
        cause, culprit, relation = self._causes()
        detail = self._details(cause, culprit)
        width = int(detail.max()) + 2
        keys, first, row = np.unique(
            (cause * width + detail)[self.away], return_index=True, return_inverse=True
        )
        rows = []
        nodes = np.bincount(row)
        shares = [np.bincount(row[relation[self.away] == part], minlength=len(keys)) for part in range(3)]
        nbytes, unsized = self._sizes(row, len(keys))
        involved = self._involved(row, len(keys))
        for number in range(len(keys)):
            example = int(self.away[first[number]])
            decider = int(culprit[example])
            rule = _CAUSES[int(cause[example])]
            text, remedy = self._words(rule, decider, example)
            op_types, dtypes = involved[number]
            rows.append(
                BlameRow(
                    rule=rule,
                    cause=text,
                    op_types=op_types,
                    dtypes=dtypes,
                    decided_by=self.graph.names[decider],
                    nodes=int(nodes[number]),
                    itself=int(shares[_ITSELF][number]),
                    bound=int(shares[_BOUND][number]),
                    followers=int(shares[_FOLLOWER][number]),
                    nbytes=nbytes[number],
                    unsized=unsized[number],
                    example=self.graph.names[example],
                    remedy=remedy,
                )
            )
        rows.sort(key=lambda item: (-item.nodes, -item.nbytes, item.rule.value, item.cause))
        return Blame(self.kind, count, tuple(rows))

    def _causes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of the cause, the node that it applies to, and how each node is tied to that one."""
        placement, graph = self.placement, self.graph
        nodes = np.arange(len(graph), dtype=np.int64)
        if placement.partition is None or placement.decisions is None:
            cause = np.where(self.lacks, _NUMBER[Rule.KERNEL], _NUMBER[Rule.MISSING_DEVICE])
            return cause, nodes, np.zeros(len(graph), dtype=np.int64)
        root = placement.partition.root
        culprit = placement.decisions.decider[root].copy()
        cause = self._of_member()[placement.partition.member]
        asked = self._asks_elsewhere()
        came = np.zeros(len(graph), dtype=bool)
        came[list(placement.assigned)] = True
        unplaced = placement.devices == NOWHERE
        cause[unplaced] = _NUMBER[Rule.FAILED]
        itself = culprit == nodes
        # Later lines win: a missing kernel counts more than a request.
        reads = np.zeros(len(graph), dtype=bool)
        reads[list(placement.host_causes)] = True
        tied = (
            (Rule.REQUEST, asked),
            (Rule.ASSIGNED, came),
            (Rule.HOST_DATA, reads),
            (Rule.KERNEL_PRIORITY, self._prefers_elsewhere()),
            (Rule.KERNEL, self.lacks),
        )
        for rule, applies in tied:
            first = self._first_of_group(applies)
            involved = (first >= 0) & ((cause == _NUMBER[rule]) | (rule is Rule.KERNEL))
            culprit = np.where(involved, first, culprit)
            itself = np.where(involved, applies, itself)
            cause = np.where(involved, _NUMBER[rule], cause)
        culprit = np.where(itself, nodes, culprit)
        itself |= ~np.isin(cause, [_NUMBER[rule] for rule, _ in tied])
        relation = np.where(itself, _ITSELF, _BOUND)
        how = placement.decisions.how
        follows = (cause == _NUMBER[Rule.TYPE_PRIORITY]) & np.isin(how, (METADATA, IDENTITY, GENERATOR))
        follows &= ~unplaced
        return self._traced(cause, culprit, relation, follows)

    def _traced(
        self, cause: np.ndarray, culprit: np.ndarray, relation: np.ndarray, follows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Follows inputs and consumers to the node whose cause is its own; chains of n take about log n rounds."""
        graph, decisions, partition = self.graph, self.placement.decisions, self.placement.partition
        assert decisions is not None and partition is not None
        if not follows.any():
            return cause, culprit, relation
        step = np.arange(len(graph), dtype=np.int64)
        followers = np.flatnonzero(follows)
        decider = decisions.decider[partition.root[followers]]
        to_consumer = decisions.how[followers] == GENERATOR
        step[followers[to_consumer]] = graph.dst[graph.out_order[graph.out_start[decider[to_consumer]]]]
        step[followers[~to_consumer]] = graph.src[graph.in_start[decider[~to_consumer]]]
        for _ in range(len(graph).bit_length()):
            step = step[step]
        relation = np.where(follows, _FOLLOWER, relation)
        return cause[step], culprit[step], relation

    def _first_of_group(self, applies: np.ndarray) -> np.ndarray:
        """The member, first in visiting order, that something applies to; -1 for groups without."""
        graph, partition = self.graph, self.placement.partition
        assert partition is not None
        found = np.flatnonzero(applies)
        first = np.full(len(graph), len(graph), dtype=np.int64)
        np.minimum.at(first, partition.root[found], graph.rank[found])
        order = np.append(graph.order, -1)
        return order[first[partition.root]]

    def _asks_elsewhere(self) -> np.ndarray:
        names = self.placement.placer.parsed
        asks = [name is not None and name.type is not None and name.type != self.kind for name in names]
        return np.array(asks, dtype=bool)[self.graph.device]

    def _prefers_elsewhere(self) -> np.ndarray:
        """Whether a node's best kernel is one of another type with a priority."""
        best = [fact.supported[:1] for fact in self.placement.facts]
        prefers = [any(number > 0 and kind != self.kind for kind, number in top) for top in best]
        return np.array(prefers, dtype=bool)[self.graph.signature]

    def _of_member(self) -> np.ndarray:
        """[members] the cause as far as a group's constraints tell it."""
        placement = self.placement
        assert placement.partition is not None
        found = []
        for member in placement.partition.members:
            candidates = placement.chooser.candidates(member)
            priority = dict(member.supported)
            rule = Rule.TYPE_PRIORITY
            if not any(self.on_kind):
                rule = Rule.MISSING_DEVICE
            elif self.kind not in priority:
                rule = Rule.HOST_DATA if placement.host_causes else Rule.FAILED
            elif member.assigned != ANY and member.assigned.type != self.kind:
                rule = Rule.ASSIGNED
            elif candidates.name.type not in (None, self.kind):
                rule = Rule.REQUEST
            elif not any(self.on_kind[device] for device in candidates.devices):
                rule = Rule.MISSING_DEVICE
            elif candidates.devices:
                chosen = placement.device_set.devices[candidates.first]
                if chosen.name == placement.chooser.default_local_device:
                    rule = Rule.DEFAULT_DEVICE
                elif priority[chosen.device_type] > priority[self.kind]:
                    rule = Rule.KERNEL_PRIORITY
            found.append(_NUMBER[rule])
        return np.array(found, dtype=np.int64)

    def _details(self, cause: np.ndarray, culprit: np.ndarray) -> np.ndarray:
        """What tells two causes of one rule apart: the missing kernel, the request, the op type."""
        graph = self.graph
        by_type: dict[str, int] = {}
        op_type = np.array(
            [by_type.setdefault(s.op_type, len(by_type)) for s in graph.signatures], dtype=np.int64
        )
        detail = np.zeros(len(graph), dtype=np.int64)
        for rule, values in (
            (Rule.KERNEL, self.kernel_text[graph.signature]),
            (Rule.REQUEST, graph.device.astype(np.int64)),
            (Rule.FAILED, graph.device.astype(np.int64)),
            (Rule.KERNEL_PRIORITY, op_type[graph.signature]),
        ):
            here = cause == _NUMBER[rule]
            detail[here] = values[culprit[here]]
        return detail

    def _sizes(self, row: np.ndarray, rows: int) -> tuple[list[int], list[int]]:
        """[rows] bytes known, exact however many, and how many nodes have an output of unknown size."""
        nbytes, unsized = [0] * rows, [0] * rows
        tell = self.graph.tensor_info
        outputs = [len(fact.output_types) for fact in self.placement.facts]
        signature = self.graph.signature[self.away].tolist()
        left = _MAX_OUTPUTS + len(self.graph) + self.graph.num_edges
        for at, node, kind in zip(row.tolist(), self.away.tolist(), signature, strict=True):
            asked = min(outputs[kind], left)
            left -= asked
            sizes = [None if tell is None else tell(node, output).nbytes for output in range(asked)]
            if asked < outputs[kind]:
                sizes.append(None)
            nbytes[at] += sum(size for size in sizes if size is not None)
            unsized[at] += None in sizes
        return nbytes, unsized

    def _involved(self, row: np.ndarray, rows: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """[rows] op types, the most frequent first, and names of the types in their signatures."""
        signatures = self.placement.graph.signatures
        width = len(signatures)
        keys, counts = np.unique(row * width + self.graph.signature[self.away], return_counts=True)
        ops: list[dict[str, int]] = [{} for _ in range(rows)]
        types: list[set[str]] = [set() for _ in range(rows)]
        for key, number in zip(keys.tolist(), counts.tolist(), strict=True):
            at, signature = divmod(key, width)
            op_type = signatures[signature].op_type
            ops[at][op_type] = ops[at].get(op_type, 0) + number
            for _, value in signatures[signature].attrs:
                values = value if isinstance(value, tuple) else (value,)
                types[at].update(item.name for item in values if isinstance(item, DType))
        return [
            (tuple(sorted(found, key=lambda name: (-found[name], name))), tuple(sorted(names)))
            for found, names in zip(ops, types, strict=True)
        ]

    def _words(self, rule: Rule, culprit: int, example: int) -> tuple[str, str]:
        """The cause, and what would have to change: a request, unless others have to change too."""
        cause, remedy = self._cause_and_remedy(rule, culprit, example)
        if remedy.startswith(f"ask for '/device:{self.kind}:0'") and any(self.on_kind):
            found = remedy_for(self.placement, culprit, self.kind)
            if all([name for name, _ in asked] != [self.graph.names[culprit]] for asked in found.requests):
                return cause, found.text
        return cause, remedy

    def _cause_and_remedy(self, rule: Rule, culprit: int, example: int) -> tuple[str, str]:
        graph, kind = self.graph, self.kind
        op_type, wanted = graph.op_type(culprit), f"ask for '/device:{kind}:0'"
        asked = graph.requested_device(culprit)
        if rule is Rule.KERNEL:
            text = next(text for text, number in self.texts.items() if number == self._text_of(culprit))
            cause, _, allowed = text.partition("; ")
            return (
                cause,
                f"another type: {allowed}"
                if allowed
                else ("other types" if " for " in cause else "another op"),
            )
        if rule is Rule.MISSING_DEVICE:
            if asked and any(self.on_kind):
                return f"no {kind} matches the request, such as '{asked}'", f"{wanted} that the machine has"
            return f"the machine has no {kind}", f"a machine with a {kind}"
        if rule is Rule.ASSIGNED:
            return "the device was assigned already", "place the graph without `assigned`"
        if rule is Rule.REQUEST:
            return f"the program asks for '{asked}'", f"{wanted} instead"
        if rule is Rule.HOST_DATA:
            return "a node of the group reads a list of strings or handles", "a list of numbers"
        if rule is Rule.KERNEL_PRIORITY:
            return f"the kernel of {op_type} elsewhere has a higher priority", wanted
        if rule is Rule.DEFAULT_DEVICE:
            return "the caller's default device comes first", wanted
        if rule is Rule.FAILED:
            what = f": '{asked}' cannot be had" if asked else ""
            return f"no device is left{what}", f"see placement.explain({graph.names[example]!r})"
        return f"another device type comes before {kind}", wanted

    def _text_of(self, node: int) -> int:
        return int(self.kernel_text[self.graph.signature[node]])
