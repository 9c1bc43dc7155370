"""The copies of a step: one for each tensor and memory of another device that needs it. All views show these.

A tensor crosses once to a memory, for all nodes there that consume it; a GPU has its own memory and, for arguments that
its kernels want there, host memory. Feeds come from the client's device, and fetches go there. A control dependency
between devices is a signal, not a copy, and counts apart::

    a (CPU:0) ──┬──> MatMul (GPU:0)       1 copy of a, to GPU:0
                └──> Tanh   (GPU:0)
    MatMul ─ ─ ─ ─> NoOp    (CPU:0)       1 signal

Copies are those of the step as the graph states it, as a traced session runs it. An optimizer may remove some of them
before a step runs, such as copies of folded constants: an estimate says which, and they cost nothing there.

Source: tensorflow/core/graph/graph_partition.cc (one ``_Recv`` for a tensor, device and memory), release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gpuplace.cost.shapes.branches import ASSUMED_ALIVE
from gpuplace.cost.shapes.step_shapes import StepShapes, step_shapes
from gpuplace.dtypes import resource
from gpuplace.errors import OpError
from gpuplace.graph.op_sets import ALL_SWITCHES, MERGES, SWITCHES
from gpuplace.kernels.registry import Catalogue, HostMemory
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.subject.step_part import StepPart, step_part
from gpuplace.why.placement import Placement

CLIENT = 0
"""Device, by position, that feeds come from and fetches go to."""


class StepCopy(NamedTuple):
    """A tensor that a step copies to another device."""

    node: int
    """Producing node, by position in the whole graph."""
    output: int
    """Its output."""
    source: int
    """Device that it comes from, by position in the device set."""
    target: int
    """Device that it goes to."""
    to_host: bool
    """Whether it goes to host memory, as always on a CPU."""
    runs: int
    """How often a step copies it: once for each iteration of the loops around it."""
    use: str
    """``"feed"``, ``"fetch"``, or ``""`` between nodes."""


class Crossings(NamedTuple):
    """What edges carry between memories: for each tensor and memory one crossing, for all edges there."""

    edges: np.ndarray
    """Positions of the edges that cross."""
    of_edge: np.ndarray
    """[those edges] their crossing."""
    node: np.ndarray
    """[crossings] producing node."""
    output: np.ndarray
    """[crossings] its output, `CONTROL` for a signal."""
    sender: np.ndarray
    """[crossings] device."""
    receiver: np.ndarray
    """[crossings] device."""
    to_host: np.ndarray
    """[crossings] bool: whether it is needed in host memory."""
    from_host: np.ndarray
    """[crossings] bool: whether it begins in host memory."""


class Edges(NamedTuple):
    """Edges of a step with the memories at their ends; the last ones lead to the client."""

    src: np.ndarray
    """[edges] producing node."""
    dst: np.ndarray
    """[edges] consuming node; from the number of nodes on, a fetch."""
    output: np.ndarray
    """[edges] output of the producing node, or `CONTROL`."""
    in_host: np.ndarray
    """[edges] bool: whether they end in host memory."""
    out_host: np.ndarray
    """[edges] bool: whether they begin there."""


def crossings(edges: Edges, device: np.ndarray, is_gpu: np.ndarray) -> Crossings:
    """Return what crosses between memories.

    Args:
        edges: the edges.
        device: [nodes and fetches] position of the device.
        is_gpu: [devices] bool.
    """
    sender, receiver = device[edges.src], device[edges.dst]
    is_control = edges.output == CONTROL
    has_two_memories = is_gpu[sender]
    crosses = (sender != receiver) | (~is_control & (edges.in_host != edges.out_host) & has_two_memories)
    chosen = np.flatnonzero(crosses)
    to_host = np.where(is_control, True, edges.in_host)[chosen]
    keys = np.stack((edges.src[chosen], edges.output[chosen], receiver[chosen], to_host), axis=1)
    keys = keys.astype(np.int64).reshape(-1, 4)
    unique, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return Crossings(
        chosen,
        inverse.reshape(-1),
        unique[:, 0],
        unique[:, 1],
        device[unique[:, 0]],
        unique[:, 2],
        unique[:, 3].astype(bool),
        edges.out_host[chosen][index],
    )


def branches_taken(graph: PlacementGraph, shapes: StepShapes) -> dict[int, int]:
    """Return the switches of conditionals, not of loops, with the output that is alive; assumed where it is unknown.

    Args:
        graph: the nodes of the step.
        shapes: of it; they say which predicates are known.
    """
    types = [signature.op_type for signature in graph.signatures]
    is_switch = np.array([name in ALL_SWITCHES for name in types] or [False], dtype=bool)[graph.signature]
    found: dict[int, int] = {}
    for node in np.flatnonzero(is_switch).tolist():
        edges = graph.in_edges(node)
        if len(edges) > 1 and graph.op_type(int(graph.src[edges[1]])) == "LoopCond":
            continue
        found[node] = shapes.taken.get(node, ASSUMED_ALIVE[graph.op_type(node) in SWITCHES])
    return found


def dead_nodes(graph: PlacementGraph, shapes: StepShapes) -> tuple[np.ndarray, dict[bool, int]]:
    """Return [nodes] bool which nodes are in branches that are not taken, and how many predicates are unknown.

    Args:
        graph: the nodes of the step.
        shapes: of it; they say which predicates are known.

    Returns:
        The nodes, and the number of switches of unknown predicate: True for those of two branches, False for others.
    """
    dead = np.zeros(len(graph), dtype=bool)
    unknown = {True: 0, False: 0}
    taken = branches_taken(graph, shapes)
    if not taken:
        return dead, unknown
    types = [signature.op_type for signature in graph.signatures]
    order, first, after = graph.out_order.tolist(), graph.out_start.tolist(), graph.dst.tolist()
    signature, start, port = graph.signature.tolist(), graph.in_start.tolist(), graph.src_output.tolist()
    stack: list[tuple[int, int]] = []
    for node, alive in taken.items():
        unknown[types[signature[node]] in SWITCHES] += node not in shapes.taken
        gone = {port[edge] for edge in order[first[node] : first[node + 1]]} - {alive, CONTROL}
        stack += [(node, output) for output in sorted(gone)]
    left: dict[int, int] = {}
    while stack:
        node, output = stack.pop()
        for edge in order[first[node] : first[node + 1]]:
            other = after[edge]
            if dead[other] or (output >= 0 and port[edge] != output):
                continue
            if types[signature[other]] in MERGES:
                if port[edge] == CONTROL:  # it waits for dead nodes as for others
                    continue
                if other not in left:  # a Merge is dead where all its inputs are
                    left[other] = sum(port[one] != CONTROL for one in range(start[other], start[other + 1]))
                left[other] -= 1
                if left[other]:
                    continue
            dead[other] = True
            stack.append((other, -1))
    return dead, unknown


def host_arguments(graph: PlacementGraph, catalogue: Catalogue, used: np.ndarray) -> list[HostMemory]:
    """Return [signatures] inputs and outputs in host memory for a node on a GPU.

    Args:
        graph: the nodes.
        catalogue: the kernels.
        used: the signatures of nodes on GPUs; others have none.
    """
    wanted = set(used.tolist())
    none: HostMemory = (frozenset(), frozenset())
    found = []
    for number, signature in enumerate(graph.signatures):
        op_def = catalogue.ops.get(signature.op_type)
        if op_def is None or number not in wanted:
            found.append(none)
            continue
        attrs = {**op_def.defaults, **dict(signature.attrs)}
        try:
            found.append(catalogue.kernels.host_memory(op_def, attrs, "GPU"))
        except (OpError, KeyError, TypeError):  # an invalid node, which the placement reports
            found.append(none)
    return found


def _are_in(sets: Sequence[Set[int]], which: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return [positions] bool: whether each is in the set whose number `which` gives."""
    found = np.array([len(each) > 0 for each in sets], dtype=bool)[which]
    asked, of = np.unique(which[found].astype(np.int64) << 32 | positions[found], return_inverse=True)
    pairs = zip((asked >> 32).tolist(), (asked & 0xFFFFFFFF).tolist(), strict=True)
    found[found] = np.array([at in sets[number] for number, at in pairs], dtype=bool)[of]
    return found


