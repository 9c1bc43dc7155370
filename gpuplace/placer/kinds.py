"""Components of bound nodes that no machine can tell apart.

The constraints of a component follow from the *set* of signatures and requested devices in it, so a graph with ten
thousand variables has a few dozen *kinds* of component, and a rule is worked out once per kind::

    v1 ══ Assign ══ read      {(VariableV2, /gpu:0), (Assign, /gpu:0), (Identity, -)}   ──┐
    v2 ══ Assign ══ read      {(VariableV2, /gpu:0), (Assign, /gpu:0), (Identity, -)}   ──┴─> one kind
    x                         {(Placeholder, -)}                                        ────> another

Kinds know nothing of device types, so that they serve every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuplace.placer.placement_graph import PlacementGraph

_SPARSE = 8
"""Codes are counted in a table as long as it has at most this many places per node, else they are sorted."""


@dataclass(frozen=True)
class Kinds:
    """The kinds of a graph's components, and what each holds."""

    of_node: np.ndarray
    """[nodes] int64: kind of the node's component."""
    is_bound: np.ndarray
    """[kinds] bool: components of two or more nodes."""
    kind: np.ndarray
    """[entries] int64: the kind that the entry belongs to; each (signature, device) is there once per kind."""
    signature: np.ndarray
    """[entries] int64: index into the graph's signatures."""
    device: np.ndarray
    """[entries] int64: index into the graph's requested devices."""

    def __len__(self) -> int:
        return len(self.is_bound)


def kinds_of(graph: PlacementGraph, component: np.ndarray, bound: np.ndarray) -> Kinds:
    """Sorts a graph's components into kinds.

    Args:
        graph: the nodes.
        component: [nodes] smallest node of each node's component.
        bound: the nodes of components of two or more nodes.
    """
    width = max(len(graph.devices), 1)
    codes, code = numbered(graph.signature.astype(np.int64) * width + graph.device)
    alone = np.ones(len(graph), dtype=bool)
    alone[bound] = False
    # A kind per code that a single node has, whether or not one does; then a kind per set of codes.
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
    """The distinct values in rising order, and the place of each value among them.

    Args:
        values: [values] int64, none below 0; quickest where they are not much larger than there are of them.
    """
    if not len(values) or int(values.max()) > _SPARSE * len(values) + 4096:
        distinct, place = np.unique(values, return_inverse=True)
        return distinct, place.astype(np.int64)
    present = np.flatnonzero(np.bincount(values))
    place_of = np.empty(int(present[-1]) + 1, dtype=np.int64)
    place_of[present] = np.arange(len(present))
    return present, place_of[values]
