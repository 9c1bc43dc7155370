"""The two passes over the nodes: from groups with candidates to one device each.

Nodes are visited in graph order; *generators* (no data input, one output) wait for a second pass. The first
visited node of a group decides for the whole group, so the unit of work here is the group::

    pass 1   metadata or passing Identity first?   its input's device, if the group may have it
             else                                  the first candidate
    pass 2   groups of generators only             the device of all consumers, if it is one and the group may have it
             else                                  the first candidate

Everything but the few metadata, Identity and chained generator nodes is array work.

Source: tensorflow/core/common_runtime/placer.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpuplace.placer.bindings import Groups
from gpuplace.placer.candidates import Candidates
from gpuplace.placer.node_facts import NodeFacts
from gpuplace.placer.placement_graph import PlacementGraph

FIRST, METADATA, IDENTITY, GENERATOR, UNDECIDED = range(5)
"""How a group got its device: best candidate, with the input of its first node, with the consumers, not at all."""

NOWHERE = -1
"""Stands for "no device"."""


@dataclass(frozen=True)
class Decisions:
    """What the passes decided."""

    device: np.ndarray
    """[nodes] int64: position in the device set, or `NOWHERE`."""
    decider: np.ndarray
    """[nodes] at each group's root: the first visited node of the group."""
    how: np.ndarray
    """[nodes] int8, at each group's root: `FIRST`, `METADATA`, `IDENTITY`, `GENERATOR` or `UNDECIDED`."""
    is_generator: np.ndarray
    """[nodes] bool: waited for the second pass."""

    def visiting_order(self, graph: PlacementGraph) -> np.ndarray:
        """[nodes] nodes in the order in which they were decided, which is the order of the log."""
        order = graph.order
        late = self.is_generator[order]
        return np.concatenate((order[~late], order[late]))


def decide(
    graph: PlacementGraph,
    facts: Sequence[NodeFacts],
    groups: Groups,
    candidates: Sequence[Candidates],
    assigned: dict[int, int],
    device_types: Sequence[str],
    *,
    identity_follows_input: bool,
) -> Decisions:
    """Gives every node a device, or `NOWHERE` where its group has no candidate.

    Args:
        graph: the nodes.
        facts: per signature.
        groups: which nodes share a device.
        candidates: for each of `groups.members`.
        assigned: node -> position of the device it already has.
        device_types: type of each device of the machine.
        identity_follows_input: the rule of 2.x for Identity nodes.
    """
    count = len(graph)
    root, rank = groups.root, graph.rank
    generator_signature = np.array([fact.is_generator for fact in facts], dtype=bool)
    is_generator = generator_signature[graph.signature] if count else np.zeros(0, dtype=bool)
    if assigned:
        is_generator = is_generator.copy()
        is_generator[list(assigned)] = False

    late = is_generator * count + rank
    turn = np.full(count, 2 * count, dtype=np.int64)
    np.minimum.at(turn, root, late)
    is_root = root == np.arange(count)
    decider = np.full(count, NOWHERE, dtype=np.int64)
    roots = np.flatnonzero(is_root)
    decider[roots] = graph.order[turn[roots] % count] if count else roots

    first = np.array([found.first for found in candidates], dtype=np.int64)
    of_root = np.full(count, NOWHERE, dtype=np.int64)
    of_root[roots] = first[groups.member[roots]]
    how = np.full(count, UNDECIDED, dtype=np.int8)
    how[roots] = np.where(of_root[roots] >= 0, FIRST, UNDECIDED)

    for node, device in assigned.items():
        group = int(root[node])
        if decider[group] == node:
            fits = device_types[device] in dict(groups.members[groups.member[group]].supported)
            of_root[group], how[group] = (device, FIRST) if fits else (NOWHERE, UNDECIDED)
    state = _State(graph, groups, candidates, root, rank, is_generator, of_root, decider, how)
    early = roots[turn[roots] < count]
    _follow_inputs(state, facts, early, assigned, identity_follows_input)
    _follow_consumers(state, roots[turn[roots] >= count], assigned)
    device_of_node = of_root[root]
    for node, device in assigned.items():
        device_of_node[node] = device
    return Decisions(device_of_node, decider, how, is_generator)


@dataclass(frozen=True)
class _State:
    graph: PlacementGraph
    groups: Groups
    candidates: Sequence[Candidates]
    root: np.ndarray
    rank: np.ndarray
    is_generator: np.ndarray
    of_root: np.ndarray
    decider: np.ndarray
    how: np.ndarray

    def allows(self, root: int, device: int) -> bool:
        """Whether a group may have a device."""
        return device >= 0 and device in self.candidates[self.groups.member[root]].devices


