"""The subgraph that a step runs, cut at the feeds.

A fed tensor comes from the client, like the value of a ``Placeholder``. A fed node of another type therefore becomes a
placeholder, and the nodes that only it needs do not run.

Source: tensorflow/core/graph/subgraph.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.graph.op_sets import PLACEHOLDERS
from gpuplace.model.subject.subject import Subject
from gpuplace.ops.gradients.indexed_slices import IndexedSlicesValue
from gpuplace.ops.sparse.sparse_tensor import SparseTensorValue
from gpuplace.placer.placement_graph import PlacementGraph, Signature
from gpuplace.runtime.session.fetches import composite_pairs
from gpuplace.why.placement import Placement


@dataclass(frozen=True, eq=False)
class StepPart:
    """The nodes of a step as a separate graph."""

    graph: PlacementGraph
    """The nodes that run, in the order of the whole graph."""
    nodes: np.ndarray
    """[nodes] position of each node in the whole graph."""
    device: np.ndarray
    """[nodes] position of each node's device in the device set."""
    fetches: tuple[tuple[int, int], ...]
    """Fetched tensors, as node and output; -1 for an operation that only runs."""
    is_fed: np.ndarray
    """[nodes] bool: whether the value comes from the client."""
    subject: Subject
    """The step."""


def step_part(placement: Placement, subject: Subject) -> StepPart:
    """Return the part of a placed graph that a step runs.

    Args:
        placement: placement of the whole graph.
        subject: the step.
    """
    graph = placement.graph
    nodes = np.flatnonzero(subject.runs)
    part, is_fed = _sub_graph(graph, nodes, {node for node, _ in subject.fed})
    position = np.full(len(graph), -1, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    fetches = tuple((int(position[node]), output) for node, output in subject.targets)
    return StepPart(part, nodes, placement.devices[nodes], fetches, is_fed, subject)


def single_feeds(feeds: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return feeds of single tensors: a value fed for a composite such as a ``SparseTensor`` is split into its parts.

    Args:
        feeds: as for ``gpuplace.estimate``; for a composite, a value such as a ``SparseTensorValue``, or a shape or an
            array for each of its tensors.

    Raises:
        TypeError: the object cannot be fed.
        ValueError: the value has the wrong number of parts.
    """
    by_tensor: dict[Any, Any] = {}
    for key, value in (feeds or {}).items():
        pairs = composite_pairs(key, value)
        is_value = isinstance(value, SparseTensorValue | IndexedSlicesValue)
        for tensor, part in [(key, value)] if pairs is None else pairs:
            by_tensor[tensor] = part if pairs is None or not is_value else np.asarray(part)
    return by_tensor


def _sub_graph(graph: PlacementGraph, nodes: np.ndarray, cut: set[int]) -> tuple[PlacementGraph, np.ndarray]:
    """Return the graph of some nodes; fed nodes become placeholders without inputs."""
    positions = nodes.tolist()
    is_fed = graph.of_types(PLACEHOLDERS)[nodes]
    replaced: dict[int, int] = {}
    signatures = list(graph.signatures)
    signature = graph.signature[nodes].copy()
    for index, node in enumerate(positions if cut else ()):
        if node in cut and not is_fed[index]:
            is_fed[index] = True
            dtype = None if graph.tensor_info is None else graph.tensor_info(node, 0).dtype
            replaced[index] = node
            signatures.append(Signature("Placeholder", (("dtype", dtype),)))
            signature[index] = len(signatures) - 1
    if len(nodes) == len(graph) and not replaced:
        return graph, is_fed
    position = np.full(len(graph), -1, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    edges = position[graph.dst] >= 0
    if cut:
        edges &= ~np.isin(graph.dst, np.array(sorted(cut)))
    classes = position[graph.class_node] >= 0
    group_node = np.where(graph.group_node >= 0, position[graph.group_node], -1)
    info, attrs, line = graph.tensor_info, graph.node_attrs or graph.attrs, graph.source_line

    def node_attrs(index: int) -> Mapping[str, Any]:
        if index in replaced:
            return dict(signatures[int(signature[index])].attrs)
        return attrs(positions[index])

    part = graph.changed(
        names=tuple([graph.names[node] for node in positions]),
        signatures=tuple(signatures),
        signature=signature,
        device=graph.device[nodes],
        group_node=group_node.astype(np.int32),
        class_node=position[graph.class_node[classes]].astype(np.int32),
        class_group=graph.class_group[classes],
        src=position[graph.src[edges]].astype(np.int32),
        src_output=graph.src_output[edges],
        dst=position[graph.dst[edges]].astype(np.int32),
        dst_input=graph.dst_input[edges],
        node_attrs=node_attrs,
        tensor_info=None if info is None else (lambda index, output: info(positions[index], output)),
        source_line=None if line is None else (lambda index: line(positions[index])),
        edge_turn=None if graph.edge_turn is None else graph.edge_turn[edges],
        inspections={},
        first_edge={},
        leads_to_sink=None,
    )
    vars(part).pop("order", None)
    return part, is_fed