def edges_with_memories(
    part: StepPart,
    catalogue: Catalogue,
    chosen: np.ndarray,
    device: np.ndarray,
    is_gpu: np.ndarray,
    output: np.ndarray | None = None,
    is_run: np.ndarray | None = None,
) -> Edges:
    """Return edges of a step with the memories at their ends, those of the fetches last.

    Args:
        part: the step.
        catalogue: the kernels.
        chosen: [edges of the part] bool: which edges count.
        device: [nodes] position of each node's device; `CLIENT` for what is fed.
        is_gpu: [devices] bool.
        output: [edges of the part] what each edge carries, in place of what the graph says.
        is_run: [nodes] bool: what runs, so that it can be fetched; None: everything.
    """
    graph = part.graph
    count = len(graph)
    on_gpu = is_gpu[device]
    sets = host_arguments(graph, catalogue, np.unique(graph.signature[on_gpu]))
    src, dst = graph.src[chosen].astype(np.int64), graph.dst[chosen].astype(np.int64)
    port = (graph.src_output if output is None else output)[chosen].astype(np.int64)
    position = graph.dst_input[chosen].astype(np.int64)
    in_host = ~on_gpu[dst] | _are_in([inputs for inputs, _ in sets], graph.signature[dst], position)
    out_host = ~on_gpu[src] | _are_in([outputs for _, outputs in sets], graph.signature[src], port)
    fetched = [
        (node, port)
        for node, port in dict.fromkeys(part.fetches)
        if port >= 0 and (is_run is None or is_run[node])
    ]
    begins = [not on_gpu[node] or port in sets[int(graph.signature[node])][1] for node, port in fetched]
    nodes = np.array([node for node, _ in fetched], dtype=np.int64)
    ports = np.array([port for _, port in fetched], dtype=np.int64)
    return Edges(
        np.concatenate((src, nodes)),
        np.concatenate((dst, np.arange(count, count + len(fetched)))),
        np.concatenate((port, ports)),
        np.concatenate((in_host, np.ones(len(fetched), dtype=bool))),
        np.concatenate((out_host, np.array(begins, dtype=bool))),
    )


