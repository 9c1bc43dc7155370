"""How each group gets its device, computed before any machine is known.

Nodes are visited in graph order; *generators* (no data input, one output) wait for a second pass. The first visited
node of a group decides for the whole group::

    pass 1   metadata or passing Identity first?   its input's device, if the group may have it
             otherwise                             the first candidate
    pass 2   groups of generators only             the device of all consumers, if it is one and the group may have it
             otherwise                             the first candidate

Groups of one kind (see `kinds`) that follow groups with the same label share a *label*: they get the same device on
every machine. A graph of 100,000 nodes has a few hundred labels, and only these are decided again for each machine::

    label 7    kind 2                           its own first candidate
    label 31   kind 5, metadata of label 7      the device of label 7, if kind 5 may have it

Source: tensorflow/core/common_runtime/placer.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpuplace.placer.bindings import Groups
from gpuplace.placer.node_facts import NodeFacts
from gpuplace.placer.placement_graph import PlacementGraph

FIRST, METADATA, IDENTITY, GENERATOR, UNDECIDED = range(5)
"""How a group gets its device: best candidate; with its first node's input (two rules); with its consumers; none."""


class Follower(NamedTuple):
    """A label that depends on other labels."""

    kind: int
    rule: int
    """`METADATA`, `IDENTITY` or `GENERATOR`; `FIRST` for the group of a node assigned before placing."""
    leaders: tuple[int, ...]
    """The labels to follow, or the assigned node."""


@dataclass(frozen=True)
class Outline:
    """The labels of a graph's groups.

    Labels below `kinds` are the groups that follow no other group, one label per kind.
    """

    groups: Groups
    assigned: frozenset[int]
    """The nodes assigned before placing."""
    label: np.ndarray
    """[nodes] int64: label of the node's group."""
    followers: tuple[Follower, ...]
    """The labels from `kinds` on; each follows earlier labels only."""
    kinds: int
    decider: np.ndarray
    """[nodes] int64, at each group's root: the first visited node of the group; -1 elsewhere."""
    is_generator: np.ndarray
    """[nodes] bool: whether the node waits for the second pass."""

    def fits(self, groups: Groups, assigned: Collection[int]) -> bool:
        """Return whether this outline is valid for these groups."""
        own = self.groups
        return (
            self.assigned == frozenset(assigned)
            and len(own.of_kind) == len(groups.of_kind)
            and (own.root is groups.root or np.array_equal(own.root, groups.root))
            and (own.kind is groups.kind or np.array_equal(own.kind, groups.kind))
        )


def outline(
    graph: PlacementGraph,
    facts: Sequence[NodeFacts],
    groups: Groups,
    assigned: Collection[int] = (),
    *,
    identity_follows_input: bool,
) -> Outline:
    """Determine which group follows which.

    Args:
        graph: the nodes.
        facts: the facts of each signature.
        groups: which nodes share a device.
        assigned: nodes assigned before placing.
        identity_follows_input: the rule of 2.x for Identity nodes.
    """
    count = len(graph)
    is_generator = np.array([fact.is_generator for fact in facts], dtype=bool)[graph.signature]
    is_generator[list(assigned)] = False

    turn = np.full(count, 2 * count, dtype=np.int64)
    np.minimum.at(turn, groups.root, is_generator * count + graph.rank)
    roots = np.flatnonzero(groups.root == np.arange(count))
    decider = np.full(count, -1, dtype=np.int64)
    decider[roots] = graph.order[turn[roots] % max(count, 1)]

    labels = _Labels(graph, groups, is_generator, decider)
    labels.keep_assigned(assigned)
    _follow_inputs(labels, facts, roots[turn[roots] < count], assigned, identity_follows_input)
    _follow_consumers(labels, roots[turn[roots] >= count])
    return Outline(
        groups,
        frozenset(assigned),
        labels.of_root[groups.root],
        tuple(labels.rows),
        len(groups.of_kind),
        decider,
        is_generator,
    )


