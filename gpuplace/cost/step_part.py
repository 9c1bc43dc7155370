"""What of a graph a step runs: the nodes that the fetches need, up to what is fed.

A fed tensor comes from the client, as a ``Placeholder`` does; so a fed node of another type becomes one, and what only
it needed does not run. Where no fetches are given, a step is what trains: the sinks that the optimizer's updates lead
to.

Source: tensorflow/core/graph/subgraph.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import NOT_FOR_THEIR_RESULTS, PLACEHOLDERS
from gpuplace.graph.operation import Operation
from gpuplace.kernels.registry import Catalogue
from gpuplace.ops.gradients.indexed_slices import IndexedSlicesValue
from gpuplace.ops.sparse.sparse_tensor import SparseTensorValue
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph, Signature, split_tensor_name
from gpuplace.session.fetches import composite_pairs, parts_of_fetch
from gpuplace.why.placement import Placement

UPDATES = ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")
"""How the types of ops begin that an optimizer updates variables with."""
_SEARCHED = 5_000
_TRAIN_OP = "train_op"


@dataclass(frozen=True, eq=False)
class StepPart:
    """A step's nodes, with the graph that they make."""

    graph: PlacementGraph
    """The nodes that run, in the order of the whole graph."""
    nodes: np.ndarray
    """[nodes] position of each in the whole graph."""
    device: np.ndarray
    """[nodes] position of each node's device in the device set."""
    fetches: tuple[tuple[int, int], ...]
    """Fetched tensors, as node and output; -1 for an operation that only runs."""
    is_fed: np.ndarray
    """[nodes] bool: comes from the client."""
    assumed: tuple[str, ...]
    """What was chosen where nothing was said."""


