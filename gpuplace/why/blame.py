"""Why nodes are not on a GPU: their verdicts, ranked by how many nodes and bytes each cause keeps away.

Nodes whose verdicts name the same rule and fact share a row, even if their requested devices differ in number, as
towers' do. Nodes that only follow other nodes have a row next to those nodes' row::

    x (Const int32) ──follows──> p (Pow int32) <──colocated── n (Neg float)

    2 nodes  kernel: no GPU kernel for Pow with T=int32
             Neg, Pow of float, int32; e.g. p; 1 is colocated with such a node; 1 more node follows
    1 node   generator: follows its consumers (kernel: no GPU kernel for Pow with T=int32)

Strings, summaries, savers and other ops for which no TensorFlow release has a kernel on the device type are harmless:
nothing can be done about them, and nothing needs to be. Their rows come last.

Work is done once per signature, request and group constraint, and spread over the nodes by array indexing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.device.parsed_name import ANY
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.dtypes import DType
from gpuplace.placer.placed import Placed
from gpuplace.typing import DataFrame
from gpuplace.why.harmless import harmless_nodes, harmless_text
from gpuplace.why.remedy import remedy_for
from gpuplace.why.rules import FOLLOWING, RULES, Rule
from gpuplace.why.sentences import kernel_sentence, sentences_of
from gpuplace.why.verdict import lacking_types, verdicts_of

_SHOWN_TYPES = 8
_SHOWN_DEVICES = 4
_MAX_OUTPUTS = 1 << 16
"""Maximum number of computed output sizes in a graph without nodes; each node and edge allows one more."""

_FOLLOWED = {
    Rule.GENERATOR: "follows its consumers",
    Rule.METADATA: "follows its input",
    Rule.IDENTITY: "follows its input",
}
_OF_REQUEST = (
    Rule.REQUEST,
    Rule.YIELDS_TO_SOURCE,
    Rule.REQUESTS_DROPPED,
    Rule.SOFT_PLACEMENT,
    Rule.SOFT_RESOURCE,
)
"""Rules about the culprit's request."""
_OF_OP = (Rule.KERNEL, Rule.KERNEL_PRIORITY, Rule.SOFT_PLACEMENT, Rule.SOFT_RESOURCE, Rule.HOST_DATA)
"""Rules about the culprit's op type and dtypes."""


@dataclass(frozen=True)
class BlameRow:
    """One cause and the nodes that it keeps away."""

    rule: Rule
    """The rule that determined the nodes' devices."""
    cause: str
    """The cause as a phrase: `no GPU kernel for Pow with T=int32`."""
    op_types: tuple[str, ...]
    """Op types of the nodes, most frequent first."""
    dtypes: tuple[str, ...]
    """Dtypes in the nodes' signatures, sorted by name."""
    decided_by: str
    """The culprit of the verdict on `example`."""
    nodes: int
    """Number of nodes that the cause keeps away: `itself` plus `bound`."""
    itself: int
    """Number of nodes to which the rule itself applies."""
    bound: int
    """Number of nodes that must share a device with such a node."""
    followers: int
    """Number of further nodes, in separate rows, that follow the nodes of this row."""
    nbytes: int
    """Total known size of the nodes' outputs in bytes."""
    unsized: int
    """Number of nodes with an output of unknown size."""
    example: str
    """The first of the nodes, in graph order."""
    remedy: str
    """The change that would move the nodes."""
    devices: tuple[str, ...] = ()
    """The requested devices as written, if the cause is a request; several of them differ only by numbers."""
    harmless: str = ""
    """A plural noun for nodes that can never run on the device type: ``"summaries"``; ``""`` for other nodes."""

    @with_safe_text
    def __repr__(self) -> str:
        return f"<BlameRow of {_counted(self.nodes)}: {self.rule.value}: {self.cause}>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, width: int = 0) -> list[str]:
        """Return the row as four lines of text.

        Args:
            width: the width of the node count's column, in characters.
        """
        number = _counted(self.nodes)
        indent = " " * (max(width, len(number)) + 2)
        return [
            f"{number:<{width}}  {self.rule.value}: {self.cause}",
            f"{indent}{_involved(self)}; {_size(self)}",
            f"{indent}e.g. {self.example}{_shares(self)}",
            f"{indent}try  {self.remedy}",
        ]


