"""Requests overridden by reference and resource edges, as TensorFlow logs them.

A consumer that requests a different device from the variable it reads is placed on the variable's device. With
`log_device_placement`, TensorFlow reports this on stderr, before the node lines:

    Ignoring device specification /device:GPU:1 for node 'u' because the input edge from 'v' is a reference connection
    and already has a device field set to /device:CPU:0

Source: simple_placer.cc, release 1.0; placer.cc, 1.4; colocation_graph.cc, 1.15 and 2.21.
"""

from __future__ import annotations

import numpy as np

from gpuplace.placer.grouping import Merge
from gpuplace.placer.placed import Placed
from gpuplace.why.node_text import specification_text
from gpuplace.why.what_if import regroup


def yielded_request_notes(placement: Placed, release: str) -> list[str]:
    """Return a line for each request that an edge overrides, in the order of the consumers.

    Args:
        placement: placed graph.
        release: the release whose wording is used.
    """
    single = placement.single
    if single is None or placement.partition is None:
        return []
    yielded: dict[int, Merge] = {}

    def record(merge: Merge) -> None:
        if merge.yielded:
            yielded.setdefault(merge.second, merge)

    for component in _contested(placement):
        regroup(placement, component, single, record)
    graph = placement.graph
    lines = []
    for node, merge in sorted(yielded.items(), key=lambda item: int(graph.rank[item[0]])):
        dropped, kept = (
            specification_text(member.requested.to_string(), release)
            for member in (merge.before_second, merge.before_first)
        )
        lines.append(
            f"Ignoring device specification {dropped} for node '{graph.names[node]}' because the input edge from "
            f"'{graph.names[merge.first]}' is a reference connection and already has a device field set to {kept}"
        )
    return lines


def _contested(placement: Placed) -> list[int]:
    """Return the groups, by component, whose nodes request more than one device."""
    bindings, graph = placement.placer.bindings, placement.graph
    asking = bindings.bound[graph.device[bindings.bound] != 0]
    pairs = np.unique(np.stack((bindings.component[asking], graph.device[asking])), axis=1)
    components, counts = np.unique(pairs[0], return_counts=True)
    contested: list[int] = components[counts > 1].tolist()
    return contested
