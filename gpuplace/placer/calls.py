"""Calls that give back resources: what their functions say of the nodes around them.

The placer looks into the function that such a call names. Arguments and results that share a device inside make groups,
and the call's neighbours, the Identity nodes that `lowering.isolation` put there, are tied as those groups are::

    a ─> a_f ─> f ─┬─> f_r ─> r        inside f, results 0 and 1 are argument 0:
                   └─> f_s ─> s        a_f ties f_r, then f_s; what the group inside asks for limits all three

A reader of a handle is tied to the first node of its group as by a resource edge, so that its request yields; other
nodes are colocated with it, and neither can be ignored under soft placement.

TensorFlow keeps the calls in a hash set of addresses. As long as no two fall into one bucket, which is the rule, its
order follows from the order in which they came, and that one is used here. The readers of a call are such a set from
the ninth on: the order of the graph is used, though TensorFlow's answer varies where more than eight readers ask for
different devices.

Source: tensorflow/core/common_runtime/colocation_graph.cc, inspecting_placer.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpuplace.placer.grouping import Binding
from gpuplace.placer.member import Member
from gpuplace.placer.node_facts import RESOURCE, NodeFacts
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph


class Reader(NamedTuple):
    """A node that a call feeds."""

    result: int
    node: int
    takes_handle: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call that gives back resources, and its neighbours."""

    node: int
    inputs: tuple[int, ...]
    """The nodes that feed it, by argument."""
    readers: tuple[Reader, ...]
    """In order of the graph."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """All neighbours, the call itself where it has none."""
        return (*self.inputs, *(reader.node for reader in self.readers)) or (self.node,)

    def groups(self, inside: Inside) -> dict[int, list[tuple[int, bool]]]:
        """Group inside -> the neighbours that belong to it, and whether each reads a handle from the call."""
        found: dict[int, list[tuple[int, bool]]] = {}
        for source, group in zip(self.inputs, inside.arguments, strict=True):
            found.setdefault(group, []).append((source, False))
        for reader in self.readers:
            found.setdefault(inside.results[reader.result], []).append((reader.node, reader.takes_handle))
        return dict(sorted(found.items()))

    def ties(self, inside: Inside) -> Iterator[tuple[Binding, int, int]]:
        """The pairs of neighbours that are tied, in order."""
        for (first, _), *others in self.groups(inside).values():
            for other, takes_handle in others:
                yield Binding.RESOURCE if takes_handle else Binding.CALL, first, other


@dataclass(frozen=True)
class Inside:
    """What a function's body says of a call's neighbours: which belong together, and what binds them."""

    arguments: tuple[int, ...]
    """Group of each argument."""
    results: tuple[int, ...]
    """Group of each result."""
    members: tuple[Member, ...]
    """Constraints of each group."""
    functions: frozenset[str] = frozenset()
    """The functions that were looked into for it, by name."""


def calls_of(graph: PlacementGraph, facts: Sequence[NodeFacts], rules: str) -> list[Call]:
    """The calls of a graph that give back resources, in the order in which TensorFlow looks into them.

    Args:
        graph: the nodes and edges.
        facts: facts of each signature.
        rules: rule set, `"1.15"` or `"2.21"`.
    """
    found: list[tuple[int, Call]] = []
    for node in graph.inspections:
        into = [edge for edge in graph.in_edges(node) if graph.dst_input[edge] != CONTROL]
        out = [edge for edge in graph.out_edges(node) if graph.src_output[edge] != CONTROL]
        readers = []
        for edge in out:
            reader = int(graph.dst[edge])
            kind = facts[graph.signature[reader]].input_kinds[int(graph.dst_input[edge])]
            readers.append(Reader(int(graph.src_output[edge]), reader, kind == RESOURCE))
        turns = [0 if graph.edge_turn is None else int(graph.edge_turn[edge]) for edge in (*into, *out)]
        call = Call(node, tuple(int(graph.src[edge]) for edge in into), tuple(readers))
        found.append((min(turns, default=0), call))
    found.sort(key=lambda item: item[0])
    return [found[position][1] for position in hash_set_order(len(found), _GROWS_AT[rules])]


_GROWS_AT = {"1.15": (3, 7, 17, 37, 79), "2.21": (14, 30, 60, 128)}
"""By rule set: the additions before which the hash set grows, which turns round the order of what it holds. With more
calls than these, some share a bucket in any case."""


def hash_set_order(count: int, grows_at: Sequence[int]) -> list[int]:
    """The order in which a hash set gives back what was put in, if no two things share a bucket.

    Args:
        count: how many things were put in.
        grows_at: the additions before which it grows.

    >>> hash_set_order(5, (3, 7)), hash_set_order(8, (3, 7))
    ([4, 3, 2, 0, 1], [7, 6, 1, 0, 2, 3, 4, 5])
    """
    order: deque[int] = deque()
    for position in range(count):
        if position + 1 in grows_at:
            order.reverse()
        order.appendleft(position)
    return list(order)