@dataclass(frozen=True)
class Blame:
    """The causes for every node that is not on a device of one type."""

    device_type: str
    total: int
    """Number of nodes in the graph."""
    rows: tuple[BlameRow, ...]
    """Causes by number of nodes (including followers), then by bytes, both descending; `harmless` rows last."""

    @property
    def nodes(self) -> int:
        """The number of nodes that are not on the device type."""
        return sum(row.nodes for row in self.rows)

    @property
    def causes(self) -> tuple[BlameRow, ...]:
        """The rows of nodes that could be on the device type."""
        return tuple(row for row in self.rows if not row.harmless)

    @property
    def harmless(self) -> tuple[BlameRow, ...]:
        """The rows of nodes that can never be on the device type, one for each group of op types."""
        return tuple(row for row in self.rows if row.harmless)

    @property
    def harmless_text(self) -> str:
        """One line about the harmless nodes; ``""`` if there are none."""
        return harmless_text([(row.harmless, row.nodes) for row in self.harmless], self.device_type)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[BlameRow]:
        return iter(self.rows)

    @with_safe_text
    def __repr__(self) -> str:
        rows = self.causes
        causes = f"{len(rows)} cause{'' if len(rows) == 1 else 's'}"
        first = f", first {rows[0].rule.value}: {rows[0].cause}" if rows else ""
        return f"<Blame for {self.nodes:,} of {_counted(self.total)} not on a {self.device_type}: {causes}{first}>"

    @with_safe_text
    def __str__(self) -> str:
        if not self.rows:
            return f"every node is on a {self.device_type}" if self.total else "the graph has no nodes"
        lines = [f"{self.nodes:,} of {_counted(self.total)} not on a {self.device_type}"]
        width = max((len(_counted(row.nodes)) for row in self.causes), default=0)
        for row in self.causes:
            lines += [f"  {line}" for line in row.lines(width)]
        if self.harmless:
            lines.append(f"  {self.harmless_text}")
        return "\n".join(lines)

    def frame(self) -> DataFrame:
        """Return a ``DataFrame`` with one row per cause; see ``explanation_frames.blame_frame``."""
        return above("gpuplace.jupyter.frames.explanation_frames", "blame_frame")(self)

    _repr_mimebundle_ = notebook_view


