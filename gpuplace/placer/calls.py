"""Calls that return resources, and the constraints that their functions put on neighboring nodes.

The placer inspects the function of such a call. Arguments and results that share a device inside the function form
groups, and the call's neighbors (the Identity nodes that `lowering.isolation` added) are tied in the same way::

    a ─> a_f ─> f ─┬─> f_r ─> r        inside f, results 0 and 1 are argument 0:
                   └─> f_s ─> s        a_f ties f_r, then f_s; the group's constraints inside apply to all three

A reader of a handle is tied to the first node of its group as by a resource edge, so its request yields. Other nodes
are colocated with it. Soft placement cannot ignore either tie.

TensorFlow keeps the calls in a hash set of addresses. As long as no two calls share a bucket, which is the rule, the
iteration order follows from the insertion order, and that order is used here. TensorFlow also keeps the readers of a
call in such a set from the ninth reader on. Graph order is used instead: TensorFlow's answer varies if more than eight
readers request different devices.

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
    """A node that reads a result of a call."""

    result: int
    node: int
    takes_handle: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call that returns resources, and its neighbors."""

    node: int
    inputs: tuple[int, ...]
    """The nodes that feed it, by argument."""
    readers: tuple[Reader, ...]
    """The readers of its results, in graph order."""

    @property
    def nodes(self) -> tuple[int, ...]:
        """All neighbors, or the call itself if it has none."""
        return (*self.inputs, *(reader.node for reader in self.readers)) or (self.node,)

    def groups(self, inside: Inside) -> dict[int, list[tuple[int, bool]]]:
        """Return the neighbors of each group inside the function, and whether each reads a handle from the call."""
        groups: dict[int, list[tuple[int, bool]]] = {}
        for source, group in zip(self.inputs, inside.arguments, strict=True):
            groups.setdefault(group, []).append((source, False))
        for reader in self.readers:
            groups.setdefault(inside.results[reader.result], []).append((reader.node, reader.takes_handle))
        return dict(sorted(groups.items()))

    def ties(self, inside: Inside) -> Iterator[tuple[Binding, int, int]]:
        """Yield the pairs of neighbors that are tied, in order."""
        for (first, _), *others in self.groups(inside).values():
            for other, takes_handle in others:
                yield Binding.RESOURCE if takes_handle else Binding.CALL, first, other


@dataclass(frozen=True)
class Inside:
    """The constraints of a function's body on a call's neighbors: their groups, and the constraints of each group."""

    arguments: tuple[int, ...]
    """Group of each argument."""
    results: tuple[int, ...]
    """Group of each result."""
    members: tuple[Member, ...]
    """Constraints of each group."""
    functions: frozenset[str] = frozenset()
    """Names of the functions that were inspected for this result."""


def calls_of(graph: PlacementGraph, facts: Sequence[NodeFacts], rules: str) -> list[Call]:
    """Return the calls of a graph that return resources, in the order in which TensorFlow inspects them.

    Args:
        graph: the nodes and edges.
        facts: the facts of each signature.
        rules: the rule set, `"1.15"` or `"2.21"`.
    """
    ordered: list[tuple[int, Call]] = []
    for node in graph.inspections:
        into = [edge for edge in graph.in_edges(node) if graph.dst_input[edge] != CONTROL]
        out = [edge for edge in graph.out_edges(node) if graph.src_output[edge] != CONTROL]
        readers = []
        for edge in out:
            reader = int(graph.dst[edge])
            kind = facts[graph.signature[reader]].input_kinds[int(graph.dst_input[edge])]
            readers.append(Reader(int(graph.src_output[edge]), reader, kind == RESOURCE))
        creation_order = [
            0 if graph.edge_turn is None else int(graph.edge_turn[edge]) for edge in (*into, *out)
        ]
        call = Call(node, tuple(int(graph.src[edge]) for edge in into), tuple(readers))
        ordered.append((min(creation_order, default=0), call))
    ordered.sort(key=lambda item: item[0])
    return [ordered[position][1] for position in hash_set_order(len(ordered), _GROWS_AT[rules])]


_GROWS_AT = {"1.15": (3, 7, 17, 37, 79), "2.21": (14, 30, 60, 128)}
"""By rule set: the numbers of insertions at which the hash set grows, which reverses its order. With more calls than
these, some share a bucket in any case.
"""


def hash_set_order(count: int, grows_at: Sequence[int]) -> list[int]:
    """Return the iteration order of a hash set in which no two items share a bucket.

    Args:
        count: the number of inserted items.
        grows_at: the numbers of insertions at which the set grows.

    >>> hash_set_order(5, (3, 7)), hash_set_order(8, (3, 7))
    ([4, 3, 2, 0, 1], [7, 6, 1, 0, 2, 3, 4, 5])
    """
    order: deque[int] = deque()
    for position in range(count):
        if position + 1 in grows_at:
            order.reverse()
        order.appendleft(position)
    return list(order)