def _follow_inputs(
    state: _State, facts: Sequence[NodeFacts], roots: np.ndarray, assigned: dict[int, int], identity: bool
) -> None:
    """First pass: groups whose first node is metadata, or an Identity that passes its input on."""
    graph = state.graph
    kind = np.array(
        [
            METADATA if fact.is_metadata else IDENTITY if identity and fact.is_identity else FIRST
            for fact in facts
        ],
        dtype=np.int8,
    )
    if not kind.any():
        return
    deciders = state.decider[roots]
    kinds = kind[graph.signature[deciders]]
    follows = kinds != FIRST
    roots, deciders, kinds = roots[follows], deciders[follows], kinds[follows]
    if assigned:
        fresh = ~np.isin(deciders, list(assigned))
        roots, deciders, kinds = roots[fresh], deciders[fresh], kinds[fresh]
    first_edge, last_edge = graph.in_start[deciders], graph.in_start[deciders + 1]
    has_input = last_edge > first_edge
    sources = np.full(len(deciders), NOWHERE, dtype=np.int64)
    sources[has_input] = graph.src[first_edge[has_input]]
    if graph.first_edge:
        for i, node in enumerate(deciders.tolist()):
            if node in graph.first_edge:
                sources[i] = graph.src[graph.first_edge[node]]
    if identity:
        passing = _is_passing(graph, deciders, sources)
        sources[(kinds == IDENTITY) & ~passing] = NOWHERE
    known = sources >= 0
    # The source has to have its device already: generators get theirs later, unless they came with one.
    is_late = state.is_generator[sources] | (state.rank[sources] > state.rank[deciders])
    if assigned:
        is_late &= ~np.isin(sources, list(assigned))
    known &= ~is_late
    roots, deciders, kinds, sources = roots[known], deciders[known], kinds[known], sources[known]
    turn = np.argsort(state.rank[deciders], kind="stable")
    source_roots = state.root[sources[turn]].tolist()
    of_root, how = state.of_root, state.how
    for group, source, rule in zip(roots[turn].tolist(), source_roots, kinds[turn].tolist(), strict=True):
        device = int(of_root[source])
        if state.allows(group, device):
            of_root[group] = device
            how[group] = rule


def _is_passing(graph: PlacementGraph, nodes: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Which nodes have no request, one edge in and one out, and neighbours with equal requests.

    A node that nothing consumes leads to the graph's sink, which asks for nothing.
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


def _follow_consumers(state: _State, roots: np.ndarray, assigned: dict[int, int]) -> None:
    """Second pass: groups of generators only."""
    graph = state.graph
    roots = roots[np.argsort(state.rank[state.decider[roots]], kind="stable")]
    deciders = state.decider[roots]
    starts, stops = graph.out_start[deciders], graph.out_start[deciders + 1]
    used = stops > starts
    if graph.leads_to_sink is not None:
        used &= ~graph.leads_to_sink[deciders]
    roots, deciders, starts, stops = roots[used], deciders[used], starts[used], stops[used]
    if not len(roots):
        return
    # All out-edges of these nodes in one row, `lengths` of them for each node.
    lengths = stops - starts
    ends = np.cumsum(lengths)
    edges = graph.out_order[np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)]
    consumers = graph.dst[edges]
    waits = state.is_generator[consumers]
    device = np.where(waits, NOWHERE, state.of_root[state.root[consumers]])
    begins = ends - lengths
    low, high = np.minimum.reduceat(device, begins), np.maximum.reduceat(device, begins)
    has_waiting = np.logical_or.reduceat(waits, begins)
    agreed = (low == high) & (low >= 0)
    members = state.groups.member[roots]
    allowed = _allowed(state.candidates, members, low)
    follow = agreed & allowed & ~has_waiting
    if not has_waiting.any():
        state.of_root[roots[follow]] = low[follow]
        state.how[roots[follow]] = GENERATOR
        return
    for i, (group, node) in enumerate(zip(roots.tolist(), deciders.tolist(), strict=True)):
        if follow[i]:
            target = int(low[i])
        elif has_waiting[i]:
            span = consumers[begins[i] : ends[i]]
            ready = ~state.is_generator[span] | (state.rank[span] < state.rank[node])
            found = np.unique(np.where(ready, state.of_root[state.root[span]], NOWHERE))
            target = int(found[0]) if len(found) == 1 and state.allows(group, int(found[0])) else NOWHERE
        else:
            target = NOWHERE
        if target >= 0:
            state.of_root[group] = target
            state.how[group] = GENERATOR


def _allowed(candidates: Sequence[Candidates], member: np.ndarray, device: np.ndarray) -> np.ndarray:
    """Whether each device is among the candidates of each constraint."""
    if not len(device):
        return np.zeros(0, dtype=bool)
    width = max(int(device.max()), 0) + 2
    code = member * width + np.maximum(device, 0)
    answer = np.zeros(len(device), dtype=bool)
    codes, inverse = np.unique(code, return_inverse=True)
    known = [divmod(value, width) for value in codes.tolist()]
    table = np.array([place in candidates[number].devices for number, place in known], dtype=bool)
    answer[:] = table[inverse]
    return answer & (device >= 0)