def _listed(devices: Sequence[str]) -> str:
    """Join devices in quotes, with "or" before the last."""
    shown = [f"'{device}'" for device in devices[:_SHOWN_DEVICES]]
    if len(devices) > _SHOWN_DEVICES:
        shown.append(f"{len(devices) - _SHOWN_DEVICES} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


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
        are = "is" if row.bound == 1 else "are"
        parts.append(f"{row.bound:,} {are} colocated with such a node (first: {row.decided_by})")
    if row.followers:
        nodes, follow = ("node", "follows") if row.followers == 1 else ("nodes", "follow")
        parts.append(f"{row.followers:,} more {nodes} {follow}")
    return f"; {'; '.join(parts)}" if parts else ""


def _rank(row: BlameRow) -> tuple[bool, int, int, str, str]:
    """Return the sort key of a row; harmless rows are ordered as in `harmless_counts`."""
    if row.harmless:
        return True, -row.nodes, 0, "", row.harmless
    return False, -row.nodes - row.followers, -row.nbytes, row.rule.value, row.cause


def blame(placement: Placed, device_type: str = "GPU") -> Blame:
    """Rank the causes for every node that is not on a device of `device_type`."""
    return _Blamer(placement, device_type).blame()


class _Blamer:
    """Groups verdicts. Arrays are over nodes, `[nodes]`, unless stated otherwise."""

    def __init__(self, placement: Placed, kind: str) -> None:
        self.placement, self.graph, self.kind = placement, placement.graph, kind
        self.verdicts = verdicts_of(placement)
        self.sentences = sentences_of(placement)
        on_kind = [*(device.device_type == kind for device in placement.device_set), False]
        self.away = np.flatnonzero(~np.array(on_kind, dtype=bool)[placement.devices])
        self.follows = np.isin(self.verdicts.rule, [RULES.index(rule) for rule in FOLLOWING])
        self.of_request = np.isin(self.verdicts.rule, [RULES.index(rule) for rule in _OF_REQUEST])
        self.sorts, self.harmless = harmless_nodes(placement, kind)

    def blame(self) -> Blame:
        """Group the verdicts of all nodes that are not on the device type."""
        count, away = len(self.graph), self.away
        if not len(away):
            return Blame(self.kind, count, ())
        _, first, row = np.unique(self._fact()[away], return_index=True, return_inverse=True)
        harmless = self.harmless[away]
        nodes = np.bincount(row)
        own_counts = np.bincount(row[self._is_itself()[away] | (harmless >= 0)], minlength=len(first))
        row_of_node = np.full(count, -1, dtype=np.int64)
        row_of_node[away] = row
        followed_rows = row_of_node[self._ends[away[self.follows[away] & (harmless < 0)]]]
        followers = np.bincount(followed_rows[followed_rows >= 0], minlength=len(first))
        nbytes, unsized = self._sizes(row, len(first))
        involved = self._involved(row, len(first))
        devices = self._devices(row, len(first))
        rows = []
        for number, (example, sort) in enumerate(
            zip(away[first].tolist(), harmless[first].tolist(), strict=True)
        ):
            culprit = int(self.verdicts.culprit[example])
            op_types, dtypes = involved[number]
            name = self.sorts[sort] if sort >= 0 else ""
            rows.append(
                BlameRow(
                    rule=self.verdicts.rule_of(example),
                    cause=f"{name} never run on a {self.kind}"
                    if name
                    else self._cause(example, devices[number]),
                    op_types=op_types,
                    dtypes=dtypes,
                    decided_by=self.graph.names[culprit],
                    nodes=int(nodes[number]),
                    itself=int(own_counts[number]),
                    bound=int(nodes[number] - own_counts[number]),
                    followers=int(followers[number]),
                    nbytes=nbytes[number],
                    unsized=unsized[number],
                    example=self.graph.names[example],
                    remedy="nothing has to change"
                    if name
                    else remedy_for(self.placement, example, self.kind).text,
                    devices=() if name else devices[number],
                    harmless=name,
                )
            )
        rows.sort(key=_rank)
        return Blame(self.kind, count, tuple(rows))

    def _fact(self) -> np.ndarray:
        """Return a number shared by nodes whose verdicts name the same rule and fact, or that are harmless alike."""
        rule, culprit, graph = self.verdicts.rule, self.verdicts.culprit, self.graph
        of_op = np.isin(rule, [RULES.index(each) for each in _OF_OP])
        requests = self._requests[graph.device[culprit]]
        fact = rule * (int(requests.max()) + 2) + np.where(self.of_request, requests + 1, 0)
        fact = fact * (len(graph.signatures) + 1) + np.where(of_op, graph.signature[culprit] + 1, 0)
        _, fact = np.unique(fact, return_inverse=True)
        if self.follows.any():
            fact = (rule * self.follows) * (int(fact.max()) + 1) + fact[self._ends]
        return np.where(self.harmless >= 0, -1 - self.harmless, fact)

    @cached_property
    def _requests(self) -> np.ndarray:
        """[distinct requests] a number shared by requests that differ only in task, replica or index.

        A request that no device of the machine matches is kept apart from one that a device matches.
        """
        numbers: dict[tuple[object, ...], int] = {}
        result = []
        for number, text in enumerate(self.graph.devices):
            name = self.placement.placer.parsed[number]
            key: tuple[object, ...] = (text,)
            if name is not None and name != ANY:
                is_available = bool(self.placement.device_set.matching(name))
                has_numbers = tuple(part is not None for part in (name.replica, name.task, name.id))
                key = name.job, name.type, has_numbers, is_available
            result.append(numbers.setdefault(key, len(numbers)))
        return np.array(result or [0], dtype=np.int64)

    def _devices(self, row: np.ndarray, rows: int) -> list[tuple[str, ...]]:
        """Return the distinct requests that cause each row, [rows], in graph order."""
        ends = self._ends[self.away]
        is_request = self.of_request[ends]
        width = len(self.graph.devices)
        cells = (row * width + self.graph.device[self.verdicts.culprit[ends]])[is_request]
        devices: list[list[str]] = [[] for _ in range(rows)]
        cells, first = np.unique(cells, return_index=True)
        for cell in cells[np.argsort(first, kind="stable")].tolist():
            at, request = divmod(cell, width)
            if text := self.graph.devices[request]:
                devices[at].append(text)
        return [tuple(texts) for texts in devices]

    def _is_itself(self) -> np.ndarray:
        """Return whether the rule applies to the node itself, rather than to a node that shares its device."""
        nodes = np.arange(len(self.graph))
        partition, decisions = self.placement.partition, self.placement.decisions
        if partition is None or decisions is None:
            return self.verdicts.culprit == nodes
        return np.where(self.follows, decisions.decider[partition.root], self.verdicts.culprit) == nodes

    @cached_property
    def _ends(self) -> np.ndarray:
        """Return the node at the end of each node's chain of follows; chains of n nodes take about log n rounds."""
        step = np.where(self.follows, self.verdicts.culprit, np.arange(len(self.graph)))
        for _ in range(len(self.graph).bit_length()):
            step = step[step]
        return step

    def _cause(self, node: int, devices: Sequence[str]) -> str:
        """Describe the cause without naming nodes.

        Args:
            node: a node of the row.
            devices: the requested devices, as returned by `_devices`.
        """
        graph, rule = self.graph, self.verdicts.rule_of(node)
        if rule in _FOLLOWED:
            end = int(self._ends[node])
            if self.verdicts.rule_of(end) in _FOLLOWED:
                return _FOLLOWED[rule]
            return f"{_FOLLOWED[rule]} ({self.verdicts.rule_of(end).value}: {self._cause(end, devices)})"
        culprit = int(self.verdicts.culprit[node])
        request = graph.requested_device(culprit)
        if rule is Rule.KERNEL:
            return kernel_sentence(
                self.placement, culprit, lacking_types(self.placement, self.placement.constraints(node))
            )
        if rule is Rule.REQUEST and request:
            return f"the program asks for {_listed(devices)}"
        if rule in (Rule.YIELDS_TO_SOURCE, Rule.REQUESTS_DROPPED):
            return f"another node of the group asks for {_listed(devices or [request])}"
        if rule is Rule.FAILED:
            return f"no device is left: '{request}' is not available" if request else "no device is left"
        text = self.sentences(culprit if self.verdicts.rule_of(culprit) is rule else node)
        return text.replace(f"'{request}'", _listed(devices), 1) if len(devices) > 1 else text

    def _sizes(self, row: np.ndarray, rows: int) -> tuple[list[int], list[int]]:
        """Return each row's known bytes, as exact integers, and its number of nodes with an unknown size."""
        nbytes, unsized = [0] * rows, [0] * rows
        tensor_shape: Any = above("gpuplace.cost.shapes.graph_shapes", "graph_shapes")(
            self.graph, self.placement.placer.catalogue
        ).tensor
        outputs = [len(fact.output_types) for fact in self.placement.facts]
        signature = self.graph.signature[self.away].tolist()
        left = _MAX_OUTPUTS + len(self.graph) + self.graph.num_edges
        for row_number, node, signature_number in zip(
            row.tolist(), self.away.tolist(), signature, strict=True
        ):
            count = min(outputs[signature_number], left)
            left -= count
            sizes = [tensor_shape(node, output).nbytes for output in range(count)]
            if count < outputs[signature_number]:
                sizes.append(None)
            nbytes[row_number] += sum(size for size in sizes if size is not None)
            unsized[row_number] += None in sizes
        return nbytes, unsized

    def _involved(self, row: np.ndarray, rows: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return each row's op types, most frequent first, and the dtypes in its nodes' signatures."""
        signatures = self.placement.graph.signatures
        width = len(signatures)
        keys, counts = np.unique(row * width + self.graph.signature[self.away], return_counts=True)
        ops: list[dict[str, int]] = [{} for _ in range(rows)]
        types: list[set[str]] = [set() for _ in range(rows)]
        for key, number in zip(keys.tolist(), counts.tolist(), strict=True):
            row_number, signature = divmod(key, width)
            op_type = signatures[signature].op_type
            ops[row_number][op_type] = ops[row_number].get(op_type, 0) + number
            for _, value in signatures[signature].attrs:
                values = value if isinstance(value, tuple) else (value,)
                types[row_number].update(item.name for item in values if isinstance(item, DType))
        return [
            (tuple(sorted(op_counts, key=lambda name: (-op_counts[name], name))), tuple(sorted(names)))
            for op_counts, names in zip(ops, types, strict=True)
        ]