class _Labels:
    """The labels assigned so far."""

    def __init__(
        self, graph: PlacementGraph, groups: Groups, is_generator: np.ndarray, decider: np.ndarray
    ) -> None:
        self.graph = graph
        self.groups = groups
        self.is_generator = is_generator
        self.decider = decider
        self.of_root = groups.kind.copy()
        """[nodes] at each group's root: its label."""
        self.rows: dict[Follower, int] = {}

    def number(self, row: Follower) -> int:
        """Return the label of a follower."""
        return self.rows.setdefault(row, len(self.groups.of_kind) + len(self.rows))

    def follow(self, roots: np.ndarray, rules: np.ndarray, leaders: np.ndarray) -> None:
        """Label groups whose device follows from the label of another group.

        Args:
            roots: [groups] roots of the groups.
            rules: [groups] the rule that makes each group follow.
            leaders: [groups] the label that each group follows.
        """
        stride = len(self.groups.of_kind) + len(self.rows)
        keys = (self.groups.kind[roots] * UNDECIDED + rules) * stride + leaders
        distinct, inverse = np.unique(keys, return_inverse=True)
        numbers = []
        for key in distinct.tolist():
            (kind, rule), leader = divmod(key // stride, UNDECIDED), key % stride
            numbers.append(self.number(Follower(kind, rule, (leader,))))
        self.of_root[roots] = np.array(numbers, dtype=np.int64)[inverse]

    def keep_assigned(self, nodes: Collection[int]) -> None:
        """Keep the devices of groups whose first node was already assigned."""
        for node in nodes:
            group = int(self.groups.root[node])
            if self.decider[group] == node:
                self.of_root[group] = self.number(Follower(int(self.groups.kind[group]), FIRST, (node,)))


def _follow_inputs(
    labels: _Labels, facts: Sequence[NodeFacts], roots: np.ndarray, assigned: Collection[int], identity: bool
) -> None:
    """First pass: label groups whose first node is a metadata node, or an Identity that passes its input through."""
    graph, groups = labels.graph, labels.groups
    rule_of = np.array(
        [
            METADATA if fact.is_metadata else IDENTITY if identity and fact.is_identity else FIRST
            for fact in facts
        ],
        dtype=np.int8,
    )
    if not rule_of.any():
        return
    deciders = labels.decider[roots]
    rules = rule_of[graph.signature[deciders]]
    follows = rules != FIRST
    roots, deciders, rules = roots[follows], deciders[follows], rules[follows]
    assigned_nodes = np.fromiter(assigned, dtype=np.int64, count=len(assigned))
    if len(assigned_nodes):
        unassigned = ~np.isin(deciders, assigned_nodes)
        roots, deciders, rules = roots[unassigned], deciders[unassigned], rules[unassigned]
    has_input = graph.in_start[deciders + 1] > graph.in_start[deciders]
    roots, deciders, rules = roots[has_input], deciders[has_input], rules[has_input]
    sources = graph.src[graph.in_start[deciders]].astype(np.int64)
    if graph.first_edge:
        for i, node in enumerate(deciders.tolist()):
            if node in graph.first_edge:
                sources[i] = graph.src[graph.first_edge[node]]
    rank = graph.rank
    # The source must have its device already. Generators get theirs later, unless assigned before placing.
    has_device = ~labels.is_generator[sources] & (rank[sources] < rank[deciders])
    if len(assigned_nodes):
        has_device |= np.isin(sources, assigned_nodes)
    if identity:
        has_device &= (rules == METADATA) | is_passing(graph, deciders, sources)
    roots, rules, sources = roots[has_device], rules[has_device], sources[has_device]
    order = np.argsort(rank[deciders[has_device]], kind="stable")
    roots, rules, leaders = roots[order], rules[order], groups.root[sources[order]]
    # Most groups follow a group that does not follow itself; only chains must be labeled one by one, in order.
    is_follower = np.zeros(len(graph), dtype=bool)
    is_follower[roots] = True
    is_chained = is_follower[leaders]
    labels.follow(roots[~is_chained], rules[~is_chained], labels.of_root[leaders[~is_chained]])
    of_root, number = labels.of_root, labels.number
    roots, rules, leaders = roots[is_chained], rules[is_chained], leaders[is_chained]
    kinds = groups.kind[roots].tolist()
    for group, kind, rule, leader in zip(
        roots.tolist(), kinds, rules.tolist(), leaders.tolist(), strict=True
    ):
        of_root[group] = number(Follower(kind, rule, (int(of_root[leader]),)))


def is_passing(graph: PlacementGraph, nodes: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return which nodes have no request, one edge in and one out, and neighbors with equal requests.

    A node without consumers leads to the graph's sink, which has no request.
    """
    outs = graph.out_start[nodes + 1] - graph.out_start[nodes]
    has_sink = outs == 0 if graph.leads_to_sink is None else graph.leads_to_sink[nodes]
    passing = (
        (graph.in_start[nodes + 1] - graph.in_start[nodes] == 1)
        & (outs + has_sink == 1)
        & (graph.device[nodes] == 0)
    )
    request_after = np.zeros(len(nodes), dtype=graph.device.dtype)
    consumed = np.flatnonzero(outs == 1)
    request_after[consumed] = graph.device[graph.dst[graph.out_order[graph.out_start[nodes[consumed]]]]]
    return passing & (request_after == graph.device[sources])


def _follow_consumers(labels: _Labels, roots: np.ndarray) -> None:
    """Second pass: label groups of generators only."""
    graph = labels.graph
    roots = roots[np.argsort(graph.rank[labels.decider[roots]], kind="stable")]
    deciders = labels.decider[roots]
    starts, stops = graph.out_start[deciders], graph.out_start[deciders + 1]
    used = stops > starts
    if graph.leads_to_sink is not None:
        used &= ~graph.leads_to_sink[deciders]
    roots, deciders, starts, stops = roots[used], deciders[used], starts[used], stops[used]
    if not len(roots):
        return
    # The out-edges of all these nodes in one array, `lengths` of them for each node.
    lengths = stops - starts
    ends = np.cumsum(lengths)
    begins = ends - lengths
    edges = graph.out_order[np.arange(ends[-1]) + np.repeat(starts - begins, lengths)]
    consumers = graph.dst[edges]
    waits = labels.is_generator[consumers]
    has_waiting = np.logical_or.reduceat(waits, begins)
    leaders = labels.of_root[labels.groups.root[consumers]]
    low, high = np.minimum.reduceat(leaders, begins), np.maximum.reduceat(leaders, begins)
    kinds = labels.groups.kind[roots]
    single = ~has_waiting & (low == high)
    labels.follow(roots[single], np.full(int(single.sum()), GENERATOR), low[single])
    several = np.flatnonzero(~has_waiting & (low != high))
    for i in several.tolist():
        leader_labels = frozenset(leaders[begins[i] : ends[i]].tolist())
        row = Follower(int(kinds[i]), GENERATOR, tuple(sorted(leader_labels)))
        labels.of_root[roots[i]] = labels.number(row)
    for i in np.flatnonzero(has_waiting).tolist():
        span = consumers[begins[i] : ends[i]]
        is_ready = ~labels.is_generator[span] | (graph.rank[span] < graph.rank[deciders[i]])
        if is_ready.all():
            leader_labels = frozenset(labels.of_root[labels.groups.root[span]].tolist())
            labels.of_root[roots[i]] = labels.number(
                Follower(int(kinds[i]), GENERATOR, tuple(sorted(leader_labels)))
            )
