"""Kinds of components: components of bound nodes that have the same constraints on every machine.

The constraints of a component follow from its *set* of signatures and requested devices. A graph with ten thousand
variables has a few dozen *kinds* of component, and each rule is evaluated once per kind::

    v1 ══ Assign ══ read      {(VariableV2, /gpu:0), (Assign, /gpu:0), (Identity, -)}   ──┐
    v2 ══ Assign ══ read      {(VariableV2, /gpu:0), (Assign, /gpu:0), (Identity, -)}   ──┴─> one kind
    x                         {(Placeholder, -)}                                        ────> another

Kinds do not depend on device types, so they are valid for every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuplace.placer.placement_graph import PlacementGraph

_SPARSE = 8
"""Values are numbered with a table if it has at most this many entries per value, otherwise by sorting."""


@dataclass(frozen=True)
class Kinds:
    """The kinds of a graph's components, with their signatures and requests."""

    of_node: np.ndarray
    """[nodes] int64: kind of the node's component."""
    is_bound: np.ndarray
    """[kinds] bool: whether the components have two or more nodes."""
    kind: np.ndarray
    """[entries] int64: the kind of each entry; each (signature, device) occurs once per kind."""
    signature: np.ndarray
    """[entries] int64: index into the graph's signatures."""
    device: np.ndarray
    """[entries] int64: index into the graph's requested devices."""

    def __len__(self) -> int:
        return len(self.is_bound)


def kinds_of(graph: PlacementGraph, component: np.ndarray, bound: np.ndarray) -> Kinds:
    """Group a graph's components by kind.

    Args:
        graph: the nodes.
        component: [nodes] the smallest node of each node's component.
        bound: the nodes in components of two or more nodes.
    """
    width = max(len(graph.devices), 1)
    codes, code = numbered(graph.signature.astype(np.int64) * width + graph.device)
    alone = np.ones(len(graph), dtype=bool)
    alone[bound] = False
    # First one kind per (signature, device) code, used or not, for single nodes; then one kind per set of codes.
    of_node = code
    entries = np.sort(component[bound] * max(len(codes), 1) + code[bound])
    entries = entries[np.flatnonzero(np.diff(entries, prepend=-1))]
    label, entry = np.divmod(entries, max(len(codes), 1))
    starts = np.flatnonzero(np.diff(label, prepend=-1))
    stops = np.append(starts, len(label))[1:]
    data, size = entry.tobytes(), entry.itemsize
    numbers: dict[bytes, int] = {}
    kind_of_component = np.empty(len(graph), dtype=np.int64)
    kind_of_component[label[starts]] = [
        numbers.setdefault(data[start * size : stop * size], len(codes) + len(numbers))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    of_node[bound] = kind_of_component[component[bound]]
    sets = [np.frombuffer(content, dtype=entry.dtype) for content in numbers]
    lengths = np.array([len(content) for content in sets], dtype=np.int64)
    content = np.concatenate((np.arange(len(codes)), *sets))
    kind = np.concatenate(
        (np.arange(len(codes)), np.repeat(np.arange(len(codes), len(codes) + len(sets)), lengths))
    )
    signature, device = np.divmod(codes[content], width)
    is_bound = np.arange(len(codes) + len(sets)) >= len(codes)
    return Kinds(of_node, is_bound, kind, signature, device)


def numbered(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values in ascending order, and the index of each value among them.

    Args:
        values: [values] int64, not negative; fastest if they are not much larger than their number.
    """
    if not len(values) or int(values.max()) > _SPARSE * len(values) + 4096:
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct, inverse.astype(np.int64)
    present = np.flatnonzero(np.bincount(values))
    index_of = np.empty(int(present[-1]) + 1, dtype=np.int64)
    index_of[present] = np.arange(len(present))
    return present, index_of[values]