@dataclass(frozen=True, eq=False)
class StepCopies:
    """The copies of one step of a placed graph."""

    part: StepPart
    """The step."""
    rows: tuple[StepCopy, ...]
    """The copies, in the order of their producing nodes."""
    of_edge: np.ndarray
    """[edges of the whole graph] int64: the row that brings an edge its tensor, -1 where nothing is copied."""
    signals: int
    """Control dependencies between devices, one for each node and device that waits for it."""

    @cached_property
    def count(self) -> int:
        """How many copies a step makes."""
        return sum(row.runs for row in self.rows)


def copies_of_part(placement: Placement, part: StepPart, shapes: StepShapes) -> StepCopies:
    """Return the copies of a step.

    Args:
        placement: the whole graph, placed.
        part: the step.
        shapes: of it.
    """
    is_gpu = np.array([device.device_type == "GPU" for device in placement.device_set], dtype=bool)
    graph = part.graph
    dead, _ = dead_nodes(graph, shapes)
    device = np.where(part.is_fed, CLIENT, np.maximum(part.device, 0))
    has_device = (part.device >= 0) | part.is_fed  # of a graph that cannot be placed, as far as it is
    chosen = ~dead[graph.src] & ~dead[graph.dst] & has_device[graph.src] & has_device[graph.dst]
    edges = edges_with_memories(
        part, placement.placer.catalogue, chosen, device, is_gpu, is_run=~dead & has_device
    )
    fetches = len(edges.src) - int(chosen.sum())
    ends = np.concatenate((device, np.full(fetches, CLIENT, dtype=np.int64)))
    found = crossings(edges, ends, is_gpu)
    is_between = found.sender != found.receiver
    is_tensor = found.output != CONTROL
    is_fetch = np.ones(len(found.node), dtype=bool)  # of a crossing that no node needs
    is_fetch[found.of_edge[edges.dst[found.edges] < len(graph)]] = False
    is_handle = np.array(
        [
            output != CONTROL and shapes.dtypes(node)[output].base_dtype is resource
            for node, output in zip(found.node.tolist(), found.output.tolist(), strict=True)
        ],
        dtype=bool,
    )
    is_tensor &= ~is_handle  # a handle is known everywhere on its host
    numbers = np.flatnonzero(is_between & is_tensor).tolist()
    row_of = np.full(len(found.node) + 1, -1, dtype=np.int64)
    row_of[numbers] = np.arange(len(numbers))
    rows = tuple(
        StepCopy(
            int(part.nodes[found.node[number]]),
            int(found.output[number]),
            int(found.sender[number]),
            int(found.receiver[number]),
            bool(found.to_host[number]),
            max(round(shapes.runs(int(found.node[number]))), 0),
            "fetch" if is_fetch[number] else "feed" if part.is_fed[found.node[number]] else "",
        )
        for number in numbers
    )
    of_edge = np.full(placement.graph.num_edges, -1, dtype=np.int64)
    whole = np.flatnonzero(_edges_of_part(part))[np.flatnonzero(chosen)]
    is_in_graph = found.edges < len(whole)
    of_edge[whole[found.edges[is_in_graph]]] = row_of[found.of_edge[is_in_graph]]
    signals = is_between & (found.output == CONTROL)
    return StepCopies(part, rows, of_edge, int(signals.sum()))


def _edges_of_part(part: StepPart) -> np.ndarray:
    """[edges of the whole graph] bool: which are edges of the step's graph, where they are in the same order."""
    graph = part.subject.graph
    runs = part.subject.runs
    found = runs[graph.src] & runs[graph.dst]
    if part.subject.fed:
        found &= ~np.isin(graph.dst, np.array(sorted(node for node, _ in part.subject.fed)))
    return found


def step_copies(placement: Placement) -> StepCopies:
    """Return the copies of a placed graph's default step, worked out once for a placement.

    Args:
        placement: the whole graph, placed.

    Raises:
        InvalidArgumentError: the graph has no nodes, or its shapes do not fit.
    """
    found: StepCopies | None = placement.__dict__.get("_step_copies")
    if found is None:
        graph, catalogue = placement.graph, placement.placer.catalogue
        part = step_part(placement, placement.subject)
        shapes: StepShapes | None = graph.__dict__.get("_step_shapes")
        if shapes is None:
            shapes = graph.__dict__["_step_shapes"] = step_shapes(part.graph, catalogue=catalogue)
        found = placement.__dict__["_step_copies"] = copies_of_part(placement, part, shapes)
    return found