def step_part(placement: Placement, fetches: Any, feeds: Mapping[Any, Any] | None) -> StepPart:
    """The part of a placed graph that a step runs.

    Args:
        placement: the whole graph, placed.
        fetches: names, tensors, operations, or lists and dicts of them; None: what a training step would be.
        feeds: what is fed, by name, tensor or operation.

    Raises:
        InvalidArgumentError: a fetch or feed is not of the graph.
    """
    graph, catalogue = placement.graph, placement.placer.catalogue
    assumed: list[str] = []
    if not len(graph):
        raise InvalidArgumentError.of("The graph has no nodes: there is no step to run.")
    if fetches is None:
        wanted, why = _training_fetches(graph)
        assumed.append(why)
    else:
        wanted = [_tensor(graph, name, "fetch", catalogue) for name in fetch_names(fetches)]
    if not wanted:
        raise InvalidArgumentError.of(
            "Must specify at least one target to fetch or execute.", hint="fetches=['train_op']"
        )
    fed = {_tensor(graph, feed_name(key), "feed", catalogue) for key in feeds or ()}
    keep = _needed(graph, [node for node, _ in wanted], fed)
    nodes = np.flatnonzero(keep)
    part, is_fed = _sub_graph(graph, nodes, {node for node, _ in fed})
    position = np.full(len(graph), -1, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    chosen = tuple((int(position[node]), output) for node, output in wanted)
    return StepPart(part, nodes, placement.devices[nodes], chosen, is_fed, tuple(assumed))


def fetch_names(fetches: Any) -> list[str]:
    """Names in whatever structure ``Session.run`` takes; an operation that runs and gives nothing out is ``^name``.

    Args:
        fetches: a name, tensor, operation or variable, or lists, tuples and dicts of them.

    Raises:
        TypeError: it holds what cannot be fetched.
    """
    if isinstance(fetches, bytes):
        return [fetches.decode()]
    if isinstance(fetches, str):
        return [fetches]
    if isinstance(fetches, Mapping):
        return [name for part in fetches.values() for name in fetch_names(part)]
    if isinstance(fetches, list | tuple | set | frozenset):
        return [name for part in fetches for name in fetch_names(part)]
    parts = parts_of_fetch(fetches)
    if parts is not None:
        return [name for part in parts for name in fetch_names(part)]
    name = getattr(fetches, "name", None)
    if isinstance(name, str):
        return [f"^{name}" if isinstance(fetches, Operation) else name]
    if isinstance(fetches, Iterable):
        return [name for part in fetches for name in fetch_names(part)]
    raise TypeError(
        f"Fetch argument {fetches!r} has invalid type {type(fetches)}, must be a string or Tensor, an operation, or "
        "lists and dicts of them"
    )


def single_feeds(feeds: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Feeds of single tensors: what is fed for an object of several, such as a ``SparseTensor``, by its parts.

    Args:
        feeds: as of ``gpuplace.estimate``; for an object of several tensors a value of it, such as a
            ``SparseTensorValue``, or a shape or an array for each of its tensors.

    Raises:
        TypeError: the object cannot be fed.
        ValueError: the value has more parts, or fewer.
    """
    found: dict[Any, Any] = {}
    for key, value in (feeds or {}).items():
        pairs = composite_pairs(key, value)
        is_value = isinstance(value, SparseTensorValue | IndexedSlicesValue)
        for tensor, part in [(key, value)] if pairs is None else pairs:
            found[tensor] = part if pairs is None or not is_value else np.asarray(part)
    return found


def feed_name(key: Any) -> str:
    """The name of what is fed.

    Args:
        key: a name, tensor or operation.

    Raises:
        TypeError: it is nothing of the kind.
    """
    name = (
        key.decode()
        if isinstance(key, bytes)
        else key
        if isinstance(key, str)
        else getattr(key, "name", None)
    )
    if not isinstance(name, str):
        raise TypeError(f"a feed is named by a name, a tensor or an operation; got {key!r}")
    return name


def _tensor(graph: PlacementGraph, name: str, what: str, catalogue: Catalogue) -> tuple[int, int]:
    """Node and output of a name; output -1 where it names an operation."""
    text = name.removeprefix("^")
    if text in graph.index:
        node = graph.index[text]
        gives_nothing = name.startswith("^") or not _has_outputs(graph, node, catalogue)
        return node, CONTROL if what == "fetch" and gives_nothing else 0
    node_name, output = split_tensor_name(text)
    if node_name not in graph.index:
        alike = get_close_matches(node_name, graph.names[:_SEARCHED], 3)
        raise InvalidArgumentError.of(
            f"Tensor {name}, specified in either feed_devices or fetch_devices was not found in the Graph",
            facts={"asked for as": f"a {what}"},
            hint=", ".join(alike) or None,
        )
    return graph.index[node_name], output


def _has_outputs(graph: PlacementGraph, node: int, catalogue: Catalogue) -> bool:
    """Whether a node gives anything out; a name without an output may mean the operation."""
    op_def = catalogue.ops.get(graph.op_type(node))
    return op_def is None or bool(op_def.outputs)


def _training_fetches(graph: PlacementGraph) -> tuple[list[tuple[int, int]], str]:
    collection = getattr(graph.source, "get_collection", None)
    for op in collection(_TRAIN_OP) if collection is not None else ():
        name = split_tensor_name(getattr(op, "name", str(op)))[0]
        if name in graph.index:
            return [
                (graph.index[name], CONTROL)
            ], f"No fetches given: the step runs {name!r} of the collection train_op."
    types = np.array([signature.op_type for signature in graph.signatures], dtype=object)
    is_update = np.array([str(name).startswith(UPDATES) for name in types], dtype=bool)[graph.signature]
    has_consumers = np.diff(graph.out_start) > 0
    if is_update.any():
        reached = is_update.copy()
        order, start, dst = graph.out_order, graph.out_start, graph.dst
        stack = np.flatnonzero(is_update).tolist()
        while stack:
            node = stack.pop()
            for other in dst[order[start[node] : start[node + 1]]].tolist():
                if not reached[other]:
                    reached[other] = True
                    stack.append(other)
        found = np.flatnonzero(reached & ~has_consumers)
        what = "the optimizer's updates lead to"
    else:
        is_result = ~np.isin(types, list(NOT_FOR_THEIR_RESULTS))[graph.signature]
        found = np.flatnonzero(is_result & ~has_consumers)
        what = "nothing else takes"
        if not len(found):
            found = np.flatnonzero(~has_consumers)
    if graph.origin is not None:  # a call stands for all that inlining added for it
        own = np.array([graph.origin(node) is None for node in range(len(graph))], dtype=bool)
        is_read = np.zeros(len(graph), dtype=bool)
        is_read[graph.src[own[graph.dst]]] = True
        chosen = found[own[found]]
        found = chosen if len(chosen) else np.flatnonzero(own & ~is_read)
    names = [graph.names[node] for node in found.tolist()]
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return [
        (node, CONTROL) for node in found.tolist()
    ], f"No fetches given: the step runs what {what}: {shown}."


def _needed(graph: PlacementGraph, targets: Sequence[int], fed: set[tuple[int, int]]) -> np.ndarray:
    """[nodes] bool: what the targets need; inputs of nodes that are fed are not gone into."""
    keep = np.zeros(len(graph), dtype=bool)
    start, src = graph.in_start.tolist(), graph.src.tolist()
    cut = {node for node, _ in fed}
    seen = [False] * len(graph)
    stack = []
    for node in targets:
        if not seen[node]:
            seen[node] = True
            stack.append(node)
    while stack:
        node = stack.pop()
        if node in cut:
            continue
        for other in src[start[node] : start[node + 1]]:
            if not seen[other]:
                seen[other] = True
                stack.append(other)
    keep[:] = seen
    return keep


def _sub_graph(graph: PlacementGraph, nodes: np.ndarray, cut: set[int]) -> tuple[PlacementGraph, np.ndarray]:
    """The graph of some nodes; those that are fed have no inputs, and are placeholders."""
    whole = nodes.tolist()
    types = [signature.op_type for signature in graph.signatures]
    is_placeholder = np.array([name in PLACEHOLDERS for name in types], dtype=bool)
    is_fed = is_placeholder[graph.signature[nodes]]
    replaced: dict[int, int] = {}
    signatures = list(graph.signatures)
    signature = graph.signature[nodes].copy()
    for place, node in enumerate(whole if cut else ()):
        if node in cut and not is_fed[place]:
            is_fed[place] = True
            dtype = None if graph.tensor_info is None else graph.tensor_info(node, 0).dtype
            replaced[place] = node
            signatures.append(Signature("Placeholder", (("dtype", dtype),)))
            signature[place] = len(signatures) - 1
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

    def node_attrs(place: int) -> Mapping[str, Any]:
        if place in replaced:
            return dict(signatures[int(signature[place])].attrs)
        return attrs(whole[place])

    made = graph.changed(
        names=tuple([graph.names[node] for node in whole]),
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
        tensor_info=None if info is None else (lambda place, output: info(whole[place], output)),
        source_line=None if line is None else (lambda place: line(whole[place])),
        edge_turn=None if graph.edge_turn is None else graph.edge_turn[edges],
        inspections={},
        first_edge={},
        leads_to_sink=None,
    )
    vars(made).pop("order", None)
    return made, is_fed
